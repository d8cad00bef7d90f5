"""A listing of a tree that is not here, to the names, kinds and links that a resolver can walk.

find . -printf '%y\\t%i\\t%n\\t%p\\t%l\\n'     the best one: kinds, links and hard links
tar -tvf tree.tar                            kinds, links, hard links inside the archive
git ls-files, find .                         names only; `name/` is a folder, `name -> target` a link
"""

from __future__ import annotations

from ringfence.proposals import Malformed
from ringfence.readers.chunks import TooLong, numbered
from ringfence.readers.listing import looks_like_tar, tar_member
from ringfence.readers.members import Member
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KINDS = {"f": "file", "d": "dir", "l": "link"}


class Listed(Record):
    """One name. `kind`: "file", "dir", "link", "hard" or "other". `inode` 0: not told; `links` 0: not told."""

    kind: str
    name: str
    target: str = ""
    inode: int = 0
    links: int = 0


def read_tree(source: str, blocks: Iterable[bytes]) -> Iterator[Listed | Malformed]:
    """Every name of the listing, and what in it cannot be read: there a tree would be judged that nobody knows."""
    parse = None
    for number, text in numbered(blocks):
        if isinstance(text, TooLong):
            yield Malformed(source, number, f"a line of {text.size} bytes")
            continue
        line = text.rstrip("\r")
        if not line:
            continue
        if parse is None:
            parse = _found if _is_find(line) else _archived if looks_like_tar(line) else _named
        made = parse(number, line)
        yield made if isinstance(made, Listed) else Malformed(source, number, made)


def _is_find(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) == 5 and len(fields[0]) == 1 and fields[1].isdecimal() and fields[2].isdecimal()


def _found(_number: int, line: str) -> Listed | str:
    if not _is_find(line):
        return f"not five fields as `find -printf` gives them: {line[:80]!r}"
    kind, inode, links, name, target = line.split("\t")
    return Listed(_KINDS.get(kind, "other"), name, target, int(inode), int(links))


def _archived(number: int, line: str) -> Listed | str:
    member = tar_member(number, line)
    if not isinstance(member, Member):
        return member
    return Listed(member.kind if member.kind != "device" else "other", member.name, member.target)


def _named(_number: int, line: str) -> Listed | str:
    name, arrow, target = line.partition(" -> ")
    if arrow:
        return (
            Listed("link", name, target) if " -> " not in target else f"a link in two readings: {line[:80]!r}"
        )
    return Listed("dir", name.rstrip("/") or "/") if name.endswith("/") else Listed("file", name)
