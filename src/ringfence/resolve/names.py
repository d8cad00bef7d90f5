"""Doors, the null device and the textual reading of `..`: facts of the portable walk."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LINKS = 40
"""Links in one walk; the 41st is ELOOP (MAXSYMLINKS in Linux include/linux/namei.h, path_resolution(7))."""

_TREES: tuple[str, ...] = ("/proc", "/dev/fd")
_ENTRIES: tuple[str, ...] = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
# macOS names a file by device and inode below /.vol, and takes two prefixes that change how the rest is
# walked (xnu bsd/vfs/vfs_lookup.c: /.nofollow/ and /.resolve/). By reading only: not seen on a Mac by us.
_DARWIN: tuple[str, ...] = ("/.vol", "/.nofollow", "/.resolve")

NULL_DEVICE: Mapping[str, int] = {"linux": 0x103, "darwin": 0x3000002}
"""st_rdev of the null device: character 1:3 on Linux (admin-guide/devices.txt), 3:2 on macOS."""


def link_door(path: str, more: tuple[str, ...] = ()) -> bool:
    """Whether a link at `path` (physical) names something else for every process that follows it: `self`, a
    descriptor number, another process's root. `more`: the roots of procfs instances found elsewhere.
    """
    return path in _ENTRIES or bool(_behind(path, _TREES + more))


def hidden_door(path: str, flavour: str, more: tuple[str, ...] = ()) -> str:
    """The door that `path` lies behind with no link followed, if its text does not tell ("" for none).

    Text below /proc and /dev/fd tells; the decision knows these two by name.
    """
    if flavour == "darwin":
        return _behind(path.lower(), _DARWIN)  # the volume at / ignores case
    return _behind(path, more)


def _behind(path: str, trees: tuple[str, ...]) -> str:
    for tree in trees:
        if path == tree or path.startswith(tree + "/"):
            return tree
    return ""


def lexical_normal(path: str) -> str:
    """`path` (absolute) with `.`, `..` and doubled slashes folded as text; a slash at the end is kept.

    Sharp: the kernel does not read paths so, `link/..` is not `.`. Only for the second reading of `..` behind
    a component that does not exist, by programs that fold first (node's path.resolve, os.path.normpath).
    """
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if kept:
                kept.pop()
        elif part and part != ".":
            kept.append(part)
    return "/" + "/".join(kept) + ("/" if kept and path.endswith("/") else "")
