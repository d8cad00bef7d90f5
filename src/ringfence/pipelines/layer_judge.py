"""The verdict on each change of a layer, under the rules that hold for programs.

What `ringfence run` would let a program write is allowed: rules for file tools and texts alone (git's own config)
do not count here; that config is looked at after the changes are applied, as after every fenced command. Paths are
taken as they stand in the layer, below a physical root, so no link is followed to another place.
"""

from __future__ import annotations

from ringfence.decide import Index, judge
from ringfence.model import (
    Audience,
    Change,
    ChangeKind,
    Decision,
    Entry,
    JudgedChange,
    LayerLimit,
    Located,
    Op,
    Rule,
    Verdict,
    ZoneKind,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ringfence.model import Policy

_LAYER = Rule("layer", "built in")
_OPS = {
    ChangeKind.CREATED: Op.CREATE,
    ChangeKind.CHANGED: Op.WRITE,
    ChangeKind.DELETED: Op.DELETE,
    ChangeKind.RENAMED: Op.RENAME,
    ChangeKind.METADATA: Op.METADATA,
}
_SEVERITY = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


def for_programs(policy: Policy) -> Policy:
    """The policy as an engine reads it."""
    return policy._replace(
        zones=tuple(zone for zone in policy.zones if zone.audience is not Audience.TEXT),
        globs=tuple(glob for glob in policy.globs if glob.audience is not Audience.TEXT),
    )


class Judge:
    """One policy, asked for every change of one layer."""

    __slots__ = ("_index", "_new_repositories", "policy")

    def __init__(self, policy: Policy) -> None:
        self.policy = for_programs(policy)
        self._index = Index(self.policy, None, Audience.PROGRAMS)
        self._new_repositories: set[str] = set()

    def all(self, changes: Iterable[Change]) -> list[JudgedChange]:
        """In the order given: a new folder comes before what is in it."""
        return [JudgedChange(change, self.one(change)) for change in changes]

    def one(self, change: Change) -> Decision:
        before, after = change.before, change.after
        if change.kind is ChangeKind.CREATED and change.path.endswith("/.git"):
            self._new_repositories.add(change.path)
        if before is not None and before.kind == "file" and before.links > 1 and change.kind in _IN_PLACE:
            # A direct run would have changed every name of the file, unless it put a new file in this place.
            why = f"{shown(change.path)} has {before.links} names on the real tree; in the layer only this one changed"
            hint = "run the program directly under `ringfence run`, or give the file a single name first"
            return Decision(
                Verdict.DENY, "layer.other-names", change.path, _LAYER, why, _OPS[change.kind], hint
            )
        ops = [_OPS[change.kind]]
        if "kind" in change.what:
            ops = [Op.DELETE, Op.CREATE]
        verdicts = [self._at(change.path, op, before or after) for op in ops]
        if change.source:
            verdicts.append(self._at(change.source, Op.RENAME, before))
        return max(verdicts, key=lambda decision: _SEVERITY[decision.verdict])

    def attempt(self, path: str, op: Op) -> Decision:
        """The verdict on a path that a program named, resolved already."""
        return self._at(path, op, None)

    def _at(self, path: str, op: Op, known: Entry | None) -> Decision:
        folder = known is not None and known.kind == "folder"
        site = Located(path, known is not None, folder, 1, 0, 0, sink=False, magic="")
        decision = judge(self._index, op, site)
        if decision.verdict is Verdict.ALLOW:
            return decision
        if folder and path.endswith("/.git") and op in (Op.CREATE, Op.METADATA):
            # That guard is for the pointer file of a worktree; what lies in the folder has guards of its own.
            why = "a repository's own folder"
            return Decision(Verdict.ALLOW, "allow.repository", path, decision.rule, why, op)
        if self._is_template(path):
            why = "git's own template in a repository made just now"
            return Decision(Verdict.ALLOW, "allow.new-repository", path, decision.rule, why, op)
        return decision

    def _is_template(self, path: str) -> bool:
        """`hooks/NAME.sample` (which git never runs) and the empty folders of a repository that this program made."""
        for made in self._new_repositories:
            if path.startswith(made + "/"):
                rest = path[len(made) + 1 :]
                if rest in ("hooks", "info", "info/exclude"):
                    return True
                return rest.startswith("hooks/") and rest.endswith(".sample") and rest.count("/") == 1
        return False


_IN_PLACE = (ChangeKind.CHANGED, ChangeKind.METADATA)


def split_caches(policy: Policy, changes: Iterable[Change]) -> tuple[list[Change], list[Change]]:
    """(changes of the trees, changes of the private caches): the latter are thrown away with the layer."""
    roots = [zone.root for zone in policy.zones if zone.kind is ZoneKind.CACHE]
    trees: list[Change] = []
    caches: list[Change] = []
    for change in changes:
        inside = any(change.path == root or change.path.startswith(root + "/") for root in roots)
        (caches if inside else trees).append(change)
    return trees, caches


def limits_of(changes: Iterable[Change]) -> list[LayerLimit]:
    """The limits of the layer that the changes themselves show."""
    return [
        LayerLimit(
            "layer.other-names", c.path, "the other names of this file keep the old content in the layer"
        )
        for c in changes
        if c.kind in _IN_PLACE and c.before is not None and c.before.kind == "file" and c.before.links > 1
    ]
