"""Entering a user and a mount namespace of our own, and leaving behind the right to change them.

A process that creates a user namespace holds every capability over it and over the mount namespace created
with it. That is what builds the mounts, and exactly what the fenced program must not have: `drop_rights`
gives it up before exec. A user namespace that the program creates later is a child of ours, and the kernel
locks every mount that is copied into a less privileged namespace (`MNT_LOCKED`, mount_namespaces(7)).

All numbers here are from include/uapi/linux/{sched,prctl,capability}.h and have never changed.
"""

from __future__ import annotations

import posix
import sys

from ringfence.errors import KernelCallError
from ringfence.kernel.libc import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUSER = 0x1000_0000

_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
CAP_SYS_ADMIN = 21
_CAPABILITY_VERSION_3 = 0x2008_0522
_ALL_BITS = (1 << 64) - 1

_EPERM, _EINVAL = 1, 22
_GO = b"g"

# errno of unshare(CLONE_NEWUSER) or of writing the map, and what an administrator would look at.
_CLOSED_WHY = {
    1: "the kernel, a seccomp filter around us or a chroot forbids user namespaces",
    13: "a security module (AppArmor on Ubuntu 23.10 and later) forbids them to unprivileged programs",
    22: "this kernel was built without user namespaces",
    28: "the limit of user namespaces is 0 or used up",
    38: "a seccomp filter around us hides the call",
    87: "the limit of user namespaces is 0 or used up",
}
_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", b"0"),
    ("/proc/sys/user/max_mnt_namespaces", b"0"),  # so it is inside a fence of ours
    ("/proc/sys/kernel/unprivileged_userns_clone", b"0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", b"1"),
)


class Mapper:
    """Root's maps, written by our own parent. Made before the fork, served by the parent, asked by the child.

    Only a process in the *parent* namespace may map many ids. Without a parent of ours that waits for the question,
    `enter_user_and_mount` forks one more process for it, which costs the pages that it copies.
    """

    __slots__ = ("_answer", "_ask", "_asked", "_hear")

    def __init__(self) -> None:
        self._asked, self._ask = posix.pipe()
        self._hear, self._answer = posix.pipe()

    def serve(self, child: int) -> None:
        """In the parent: wait until the child asks (or ends, or does without), and write its maps."""
        for end in (self._ask, self._hear):
            posix.close(end)
        try:
            if posix.read(self._asked, 1) == _GO:
                posix.write(self._answer, bytes((_map_everything(child) & 0xFF,)))
        except BrokenPipeError:
            return  # the child was killed meanwhile: its wait status says so
        finally:
            for end in (self._asked, self._answer):
                posix.close(end)

    def ask(self, go: bool) -> None:
        """In the child, once: raises KernelCallError if the maps could not be written; `go` False: no need for them."""
        for end in (self._asked, self._answer):
            posix.close(end)
        answer = b"\0"
        if go:
            posix.write(self._ask, _GO)
            answer = posix.read(self._hear, 1)
        for end in (self._ask, self._hear):
            posix.close(end)
        if answer != b"\0":
            raise KernelCallError("write", answer[0] if answer else _EINVAL, "mapping root's ids one to one")


def enter_user_and_mount(mapper: Mapper | None = None) -> None:
    """Move this process into a new user and a new mount namespace; every id stays what it was.

    An ordinary user may map only itself: its other groups keep working but show as 65534, as do all foreign
    owners. Root (CAP_SETUID in the namespace it stands in) maps every id, so that `chown` and `su -` inside
    the writable trees work as before: by `mapper`, or by a process made for it.

    Raises KernelCallError when user namespaces are closed here, with the reason in words as its hint.
    """
    uid, gid = posix.geteuid(), posix.getegid()
    if uid == 0:
        with_helper = mapper.ask if mapper else _spawn_mapper()
        try:
            _unshare()
        except KernelCallError:
            with_helper(False)
            raise
        try:
            with_helper(True)
        except KernelCallError as failed:
            if failed.errno != _EPERM:
                raise
            # Root of a container that may not change ids: it can still map itself, like anybody.
            _map_only(uid, gid)
    else:
        _unshare()
        _map_only(uid, gid)


def join_user_and_mount(pid: int) -> None:
    """Move this process into the user and the mount namespace of process `pid`, with every right over them.

    Only for whom the user namespace belongs to (the user that made it), from the namespace around it. Until
    `drop_rights` this process could undo the mounts, so no program inside may reach into it: it is made
    undumpable first, and ptrace then asks for rights in *our* namespace (`mm->user_ns`), which nobody inside has.
    exec makes it dumpable again. Raises KernelCallError.
    """
    call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0, doing="closing this process to others")
    opened: list[tuple[str, int, int]] = []
    try:
        for name, kind in (("user", CLONE_NEWUSER), ("mnt", CLONE_NEWNS)):
            opened.append(
                (name, kind, posix.open(f"/proc/{pid}/ns/{name}", posix.O_RDONLY | posix.O_CLOEXEC))
            )
        for name, kind, descriptor in opened:
            call("setns", descriptor, kind, doing=f"entering the {name} namespace of process {pid}")
    except OSError as error:
        doing = f"finding the namespaces of process {pid}"
        raise KernelCallError("open", error.errno or _EINVAL, doing) from None
    finally:
        for _, _, descriptor in opened:
            posix.close(descriptor)


