"""What a program attempts on a layer: writes outside, and the calls that an overlay answers unlike a disk.

Heard through kernel/notify.py. A report, never a decision: the engine refuses by itself, and a program can change the
text of a path between our look and the kernel's. Runs in a thread beside the wait for the program.
"""

from __future__ import annotations

from _thread import start_new_thread
from posix import O_CLOEXEC, O_PATH, close, getegid, geteuid, lstat, open, readlink
from posix import stat as follow

from ringfence.enforce.layer import upper_of
from ringfence.enforce.layer_read import is_whole_in_layer
from ringfence.kernel import notify
from ringfence.model import Attempt, LayerLimit, Op, Verdict
from ringfence.pipelines.denials import could

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.enforce.layer import Layer
    from ringfence.kernel.notify import Heard
    from ringfence.pipelines.layer_judge import Judge

_AT_FDCWD = (1 << 32) - 100
_MOST = 1000
_FORMAT, _FOLDER = 0o170000, 0o040000
# Places that are private to the program, or keep nothing.
_HARMLESS = ("/dev/", "/proc/", "/run/user/", "/sys/")


class Watch:
    """Listens from `begin` until nobody is left who could call."""

    __slots__ = ("_free", "_judge", "_layer", "_listener", "_seen", "_top", "attempts", "limits", "missed")

    def __init__(self, judge: Judge, layer: Layer, top: int, free: tuple[str, ...]) -> None:
        """`free`: trees that the program may write for good (its temp folder) and single files."""
        self._judge = judge
        self._layer = layer
        self._top = top
        self._free = free
        self._seen: set[tuple[str, str]] = set()
        self._listener: notify.Listener | None = None
        self.attempts: list[Attempt] = []
        self.limits: list[LayerLimit] = []
        self.missed = ""

    def begin(self, descriptor: int) -> None:
        self._listener = notify.Listener(descriptor)
        start_new_thread(self._listen, ())

    def _listen(self) -> None:
        listener = self._listener
        while listener is not None:
            ticket, heard = listener.take()
            if not ticket:
                return
            try:
                if heard is not None:
                    self._look(heard)
            except Exception as error:  # noqa: BLE001 - the program waits for us: it goes on, whatever happened here
                self.missed = f"{type(error).__name__}: {error}"
            finally:
                listener.release(ticket)

    def _look(self, heard: Heard) -> None:
        paths = [self._path(heard, folder, at) for folder, at in heard.shape.paths]
        op = Op(heard.shape.op)
        for index, path in enumerate(paths):
            if not path or (op is Op.LINK and index == 0):
                continue
            if (op.value, path) in self._seen:
                continue
            if len(self._seen) < 20_000:
                self._seen.add((op.value, path))
            root = self._root_of(path)
            if root < 0:
                self._outside(heard, path, op)
            else:
                self._inside(heard, path, op, root, first=index == 0)

    def _outside(self, heard: Heard, path: str, op: Op) -> None:
        if path.startswith(_HARMLESS) or any(path == f or path.startswith(f + "/") for f in self._free):
            return
        decision = self._judge.attempt(path, op)
        if decision.verdict is not Verdict.ALLOW and could(path):
            self._attempted(Attempt(decision, _name(heard.pid)))

    def _inside(self, heard: Heard, path: str, op: Op, root: int, *, first: bool) -> None:
        """In a covered tree: guarded places, and what the overlay cannot do."""
        decision = self._judge.attempt(path, op)
        if decision.verdict is not Verdict.ALLOW:
            self._attempted(Attempt(decision, _name(heard.pid)))
            return
        try:
            known = lstat(path.encode("utf-8", "surrogateescape"))
        except OSError:
            known = None
        if known is None:
            self._owner(path.rpartition("/")[0], root)
            return
        if op is Op.RENAME and first and known.st_mode & _FORMAT == _FOLDER:
            way = path[len(self._layer.roots[root]) :].strip("/")
            if way and not is_whole_in_layer(self._top, upper_of(root), way):
                self._limit(
                    "layer.rename-folder",
                    path,
                    "rename(2) of a folder that was there before fails here with EXDEV (mv copies it instead); "
                    "a direct run would have renamed it",
                )
        self._owner(path, root)

    def _attempted(self, found: Attempt) -> None:
        """One line for a path: what was tried first says enough."""
        known = any(one.decision.path == found.decision.path for one in self.attempts)
        if not known and len(self.attempts) < _MOST:
            self.attempts.append(found)

    def _owner(self, path: str, root: int) -> None:
        """Files of another owner or group cannot be copied up by an ordinary user, nor anything made beside them."""
        uid, gid = geteuid(), getegid()
        if uid == 0:
            return
        top = self._layer.roots[root]
        while len(path) > len(top):
            try:
                known = lstat(path.encode("utf-8", "surrogateescape"))
            except OSError:
                return
            if known.st_uid != uid or known.st_gid != gid:
                self._limit(
                    "layer.owner",
                    path,
                    f"it belongs to {known.st_uid}:{known.st_gid}, which has no meaning in the layer of {uid}:{gid}: "
                    "changing it, or making something in it, fails here with EOVERFLOW",
                )
                return
            path = path.rpartition("/")[0]

    def _limit(self, code: str, path: str, message: str) -> None:
        found = LayerLimit(code, path, message)
        if found not in self.limits and len(self.limits) < _MOST:
            self.limits.append(found)

    def _root_of(self, path: str) -> int:
        best = -1
        for index, root in enumerate(self._layer.roots):
            longer = best < 0 or len(root) > len(self._layer.roots[best])
            if longer and (path == root or path.startswith(root + "/")):
                best = index
        return best

    def _path(self, heard: Heard, folder: int, at: int) -> str:
        """The physical path that a call names, as its process sees it; "" if it cannot be told."""
        base = f"/proc/{heard.pid}/cwd"
        if folder >= 0 and (word := heard.words[folder] & 0xFFFFFFFF) != _AT_FDCWD:
            base = f"/proc/{heard.pid}/fd/{word}"
        if at < 0:
            return _link(base)
        text = notify.text_at(heard.pid, heard.words[at]) if heard.words[at] else ""
        if not text:
            return _link(base)
        whole = text if text[:1] == "/" else f"{_link(base)}/{text}"
        if whole[:1] != "/":
            return ""
        return _physical(heard.pid, _not_ours(heard.pid, whole), heard.shape.op)


