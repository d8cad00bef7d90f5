"""What programs in a linked worktree get beside its tree, from before the start to after the end (docs/adr/0008)."""

from __future__ import annotations

from ringfence.model import Access, Rule, Zone, ZoneKind
from ringfence.pipelines import git_layer
from ringfence.pipelines.aftermath import guarded_below
from ringfence.pipelines.confine import NoGrant
from ringfence.pipelines.git_state import Admin
from ringfence.pipelines.placing import is_read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Confinement, Policy

_RULE = Rule("git-worktree", "built in")


class Grant(NoGrant):
    """Layers over shared folders, and a look at the worktrees' own folders."""

    __slots__ = ("_admins", "_layers", "_path", "_policy", "_writable")

    def __init__(self, policy: Policy, wanted: Confinement, path: str) -> None:
        self._policy = policy
        self._path = path
        self._writable = tuple(zone.root for zone in wanted.writable)
        self._layers = git_layer.prepare(policy)
        self._admins = tuple(
            Admin(layer.grant, policy, guarded_below(layer.grant.workspace, wanted)) for layer in self._layers
        )
        super().__init__(wanted._replace(shadowed=tuple(layer.shadow for layer in self._layers)))

    def finish(self) -> list[str]:
        said = git_layer.finish(self._policy, self._layers, self._writable, self._path)
        for admin in self._admins:
            said += admin.after()
        return said

    def tracked(self) -> list[str]:
        return [line for admin in self._admins for line in admin.tracked(self._path, self._writable)]

    def discard(self) -> None:
        git_layer.discard(self._layers)


def grant(policy: Policy, wanted: Confinement, env: Mapping[str, str], engine: str, nested: bool) -> NoGrant:
    """Take over what was left behind, and make new layers where an engine can use them."""
    from ringfence.pipelines.say import complain

    if nested:
        return NoGrant(_inside_another_fence(policy, wanted))
    path = env.get("PATH", "")
    for line in git_layer.recover(policy, tuple(zone.root for zone in wanted.writable), path):
        complain(f"ringfence: after the fact: (of an earlier command) {line}")
    if engine == "landlock":
        return NoGrant(wanted)
    return Grant(policy, wanted, path)


def _inside_another_fence(policy: Policy, wanted: Confinement) -> Confinement:
    """The fence around us has put its layer there, and takes over what is made: grant what it left writable."""
    open_here = tuple(
        Zone(root, Access.WRITE, ZoneKind.OWN, _RULE)
        for each in policy.worktrees
        if not is_read_only(each.common_dir)
        for root in (each.common_dir, each.git_dir)
    )
    return wanted._replace(writable=(*wanted.writable, *open_here)) if open_here else wanted


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """No packing on the side: in a layer it would copy the whole repository at each commit, to be thrown away."""
    count = env.get("GIT_CONFIG_COUNT", "")
    at = int(count) if count.isdigit() else 0
    keys = (("gc.auto", "0"), ("maintenance.auto", "false"))
    made = {"GIT_CONFIG_COUNT": str(at + len(keys))}
    for number, (key, value) in enumerate(keys, at):
        made[f"GIT_CONFIG_KEY_{number}"] = key
        made[f"GIT_CONFIG_VALUE_{number}"] = value
    return made
