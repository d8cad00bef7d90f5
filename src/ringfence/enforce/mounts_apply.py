"""Building the planned mounts in a fresh namespace. Every step either holds or raises KernelCallError.

Names are opened without following any link and then used as descriptors, because an earlier background job of
the same agent may swap folders for links while this runs. What it could still do is rename a folder between
two steps; then the step fails or finds nothing, and that is reported, not passed over.

Nothing is written outside the namespace: copies of trees are mounts, and the few empty files and folders that
masks need live in a tmpfs that exists only here and ends with the last process.
"""

from __future__ import annotations

import posix

from ringfence.enforce.mounts_devices import DEVICES, PROC_FIXED, process_folders
from ringfence.enforce.mounts_plan import Hold, MountPlan, Pins, Step, is_below
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts, namespaces
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ENOENT, _EACCES, _ELOOP, _ESTALE = 2, 13, 40, 116
_DIR = 0o040000
_FORMAT = 0o170000
_SHARED_MEMORY = ("/dev/shm", "/run/shm")  # noqa: S108 - the places themselves, private below
_OTHER_PLACES = ("/sys", "/mnt", "/srv", "/media", "/opt")  # where there is none: anything to hide behind


class Place(Record):
    """Where the program stands. Paths are physical; "" means there is none.

    cwd       the folder it starts in
    runtime   the user's runtime folder, to be private
    shown     what of it stays to be seen (paths, existing or not)
    sockets   paths to hide, existing or not
    terminal  the caller's own terminal, if a standard descriptor is one
    """

    cwd: str
    runtime: str
    shown: tuple[str, ...]
    sockets: tuple[str, ...]
    terminal: str


class Built(Record):
    """What was found to be gone when it was to be mounted, which sockets were really hidden, and whether the
    number of mount namespaces is limited to this one."""

    gone: tuple[str, ...]
    hidden: tuple[str, ...]
    limited: bool


class _Copy(Record):
    """A detached tree and the identity of its root."""

    tree: int
    device: int
    inode: int
    folder: bool


class _Store(Record):
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


def build(plan: MountPlan, place: Place) -> Built:
    """Apply `plan` to the mount namespace that this process has just entered, and go to `place.cwd`.

    Raises KernelCallError, after which the namespace is half made and nothing may be started in it.
    """
    try:
        return _build(plan, place)
    except OSError as error:
        doing = f"building the fence ({error.filename or 'on an open descriptor'})"
        raise KernelCallError("open, mkdir or stat", error.errno or _ESTALE, doing) from None


def _build(plan: MountPlan, place: Place) -> Built:
    gone: list[str] = []
    copies = {step.path: copy for step in plan.steps if step.early and (copy := _copy(step.path, gone))}
    for step in plan.steps:
        if step.hold is Hold.WRITE and step.path in copies:
            mounts.restrict_tree(copies[step.path].tree, mounts.NODEV, step.path)
    shadows = [(pins, copy) for pins in plan.pins if pins.root in copies and (copy := _copy(pins.root, gone))]
    devices = [(path, copy) for path in DEVICES if path not in copies and (copy := _copy_if_there(path))]
    shown = [(path, copy) for path in place.shown if (copy := _copy_if_there(path))]
    terminal = _copy_if_there(place.terminal) if place.terminal else None
    proc = _copy_if_there("/proc")
    mounts.restrict_everything(mounts.RDONLY | mounts.NODEV)

    for path, copy in devices:
        _attach_at(copy.tree, path)
    _private_terminals(terminal)
    if proc:
        _attach_at(proc.tree, "/proc")
    limit = namespaces.open_namespace_limit()
    _fix_proc()
    old_umask = posix.umask(0)
    try:
        store = _make_store(plan)
        for index, (pins, copy) in enumerate(shadows):
            _pin(store, pins, copy, index)
        _replace_runtime(store, place.runtime, shown)
        hidden = [path for path in place.sockets if _hide(store, path, [], system=True)]
        for step in plan.steps:
            _take_step(store, step, copies, gone)
        _attach_at(store.cover, store.where)
    finally:
        posix.umask(old_umask)
    _go_to(place.cwd)
    limited = namespaces.limit_namespaces(limit)
    return Built(tuple(dict.fromkeys(gone)), tuple(hidden), limited)


