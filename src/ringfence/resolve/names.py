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
_TREES_DARWIN: tuple[str, ...] = ("/dev/fd", "/.vol", "/.nofollow", "/.resolve")

NULL_DEVICE: Mapping[str, int] = {"linux": 0x103, "darwin": 0x3000002}
"""st_rdev of the null device: character 1:3 on Linux (admin-guide/devices.txt), 3:2 on macOS."""


def door(path: str, flavour: str = "linux", more: tuple[str, ...] = ()) -> str:
    """The door that `path` (physical) is or lies behind, "" for none.

    Behind a door a name means something else for every process that says it: `self`, a descriptor number,
    another process's root. `more` holds the roots of procfs instances found elsewhere.
    """
    if flavour == "darwin":
        path = path.lower()  # the volume at / ignores case
    trees = _TREES_DARWIN if flavour == "darwin" else _TREES
    for tree in (*trees, *more):
        if path == tree or path.startswith(tree + "/"):
            return tree
    return path if path in _ENTRIES else ""


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
