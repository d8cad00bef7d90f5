"""Findings as text for people and as JSON Lines for programs. Pure: pieces of text out, nothing written here.

A writer has three steps: `head()`, `finding()` for each, `tail()` with what it all comes to. A `late` writer needs the
sum before its head, so whoever writes puts the pieces in order.
"""

from __future__ import annotations

import json

from ringfence.model import Verdict
from ringfence.proposals import (
    CallProposal,
    CommandProposal,
    LoggedDecision,
    Malformed,
    PathProposal,
    asked,
    tool_of,
)
from ringfence.render.words import columns, decision_json, plain, shown, verdict_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from ringfence.proposals import Finding, Proposal, Summary

    class Writer(Protocol):
        late: bool

        def head(self, summary: Summary | None) -> str: ...

        def finding(self, finding: Finding) -> str: ...

        def tail(self, summary: Summary) -> str: ...


_KINDS = {
    PathProposal: "path",
    CommandProposal: "command",
    CallProposal: "call",
    LoggedDecision: "decision",
    Malformed: "malformed",
}
_LONGEST = 160  # characters of a command in the table; --output jsonl has it whole


class Table:
    """For people: three lines for a refusal, one for what is allowed, then totals. `weaker`: as of Summary."""

    late = False

    def __init__(self, paint: Callable[[str, str], str] = plain, weaker: str = "") -> None:
        self._paint = paint
        self._mark = paint(" WEAK", "yellow") if weaker else ""

    def head(self, summary: Summary | None) -> str:
        del summary
        return ""

    def finding(self, finding: Finding) -> str:
        record, decision = finding.record, finding.decision
        if isinstance(record, Malformed):
            return f"{place(record)}: {self._paint('malformed', 'bold red')}: {record.why}\n"
        text = shown(asked(record))
        if len(text) > _LONGEST:
            text = text[:_LONGEST] + "…"
        lands = f"  ->  {shown(decision.path)}" if decision.path and decision.path != asked(record) else ""
        word = verdict_word(decision.verdict, self._paint).rstrip()
        code = self._paint(f"[{decision.code}]", "dim") + self._mark
        lines = [f"{place(record)}: {word} {decision.op} {text}{lands}  {code}"]
        if decision.verdict is not Verdict.ALLOW:
            lines.append(f"    why:  {decision.message}")
            if record.note if not isinstance(record, LoggedDecision) else "":
                lines.append(f"    note: {record.note}")  # type: ignore[union-attr]  # asked for just above
            lines.append(f"    rule: {decision.rule}")
            if decision.hint:
                lines.append(f"    next: {decision.hint}")
        return "\n".join(lines) + "\n"

    def tail(self, summary: Summary) -> str:
        rows = [(total.verdict, total.code, f"{total.records:,}", total.rule) for total in summary.totals]
        lines = ["", *columns(rows, ("verdict", "code", "records", "rule"))] if rows else []
        lines.append("")
        lines.append(sentence(summary))
        return "\n".join(lines) + "\n"


def sentence(summary: Summary) -> str:
    """The whole audit in a line or two."""
    parts = [
        f"judged {summary.judged:,} records: {summary.allowed:,} allowed, {summary.asked:,} to be asked, "
        f"{summary.denied:,} refused"
    ]
    if summary.malformed:
        parts.append(f"; {summary.malformed:,} more could not be read")
    if summary.skipped:
        parts.append(f"; {summary.skipped:,} files were passed over")
    if not summary.complete:
        parts.append("; interrupted, the rest was not judged")
    if summary.weaker:
        parts.append(f"\nWEAKER than an audit where the tree is: {summary.weaker}")
    return "".join(parts)


class Lines:
    """For programs: an object for each finding, one more of type "summary" at the end. Fields are only ever added.

    Every finding of a weaker audit says so itself, since lines are taken apart.
    """

    late = False

    def __init__(self, weaker: str = "") -> None:
        self._weaker = {"weaker": weaker} if weaker else {}

    def head(self, summary: Summary | None) -> str:
        del summary
        return ""

    def finding(self, finding: Finding) -> str:
        return json.dumps({**finding_json(finding), **self._weaker}, ensure_ascii=True) + "\n"

    def tail(self, summary: Summary) -> str:
        value = {"type": "summary", "version": 1, **summary._asdict()}
        value["totals"] = [total._asdict() for total in summary.totals]
        return json.dumps(value, ensure_ascii=True) + "\n"


def finding_json(finding: Finding) -> dict[str, object]:
    """One finding; `decision_json` says what the verdict's own fields are."""
    record = finding.record
    value: dict[str, object] = {
        "type": "finding",
        "kind": _KINDS[type(record)],
        "source": record.source,
        "record": record.line or None,
        **decision_json(asked(record), finding.decision),
    }
    if isinstance(record, PathProposal | CommandProposal | LoggedDecision):
        value.update(agent=record.agent, cwd=record.cwd)
    if isinstance(record, CallProposal):
        value.update(agent=record.agent, tool=tool_of(record)[0], call=record.call)
        value["cwd"] = record.payload.get("cwd")
    if isinstance(record, PathProposal | CommandProposal | CallProposal):
        value["note"] = record.note
    if finding.uses:
        value["uses"] = [decision_json(use.path, use) for use in finding.uses]
    return value


def place(record: Proposal) -> str:
    """`file:line`, or the file where there is no line."""
    return f"{shown(record.source)}:{record.line}" if record.line else shown(record.source)
