"""What no engine can hold beforehand, looked at when a fenced command ends: *after the fact*.

A guarded file that did not exist (a placeholder would be a trace in the user's tree) and exists now is moved into the
state folder. A `.git/config` in which a key that can name code has changed is put back. A repository that the
command made keeps git's own files and nothing that git would run. Everything is reported; nothing is deleted.

We are not fenced and the tree is the agent's to rearrange, so all of this works on descriptors taken before the
command ran, and follows no link (beneath.py).

What remains, and is said by `doctor`: the window until the command ends; jobs that it leaves in the background (what
they change in a config is reported by the next command, not put back); and that nobody can tell who made a file, so one
that an unfenced program made meanwhile is moved as well (and named).
"""

from __future__ import annotations

from posix import close, getpid

from ringfence.model import Access, Audience
from ringfence.pipelines import beneath
from ringfence.pipelines.git_vet import Vet
from ringfence.pipelines.repositories import repositories
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ringfence.model import Confinement, Glob, Policy, Zone


class Absent(Record):
    """A guarded place that did not exist: its root's descriptor, the way from there, and whose rule it is."""

    root: str
    folder: int
    parts: tuple[str, ...]
    rule: str


def nested(policy: Policy, root: str) -> tuple[tuple[str, ...], ...]:
    """The ways from `root` to the folders of the repositories that were found deeper in it at load."""
    prefix = root.rstrip("/") + "/"
    bases = {glob.base for glob in policy.globs if not glob.deep and glob.rule.id == "git-hooks"}
    found = sorted(
        base[len(prefix) :] for base in bases if base.startswith(prefix) and base.endswith("/.git")
    )
    return tuple(tuple(path.split("/")) for path in found)


def guarded_below(root: str, wanted: Confinement) -> tuple[str, ...]:
    """What is kept read-only or moved away in the working tree at `root`, relative to it; git's own folder left out."""
    prefix = root.rstrip("/") + "/"
    zones = (*wanted.carve_outs, *wanted.absent)
    found = (zone.root[len(prefix) :] for zone in zones if zone.root.startswith(prefix))
    return tuple(path for path in found if path != ".git" and not path.startswith(".git/"))


