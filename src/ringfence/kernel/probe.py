"""What this kernel offers, each thing asked by itself, because a start-up pays for what it asks.

A feature counts only when it was tried: user namespaces are compiled in and still refused in many places
(sysctl, AppArmor, container filters, a Landlock domain). Every "no" carries its reason.
"""

from __future__ import annotations

import errno
import sys

from ringfence.errors import KernelCallError
from ringfence.kernel import landlock, libc, seccomp
from ringfence.model import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FEATURES = ("landlock", "userns", "mount_api", "seccomp", "overlay")
"""What `capabilities` can be asked for; each is a field of model.Capabilities."""

NOT_ASKED = "not asked"

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_PRIVATE_ALL = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE
_AT_FDCWD = -100
_NOWHERE = -1

# Steps of the attempt in a child, so that the reason can say how far it came.
_STEPS = ("unshare", "writing the user map", "the first mount call", "mounting tmpfs", "mounting overlay")


def capabilities(wanted: Iterable[str] = FEATURES) -> Capabilities:
    """Probe the features in `wanted`. The others read as missing, with the reason "not asked".

    Costs, on the machine this was written on: landlock and seccomp 2 µs each, mount_api 5 µs, userns 0.5 ms,
    overlay 1 ms (both fork).
    """
    asked = set(wanted)
    unknown = asked - set(FEATURES)
    if unknown:
        raise ValueError(f"no such feature: {', '.join(sorted(unknown))}")
    why_not = [(feature, NOT_ASKED) for feature in FEATURES if feature not in asked]
    found = dict.fromkeys(FEATURES, 0)
    for feature in FEATURES:
        if feature in asked:
            found[feature], reason = _PROBES[feature]()
            if reason:
                why_not.append((feature, reason))
    return Capabilities(
        system=sys.platform,
        landlock=found["landlock"],
        userns=bool(found["userns"]),
        mount_api=bool(found["mount_api"]),
        seccomp=bool(found["seccomp"]),
        overlay=bool(found["overlay"]),
        why_not=tuple(why_not),
    )


def landlock_abi() -> tuple[int, str]:
    """The kernel's Landlock ABI and "", or 0 and the reason."""
    try:
        return landlock.kernel_abi(), ""
    except KernelCallError as failed:
        return 0, landlock_reason(failed.errno)


def landlock_reason(number: int) -> str:
    """Why there is no Landlock, from the errno of landlock_create_ruleset."""
    if sys.platform != "linux":
        return f"Landlock is part of Linux, this is {sys.platform}"
    if number == errno.ENOSYS:
        return "the kernel is older than 5.13, was built without Landlock, or a filter hides it (ENOSYS)"
    if number == errno.EOPNOTSUPP:
        return "Landlock is built in but off: add it to lsm= on the kernel command line (EOPNOTSUPP)"
    if number == errno.EPERM:
        return "a system call filter, such as a container runtime's, refuses Landlock (EPERM)"
    return f"landlock_create_ruleset failed with errno {number}"


def seccomp_filters() -> tuple[int, str]:
    """1 and "", or 0 and the reason."""
    try:
        seccomp.check_available()
    except KernelCallError as failed:
        return 0, f"{failed.call} failed with errno {failed.errno} while {failed.doing}"
    return 1, ""


def mount_calls() -> tuple[int, str]:
    """1 and "" if open_tree, move_mount and mount_setattr all exist (Linux 5.12), or 0 and the reason.

    Called with arguments that cannot work. move_mount checks for privilege before anything else, so EPERM
    from it means nothing; from the other two it means a filter: they look at their arguments first.
    """
    attempts: tuple[tuple[str, tuple[libc.Word, ...], int], ...] = (
        ("open_tree", (_NOWHERE, b"x", 0), errno.EBADF),
        ("move_mount", (_NOWHERE, b"x", _NOWHERE, b"x", 0), errno.EPERM),
        ("mount_setattr", (_NOWHERE, b"x", 0, None, 0), errno.EINVAL),
    )
    for name, args, expected in attempts:
        try:
            libc.call(name, *args, doing="asking whether it exists")
        except KernelCallError as failed:
            if failed.errno == errno.ENOSYS:
                return 0, f"{name} is missing: a kernel older than 5.12, or a filter hides it (ENOSYS)"
            if failed.errno == errno.EPERM and expected != errno.EPERM:
                return 0, f"a system call filter, such as a container runtime's, refuses {name} (EPERM)"
    return 1, ""


