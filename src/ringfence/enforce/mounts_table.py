"""The table of mounts, read for one question: which mounts inside a writable tree show something outside it?

`ws/mnt` may be a bind mount of the protected checkout, and no path says so. Pure: text in, paths out.
The format is that of /proc/PID/mountinfo (proc(5)).
"""

from __future__ import annotations

from ringfence.enforce.mounts_plan import is_below
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Mounted(Record):
    """One line: the filesystem (`major:minor`), the part of it that is shown, and where."""

    filesystem: str
    part: str
    where: str


def parse(text: bytes) -> tuple[Mounted, ...]:
    """Every line that can be read; the kernel writes no others."""
    rows = []
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        fields = line.split(" ", 5)
        if len(fields) == 6:
            rows.append(Mounted(fields[2], _plain(fields[3]), _plain(fields[4])))
    return tuple(rows)


def any_below(text: bytes, roots: Iterable[str]) -> bool:
    """A cheap first look: whether any mount point may lie strictly below a root. Never misses one."""
    return any(b" " + escaped(root.rstrip("/")) + b"/" in text for root in roots)


def showing_outside(
    mounts: Iterable[Mounted], roots: Iterable[str], is_writable: Callable[[str], bool]
) -> tuple[str, ...]:
    """Mount points strictly below a root, a part of which is also to be seen at a place not writable.

    A volume that is mounted only there (node_modules in a container) is not one of them.
    """
    rows = tuple(mounts)
    tops = tuple(roots)
    inner = [row for row in rows if any(row.where != top and is_below(row.where, top) for top in tops)]
    return tuple(row.where for row in inner if any(_leaks(row, other, is_writable) for other in rows))


def _leaks(row: Mounted, other: Mounted, is_writable: Callable[[str], bool]) -> bool:
    if other is row or other.filesystem != row.filesystem:
        return False
    if is_below(row.part, other.part):
        rest = row.part[len(other.part) :].strip("/")
        twin = other.where.rstrip("/") + "/" + rest if rest else other.where
        return not is_writable(twin)
    return is_below(other.part, row.part) and not is_writable(other.where)


def _plain(text: str) -> str:
    """Undo the octal escapes of blank, tab, newline and backslash."""
    if "\\" not in text:
        return text
    head, *rest = text.split("\\")
    return head + "".join(chr(int(piece[:3], 8)) + piece[3:] for piece in rest)


def escaped(path: str) -> bytes:
    """As the kernel writes it: backslash first, or it would be escaped twice."""
    raw = path.encode("utf-8", "surrogateescape")
    for char in (b"\\", b" ", b"\t", b"\n"):
        raw = raw.replace(char, b"\\%03o" % char[0])
    return raw
