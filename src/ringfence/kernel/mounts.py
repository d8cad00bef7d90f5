"""The mount calls, one function each, on open descriptors rather than on names.

open_tree, move_mount and the fs* calls are Linux 5.2, openat2 5.6, mount_setattr 5.12 (which is what this
engine needs). Sources: linux/mount.h, linux/openat2.h, linux/fcntl.h, move_mount(2), mount_setattr(2).
Nothing here decides anything; a failure is a KernelCallError that says what the call was for.
"""

from __future__ import annotations

import posix
import sys

from ringfence.kernel import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.errors import KernelCallError

AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOVE_MOUNT_T_EMPTY_PATH = 0x40
_RESOLVE_NO_MAGICLINKS = 2
_RESOLVE_NO_SYMLINKS = 4
_RESOLVE_BENEATH = 8
_O_PATH = 0o10000000
_CLOEXEC = posix.O_CLOEXEC if sys.platform == "linux" else 0

RDONLY = 0x1
NOSUID = 0x2
NODEV = 0x4
NOEXEC = 0x8
_MS_PRIVATE = 1 << 18
_MS_REMOUNT = 32
_MS_BIND, _MS_REC = 0x1000, 0x4000
_FSOPEN_CLOEXEC = _FSMOUNT_CLOEXEC = 1
_FSCONFIG_SET_FLAG, _FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE = 0, 1, 6

# Number of every call below on every machine this project lists, and in its 32-bit tables too: all calls
# since Linux 5.0 share one numbering. That is why the filter needs no look at the architecture.
_LATER_CALLS = {
    "io_uring_setup": 425,  # Linux 5.1
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "open_tree_attr": 467,  # Linux 6.15
}
_EPERM = 1
_X32_BIT = 0x4000_0000


def open_path(path: str, beneath: int = AT_FDCWD) -> int:
    """A descriptor of what `path` names, following no link at any place; below `beneath` if that is given.

    An agent can swap a folder for a link while the mounts are built; then this raises KernelCallError with
    ELOOP. ENOENT and ENOTDIR mean that the path is gone.
    """
    resolve = _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    if beneath != AT_FDCWD:
        resolve |= _RESOLVE_BENEATH
    how = b"".join(word.to_bytes(8, sys.byteorder) for word in (_O_PATH | _CLOEXEC, 0, resolve))
    return libc.call("openat2", beneath, _bytes(path), how, len(how), doing=f"opening {path} without links")


def clone_tree(descriptor: int, what: str) -> int:
    """A detached copy of the mounts at and below `descriptor`; the files are the same ones.

    Always recursive: the kernel refuses to copy a mount without those below it that hide something.
    `what` is for the message.
    """
    flags = _OPEN_TREE_CLONE | _CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE
    return libc.call("open_tree", descriptor, b"", flags, doing=f"copying the mount of {what}")


def attach(tree: int, target: int, where: str) -> None:
    """Put the detached tree onto the open file or folder `target`."""
    flags = _MOVE_MOUNT_F_EMPTY_PATH | _MOVE_MOUNT_T_EMPTY_PATH
    libc.call("move_mount", tree, b"", target, b"", flags, doing=f"attaching a mount to {where}")


def restrict_tree(tree: int, flags: int, what: str) -> None:
    """Set RDONLY, NODEV, ... on a detached tree and all mounts in it; clears nothing."""
    attr = _attributes(flags, 0)
    at = _AT_RECURSIVE | _AT_EMPTY_PATH
    libc.call("mount_setattr", tree, b"", at, attr, len(attr), doing=f"restricting {what}")


def restrict_everything(flags: int) -> None:
    """Set the flags on every mount of this namespace, and cut it off from others.

    Private, not slave: a mount made outside later would otherwise arrive here writable.
    """
    attr = _attributes(flags, _MS_PRIVATE)
    doing = "restricting every mount"
    libc.call("mount_setattr", AT_FDCWD, b"/", _AT_RECURSIVE, attr, len(attr), doing=doing)


def _attributes(flags: int, propagation: int) -> bytes:
    """struct mount_attr: to set, to clear, propagation, user namespace for idmapped mounts."""
    return b"".join(word.to_bytes(8, sys.byteorder) for word in (flags, 0, propagation, 0))


