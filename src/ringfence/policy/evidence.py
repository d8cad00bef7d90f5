"""The one way in which loading a policy looks at files: everything seen, and everything absent, is kept.

A snapshot of the compiled policy is fresh exactly when all of it looks the same again (snapshot.py), so
nothing that shapes a policy may be read past this door.
"""

from __future__ import annotations

import errno
import os
import stat

from ringfence.errors import PolicyError
from ringfence.policy.texts import FileSeen, LinkSeen

MAX_READ = 1 << 20  # bytes; no file that shapes a policy is honestly larger
MAX_NAMES = 4096  # entries of a listed folder


def read_bytes(path: str, limit: int = MAX_READ) -> tuple[bytes, os.stat_result] | None:
    """The content of a regular file and what it was when opened; None if nothing is there.

    Raises OSError for anything else that is in the way, and ValueError for a file that is no regular file or
    larger than `limit` bytes: a FIFO must not hang the hook, a huge file must not slow it down.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("not a regular file")
        chunks = []
        size = 0
        while chunk := os.read(handle, 1 << 16):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise ValueError(f"larger than {limit} bytes")
        return b"".join(chunks), facts
    finally:
        os.close(handle)


def list_names(path: str) -> bytes | None:
    """The names in a folder, sorted, joined by NUL; None if it is no folder. ValueError: too many."""
    try:
        names = sorted(os.listdir(os.fsencode(path)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(names) > MAX_NAMES:
        raise ValueError(f"more than {MAX_NAMES} entries")
    return b"\0".join(names)


class Evidence:
    """Reads files and remembers what was there. A path in `seen` that ends in "/" is a list of names."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes | None] = {}
        self._links: dict[str, str | None] = {}

    @property
    def seen(self) -> tuple[FileSeen, ...]:
        return tuple(FileSeen(path, content) for path, content in self._seen.items())

    @property
    def links(self) -> tuple[LinkSeen, ...]:
        return tuple(LinkSeen(path, target) for path, target in self._links.items())

    def link(self, path: str) -> str | None:
        """The text of the symbolic link `path`; "" for something else, None if nothing can be seen there."""
        if path not in self._links:
            try:
                self._links[path] = os.fsdecode(os.readlink(os.fsencode(path)))
            except OSError as error:
                self._links[path] = "" if error.errno == errno.EINVAL else None
        return self._links[path]

    def read(self, path: str) -> bytes | None:
        """The file's bytes, None if absent. Raises PolicyError if it is there and cannot be read."""
        found = self.read_with_facts(path)
        return found[0] if found else None

    def read_with_facts(self, path: str) -> tuple[bytes, os.stat_result] | None:
        try:
            found = read_bytes(path)
        except ValueError as error:
            raise PolicyError(f"cannot be read: {error}", path) from None
        except OSError as error:
            raise PolicyError(
                f"cannot be read: {os.strerror(error.errno or errno.EIO)}",
                path,
                hint="a policy that cannot be read is never taken for an absent one",
            ) from None
        self._seen[path] = found[0] if found else None
        return found

    def names(self, folder: str) -> list[str]:
        """The names in a folder, [] if there is none. Raises PolicyError if they cannot be listed."""
        try:
            joined = list_names(folder)
        except (OSError, ValueError) as error:
            raise PolicyError(f"cannot be listed: {error}", folder) from None
        self._seen[folder.rstrip("/") + "/"] = joined
        return [os.fsdecode(name) for name in joined.split(b"\0")] if joined else []
