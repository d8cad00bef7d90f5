"""The refs of a repository and of a layer over it, read as files (gitrepository-layout(5)); nothing is written.

A layer is the upper folder of an overlay: a file there is new or changed, a character device 0/0 says that the name
below is gone, and a folder marked opaque hides everything below it (Documentation/filesystems/overlayfs.rst). It was
filled by a fenced program, so no link in it is followed.
"""

from __future__ import annotations

from posix import close, dup, getxattr
from posix import stat_result as Stat  # noqa: N812 - a type

from ringfence.pipelines import beneath
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST = 100_000  # refs looked at in one layer
_HEX = frozenset("0123456789abcdef")


class Changes(Record):
    """What a layer says. `values` are refs with the object they name now, `gone` those it no longer has, `odd` names
    below `refs` that hold no object name (a symbolic ref, a device, a link)."""

    values: dict[str, str]
    gone: tuple[str, ...]
    odd: tuple[str, ...]


def is_object_name(text: str) -> bool:
    return len(text) in (40, 64) and _HEX.issuperset(text)


def packed(folder: int) -> dict[str, str] | None:
    """The refs in `packed-refs` of a git folder; None where there is no such file."""
    text = beneath.content(folder, "packed-refs")
    if text is None:
        return None
    found = {}
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        name, _, ref = line.partition(" ")
        if ref and is_object_name(name):
            found[ref] = name
    return found


def loose(folder: int, ref: str) -> str | None:
    """What the file of `ref` holds, "" for anything that is no object name; None if there is no such file."""
    reached = beneath.walk(folder, ref.split("/"))
    if reached is None:
        return None
    try:
        if not reached.whole or beneath.entry(reached.folder, reached.name) is None:
            return None
        text = beneath.content(reached.folder, reached.name)
    finally:
        close(reached.folder)
    if text is None:
        return None
    name = text.decode("utf-8", "surrogateescape").strip()
    return name if is_object_name(name) else ""


def value(folder: int, ref: str) -> str:
    """The object that `ref` names in a repository, "" if there is none."""
    found = loose(folder, ref)
    return found if found is not None else (packed(folder) or {}).get(ref, "")


def head(folder: int) -> str:
    """The branch that a git folder has checked out, "" for a detached HEAD."""
    text = (beneath.content(folder, "HEAD") or b"").decode("utf-8", "surrogateescape")
    return text[5:].strip() if text.startswith("ref: ") else ""


def head_commit(admin: int, common: int) -> str:
    """The commit that a working tree has checked out, "" if there is none yet. Both descriptors."""
    text = (beneath.content(admin, "HEAD") or b"").decode("utf-8", "surrogateescape").strip()
    return (
        value(common, text[5:].strip()) if text.startswith("ref: ") else text if is_object_name(text) else ""
    )


def changes(upper: int, real: int) -> Changes:
    """What the layer `upper` makes of the refs of `real`."""
    values: dict[str, str] = {}
    hidden: list[str] = []  # refs, or folders of them, that the layer took away
    odd: list[str] = []
    refs = beneath.open_folder("refs", upper)
    if refs >= 0:
        try:
            for ref, kind, text in _walk(refs, ("refs",)):
                if kind == "file":
                    values[ref] = text
                elif kind == "hidden":
                    hidden.append(ref)
                else:
                    odd.append(ref)
        finally:
            close(refs)
    elif _is_whiteout(beneath.entry(upper, "refs")):
        hidden.append("refs")
    below = packed(real) or {}
    above = packed(upper)
    if above is None and _is_whiteout(beneath.entry(upper, "packed-refs")):
        above = {}

    def is_hidden(ref: str) -> bool:
        return any(ref == name or ref.startswith(name + "/") for name in hidden)

    for ref, name in (above or {}).items():
        # A loose file counts before a packed line, in the layer as below it.
        moved = below.get(ref) != name and loose(real, ref) is None
        if ref not in values and (moved or is_hidden(ref)):
            values[ref] = name
    known = above if above is not None else below
    gone = [
        ref for ref in below if ref not in known and ref not in values and not _stands(real, ref, is_hidden)
    ]
    gone += [ref for ref in _loose_below(real, hidden) if ref not in known and ref not in values]
    return Changes(values, tuple(dict.fromkeys(gone)), tuple(odd))


def _stands(real: int, ref: str, is_hidden: object) -> bool:
    return not is_hidden(ref) and loose(real, ref) is not None  # type: ignore[operator]


def _walk(folder: int, parts: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Each entry of a layer's folder of refs as (name, "file" | "hidden" | "odd", object name)."""
    if _is_opaque(folder):
        yield "/".join(parts), "hidden", ""
    for name in beneath.names(folder)[:_MOST]:
        ref = "/".join((*parts, name))
        st = beneath.entry(folder, name)
        if _is_whiteout(st):
            yield ref, "hidden", ""
        elif beneath.is_folder(st):
            below = beneath.open_folder(name, folder)
            if below >= 0:
                try:
                    yield from _walk(below, (*parts, name))
                finally:
                    close(below)
        elif not name.endswith(".lock"):
            text = (beneath.content(folder, name) or b"").decode("utf-8", "surrogateescape").strip()
            yield (ref, "file", text) if is_object_name(text) else (ref, "odd", "")


def _loose_below(real: int, names: Sequence[str]) -> Iterator[str]:
    """Every ref with a file of its own at or below `names` in a repository."""
    for name in names:
        folder = beneath.folder_at(real, name.split("/"))
        if folder < 0:
            if loose(real, name):
                yield name
            continue
        try:
            for each in beneath.names(folder):
                yield from _loose_below(real, (f"{name}/{each}",))
        finally:
            close(folder)


def _is_whiteout(st: Stat | None) -> bool:
    return st is not None and st.st_mode & 0o170000 == 0o020000 and st.st_rdev == 0


def _is_opaque(folder: int) -> bool:
    again = dup(folder)
    try:
        return getxattr(again, "user.overlay.opaque") == b"y"
    except OSError:
        return False
    finally:
        close(again)
