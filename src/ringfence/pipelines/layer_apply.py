"""`try --keep`: the allowed changes onto the real tree, each file in one step, none whose original changed meanwhile.

A new content is written to a file of our own at the top of the root, gets its mode, owner, times and attributes there,
and is renamed over its place: readers see the old file or the new one. The name of that file is in the record, so that
the next start removes it if we are killed. First goes what stands in the way of another kind of entry; then come new
folders and files, parents first; then deletions, deepest first; last the modes of folders, which may close them.

"Changed meanwhile" is told by the kernel's own change time: what was touched after the program started is left alone.
What remains: between the last look and the rename is a moment in which somebody else's write is lost, as with any
editor.
"""

from __future__ import annotations

import posix

from ringfence.enforce.layer import upper_of
from ringfence.enforce.layer_read import attributes, entry
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts
from ringfence.model import Change, ChangeKind, Entry, JudgedChange, Verdict
from ringfence.pipelines.beneath import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.enforce.layer import Layer

_O_PATH = 0o10000000
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
_FILE = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_BLOCK = 1 << 20
_DATA, _HOLE = 3, 4  # SEEK_DATA, SEEK_HOLE
_ENXIO = 6
_PLACES = {"fifo": 0o010000, "socket": 0o140000}

MEANWHILE = "its original changed while the program ran"


