"""Whether this process stands in a fence of the mounts engine. Apart from the engine, since every command asks."""

from __future__ import annotations

import posix

STORE_NAME = "ringfence"
"""What the table of mounts calls the engine's store; `stands_inside` looks for it."""


def inside_a_fence() -> bool:
    """Whether this process stands in a fence of this engine already: no second one can be built then.

    Raises OSError if /proc cannot be read.
    """
    return stands_inside(read_mount_table(), STORE_NAME)


def stands_inside(text: bytes, store_name: str) -> bool:
    """Whether the process that this table belongs to stands in a fence of this engine.

    Good for knowing that a second fence of mounts cannot be built and another layer must do. Not a proof to
    somebody else: who can make mounts of his own can make one of that name, and fences only himself with it.
    """
    return f" - tmpfs {store_name} ".encode() in text


def read_mount_table() -> bytes:
    """This process's own table of mounts, whole: /proc/self/mountinfo (proc(5)). Raises OSError."""
    descriptor = posix.open("/proc/self/mountinfo", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        pieces = []
        while piece := posix.read(descriptor, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        posix.close(descriptor)
