"""Which deleted file and which new one are the same, renamed: same size, same time, same mode, same content."""

from __future__ import annotations

from posix import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, close, open, read

from ringfence.model import Change, ChangeKind, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
_BLOCK = 1 << 20


def pair(changes: list[Change], in_layer: Callable[[str], int]) -> list[Change]:
    """The list with each such pair as one RENAMED. `in_layer(path)` opens a path in the layer: a descriptor or -1."""
    gone: dict[tuple[object, ...], list[int]] = {}
    for index, change in enumerate(changes):
        if change.kind is ChangeKind.DELETED and change.before and change.before.kind == "file":
            gone.setdefault(_key(change.before), []).append(index)
    if not gone:
        return changes
    taken: set[int] = set()
    made: dict[int, Change] = {}
    for index, change in enumerate(changes):
        after = change.after
        if change.kind is not ChangeKind.CREATED or after is None or after.kind != "file":
            continue
        for old in gone.get(_key(after), ()):
            source = changes[old]
            if old not in taken and _same(source.path, change.path, in_layer):
                taken.add(old)
                made[index] = Change(ChangeKind.RENAMED, change.path, source.before, after, (), source.path)
                break
    return [made.get(index, change) for index, change in enumerate(changes) if index not in taken]


def _key(entry: Entry) -> tuple[object, ...]:
    # The name is not part of it; a file with other names stays where it is for them.
    return (entry.size, entry.mtime, entry.mode, entry.uid, entry.gid, entry.links)


def _same(old: str, new: str, in_layer: Callable[[str], int]) -> bool:
    try:
        left = open(old.encode("utf-8", "surrogateescape"), _FLAGS)
    except OSError:
        return False
    right = in_layer(new)
    try:
        if right < 0:
            return False
        while True:
            one, other = read(left, _BLOCK), read(right, _BLOCK)
            if one != other:
                return False
            if not one:
                return True
    finally:
        close(left)
        if right >= 0:
            close(right)
