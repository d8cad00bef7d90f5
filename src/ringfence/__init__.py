"""ringfence: a filesystem sandbox and path fence for AI coding agents.

    from ringfence import Fence, Op, Verdict

    fence = Fence("/src/app", protect="/src/app-main")
    decision = fence.check("../notes.txt", Op.WRITE, cwd="/src/app")
    decision.verdict, decision.code, decision.rule

A verdict is about a moment and a string that somebody opens later; only the engine of `ringfence run` and
`ringfence shell` holds while a program runs (docs/adr/0003).
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.errors import FenceError, NotEnforcedError, PolicyError, UsageError
    from ringfence.model import CommandDecision, Decision, Op, Rule, Verdict
    from ringfence.pipelines.fence import Fence

__all__ = [
    "CommandDecision",
    "Decision",
    "Fence",
    "FenceError",
    "NotEnforcedError",
    "Op",
    "PolicyError",
    "Rule",
    "UsageError",
    "Verdict",
    "__version__",
]

_HOMES = {
    "CommandDecision": "ringfence.model",
    "Decision": "ringfence.model",
    "Fence": "ringfence.pipelines.fence",
    "FenceError": "ringfence.errors",
    "NotEnforcedError": "ringfence.errors",
    "Op": "ringfence.model",
    "PolicyError": "ringfence.errors",
    "Rule": "ringfence.model",
    "UsageError": "ringfence.errors",
    "Verdict": "ringfence.model",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: the hot doors need none of them from here (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ringfence' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(home), name)
    globals()[name] = found
    return found
