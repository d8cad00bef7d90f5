"""How a command that was read looks: its statements, their uses, and a caret under the word that decides."""

from __future__ import annotations

from ringfence.model import Verdict, shown
from ringfence.records import Record
from ringfence.render.words import command_json, decision_json, plain, verdict_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.model import CommandDecision, Decision, Op
    from ringfence.render.words import Paint


class Judged(Record):
    """One use of one path: as it was read, its verdict, and its place in the text (characters)."""

    op: Op
    path: str
    why: str
    decision: Decision
    start: int
    end: int


class Doubt(Record):
    """One thing the text does not tell, and its place."""

    code: str
    why: str
    start: int
    end: int


class Statement(Record):
    """One statement. `depth` 0 is the text itself, 1 inside a loop, a branch or a group, and so on."""

    text: str
    depth: int
    start: int
    end: int
    uses: tuple[Judged, ...]
    doubts: tuple[Doubt, ...]


class Explained(Record):
    """The whole text, its statements in order, and the verdict they amount to."""

    text: str
    statements: tuple[Statement, ...]
    decision: CommandDecision


def lines(read: Explained, paint: Paint = plain) -> Iterable[str]:
    """The text's statements with what each would touch, then the verdict."""
    for statement in read.statements:
        pad = "  " * (statement.depth + 1)
        yield f"{pad}{paint(shown(statement.text), 'bold')}"
        for judged in statement.uses:
            yield from _use(read.text, judged, pad + "  ", paint)
        for doubt in statement.doubts:
            yield f"{pad}  {paint('?    ', 'yellow')}  {doubt.why}  {paint(f'[{doubt.code}]', 'dim')}"
            yield from _caret(read.text, doubt.start, doubt.end, pad + "         ")
    decision = read.decision
    yield f"{verdict_word(decision.verdict, paint)}  {paint(f'[{decision.code}]', 'dim')}  {decision.message}"


def _use(text: str, judged: Judged, pad: str, paint: Paint) -> Iterator[str]:
    decision = judged.decision
    place = f"  ->  {shown(decision.path)}" if decision.path and decision.path != judged.path else ""
    code = paint(f"[{decision.code}]", "dim")
    yield f"{pad}{verdict_word(decision.verdict, paint)}  {judged.op} {shown(judged.path)}{place}  {code}"
    if decision.verdict is not Verdict.ALLOW:
        yield from _caret(text, judged.start, judged.end, pad + "       ")
        yield f"{pad}       rule: {decision.rule}"
        if decision.hint:
            yield f"{pad}       next: {decision.hint}"


def _caret(text: str, start: int, end: int, pad: str) -> Iterator[str]:
    """The line of the text, and carets under the part; nothing for a part that shows nothing."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : stop if stop >= 0 else len(text)]
    if not line.strip() or not line.isprintable() or end <= start:
        return
    yield f"{pad}{line}"
    yield f"{pad}{' ' * (start - begin)}{'^' * max(min(end, begin + len(line)) - start, 1)}"


def as_json(read: Explained) -> dict[str, object]:
    """Schema-stable: fields are added, never renamed. Spans are in characters of `text`."""
    return {
        "version": 1,
        "text": read.text,
        "command": command_json(read.decision),
        "statements": [
            {
                "text": statement.text,
                "depth": statement.depth,
                "start": statement.start,
                "end": statement.end,
                "uses": [
                    {
                        **decision_json(judged.path, judged.decision),
                        "op": str(judged.op),
                        "why": judged.why,
                        "start": judged.start,
                        "end": judged.end,
                    }
                    for judged in statement.uses
                ],
                "unknowns": [
                    {
                        "code": doubt.code,
                        "why": doubt.why,
                        "start": doubt.start,
                        "end": doubt.end,
                    }
                    for doubt in statement.doubts
                ],
            }
            for statement in read.statements
        ],
    }
