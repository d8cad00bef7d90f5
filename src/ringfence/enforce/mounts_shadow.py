"""Shadows: a tree that a program sees as writable, covered by an overlay, so that the tree itself is never written.

The overlay is made before everything becomes read-only: the kernel refuses an upper folder on a read-only mount
(fs/overlayfs/super.c, ovl_get_upper). It keeps its own private copies of the mounts it was made from. Linux 5.11
allows it in a user namespace, with `userxattr`. What was changed outside while it is mounted may not be seen inside
until the command ends (Documentation/filesystems/overlayfs.rst calls it undefined, short of a crash).
"""

from __future__ import annotations

import posix

from ringfence.enforce.mounts_trees import Copy
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Shadow


def cover(shadow: Shadow, gone: list[str]) -> Copy | None:
    """The overlay for `shadow.root`, detached; None (and the root in `gone`) where none can be made: then the tree
    stays read-only, which costs git its commits and opens nothing."""
    opened: list[int] = []
    try:
        for path in (shadow.root, f"{shadow.store}/upper", f"{shadow.store}/work"):
            opened.append(mounts.open_path(path))
        lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
        options = (("lowerdir", lower), ("upperdir", upper), ("workdir", work), ("userxattr", ""))
        tree = mounts.new_filesystem("overlay", options, mounts.NODEV | mounts.NOSUID)
        seen = posix.fstat(opened[0])
        _note_namespace(shadow)
        return Copy(tree, seen.st_dev, seen.st_ino, folder=True)
    except KernelCallError:
        gone += [shadow.root, *shadow.open]
        return None
    finally:
        for descriptor in opened:
            posix.close(descriptor)


def _note_namespace(shadow: Shadow) -> None:
    """Which mount namespace uses the layer, for whoever wants to know whether a job still does."""
    name = posix.readlink("/proc/self/ns/mnt").encode("ascii")
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_CLOEXEC
    descriptor = posix.open(f"{shadow.store}/namespace", flags, 0o600)
    posix.write(descriptor, name)
    posix.close(descriptor)


def block(empty: int, shadow: Shadow) -> None:
    """Put something immovable onto each blocked name, so that a program cannot clear it away and go on."""
    for path in shadow.blocked:
        try:
            target = mounts.open_path(path)
        except KernelCallError as error:
            if not mounts.is_gone(error):
                raise
            continue  # no overlay could be made
        tree = mounts.clone_tree(empty, path)
        mounts.attach(tree, target, path)
        posix.close(tree)
        posix.close(target)