def _copy(path: str, gone: list[str]) -> _Copy | None:
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return None
    try:
        seen = posix.fstat(descriptor)
        tree = mounts.clone_tree(descriptor, path)
        return _Copy(tree, seen.st_dev, seen.st_ino, seen.st_mode & _FORMAT == _DIR)
    finally:
        posix.close(descriptor)


def _copy_if_there(path: str) -> _Copy | None:
    """A copy of something of the system's, None where it is missing or is a link to something we keep."""
    try:
        return _copy(path, [])
    except KernelCallError as error:
        if error.errno != _ELOOP:
            raise
        return None


def _attach_at(tree: int, path: str) -> None:
    descriptor = mounts.open_path(path)
    mounts.attach(tree, descriptor, path)
    posix.close(descriptor)
    posix.close(tree)


def _private_terminals(terminal: _Copy | None) -> None:
    """A pty instance of our own: the user's other terminals can be neither read nor written.

    The caller's own terminal stays open on its descriptors and as /dev/tty; its name would now mean another,
    so it is put on /dev/console, where ttyname(3) finds it.
    """
    if not _is_folder("/dev/pts"):
        return
    mounts.mount_new("devpts", "/dev/pts", mounts.NOSUID | 8, "newinstance,ptmxmode=0666,mode=0620")
    # Where /dev/ptmx is a link, as in containers, it leads to the new one already.
    multiplexer = _copy_if_there("/dev/pts/ptmx")
    for copy, path in ((multiplexer, "/dev/ptmx"), (terminal, "/dev/console")):
        try:
            if copy:
                _attach_at(copy.tree, path)
        except KernelCallError as error:
            if not mounts.is_gone(error) and error.errno != _ELOOP:
                raise


def _fix_proc() -> None:
    """Keep what acts on the whole machine read-only; for root by what is there, not by a list alone."""
    names = PROC_FIXED
    if posix.geteuid() == 0:
        names = tuple(f"/proc/{name}" for name in posix.listdir("/proc") if not process_folders(name))
    for path in names:
        try:
            descriptor = mounts.open_path(path)
        except KernelCallError as error:
            if mounts.is_gone(error) or error.errno == _ELOOP:
                continue
            raise
        tree = mounts.clone_tree(descriptor, path)
        mounts.restrict_tree(tree, mounts.RDONLY, path)
        mounts.attach(tree, descriptor, path)
        posix.close(tree)
        posix.close(descriptor)


