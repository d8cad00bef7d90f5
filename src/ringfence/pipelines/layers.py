"""Throwaway layers: what one covers, where it lies, the record that finds it again, and the sweep of what was killed.

One record for each layer in the state folder: written before anything is made, removed when everything is gone. The
next start looks at the records whose owner is dead, kills what still lives in the layer (known by the mark in its table
of mounts, not by a number), and removes its folder and what a killed `--keep` left beside a file.
"""

from __future__ import annotations

from posix import (
    F_LOCK,
    O_CLOEXEC,
    O_CREAT,
    O_NOFOLLOW,
    O_RDONLY,
    O_TRUNC,
    O_WRONLY,
    close,
    getpid,
    listdir,
    lockf,
    open,
    read,
    rename,
    stat,
    statvfs,
    uname,
    unlink,
    utime,
    write,
)
from time import time

from ringfence.enforce.layer import NAME, Layer
from ringfence.enforce.mounts_plan import Hold
from ringfence.errors import NotEnforcedError, UsageError
from ringfence.kernel import processes
from ringfence.model import ZoneKind
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ringfence.enforce.mounts import Survey
    from ringfence.model import Confinement, Folders

# TEMP is the session's own, SCRATCH the agent's own: both are meant to be written for good.
COVERED = (ZoneKind.WORKSPACE, ZoneKind.ZONE, ZoneKind.CACHE)
_FOLDER = "layers"
_LOCK = "lock"
_STAGED = ".new"
_CALL = "try-"  # of one call alone: dropped when its process is gone, with its temp folder
AGE = 86_400.0
"""Seconds without a call after which a session's layer is dropped."""
MEMORY, DISK, AUTO = "memory", "disk", "auto"
_LEAST = 256 << 20  # bytes of memory below which a layer goes to the disk
_MOST = 64 << 30
_TMPFS_ATTRIBUTES = (6, 6)  # the first Linux whose tmpfs keeps user.* attributes, which opaque folders need


class Medium(Record):
    """Where the upper folders lie (`memory` or `disk`), how many bytes they may hold, and why there."""

    on: str
    size: int
    why: str


