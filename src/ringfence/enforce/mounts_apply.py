"""Building the planned mounts in a fresh namespace. Every step either holds or raises KernelCallError.

Names are opened without following any link and then used as descriptors, because an earlier background job of
the same agent may swap folders for links while this runs. What it could still do is rename a folder between
two steps; then the step fails or finds nothing, and that is reported, not passed over.

Nothing is written outside the namespace: copies of trees are mounts, and the few empty files and folders that
masks need live in a tmpfs that exists only here and ends with the last process.
"""

from __future__ import annotations

import posix

from ringfence.enforce.mounts_devices import DEVICES
from ringfence.enforce.mounts_plan import Hold, MountPlan, Step, is_below
from ringfence.enforce.mounts_store import Store, hide, hide_around, make_store, pin, replace_runtime, show
from ringfence.enforce.mounts_system import fix_proc, private_terminals
from ringfence.enforce.mounts_trees import Copy, attach_at, copy_if_there, copy_of, fix
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts, namespaces
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.enforce.layer import Layer
    from ringfence.model import Shadow

_ESTALE = 116


class Place(Record):
    """Where the program stands. Paths are physical; "" means there is none.

    cwd       the folder it starts in
    runtime   the user's runtime folder, to be private
    shown     what of it stays to be seen (paths, existing or not)
    terminal  the caller's own terminal, if a standard descriptor is one
    """

    cwd: str
    runtime: str
    shown: tuple[str, ...]
    terminal: str


class Built(Record):
    """What was found to be gone when it was to be mounted, whether the number of mount namespaces is limited to
    this one, and a descriptor of the throwaway layer's top (-1: there is none)."""

    gone: tuple[str, ...]
    limited: bool
    layer: int = -1


def build(
    plan: MountPlan, place: Place, layer: Layer | None = None, shadowed: Sequence[Shadow] = ()
) -> Built:
    """Apply `plan` to the mount namespace that this process has just entered, and go to `place.cwd`.

    With a `layer`, its roots are covered by overlays instead of being put back writable. Raises KernelCallError,
    after which the namespace is half made and nothing may be started in it.
    """
    try:
        return _build(plan, place, layer, shadowed)
    except OSError as error:
        doing = f"building the fence ({error.filename or 'on an open descriptor'})"
        raise KernelCallError("open, mkdir or stat", error.errno or _ESTALE, doing) from None


def _build(plan: MountPlan, place: Place, layer: Layer | None, shadowed: Sequence[Shadow]) -> Built:
    gone: list[str] = []
    covered = layer.roots if layer else ()
    shades: dict[str, Copy] = {}
    if shadowed:
        from ringfence.enforce.mounts_shadow import cover

        shades = {each.root: copy for each in shadowed if (copy := cover(each, gone))}
    # The root of everything cannot be covered by a copy of itself: it is left writable instead.
    everything = any(step.path == "/" and step.hold is Hold.WRITE for step in plan.steps)
    early = [step for step in plan.steps if step.early and step.path != "/" and step.path not in covered]
    lowers = {path: mounts.open_path(path) for path in covered}
    disk = copy_of(layer.folder, []) if layer and layer.folder else None
    copies = {
        step.path: copy
        for step in early
        if (copy := shades[step.path] if step.path in shades else copy_of(step.path, gone))
    }
    for step in early:
        if step.hold is Hold.WRITE and step.path in copies:
            mounts.restrict_tree(copies[step.path].tree, mounts.NODEV, step.path)
    shadows = [
        (pins, copy)
        for pins in plan.pins
        if pins.root not in covered and (copy := _shadow_of(pins.root, copies))
    ]
    devices = [(path, copy) for path in DEVICES if path not in copies and (copy := copy_if_there(path))]
    shown = [(path, copy) for path in place.shown if (copy := copy_if_there(path))]
    terminal = copy_if_there(place.terminal) if place.terminal else None
    proc = copy_if_there("/proc")
    mounts.restrict_everything(mounts.NODEV if everything else mounts.NODEV | mounts.RDONLY)

    for path, copy in devices:
        attach_at(copy.tree, path)
    private_terminals(terminal)
    if proc:
        attach_at(proc.tree, "/proc")
    limit = namespaces.open_namespace_limit()
    fix_proc()
    old_umask = posix.umask(0)
    try:
        store = make_store(plan)
        for index, (pins, copy) in enumerate(shadows):
            pin(store, pins, copy, index)
        replace_runtime(store, place.runtime, shown)
        top = _top_of(layer, store, disk)
        for step in plan.steps:
            if layer and step.path in lowers:
                _cover(store, step, layer, top, lowers[step.path])
                for pins in plan.pins:
                    if pins.root == step.path:
                        # Before anything is put below it: the copy must be of the bare overlay.
                        pin(store, pins, _again(step.path), len(shadows) + covered.index(step.path))
            else:
                _take_step(
                    store, step, copies, gone, covered=any(is_below(step.path, root) for root in shades)
                )
        if shadowed:
            from ringfence.enforce.mounts_shadow import block

            for each in shadowed:
                block(store.empty_dir, each)
        attach_at(store.cover, store.where)
    finally:
        posix.umask(old_umask)
    _go_to(place.cwd)
    return Built(tuple(dict.fromkeys(gone)), namespaces.limit_namespaces(limit), top)


def _top_of(layer: Layer | None, store: Store, disk: Copy | None) -> int:
    if layer is None:
        return -1
    from ringfence.enforce.layer import make_top

    return make_top(layer, store.root, disk.tree if disk else -1)


def _cover(store: Store, step: Step, layer: Layer, top: int, lower: int) -> None:
    """Put an overlay onto the folder that it covers."""
    from ringfence.enforce.layer import overlay

    tree = overlay(layer, layer.roots.index(step.path), top, lower)
    seen = posix.fstat(lower)
    show(store, step.path, Copy(tree, seen.st_dev, seen.st_ino, folder=True))
    posix.close(lower)


def _again(path: str) -> Copy:
    """A second mount of the overlay at `path`."""
    copy = copy_of(path, [])
    if copy is None:
        raise KernelCallError("open_tree", _ESTALE, f"copying {path} again: it is gone")
    return copy


def _shadow_of(root: str, copies: dict[str, Copy]) -> Copy | None:
    """A second copy of a writable root, of the same folder as the first; None where there was no first."""
    first = copies.get(root)
    if first is None and root != "/":
        return None
    second = copy_of(root, [])
    if second is None or (first and (second.device, second.inode) != (first.device, first.inode)):
        raise KernelCallError("open_tree", _ESTALE, f"copying {root} again: it was exchanged meanwhile")
    return second


def _take_step(
    store: Store, step: Step, copies: dict[str, Copy], gone: list[str], *, covered: bool = False
) -> None:
    if step.early:
        copy = copies.get(step.path)
        if copy is None:
            return  # reported as gone when it was to be copied
        if step.hold is Hold.READ:
            mounts.restrict_tree(copy.tree, mounts.RDONLY, step.path)
        show(store, step.path, copy, covered=covered)
    elif step.hold is Hold.READ:
        fix(step.path, gone)
    elif any(path != step.path and is_below(path, step.path) for path in copies):
        hide_around(store, step.path)
    else:
        hide(store, step.path, gone)


def _go_to(cwd: str) -> None:
    """Enter the working folder anew: the one we stand in belongs to the read-only tree underneath."""
    try:
        posix.chdir(cwd.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise KernelCallError("chdir", error.errno or _ESTALE, f"entering {cwd} inside the fence") from None
