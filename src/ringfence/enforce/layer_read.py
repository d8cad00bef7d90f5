"""Reading a layer back: the upper folders against the real tree, as a list of changes.

Whiteouts are character devices 0:0; a folder with `user.overlay.opaque` = y hides all that lies below it. Everything
is opened by descriptor and without following links: the real tree may change while it is read, the layer was written
by a program. What cannot be read is named in `unread`, never passed over.
"""

from __future__ import annotations

import posix

from ringfence.enforce.layer import OWN_XATTRS
from ringfence.model import Change, ChangeKind, Entry
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORMAT = 0o170000
_KINDS = {
    0o100000: "file",
    0o040000: "folder",
    0o120000: "link",
    0o010000: "fifo",
    0o140000: "socket",
    0o020000: "device",
    0o060000: "device",
}
_O_PATH = 0o10000000
_FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
_FILE = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_BLOCK = 1 << 20
OPAQUE = "user.overlay.opaque"


class Unread(Record):
    """A path of which nothing could be told, and why."""

    path: str
    why: str


class Reader:
    """One reading of one root. Folders and files of the layer that their owner closed are opened meanwhile."""

    __slots__ = ("_closed", "_tick", "linked", "unread")

    def __init__(self, tick: Callable[[], None] | None = None) -> None:
        self.unread: list[Unread] = []
        self.linked: dict[
            int, str
        ] = {}  # inode in the layer with several names -> a real path with its content
        self._closed: list[tuple[int, int]] = []  # a descriptor of what was opened up, and its mode
        self._tick = tick

    def changes(self, upper: int, root: str) -> Iterator[Change]:
        """Every path below `root` (its real folder's name) that differs in the layer whose upper folder is `upper`."""
        lower = posix.open(_raw(root), _FOLDER)
        try:
            before, after = entry(posix.fstat(lower)), entry(posix.fstat(upper))
            ours = (posix.geteuid(), posix.getegid())
            if ours[0] and (after.uid, after.gid) == ours:
                # An owner or group that is not mapped could not be given to the layer's top (layer._copy_root), and
                # an ordinary user's program can give it to nobody else: the difference is of our making.
                after = after._replace(uid=before.uid, gid=before.gid)
            what = _metadata(before, after, lower, upper)
            if what:
                yield Change(ChangeKind.METADATA, root, before, after, what)
            yield from self._folder(upper, lower, root.rstrip("/"), opaque=False)
        finally:
            posix.close(lower)

    def restore(self) -> None:
        """Close again what was opened up, for a layer that lives on."""
        for descriptor, mode in self._closed:
            try:
                posix.chmod(f"/proc/self/fd/{descriptor}", mode)
            finally:
                posix.close(descriptor)
        self._closed.clear()

    def _folder(self, upper: int, lower: int | None, path: str, *, opaque: bool) -> Iterator[Change]:
        """`lower` None: nothing below here existed, or nothing shows through. An opaque one is compared by name."""
        seen = set()
        for name in sorted(_names(upper)):
            if self._tick is not None:
                self._tick()
            seen.add(name)
            yield from self._one(upper, lower, name, f"{path}/{_text(name)}", opaque=opaque)
        if opaque and lower is not None:
            for name in sorted(_names(lower)):
                if name not in seen:
                    yield from self._deleted(lower, name, f"{path}/{_text(name)}")

    def _one(
        self, upper: int, lower: int | None, name: bytes, path: str, *, opaque: bool
    ) -> Iterator[Change]:
        seen = posix.lstat(name, dir_fd=upper)
        before = _entry_at(lower, name)
        if seen.st_mode & _FORMAT == 0o020000 and seen.st_rdev == 0:
            if before is not None and lower is not None:
                yield from self._deleted(lower, name, path)
            return
        after = entry(seen)
        if after.kind == "folder":
            yield from self._one_folder(upper, lower, name, path, before, after, opaque=opaque)
            return
        if before is None or lower is None:
            yield Change(ChangeKind.CREATED, path, None, after)
            return
        if before.kind == "folder":
            yield from self._below(lower, name, path)
        if before.kind != after.kind:
            yield Change(ChangeKind.CHANGED, path, before, after, ("kind",))
            return
        what = self._difference(upper, lower, name, path, before, after)
        content = {"content", "target"} & set(what)
        if after.links > 1 and not content:
            self.linked.setdefault(after.ino, path)
        if what:
            yield Change(ChangeKind.CHANGED if content else ChangeKind.METADATA, path, before, after, what)

    def _one_folder(
        self,
        upper: int,
        lower: int | None,
        name: bytes,
        path: str,
        before: Entry | None,
        after: Entry,
        *,
        opaque: bool,
    ) -> Iterator[Change]:
        here = self._open(upper, name, path, after)
        if here < 0:
            return
        below = -1
        try:
            hides = opaque or _is_opaque(here)
            if before is None:
                yield Change(ChangeKind.CREATED, path, None, after)
            elif before.kind != "folder":
                yield Change(ChangeKind.CHANGED, path, before, after, ("kind",))
            else:
                try:
                    below = posix.open(name, _FOLDER, dir_fd=lower)
                except OSError as error:
                    self.unread.append(
                        Unread(path, f"the real folder cannot be read: {posix.strerror(error.errno or 5)}")
                    )
                    return
                what = _metadata(before, after, below, here)
                if what:
                    yield Change(ChangeKind.METADATA, path, before, after, what)
            yield from self._folder(here, below if below >= 0 else None, path, opaque=hides)
        finally:
            posix.close(here)
            if below >= 0:
                posix.close(below)

    def _deleted(self, lower: int, name: bytes, path: str) -> Iterator[Change]:
        before = _entry_at(lower, name)
        if before is None:
            return
        yield Change(ChangeKind.DELETED, path, before, None)
        if before.kind == "folder":
            yield from self._below(lower, name, path)

    def _below(self, lower: int, name: bytes, path: str) -> Iterator[Change]:
        """All that was in a folder which is gone."""
        try:
            folder = posix.open(name, _FOLDER, dir_fd=lower)
        except OSError as error:
            self.unread.append(
                Unread(path, f"the real folder cannot be read: {posix.strerror(error.errno or 5)}")
            )
            return
        try:
            for inner in sorted(_names(folder)):
                yield from self._deleted(folder, inner, f"{path}/{_text(inner)}")
        finally:
            posix.close(folder)

    def _difference(
        self, upper: int, lower: int, name: bytes, path: str, before: Entry, after: Entry
    ) -> tuple[str, ...]:
        if after.kind == "link":
            same = posix.readlink(name, dir_fd=upper) == posix.readlink(name, dir_fd=lower)
            return (*(() if same else ("target",)), *_plain(before, after))
        if after.kind != "file":
            return _plain(before, after)
        new = self._open(upper, name, path, after)
        if new < 0:
            return ()
        old = -1
        try:
            try:
                old = posix.open(name, _FILE, dir_fd=lower)
            except OSError:
                # What may not be read was not read by the program either: its size and time tell.
                content = (before.size, before.mtime) != (after.size, after.mtime)
                return (*(("content",) if content else ()), *_plain(before, after))
            content = before.size != after.size or not _same_content(old, new)
            return (*(("content",) if content else ()), *_metadata(before, after, old, new))
        finally:
            posix.close(new)
            if old >= 0:
                posix.close(old)

    def _open(self, folder: int, name: bytes, path: str, known: Entry) -> int:
        """A file or folder of the layer, opened up if its mode closes it to its owner; -1 if it cannot be read."""
        flags = _FOLDER if known.kind == "folder" else _FILE
        needed = 0o500 if known.kind == "folder" else 0o400
        if known.mode & needed != needed and known.uid == posix.geteuid() != 0:
            try:
                held = posix.open(name, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=folder)
                posix.chmod(f"/proc/self/fd/{held}", known.mode | needed)
                self._closed.append((held, known.mode))
            except OSError:
                pass
        try:
            return posix.open(name, flags, dir_fd=folder)
        except OSError as error:
            self.unread.append(
                Unread(path, f"it cannot be read in the layer: {posix.strerror(error.errno or 5)}")
            )
            return -1