def dumpable() -> None:
    """Undo the closing of `join_user_and_mount`, once no right is left: the caller outside may look in again."""
    call("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0, doing="opening this process to its owner")


def _map_only(uid: int, gid: int) -> None:
    """Map our own ids to themselves, those that are not mapped already."""
    if not _read("/proc/self/uid_map"):
        _write_map("/proc/self/uid_map", b"%d %d 1\n" % (uid, uid))
    if not _read("/proc/self/gid_map"):
        _write_map("/proc/self/setgroups", b"deny")
        _write_map("/proc/self/gid_map", b"%d %d 1\n" % (gid, gid))


def open_namespace_limit() -> int:
    """A descriptor for `limit_namespaces` later, when /proc/sys is read-only; -1 where it cannot be had."""
    try:
        return posix.open("/proc/sys/user/max_mnt_namespaces", posix.O_WRONLY | posix.O_CLOEXEC)
    except OSError:
        return -1


def limit_namespaces(descriptor: int) -> bool:
    """Let no process in here make another mount namespace, so that what is pinned in this one stays pinned.

    The limit is that of our own user namespace (Linux 4.9) and binds those below it too. To be called when
    all mounts stand: every detached tree counts as one. False where it could not be set (a container with a
    read-only /proc/sys): a namespace made inside then starts as a copy with the same pins, all locked; a
    kernel that can start an *empty* one would be a way to rename what is pinned.
    """
    if descriptor < 0:
        return False
    try:
        posix.write(descriptor, b"0")
    except OSError:
        return False
    finally:
        posix.close(descriptor)
    return True


def _unshare() -> None:
    try:
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS, doing="creating a user and a mount namespace")
    except KernelCallError as failed:
        failed.hint = why_closed(failed.errno)
        raise


def _spawn_mapper() -> Callable[[bool], None]:
    """Fork the process that writes root's maps: only a process in the *parent* namespace may map many ids.

    Returns a function that says "go" (or "never mind"), waits, and raises KernelCallError if mapping failed.
    The helper does nothing but write two files and never outlives the wait.
    """
    target = posix.getpid()
    ours, theirs = posix.pipe()
    pid = posix.fork()
    if pid == 0:
        status = 127
        try:
            posix.close(theirs)
            status = _map_everything(target) if posix.read(ours, 1) == _GO else 0
        finally:
            posix._exit(status & 0xFF)  # noqa: SLF001 - public as os._exit
    posix.close(ours)

    def finish(go: bool) -> None:
        if go:
            posix.write(theirs, _GO)
        posix.close(theirs)
        try:
            code = posix.waitstatus_to_exitcode(posix.waitpid(pid, 0)[1])
        except ChildProcessError:
            # The caller left SIGCHLD ignored, so the kernel reaped for us; the maps themselves tell.
            code = 0 if _read(f"/proc/{target}/uid_map") else 1
        if code:
            raise KernelCallError("write", code if code > 0 else _EINVAL, "mapping root's ids one to one")

    return finish


def _map_everything(target: int) -> int:
    """Write the identity map of every id that exists in the namespace around us; 0 or an errno.

    In a container whose own map is partial, the identity of *that* part: an id that has no outside
    counterpart cannot be mapped.
    """
    try:
        for name in ("uid_map", "gid_map"):
            lines = [line.split() for line in _read(f"/proc/self/{name}").splitlines()]
            _write_map(f"/proc/{target}/{name}", b"".join(b"%s %s %s\n" % (f[0], f[0], f[2]) for f in lines))
    except KernelCallError as error:
        return error.errno
    except OSError as error:
        return error.errno or _EINVAL
    return 0


def _write_map(path: str, content: bytes) -> None:
    try:
        fd = posix.open(path, posix.O_WRONLY | posix.O_CLOEXEC)
        try:
            posix.write(fd, content)  # the kernel takes a map in one write or not at all
        finally:
            posix.close(fd)
    except OSError as error:
        failed = KernelCallError("write", error.errno or _EINVAL, f"writing {path}")
        # Ubuntu's AppArmor lets the namespace be made and takes every right in it away.
        failed.hint = why_closed(failed.errno)
        raise failed from None


def drop_rights() -> None:
    """Give up what could undo the mounts, for this process and everything it starts.

    no_new_privs: no set-uid program and no file capability counts any more. CAP_SYS_ADMIN leaves the
    bounding set, so that root inside the namespace cannot get it back at exec; an ordinary user loses all
    capabilities at exec anyway. Root keeps the others (chown, setuid, ...): they reach no further than the
    mounts allow, because all are relative to our user namespace.

    Raises KernelCallError; the program must then not be started.
    """
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, doing="forbidding new privileges")
    call("prctl", _PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0, doing="dropping CAP_SYS_ADMIN for good")
    call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, doing="clearing ambient capabilities")
    # A new user namespace gives all capabilities that exist; the kernel ignores bits beyond those.
    keep = _ALL_BITS & ~(1 << CAP_SYS_ADMIN) if posix.geteuid() == 0 else 0
    header = _CAPABILITY_VERSION_3.to_bytes(4, sys.byteorder) + bytes(4)
    halves = (keep & 0xFFFF_FFFF, keep >> 32)
    data = b"".join(word.to_bytes(4, sys.byteorder) * 2 + bytes(4) for word in halves)
    call("capset", header, data, doing="dropping capabilities")


def why_closed(errno: int) -> str:
    """In words, why user namespaces are not to be had, with the switch that says so if it can be read."""
    reason = _CLOSED_WHY.get(errno, f"errno {errno}")
    switches = [f"{path} is {bad.decode()}" for path, bad in _SWITCHES if _read(path).strip() == bad]
    return f"{reason} ({', '.join(switches)})" if switches else reason


def _read(path: str) -> bytes:
    """The content of a small /proc file, b"" if it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 65536)
    finally:
        posix.close(fd)
