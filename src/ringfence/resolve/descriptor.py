"""Linux backend: an O_PATH descriptor, and the kernel's own name for it in /proc/self/fd.

The kernel follows the links, so names past PATH_MAX on the way and links past the loop limit cannot fool it (a
string walk such as os.path.realpath returns an inside path for both: CVE-2025-4517 and its kind).
Hot: `posix` and `_stat` are built in; `os` would cost 1.6 ms at start.

What it cannot know: bind mounts show the path by which they were reached, and everything may change before the
agent opens the path. O_PATH needs Linux 2.6.39, with O_NOFOLLOW on links 3.6.
"""

from __future__ import annotations

from _stat import S_ISCHR, S_ISDIR, S_ISLNK, S_ISREG
from posix import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_PATH, close, fstat, major, minor, open, readlink, stat

from ringfence.model import Located, Unresolved
from ringfence.resolve.spell import (
    ENCODING,
    LOOP,
    NAME_MAX,
    NO_ACCESS,
    NOT_A_DIRECTORY,
    PATH_MAX,
    TOO_LONG,
    UNREACHABLE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from posix import stat_result

    from ringfence.model import Site

MAX_HOPS = 40  # MAXSYMLINKS, include/linux/namei.h
_ENOENT, _EACCES, _ENOTDIR, _ENAMETOOLONG, _ELOOP = 2, 13, 20, 36, 40
_DIR = O_PATH | O_DIRECTORY | O_CLOEXEC
_ENTRY = O_PATH | O_NOFOLLOW | O_CLOEXEC
_OBJECT = O_PATH | O_CLOEXEC


class ProcUnavailableError(OSError):
    """/proc/self/fd cannot be read here; the caller falls back to `walk`."""


def locate(path: str, follow_leaf: bool) -> Site:
    """Where `path` (absolute text) lands. A trailing slash, `/.` or `/..` makes the leaf followed in any case.

    Raises ProcUnavailableError where /proc/self/fd is missing or unreadable.
    """
    try:
        name = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return ENCODING
    if len(name) >= PATH_MAX:
        return TOO_LONG
    try:
        fd = open(name, _OBJECT if follow_leaf else _ENTRY)
    except OSError as error:
        return _Walk(follow_leaf).run(path, name) if error.errno == _ENOENT else _refusal(error)
    try:
        real = _name_of(fd)
        if real == name:
            return _located(real, fstat(fd), "")
    finally:
        close(fd)
    # Links or dots on the way. Walk again by hand: only so can a door of procfs be seen, which would name another
    # object in the agent's process than in this one.
    return _Walk(follow_leaf).run(path, name)


def is_plain_file(path: str) -> bool:
    """Whether `path` is itself the physical name of an existing regular file with exactly one name.

    False says nothing: the caller then takes the whole walk. Two system calls fewer than `locate`.
    """
    try:
        name = path.encode("utf-8", "surrogateescape")
        fd = open(name, _OBJECT)
    except (OSError, ValueError):
        return False
    try:
        if readlink(b"/proc/self/fd/%d" % fd) != name:
            return False
        st = fstat(fd)
    except OSError:
        return False
    finally:
        close(fd)
    return st.st_nlink == 1 and S_ISREG(st.st_mode) and not name.startswith(b"/proc/")


def _name_of(fd: int) -> bytes:
    try:
        return readlink(b"/proc/self/fd/%d" % fd)
    except OSError as error:
        if error.errno == _ENAMETOOLONG:
            return b""
        raise ProcUnavailableError(error.errno, "reading /proc/self/fd") from error


def _located(real: bytes, st: stat_result | None, magic: str, tail: bytes = b"") -> Site:
    if real[:1] != b"/":
        return UNREACHABLE if real else TOO_LONG
    if tail:
        real = real + tail if real != b"/" else tail
        if len(real) >= PATH_MAX:
            return TOO_LONG
    text = real.decode("utf-8", "surrogateescape")
    if st is None:
        return Located(text, False, False, 0, 0, 0, False, magic)
    mode = st.st_mode
    if S_ISREG(mode):
        return Located(text, True, False, st.st_nlink, st.st_dev, st.st_ino, False, magic)
    if S_ISCHR(mode):
        # The object, not only the name: a regular file may lie at /dev/null (CVE-2025-31133 is of this kind).
        sink = text == "/dev/null" and major(st.st_rdev) == 1 and minor(st.st_rdev) == 3
        return Located(text, True, False, 0, st.st_dev, st.st_ino, sink, magic)
    return Located(text, True, S_ISDIR(mode), 0, st.st_dev, st.st_ino, False, magic)


def _refusal(error: OSError) -> Unresolved:
    number = error.errno
    if number == _ELOOP:
        return LOOP
    if number == _ENOTDIR:
        return NOT_A_DIRECTORY
    if number == _ENAMETOOLONG:
        return TOO_LONG
    if number == _EACCES:
        return NO_ACCESS
    return Unresolved("invalid.unreadable", f"the path cannot be looked at: {error.strerror}")


class _Walk:
    """One component at a time from `/`, each by descriptor, so that no string is ever opened twice."""

    def __init__(self, follow_leaf: bool) -> None:
        self.follow_leaf = follow_leaf
        self.fd = -1
        self.magic = ""
        self.must_be_dir = False
        self.folds = False
        self.missing: list[bytes] = []
        self.hops = 0

    def run(self, path: str, name: bytes) -> Site:
        try:
            site = self._steps(name)
        except OSError as error:
            if isinstance(error, ProcUnavailableError):
                raise
            return _refusal(error)
        finally:
            if self.fd >= 0:
                close(self.fd)
        if not self.folds or not isinstance(site, Located):
            return site
        folded = fold_text(path)
        if folded == path:  # the `..` stands in a link's text, which nobody folds
            return site
        # `..` behind a missing component: a program that folds text first reads another path.
        other = locate(folded, self.follow_leaf)
        if not isinstance(other, Located):
            return other
        return site._replace(
            folded=other.path if other.path != site.path else "", magic=site.magic or other.magic
        )

    def _steps(self, name: bytes) -> Site:
        proc_dev = _proc_device()
        self.fd = open(b"/", _DIR)
        todo = _components(name)
        self.must_be_dir = name.endswith((b"/", b"/.", b"/.."))
        st: stat_result | None = None
        while todo:
            part = todo.pop()
            if self.missing:
                if part == b"..":
                    self.folds = True
                    self.missing.pop()
                elif len(part) > NAME_MAX:
                    return TOO_LONG
                else:
                    self.missing.append(part)
                continue
            if part == b"..":
                self._enter(open(b"..", _DIR, dir_fd=self.fd))
                st = None
                continue
            try:
                entry = open(part, _ENTRY, dir_fd=self.fd)
            except OSError as error:
                if error.errno != _ENOENT:
                    raise
                if len(part) > NAME_MAX:
                    return TOO_LONG
                self.missing.append(part)
                continue
            st = fstat(entry)
            if not S_ISLNK(st.st_mode) or (not todo and not self.follow_leaf and not self.must_be_dir):
                self._enter(entry)
                continue
            self.hops += 1
            if self.hops > MAX_HOPS:
                close(entry)
                return LOOP
            if st.st_dev == proc_dev:
                # A magic link: it means the process that follows it. Go through, but say so.
                self.magic = self.magic or part.decode("utf-8", "surrogateescape")
                close(entry)
                self._enter(open(part, _OBJECT, dir_fd=self.fd))
                st = fstat(self.fd)
                continue
            target = readlink(b"", dir_fd=entry)
            close(entry)
            if not todo and target.endswith((b"/", b"/.", b"/..")):
                self.must_be_dir = True
            if target.startswith(b"/"):
                self._enter(open(b"/", _DIR))
            todo.extend(_components(target))
            st = None
        return self._finish(st)

    def _enter(self, fd: int) -> None:
        close(self.fd)
        self.fd = fd

    def _finish(self, st: stat_result | None) -> Site:
        real = _name_of(self.fd)
        if self.missing:
            return _located(real, None, self.magic, b"/" + b"/".join(self.missing))
        if st is None:
            st = fstat(self.fd)
        if self.must_be_dir and not S_ISDIR(st.st_mode):
            return NOT_A_DIRECTORY
        if real.endswith(b" (deleted)") and not _same(real, st):
            return Unresolved("invalid.changing", "the object was deleted while it was looked at")
        return _located(real, st, self.magic)


def _components(name: bytes) -> list[bytes]:
    """The components in reverse, so that the next one is popped from the end."""
    parts = [part for part in name.split(b"/") if part and part != b"."]
    parts.reverse()
    return parts


def _same(real: bytes, st: stat_result) -> bool:
    try:
        again = stat(real, follow_symlinks=False)
    except OSError:
        return False
    return (again.st_dev, again.st_ino) == (st.st_dev, st.st_ino)


def _proc_device() -> int:
    try:
        return stat(b"/proc/self").st_dev
    except OSError as error:
        raise ProcUnavailableError(error.errno, "looking at /proc") from error


def fold_text(path: str) -> str:
    """The lexical reading of an absolute path: `..` removes the name before it, links or not.

    Never a verdict by itself; judged beside the physical reading, where the two may differ.
    """
    out: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if out:
                out.pop()
        elif part and part != ".":
            out.append(part)
    return "/" + "/".join(out) + ("/" if path.endswith("/") and out else "")
