"""Which mounts a confinement needs, and in which order. Pure: paths in, steps out.

Everything starts read-only. A writable root is a copy of the tree, made before that, put back onto its own
place. A carve-out is a read-only copy put onto its place in a writable one. A mask is something empty.

**Pins.** `mv .git old` would carry a mounted `.git/hooks` away, and a new one could be built. The kernel
refuses to rename or remove a folder that is a mount point *anywhere* in the caller's mount namespace
(`is_local_mountpoint`, fs/namespace.c), so every ancestor of a carve-out must be one. Mounting the ancestors
where programs walk would make each of them a border that `rename` and `link` cannot cross (EXDEV). So the
pins live in a *shadow*: a second copy of the writable tree at a hidden place. A folder pinned there is a
mount point of the namespace, and the way that programs take does not cross it.
"""

from __future__ import annotations

from ringfence.records import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ringfence.model import Confinement


class Hold(Choice):
    """What one step makes of a path."""

    WRITE = "write"  # a tree the program may change
    FILE = "file"  # one file or device it may change
    READ = "read"  # read-only below a writable tree
    HIDE = "hide"  # empty and unreadable


# On the same path the stricter wins.
_STRICTER = {Hold.FILE: 0, Hold.WRITE: 1, Hold.READ: 2, Hold.HIDE: 3}


class Step(Record):
    """One mount. `early`: its tree is copied before everything becomes read-only or hidden."""

    path: str
    hold: Hold
    early: bool


class Pins(Record):
    """The folders below one writable root that may not be renamed or removed, as paths relative to it."""

    root: str
    folders: tuple[str, ...]


class MountPlan(Record):
    """Steps, parents before children, and the pins of each writable root that needs some."""

    steps: tuple[Step, ...]
    pins: tuple[Pins, ...]


def plan(
    confinement: Confinement, outside_below: Iterable[str] = (), sockets: Iterable[str] = ()
) -> MountPlan:
    """The mounts that hold `confinement`. All paths absolute and physical.

    `outside_below` are mount points below writable roots that show a place outside them (mounts_table.py);
    they stay read-only. `sockets` are to be hidden beside the masks (control_sockets.py).
    """
    wanted: dict[str, Hold] = {}
    for paths, hold in (
        (confinement.files, Hold.FILE),
        ((zone.root for zone in confinement.writable), Hold.WRITE),
        ((path for shadow in confinement.shadowed for path in (shadow.root, *shadow.open)), Hold.WRITE),
        ((path for shadow in confinement.shadowed for path in shadow.fixed), Hold.READ),
        ((zone.root for zone in confinement.carve_outs), Hold.READ),
        (outside_below, Hold.READ),
        ((zone.root for zone in confinement.masked), Hold.HIDE),
        (sockets, Hold.HIDE),
    ):
        for path in paths:
            if path not in wanted or _STRICTER[hold] > _STRICTER[wanted[path]]:
                wanted[path] = hold
    steps: list[Step] = []
    pinned: dict[str, set[str]] = {}
    above: list[Step] = []  # the chain of steps that hold the path at hand, outermost first
    for path in sorted(wanted, key=_parts):
        while above and not is_below(path, above[-1].path):
            above.pop()
        hold = wanted[path]
        outer = above[-1].hold if above else Hold.READ
        if _says_the_same(hold, outer):
            continue
        # A tree to be shown inside a mask cannot be copied once the mask is there.
        early = hold in (Hold.WRITE, Hold.FILE) or (hold is Hold.READ and outer is Hold.HIDE)
        step = Step(path, hold, early)
        if outer is Hold.WRITE:
            pinned.setdefault(above[-1].path, set()).update(_between(above[-1].path, path))
        steps.append(step)
        above.append(step)
    pins = (Pins(root, tuple(sorted(folders, key=_parts))) for root, folders in pinned.items() if folders)
    return MountPlan(tuple(steps), tuple(pins))


def may_write(planned: MountPlan, path: str) -> bool:
    """Whether `path` (absolute, physical) can be changed under the plan: the innermost step decides."""
    above = [step for step in planned.steps if is_below(path, step.path)]
    return bool(above) and above[-1].hold in (Hold.WRITE, Hold.FILE)


def is_below(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it, both absolute and physical; component by component."""
    return path == root or path.startswith(root if root.endswith("/") else root + "/")


def _says_the_same(hold: Hold, outer: Hold) -> bool:
    if hold is Hold.FILE:
        return outer is Hold.WRITE
    return hold is outer


def _between(root: str, path: str) -> list[str]:
    """The folders strictly between `root` and `path`, relative to `root`."""
    names = path[len(root) :].strip("/").split("/")[:-1]
    return ["/".join(names[: count + 1]) for count in range(len(names))]


def _parts(path: str) -> list[str]:
    return path.split("/")