class Watch:
    """The state before a command, and what to do after it. Its descriptors live as long as the process."""

    __slots__ = (
        "_absent",
        "_folders",
        "_globs",
        "_links",
        "_placed",
        "_policy",
        "_search",
        "_store",
        "_vets",
        "_writable",
    )

    def __init__(
        self,
        policy: Policy,
        wanted: Confinement,
        placed: Callable[[Glob], list[str]],
        *,
        busy: bool = False,
        search: str = "",
    ) -> None:
        """`placed` names the paths that a pattern covers from the top of its tree; `busy`: others run too.
        `search`: the caller's PATH, where git is looked for if it is asked."""
        self._search = search
        self._policy = policy
        self._placed = placed
        self._store = f"{policy.folders.state}/moved/{getpid()}" if policy.folders.state else ""
        self._writable = tuple(zone.root for zone in wanted.writable)
        roots = sorted(self._writable, key=len, reverse=True)
        self._folders = {root: fd for root in roots if (fd := beneath.open_folder(root)) >= 0}
        self._absent = tuple(
            found for z in wanted.absent if z.access is not Access.WRITE and (found := self._placed_below(z))
        )
        self._globs = tuple(
            (glob, frozenset(placed(glob)))
            for glob in policy.globs
            if glob.audience is not Audience.TEXT and any(c in part for part in glob.parts for c in "*?[")
        )
        self._links = frozenset(self._first_links())
        self._vets: tuple[Vet, ...] = ()
        if policy.restricted:
            self._vets = tuple(
                Vet(
                    policy,
                    root,
                    top,
                    self._store,
                    parts,
                    self._inside_of(root),
                    busy,
                    guarded_below(root, wanted),
                )
                for root in policy.workspace
                if (top := self._folders.get(root, -1)) >= 0
                for parts in (*repositories(top, root), *nested(policy, root))
            )

    def _inside_of(self, root: str) -> Callable[[str], bool]:
        """Whether a local path in a config of `root` lies where an agent may write. Unresolvable counts as inside."""

        def inside(text: str) -> bool:
            from ringfence.pipelines.compose import resolve

            site = resolve(text if text.startswith("/") else f"{root}/{text}")
            path = getattr(site, "path", "")
            return not path or any(
                path == tree or path.startswith(tree.rstrip("/") + "/") for tree in self._writable
            )

        return inside

    def record(self) -> dict[str, object]:
        """What `resume` needs if this process is killed: all that was seen before the command began."""
        return {
            "absent": [[a.root, list(a.parts), a.rule] for a in self._absent],
            "globs": [["/".join((g.base, *g.parts)), sorted(known)] for g, known in self._globs],
            "links": [list(link) for link in self._links],
            "vets": [[v.root, list(v.parts), v.is_new, v.identity] for v in self._vets],
        }

    def begin(self) -> None:
        """Write down what counts as good, before the command runs."""
        for vet in self._vets:
            vet.keep()

    def resume(self, record: dict[str, Any]) -> None:
        """Become the watch of a command whose watcher was killed."""
        self._absent = tuple(
            Absent(root, self._folders[root], tuple(parts), rule)
            for root, parts, rule in record["absent"]
            if root in self._folders
        )
        known = {pattern: frozenset(paths) for pattern, paths in record["globs"]}
        self._globs = tuple(
            (glob, known[key])
            for glob, _ in self._globs
            if (key := "/".join((glob.base, *glob.parts))) in known
        )
        self._links = frozenset((root, name) for root, name in record["links"])
        seen = {(root, tuple(parts)): (new, identity) for root, parts, new, identity in record["vets"]}
        self._vets = tuple(vet for vet in self._vets if (vet.root, vet.parts) in seen)
        for vet in self._vets:
            vet.resume(*seen[vet.root, vet.parts])

    def _placed_below(self, zone: Zone) -> Absent | None:
        for root, folder in self._folders.items():
            prefix = root.rstrip("/") + "/"
            if zone.root.startswith(prefix):
                return Absent(root, folder, tuple(zone.root[len(prefix) :].split("/")), zone.rule.id)
        return None

    def _first_links(self) -> list[tuple[str, str]]:
        """Links that stood on the way to a guarded place before: their owner's, and never followed or moved."""
        found = []
        for root, folder in self._folders.items():
            for first in {a.parts[0] for a in self._absent if a.root == root and len(a.parts) > 1}:
                if beneath.is_link(beneath.entry(folder, first)):
                    found.append((root, first))
        return found

    def after(self) -> list[str]:
        """Undo and say so: one line for each thing."""
        said: list[str] = []
        for vet in self._vets:
            said.extend(vet.after())
        new = {vet.root for vet in self._vets if vet.is_new}
        nothing: dict[tuple[int, str], bool] = {}  # several guarded places often share their first folder
        for absent in self._absent:
            first = (absent.folder, absent.parts[0])
            if first not in nothing:
                nothing[first] = beneath.entry(*first) is None
            if nothing[first]:
                continue
            if absent.parts[0] == ".git" and absent.root in new:
                continue  # a repository made just now: its vet has looked at it
            said.extend(self._look(absent))
        for glob, known in self._globs:
            for path in self._placed(glob):
                if path not in known and (found := self._from_path(path, glob.rule.id)):
                    said.extend(self._look(found))
        for vet in self._vets:
            said.extend(vet.tracked(self._search, self._writable))
        return said

    def _from_path(self, path: str, rule: str) -> Absent | None:
        for root, folder in self._folders.items():
            prefix = root.rstrip("/") + "/"
            if path.startswith(prefix):
                return Absent(root, folder, tuple(path[len(prefix) :].split("/")), rule)
        return None

    def _look(self, absent: Absent) -> list[str]:
        reached = beneath.walk(absent.folder, absent.parts)
        if reached is None:
            return []
        try:
            st = beneath.entry(reached.folder, reached.name)
            if st is None or (not reached.whole and not beneath.is_link(st)):
                return []  # a file where a folder would have to be: nothing guarded can lie below it
            if reached.depth == 1 and (absent.root, reached.name) in self._links:
                return []
            path = "/".join((absent.root.rstrip("/"), *absent.parts[: reached.depth]))
            return [beneath.moved(reached.folder, reached.name, self._store, path, absent.rule)]
        finally:
            close(reached.folder)
