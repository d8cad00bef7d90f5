"""The program that doctor runs inside the fence, and once without it: it tries things and says what happened.

`python -I -S prober.py` with a JSON list of `[kind, path, other]` on standard input; the answers, one for each, are 0
(it landed), an errno, or -1 (it could not be tried here). Every attempt is harmless where it lands: nothing is
truncated, no name is left behind, a mode is set to what it was, a folder is "moved" onto one that is not empty.
Needs nothing of ours: it is started by its path.
"""

from __future__ import annotations

import os
import sys

NOT_TRIED = -1
_EOPNOTSUPP, _EISDIR, _ENOTEMPTY, _EEXIST = 95, 21, 39, 17
# What a file system answers that has no unnamed files, or none in this folder: it says nothing about the fence.
_NO_UNNAMED = (_EOPNOTSUPP, _EISDIR)


def write(path: str, _other: str) -> int:
    """Open for writing: a folder by a file in it that never gets a name."""
    if os.path.isdir(path):
        try:
            os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600))
        except OSError as error:
            if error.errno not in _NO_UNNAMED:
                raise
            return NOT_TRIED
        return 0
    os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW))
    return 0


def metadata(path: str, _other: str) -> int:
    os.chmod(path, os.stat(path).st_mode & 0o7777)
    return 0


def move(path: str, other: str) -> int:
    """Move onto a folder that is not empty. The file system says so only after the kernel would have let us."""
    try:
        os.rename(path, other)
    except OSError as error:
        if error.errno in (_ENOTEMPTY, _EEXIST):
            return 0
        raise
    # It was emptied meanwhile, so the move worked: take it back.
    os.rename(other, path)
    os.mkdir(other)
    return 0


def read(path: str, _other: str) -> int:
    """See something of it: a byte of a file, a name in a folder. An empty stand-in is not seeing it."""
    if os.path.isdir(path):
        return 0 if os.listdir(path) else 2  # ENOENT
    with open(path, "rb") as file:
        return 0 if file.read(1) else 2


def connect(path: str, _other: str) -> int:
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect("\0" + path[1:] if path[:1] == "@" else path)
        client.sendall(b".")
    return 0


def typing(_path: str, _other: str) -> int:
    """Type into a terminal as if its user did. The terminal is our own, and ends with us."""
    import fcntl
    import termios

    ours, theirs = os.openpty()
    child = os.fork()
    if child == 0:
        number = 0
        try:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            fcntl.ioctl(theirs, termios.TIOCSTI, b"x")
        except OSError as error:
            number = error.errno or 5
        finally:
            os._exit(number)
    status = os.waitpid(child, 0)[1]
    os.close(ours)
    os.close(theirs)
    return os.waitstatus_to_exitcode(status)


_KINDS = {
    "write": write,
    "metadata": metadata,
    "move": move,
    "read": read,
    "connect": connect,
    "typing": typing,
}


def attempt(kind: str, path: str, other: str) -> int:
    try:
        return _KINDS[kind](path, other)
    except OSError as error:
        return error.errno or NOT_TRIED


def main() -> None:
    import json

    raw = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    answers = [attempt(*row) for row in json.loads(raw)]
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
