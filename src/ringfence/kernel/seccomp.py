"""System call filters: a small assembler for classic BPF, enough to refuse named calls.

A filter only ever refuses; what it does not name passes. It must know every table of numbers that a program
on this machine can call through: a 32-bit program, or `int 0x80` in a 64-bit one, would walk around a filter
that looked at the native numbers only. Sources: linux/seccomp.h, linux/audit.h, linux/bpf_common.h.
"""

from __future__ import annotations

import sys

from ringfence.errors import KernelCallError
from ringfence.kernel import libc
from ringfence.records import Record

_LD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_JEQ = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JA = 0x05  # BPF_JMP | BPF_JA
_RET = 0x06  # BPF_RET | BPF_K
_ALLOW = 0x7FFF0000  # SECCOMP_RET_ALLOW
_ERRNO = 0x00050000  # SECCOMP_RET_ERRNO
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data
_X32_BIT = 0x40000000
_MAX_PROGRAM = 4096  # BPF_MAXINSNS

_SET_MODE_FILTER = 1
_GET_ACTION_AVAIL = 2
_FLAG_SPEC_ALLOW = 4  # Linux 4.17: do not also switch on the slow store-bypass mitigation

TIOCSTI = 0x5412  # asm-generic/ioctls.h; ppc64 has its own value, the same number
TIOCLINUX = 0x541C

# Calls a 64-bit machine also takes under other numbers. Those from 424 on are the same everywhere.
_COMPAT_32 = {
    "prctl": 172, "unshare": 310, "setns": 346, "mount": 21, "umount2": 52, "pivot_root": 217, "capset": 185,
    "ptrace": 26, "open_by_handle_at": 342, "name_to_handle_at": 341, "process_vm_writev": 348, "ioctl": 54,
    "chroot": 61, "clone": 120, "seccomp": 354, "capget": 184, "fcntl": 55,
}  # fmt: skip
_COMPAT_ARM = {
    **_COMPAT_32, "unshare": 337, "setns": 375, "pivot_root": 218, "open_by_handle_at": 371,
    "name_to_handle_at": 370, "process_vm_writev": 377, "seccomp": 383,
}  # fmt: skip
_COMPAT_S390 = {
    **_COMPAT_32, "unshare": 303, "setns": 339, "open_by_handle_at": 336, "name_to_handle_at": 335,
    "process_vm_writev": 341, "seccomp": 348,
}  # fmt: skip
# x32 numbers 512 and up; the others are the x86-64 number with a bit set. Meaningless to a native call.
_X32 = {"ioctl": 514, "ptrace": 521, "process_vm_writev": 540}
# linux/audit.h: the machine's own word first, then the 32-bit one beside it (with its numbers).
_ARCHES: dict[str, tuple[int, int, dict[str, int]]] = {
    "x86_64": (0xC000003E, 0x40000003, _COMPAT_32),
    "aarch64": (0xC00000B7, 0x40000028, _COMPAT_ARM),
    "riscv64": (0xC00000F3, 0, {}),
    "loongarch64": (0xC0000102, 0, {}),
    "ppc64le": (0xC0000015, 0, {}),
    "s390x": (0x80000016, 0x00000016, _COMPAT_S390),
}


class Refusal(Record):
    """One call that shall fail with `errno`; if `argument` >= 0, only when that argument is in `values`.

    Only the low 32 bits of the argument are compared, which is what the kernel reads of an ioctl request.
    """

    name: str
    errno: int
    argument: int = -1
    values: tuple[int, ...] = ()


def arch_of(machine: str) -> int:
    """The audit word of the machine's own table of calls. Raises KeyError for an unlisted machine."""
    return _ARCHES[machine][0]


def assemble(refusals: tuple[Refusal, ...], machine: str) -> bytes:
    """The filter for `machine`, an array of struct sock_filter. Raises KeyError for an unlisted machine."""
    native_arch, compat_arch, compat_numbers = _ARCHES[machine]
    native: list[tuple[int, Refusal]] = []
    compat: list[tuple[int, Refusal]] = []
    for refusal in refusals:
        number = libc.number_on(machine, refusal.name)
        native.append((number, refusal))
        if machine == "x86_64" and refusal.name in _X32:
            native.append((_X32[refusal.name], refusal))
        if compat_arch:
            compat.append((number if number >= 424 else compat_numbers[refusal.name], refusal))
    code = _block(native_arch, native, strip=~_X32_BIT & 0xFFFFFFFF if machine == "x86_64" else 0)
    if compat_arch:
        code += _block(compat_arch, compat, strip=0)
    code.append((_RET, 0, 0, _ALLOW))
    if len(code) > _MAX_PROGRAM:
        raise ValueError(f"a filter of {len(code)} instructions is longer than the kernel takes")
    return b"".join(
        op.to_bytes(2, sys.byteorder) + bytes((yes, no)) + k.to_bytes(4, sys.byteorder)
        for op, yes, no, k in code
    )


def _block(arch: int, entries: list[tuple[int, Refusal]], strip: int) -> list[tuple[int, int, int, int]]:
    """What is checked for calls made through one table of numbers; falls off its end when nothing matched."""
    body = [(_LD_WORD, 0, 0, _NR)]
    if strip:
        body.append((_AND, 0, 0, strip))
    for number, refusal in entries:
        refuse = (_RET, 0, 0, _ERRNO | refusal.errno)
        if refusal.argument < 0:
            body += [(_JEQ, 0, 1, number), refuse]
            continue
        # The low word of a 64-bit argument comes first on a little-endian machine.
        low = _ARGS + 8 * refusal.argument + (4 if sys.byteorder == "big" else 0)
        checks = [(_LD_WORD, 0, 0, low)]
        for value in refusal.values:
            checks += [(_JEQ, 0, 1, value), refuse]
        checks.append((_RET, 0, 0, _ALLOW))
        body += [(_JEQ, 0, len(checks), number), *checks]
    return [(_LD_WORD, 0, 0, _ARCH), (_JEQ, 1, 0, arch), (_JA, 0, 0, len(body)), *body]


def install(refusals: tuple[Refusal, ...]) -> None:
    """Refuse these calls to this thread and its children to come, for good. Needs no_new_privs.

    Raises KernelCallError: ENOSYS or EINVAL where the kernel was built without filters, EACCES without
    no_new_privs.
    """
    machine = libc.machine()
    if machine not in _ARCHES:
        raise KernelCallError("seccomp", libc.ENOSYS, f"assembling a filter for {machine}")
    program = libc.buffer(assemble(refusals, machine))
    # struct sock_fprog: u16 length in instructions, padding, pointer.
    header = (
        (len(program.raw) // 8).to_bytes(2, sys.byteorder)
        + bytes(6)
        + libc.address(program).to_bytes(8, sys.byteorder)
    )
    doing = "refusing " + ", ".join(r.name for r in refusals)
    libc.call("seccomp", _SET_MODE_FILTER, _FLAG_SPEC_ALLOW, header, doing=doing)


def check_available() -> None:
    """Return if filters work here. Raises KernelCallError with the reason if not; changes nothing."""
    if libc.machine() not in _ARCHES:
        raise KernelCallError("seccomp", libc.ENOSYS, "looking for this machine's number tables")
    action = _ERRNO.to_bytes(4, sys.byteorder)
    libc.call("seccomp", _GET_ACTION_AVAIL, 0, action, doing="asking whether calls can be refused")


TERMINAL_INPUT = (Refusal("ioctl", 1, 1, (TIOCSTI, TIOCLINUX)),)
"""Typing into a terminal as if its user did (EPERM): the caller's shell would run the text afterwards."""
