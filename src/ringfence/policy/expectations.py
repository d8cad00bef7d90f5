"""Running the `[[test]]` entries of a policy. The judge is handed in: this room does not decide."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.model import Decision
    from ringfence.policy.texts import Expectation

    Judge = Callable[[Op, str, str], Decision]  # operation, path as written, absolute cwd


class Outcome(Record):
    """One `[[test]]` and what came out. `passed`: the verdict is the expected one, exactly."""

    test: Expectation
    decision: Decision
    passed: bool

    def __str__(self) -> str:
        line = f"{self.test.place}: {self.test.op} {self.test.path}"
        if self.passed:
            return f"{line}: {self.test.expect}, as expected"
        found = self.decision
        return f"{line}: expected {self.test.expect}, got {found.verdict} ({found.code}): {found.message}"


def run(tests: Sequence[Expectation], judge: Judge) -> tuple[Outcome, ...]:
    """Judge every entry, in the order of the files."""
    outcomes = []
    for test in tests:
        decision = judge(Op(test.op), test.path, test.cwd)
        outcomes.append(Outcome(test, decision, passed=decision.verdict.value == test.expect))
    return tuple(outcomes)
