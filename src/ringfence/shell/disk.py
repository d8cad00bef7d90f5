"""What the walk may ask of the disk. Implemented outside this room; absolute paths only, and no call raises."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Disk(Protocol):
        def is_dir(self, path: str) -> bool:
            """A folder (links followed) that this process could enter."""

        def exists(self, path: str) -> bool:
            """Anything of that name, links not followed."""

        def is_file(self, path: str) -> bool:
            """A regular file, links followed."""

        def readlink(self, path: str) -> str | None:
            """A symbolic link's text, None for anything else."""

        def names(self, path: str) -> tuple[str, ...] | None:
            """What a folder holds, sorted, without `.` and `..`; None if it cannot be listed."""

        def physical(self, path: str) -> str | None:
            """The path without links, None if it does not exist."""

        def read_text(self, path: str) -> str | None:
            """A small regular file (64 KiB), None otherwise."""
