"""Path text to absolute path text: what can be refused or expanded without touching the disk (POSIX rules).

Hot: imports nothing but the model, and `pwd` only for `~user`.
"""

from __future__ import annotations

from ringfence.model import Unresolved

PATH_MAX = 4096  # bytes, the terminating NUL included: linux/limits.h
NAME_MAX = 255  # bytes in one component, every file system in use

_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-")

EMPTY = Unresolved("invalid.empty", "the path is empty; an empty path is not the current folder")
NUL = Unresolved("invalid.nul", "the path holds a NUL byte, which cannot reach the kernel")
NO_HOME = Unresolved("invalid.home", "the path starts with ~ and HOME is not set to an absolute path")
TOO_LONG = Unresolved("invalid.too-long", "the path or one of its names is longer than the kernel takes")
LOOP = Unresolved("invalid.loop", "the path runs through a loop of links, or through more than 40")
NOT_A_DIRECTORY = Unresolved("invalid.not-a-directory", "a file is used as a folder on the way")
ENCODING = Unresolved("invalid.encoding", "the path holds a lone surrogate that stands for no byte")
NO_ACCESS = Unresolved("invalid.no-access", "a folder on the way may not be searched, so nothing can be said")
UNREACHABLE = Unresolved("invalid.unreachable", "the object has no name below this process's root")


def is_uri(text: str) -> bool:
    """Whether the text is `scheme://…` (RFC 3986, section 3): a URI is not a path."""
    head, sep, _ = text.partition("://")
    return bool(sep) and head[:1].isalpha() and head.isascii() and _SCHEME.issuperset(head)


def absolute(raw: str, cwd: str, home: str | None) -> str | Unresolved:
    """Expand a leading `~`, join to `cwd`; `..` and links are left for the kernel.

    `cwd` must be absolute. `home` is the HOME that the call would see; None or "" is never guessed.
    """
    if not raw:
        return EMPTY
    if "\0" in raw:
        return NUL
    first = raw[0]
    if first == "/":
        return raw
    if "://" in raw and is_uri(raw):
        return Unresolved("invalid.uri", "a URI is not a path; give the path itself")
    if first == "~":
        expanded = expand_tilde(raw, home)
        if isinstance(expanded, Unresolved):
            return expanded
        return expanded
    if "\0" in cwd:
        return NUL
    if cwd[:1] != "/":
        return Unresolved("invalid.cwd", "a relative path needs an absolute working directory")
    return f"{cwd}/{raw}"


def expand_tilde(raw: str, home: str | None) -> str | Unresolved:
    """`~` and `~/…` by `home`, `~user` by the passwd database. `~+`, `~-` and unknown users are refused."""
    name, slash, rest = raw[1:].partition("/")
    if not name:
        if not home or home[0] != "/":
            return NO_HOME
        return f"{home}{slash}{rest}"
    try:
        import pwd

        found = pwd.getpwnam(name).pw_dir
    except (ImportError, KeyError, ValueError):
        return Unresolved("invalid.user", f"no user is called {name!r}, so ~{name} means nothing")
    if not found.startswith("/"):
        return NO_HOME
    return f"{found}{slash}{rest}"
