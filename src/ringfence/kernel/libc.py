"""One way to make a system call: the result is looked at first, errno second.

`ctypes` takes 2.5 to 4 ms to import, a third of a bare interpreter; the extension module under it,
`_ctypes`, takes 0.5 ms and has all that `syscall(2)` needs. Its names are the same in CPython 3.11 to 3.13.
If one is missing (another interpreter), `ctypes` itself is used; tests/kernel/test_libc.py runs both doors.

Nothing is looked up at import, so the module loads on macOS and Windows too; the first call there is a
KernelCallError with ENOSYS.
"""

from __future__ import annotations

import errno as _errno
import sys

from ringfence.errors import KernelCallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple, TypeAlias

    class Buffer:
        """Memory that outlives a call: `raw` is its content. Made by `buffer`."""

        raw: bytes

    Word: TypeAlias = int | bytes | Buffer | None

    class Door(NamedTuple):
        """What one of the two foreign function modules lends us. A plain tuple at run time."""

        call: Callable[..., int]
        get_errno: Callable[[], int]
        long: Callable[[int], Any]
        make_buffer: Callable[[int], Any]
        addressof: Callable[[Any], int]

    DoorMaker: TypeAlias = Callable[[], Door]


# Calls added since Linux 5.0 have one number on every machine except alpha (which is not supported here).
_UNIFIED = {
    "pidfd_send_signal": 424,  # Linux 5.1
    "open_tree": 428,  # Linux 5.2, as are the next five
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,  # Linux 5.3
    "clone3": 435,  # Linux 5.3
    "close_range": 436,  # Linux 5.9
    "openat2": 437,  # Linux 5.6
    "pidfd_getfd": 438,  # Linux 5.6
    "mount_setattr": 442,  # Linux 5.12
    "landlock_create_ruleset": 444,  # Linux 5.13, as are the next two
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}

_OLD_NAMES = (
    "prctl", "seccomp", "unshare", "setns", "mount", "umount2", "pivot_root", "capset", "ptrace",
    "open_by_handle_at", "name_to_handle_at", "process_vm_writev", "ioctl", "chroot", "clone", "capget", "fcntl",
)  # fmt: skip
# asm/unistd_64.h, asm-generic/unistd.h, arch/powerpc and arch/s390 syscall tables; order of _OLD_NAMES.
_X86_64 = (157, 317, 272, 308, 165, 166, 155, 126, 101, 304, 303, 311, 16, 161, 56, 125, 72)
_GENERIC = (167, 277, 97, 268, 40, 39, 41, 91, 117, 265, 264, 271, 29, 51, 220, 90, 25)
_PPC64 = (171, 358, 282, 350, 21, 52, 203, 184, 26, 346, 345, 352, 54, 61, 120, 183, 55)
_S390X = (172, 348, 303, 339, 21, 52, 217, 185, 26, 336, 335, 341, 54, 61, 120, 184, 55)
_OLD = {
    "x86_64": _X86_64,
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
    "loongarch64": _GENERIC,
    "ppc64le": _PPC64,
    "s390x": _S390X,
}

ENOSYS = _errno.ENOSYS

_door: Door | None = None
_numbers: dict[str, int] = {}


def machine() -> str:
    """The kernel's name for this machine's instruction set, "" where there is no uname (Windows)."""
    try:
        import posix
    except ImportError:
        return ""
    return posix.uname().machine


def number(name: str) -> int:
    """The system call number of `name` here.

    Raises KernelCallError with ENOSYS off Linux, on an unlisted machine, and in a 32-bit interpreter: a
    32-bit process under a 64-bit kernel reports the kernel's machine but has another table of numbers.
    """
    if not _numbers and sys.platform == "linux" and sys.maxsize > 2**32:
        here = machine()
        if here in _OLD:
            _numbers.update(_UNIFIED)
            _numbers.update(zip(_OLD_NAMES, _OLD[here], strict=True))
    found = _numbers.get(name)
    if found is None:
        raise KernelCallError(name, ENOSYS, f"looking up its number on {sys.platform} {machine()}")
    return found


def number_on(machine: str, name: str) -> int:
    """The number of `name` on another machine, from the tables alone. Raises KeyError for one not listed."""
    return _UNIFIED[name] if name in _UNIFIED else dict(zip(_OLD_NAMES, _OLD[machine], strict=True))[name]


def syscall(name: str, nr: int, *args: Word, doing: str) -> int:
    """Make system call `nr`, called `name` in messages, and return its result.

    An int goes in as a full machine word, bytes as a pointer to them (paths end at the first NUL), None as a
    null pointer, a Buffer as a pointer to its memory. Raises KernelCallError when the result is -1.
    """
    door = _door or _open_door()
    call, get_errno, long = door[0], door[1], door[2]
    words = []
    for arg in args:
        if isinstance(arg, int):
            words.append(long(arg))
        elif isinstance(arg, str):
            # ctypes would pass a wchar_t pointer: always our bug, never a path.
            raise TypeError(f"{name}: text cannot go to the kernel, encode it first")
        else:
            words.append(arg)
    result = call(long(nr), *words)
    if result == -1:
        raise KernelCallError(name, get_errno(), doing)
    return result


def call(name: str, *args: Word, doing: str) -> int:
    """`syscall` with the number looked up by name."""
    return syscall(name, number(name), *args, doing=doing)


def buffer(content: bytes | int) -> Buffer:
    """Memory the kernel may write, or reach through a pointer in a struct: these bytes, or so many zeros."""
    door = _door or _open_door()
    size = content if isinstance(content, int) else len(content)
    made: Buffer = door[3](size)
    if isinstance(content, bytes):
        made.raw = content
    return made


def address(memory: Buffer) -> int:
    """Where `memory` is. Valid only as long as `memory` itself is alive."""
    door = _door or _open_door()
    return door[4](memory)


def _open_door() -> Door:
    """Try the cheap door, then the official one; keep what works."""
    global _door  # noqa: PLW0603 - a lookup made once per process, the same in every thread
    if sys.platform != "linux":
        raise KernelCallError("syscall", ENOSYS, f"preparing Linux system calls on {sys.platform}")
    try:
        door = raw_door()
    except (ImportError, AttributeError, TypeError):
        door = official_door()
    _door = door
    return door


def raw_door() -> Door:
    """`syscall(2)` through `_ctypes` alone."""
    import _ctypes as raw  # type: ignore[import-not-found, unused-ignore]

    long = type("_Long", (raw._SimpleCData,), {"_type_": "l", "__slots__": ()})  # noqa: SLF001 - see module
    char = type("_Char", (raw._SimpleCData,), {"_type_": "c", "__slots__": ()})  # noqa: SLF001 - see module
    flags = raw.FUNCFLAG_CDECL | raw.FUNCFLAG_USE_ERRNO
    prototype = type("_Syscall", (raw.CFuncPtr,), {"_flags_": flags, "_restype_": long, "__slots__": ()})
    function = prototype(raw.dlsym(raw.dlopen(None, 0), "syscall"))  # type: ignore[arg-type, unused-ignore]

    def make_buffer(size: int) -> Any:
        return type("_Memory", (raw.Array,), {"_type_": char, "_length_": size})()

    return function, raw.get_errno, long, make_buffer, raw.addressof  # type: ignore[return-value]


def official_door() -> Door:
    """The same through `ctypes`."""
    import ctypes

    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return (  # type: ignore[return-value]
        function,
        ctypes.get_errno,
        ctypes.c_long,
        ctypes.create_string_buffer,
        ctypes.addressof,
    )
