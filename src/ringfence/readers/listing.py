"""Listings of archives: `tar -tv` (GNU and BSD), `zipinfo`, `unzip -l`. Plain `tar -t` and `unzip -Z1` are lines.

Sources: GNU tar 1.35, bsdtar 3.7 and Info-ZIP 6.0, run. GNU tar escapes odd names (`--quoting-style=escape`).
"""

from __future__ import annotations

import re

from ringfence.proposals import Malformed
from ringfence.readers.chunks import TooLong, numbered
from ringfence.readers.members import Member, uses_of
from ringfence.readers.planted import Planted
from ringfence.readers.quoted import QuoteError, unescape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_MODE = r"(?P<kind>[-dlhcbpsDMSVCN?])[-rwxsStTlL?]{9}[.+@]?"
_GNU = re.compile(
    _MODE
    + r"\s+[^\s/]+/(?:.*?\S)\s+(?:\d+|\d+,\s*\d+)\s+\d{4,}-\d\d-\d\d\s\d\d:\d\d(?::\d\d(?:\.\d+)?)? (?P<name>.+)"
)
_BSD = re.compile(
    _MODE
    + r"\s+\d+\s+\S+\s+\S+\s+(?:\d+|\d+,\s*\d+)\s+[A-Z][a-z]{2}\s+\d{1,2}\s+(?:\d\d:\d\d|\d{4})\s(?P<name>.+)"
)
_ZIPINFO = re.compile(
    _MODE.replace("{9}", "{6,9}") + r"\s+\d+\.\d\s+\w{3}\s+\d+\s+\S{2}\s+\S{4}\s+\S+\s\d\d:\d\d\s(?P<name>.+)"
)
_UNZIP = re.compile(r"\s*\d+\s+(?:\d{4}-\d\d-\d\d|\d\d-\d\d-\d{2,4})\s+\d\d:\d\d\s{3}(?P<name>.+)")
_ZIP_HEADS = (
    re.compile(r"Archive:\s+.+"),
    re.compile(r"Zip file size: .+"),
    re.compile(r"\s*Length\s+Date\s+Time\s+Name\s*"),
    re.compile(r"[-\s]+"),
    re.compile(r"\s*\d+\s+\d+ files?\s*"),
    re.compile(r"\d+ files?, \d+ bytes uncompressed.*"),
)
_KINDS: Mapping[str, str] = {
    "-": "file", "d": "dir", "D": "dir", "l": "link", "h": "hard", "c": "device", "b": "device", "p": "other",
    "s": "other", "C": "file", "S": "file",
}  # fmt: skip


def looks_like_tar(line: str) -> bool:
    """Whether a line is one of `tar -tv`."""
    return bool(_GNU.fullmatch(line) or _BSD.fullmatch(line))


def looks_like_zip(line: str) -> bool:
    """Whether a line is one that only a zip's listing has."""
    return bool(_ZIP_HEADS[0].fullmatch(line) or _ZIPINFO.fullmatch(line) or _ZIP_HEADS[2].fullmatch(line))


def read_tar_listing(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One member on each line."""
    return _read(source, blocks, options, tar_member)


def read_zip_listing(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One member on each line; heading and totals are passed over. Links are not told apart by `unzip -l`."""
    return _read(source, blocks, options, _zip_member)


def _read(source: str, blocks: Iterable[bytes], options: Options, parse: object) -> Iterator[Proposal]:
    planted = Planted()
    for number, text in numbered(blocks):
        if isinstance(text, TooLong):
            yield Malformed(source, number, f"a line of {text.size} bytes")
            continue
        line = text.rstrip("\r")
        if not line.strip():
            continue
        member = parse(number, line)  # type: ignore[operator]  # one of the two below
        if isinstance(member, Member):
            yield from uses_of(source, member, planted, options)
        elif member:
            yield Malformed(source, number, member)


def tar_member(number: int, line: str) -> Member | str:
    """One line of `tar -tv`, or what is wrong with it."""
    found = _GNU.fullmatch(line)
    escaped = found is not None
    found = found or _BSD.fullmatch(line)
    if found is None:
        return f"not a line of a tar listing: {line[:80]!r}"
    kind = _KINDS.get(found["kind"])
    if kind is None:
        return f"a member of a kind that is not known: {found['kind']!r}"
    name, target = found["name"], ""
    mark = {"link": " -> ", "hard": " link to "}.get(kind, "")
    if kind == "file" and not escaped and " link to " in name:
        kind, mark = "hard", " link to "  # BSD tar shows a hard link as a file
    if mark:
        if name.count(mark) != 1:
            return f"a link that can be read in two ways: {name[:80]!r}"
        name, target = name.split(mark)
    if escaped:
        try:
            name, target = unescape(name), unescape(target)
        except QuoteError as error:
            return f"a name that cannot be read: {error}"
    return Member(number, kind, name, target)


def _zip_member(number: int, line: str) -> Member | str:
    found = _ZIPINFO.fullmatch(line)
    if found is not None:
        if found["kind"] == "l":
            return f"a symbolic link, and the listing does not say where to: {found['name'][:80]!r}"
        return Member(number, _KINDS.get(found["kind"], "file"), found["name"])
    found = _UNZIP.fullmatch(line)
    if found is not None:
        name = found["name"]
        return Member(number, "dir" if name.endswith("/") else "file", name)
    return (
        ""
        if any(head.fullmatch(line) for head in _ZIP_HEADS)
        else f"not a line of a zip listing: {line[:80]!r}"
    )
