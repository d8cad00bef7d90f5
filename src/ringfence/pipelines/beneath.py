"""What an unfenced hand may touch in a tree that an agent can rearrange: descriptors, never paths.

We run outside the fence and clean up inside it. Every name there may be a link by now, so each component is opened by
itself below a descriptor that was taken before the agent ran, and no link is ever followed (O_NOFOLLOW): what cannot be
reached without one is not touched. Only entries are renamed or replaced; nothing is copied and nothing is deleted.
"""

from __future__ import annotations

from _stat import S_ISDIR, S_ISLNK, S_ISREG
from posix import (
    O_CLOEXEC,
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_NOFOLLOW,
    O_NONBLOCK,
    O_RDONLY,
    O_WRONLY,
    close,
    fstat,
    getpid,
    kill,
    listdir,
    open,
    read,
    rename,
    replace,
    stat,
    unlink,
    write,
)

from ringfence.model import shown
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from posix import stat_result

_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_MOST = 16 << 20  # bytes of a file that is taken in whole


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def open_folder(path: str, at: int | None = None) -> int:
    """A descriptor on a folder; -1 if there is none or its last name is a link. The caller closes it."""
    try:
        return open(raw(path), _FOLDER, dir_fd=at)
    except OSError:
        return -1


def folder_at(root: int, parts: Sequence[str]) -> int:
    """A descriptor on the folder at `parts` below `root`; -1 if there is none or a link stands on the way."""
    from posix import dup

    here = dup(root)
    for part in parts:
        below = open_folder(part, here)
        close(here)
        if below < 0:
            return -1
        here = below
    return here


class Reached(Record):
    """Where a walk ended. `folder` is a descriptor (the caller closes it), `name` the entry in it.

    `depth` is how many components `name` is away from the start: less than asked for if a link or a file stood in the
    way, and then `name` is that entry.
    """

    folder: int
    name: str
    depth: int
    whole: bool


def walk(root: int, parts: Sequence[str]) -> Reached | None:
    """The folder that holds the last of `parts` below `root`; None if a component is missing."""
    from posix import dup

    here = dup(root)
    for depth, part in enumerate(parts[:-1]):
        below = open_folder(part, here)
        if below < 0:
            if entry(here, part) is None:
                close(here)
                return None
            return Reached(here, part, depth + 1, False)
        close(here)
        here = below
    return Reached(here, parts[-1], len(parts), True)


def entry(folder: int, name: str) -> stat_result | None:
    """What stands at `name` in `folder`, a link itself and not its target; None if nothing does."""
    try:
        return stat(raw(name), dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def is_link(st: stat_result | None) -> bool:
    return st is not None and S_ISLNK(st.st_mode)


def is_folder(st: stat_result | None) -> bool:
    return st is not None and S_ISDIR(st.st_mode)


def same(one: stat_result, other: stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def names(folder: int) -> list[str]:
    try:
        return sorted(name.decode("utf-8", "surrogateescape") for name in map(_bytes, listdir(folder)))
    except OSError:
        return []


def _bytes(name: str | bytes) -> bytes:
    import sys

    return name if isinstance(name, bytes) else name.encode(sys.getfilesystemencoding(), "surrogateescape")


def content(folder: int, name: str) -> bytes | None:
    """A regular file's bytes, all of them; None for anything else, and for one that is larger than 16 MiB."""
    try:
        fd = open(raw(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        if not S_ISREG(fstat(fd).st_mode):
            return None
        parts = []
        size = 0
        while part := read(fd, 1 << 20):
            parts.append(part)
            size += len(part)
            if size > _MOST:
                return None
        return b"".join(parts)
    except OSError:
        return None
    finally:
        close(fd)


def move_away(folder: int, name: str, store: str) -> str:
    """Rename the entry into `store` (a folder of ours), or beside itself where that is another file system.

    Returns where it is now, "" if it could not be moved. `store` is made if need be.
    """
    import os

    try:
        os.makedirs(store, 0o700, exist_ok=True)
    except OSError:
        return ""
    target = open_folder(store)
    if target < 0:
        return ""
    try:
        for number in range(1000):
            own = f"{name}.{number}" if number else name
            if entry(target, own) is not None:
                continue
            try:
                rename(raw(name), raw(own), src_dir_fd=folder, dst_dir_fd=target)
            except OSError:
                break
            return f"{store}/{own}"
    finally:
        close(target)
    beside = f"{name}.moved-by-ringfence-{getpid()}"
    try:
        rename(raw(name), raw(beside), src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        return ""
    return f"{beside} beside it"


def put(folder: int, name: str, data: bytes, mode: int) -> bool:
    """Replace the entry by a file with `data`, in one step; whether that worked.

    A staged file of one of us that was killed on the way is taken out: whoever finishes its work comes through here.
    """
    lead = f"{name}.ringfence-"
    for left in names(folder):
        if left.startswith(lead) and left[len(lead) :].isdigit() and not lives(int(left[len(lead) :])):
            unlink(raw(left), dir_fd=folder)
    staged = f"{lead}{getpid()}"
    try:
        fd = open(raw(staged), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode, dir_fd=folder)
    except OSError:
        return False
    try:
        rest = data
        while rest:
            rest = rest[write(fd, rest) :]
    except OSError:
        unlink(raw(staged), dir_fd=folder)
        return False
    finally:
        close(fd)
    try:
        if is_folder(entry(folder, name)):
            rename(
                raw(name), raw(f"{name}.moved-by-ringfence-{getpid()}"), src_dir_fd=folder, dst_dir_fd=folder
            )
        replace(raw(staged), raw(name), src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        unlink(raw(staged), dir_fd=folder)
        return False
    return True


def lives(pid: int) -> bool:
    """Whether there is a process of this number; another one that was given it counts too."""
    try:
        kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def moved(folder: int, name: str, store: str, path: str, rule: str) -> str:
    """Move a guarded entry that appeared, and the sentence that says so."""
    where = move_away(folder, name, store + path.rpartition("/")[0]) if store else ""
    if not where:
        return f"{shown(path)} was made, which the policy guards ({rule}), and could NOT be moved away"
    return (
        f"{shown(path)} did not exist before and is guarded ({rule}), since a later unfenced program would obey it: "
        f"it was moved to {shown(where)} after the command ended"
    )


__all__ = [
    "Reached",
    "content",
    "entry",
    "folder_at",
    "is_folder",
    "is_link",
    "lives",
    "move_away",
    "moved",
    "names",
    "open_folder",
    "put",
    "raw",
    "same",
    "walk",
]