class Applier:
    """One layer onto one set of real trees. `started`: a real-time clock's ns, from before the program started."""

    __slots__ = (
        "_layer",
        "_linked",
        "_making_way",
        "_ours",
        "_roots",
        "_staged",
        "_started",
        "_tick",
        "_top",
    )

    def __init__(
        self,
        layer: Layer,
        top: int,
        started: int,
        staged: str,
        linked: dict[int, str],
        tick: Callable[[], None] | None = None,
    ) -> None:
        """`staged` is the plain name of the one file that we write before it is renamed; `linked` the inodes of the
        layer whose content stands on the real tree already, for the links that were made to them."""
        self._layer = layer
        self._top = top
        self._started = started
        self._staged = raw(staged)
        self._tick = tick
        self._roots = [mounts.open_path(root) for root in layer.roots]
        self._ours: set[tuple[int, int]] = set()  # inodes whose change time we moved ourselves
        self._linked = dict(linked)  # inode in the layer -> the first real path with its content
        self._making_way: list[str] = []

    def apply(self, judged: list[JudgedChange]) -> list[JudgedChange]:
        """The same list, each with what became of it. Never raises OSError: what cannot be done is said."""
        done = dict(enumerate(judged))
        allowed = [index for index, one in done.items() if one.decision.verdict is Verdict.ALLOW]
        # All are looked at before the first is changed: our own changes must not look like somebody else's.
        for index in allowed:
            if not self._is_as_it_was(done[index].change):
                done[index] = done[index]._replace(why_not=MEANWHILE)
        todo = [index for index in allowed if not done[index].why_not]
        self._making_way = [c.path + "/" for c in (judged[i].change for i in todo) if _makes_way(c)]
        deepest = sorted(todo, key=lambda i: _leaving(judged[i].change), reverse=True)
        for step, order in (
            (self._make_way, deepest),
            (self._put, todo),
            (self._take_away, deepest),
            (self._finish_folder, sorted(todo, key=lambda i: judged[i].change.path, reverse=True)),
        ):
            for index in order:
                if not done[index].why_not:
                    why = self._carefully(step, done[index].change)
                    done[index] = done[index]._replace(why_not=why) if why else done[index]
        return [one._replace(applied=not one.why_not) if i in set(todo) else one for i, one in done.items()]

    def _carefully(self, step: Callable[[Change], str], change: Change) -> str:
        if self._tick is not None:
            self._tick()
        try:
            return step(change)
        except KernelCallError as error:
            return f"its folder is not there (errno {error.errno})"
        except OSError as error:
            return posix.strerror(error.errno or 5)

    def close(self) -> None:
        for at in self._roots:
            posix.close(at)

    def _is_as_it_was(self, change: Change) -> bool:
        paths = [(change.path, None if change.source else change.before)]
        if change.source:
            paths.append((change.source, change.before))
        for path, known in paths:
            now = self._now(path)
            if known is None or now is None:
                if (known is None) != (now is None):
                    return False
                continue
            if (now.dev, now.ino, now.kind) != (known.dev, known.ino, known.kind):
                return False
            if now.kind == "folder":
                continue  # what is in it is judged by itself
            if now.ctime >= self._started and (now.dev, now.ino) not in self._ours:
                return False
        return True

    def _now(self, path: str) -> Entry | None:
        try:
            folder, name = self._folder(path)
        except (OSError, KernelCallError):
            return None
        try:
            return entry(posix.lstat(name, dir_fd=folder))
        except OSError:
            return None
        finally:
            posix.close(folder)

    def _folder(self, path: str) -> tuple[int, bytes]:
        """A descriptor of the real folder that holds `path`, reached through no link, and the last name."""
        root = self._root_of(path)
        way = path[len(self._layer.roots[root]) :].strip("/")
        if not way:
            return posix.dup(self._roots[root]), b"."
        above, _, name = way.rpartition("/")
        if not above:
            return posix.dup(self._roots[root]), raw(name)
        return mounts.open_path(above, beneath=self._roots[root]), raw(name)

    def _in_layer(self, path: str) -> bytes:
        root = self._root_of(path)
        way = path[len(self._layer.roots[root]) :].strip("/")
        return raw(f"{upper_of(root)}/{way}" if way else upper_of(root))

    def _root_of(self, path: str) -> int:
        found = [
            i
            for i, root in enumerate(self._layer.roots)
            if path == root or path.startswith(root.rstrip("/") + "/")
        ]
        return max(found, key=lambda i: len(self._layer.roots[i]))

    # ---- the three steps; each returns "" or why it could not be done

    def _make_way(self, change: Change) -> str:
        """Remove what stands where another kind of entry will be, and all that is below it."""
        gone = change.kind is ChangeKind.DELETED or change.source
        if not ("kind" in change.what or (gone and self._is_in_the_way(_leaving(change)))):
            return ""
        return self._remove_at(_leaving(change), change.before)

    def _take_away(self, change: Change) -> str:
        """Remove what is deleted, and the old place of what was renamed: after the new place has its content."""
        gone = change.kind is ChangeKind.DELETED or change.source
        if not gone or self._is_in_the_way(_leaving(change)):
            return ""
        return self._remove_at(_leaving(change), change.before)

    def _is_in_the_way(self, path: str) -> bool:
        return any(path.startswith(prefix) for prefix in self._making_way)

    def _remove_at(self, path: str, before: Entry | None) -> str:
        if before is None:
            return ""
        folder, name = self._folder(path)
        try:
            return self._remove(folder, name, before)
        finally:
            posix.close(folder)

    def _remove(self, folder: int, name: bytes, before: Entry) -> str:
        now = entry(posix.lstat(name, dir_fd=folder))
        if now.ino != before.ino:
            return MEANWHILE
        if before.kind == "folder":
            self._let_in(folder, name, before.mode)
            posix.rmdir(name, dir_fd=folder)
        else:
            posix.unlink(name, dir_fd=folder)
            self._ours.add((before.dev, before.ino))
        return ""

    def _put(self, change: Change) -> str:
        after = change.after
        if after is None:
            return ""
        folder, name = self._folder(change.path)
        try:
            if after.kind == "folder":
                return self._put_folder(folder, name, change)
            if change.kind is ChangeKind.METADATA:
                return self._set_metadata(folder, name, change)
            return self._put_entry(folder, name, change)
        finally:
            posix.close(folder)

    def _put_folder(self, folder: int, name: bytes, change: Change) -> str:
        if change.kind is not ChangeKind.METADATA:
            posix.mkdir(name, 0o700, dir_fd=folder)
        elif change.before is not None:
            self._let_in(folder, name, change.before.mode)
        return ""

    def _let_in(self, folder: int, name: bytes, mode: int) -> None:
        """Open a folder to ourselves while we work in it; `_finish_folder` gives it its mode."""
        if mode & 0o700 != 0o700 and posix.geteuid() != 0:
            self._change_mode(folder, name, mode | 0o700)

    def _change_mode(self, folder: int, name: bytes, mode: int) -> None:
        held = posix.open(name, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=folder)
        try:
            posix.chmod(f"/proc/self/fd/{held}", mode)
        finally:
            posix.close(held)

    def _finish_folder(self, change: Change) -> str:
        after = change.after
        if after is None or after.kind != "folder":
            return ""
        folder, name = self._folder(change.path)
        held = -1
        try:
            held = posix.open(
                name, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=folder
            )
            self._dress(
                held, self._in_layer(change.path), after, times=change.kind is not ChangeKind.METADATA
            )
        finally:
            if held >= 0:
                posix.close(held)
            posix.close(folder)
        return ""

    def _set_metadata(self, folder: int, name: bytes, change: Change) -> str:
        """Mode, owner, times and attributes of what keeps its content; a link has only owner and times."""
        after = change.after
        if after is None:
            return ""
        if after.kind == "link":
            if "owner" in change.what:
                posix.chown(name, after.uid, after.gid, dir_fd=folder, follow_symlinks=False)
            posix.utime(name, ns=(after.mtime, after.mtime), dir_fd=folder, follow_symlinks=False)
            return ""
        held = posix.open(name, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=folder)
        try:
            if change.before and posix.fstat(held).st_ino != change.before.ino:
                return MEANWHILE
            self._dress(held, self._in_layer(change.path), after, times=True)
            self._ours.add((posix.fstat(held).st_dev, posix.fstat(held).st_ino))
        finally:
            posix.close(held)
        return ""

    def _put_entry(self, folder: int, name: bytes, change: Change) -> str:
        after = change.after
        if after is None:
            return ""
        first = self._linked.get(after.ino) if after.links > 1 and after.kind != "link" else None
        root = self._roots[self._root_of(change.path)]
        self._clear(root)
        if first is not None:
            source, old = self._folder(first)
            try:
                posix.link(old, self._staged, src_dir_fd=source, dst_dir_fd=root, follow_symlinks=False)
            finally:
                posix.close(source)
        else:
            self._write(root, change.path, after)
        if change.kind is ChangeKind.CHANGED and "kind" not in change.what:
            if not self._is_as_it_was(change):
                self._clear(root)
                return MEANWHILE
            posix.rename(self._staged, name, src_dir_fd=root, dst_dir_fd=folder)
        else:
            # Nothing stands here, and what somebody has made since stays: link(2) replaces nothing.
            try:
                posix.link(self._staged, name, src_dir_fd=root, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                return MEANWHILE
            finally:
                self._clear(root)
        made = posix.lstat(name, dir_fd=folder)
        self._ours.add((made.st_dev, made.st_ino))
        if after.links > 1:
            self._linked.setdefault(after.ino, change.path)
        return ""

    def _clear(self, root: int) -> None:
        try:
            posix.unlink(self._staged, dir_fd=root)
        except OSError:
            return

    def _write(self, root: int, path: str, after: Entry) -> None:
        """The staged entry: content, holes, kind, then what it is dressed in."""
        inside = self._in_layer(path)
        if after.kind == "link":
            posix.symlink(posix.readlink(inside, dir_fd=self._top), self._staged, dir_fd=root)
            if posix.geteuid() == 0:
                posix.chown(self._staged, after.uid, after.gid, dir_fd=root, follow_symlinks=False)
            posix.utime(self._staged, ns=(after.mtime, after.mtime), dir_fd=root, follow_symlinks=False)
            return
        if after.kind in _PLACES:
            posix.mknod(self._staged, _PLACES[after.kind] | 0o600, dir_fd=root)
            held = posix.open(self._staged, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=root)
        elif after.kind == "file":
            held = posix.open(self._staged, _NEW, 0o600, dir_fd=root)
        else:
            raise OSError(1, "device")
        try:
            if after.kind == "file":
                source = self._open_inside(inside)
                try:
                    copy_with_holes(source, held, after.size)
                finally:
                    posix.close(source)
            self._dress(held, inside, after, times=True)
        finally:
            posix.close(held)

    def _open_inside(self, inside: bytes) -> int:
        """A file of the layer for reading; what its own mode closes is opened up first: the layer is thrown away."""
        try:
            return posix.open(inside, _FILE, dir_fd=self._top)
        except PermissionError:
            held = posix.open(inside, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=self._top)
            try:
                posix.chmod(f"/proc/self/fd/{held}", 0o600)
            finally:
                posix.close(held)
            return posix.open(inside, _FILE, dir_fd=self._top)

    def _dress(self, held: int, inside: bytes, after: Entry, *, times: bool) -> None:
        """Owner first (it clears set-id bits), then attributes, mode, times."""
        at = f"/proc/self/fd/{held}"
        now = posix.stat(at)
        if (now.st_uid, now.st_gid) != (after.uid, after.gid):
            posix.chown(at, after.uid, after.gid)
        try:
            source = posix.open(inside, _O_PATH | posix.O_NOFOLLOW | posix.O_CLOEXEC, dir_fd=self._top)
        except OSError:
            source = -1
        if source >= 0:
            try:
                wanted, there = attributes(f"/proc/self/fd/{source}"), attributes(at)
                for name in there:
                    if name not in wanted:
                        posix.removexattr(at, name)
                for name, value in wanted.items():
                    if there.get(name) != value:
                        posix.setxattr(at, name, value)
            finally:
                posix.close(source)
        posix.chmod(at, after.mode)
        if times:
            posix.utime(at, ns=(after.mtime, after.mtime))


def _leaving(change: Change) -> str:
    return change.source or change.path


def _makes_way(change: Change) -> bool:
    return "kind" in change.what and change.before is not None and change.before.kind == "folder"


def copy_with_holes(source: int, target: int, size: int) -> None:
    """The content of an open file, its holes kept."""
    at = 0
    while at < size:
        try:
            start = posix.lseek(source, at, _DATA)
        except OSError as error:
            if (
                error.errno != _ENXIO
            ):  # nothing but a hole up to the end; another errno: this system tells no holes
                start = at
            else:
                break
        try:
            end = posix.lseek(source, start, _HOLE)
        except OSError:
            end = size
        while start < end:
            data = posix.pread(source, min(_BLOCK, end - start), start)
            if not data:
                break
            written = 0
            while written < len(data):
                written += posix.pwrite(target, data[written:], start + written)
            start += len(data)
        at = max(end, start)
        if at <= 0:
            break
    posix.ftruncate(target, size)
