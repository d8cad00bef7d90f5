"""What quotes and backslashes leave behind."""

from __future__ import annotations

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_HEX = "0123456789abcdefABCDEF"
_OCTAL = "01234567"


def ansi_c(raw: str) -> str:
    """The text of `$'raw'`. Bytes that are no UTF-8 come back as lone surrogates; NUL ends the text, as in bash."""
    out = bytearray()
    i = 0
    size = len(raw)
    while i < size:
        c = raw[i]
        i += 1
        if c != "\\" or i >= size:
            out += c.encode("utf-8", "surrogateescape")
            continue
        c = raw[i]
        i += 1
        if c in _SIMPLE:
            out += _SIMPLE[c].encode()
        elif c in _OCTAL:
            j = i
            while j < size and j - i < 2 and raw[j] in _OCTAL:
                j += 1
            value = int(raw[i - 1 : j], 8) & 0xFF
            i = j
            if value == 0:
                break
            out.append(value)
        elif c in "xuU":
            limit = {"x": 2, "u": 4, "U": 8}[c]
            j = i
            while j < size and j - i < limit and raw[j] in _HEX:
                j += 1
            if j == i:
                out += b"\\" + c.encode()
                continue
            value = int(raw[i:j], 16)
            i = j
            if value == 0:
                break
            if c == "x":
                out.append(value)
            elif value < 0x110000:
                out += chr(value).encode("utf-8", "surrogatepass")
        elif c == "c" and i < size:
            out.append(ord(raw[i]) & 0x1F if ord(raw[i]) < 0x80 else 0x3F)
            i += 1
        else:
            out += b"\\" + c.encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


def unescape(raw: str) -> list[tuple[str, bool]]:
    """Unquoted text to (text, quoted) runs: a backslash quotes what follows, and with a newline vanishes."""
    if "\\" not in raw:
        return [(raw, False)] if raw else []
    runs: list[tuple[str, bool]] = []
    plain: list[str] = []
    i = 0
    while i < len(raw):
        c = raw[i]
        if c != "\\":
            plain.append(c)
            i += 1
            continue
        follower = raw[i + 1 : i + 2]
        i += 2
        if follower == "\n":
            continue
        if plain:
            runs.append(("".join(plain), False))
            plain = []
        runs.append((follower or "\\", True))
    if plain:
        runs.append(("".join(plain), False))
    return runs


def unescape_double(raw: str, extra: str = '"') -> str:
    """Text inside double quotes (or, with `extra` empty, a here-document): few characters lose a backslash."""
    if "\\" not in raw:
        return raw
    out: list[str] = []
    i = 0
    while i < len(raw):
        c = raw[i]
        follower = raw[i + 1 : i + 2]
        if c == "\\" and follower and (follower in "$`\\\n" or follower in extra):
            if follower != "\n":
                out.append(follower)
            i += 2
        else:
            out.append(c)
            i += 1
    return "".join(out)
