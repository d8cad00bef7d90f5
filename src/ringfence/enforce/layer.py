"""The throwaway layer: an overlay over each writable root, so that a program's writes succeed and nothing lands.

The overlay is mounted in the user namespace of the fence (`userxattr`, Linux 5.11). Its upper folders lie on a tmpfs
that exists only there and ends with the last process in it, or in a folder of ours on a disk. The program cannot
reach either by a name: the tmpfs is hidden like the engine's store, the folder on the disk is read-only to it.

What an overlay without privileges cannot do (fs/overlayfs, Documentation/filesystems/overlayfs.rst):
* rename(2) of a folder that exists below fails with EXDEV (`redirect_dir` needs privileges); `mv` then copies;
* a file with several names is copied up under one of them, the others keep the old content (`index` is off: file
  handles cannot be decoded in a user namespace);
* a file of an owner or group that is not mapped cannot be copied up (EOVERFLOW): an ordinary user maps only itself;
* a root with a mount below it cannot be the lower folder at all (EINVAL, `has_locked_children`).
pipelines/layer_*.py find each of them and say so.
"""

from __future__ import annotations

import posix

from ringfence.errors import KernelCallError
from ringfence.kernel import mounts
from ringfence.records import Record

NAME = "ringfence-layer"
"""How the marks of all layers begin; see `Layer.mark`."""
OWN_XATTRS = "user.overlay."
"""The extended attributes in an upper folder that are the overlay's own."""

_EINVAL = 22


class Layer(Record):
    """What to cover, and with what.

    roots   writable roots, absolute and physical; a root below another one has an overlay of its own
    folder  a private folder on a disk for the upper folders; "" for a tmpfs of our own
    size    bytes that the tmpfs may hold; it is the kernel that refuses more (ENOSPC)
    mark    what the table of mounts calls the overlays: NAME and something no other layer has
    """

    roots: tuple[str, ...]
    folder: str
    size: int
    mark: str


def upper_of(index: int) -> str:
    """Where the changes to root number `index` lie, below the top of the layer."""
    return f"{index}/upper"


def make_top(layer: Layer, store: int, disk: int) -> int:
    """Mount what holds the upper folders inside the hidden store; an O_PATH descriptor of it.

    `disk` is the detached copy of `layer.folder`, made before everything became read-only; -1 for a tmpfs.
    """
    posix.mkdir("layer", 0o700, dir_fd=store)
    if disk < 0:
        # An empty file takes memory too, about a kilobyte that the size does not count.
        inodes = max(layer.size // 8192, 4096)
        options = (
            ("size", str(layer.size)),
            ("nr_inodes", str(inodes)),
            ("mode", "0700"),
            ("source", layer.mark),
        )
        disk = mounts.new_filesystem("tmpfs", options, mounts.NOSUID | mounts.NODEV)
    else:
        _attach_mark(layer.mark, store)
    place = mounts.open_path("layer", beneath=store)
    mounts.attach(disk, place, "the layer")
    posix.close(place)
    posix.close(disk)
    top = mounts.open_path("layer", beneath=store)
    for index in range(len(layer.roots)):
        posix.mkdir(f"{index}", 0o700, dir_fd=top)
        posix.mkdir(upper_of(index), 0o700, dir_fd=top)
        posix.mkdir(f"{index}/work", 0o700, dir_fd=top)
    return top


def _attach_mark(mark: str, store: int) -> None:
    """A tmpfs that only carries the mark: the kernel takes the overlays away with the real folder below them."""
    posix.mkdir("mark", 0, dir_fd=store)
    tree = mounts.new_filesystem("tmpfs", (("size", "4096"), ("source", mark)), mounts.RDONLY | mounts.NODEV)
    place = mounts.open_path("mark", beneath=store)
    mounts.attach(tree, place, "the layer's mark")
    posix.close(place)
    posix.close(tree)


def overlay(layer: Layer, index: int, top: int, lower: int) -> int:
    """A detached overlay over the folder `lower` (a descriptor). Raises KernelCallError with the reason as its hint."""
    root = layer.roots[index]
    upper = mounts.open_path(upper_of(index), beneath=top)
    work = mounts.open_path(f"{index}/work", beneath=top)
    try:
        _copy_root(lower, upper)
        # By descriptor: a name may hold a comma or a colon, and may lie behind a mask by now.
        options = [
            (key, f"/proc/self/fd/{at}")
            for key, at in (("lowerdir", lower), ("upperdir", upper), ("workdir", work))
        ]
        try:
            return mounts.new_filesystem(
                "overlay", [*options, ("userxattr", ""), ("source", layer.mark)], mounts.NODEV
            )
        except KernelCallError as failed:
            failed.hint = why_not(root, failed.errno)
            raise
    finally:
        posix.close(upper)
        posix.close(work)


def why_not(root: str, errno: int) -> str:
    """In words, why no overlay could be put over `root`."""
    known = {
        1: "this kernel, or a filter around us, refuses overlays to ordinary users (Linux 5.11 allows them)",
        _EINVAL: "a mount lies below it, or its filesystem cannot be the lower folder of an overlay",
        19: "this kernel has no overlay filesystem",
        38: "this kernel is older than 5.11, or a filter hides the mount calls",
    }
    return f"no throwaway layer over {root}: {known.get(errno, f'errno {errno}')}"


def _copy_root(lower: int, upper: int) -> None:
    """The merged root shows the upper folder's mode, owner, times and attributes: make them those of the lower one."""
    seen = posix.stat(f"/proc/self/fd/{lower}")
    at = f"/proc/self/fd/{upper}"
    try:
        posix.chown(at, seen.st_uid, seen.st_gid)
    except OSError:
        pass  # a group that is not mapped here: it shows as our own
    posix.chmod(at, seen.st_mode & 0o7777)
    for name in _attributes(lower):
        try:
            posix.setxattr(at, name, posix.getxattr(f"/proc/self/fd/{lower}", name))
        except OSError:
            continue  # security.* and the like: the system's to give
    posix.utime(at, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _attributes(descriptor: int) -> list[str]:
    try:
        return posix.listxattr(f"/proc/self/fd/{descriptor}")
    except OSError:
        return []
