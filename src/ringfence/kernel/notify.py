"""Hearing of system calls as they are made, and letting each go on: seccomp's user notification.

A listener sees the arguments before the kernel acts on them, and the program can change the memory they point to
meanwhile. So nothing here decides: every call goes on (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`, Linux 5.5), and what is
heard is a report of what was attempted. Calls through a 32-bit table are not heard. Sources: linux/seccomp.h,
seccomp_unotify(2), asm/unistd_64.h and asm-generic/unistd.h for the numbers.
"""

from __future__ import annotations

import posix
import sys

from ringfence.errors import KernelCallError
from ringfence.kernel import libc
from ringfence.kernel.seccomp import arch_of
from ringfence.records import Record

_LD_WORD, _JEQ, _JSET, _RET, _JGE = 0x20, 0x15, 0x45, 0x06, 0x35
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_SET_MODE_FILTER = 1
_FLAGS = 4 | 8  # SPEC_ALLOW, NEW_LISTENER (Linux 5.0)
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND
_CONTINUE = 1
_SIZE, _ANSWER = 80, 24  # struct seccomp_notif, struct seccomp_notif_resp
_X32_BIT = 0x40000000
_ENOENT, _EINTR = 2, 4
_WRITING = 0o3 | 0o100 | 0o1000  # O_WRONLY | O_RDWR, O_CREAT, O_TRUNC


class Shape(Record):
    """Where a call's paths stand among its arguments: (folder's descriptor, path), -1 for "the working folder" and
    for "no path, the descriptor itself". `flags` is the argument that must say "writing"; -1: always heard."""

    name: str
    op: str
    paths: tuple[tuple[int, int], ...]
    flags: int = -1


class Heard(Record):
    """One call as it was made: the thread's number, what it is, and the six words."""

    pid: int
    shape: Shape
    words: tuple[int, ...]


_AT = (0, 1)
_X86_64 = {
    2: Shape("open", "write", ((-1, 0),), 1), 85: Shape("creat", "write", ((-1, 0),)),
    76: Shape("truncate", "write", ((-1, 0),)), 82: Shape("rename", "rename", ((-1, 0), (-1, 1))),
    83: Shape("mkdir", "create", ((-1, 0),)), 84: Shape("rmdir", "delete", ((-1, 0),)),
    86: Shape("link", "link", ((-1, 0), (-1, 1))), 87: Shape("unlink", "delete", ((-1, 0),)),
    88: Shape("symlink", "create", ((-1, 1),)), 90: Shape("chmod", "metadata", ((-1, 0),)),
    91: Shape("fchmod", "metadata", ((0, -1),)), 92: Shape("chown", "metadata", ((-1, 0),)),
    93: Shape("fchown", "metadata", ((0, -1),)), 94: Shape("lchown", "metadata", ((-1, 0),)),
    132: Shape("utime", "metadata", ((-1, 0),)), 133: Shape("mknod", "create", ((-1, 0),)),
    188: Shape("setxattr", "metadata", ((-1, 0),)), 189: Shape("lsetxattr", "metadata", ((-1, 0),)),
    190: Shape("fsetxattr", "metadata", ((0, -1),)), 197: Shape("removexattr", "metadata", ((-1, 0),)),
    198: Shape("lremovexattr", "metadata", ((-1, 0),)), 199: Shape("fremovexattr", "metadata", ((0, -1),)),
    235: Shape("utimes", "metadata", ((-1, 0),)), 257: Shape("openat", "write", (_AT,), 2),
    258: Shape("mkdirat", "create", (_AT,)), 259: Shape("mknodat", "create", (_AT,)),
    260: Shape("fchownat", "metadata", (_AT,)), 261: Shape("futimesat", "metadata", (_AT,)),
    263: Shape("unlinkat", "delete", (_AT,)), 264: Shape("renameat", "rename", (_AT, (2, 3))),
    265: Shape("linkat", "link", (_AT, (2, 3))), 266: Shape("symlinkat", "create", ((1, 2),)),
    268: Shape("fchmodat", "metadata", (_AT,)), 280: Shape("utimensat", "metadata", (_AT,)),
    316: Shape("renameat2", "rename", (_AT, (2, 3))), 437: Shape("openat2", "write", (_AT,)),
    452: Shape("fchmodat2", "metadata", (_AT,)),
}  # fmt: skip
_GENERIC = {
    5: Shape("setxattr", "metadata", ((-1, 0),)), 6: Shape("lsetxattr", "metadata", ((-1, 0),)),
    7: Shape("fsetxattr", "metadata", ((0, -1),)), 14: Shape("removexattr", "metadata", ((-1, 0),)),
    15: Shape("lremovexattr", "metadata", ((-1, 0),)), 16: Shape("fremovexattr", "metadata", ((0, -1),)),
    33: Shape("mknodat", "create", (_AT,)), 34: Shape("mkdirat", "create", (_AT,)),
    35: Shape("unlinkat", "delete", (_AT,)), 36: Shape("symlinkat", "create", ((1, 2),)),
    37: Shape("linkat", "link", (_AT, (2, 3))), 38: Shape("renameat", "rename", (_AT, (2, 3))),
    45: Shape("truncate", "write", ((-1, 0),)), 52: Shape("fchmod", "metadata", ((0, -1),)),
    53: Shape("fchmodat", "metadata", (_AT,)), 54: Shape("fchownat", "metadata", (_AT,)),
    55: Shape("fchown", "metadata", ((0, -1),)), 56: Shape("openat", "write", (_AT,), 2),
    88: Shape("utimensat", "metadata", (_AT,)), 276: Shape("renameat2", "rename", (_AT, (2, 3))),
    437: Shape("openat2", "write", (_AT,)), 452: Shape("fchmodat2", "metadata", (_AT,)),
}  # fmt: skip
_SHAPES = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}