def entry(seen: posix.stat_result) -> Entry:
    """From one stat."""
    return Entry(
        _KINDS.get(seen.st_mode & _FORMAT, "device"),
        seen.st_size,
        seen.st_mode & 0o7777,
        seen.st_uid,
        seen.st_gid,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
        seen.st_dev,
        seen.st_ino,
        seen.st_nlink,
    )


def attributes(descriptor: int | str) -> dict[str, bytes]:
    """Extended attributes without the overlay's own and without those that are the system's to give."""
    found = {}
    try:
        for name in posix.listxattr(descriptor):
            if not name.startswith((OWN_XATTRS, "security.", "trusted.")):
                found[name] = posix.getxattr(descriptor, name)
    except OSError:
        return found
    return found


def is_whole_in_layer(top: int, upper: str, way: str) -> bool:
    """Whether what lies at `way` below a root is the layer's alone: nothing real shows through it.

    `upper` is the root's upper folder below `top`. A folder of which this is true can be renamed in the layer.
    """
    at = upper
    for part in way.split("/"):
        at = f"{at}/{part}"
        try:
            held = posix.open(_raw(at), _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=top)
        except OSError:
            return False
        try:
            if _is_opaque_at(f"/proc/self/fd/{held}"):
                return True
        finally:
            posix.close(held)
    return False


def _entry_at(folder: int | None, name: bytes) -> Entry | None:
    if folder is None:
        return None
    try:
        return entry(posix.lstat(name, dir_fd=folder))
    except OSError:
        return None


def _plain(before: Entry, after: Entry) -> tuple[str, ...]:
    """What differs by lstat alone. The times of folders are everybody's side effect and are not compared."""
    found = []
    if before.mode != after.mode:
        found.append("mode")
    if (before.uid, before.gid) != (after.uid, after.gid):
        found.append("owner")
    if before.mtime != after.mtime and after.kind != "folder":
        found.append("times")
    return tuple(found)


def _metadata(before: Entry, after: Entry, old: int, new: int) -> tuple[str, ...]:
    differ = attributes(old) != attributes(new)
    return (*_plain(before, after), *(("attributes",) if differ else ()))


def _same_content(one: int, other: int) -> bool:
    while True:
        left, right = posix.read(one, _BLOCK), posix.read(other, _BLOCK)
        if left != right:
            return False
        if not left:
            return True


def _is_opaque(folder: int) -> bool:
    try:
        return posix.getxattr(folder, OPAQUE) == b"y"
    except OSError:
        return False


def _is_opaque_at(path: str) -> bool:
    try:
        return posix.getxattr(path, OPAQUE) == b"y"
    except OSError:
        return False


def _names(folder: int) -> list[bytes]:
    from sys import getfilesystemencoding

    coding = getfilesystemencoding()
    return [name.encode(coding, "surrogateescape") for name in posix.listdir(folder)]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
