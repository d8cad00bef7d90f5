"""The holder: one process that builds the view with its layer, gives up every right over it, and keeps it alive.

Programs join it (`join`): the overlay is mounted exactly once, since two overlays with one upper folder at the same
time are undefined in the kernel, and a job that an earlier call left behind keeps working on the same files. What
ends the holder ends the layer: it kills whoever lives in its namespace, and the mounts go with the last process.
"""

from __future__ import annotations

import marshal
import posix
import sys

from ringfence.enforce import mounts as engine
from ringfence.enforce.mounts_apply import Built, build
from ringfence.enforce.report import decode, encode
from ringfence.errors import EXIT_BUG, KernelCallError
from ringfence.kernel import mounts, namespaces, notify, processes, signals
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.enforce.layer import Layer
    from ringfence.model import Capabilities, Confinement, EnforcementReport

_ECHILD = 10
_ST_RDONLY = 1
_FORMAT, _FOLDER = 0o170000, 0o040000


class Held(Record):
    """A layer that stands.

    pid, born    the holder; a number with another birth is somebody else
    namespace    of the mounts, as /proc/PID/ns/mnt names it
    top          our own descriptor of the layer's top; `number` is the holder's
    life         closing it ends the holder (-1: it lives on by itself)
    """

    pid: int
    born: str
    namespace: str
    number: int
    top: int
    life: int
    gone: tuple[str, ...]
    limited: bool


class Pending(Record):
    """A holder that is building its view: `wait` for it."""

    pid: int
    told: int
    life: int

    def wait(self) -> Held:
        """The layer that stands. Raises KernelCallError with the reason if it does not; the holder is gone then."""
        try:
            return _hear(self.pid, self.told, self.life)
        except BaseException:
            if self.life >= 0:
                posix.close(self.life)
            posix.waitpid(self.pid, 0)
            raise
        finally:
            posix.close(self.told)


def start(found: engine.Survey, layer: Layer, attend: Callable[[str], None] | None = None) -> Pending:
    """Start the holder; it builds while the caller goes on. `wait` for it before anything joins.

    Without `attend` it lives until the caller closes `life` or dies, and then kills what lives in the namespace. With
    it, the holder cuts itself loose from caller and terminal, calls `attend(namespace)`, and ends when that returns.
    """
    told, tell = posix.pipe()
    wait, life = posix.pipe()
    pid = posix.fork()
    if pid == 0:
        code = EXIT_BUG
        try:
            posix.close(told)
            posix.close(life)
            code = _live(found, layer, tell, wait, attend)
        except BaseException:  # noqa: BLE001 - a copy of the caller, which must not run on as one
            sys.excepthook(*sys.exc_info())
        finally:
            posix._exit(code)  # noqa: SLF001 - public as os._exit
    posix.close(tell)
    posix.close(wait)
    if attend is None:
        return Pending(pid, told, life)
    posix.close(life)
    return Pending(pid, told, -1)


