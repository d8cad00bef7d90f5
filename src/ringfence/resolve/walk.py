"""Resolve a path component by component with lstat and readlink: the portable backend, the oracle in tests.

Every step asks the system about a name whose folder is already physical, so no call here follows a link by
itself. What remains: a name may change between two steps and after the answer. Only an engine holds; this
answer is about a moment. Also not copied: `fs.protected_symlinks` (Linux 3.6) refuses some links in sticky
folders, which the walk follows and then judges by their target.
"""

from __future__ import annotations

import os
from errno import EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR
from stat import S_ISCHR, S_ISDIR, S_ISLNK, S_ISREG

from ringfence.model import Located, Site, Unresolved
from ringfence.resolve.names import MAX_LINKS, NULL_DEVICE, hidden_door, lexical_normal, link_door
from ringfence.resolve.spell import (
    ENCODING,
    LOOP,
    NAME_MAX,
    NO_ACCESS,
    NOT_A_DIRECTORY,
    PATH_MAX,
    TOO_LONG,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_SLASH = b"/"  # as a component: what stands before it must be a folder, and is followed if it is a link

_CODES = {EACCES: NO_ACCESS, ELOOP: LOOP, ENOTDIR: NOT_A_DIRECTORY, ENAMETOOLONG: TOO_LONG}


def locate_walk(path: str, follow_leaf: bool, *, flavour: str = "linux", os_module: ModuleType = os) -> Site:
    """Where `path` lands: absolute, expanded, without NUL (spell.py has seen to that).

    `follow_leaf` False stays at the directory entry (delete, rename) unless the text ends in `/`, `/.`
    or `/..`. `flavour` is "linux" or "darwin". `os_module` must offer lstat and readlink; names past PATH_MAX
    also need stat, readlink and open by dir_fd, else they are `invalid.too-long`.

    Where `..` follows a missing component the text is read again, folded first; if that reading cannot be
    resolved its refusal is the answer, because the stricter reading counts.
    """
    walk = _Walk(follow_leaf, flavour, os_module)
    site = walk.run(path)
    if not walk.climbed or isinstance(site, Unresolved):
        return site
    other = _Walk(follow_leaf, flavour, os_module).run(lexical_normal(path))
    if isinstance(other, Unresolved):
        return other
    folded = other.path if other.path != site.path else ""
    return site._replace(folded=folded, magic=site.magic or other.magic)


class _Walk:
    """One reading. `climbed`: a `..` left a folder that does not exist, so there is another reading."""

    __slots__ = (
        "climbed",
        "flavour",
        "follow_leaf",
        "foreign",
        "here",
        "hops",
        "io",
        "magic",
        "missing",
        "state",
        "todo",
    )

    def __init__(self, follow_leaf: bool, flavour: str, io: ModuleType) -> None:
        self.follow_leaf = follow_leaf
        self.flavour = flavour
        self.io = io
        self.here = b""  # physical; b"" is the root, so that joining needs no special case
        self.state: os.stat_result | None = None  # of `here`; None: a folder, not asked about yet
        self.todo: list[bytes] = []
        self.missing = 0  # how many components at the end of `here` do not exist
        self.hops = 0
        self.climbed = False
        self.magic = ""
        self.foreign: tuple[str, ...] = ()  # roots of procfs instances outside /proc

    def run(self, path: str) -> Site:
        try:
            text = path.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return ENCODING
        if len(text) >= PATH_MAX:
            return TOO_LONG
        self.todo = _parts(text)
        try:
            while self.todo:
                name = self.todo.pop()
                refused = self._imagine(name) if self.missing else self._step(name)
                if refused is not None:
                    return refused
            if not self.missing and self.state is None:
                self.state = _lstat(self.io, self.here or b"/")
        except OSError as error:
            known = _CODES.get(error.errno or 0)
            return known or Unresolved(
                "invalid.unreadable", f"the path cannot be looked at: {error.strerror}"
            )
        return self._located()

    def _imagine(self, name: bytes) -> Unresolved | None:
        """One step where nothing exists, as the kernel would take it once the missing folders are made."""
        if name == b"..":
            self.here = self.here[: self.here.rfind(b"/")]
            self.missing -= 1
            self.climbed = True
        elif name not in (b".", _SLASH):
            if len(name) > NAME_MAX:
                return TOO_LONG
            self.here += b"/" + name
            self.missing += 1
        return None

    def _step(self, name: bytes) -> Unresolved | None:
        """One step on disk. Raises OSError."""
        if self.state is not None and not S_ISDIR(self.state.st_mode):
            return NOT_A_DIRECTORY
        if name == _SLASH:
            return None
        if name in (b".", b".."):
            self._search()
            if name == b"..":
                self.here, self.state = self.here[: max(self.here.rfind(b"/"), 0)], None
            return None
        entry = self.here + b"/" + name
        try:
            found = _lstat(self.io, entry)
        except OSError as error:
            if error.errno != ENOENT:
                raise
            if len(name) > NAME_MAX:
                return TOO_LONG
            self.here, self.state, self.missing = entry, None, 1
            return None
        if S_ISLNK(found.st_mode) and (self.todo or self.follow_leaf):
            return self._follow(entry)
        if found.st_ino == 1 and entry != b"/proc" and _is_procfs(self.io, entry):
            self.foreign = (*self.foreign, _text(entry))
        self.here, self.state = entry, found
        return None

    def _search(self) -> None:
        """The kernel asks for search permission also before `.` and `..`. Raises OSError."""
        try:
            _lstat(self.io, self.here + b"/.")
        except OSError as error:
            if error.errno != ENOENT:  # gone meanwhile: the next step will see
                raise

    def _follow(self, entry: bytes) -> Unresolved | None:
        """Go on with the link's text from the folder that holds it. Raises OSError."""
        self.hops += 1
        if self.hops > MAX_LINKS:
            return LOOP
        target = _readlink(self.io, entry)
        if link_door(_text(entry), self.foreign):
            self.magic = self.magic or _text(entry)
            if b":" in target and not target.startswith(b"/"):
                # procfs says "pipe:[7]" for what has no name: the door itself is then the best name there is.
                self.here, self.state = entry, self.io.stat(entry)
                return None
        if target.startswith(b"/"):
            self.here = b""
        self.state = None
        self.todo += _parts(target)
        return None

    def _located(self) -> Site:
        if len(self.here) >= PATH_MAX:
            return TOO_LONG
        where = _text(self.here) or "/"
        magic = self.magic or hidden_door(where, self.flavour, self.foreign)
        state = self.state
        if state is None:
            return Located(where, False, False, 0, 0, 0, False, magic)
        mode = state.st_mode
        # Object and name: a regular file may lie there, and behind a door it is the checker's own stream.
        null = S_ISCHR(mode) and state.st_rdev == NULL_DEVICE.get(self.flavour)
        sink = null and not magic and where == "/dev/null"
        links = state.st_nlink if S_ISREG(mode) else 0
        return Located(where, True, S_ISDIR(mode), links, state.st_dev, state.st_ino, sink, magic)


def _parts(text: bytes) -> list[bytes]:
    """Components, the next one last."""
    parts = [part for part in text.split(b"/") if part]
    if text.endswith(b"/"):
        parts.append(_SLASH)
    parts.reverse()
    return parts


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _is_procfs(io: ModuleType, folder: bytes) -> bool:
    """Whether `folder`, whose inode number is 1, is the root of a procfs mounted anywhere.

    Inode 1 is procfs's root (PROC_ROOT_INO), but also that of tmpfs, sysfs and FUSE. Links of procfs have
    size 0, those of tmpfs never; `thread-self` is there since Linux 3.17. A bind mount of a folder *below* a
    procfs root is not seen: it takes privileges to make, and is judged by what its links say.
    """
    try:
        link = _lstat(io, folder + b"/thread-self")
    except OSError:
        return False
    return S_ISLNK(link.st_mode) and link.st_size == 0


def _lstat(io: ModuleType, path: bytes) -> os.stat_result:
    """lstat of a physical path of any length. Raises OSError."""
    if len(path) < PATH_MAX:
        return io.lstat(path)  # type: ignore[no-any-return]  # a module handed in has no types
    folder, rest = _approach(io, path)
    try:
        return io.stat(rest, dir_fd=folder, follow_symlinks=False)  # type: ignore[no-any-return]  # same
    finally:
        io.close(folder)


def _readlink(io: ModuleType, path: bytes) -> bytes:
    """readlink of a physical path of any length. Raises OSError."""
    if len(path) < PATH_MAX:
        return io.readlink(path)  # type: ignore[no-any-return]  # a module handed in has no types
    folder, rest = _approach(io, path)
    try:
        return io.readlink(rest, dir_fd=folder)  # type: ignore[no-any-return]  # same
    finally:
        io.close(folder)


def _approach(io: ModuleType, path: bytes) -> tuple[int, bytes]:
    """A descriptor of a folder on the way and the rest, short enough to be asked about. Raises OSError.

    Needed because a few hundred bytes of links can lead to names longer than any system call takes, and the
    kernel follows them all the same (CVE-2025-4517). The caller closes the descriptor.
    """
    if io.stat not in io.supports_dir_fd or io.readlink not in io.supports_dir_fd:
        raise OSError(ENAMETOOLONG, "no calls relative to a folder here")
    flags = io.O_DIRECTORY | io.O_CLOEXEC | io.O_NOFOLLOW | getattr(io, "O_PATH", 0)
    folder = -1
    while len(path) >= PATH_MAX:
        cut = path.rfind(b"/", 0, PATH_MAX - 1)
        head, path = path[:cut], path[cut + 1 :]
        before = folder
        try:
            folder = io.open(head, flags) if before < 0 else io.open(head, flags, dir_fd=before)
        finally:
            if before >= 0:
                io.close(before)
    return folder, path
