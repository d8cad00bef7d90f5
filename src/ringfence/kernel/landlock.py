"""Landlock: what each named ABI can restrict, and the three calls. No policy here.

Rights are a pure function of a *named* ABI. "Everything this kernel knows" would change its meaning with the
next kernel. Source: linux/landlock.h and Documentation/userspace-api/landlock.rst of Linux 6.15.
"""

from __future__ import annotations

import sys

from ringfence.kernel import libc

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0
SCOPE_SIGNAL = 1 << 1

ABI_1 = 1  # Linux 5.13: thirteen filesystem rights; rename and link across directories always refused
ABI_2 = 2  # Linux 5.19: REFER
ABI_3 = 3  # Linux 6.2: TRUNCATE
ABI_4 = 4  # Linux 6.7: TCP bind and connect (not used: the network is not fenced)
ABI_5 = 5  # Linux 6.10: IOCTL_DEV
ABI_6 = 6  # Linux 6.12: scopes for abstract unix sockets and signals
ABI_7 = 7  # Linux 6.15: flags for what is logged (not used: the defaults log nothing after exec)
NEWEST_ABI = ABI_7
FIRST_KERNEL = {1: "5.13", 2: "5.19", 3: "6.2", 4: "6.7", 5: "6.10", 6: "6.12", 7: "6.15"}

READ_RIGHTS = READ_FILE | READ_DIR
# A rule on anything but a directory may carry only these; more is EINVAL.
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_V1 = (1 << 13) - 1
_V2 = _V1 | REFER
_V3 = _V2 | TRUNCATE
_V5 = _V3 | IOCTL_DEV
FS_RIGHTS = {ABI_1: _V1, ABI_2: _V2, ABI_3: _V3, ABI_4: _V3, ABI_5: _V5, ABI_6: _V5, ABI_7: _V5}
SCOPES = {abi: (SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL if abi >= ABI_6 else 0) for abi in FS_RIGHTS}
# Bytes of struct landlock_ruleset_attr: handled_access_fs; + handled_access_net; + scoped.
_ATTR_SIZE = {ABI_1: 8, ABI_2: 8, ABI_3: 8, ABI_4: 16, ABI_5: 16, ABI_6: 24, ABI_7: 24}

_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38


def named(kernel_abi: int) -> int:
    """The newest ABI named here that a kernel of `kernel_abi` has, 0 for none. An ABI includes the older."""
    return max(0, min(kernel_abi, NEWEST_ABI))


def kernel_abi() -> int:
    """The newest ABI of the running kernel, which may be newer than any named here.

    Raises KernelCallError: ENOSYS below Linux 5.13 or hidden, EOPNOTSUPP when built in but off at boot
    (`lsm=`), EPERM from a container's filter.
    """
    doing = "asking which Landlock ABI there is"
    return libc.call("landlock_create_ruleset", None, 0, _CREATE_RULESET_VERSION, doing=doing)


def create_ruleset(abi: int, handled_fs: int, scoped: int) -> int:
    """A ruleset that refuses `handled_fs` until granted and isolates `scoped`: its descriptor (CLOEXEC).

    Raises ValueError if `abi` lacks one of the rights (our bug), KernelCallError if the kernel refuses.
    """
    if handled_fs & ~FS_RIGHTS[abi] or scoped & ~SCOPES[abi]:
        raise ValueError(f"Landlock ABI {abi} has no rights {handled_fs:#x} with scopes {scoped:#x}")
    attr = _u64(handled_fs) + _u64(0) + _u64(scoped)
    size = _ATTR_SIZE[abi]
    doing = f"creating a Landlock ruleset of ABI {abi}"
    return libc.call("landlock_create_ruleset", attr[:size], size, 0, doing=doing)


def add_path(ruleset: int, descriptor: int, rights: int, path: str) -> None:
    """Grant `rights` on the open file or directory `descriptor` and, for a directory, on all below it.

    `path` is for the message only. Raises KernelCallError (EBADFD: not a file of a real filesystem).
    """
    # struct landlock_path_beneath_attr is packed: u64 allowed_access, s32 parent_fd.
    attr = _u64(rights) + descriptor.to_bytes(4, sys.byteorder, signed=True)
    libc.call("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, attr, 0, doing=f"granting {path}")


def restrict_self(ruleset: int) -> None:
    """Put this thread and all its children to come under the ruleset, for good.

    Raises KernelCallError (EPERM: no_new_privs was not set; E2BIG: sixteen layers already).
    """
    libc.call("landlock_restrict_self", ruleset, 0, doing="entering the Landlock domain")


def no_new_privs() -> None:
    """From here on no exec gives more rights: setuid bits and file capabilities are ignored."""
    libc.call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, doing="giving up new privileges")


def _u64(value: int) -> bytes:
    return value.to_bytes(8, sys.byteorder)