def _hear(pid: int, told: int, life: int) -> Held:
    raw = b""
    while more := posix.read(told, 65536):
        raw += more
    if not raw:
        raise KernelCallError("fork", _ECHILD, "waiting for the throwaway layer")
    heard = marshal.loads(raw)  # noqa: S302 - from our own fork, through a pipe that no program ever holds
    if heard[0] == "failed":
        failed = decode(raw)
        if isinstance(failed, KernelCallError):
            raise failed
    _, gone, limited, number = heard
    try:
        top = posix.open(f"/proc/{pid}/fd/{number}", posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    except OSError as error:
        raise KernelCallError("open", error.errno or _ECHILD, "reaching the throwaway layer") from None
    return Held(pid, processes.born(pid), processes.mount_namespace(pid), number, top, life, gone, limited)


def _live(
    found: engine.Survey, layer: Layer, tell: int, wait: int, attend: Callable[[str], None] | None
) -> int:
    signals.hold()  # what a terminal sends to its group is for the program
    if attend is not None:
        posix.setsid()
        _let_go((tell, wait))
    try:
        namespaces.enter_user_and_mount()
        built = build(found.planned, found.place, layer)
        engine.seal()
    except KernelCallError as failed:
        posix.write(tell, encode(failed))
        return EXIT_BUG
    posix.write(tell, marshal.dumps(("held", built.gone, built.limited, built.layer)))
    posix.close(tell)
    own = processes.mount_namespace(posix.getpid())
    if attend is not None:
        attend(own)
    else:
        posix.read(wait, 1)
    processes.end_all(own, layer.mark, keep=posix.getpid())
    return 0


def _let_go(keep: tuple[int, ...]) -> None:
    """Hold nothing of the caller's: an agent waits until the last copy of its pipes is closed."""
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for number in (0, 1, 2):
        posix.dup2(nothing, number)
    for name in posix.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                if not posix.get_inheritable(int(name)):
                    continue  # ours
                posix.close(int(name))
            except OSError:
                continue


class Joining(Record):
    """What a program that joins a layer brings along.

    files    single files it may write beside, which were not there when the view was built
    fixed    places below a root that became read-only since
    hidden   places that became closed since
    anew     whether the lower folders may have changed since
    listen   a descriptor on which to write the number of a listener for attempts; -1: nobody listens
    """

    cwd: str
    files: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()
    listen: int = -1


def join(
    held: Held, joining: Joining, confinement: Confinement, found: engine.Survey, here: Capabilities
) -> EnforcementReport:
    """Put this process into the layer's view and under the fence; call it in a fresh child, then exec.

    Raises KernelCallError; the process is then unusable.
    """
    namespaces.join_user_and_mount(held.pid)
    for root in joining.anew:
        mounts.forget_names(root)
    gone = list(held.gone)
    for path in joining.files:
        _open_file(path)
    for path in joining.fixed:
        _fix(path, gone)
    for path in joining.hidden:
        _hide(path, gone)
    try:
        posix.chdir(joining.cwd.encode("utf-8", "surrogateescape"))
    except OSError as error:
        doing = f"entering {joining.cwd} in the throwaway layer (an earlier call may have removed it there)"
        raise KernelCallError("chdir", error.errno or _ECHILD, doing) from None
    engine.seal()
    namespaces.dumpable()
    report = engine.finish(confinement, found, Built(tuple(gone), held.limited), here)
    if joining.listen >= 0:
        # Last: from here on every writing call of this process waits for the listener.
        posix.write(joining.listen, b"%d %d\n" % (posix.getpid(), _listener()))
    return report


def _listener() -> int:
    try:
        return notify.install()
    except KernelCallError:
        return -1


def _open_file(path: str) -> None:
    """Make one existing file writable, by a mount of itself over itself."""
    descriptor = mounts.open_path(path)
    try:
        if not posix.statvfs(f"/proc/self/fd/{descriptor}").f_flag & _ST_RDONLY:
            return
        mounts.bind(descriptor, descriptor, path)
    finally:
        posix.close(descriptor)
    again = mounts.open_path(path)
    try:
        mounts.loosen_tree(again, mounts.RDONLY, path)
    finally:
        posix.close(again)


def _fix(path: str, gone: list[str]) -> None:
    """Make a place read-only where it stands; its parents can be renamed, unlike those of the first call's places."""
    descriptor = _found(path, gone)
    if descriptor < 0:
        return
    mounts.bind(descriptor, descriptor, path)
    posix.close(descriptor)
    again = mounts.open_path(path)
    mounts.restrict_tree(again, mounts.RDONLY, path)
    posix.close(again)


def _hide(path: str, gone: list[str]) -> None:
    """Cover a place with something empty: a folder without rights, or the null device."""
    descriptor = _found(path, gone)
    if descriptor < 0:
        return
    if posix.fstat(descriptor).st_mode & _FORMAT == _FOLDER:
        flags = mounts.RDONLY | mounts.NODEV
        mounts.mount_new("tmpfs", "hidden", f"/proc/self/fd/{descriptor}", flags, "mode=0000,size=4096")
    else:
        null = mounts.open_path("/dev/null")
        mounts.bind(null, descriptor, path)
        posix.close(null)
    posix.close(descriptor)


def _found(path: str, gone: list[str]) -> int:
    """A descriptor; -1 and a note in `gone` where there is nothing."""
    try:
        return mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return -1