def install() -> int:
    """Hear the writing calls of this process and its children to come; the listener's descriptor.

    Needs no_new_privs. From here on such a call waits until somebody who holds the descriptor lets it go on; when all
    copies are closed it fails with ENOSYS. Raises KernelCallError (EBUSY: somebody listens already; ENOSYS: a machine
    whose numbers are not listed).
    """
    shapes = _SHAPES.get(libc.machine())
    if shapes is None:
        raise KernelCallError("seccomp", libc.ENOSYS, f"listing the calls of {libc.machine()}")
    program = libc.buffer(_assemble(shapes, arch_of(libc.machine())))
    header = (len(program.raw) // 8).to_bytes(2, sys.byteorder) + bytes(6)
    header += libc.address(program).to_bytes(8, sys.byteorder)
    return libc.call("seccomp", _SET_MODE_FILTER, _FLAGS, header, doing="listening to attempts")


def _assemble(shapes: dict[int, Shape], arch: int) -> bytes:
    code: list[tuple[int, int, int, int]] = [(_LD_WORD, 0, 0, 4), (_JEQ, 1, 0, arch), (_RET, 0, 0, _ALLOW)]
    code.append((_LD_WORD, 0, 0, 0))
    for number, shape in sorted(shapes.items()):
        if shape.flags < 0:
            code += [(_JEQ, 0, 1, number), (_RET, 0, 0, _NOTIFY)]
            continue
        low = 16 + 8 * shape.flags + (4 if sys.byteorder == "big" else 0)
        code += [
            (_JEQ, 0, 4, number),
            (_LD_WORD, 0, 0, low),
            (_JSET, 0, 1, _WRITING),
            (_RET, 0, 0, _NOTIFY),
            (_RET, 0, 0, _ALLOW),
        ]
    code.append((_RET, 0, 0, _ALLOW))
    return b"".join(
        op.to_bytes(2, sys.byteorder) + bytes((yes, no)) + k.to_bytes(4, sys.byteorder)
        for op, yes, no, k in code
    )


class Listener:
    """One end of the line. `take` waits for a call; every call taken must be let go with `release`."""

    __slots__ = ("_answer", "_descriptor", "_heard", "_shapes")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shapes = _SHAPES[libc.machine()]
        self._heard = libc.buffer(_SIZE)
        self._answer = libc.buffer(_ANSWER)

    def take(self) -> tuple[bytes, Heard | None]:
        """The call's ticket and what it is (None: nothing to look at). b"" once nobody can call any more."""
        while True:
            self._heard.raw = bytes(_SIZE)  # the kernel insists on zeros
            try:
                libc.call("ioctl", self._descriptor, _RECEIVE, self._heard, doing="hearing of an attempt")
            except KernelCallError as failed:
                if failed.errno in (_EINTR, _ENOENT):
                    # ENOENT: the caller was killed before we could hear it, or nobody is left at all.
                    if failed.errno == _ENOENT and self._is_over():
                        return b"", None
                    continue
                posix.close(self._descriptor)  # whoever waits for us gets ENOSYS instead of waiting for ever
                return b"", None
            raw = self._heard.raw
            number = int.from_bytes(raw[16:20], sys.byteorder)
            words = tuple(int.from_bytes(raw[32 + 8 * at : 40 + 8 * at], sys.byteorder) for at in range(6))
            shape = self._shapes.get(number)
            pid = int.from_bytes(raw[8:12], sys.byteorder)
            return raw[:8], Heard(pid, shape, words) if shape else None

    def release(self, ticket: bytes) -> None:
        """Let the call go on. One that was killed meanwhile is no error."""
        self._answer.raw = ticket + bytes(12) + _CONTINUE.to_bytes(4, sys.byteorder)
        try:
            libc.call("ioctl", self._descriptor, _SEND, self._answer, doing="letting a call go on")
        except KernelCallError:
            return

    def _is_over(self) -> bool:
        """Whether no process with this filter is left (POLLHUP, Linux 5.8)."""
        import select

        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return any(events & select.POLLHUP for _, events in poll.poll(0))


def text_at(pid: int, address: int) -> str:
    """The path at this address of the process, "" if it cannot be read. Longer than PATH_MAX: cut."""
    try:
        memory = posix.open(f"/proc/{pid}/mem", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = b""
        while len(data) < 4096 and b"\0" not in data:
            # Up to the end of the page: the next one may not be there.
            at = address + len(data)
            more = posix.pread(memory, 4096 - at % 4096, at)
            if not more:
                break
            data += more
    except (OSError, OverflowError):
        return ""
    finally:
        posix.close(memory)
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")
