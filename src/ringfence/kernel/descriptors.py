"""Descriptors that a program would inherit, and which of them would carry it over the fence.

A descriptor opened before the fence keeps the rights it was opened with, whatever the engine; and one of a
directory or an O_PATH one leads to the *unfenced* mount of its file. Callers pass pipes and sockets on
purpose (make's job server, process substitution, a supervisor's channel): those stay.
"""

from __future__ import annotations

import posix

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STANDARD = (0, 1, 2)
"""Never closed: the caller's own redirections, a file outside included."""

# stat.h and fcntl.h; `stat` as a module costs more than these lines.
_TYPE_MASK, _REGULAR, _DIRECTORY, _BLOCK, _CHARACTER = 0o170000, 0o100000, 0o040000, 0o060000, 0o020000
_SYMLINK = 0o120000
_O_ACCMODE, _O_PATH, _O_CLOEXEC = 0o3, 0o10000000, 0o2000000
_MEMORY_MAJOR = 1
_HARMLESS_MEMORY = (3, 5, 7, 8, 9)  # null, zero, full, random, urandom; not mem, kmem, port
_WITHOUT_PROC = 65536
# The thread's own descriptors (Linux 3.17): a thread that starts a program has a table to itself (kernel/spawn.py).
_PROC = "/proc/thread-self"


class Leak(Record):
    """An inherited descriptor that must not reach the program. `what` names it for a report."""

    descriptor: int
    what: str


def leaks(writable: tuple[str, ...], read_only: tuple[str, ...]) -> tuple[Leak, ...]:
    """The inheritable descriptors from 3 up that would cross the fence.

    `writable` and `read_only` are physical roots; the longest one above a file decides, read-only on a tie.
    Kept: pipes, sockets, terminals, anonymous files (memfd, event and poll descriptors), files that are only
    read, and files without a name. Without /proc nothing can be told, and all are leaks.
    """
    try:
        numbers: Iterable[int] = sorted(int(name) for name in posix.listdir(f"{_PROC}/fd"))
        proc = True
    except OSError:
        numbers, proc = range(3, _WITHOUT_PROC), False
    found = []
    for number in numbers:
        if number in STANDARD:
            continue
        try:
            if not posix.get_inheritable(number):
                continue
            what = _judge(number, writable, read_only) if proc else "a descriptor (no /proc to tell which)"
        except OSError:
            continue  # the listing's own descriptor, or a gap
        if what:
            found.append(Leak(number, what))
    return tuple(found)


def close_leaks(writable: tuple[str, ...], read_only: tuple[str, ...]) -> tuple[Leak, ...]:
    """Close them and say which. Call it in the child: the caller's own copies stay open."""
    found = leaks(writable, read_only)
    for leak in found:
        posix.close(leak.descriptor)
    return found


def reopenable(number: int) -> bool:
    """Whether `number` is a regular file open for writing: programs reopen it as /dev/stdout or /dev/fd/N."""
    try:
        if posix.fstat(number).st_mode & _TYPE_MASK != _REGULAR:
            return False
        flags = open_flags(number)
    except OSError:
        return False
    return not flags & _O_PATH and flags & _O_ACCMODE != posix.O_RDONLY


def open_flags(number: int) -> int:
    """The flags a descriptor was opened with. Raises OSError without /proc or without that descriptor."""
    info = posix.open(f"{_PROC}/fdinfo/{number}", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        text = posix.read(info, 512)
    finally:
        posix.close(info)
    words = text.split()
    return int(words[words.index(b"flags:") + 1], 8)


def _judge(number: int, writable: tuple[str, ...], read_only: tuple[str, ...]) -> str:
    """Why the descriptor is a leak, "" if it is none."""
    known = posix.fstat(number)
    kind = known.st_mode & _TYPE_MASK
    flags = open_flags(number)
    name = posix.readlink(f"{_PROC}/fd/{number}")
    if flags & _O_PATH:
        return f"a handle on {name}"
    if kind == _DIRECTORY:
        # Inside the workspace too: through it a carve-out can be reached on the unfenced mount.
        return f"the directory {name}"
    if flags & _O_ACCMODE == posix.O_RDONLY:
        return ""
    if kind == _BLOCK:
        return f"the device {name}, open for writing"
    if kind == _CHARACTER:
        device = known.st_rdev
        memory = posix.major(device) == _MEMORY_MAJOR and posix.minor(device) in _HARMLESS_MEMORY
        return "" if memory or posix.isatty(number) else f"the device {name}, open for writing"
    if kind == _REGULAR and known.st_nlink and not _inside(name, writable, read_only):
        return f"the file {name}, open for writing"
    return ""


def _inside(name: str, writable: tuple[str, ...], read_only: tuple[str, ...]) -> bool:
    longest, may = -1, False
    for roots, verdict in ((writable, True), (read_only, False)):
        for root in roots:
            below = name == root or name.startswith(root if root.endswith("/") else root + "/")
            if below and (len(root) > longest or (len(root) == longest and not verdict)):
                longest, may = len(root), verdict
    return may
