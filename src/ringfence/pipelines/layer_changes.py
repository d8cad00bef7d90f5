"""From a layer to the list of its changes: every root read, renames found."""

from __future__ import annotations

from posix import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, close, open

from ringfence.enforce.layer import upper_of
from ringfence.enforce.layer_read import Reader, Unread
from ringfence.pipelines.layer_pair import pair
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.enforce.layer import Layer
    from ringfence.model import Change

_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC


class ReadBack(Record):
    """`linked`: inodes of the layer with several names, and a real path that has their content."""

    changes: list[Change]
    unread: list[Unread]
    linked: dict[int, str]


def read_back(
    layer: Layer, top: int, tick: Callable[[], None] | None = None, *, restore: bool = False
) -> ReadBack:
    """Every change of the layer. `restore`: what had to be opened up is closed again, for one that lives on."""
    changes: list[Change] = []
    reader = Reader(tick)
    try:
        for index, root in enumerate(layer.roots):
            upper = open(upper_of(index), _FOLDER, dir_fd=top)
            try:
                changes.extend(reader.changes(upper, root))
            except OSError as error:
                reader.unread.append(Unread(root, f"it cannot be read: errno {error.errno}"))
            finally:
                close(upper)
        changes = pair(changes, lambda path: in_layer(layer, top, path))
    finally:
        if restore:
            reader.restore()
    return ReadBack(changes, reader.unread, reader.linked)


def way_in(layer: Layer, path: str) -> str:
    """Where a path of the real tree lies below the top of the layer."""
    found = [
        i for i, root in enumerate(layer.roots) if path == root or path.startswith(root.rstrip("/") + "/")
    ]
    root = max(found, key=lambda i: len(layer.roots[i]))
    rest = path[len(layer.roots[root]) :].strip("/")
    return f"{upper_of(root)}/{rest}" if rest else upper_of(root)


def in_layer(layer: Layer, top: int, path: str) -> int:
    """A descriptor of a file in the layer for reading; -1 if there is none."""
    try:
        return open(way_in(layer, path).encode("utf-8", "surrogateescape"), _FILE, dir_fd=top)
    except OSError:
        return -1
