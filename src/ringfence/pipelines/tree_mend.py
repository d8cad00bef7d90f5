"""`audit --tree --fix`: only what loses nothing, and only on the very object that was found.

Each mend opens the entry without following a link, compares it with what the finding was about, and works by the
descriptor. What remains: between that look and a rename another program may put something else under the name.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.proposals import Weakness

_BLOCK = 1 << 20


def mend(found: Weakness) -> Weakness:
    """The finding with `mended` set if it was; its `what` says why not otherwise. Raises nothing."""
    if not found.mend:
        return found
    try:
        done = _MENDS[found.mend](found.path)
    except OSError as error:
        return found._replace(what=f"{found.what}; not mended: {error.strerror}")
    return (
        found._replace(mended=True) if done else found._replace(what=f"{found.what}; not mended: it changed")
    )


def _clear_setuid(path: str) -> bool:
    return _change_mode(path, ~(stat.S_ISUID | stat.S_ISGID))


def _close_to_others(path: str) -> bool:
    return _change_mode(path, ~(stat.S_IWGRP | stat.S_IWOTH))


def _change_mode(path: str, keep: int) -> bool:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(_raw(path), flags)
    try:
        facts = os.fstat(handle)
        if not (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)):
            return False
        os.fchmod(handle, stat.S_IMODE(facts.st_mode) & keep)
    finally:
        os.close(handle)
    return True


def _break_link(path: str) -> bool:
    """A copy with the same content, mode, owner and times in place of the name; the other names keep the old object."""
    source = os.open(_raw(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(source)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink < 2:
            return False
        fresh = _raw(f"{path}.ringfence-{os.getpid()}")
        target = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                while block := os.read(source, _BLOCK):
                    while block:
                        block = block[os.write(target, block) :]
                if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(target, facts.st_uid, facts.st_gid)
                os.fchmod(target, stat.S_IMODE(facts.st_mode))
                os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
                _copy_attributes(source, target)
                os.fsync(target)
            finally:
                os.close(target)
            now = os.lstat(_raw(path))
            if (now.st_dev, now.st_ino) != (
                facts.st_dev,
                facts.st_ino,
            ) or now.st_mtime_ns != facts.st_mtime_ns:
                return False
            os.rename(fresh, _raw(path))
            fresh = b""
        finally:
            if fresh:
                os.unlink(fresh)
    finally:
        os.close(source)
    return True


def _copy_attributes(source: int, target: int) -> None:
    """Extended attributes, where the file system has them. Raises OSError where one cannot be kept: a loss."""
    if not hasattr(os, "listxattr"):
        return
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in {errno.ENOTSUP, errno.ENOSYS}:
            return
        raise
    for name in names:
        os.setxattr(target, name, os.getxattr(source, name))


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


_MENDS = {"clear-setuid": _clear_setuid, "go-w": _close_to_others, "break-link": _break_link}
