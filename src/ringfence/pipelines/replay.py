"""What was decided, or done, under one policy, judged under another. The decision is the audit's, twice. Cold."""

from __future__ import annotations

from itertools import tee

from ringfence.model import Decision, Rule, Verdict
from ringfence.pipelines.audit import judge
from ringfence.proposals import Change, LoggedDecision, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.pipelines.fence import Fence
    from ringfence.proposals import Proposal

_RECORDED = Rule("recorded", "decision log")


def replay(records: Iterable[Proposal], before: Fence, after: Fence) -> Iterator[Change]:
    """Every record under both policies, in order. A logged decision keeps the verdict that was logged.

    Records that cannot be read come too, as they are: their two verdicts are the same refusal.
    """
    first, second = tee(records)  # in step: never more than one record ahead
    for old, new in zip(judge(first, before), judge(second, after), strict=True):
        record = new.record
        if isinstance(record, LoggedDecision):
            told = Decision(
                Verdict(record.verdict), record.code, record.path, _RECORDED, "as logged", record.op
            )
            yield Change(record, told, new.decision, recorded=True)
        else:
            yield Change(record, old.decision, new.decision, recorded=False)


def kind_of(change: Change) -> str:
    """ "lost", "gained", "other" or "same"; "malformed" for a record that was not judged."""
    if isinstance(change.record, Malformed):
        return "malformed"
    was, now = change.before.verdict, change.after.verdict
    if was is now:
        return "same"
    if was is Verdict.ALLOW:
        return "lost"
    return "gained" if now is Verdict.ALLOW else "other"


def default_inputs(fence: Fence) -> tuple[str, ...]:
    """The decision log of the fence's own state folder, the older file first; empty where there is none."""
    import os

    from ringfence.pipelines.journal import NAME

    folder = fence.policy.folders.state
    names = (f"{folder}/{NAME}.1", f"{folder}/{NAME}") if folder else ()
    return tuple(name for name in names if os.path.exists(name))
