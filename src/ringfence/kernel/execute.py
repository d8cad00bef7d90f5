"""Turning into a program, as a shell would find it."""

from __future__ import annotations

import errno
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    Environment: TypeAlias = Mapping[str, str] | Mapping[bytes, bytes]

_DEFAULT_PATH = "/bin:/usr/bin"  # confstr(_CS_PATH)


def execute(argv: Sequence[str], env: Environment) -> int:
    """execvp(3): returns only on failure, with its errno."""
    return search(argv, env, _become)


def search(
    argv: Sequence[str], env: Environment, attempt: Callable[[str, list[str], Environment], int]
) -> int:
    """Try where the program may be until `attempt` (path, words, environment) returns 0; else the errno to tell.

    A name without a slash is looked up in the PATH of `env`, not in ours. What the kernel does not know
    (ENOEXEC, a script without a first line) is run by /bin/sh, as execvp and every shell do.
    """
    words = list(argv)
    seen = errno.ENOENT
    for path in candidates(words[0], env):
        number = attempt(path, words, env)
        if number == errno.ENOEXEC:
            return attempt("/bin/sh", ["/bin/sh", path, *words[1:]], env)
        if number == errno.EACCES:
            seen = number  # a later folder may have one that can be run
        elif number not in {errno.ENOENT, errno.ENOTDIR} or "/" in words[0]:
            return number
    return seen


def candidates(name: str, env: Environment) -> list[str]:
    """The paths that a program of this name may have, in order."""
    if not name:
        return []  # execve(2) says ENOENT; CPython refuses to ask
    if "/" in name:
        return [name]
    path: str | bytes = _DEFAULT_PATH
    for key, value in env.items():
        if key in {"PATH", b"PATH"}:
            path = value
    if isinstance(path, bytes):
        path = path.decode(sys.getfilesystemencoding(), "surrogateescape")
    # An empty entry is the working folder.
    return [f"{folder}/{name}" if folder else name for folder in path.split(":")]


def _become(path: str, argv: list[str], env: Environment) -> int:
    try:
        posix.execve(path, argv, env)
    except OSError as failed:
        return failed.errno or errno.EIO
