"""Counts of an audit's findings: by verdict, by code and rule."""

from __future__ import annotations

from ringfence.model import Verdict
from ringfence.proposals import MALFORMED_CODE, Summary, Total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Decision, Rule
    from ringfence.proposals import Finding

_ORDER = {Verdict.DENY: 0, Verdict.ASK: 1, Verdict.ALLOW: 2}


class Tally:
    """Counts as findings pass. `skipped` is the caller's to count."""

    __slots__ = ("_counts", "_rules", "skipped")

    def __init__(self) -> None:
        # By identity: a policy's rules are few and live as long as it does, and hashing a record costs a microsecond.
        self._counts: dict[tuple[str, int], int] = {}
        self._rules: dict[tuple[str, int], tuple[Verdict, str, Rule]] = {}
        self.skipped = 0

    def add(self, decision: Decision) -> None:
        """Count one finding's decision."""
        key = (decision.code, id(decision.rule))
        try:
            self._counts[key] += 1
        except KeyError:
            self._counts[key] = 1
            self._rules[key] = (decision.verdict, decision.code, decision.rule)

    def summary(self, *, complete: bool = True, weaker: str = "") -> Summary:
        """What was counted so far, refusals first, the most frequent first."""
        merged: dict[tuple[Verdict, str, str], int] = {}
        for key, count in self._counts.items():
            verdict, code, rule = self._rules[key]
            row = (verdict, code, str(rule))
            merged[row] = merged.get(row, 0) + count
        rows = sorted(merged.items(), key=lambda item: (_ORDER[item[0][0]], -item[1], item[0][1], item[0][2]))
        by = {verdict: sum(n for (v, _, _), n in rows if v is verdict) for verdict in Verdict}
        malformed = sum(n for (_, code, _), n in rows if code == MALFORMED_CODE)
        return Summary(
            judged=sum(by.values()) - malformed,
            allowed=by[Verdict.ALLOW],
            asked=by[Verdict.ASK],
            denied=by[Verdict.DENY] - malformed,
            malformed=malformed,
            skipped=self.skipped,
            totals=tuple(Total(str(v), code, rule, n) for (v, code, rule), n in rows),
            complete=complete,
            weaker=weaker,
        )


def is_refused(finding: Finding) -> bool:
    """Whether a finding is anything but allowed."""
    return finding.decision.verdict is not Verdict.ALLOW