def user_namespaces() -> tuple[int, str]:
    """1 and "" if a child could make a user namespace and use mount rights in it, or 0 and the reason."""
    return _try_in_child(_enter_namespace)


def overlay_mounts() -> tuple[int, str]:
    """1 and "" if a child could mount an overlay in a user namespace (Linux 5.11), or 0 and why not."""
    return _try_in_child(_mount_overlay)


_PROBES: dict[str, Callable[[], tuple[int, str]]] = {
    "landlock": landlock_abi,
    "userns": user_namespaces,
    "mount_api": mount_calls,
    "seccomp": seccomp_filters,
    "overlay": overlay_mounts,
}


def _enter_namespace(at: list[int]) -> None:
    """Unshare, map ourselves, make a mount call: AppArmor lets the first two pass and refuses the third."""
    import posix

    uid, gid = posix.getuid(), posix.getgid()
    libc.call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS, doing="trying a user namespace")
    at[0] = 1
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"0 %d 1" % uid),
        ("gid_map", b"0 %d 1" % gid),
    ):
        descriptor = posix.open(f"/proc/self/{name}", posix.O_WRONLY | posix.O_CLOEXEC)
        posix.write(descriptor, text)
        posix.close(descriptor)
    at[0] = 2
    libc.call("mount", None, b"/", None, _MS_PRIVATE_ALL, None, doing="trying a mount call")


def _mount_overlay(at: list[int]) -> None:
    """An overlay over a tmpfs of our own; both vanish with this child's mount namespace."""
    import posix

    _enter_namespace(at)
    at[0] = 3
    libc.call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None, doing="trying tmpfs")
    at[0] = 4
    for name in ("lower", "upper", "work", "merged"):
        posix.mkdir(f"/tmp/{name}")  # noqa: S108 - on the tmpfs just mounted, which nobody else sees
    data = b"userxattr,lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work"
    libc.call("mount", b"overlay", b"/tmp/merged", b"overlay", 0, data, doing="trying an overlay")


def _try_in_child(attempt: Callable[[list[int]], None]) -> tuple[int, str]:
    """Run `attempt` in a forked child; what it changed ends with it.

    The child reports the step in its exit status and the errno through a pipe of two bytes.
    """
    if sys.platform != "linux":
        return 0, f"user namespaces are part of Linux, this is {sys.platform}"
    import posix

    from ringfence.kernel.libc import ENOSYS

    reading, writing = posix.pipe2(posix.O_CLOEXEC)
    child = posix.fork()
    if child == 0:
        at, number = [0], 0
        try:
            attempt(at)
        except KernelCallError as failed:
            number = failed.errno
        except OSError as failed:
            number = failed.errno or ENOSYS
        finally:
            # Whatever happens, this copy of the caller must not run on.
            posix.write(writing, bytes((at[0], number & 0xFF)))
            posix._exit(0)  # noqa: SLF001 - public as os._exit
    posix.close(writing)
    try:
        answer = posix.read(reading, 2)
    finally:
        posix.close(reading)
        _reap(child)
    if len(answer) != 2:
        return 0, "the child that tried it died"
    step, number = answer
    return (0, _namespace_reason(step, number)) if number else (1, "")


def _reap(child: int) -> None:
    import posix

    try:
        posix.waitpid(child, 0)
    except ChildProcessError:
        return  # our caller ignores SIGCHLD, so the kernel has reaped it


def _namespace_reason(step: int, number: int) -> str:
    name = errno.errorcode.get(number, str(number))
    if step == 0 and number == errno.ENOSYS:
        return "the kernel has no unshare, or a filter hides it (ENOSYS)"
    if step == 0 and number == errno.ENOSPC:
        return "user.max_user_namespaces is used up or 0 (ENOSPC)"
    if step == 0:
        return f"unshare is refused ({name}): kernel.unprivileged_userns_clone, a container, or a chroot"
    if step == 1 and number in {errno.EACCES, errno.EPERM}:
        return f"the user map cannot be written ({name}): another fence, or a container's /proc"
    if step == 2:
        return f"mount calls are refused inside ({name}): AppArmor's userns restriction, or another fence"
    return f"{_STEPS[step]} failed in the namespace ({name})"
