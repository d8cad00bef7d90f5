"""`ringfence review diff|drop|list`: look at the layers that reviewers' sessions have, or throw one away. Cold."""

from __future__ import annotations

import os

from ringfence.errors import UsageError
from ringfence.pipelines import compose, layers
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.enforce.layer import Layer
    from ringfence.model import Folders, JudgedChange
    from ringfence.policy.asked import Flags


class Listed(Record):
    """One session's layer. `used` and `size` in bytes; `idle` in seconds since the last call."""

    session: str
    roots: tuple[str, ...]
    on: str
    used: int
    size: int
    idle: float


class Shown(Record):
    """What a session's layer holds; `diff` in git's form."""

    session: str
    changes: tuple[JudgedChange, ...]
    unread: tuple[tuple[str, str], ...]
    diff: str


def listed() -> tuple[Listed, ...]:
    """The layers that stand."""
    folders = compose.own_folders(compose.process_environment())
    layers.sweep(folders)
    return tuple(_listed(folders, kept) for kept in _standing(folders, ""))


def shown(flags: Flags, session: str, *, with_diff: bool) -> tuple[Shown, ...]:
    """The changes of a session's layers, judged by the policy that holds here. UsageError for no such session."""
    from ringfence.pipelines.layer_changes import read_back
    from ringfence.pipelines.layer_diff import unified
    from ringfence.pipelines.layer_judge import Judge, split_caches
    from ringfence.pipelines.reviewer import reopen
    from ringfence.pipelines.session import with_session

    env = compose.process_environment()
    fence = compose.fence_for(flags, env, compose.process_cwd())
    folders = fence.policy.folders
    layers.sweep(folders)
    found = []
    for kept in _wanted(folders, session):
        held, layer = reopen(kept)
        try:
            back = read_back(layer, held.top, restore=True)
            name = kept.name.rpartition(".")[0]
            judge = Judge(with_session(fence.policy, name))
            changes, _ = split_caches(judge.policy, back.changes)
            diff = unified(layer, held.top, changes) if with_diff else ""
            unread = tuple((one.path, one.why) for one in back.unread)
            found.append(Shown(name, tuple(judge.all(changes)), unread, diff))
        finally:
            os.close(held.top)
    return tuple(found)


def dropped(session: str) -> tuple[tuple[str, int], ...]:
    """Throw the layers of a session away; each with the number of processes that were ended in it."""
    folders = compose.own_folders(compose.process_environment())
    layers.sweep(folders)
    return tuple(
        (kept.name.rpartition(".")[0], layers.drop(folders, kept)) for kept in _wanted(folders, session)
    )


def _standing(folders: Folders, session: str) -> list[layers.Kept]:
    found = (layers.find(folders, name) for name in layers.names(folders) if not name.startswith("try-"))
    return [
        kept
        for kept in found
        if kept is not None and layers.lives(kept) and session in ("", kept.name.rpartition(".")[0])
    ]


def _wanted(folders: Folders, session: str) -> list[layers.Kept]:
    """The layers of the named session, or of the only one that there is."""
    found = _standing(folders, session)
    names = sorted({kept.name.rpartition(".")[0] for kept in found})
    if not names:
        asked = f"session {session!r} has no layer" if session else "no session has a layer"
        others = ", ".join(sorted({kept.name.rpartition(".")[0] for kept in _standing(folders, "")}))
        raise UsageError(
            asked, f"these have one: {others}" if others else "ringfence shell --lane reviewer makes one"
        )
    if not session and len(names) > 1:
        raise UsageError("several sessions have a layer", f"name one with --session: {', '.join(names)}")
    return found


def _listed(folders: Folders, kept: layers.Kept) -> Listed:
    from ringfence.pipelines.reviewer import reopen

    held, layer = reopen(kept)
    try:
        used = layers.used(held.top)[0] if kept.data["on"] == layers.MEMORY else _on_disk(layer)
    finally:
        os.close(held.top)
    name = kept.name.rpartition(".")[0]
    return Listed(name, layer.roots, kept.data["on"], used, layer.size, layers.idle(folders, kept.name))


def _on_disk(layer: Layer) -> int:
    total = 0
    for _, folders, files, at in os.fwalk(layer.folder, onerror=None):
        for name in (*folders, *files):
            total += os.stat(name, dir_fd=at, follow_symlinks=False).st_blocks * 512
    return total
