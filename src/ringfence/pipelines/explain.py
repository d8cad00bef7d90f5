"""`ringfence explain`: each step from the text to the verdict, and the smallest grant that would allow it."""

from __future__ import annotations

from ringfence.decide import nearest, toml_text
from ringfence.model import Decision, Glob, Op, Unresolved, Verdict, Zone
from ringfence.records import Record
from ringfence.resolve.spell import absolute
from ringfence.resolve.trace import Hop, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.pipelines.fence import Fence


class Row(Record):
    """One zone of the table: where it lies, what it grants, who says so, and whether it governs the path."""

    root: str
    access: str
    kind: str
    rule: str
    governs: bool
    applies: bool


class Explained(Record):
    """What `explain` shows for one path."""

    asked: str
    op: Op
    cwd: str
    home: str
    spelled: str
    hops: tuple[Hop, ...]
    missing_from: str
    rows: tuple[Row, ...]
    decision: Decision
    grant: str


def explain(fence: Fence, asked: str, op: Op, cwd: str) -> Explained:
    """Walk the same line as `check`, keeping every step."""
    decision = fence.check(asked, op, cwd=cwd)
    whole = absolute(asked, cwd, fence.home)
    if isinstance(whole, Unresolved):
        return Explained(asked, op, cwd, fence.home or "", "", (), "", (), decision, "")
    way = trace(whole, op not in (Op.DELETE, Op.RENAME))
    governing, _ = nearest(fence.index, decision.path, reading=op is Op.READ) if decision.path else (None, 0)
    table: list[Zone | Glob] = [*fence.policy.zones, *_matching(fence, governing)]
    rows = tuple(_row(zone, governing, decision.path) for zone in table)
    return Explained(
        asked,
        op,
        cwd,
        fence.home or "",
        whole,
        way.hops,
        way.missing_from,
        rows,
        decision,
        _grant(decision, op),
    )


def _matching(fence: Fence, governing: Zone | Glob | None) -> tuple[Glob, ...]:
    return tuple(glob for glob in fence.policy.globs if glob is governing)


def _row(zone: Zone | Glob, governing: Zone | Glob | None, path: str) -> Row:
    if isinstance(zone, Glob):
        root = f"{zone.base}/{'**/' if zone.deep else ''}{'/'.join(zone.parts)}"
        return Row(root, str(zone.access), str(zone.kind), str(zone.rule), zone is governing, True)
    covers = path == zone.root or zone.root == "/" or path.startswith(zone.root + "/")
    return Row(zone.root, str(zone.access), str(zone.kind), str(zone.rule), zone is governing, covers)


def _grant(decision: Decision, op: Op) -> str:
    """The smallest addition to a policy that would allow the use; "" where no zone can."""
    if decision.verdict is Verdict.ALLOW or not decision.path:
        return ""
    if decision.code.startswith(("outside.", "zone.", "protected.")):
        access = "read" if op is Op.READ else "write"
        return f'[[zone]]\npath = {toml_text(decision.path)}\naccess = "{access}"'
    if decision.code.startswith("guard."):
        return f'unguard = ["{decision.rule.id}"]'
    return ""
