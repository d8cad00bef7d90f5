"""Run a program on a kernel that seems to lack some system calls.

    python scripts/fake_enosys.py --hide landlock_create_ruleset,unshare -- PROG ARG...
    python scripts/fake_enosys.py --hide mount_setattr --errno EPERM -- PROG ARG...

The calls fail with ENOSYS as on a kernel without them, or with another errno (EPERM is what container
runtimes answer). So the paths for older kernels are really run on a new one. Exit status is the program's.
"""

from __future__ import annotations

import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src"))

from ringfence.errors import FenceError
from ringfence.kernel import landlock, libc, seccomp


def main(argv: list[str]) -> int:
    """Read the words by hand: this also has to run on interpreters that have nothing installed."""
    hide: list[str] = []
    error = "ENOSYS"
    rest = argv[1:]
    while rest and rest[0].startswith("--"):
        option = rest.pop(0)
        if option == "--":
            break
        if option == "--hide" and rest:
            hide += rest.pop(0).split(",")
        elif option == "--errno" and rest:
            error = rest.pop(0)
        else:
            return usage(f"unknown option {option}")
    if not hide or not rest:
        return usage("nothing to hide or nothing to run")
    number = getattr(errno, error, None)
    if number is None:
        return usage(f"{error} is not an errno name")
    try:
        for name in hide:
            libc.number_on(libc.machine(), name)
        landlock.no_new_privs()
        seccomp.install(tuple(seccomp.Refusal(name, number) for name in hide))
    except KeyError as unknown:
        return usage(f"no system call number is known for {unknown}")
    except FenceError as failed:
        sys.stderr.write(f"fake_enosys: {failed}\n")
        return failed.exit_code
    try:
        os.execvp(rest[0], rest)  # noqa: S606 - becoming the program is the point
    except OSError as failed:
        sys.stderr.write(f"fake_enosys: {rest[0]}: {failed.strerror}\n")
    return 127


def usage(problem: str) -> int:
    sys.stderr.write(f"fake_enosys: {problem}\n{__doc__}")
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
