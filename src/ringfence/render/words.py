"""How a path, a decision and a table look to a person."""

from __future__ import annotations

from ringfence.model import Verdict, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ringfence.model import CommandDecision, Decision

    Paint = Callable[[str, str], str]

_COLOURS = {Verdict.ALLOW: "green", Verdict.ASK: "yellow", Verdict.DENY: "bold red"}


def plain(text: str, _style: str) -> str:
    """The paint of a pipe."""
    return text


def verdict_word(verdict: Verdict, paint: Paint = plain) -> str:
    return paint(f"{verdict!s:5}", _COLOURS[verdict])


def decision_lines(asked: str, decision: Decision, paint: Paint = plain) -> Iterable[str]:
    """One line for an allowed use, three or four for a refused one: what, why, which rule, what next."""
    place = f"  ->  {shown(decision.path)}" if decision.path and decision.path != asked else ""
    yield f"{verdict_word(decision.verdict, paint)}  {shown(asked)}{place}  {paint(f'[{decision.code}]', 'dim')}"
    if decision.verdict is not Verdict.ALLOW:
        yield f"       why:  {decision.message}"
        yield f"       rule: {decision.rule}"
        if decision.hint:
            yield f"       next: {decision.hint}"


def command_lines(decision: CommandDecision, paint: Paint = plain) -> Iterable[str]:
    code = paint(f"[{decision.code}]", "dim")
    yield f"{verdict_word(decision.verdict, paint)}  {shown(decision.command)}  {code}"
    if decision.message:
        yield f"       why:  {decision.message}"
    for use in decision.uses:
        for line in decision_lines(use.path, use, paint):
            yield "  " + line


def decision_json(asked: str, decision: Decision) -> dict[str, object]:
    """Schema-stable: fields are added, never renamed."""
    return {
        "asked": asked,
        "op": str(decision.op),
        "verdict": str(decision.verdict),
        "code": decision.code,
        "path": decision.path,
        "rule": {"id": decision.rule.id, "source": decision.rule.source, "line": decision.rule.line or None},
        "message": decision.message,
        "hint": decision.hint,
    }


def command_json(decision: CommandDecision) -> dict[str, object]:
    return {
        "command": decision.command,
        "verdict": str(decision.verdict),
        "code": decision.code,
        "message": decision.message,
        "uses": [decision_json(use.path, use) for use in decision.uses],
    }


def columns(rows: Sequence[Sequence[str]], head: Sequence[str]) -> Iterable[str]:
    """A plain table, two blanks between columns, the last one ragged."""
    table = [list(head), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


__all__ = [
    "columns",
    "command_json",
    "command_lines",
    "decision_json",
    "decision_lines",
    "plain",
    "shown",
    "verdict_word",
]
