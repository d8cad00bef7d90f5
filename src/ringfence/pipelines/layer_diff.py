"""The changes of a layer as a unified diff in git's form: what `git apply` takes, as far as text goes. Cold."""

from __future__ import annotations

import os

from ringfence.model import Change, ChangeKind, Entry
from ringfence.pipelines.layer_changes import in_layer, way_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.enforce.layer import Layer

_MOST = 1 << 20  # bytes of one file that are compared line by line
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def unified(layer: Layer, top: int, changes: Iterable[Change]) -> str:
    """One text for all. Paths are relative to their root; folders, pipes and sockets have no form in a diff."""
    return "".join(piece for change in changes for piece in _one(layer, top, change))


def _one(layer: Layer, top: int, change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    kinds = {entry.kind for entry in (before, after) if entry is not None}
    if not kinds <= {"file", "link"}:
        return
    name, old = _relative(layer, change.path), _relative(layer, change.source or change.path)
    yield f"diff --git {_quoted('a/' + old)} {_quoted('b/' + name)}\n"
    if change.kind is ChangeKind.RENAMED:
        yield f"similarity index 100%\nrename from {old}\nrename to {name}\n"
        return
    if before is None and after is not None:
        yield f"new file mode {_mode(after)}\n"
    elif after is None and before is not None:
        yield f"deleted file mode {_mode(before)}\n"
    elif before is not None and after is not None and _mode(before) != _mode(after):
        yield f"old mode {_mode(before)}\nnew mode {_mode(after)}\n"
    left = _real(change.path, before) if before else b""
    right = _layered(layer, top, change.path, after) if after else b""
    yield from _body(name, left, right, new=before is None, gone=after is None)


def _body(name: str, left: bytes | None, right: bytes | None, *, new: bool, gone: bool) -> Iterator[str]:
    if left == right and left is not None:
        return
    one = "/dev/null" if new else _quoted("a/" + name)
    other = "/dev/null" if gone else _quoted("b/" + name)
    if left is None or right is None or b"\0" in left or b"\0" in right:
        yield f"Binary files {one} and {other} differ\n"
        return
    from difflib import unified_diff

    yield f"--- {one}\n+++ {other}\n"
    for index, line in enumerate(unified_diff(_lines(left), _lines(right), lineterm="\n")):
        if index < 2:
            continue  # its own header
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(text: bytes) -> list[str]:
    pieces = text.decode("utf-8", "surrogateescape").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _real(path: str, entry: Entry) -> bytes | None:
    raw = path.encode("utf-8", "surrogateescape")
    if entry.kind == "link":
        try:
            return os.readlink(raw)
        except OSError:
            return None
    try:
        fd = os.open(raw, _FILE)
    except OSError:
        return None
    return _content(fd)


def _layered(layer: Layer, top: int, path: str, entry: Entry) -> bytes | None:
    if entry.kind == "link":
        try:
            return os.readlink(way_in(layer, path).encode("utf-8", "surrogateescape"), dir_fd=top)
        except OSError:
            return None
    fd = in_layer(layer, top, path)
    return _content(fd) if fd >= 0 else None


def _content(fd: int) -> bytes | None:
    """None: too large to be compared line by line."""
    try:
        if os.fstat(fd).st_size > _MOST:
            return None
        data = b""
        while len(data) <= _MOST and (more := os.read(fd, 1 << 16)):
            data += more
    except OSError:
        return None
    finally:
        os.close(fd)
    return data


def _mode(entry: Entry) -> str:
    if entry.kind == "link":
        return "120000"
    return "100755" if entry.mode & 0o100 else "100644"


def _relative(layer: Layer, path: str) -> str:
    root = max((r for r in layer.roots if path.startswith(r.rstrip("/") + "/")), key=len, default="")
    return path[len(root.rstrip("/")) + 1 :]


def _quoted(name: str) -> str:
    """As git quotes a name: only where it must."""
    if all(0x20 <= ord(c) < 0x7F and c not in '"\\' for c in name):
        return name
    out = []
    for byte in name.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'
