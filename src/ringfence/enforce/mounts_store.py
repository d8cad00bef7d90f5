"""The store: a tmpfs of our own, hidden from the program, that lends empty files, folders and hiding places.

It exists in this mount namespace only and ends with the last process in it.
"""

from __future__ import annotations

import posix

from ringfence.enforce.mounts_mark import STORE_NAME
from ringfence.enforce.mounts_plan import MountPlan, Pins, is_below
from ringfence.enforce.mounts_trees import Copy, attach_at, is_folder
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ENOENT, _ESTALE = 2, 116
_FORMAT, _FOLDER = 0o170000, 0o040000
_SHARED_MEMORY = ("/dev/shm", "/run/shm")  # noqa: S108 - the places themselves, private below
_OTHER_PLACES = ("/sys", "/mnt", "/srv", "/media", "/opt")  # where there is none: anything to hide behind


class Store(Record):
    """Our private tmpfs: `root` is a descriptor of it, `empty_dir` and `empty_file` of read-only masks in it.

    `cover` goes onto `where` in the end and hides the store. `replaced` are places that show a folder of the
    store (path, folder in the store): what is to be seen below them must be made there first.
    """

    root: int
    empty_dir: int
    empty_file: int
    where: str
    cover: int
    replaced: list[tuple[str, str]]


def make_store(plan: MountPlan) -> Store:
    """Mount the store where something will cover it: hidden then, yet part of this namespace."""
    where = next((path for path in (*_SHARED_MEMORY, *_OTHER_PLACES) if _can_hide(path, plan)), "")
    if not where:
        raise KernelCallError("mount", _ENOENT, f"looking for a place in {', '.join(_OTHER_PLACES)}")
    behind = mounts.open_path(where)
    cover = mounts.clone_tree(behind, where)
    posix.close(behind)
    mounts.mount_new("tmpfs", STORE_NAME, where, mounts.NOSUID | mounts.NODEV, "mode=0700")
    root = posix.open(where, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    if where in _SHARED_MEMORY:
        # Programs get an empty one of their own: what lies in the shared one may be another program's.
        posix.close(cover)
        cover = _clone_of_new_folder(root, "shm", 0o1777)
    posix.mkdir("dir", 0, dir_fd=root)
    flags = posix.O_CREAT | posix.O_EXCL | posix.O_WRONLY | posix.O_CLOEXEC
    posix.close(posix.open("file", flags, 0, dir_fd=root))
    return Store(root, _fixed(root, "dir"), _fixed(root, "file"), where, cover, [])


def _can_hide(path: str, plan: MountPlan) -> bool:
    """Whether the store can be mounted there without being in the way of a step."""
    steps = [step.path for step in plan.steps if step.path != "/"]
    near = any(is_below(step, path) or is_below(path, step) for step in steps)
    return not near and is_folder(path)


def _clone_of_new_folder(root: int, name: str, mode: int) -> int:
    posix.mkdir(name, mode, dir_fd=root)
    descriptor = mounts.open_path(name, beneath=root)
    tree = mounts.clone_tree(descriptor, name)
    posix.close(descriptor)
    return tree


def _fixed(root: int, name: str) -> int:
    """A descriptor of a read-only mount of `name` in the store; copies of it are read-only from the start."""
    descriptor = mounts.open_path(name, beneath=root)
    tree = mounts.clone_tree(descriptor, name)
    mounts.restrict_tree(tree, mounts.RDONLY, name)
    mounts.attach(tree, descriptor, name)
    posix.close(descriptor)
    posix.close(tree)
    return mounts.open_path(name, beneath=root)


def pin(store: Store, pins: Pins, shadow: Copy, index: int) -> None:
    """Make the folders mount points of this namespace without putting a border where programs walk."""
    name = f"shadow{index}"
    posix.mkdir(name, 0o700, dir_fd=store.root)
    target = mounts.open_path(name, beneath=store.root)
    mounts.restrict_tree(shadow.tree, mounts.RDONLY, pins.root)
    mounts.attach(shadow.tree, target, name)
    posix.close(target)
    posix.close(shadow.tree)
    top = mounts.open_path(name, beneath=store.root)
    # All are opened before the first is covered: a pin on a folder hides those below it.
    opened = []
    for folder in pins.folders:
        try:
            opened.append((folder, mounts.open_path(folder, beneath=top)))
        except KernelCallError as error:
            if not mounts.is_gone(error):
                raise
    for folder, descriptor in opened:
        tree = mounts.clone_tree(store.empty_dir, folder)
        mounts.attach(tree, descriptor, f"the shadow of {pins.root}/{folder}")
        posix.close(tree)
        posix.close(descriptor)
    posix.close(top)


def replace_runtime(store: Store, runtime: str, shown: Sequence[tuple[str, Copy]]) -> None:
    """Give the program an empty runtime folder of its own, with `shown` put back read-only."""
    if not runtime or not is_folder(runtime):
        return
    tree = _clone_of_new_folder(store.root, "runtime", 0o700)
    attach_at(tree, runtime)
    store.replaced.append((runtime, "runtime"))
    for path, copy in shown:
        mounts.restrict_tree(copy.tree, mounts.RDONLY, path)
        show(store, path, copy)


def hide(store: Store, path: str, gone: list[str]) -> None:
    """Cover `path` with something empty that cannot be read; note it in `gone` if there is nothing there."""
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return
    folder = posix.fstat(descriptor).st_mode & _FORMAT == _FOLDER
    tree = mounts.clone_tree(store.empty_dir if folder else store.empty_file, "a mask")
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)


def hide_around(store: Store, path: str) -> None:
    """Hide a folder below which something stays to be seen: empty, but it can be walked through."""
    name = f"hidden{len(store.replaced)}"
    descriptor = mounts.open_path(path)
    tree = _clone_of_new_folder(store.root, name, 0o711)
    mounts.restrict_tree(tree, mounts.RDONLY, path)
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)
    store.replaced.append((path, name))


def show(store: Store, path: str, copy: Copy, *, covered: bool = False) -> None:
    """Attach a copied tree at its own path, making the place for it where a mask or a private folder is.

    `covered`: the path lies in an overlay, which shows other numbers and which no other program can reach.
    """
    inside = [pair for pair in store.replaced if is_below(path, pair[0])]
    if inside:
        where, name = inside[-1]
        _make_place(store.root, name + path[len(where.rstrip("/")) :], folder=copy.folder)
    descriptor = mounts.open_path(path)
    seen = posix.fstat(descriptor)
    if not inside and not covered and (seen.st_dev, seen.st_ino) != (copy.device, copy.inode):
        raise KernelCallError("move_mount", _ESTALE, f"putting {path} back: it was exchanged meanwhile")
    mounts.attach(copy.tree, descriptor, path)
    posix.close(descriptor)
    posix.close(copy.tree)


def _make_place(root: int, path: str, *, folder: bool) -> None:
    """Make an empty file or folder in the store, and the folders above it."""
    names = path.split("/")
    for count in range(1, len(names) + (1 if folder else 0)):
        try:
            posix.mkdir("/".join(names[:count]), 0o711, dir_fd=root)
        except FileExistsError:
            continue
    if not folder:
        flags = posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC
        posix.close(posix.open(path, flags, 0o600, dir_fd=root))
