"""A replay's changes as text and as JSON Lines. Pure."""

from __future__ import annotations

import json

from ringfence.proposals import Malformed, asked
from ringfence.render.findings import place
from ringfence.render.words import decision_json, plain, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.proposals import Change, ReplaySummary

_COLOURS = {"lost": "bold red", "gained": "green", "other": "yellow"}


def change_text(change: Change, kind: str, paint: Callable[[str, str], str] = plain) -> str:
    """What changed for one record: both verdicts, and why the second one."""
    record, before, after = change.record, change.before, change.after
    if isinstance(record, Malformed):
        return f"{place(record)}: {paint('malformed', 'bold red')}: {record.why}\n"
    verb = f"{before.verdict} [{before.code}] -> {after.verdict} [{after.code}]"
    lines = [
        f"{place(record)}: {paint(kind, _COLOURS.get(kind, 'dim'))} {after.op} {shown(asked(record))}: {verb}"
    ]
    if kind != "same":
        lines.append(f"    why:  {after.message}")
        lines.append(f"    rule: {after.rule}")
    return "\n".join(lines) + "\n"


def change_json(change: Change, kind: str) -> str:
    """One object; fields are only ever added."""
    record = change.record
    value = {
        "type": "change",
        "kind": kind,
        "source": record.source,
        "record": record.line or None,
        "asked": asked(record),
        "recorded": change.recorded,
        "before": decision_json(asked(record), change.before),
        "after": decision_json(asked(record), change.after),
    }
    return json.dumps(value, ensure_ascii=True) + "\n"


def replay_text(summary: ReplaySummary) -> str:
    """The whole replay in a sentence."""
    text = (
        f"\nreplayed {summary.judged:,} records: {summary.lost:,} would be lost, {summary.gained:,} gained, "
        f"{summary.other:,} changed otherwise, {summary.same:,} stay as they are"
    )
    if summary.malformed:
        text += f"; {summary.malformed:,} more could not be read"
    if summary.skipped:
        text += f"; {summary.skipped:,} files were passed over"
    return text + ("" if summary.complete else "; interrupted, the rest was not replayed") + "\n"


def replay_json(summary: ReplaySummary) -> str:
    return json.dumps({"type": "replay-summary", "version": 1, **summary._asdict()}, ensure_ascii=True) + "\n"
