"""Loading a policy, in one straight line: gather, decide the restriction, compile. Cold: parses TOML."""

from __future__ import annotations

from ringfence.policy.compile import compile_policy
from ringfence.policy.evidence import Evidence
from ringfence.policy.gather import env_switches, gather, restriction
from ringfence.policy.roots import Locator
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.model import Policy, Site
    from ringfence.policy.asked import Sources
    from ringfence.policy.compile import Compiled
    from ringfence.policy.texts import FileSeen, LayerText, LinkSeen, RootSeen


class Loaded(Record):
    """A compiled policy and everything that led to it; a snapshot compares the last three."""

    policy: Policy
    compiled: Compiled
    layers: tuple[LayerText, ...]
    files: tuple[FileSeen, ...]
    roots: tuple[RootSeen, ...]
    links: tuple[LinkSeen, ...]


def load(sources: Sources, locate: Callable[[str], Site]) -> Loaded:
    """Load the policy for `sources`. `locate` is the resolver (absolute path in, Located or Unresolved out).

    Raises UsageError for flags that contradict each other, PolicyError for everything a source says wrongly.
    """
    restrict = restriction(sources.flags, *env_switches(sources))
    evidence = Evidence()
    locator = Locator(locate)
    layers = tuple(gather(sources, evidence, locator))
    compiled = compile_policy(layers, restrict, sources, evidence, locator)
    return Loaded(compiled.policy, compiled, layers, evidence.seen, locator.seen, evidence.links)
