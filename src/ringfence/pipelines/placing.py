"""From a policy to what an engine must hold for one program: which zones stand on this disk, and where patterns match.

Hot: a stat for each guard, one bounded walk only where the policy itself names deep patterns.
"""

from __future__ import annotations

from _stat import S_ISDIR, S_ISLNK
from posix import listdir, lstat, statvfs

from ringfence.decide import match_name
from ringfence.model import Access, Audience, Confinement, Zone, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.model import Glob, Policy


def confinement(policy: Policy, files: Sequence[str] = (), *, nested: bool = False) -> Confinement:
    """What an engine must hold for a program under `policy`; `files` are single files it may write beside.

    `nested`: this process may stand in a fence already; a read-only mount there is taken for held, since nobody inside
    can change it (statvfs is the kernel's word, not an environment's).
    """
    writable: list[Zone] = []
    carve_outs: list[Zone] = []
    masked: list[Zone] = []
    absent: list[Zone] = []
    if not policy.restricted:
        writable.append(Zone("/", Access.WRITE, ZoneKind.WORKSPACE, policy.default))
    for zone in policy.zones:
        if zone.access is Access.WRITE:
            if exists(zone.root):
                writable.append(zone)
            elif zone.kind is not ZoneKind.SCRATCH:
                absent.append(zone)
        elif not exists(zone.root):
            absent.append(zone)
        elif not is_link(zone.root):  # a link cannot be mounted on: beside_engines says who holds it
            (masked if zone.access is Access.NONE else carve_outs).append(zone)
    for zone in (*_placed(policy), *_deep(policy)):
        there = exists(zone.root)
        if there and _through_link(zone.root, policy):
            continue  # what lies behind is guarded by its own name; a link cannot be mounted on
        (absent if not there else masked if zone.access is Access.NONE else carve_outs).append(zone)
    if nested:
        # Inside another fence: what the kernel holds already needs no second hand, and could not be given one.
        carve_outs = [zone for zone in carve_outs if not is_read_only(zone.root)]
    roots = [zone.root for zone in writable]
    return Confinement(
        tuple(writable),
        tuple(files),
        tuple(zone for zone in carve_outs if _under(zone.root, roots)),
        tuple(masked),
        tuple(absent),
        policy.shell_reads,
    )


def _placed(policy: Policy) -> list[Zone]:
    """Every pattern at the top of its tree; wildcards in the last component by what is there. Deeper matches would
    need a walk of the whole tree for each command: they are held by the hook, and said so."""
    zones: list[Zone] = []
    for glob in policy.globs:
        if glob.audience is Audience.TEXT:
            continue
        zones.extend(Zone(root, glob.access, glob.kind, glob.rule) for root in placed(glob))
    return zones


_MOST_PLACED = 256  # matches of one pattern that are held; a tree with more is reported by the hook only


def placed(glob: Glob) -> list[str]:
    """The paths that a pattern names from the top of its tree: wildcards by what is there, the rest literally."""
    found = [glob.base.rstrip("/")]
    for part in glob.parts:
        if any(c in part for c in "*?["):
            found = [f"{folder}/{name}" for folder in found for name in _matching(folder, part)][
                :_MOST_PLACED
            ]
        else:
            found = [f"{folder}/{part}" for folder in found]
    return [path for path in found if not (glob.exact and _is_folder(path))]


def _matching(folder: str, pattern: str) -> list[str]:
    try:
        names = listdir(folder.encode("utf-8", "surrogateescape"))
    except OSError:
        return []
    return [
        text for name in sorted(names) if match_name(pattern, text := name.decode("utf-8", "surrogateescape"))
    ]


_LOOK = 20_000  # directory entries looked at for patterns of the policy's own zones


def _deep(policy: Policy) -> list[Zone]:
    """Every match of the policy's own deep patterns (`**/.env`), in one bounded walk; none where there are none."""
    globs = [g for g in policy.globs if g.deep and g.kind is ZoneKind.ZONE and g.access is not Access.WRITE]
    if not globs:
        return []
    from os import scandir

    found: list[Zone] = []
    left = _LOOK
    for start in policy.workspace:
        mine = [g for g in globs if _reaches(g.base, start)]
        stack: list[tuple[bytes, tuple[str, ...]]] = [(start.encode("utf-8", "surrogateescape"), ())]
        while mine and stack and left > 0:
            folder, names = stack.pop()
            try:
                entries = list(scandir(folder))
            except OSError:
                continue
            for entry in entries:
                left -= 1
                here = (*names, entry.name.decode("utf-8", "surrogateescape"))
                for glob in mine:
                    tail = here[-len(glob.parts) :]
                    placed_already = glob.base == start and len(here) <= len(glob.parts)
                    if (
                        placed_already
                        or len(tail) < len(glob.parts)
                        or not all(map(match_name, glob.parts, tail))
                    ):
                        continue
                    root = entry.path.decode("utf-8", "surrogateescape")
                    found.append(Zone(root, glob.access, glob.kind, glob.rule))
                if entry.is_dir(follow_symlinks=False) and here[-1] != "node_modules":
                    stack.append((entry.path, here))
    return found


def _reaches(base: str, start: str) -> bool:
    """Whether a pattern below `base` can match below `start`."""
    return start == base or start.startswith(base.rstrip("/") + "/")


def _through_link(path: str, policy: Policy) -> bool:
    """Whether a component below the workspace, the last one included, is a link."""
    base = max(
        (root for root in policy.workspace if path.startswith(root.rstrip("/") + "/")), key=len, default=""
    )
    if not base:
        return False
    at = base.rstrip("/")
    for part in path[len(at) + 1 :].split("/"):
        at = f"{at}/{part}"
        try:
            if S_ISLNK(lstat(at.encode("utf-8", "surrogateescape")).st_mode):
                return True
        except OSError:
            return False
    return False


def is_link(path: str) -> bool:
    try:
        return S_ISLNK(lstat(path.encode("utf-8", "surrogateescape")).st_mode)
    except OSError:
        return False


def is_read_only(path: str) -> bool:
    try:
        return bool(statvfs(path.encode("utf-8", "surrogateescape")).f_flag & 1)  # ST_RDONLY
    except OSError:
        return False


def exists(path: str) -> bool:
    try:
        lstat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return False
    return True


def _is_folder(path: str) -> bool:
    try:
        return S_ISDIR(lstat(path.encode("utf-8", "surrogateescape")).st_mode)
    except OSError:
        return False


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or root == "/" or path.startswith(root + "/") for root in roots)