def mount_new(kind: str, name: str, where: str, flags: int, options: str) -> None:
    """Mount a new filesystem of `kind` ("tmpfs", "devpts"), called `name` in the table of mounts, on `where`.

    The classic call: one instead of four, and `where` is always a place of the system's that no agent can
    change; it may hold no link.
    """
    words = (name.encode(), _bytes(where), kind.encode())
    libc.call("mount", *words, flags, options.encode(), doing=f"mounting {kind} on {where}")


def new_filesystem(kind: str, options: Sequence[tuple[str, str]], flags: int) -> int:
    """A descriptor of a detached mount of a new filesystem: fsopen, fsconfig, fsmount (Linux 5.2).

    Options go in one by one, so no comma or colon in a value can be taken for another option.
    """
    context = libc.call("fsopen", kind.encode(), _FSOPEN_CLOEXEC, doing=f"opening a new {kind}")
    try:
        for key, value in options:
            words = (key.encode(), _bytes(value) if value else None)
            how = _FSCONFIG_SET_STRING if value else _FSCONFIG_SET_FLAG
            libc.call("fsconfig", context, how, *words, 0, doing=f"setting {key} of a new {kind}")
        libc.call("fsconfig", context, _FSCONFIG_CMD_CREATE, None, None, 0, doing=f"making a new {kind}")
        return libc.call("fsmount", context, _FSMOUNT_CLOEXEC, flags, doing=f"mounting a new {kind}")
    finally:
        posix.close(context)


def loosen_tree(tree: int, flags: int, what: str) -> None:
    """Take RDONLY off a detached tree. Fails with EPERM where a more privileged namespace has locked it."""
    attr = b"".join(word.to_bytes(8, sys.byteorder) for word in (0, flags, 0, 0))
    at = _AT_EMPTY_PATH
    libc.call("mount_setattr", tree, b"", at, attr, len(attr), doing=f"opening {what} for writing")


def bind(source: int, target: int, what: str) -> None:
    """Put what `source` is onto `target`, both descriptors: the classic call.

    Where no mount namespace can be made any more (`limit_namespaces`) no detached tree can either.
    """
    names = (b"/proc/self/fd/%d" % source, b"/proc/self/fd/%d" % target)
    libc.call("mount", *names, None, _MS_BIND | _MS_REC, None, doing=f"putting a mount onto {what}")


def forget_names(where: str) -> None:
    """Drop what the filesystem at `where` remembers of names nobody holds open: a remount that changes nothing.

    `reconfigure_super` shrinks the dentry cache first (fs/super.c). An overlay never asks again whether what it
    remembers of its lower folders is still true, and ours lives as long as a session.
    """
    # A remount sets the flags of the mount anew: those that are not named are taken off.
    flags = _MS_REMOUNT | NODEV
    libc.call("mount", None, _bytes(where), None, flags, None, doing=f"looking anew at {where}")


def later_calls_filter() -> bytes:
    """The filter of `refuse_mount_calls`, an array of struct sock_filter."""
    # struct sock_filter { u16 code; u8 jt, jf; u32 k }: load the number, drop the x32 bit, compare.
    code = [(0x20, 0, 0, 0), (0x54, 0, 0, ~_X32_BIT & 0xFFFF_FFFF)]
    numbers = sorted(_LATER_CALLS.values())
    code += [(0x15, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    code += [(0x06, 0, 0, 0x7FFF_0000), (0x06, 0, 0, 0x0005_0000 | _EPERM)]
    return b"".join(
        op.to_bytes(2, sys.byteorder) + bytes((yes, no)) + k.to_bytes(4, sys.byteorder)
        for op, yes, no, k in code
    )


def refuse_mount_calls() -> None:
    """Make every call since 5.0 that changes mounts, and io_uring_setup, fail with EPERM for good.

    What a ring submits is seen by no filter, so the ring goes too (container runtimes refuse it as well;
    programs fall back). Needs no_new_privs. Raises KernelCallError.
    """
    program = libc.buffer(later_calls_filter())
    header = (len(program.raw) // 8).to_bytes(2, sys.byteorder) + bytes(6)
    header += libc.address(program).to_bytes(8, sys.byteorder)
    doing = "refusing " + ", ".join(_LATER_CALLS)
    libc.call("seccomp", 1, 4, header, doing=doing)  # SECCOMP_SET_MODE_FILTER, FLAG_SPEC_ALLOW


def is_gone(error: KernelCallError) -> bool:
    """Whether a failed `open_path` means that there is nothing at the path (ENOENT, ENOTDIR)."""
    return error.errno in (2, 20)


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
