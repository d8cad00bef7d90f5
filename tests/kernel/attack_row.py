"""What one attack row says. Data only; tests/kernel/attacks.py explains the world that a row runs in."""

from __future__ import annotations

from typing import NamedTuple


class Attack(NamedTuple):
    """One row. `needs`: programs or capabilities of tests/kernel/conftest.py; without them the row is skipped."""

    id: str
    what: str
    how: str
    language: str = "sh"
    needs: tuple[str, ...] = ()
    inherit: str = ""  # what the program starts with or meets: see `met` in tests/kernel/meeting.py
    since: int = 1  # the Landlock ABI that first stops it
    # (person, errno): "user", or "any" for both. That person cannot do it without a fence either, and then it
    # must fail with this errno; where it works all the same, the row is an ordinary one.
    na: tuple[tuple[str, int], ...] = ()
    # (engine, rule): this engine does not hold it, and its report says so under this rule ("-": no rule speaks of
    # it, docs/escapes.md does). Tested both ways.
    open_in: tuple[tuple[str, str], ...] = ()
    settle: float = 0.0  # seconds to wait after the call before looking, for what outlives it

    def open_rule(self, engine: str) -> str:
        return dict(self.open_in).get(engine, "")

    def errno_of(self, person: str) -> int:
        """With which errno this person fails without a fence; 0: it works for them."""
        known = dict(self.na)
        return known.get("root" if person == "root" else "user", known.get("any", 0))
