"""Names that are not what they look like, and names that are one on another file system. Pure."""

from __future__ import annotations

from unicodedata import category

from ringfence.resolve.folding import surely_darwin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def is_odd(name: str) -> str:
    """What is wrong with a name, "" if nothing."""
    if name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("-"):
        return ""
    for char in name:
        code = ord(char)
        if code < 0x20 or code == 0x7F:
            return f"holds the control character {char.encode('unicode_escape').decode('ascii')}"
        if 0xDC80 <= code <= 0xDCFF:
            return f"holds the byte \\x{code - 0xDC00:02x}, which is not UTF-8"
        kind = category(char)
        if kind == "Cc":
            return f"holds the control character U+{code:04X}"
        if kind == "Cf":
            return f"holds the invisible or direction-turning character U+{code:04X}"
        if kind in {"Zl", "Zp"}:
            return f"holds the line separator U+{code:04X}"
    if name != name.strip():
        return "begins or ends with a blank"
    if name.startswith("-"):
        return "begins with a dash, which programs read as an option"
    return ""


def colliding(names: Sequence[str]) -> Iterator[list[str]]:
    """Groups of two and more names that a file system without case or Unicode form takes for one (APFS's fold)."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(surely_darwin(name), []).append(name)
    for group in groups.values():
        if len(group) > 1:
            yield group
