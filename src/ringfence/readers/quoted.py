"""Names as git and tar write the odd ones: C-style escapes (git-config "core.quotePath", GNU tar "escape" style)."""

from __future__ import annotations

_SIMPLE = {
    "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, '"': 34, "\\": 92, "'": 39, "?": 63, " ": 32,
}  # fmt: skip


class QuoteError(ValueError):
    """An escape that no tool writes, or a quote without an end."""


def unescape(text: str) -> str:
    """`\\t`, `\\303\\266`, … decoded; bytes become UTF-8 text with surrogateescape. Raises QuoteError."""
    if "\\" not in text:
        return text
    out = bytearray()
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            out += char.encode("utf-8", "surrogateescape")
            at += 1
            continue
        octal = text[at + 1 : at + 4]
        if len(octal) == 3 and all(c in "01234567" for c in octal) and int(octal, 8) < 256:
            out.append(int(octal, 8))
            at += 4
        elif text[at + 1 : at + 2] in _SIMPLE:
            out.append(_SIMPLE[text[at + 1]])
            at += 2
        else:
            raise QuoteError(f"an unknown escape {text[at : at + 2]!r}")
    return out.decode("utf-8", "surrogateescape")


def take_quoted(text: str) -> tuple[str, str]:
    """(the name in the double quotes that `text` starts with, what follows them). Raises QuoteError."""
    at = 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == '"':
            return unescape(text[1:at]), text[at + 1 :]
        at += 1
    raise QuoteError("a quote without an end")
