"""Findings of `audit --tree` as text, JSON Lines, SARIF and JUnit. Pure."""

from __future__ import annotations

import json

from ringfence.render.junit import JUnit
from ringfence.render.sarif import Sarif
from ringfence.render.words import plain, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from ringfence.proposals import TreeSummary, Weakness

    class TreeWriter(Protocol):
        late: bool

        def head(self) -> str: ...

        def finding(self, found: Weakness) -> str: ...

        def tail(self, summary: TreeSummary) -> str: ...


_COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


class TreeTable:
    """Four lines for a finding: what, why, what to do, and whether it was mended."""

    late = False

    def __init__(self, paint: Callable[[str, str], str] = plain) -> None:
        self._paint = paint
        self._explained: set[str] = set()

    def head(self) -> str:
        return ""

    def finding(self, found: Weakness) -> str:
        word = self._paint(f"{found.severity:7}", _COLOURS[found.severity])
        lines = [f"{word} {shown(found.path)}: {found.what}  {self._paint(f'[{found.code}]', 'dim')}"]
        if found.code not in self._explained:  # once is enough for a person
            self._explained.add(found.code)
            lines.append(f"    why:  {found.why}")
            lines.append(f"    next: {found.next}")
        if found.mended:
            lines.append(f"    {self._paint('mended', 'green')}")
        return "\n".join(lines) + "\n"

    def tail(self, summary: TreeSummary) -> str:
        return f"\n{tree_sentence(summary)}\n"


def tree_sentence(summary: TreeSummary) -> str:
    text = (
        f"looked at {summary.entries:,} entries below {', '.join(map(shown, summary.roots))}: "
        f"{summary.errors:,} errors, {summary.warnings:,} warnings, {summary.notes:,} notes"
    )
    if summary.mended:
        text += f"; {summary.mended:,} of them mended"
    if summary.unseen:
        text += f"; {summary.unseen:,} folders could not be listed"
    return text if summary.complete else f"{text}; interrupted, the rest was not looked at"


class TreeLines:
    """An object for each finding, one of type "summary" at the end."""

    late = False

    def head(self) -> str:
        return ""

    def finding(self, found: Weakness) -> str:
        return json.dumps({"type": "weakness", **found._asdict()}, ensure_ascii=True) + "\n"

    def tail(self, summary: TreeSummary) -> str:
        value = {"type": "tree-summary", "version": 1, **summary._asdict(), "roots": list(summary.roots)}
        return json.dumps(value, ensure_ascii=True) + "\n"


class TreeSarif:
    """As Sarif; the place of a finding is the entry itself."""

    late = False

    def __init__(self, version: str) -> None:
        self._sarif = Sarif(version)

    def head(self) -> str:
        return self._sarif.head(None)

    def finding(self, found: Weakness) -> str:
        text = f"{found.what}: {found.why}. {found.next}" + (". Mended" if found.mended else "")
        more: dict[str, object] = {"mended": found.mended, "related": found.related}
        return self._sarif.result(found.code, _LEVELS[found.severity], text, found.path, 0, more)

    def tail(self, summary: TreeSummary) -> str:
        return self._sarif.end(tree_sentence(summary), complete=summary.complete)


class TreeJUnit:
    """As JUnit: errors and warnings fail, unless they were mended; notes pass."""

    late = True

    def __init__(self) -> None:
        self._junit = JUnit()

    def head(self) -> str:
        return self._junit.head(None)

    def finding(self, found: Weakness) -> str:
        kind = "" if found.severity == "note" or found.mended else "failure"
        return self._junit.case(
            found.code, f"{found.path}: {found.what}", kind, found.code, found.why, found.next
        )

    def tail(self, summary: TreeSummary) -> str:
        return self._junit.end(tree_sentence(summary), summary.complete)
