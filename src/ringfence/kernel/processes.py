"""Processes by more than their number: who lives in a mount namespace, and ending exactly those.

A number is given again once its process is gone, so nothing here acts on a number alone: a pidfd (Linux 5.3) is
taken first, the namespace is compared after, and the signal goes to the pidfd.
"""

from __future__ import annotations

import posix
from time import sleep

from ringfence.errors import KernelCallError
from ringfence.kernel.libc import call

_SIGKILL = 9
_ROUNDS = 50


def mount_namespace(pid: int) -> str:
    """`mnt:[NUMBER]` of a living process; "" where there is none or it may not be looked at."""
    try:
        return posix.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return ""


def born(pid: int) -> str:
    """When a process started, in ticks since boot (field 22 of /proc/PID/stat, proc(5)); "" if it is gone."""
    try:
        descriptor = posix.open(f"/proc/{pid}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = posix.read(descriptor, 4096)
    except OSError:
        return ""
    finally:
        posix.close(descriptor)
    fields = text.rpartition(b")")[2].split()
    # A zombie has a start and no life left.
    return fields[19].decode("ascii") if len(fields) > 19 and fields[0] not in (b"Z", b"X") else ""


def occupants(namespace: str) -> list[int]:
    """The processes in this mount namespace, ourselves included. Only this user's are seen; for root, all."""
    return [
        int(name)
        for name in posix.listdir("/proc")
        if name.isdigit() and mount_namespace(int(name)) == namespace
    ]


def end_all(namespace: str, mark: str, keep: int = 0) -> int:
    """Kill everything in the namespace but `keep` (a process number); how many were killed.

    The kernel gives a namespace's number again once it is gone, so only processes whose table of mounts holds `mark`
    count. Looks again until nobody is left: what is killed may have forked meanwhile. Gives up after some rounds.
    """
    killed: set[int] = set()
    if not namespace:
        return 0
    for _ in range(_ROUNDS):
        left = [pid for pid in occupants(namespace) if pid != keep and born(pid) and _has(pid, mark)]
        if not left:
            break
        for pid in left:
            if _kill_in(namespace, pid):
                killed.add(pid)
        sleep(0.002)
    return len(killed)


def end_one(pid: int, since: str) -> None:
    """Kill this one process if it is still the one that was born then; not waited for."""
    try:
        handle = call("pidfd_open", pid, 0, doing=f"finding process {pid}")
    except KernelCallError:
        return
    try:
        if born(pid) == since:
            call("pidfd_send_signal", handle, _SIGKILL, None, 0, doing=f"ending process {pid}")
    except KernelCallError:
        return
    finally:
        posix.close(handle)


def take_descriptor(pid: int, number: int) -> int:
    """A copy of descriptor `number` of process `pid` (pidfd_getfd, Linux 5.6). Raises KernelCallError."""
    handle = call("pidfd_open", pid, 0, doing=f"finding process {pid}")
    try:
        return call("pidfd_getfd", handle, number, 0, doing=f"taking descriptor {number} of process {pid}")
    finally:
        posix.close(handle)


def _has(pid: int, mark: str) -> bool:
    try:
        descriptor = posix.open(f"/proc/{pid}/mountinfo", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    try:
        pieces = []
        while piece := posix.read(descriptor, 1 << 16):
            pieces.append(piece)
    except OSError:
        return False
    finally:
        posix.close(descriptor)
    # Of the tmpfs in the hidden store: an overlay is gone as soon as the real folder below it is removed.
    return b" - tmpfs " + mark.encode() + b" " in b"".join(pieces)


def _kill_in(namespace: str, pid: int) -> bool:
    try:
        handle = call("pidfd_open", pid, 0, doing=f"finding process {pid}")
    except KernelCallError:
        return False
    try:
        if mount_namespace(pid) != namespace:
            return False
        call("pidfd_send_signal", handle, _SIGKILL, None, 0, doing=f"ending process {pid}")
    except KernelCallError:
        return False
    finally:
        posix.close(handle)
    return True
