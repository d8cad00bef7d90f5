"""`ringfence explain --command`: the statements of a text, what each would touch, and where in the text that stands."""

from __future__ import annotations

import sys

from ringfence.kernel.local_disk import LocalDisk
from ringfence.model import Surroundings
from ringfence.pipelines import command
from ringfence.render.commands import Doubt, Explained, Judged, Statement
from ringfence.shell import tree
from ringfence.shell.reading import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ringfence.pipelines.fence import Fence
    from ringfence.shell.tree import Script, Stmt


def explain(fence: Fence, text: str, cwd: str, shell: str) -> Explained:
    """Read and judge as `check` does, keeping every step. Never raises for what `text` holds."""
    parse = command.parser_with(command.find_parser(sys.prefix, sys.executable.rpartition("/")[0]))
    disk = LocalDisk()
    reading = read(
        text, parse=parse, dialect=shell, at=Surroundings(cwd, fence.home), env=fence.env, disk=disk
    )
    below = command.below_of(fence.policy, disk)
    decision = command.decide(text, reading, fence.check_in_command, below)
    raw = text.encode("utf-8", "surrogateescape")
    script = parse(text, shell)
    spans = list(_statements(script)) if isinstance(script, tree.Script) else []
    spans = spans or [(0, 0, len(raw))]
    uses: list[list[Judged]] = [[] for _ in spans]
    doubts: list[list[Doubt]] = [[] for _ in spans]
    for use in reading.uses:
        decision_on_it = command.judge_use(use, fence.check_in_command, below)
        start, end = _word(raw, use.path, use.start, use.end)
        judged = Judged(use.op, use.path, use.why, decision_on_it, _char(raw, start), _char(raw, end))
        uses[_home(spans, use.start)].append(judged)
    for unknown in reading.unknowns:
        doubts[_home(spans, unknown.start)].append(
            Doubt(unknown.code, unknown.why, _char(raw, unknown.start), _char(raw, unknown.end))
        )
    statements = tuple(
        Statement(
            raw[start:end].decode("utf-8", "surrogateescape").strip().rstrip(" ;"),
            depth,
            _char(raw, start),
            _char(raw, end),
            tuple(mine),
            tuple(open_ends),
        )
        for (depth, start, end), mine, open_ends in zip(spans, uses, doubts, strict=True)
    )
    return Explained(text, statements, decision)


def _word(raw: bytes, path: str, start: int, end: int) -> tuple[int, int]:
    """The place of the path's own spelling in its command, where it stands there literally; else the command's."""
    spelled = path.encode("utf-8", "surrogateescape")
    at = raw.find(spelled, start, end) if spelled else -1
    return (at, at + len(spelled)) if at >= 0 else (start, end)


def _char(raw: bytes, offset: int) -> int:
    """The parser counts bytes; people and editors count characters."""
    return len(raw[:offset].decode("utf-8", "surrogateescape"))


def _home(spans: Sequence[tuple[int, int, int]], at: int) -> int:
    """The smallest statement around a place in the text; the first one for what stands nowhere."""
    around = [i for i, (_, start, end) in enumerate(spans) if start <= at < max(end, start + 1)]
    return min(around, key=lambda i: spans[i][2] - spans[i][1], default=0)


def _statements(script: Script) -> Iterator[tuple[int, int, int]]:
    for statement in script.body:
        yield from _inside(statement, 0)


def _inside(statement: Stmt, depth: int) -> Iterator[tuple[int, int, int]]:
    """(depth, start, end) of a statement and those in it; a list by `&&`, `||` or `|` is its members."""
    cmd = statement.cmd
    if isinstance(cmd, tree.Binary) and not statement.redirects:
        yield from _inside(cmd.left, depth)
        yield from _inside(cmd.right, depth)
        return
    yield (depth, statement.start, statement.end)
    for below in _bodies(cmd):
        yield from _inside(below, depth + 1)


def _bodies(cmd: tree.Cmd | None) -> Iterator[Stmt]:
    if isinstance(cmd, tree.Group | tree.For):
        yield from cmd.body
    elif isinstance(cmd, tree.Loop):
        yield from (*cmd.condition, *cmd.body)
    elif isinstance(cmd, tree.If):
        for condition, body in cmd.arms:
            yield from (*condition, *body)
    elif isinstance(cmd, tree.Case):
        for _, body, _ in cmd.items:
            yield from body
    elif isinstance(cmd, tree.Function):
        yield cmd.body
    elif isinstance(cmd, tree.Binary):
        yield from (cmd.left, cmd.right)
    elif isinstance(cmd, tree.Timed) and cmd.body is not None:
        yield cmd.body