_OWN = (
    ("/proc/self/", ""),
    ("/proc/thread-self/", ""),
    ("/dev/fd/", "fd/"),
    ("/dev/stdin", "fd/0"),
    ("/dev/stdout", "fd/1"),
    ("/dev/stderr", "fd/2"),
)


def _not_ours(pid: int, path: str) -> str:
    """Names that mean the caller itself (glibc's lchmod goes through /proc/self/fd), made to mean that process."""
    for prefix, part in _OWN:
        if path.startswith(prefix):
            return f"/proc/{pid}/{part}{path[len(prefix) :]}"
    return path


def _physical(pid: int, path: str, op: str) -> str:
    """Through the process's own root: a link made in the layer leads where the program would go."""
    top = f"/proc/{pid}/root"
    parent, _, name = path.rstrip("/").rpartition("/")
    if op in ("write", "metadata") and name not in ("", ".", ".."):
        found = _opened(f"{top}{path}")
        if found:
            return found
    if name in ("", ".", ".."):
        return _opened(f"{top}{path}")
    above = _opened(f"{top}{parent}/")
    return f"{above.rstrip('/')}/{name}" if above else ""


def _opened(path: str) -> str:
    try:
        fd = open(path.encode("utf-8", "surrogateescape"), O_PATH | O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _link(f"/proc/self/fd/{fd}")
    finally:
        close(fd)


def _link(path: str) -> str:
    try:
        found = readlink(path.encode("ascii"))
    except OSError:
        return ""
    text = found.decode("utf-8", "surrogateescape")
    return text.removesuffix(" (deleted)") if text[:1] == "/" else ""


def _name(pid: int) -> str:
    """What the program is called, for the report."""
    try:
        follow(f"/proc/{pid}")
        fd = open(f"/proc/{pid}/comm", O_CLOEXEC)
    except OSError:
        return ""
    from posix import read

    try:
        return read(fd, 64).strip().decode("utf-8", "replace")
    finally:
        close(fd)