def choose(wanted: str, size: int, available: int, free_disk: int, kernel: str) -> Medium:
    """Half of the memory that is available, or half of the disk that is free where memory is short. Pure.

    `wanted` is auto, memory or disk; `size` bytes, 0 for the default. Raises UsageError for another word.
    """
    if wanted not in (AUTO, MEMORY, DISK):
        raise UsageError(f"a layer lies on {AUTO}, {MEMORY} or {DISK}, not {wanted!r}")
    half = min(available // 2, _MOST)
    keeps = _version(kernel) >= _TMPFS_ATTRIBUTES
    if wanted == MEMORY or (wanted == AUTO and keeps and half >= max(_LEAST, size)):
        return Medium(MEMORY, size or max(half, 16 << 20), f"{shown_size(available)} of memory are available")
    if wanted == DISK:
        why = "asked for"
    elif not keeps:
        why = f"tmpfs of Linux {kernel} keeps no user attributes (6.6 does)"
    else:
        why = f"only {shown_size(available)} of memory are available"
    return Medium(DISK, size or max(min(free_disk // 2, _MOST), 16 << 20), why)


def medium_here(folders: Folders, wanted: str = AUTO, size: int = 0) -> Medium:
    return choose(wanted, size, _available(), _free(_nearest(folders.cache or "/")), uname().release)


def shown_size(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def read_size(text: str) -> int:
    """`512M`, `2GiB`, `1048576`: bytes. Raises UsageError."""
    units = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    digits = text.rstrip("bBiIkKmMgGtT")
    unit = text[len(digits) :].lower().rstrip("b").rstrip("i")
    if not digits.isdigit() or unit not in units or not int(digits):
        raise UsageError(f"{text!r} is no size", "for example 512M or 2G")
    return int(digits) * units[unit]


def _version(kernel: str) -> tuple[int, int]:
    numbers = [*kernel.split("-", maxsplit=1)[0].split("."), "0"]
    try:
        return int(numbers[0]), int(numbers[1])
    except ValueError:
        return (0, 0)


def _available() -> int:
    """MemAvailable of /proc/meminfo (Linux 3.14), in bytes; 0 if it cannot be read."""
    try:
        fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC)
    except OSError:
        return 0
    try:
        for line in read(fd, 8192).split(b"\n"):
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) * 1024
    finally:
        close(fd)
    return 0


def _free(path: str) -> int:
    try:
        found = statvfs(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _nearest(path: str) -> str:
    from ringfence.pipelines.placing import exists

    while path and not exists(path):
        path = path.rpartition("/")[0]
    return path or "/"


def without_files(wanted: Confinement) -> tuple[Confinement, tuple[str, ...]]:
    """The confinement without write zones that are single files: an overlay covers folders. And those files."""
    from _stat import S_ISDIR

    single = []
    for zone in wanted.writable:
        if zone.kind in COVERED:
            try:
                folder = S_ISDIR(stat(zone.root.encode("utf-8", "surrogateescape")).st_mode)
            except OSError:
                continue
            if not folder:
                single.append(zone)
    kept = tuple(zone for zone in wanted.writable if zone not in single)
    return wanted._replace(writable=kept), tuple(zone.root for zone in single)


def covered(wanted: Confinement, found: Survey) -> tuple[str, ...]:
    """The roots that get an overlay, in the plan's order. Raises NotEnforcedError where there is nothing to cover."""
    kinds = {zone.root: zone.kind for zone in wanted.writable}
    roots = tuple(
        step.path for step in found.planned.steps if step.hold is Hold.WRITE and kinds[step.path] in COVERED
    )
    if "/" in roots:
        raise NotEnforcedError(
            "nothing was run: the whole file system cannot be covered by a throwaway layer",
            "name a workspace: --workspace DIR",
        )
    if not roots:
        raise NotEnforcedError(
            "nothing was run: the policy lets programs write nowhere that a layer could cover",
            "name a workspace: --workspace DIR",
        )
    return roots


class Kept(Record):
    """One record. `owner` and `born`: the process whose end makes it stale (a holder's, or that of `try`)."""

    name: str
    owner: int
    born: str
    namespace: str
    mark: str
    folder: str
    data: dict[str, Any]


def of_process(folders: Folders, medium: Medium, name: str = "") -> Kept:
    """The record of a layer that this process is about to make, to be written before anything is.

    Without a name it is the layer of this call alone.
    """
    born = processes.born(getpid())
    name = name or f"{_CALL}{getpid()}"
    folder = f"{folders.cache}/{_FOLDER}/{name}" if medium.on == DISK else ""
    return Kept(name, getpid(), born, "", f"{NAME}-{getpid()}-{born}", folder, {})


def new_layer(folders: Folders, kept: Kept, roots: tuple[str, ...], medium: Medium) -> Layer:
    """The layer to be built; on a disk with its folder made."""
    if kept.folder:
        from ringfence.pipelines.session import make_private

        if not folders.cache:
            raise NotEnforcedError(
                "nothing was run: there is no cache folder for a layer on the disk", "set HOME"
            )
        make_private(kept.folder, folders.cache)
    return Layer(roots, kept.folder, medium.size, kept.mark)


def records_folder(folders: Folders) -> str:
    return f"{folders.state}/{_FOLDER}" if folders.state else ""


def keep(folders: Folders, kept: Kept) -> None:
    """Write the record, whole or not at all. Raises OSError where the state folder cannot be written."""
    from ringfence.jsonscan import dumps
    from ringfence.pipelines.session import make_parents

    folder = records_folder(folders)
    if not folder:
        return
    body = {
        "owner": kept.owner,
        "born": kept.born,
        "namespace": kept.namespace,
        "mark": kept.mark,
        "folder": kept.folder,
        "boot": boot(),
        **kept.data,
    }
    path = _raw(f"{folder}/{kept.name}")
    new = path + b".%d" % getpid() + _STAGED.encode()
    flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
    try:
        fd = open(new, flags, 0o600)
    except FileNotFoundError:
        make_parents(folder)
        fd = open(new, flags, 0o600)
    try:
        write(fd, dumps(body).encode("ascii", "replace"))
    finally:
        close(fd)
    rename(new, path)


def find(folders: Folders, name: str) -> Kept | None:
    """The record of this name; None if there is none, or it was cut short by a full disk."""
    from ringfence.jsonscan import loads

    folder = records_folder(folders)
    try:
        fd = open(_raw(f"{folder}/{name}"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    except OSError:
        return None
    try:
        text = b""
        while more := read(fd, 1 << 16):
            text += more
    finally:
        close(fd)
    try:
        body = loads(text)
        own = [body.pop(key) for key in ("owner", "born", "namespace", "mark", "folder")]
        return Kept(name, int(own[0]), own[1], own[2], own[3], own[4], body)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Kept(name, 0, "", "", "", "", {})


def lives(kept: Kept) -> bool:
    """Whether the owner of a record is the process it was: the same number, the same birth, the same boot."""
    return (
        bool(kept.owner and kept.born)
        and kept.data.get("boot") == boot()
        and processes.born(kept.owner) == kept.born
    )


def names(folders: Folders) -> list[str]:
    return [name for name in _entries(folders) if not name.endswith(_STAGED)]


def _entries(folders: Folders) -> list[str]:
    try:
        found = listdir(records_folder(folders) or "/nonexistent")
    except OSError:
        return []
    return sorted(name for name in found if name != _LOCK)


def sweep(folders: Folders, but: str = "") -> None:
    """Clean up after every layer whose owner is gone, or that nobody used for long. `but`: a record that is
    the caller's to look at. One listing where there is none."""
    for name in _entries(folders):
        if name.endswith(_STAGED):
            # Whose writer was killed before the rename: the record before it, if any, still tells what there is.
            writer = name[: -len(_STAGED)].rpartition(".")[2]
            if writer.isdigit() and not processes.born(int(writer)):
                forget(folders, name)
            continue
        kept = find(folders, name)
        if name != but and kept is not None and (not lives(kept) or idle(folders, name) > AGE):
            drop(folders, kept)


def idle(folders: Folders, name: str) -> float:
    """Seconds since the layer of a session was last used; a `try` in progress counts as just now."""
    if name.startswith(_CALL):
        return 0.0
    try:
        return time() - stat(_raw(f"{records_folder(folders)}/{name}")).st_mtime
    except OSError:
        return 0.0


def touch(folders: Folders, name: str) -> None:
    """The layer was used just now."""
    try:
        utime(_raw(f"{records_folder(folders)}/{name}"))
    except OSError:
        return


def of_session(folders: Folders, session: str) -> list[Kept]:
    """The layers of one session: one for each set of roots that its calls named."""
    found = (find(folders, name) for name in names(folders) if name.rpartition(".")[0] == session)
    return [kept for kept in found if kept is not None]


def end_session(folders: Folders, session: str) -> None:
    """At the agent's end event."""
    for kept in of_session(folders, session):
        drop(folders, kept)


def lock(folders: Folders) -> int:
    """Wait until no other call starts a layer; closing the descriptor lets the next one in. -1: no state folder."""
    from ringfence.pipelines.session import make_parents

    folder = records_folder(folders)
    if not folder:
        return -1
    flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
    try:
        fd = open(_raw(f"{folder}/{_LOCK}"), flags, 0o600)
    except FileNotFoundError:
        make_parents(folder)
        fd = open(_raw(f"{folder}/{_LOCK}"), flags, 0o600)
    lockf(fd, F_LOCK, 0)
    return fd


def drop(folders: Folders, kept: Kept) -> int:
    """End whoever lives in the layer, remove its folder and its record; how many processes were ended."""
    ended = 0
    if kept.mark and kept.data.get("boot") == boot():
        ended = processes.end_all(kept.namespace, kept.mark)
    for root, staged in kept.data.get("staged", ()):
        from ringfence.pipelines import beneath

        at = beneath.open_folder(root)
        if at >= 0:
            try:
                unlink(_raw(staged), dir_fd=at)
            except OSError:
                pass
            finally:
                close(at)
    remove_folder(folders, kept.folder)
    if kept.name.startswith(_CALL):
        from ringfence.pipelines.session import end_call

        end_call(f"call-{kept.name[len(_CALL) :]}")
    forget(folders, kept.name)
    return ended


def remove_folder(folders: Folders, folder: str) -> None:
    """A layer's folder on the disk; nothing but one of ours, whatever the record says."""
    base = f"{folders.cache}/{_FOLDER}"
    if not folder or folder.rpartition("/")[0] != base or not folders.cache:
        return
    from ringfence.pipelines.beneath import open_folder
    from ringfence.pipelines.layer_tree import remove_tree

    at = open_folder(base)
    if at >= 0:
        try:
            remove_tree(folder.rpartition("/")[2], at)
        finally:
            close(at)


def forget(folders: Folders, name: str) -> None:
    try:
        unlink(_raw(f"{records_folder(folders)}/{name}"))
    except OSError:
        return


def boot() -> str:
    """This boot's identity: process numbers and namespaces mean nothing after another."""
    try:
        fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    except OSError:
        return ""
    try:
        return read(fd, 64).strip().decode("ascii", "replace")
    finally:
        close(fd)


def used(top: int) -> tuple[int, int]:
    """Bytes used and free in the file system that holds a layer's top."""
    found = statvfs(top)
    return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_bavail * found.f_frsize


def is_full(top: int) -> bool:
    """Whether there is no room for another page or another file."""
    found = statvfs(top)
    return found.f_bavail * found.f_frsize < 65536 or (found.f_files > 0 and found.f_ffree < 4)


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def stands_in_layer(env: Mapping[str, str], roots: tuple[str, ...]) -> bool:
    """Whether this process stands in a fence whose layer covers every one of these roots already.

    The table of mounts says so, not the environment. Who makes such a table himself, in a namespace of his own, has
    put himself behind a layer of his own.
    """
    from ringfence.enforce.mounts_mark import read_mount_table, stands_inside
    from ringfence.enforce.mounts_table import escaped

    if "RINGFENCE_FENCE" not in env:
        return False
    try:
        table = read_mount_table()
    except OSError:
        return False
    if not stands_inside(table, "ringfence"):
        return False
    lines = [line for line in table.split(b"\n") if f" - overlay {NAME}-".encode() in line]
    shown = {line.split(b" ")[4] for line in lines}
    return bool(roots) and all(any(_within(escaped(root), at) for at in shown) for root in roots)


def _within(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith(root + b"/")
