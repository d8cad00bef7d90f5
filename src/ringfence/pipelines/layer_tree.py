"""Removing a layer's folder: whatever depth, whatever modes a program left behind."""

from __future__ import annotations

import os


def remove_tree(name: str, at: int) -> None:
    """Remove `name` in the folder `at` and all below it, as far as it goes; no link is followed, no error raised.

    One descriptor at a time: a tree that is deeper than the limit of open files is brought up piece by piece.
    """
    raw = name.encode("utf-8", "surrogateescape")
    for _ in range(10_000):
        if _try(raw, at):
            return
        if not _empty(raw, at):
            return


def _try(raw: bytes, at: int) -> bool:
    try:
        os.rmdir(raw, dir_fd=at)
    except NotADirectoryError:
        try:
            os.unlink(raw, dir_fd=at)
        except OSError:
            return False
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _empty(raw: bytes, at: int) -> bool:
    """Unlink the files in one folder and move its folders' contents on; whether anything was done."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    stack = [_opened(raw, at, flags)]
    done = False
    names: list[bytes] = []
    while stack and stack[-1] >= 0:
        here = stack[-1]
        inner = None
        for text in os.listdir(here):
            entry = os.fsencode(text)
            if _try(entry, here):
                done = True
            elif inner is None:
                inner = entry
        if inner is not None and len(stack) < 200:
            fd = _opened(inner, here, flags)
            if fd >= 0:
                stack.append(fd)
                names.append(inner)
                continue
        if inner is not None and len(stack) >= 200:
            # Too deep to stay on the way: lift the rest to the top and go on from there.
            try:
                os.rename(inner, b".lifted-%d" % os.fstat(here).st_ino, src_dir_fd=here, dst_dir_fd=stack[0])
                done = True
                continue
            except OSError:
                pass
        os.close(stack.pop())
        if stack and names:
            if not _try(names.pop(), stack[-1]):
                break
            done = True
    for fd in stack:
        if fd >= 0:
            os.close(fd)
    return done


def _opened(raw: bytes, at: int, flags: int) -> int:
    """A descriptor of a folder that is given back to its owner first; -1 if it cannot be had."""
    try:
        held = os.open(raw, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    except OSError:
        return -1
    try:
        os.chmod(f"/proc/self/fd/{held}", 0o700)
    except OSError:
        pass
    finally:
        os.close(held)
    try:
        return os.open(raw, flags, dir_fd=at)
    except OSError:
        return -1
