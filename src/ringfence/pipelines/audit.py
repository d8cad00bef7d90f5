"""The third door: record -> uses -> verdict -> finding, one after the other, in the order given.

`judge` keeps a bounded memory of folders and of calls already judged, so it runs over any number of records.
"""

from __future__ import annotations

from ringfence.decide import worst
from ringfence.errors import WireError
from ringfence.model import Decision, Op, Rule, Verdict
from ringfence.pipelines.fence import Fence
from ringfence.pipelines.warm import WarmFence
from ringfence.proposals import (
    MALFORMED_CODE,
    CallProposal,
    CommandProposal,
    Finding,
    LoggedDecision,
    Malformed,
    PathProposal,
)
from ringfence.records import assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.model import CommandDecision, ToolCall
    from ringfence.proposals import Proposal

_OPAQUE = Rule("opaque", "built in")
_RECORD = Rule("record", "built in")
_MOST_CALLS = 1_000_000  # digests of calls remembered, 16 bytes each; then the memory starts anew
_MOST_SESSIONS = 8  # sessions whose fences are kept: a transcript is one session after the other
_new = tuple.__new__


def judge(records: Iterable[Proposal], fence: Fence) -> Iterator[Finding]:
    """A finding for each record; a call that a resumed session's copy repeats is judged once.

    Pure but for looks at the disk: nothing is written, nothing is kept after the last record. Records, findings and
    fence can be pickled, so a job can map this over partitions. Not for use by two threads at once; each call of
    `judge` has its own memory, which is what "one batch" means in docs/audit.md.
    """
    warm = WarmFence.over(fence) if type(fence) is Fence else fence
    check = warm.check
    other = _Other(fence, warm)
    for record in records:
        if type(record) is PathProposal:
            # In place, and not a call deeper: this is the line a million paths go through.
            yield _new(Finding, (record, check(record.path, record.op, cwd=record.cwd or None), ()))
        else:
            found = other.judge(record)
            if found is not None:
                yield found


class _Other:
    """Everything that is not one plain path."""

    def __init__(self, fence: Fence, warm: Fence) -> None:
        self.fence = fence
        self.warm = warm
        self.seen: set[bytes] = set()
        self.sessions: dict[tuple[str, str, str], Fence] = {}

    def judge(self, record: Proposal) -> Finding | None:
        if isinstance(record, Malformed):
            return Finding(record, Decision(Verdict.DENY, MALFORMED_CODE, "", _RECORD, record.why, Op.READ))
        if isinstance(record, CommandProposal):
            read = self.warm.check_command(record.command, cwd=record.cwd or None, shell=record.shell)
            return Finding(record, of_command(read), read.uses)
        if isinstance(record, LoggedDecision):
            return self._again(record)
        if isinstance(record, CallProposal):
            return self._call(record)
        if isinstance(record, PathProposal):
            return Finding(record, self.warm.check(record.path, record.op, cwd=record.cwd or None))
        return assert_never(record)

    def _again(self, record: LoggedDecision) -> Finding:
        if record.path:
            return Finding(record, self.warm.check(record.path, record.op, cwd=record.cwd or None))
        read = self.warm.check_command(record.command, cwd=record.cwd or None)
        return Finding(record, of_command(read), read.uses)

    def _call(self, record: CallProposal) -> Finding | None:
        from ringfence.pipelines.calls import decode, session_fence

        if self._known(record):
            return None
        try:
            call, dialect = decode(record, _exists)
        except (WireError, RecursionError) as error:
            why = error.message if isinstance(error, WireError) else "the call is nested too deeply"
            lost = Malformed(record.source, record.line, f"a tool call that cannot be judged: {why}")
            return self.judge(lost)
        scratch = record.payload.get("transcript_path")
        key = (call.agent, call.session, scratch if isinstance(scratch, str) else "")
        fence = self.sessions.get(key)
        if fence is None:
            if len(self.sessions) >= _MOST_SESSIONS:
                del self.sessions[next(iter(self.sessions))]
            made = session_fence(self.fence, call, dialect, record.payload)
            fence = self.warm if made is self.fence else WarmFence.over(made) if type(made) is Fence else made
            self.sessions[key] = fence
        decisions = list(decisions_on(fence, call))
        return Finding(record, worst(decisions) or decisions[0], tuple(decisions))

    def _known(self, record: CallProposal) -> bool:
        """Whether this very call (id, tool, input, folder) was judged in this batch already."""
        if not record.call:
            return False
        from hashlib import blake2b

        told = {
            k: v for k, v in record.payload.items() if k not in ("session_id", "session", "transcript_path")
        }
        try:
            text = repr((record.agent, record.call, told))
        except RecursionError:
            return False
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self.seen:
            return True
        if len(self.seen) >= _MOST_CALLS:
            self.seen.clear()
        self.seen.add(digest)
        return False


def decisions_on(fence: Fence, call: ToolCall) -> Iterator[Decision]:
    """At least one decision: on every reading of every path, and on every command, that a call names.

    What the hook decides, but for one thing: a command that no text refuses is run inside the fenced shell there, and
    here its text is all there is, so "ask" with a code `opaque.*` stays what it is.
    """
    from ringfence.pipelines.calls import inner_text
    from ringfence.pipelines.judging import readings

    count = 0
    for use in call.uses:
        for path in readings(use.path, call.cwd, fence.env.get("HOME")):
            count += 1
            yield fence.check(path, use.op, cwd=call.cwd)
    for text in call.commands:
        count += 1
        for cwd in readings(call.cwd, "/", None):
            yield of_command(fence.check_command(inner_text(text), cwd=cwd))
    if not call.understood:
        count += 1
        why = f"what {call.tool} runs cannot be read"
        yield Decision(Verdict.ASK, "opaque.no-engine", "", _OPAQUE, why)
    if not count:
        yield Decision(Verdict.ALLOW, "allow.no-path", "", fence.policy.default, "names no path", Op.READ)


def of_command(read: CommandDecision) -> Decision:
    """One decision for a command: the refused use itself where there is one, else what the text as a whole told."""
    if read.verdict is Verdict.DENY:
        found = worst(read.uses)
        if found is not None and found.verdict is Verdict.DENY:
            return found
    return Decision(read.verdict, read.code, "", _OPAQUE, read.message)


def _exists(path: str) -> bool:
    from os import lstat

    try:
        lstat(path)
    except (OSError, ValueError):
        return False
    return True
