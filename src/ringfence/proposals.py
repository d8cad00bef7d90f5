"""What the audit carries from room to room: record -> uses -> verdict -> finding (docs/adr/0012).

Beside `model` and not in it, because the hook and the shell read `model` at every start and none of this.
A record is one proposed thing from one place of one input; a finding is a record and its verdict.
"""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Decision, Op


class PathProposal(Record):
    """One path and what would be done to it. `line` is 1-based (a member's number in an archive), 0 = none.

    `cwd` "": the folder that the audit was given. `note`: how the reader came to this path, if not by copying it.
    """

    source: str
    line: int
    op: Op
    path: str
    cwd: str = ""
    agent: str = ""
    note: str = ""


class CommandProposal(Record):
    """A command text. `shell`: "bash", "zsh" or "sh"."""

    source: str
    line: int
    command: str
    cwd: str = ""
    shell: str = "bash"
    agent: str = ""
    note: str = ""


class CallProposal(Record):
    """A tool call as an agent's hook would have seen it: `payload` goes to that agent's own decoder.

    `agent` "": not known; the first decoder that knows the payload's shape is asked. `call`: the agent's id of the
    call, so that a resumed session's copy is not judged twice ("": none).
    """

    source: str
    line: int
    agent: str
    payload: Mapping[str, object]
    call: str = ""
    note: str = ""


class LoggedDecision(Record):
    """A line of a decision log: what was decided then. Judged again by its path, else by its command."""

    source: str
    line: int
    verdict: str
    code: str
    op: Op
    path: str
    command: str = ""
    cwd: str = ""
    agent: str = ""


class Malformed(Record):
    """A record that cannot be read. It is reported and counted, and never stands for an allowed one."""

    source: str
    line: int
    why: str


Proposal = PathProposal | CommandProposal | CallProposal | LoggedDecision | Malformed


class Finding(Record):
    """One record, judged. `uses`: the decision on every path that a command or a call names."""

    record: Proposal
    decision: Decision
    uses: tuple[Decision, ...] = ()


MALFORMED_CODE = "invalid.record"
"""The code of a finding on a Malformed record; its verdict is DENY, since nothing was judged."""


def asked(record: Proposal) -> str:
    """The text that was proposed, for a person: the path, the command, or the tool and what it was given."""
    if isinstance(record, PathProposal):
        return record.path
    if isinstance(record, CommandProposal):
        return record.command
    if isinstance(record, LoggedDecision):
        return record.path or record.command
    if isinstance(record, CallProposal):
        tool, given = tool_of(record)
        return f"{tool}: {given}" if given else tool
    return record.why


def tool_of(record: CallProposal) -> tuple[str, str]:
    """(the tool's name, its command or the first text that it was given), whatever shape the payload has."""
    told = record.payload.get("event")
    outer = told if isinstance(told, dict) else record.payload
    names = (outer.get(key) for key in ("tool_name", "toolName", "tool"))
    tool = next((name for name in names if isinstance(name, str)), "call")
    inputs = (outer.get(key) for key in ("tool_input", "toolArgs", "args", "input"))
    given = next((item for item in inputs if isinstance(item, dict)), {})
    texts = (
        given.get(key) for key in ("command", "file_path", "filePath", "path", "notebook_path", "patchText")
    )
    return tool, next((text for text in texts if isinstance(text, str)), "")


class Total(Record):
    """How many records met one verdict, code and rule."""

    verdict: str
    code: str
    rule: str
    records: int


class Summary(Record):
    """What an audit comes to. `complete` False: it was interrupted, and `judged` is how far it came.

    `weaker`: in which way these verdicts are weaker than those of a tree that is here, "" for no way.
    """

    judged: int
    allowed: int
    asked: int
    denied: int
    malformed: int
    skipped: int
    totals: tuple[Total, ...]
    complete: bool = True
    weaker: str = ""


class Weakness(Record):
    """Something in a tree that already breaks the fence, or helps to.

    `severity`: "error" (a way out), "warning" (look at it), "note" (good to know). `why`: what it lets happen.
    `next`: what to do. `mend`: what `--fix` could do about it without losing anything, "" = nothing. `mended`: it did.
    `related`: the other path of a pair (a link's end, another name).
    """

    code: str
    severity: str
    path: str
    what: str
    why: str
    next: str
    mend: str = ""
    mended: bool = False
    related: str = ""


class TreeSummary(Record):
    """What an audit of trees comes to. `unseen`: folders that could not be listed."""

    roots: tuple[str, ...]
    entries: int
    errors: int
    warnings: int
    notes: int
    mended: int
    unseen: int
    complete: bool = True


class Change(Record):
    """One record under two policies. `recorded`: the first verdict was made then and is not judged anew."""

    record: Proposal
    before: Decision
    after: Decision
    recorded: bool


class ReplaySummary(Record):
    """What a replay comes to. `lost`: allowed before and not after; `gained`: the other way round; `other`: any other
    change of verdict; `same`: none."""

    judged: int
    same: int
    lost: int
    gained: int
    other: int
    malformed: int
    skipped: int
    complete: bool = True
