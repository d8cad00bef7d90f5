"""Powers of root that no fence withstands, taken away before a program starts.

Landlock and namespaces hold root as they hold anyone, except through the few powers that reach under the
kernel's file layer. Loading a module or writing kernel memory ends every fence; with CAP_SYS_ADMIN mounts are
remade, which Landlock does not stop (mount_setattr); file handles open files without a path.
"""

from __future__ import annotations

import errno
import posix
import sys

from ringfence.errors import KernelCallError
from ringfence.kernel import libc

# linux/capability.h
DROPPED = {
    "CAP_DAC_READ_SEARCH": 2,  # open_by_handle_at; reading others' files still works by CAP_DAC_OVERRIDE
    "CAP_SYS_MODULE": 16,
    "CAP_SYS_RAWIO": 17,
    # Attaching to what made itself unreadable: our own thread inside the fence (kernel/spawn.py). What lies outside,
    # Landlock refuses to attach to anyway, and a program's own children need no power.
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_SYS_BOOT": 22,  # kexec
}
_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_LOWER = 47, 3
_CAPABILITY_VERSION_3 = 0x20080522


def drop_root_powers() -> None:
    """Take the powers in DROPPED out of every set that an exec can draw them from. For good.

    A program of root gets at exec what the bounding and the inheritable set hold; one of another user only
    what the ambient set holds (setuid and file capabilities count for nothing under no_new_privs). Nothing to
    do for an ordinary user costs seven calls. Raises KernelCallError: EPERM for a root
    that has one of the powers and not CAP_SETPCAP.
    """
    for name, number in DROPPED.items():
        _ambient_lower(number, name)
    _lower_inheritable()
    if posix.geteuid() and posix.getuid():
        return
    for name, number in DROPPED.items():
        # A container's root may have lost the power already, and CAP_SETPCAP, the right to drop it, with it.
        if libc.call("prctl", _PR_CAPBSET_READ, number, 0, 0, 0, doing=f"looking for {name}"):
            libc.call("prctl", _PR_CAPBSET_DROP, number, 0, 0, 0, doing=f"dropping {name}")


def _ambient_lower(number: int, name: str) -> None:
    try:
        libc.call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_LOWER, number, 0, 0, doing=f"lowering {name}")
    except KernelCallError as failed:
        if failed.errno != errno.EINVAL:  # a kernel built without ambient capabilities has none to lower
            raise


def _lower_inheritable() -> None:
    """Some container runtimes start root with a full inheritable set, which refills at exec."""
    header = libc.buffer(_CAPABILITY_VERSION_3.to_bytes(4, sys.byteorder) + bytes(4))
    # Two struct __user_cap_data_struct: effective, permitted, inheritable, for capabilities 0-31 and 32-63.
    sets = libc.buffer(24)
    libc.call("capget", header, sets, doing="reading our capabilities")
    low = int.from_bytes(sets.raw[8:12], sys.byteorder)
    for number in DROPPED.values():
        low &= ~(1 << number)
    sets.raw = sets.raw[:8] + low.to_bytes(4, sys.byteorder) + sets.raw[12:]
    libc.call("capset", header, sets, doing="lowering the inheritable capabilities")