def _make_store(plan: MountPlan) -> _Store:
    """Mount the store where something will cover it: hidden then, yet part of this namespace."""
    where = next((path for path in (*_SHARED_MEMORY, *_OTHER_PLACES) if _can_hide(path, plan)), "")
    if not where:
        raise KernelCallError("mount", _ENOENT, f"looking for a place in {', '.join(_OTHER_PLACES)}")
    behind = mounts.open_path(where)
    cover = mounts.clone_tree(behind, where)
    posix.close(behind)
    mounts.mount_new("tmpfs", where, mounts.NOSUID | mounts.NODEV, "mode=0700")
    root = posix.open(where, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    if where in _SHARED_MEMORY:
        # Programs get an empty one of their own: what lies in the shared one may be another program's.
        posix.close(cover)
        cover = _clone_of_new_folder(root, "shm", 0o1777)
    posix.mkdir("dir", 0, dir_fd=root)
    flags = posix.O_CREAT | posix.O_EXCL | posix.O_WRONLY | posix.O_CLOEXEC
    posix.close(posix.open("file", flags, 0, dir_fd=root))
    return _Store(root, _fixed(root, "dir"), _fixed(root, "file"), where, cover, [])


def _can_hide(path: str, plan: MountPlan) -> bool:
    """Whether the store can be mounted there without being in the way of a step."""
    near = any(is_below(step.path, path) or is_below(path, step.path) for step in plan.steps)
    return not near and _is_folder(path)


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


def _pin(store: _Store, pins: Pins, shadow: _Copy, index: int) -> None:
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


def _replace_runtime(store: _Store, runtime: str, shown: Sequence[tuple[str, _Copy]]) -> None:
    """Give the program an empty runtime folder of its own, with `shown` put back read-only."""
    if not runtime or not _is_folder(runtime):
        return
    tree = _clone_of_new_folder(store.root, "runtime", 0o700)
    _attach_at(tree, runtime)
    store.replaced.append((runtime, "runtime"))
    for path, copy in shown:
        mounts.restrict_tree(copy.tree, mounts.RDONLY, path)
        _show(store, path, copy)


def _hide(store: _Store, path: str, gone: list[str], *, system: bool = False) -> bool:
    """Cover `path` with something empty that cannot be read; False if there is nothing there.

    `system`: a name of the system's may hold a link (what it leads to has a row of its own) or lie where this
    user cannot go; the program could not go there either, and none of its folders are its to change.
    """
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if mounts.is_gone(error) or (system and error.errno in (_ELOOP, _EACCES)):
            gone.append(path)
            return False
        raise
    folder = posix.fstat(descriptor).st_mode & _FORMAT == _DIR
    tree = mounts.clone_tree(store.empty_dir if folder else store.empty_file, "a mask")
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)
    return True


def _hide_around(store: _Store, path: str) -> None:
    """Hide a folder below which something stays to be seen: empty, but it can be walked through."""
    name = f"hidden{len(store.replaced)}"
    descriptor = mounts.open_path(path)
    tree = _clone_of_new_folder(store.root, name, 0o711)
    mounts.restrict_tree(tree, mounts.RDONLY, path)
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)
    store.replaced.append((path, name))


def _take_step(store: _Store, step: Step, copies: dict[str, _Copy], gone: list[str]) -> None:
    if step.early:
        copy = copies.get(step.path)
        if copy is None:
            return  # reported as gone when it was to be copied
        if step.hold is Hold.READ:
            mounts.restrict_tree(copy.tree, mounts.RDONLY, step.path)
        _show(store, step.path, copy)
    elif step.hold is Hold.READ:
        _fix(step.path, gone)
    elif any(path != step.path and is_below(path, step.path) for path in copies):
        _hide_around(store, step.path)
    else:
        _hide(store, step.path, gone)


def _show(store: _Store, path: str, copy: _Copy) -> None:
    """Attach a copied tree at its own path, making the place for it where a mask or a private folder is."""
    inside = [pair for pair in store.replaced if is_below(path, pair[0])]
    if inside:
        where, name = inside[-1]
        _make_place(store.root, name + path[len(where.rstrip("/")) :], folder=copy.folder)
    descriptor = mounts.open_path(path)
    seen = posix.fstat(descriptor)
    if not inside and (seen.st_dev, seen.st_ino) != (copy.device, copy.inode):
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


def _fix(path: str, gone: list[str]) -> None:
    """Make `path` and all below it read-only where it stands."""
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return
    tree = mounts.clone_tree(descriptor, path)
    mounts.restrict_tree(tree, mounts.RDONLY, path)
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)


def _is_folder(path: str) -> bool:
    """Whether `path` is a folder, reached through no link."""
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if mounts.is_gone(error) or error.errno == _ELOOP:
            return False
        raise
    folder = posix.fstat(descriptor).st_mode & _FORMAT == _DIR
    posix.close(descriptor)
    return folder


def _go_to(cwd: str) -> None:
    """Enter the working folder anew: the one we stand in belongs to the read-only tree underneath."""
    try:
        posix.chdir(cwd.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise KernelCallError("chdir", error.errno or _ESTALE, f"entering {cwd} inside the fence") from None
