"""Where each key and each array element of a TOML text stands.

`tomllib` decides what is valid and what it means; it keeps no positions. This scanner runs only on text that
tomllib has accepted, so it may be loose about values, but it must find the same keys at the same places
(tests/property/test_policy_toml_spans.py holds the two structures equal). Source: TOML 1.0.0.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Path = tuple[str | int, ...]
    Spans = Mapping[Path, tuple[int, int]]

_SPACE = " \t"
_BARE_END = frozenset(" \t\r\n.=]\"'#,{}")
_SCALAR_END = frozenset(",]}#\n")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


class SpanError(Exception):
    """The scanner lost its way in text that tomllib accepts: our bug, answered by giving up."""


class _Scanner:
    def __init__(self, text: str) -> None:
        # As tomllib does; a column after a lone CR does not exist because TOML forbids one.
        self.text = text.replace("\r\n", "\n") + "\n"
        self.end = len(self.text)
        self.at = 0
        self.line = 1
        self.line_start = 0
        self.spans: dict[Path, tuple[int, int]] = {}
        self.counts: dict[Path, int] = {}

    # --- small steps -----------------------------------------------------------------------------------

    def here(self) -> tuple[int, int]:
        return self.line, self.at - self.line_start + 1

    def step(self, count: int = 1) -> None:
        """Move on, counting lines. Every newline that is passed goes through here."""
        for _ in range(count):
            if self.at >= self.end:
                raise SpanError
            if self.text[self.at] == "\n":
                self.line += 1
                self.line_start = self.at + 1
            self.at += 1

    def blanks(self) -> None:
        while self.text[self.at] in _SPACE:
            self.at += 1

    def blank_lines(self) -> None:
        """Skip blanks, comments and newlines, as far as the last character."""
        while self.at < self.end:
            char = self.text[self.at]
            if char == "#":
                self.at = self.text.index("\n", self.at)
            elif char in " \t\n":
                self.step()
            else:
                return

    # --- keys ------------------------------------------------------------------------------------------

    def key(self) -> list[tuple[str, tuple[int, int]]]:
        """A dotted key: each part with the place where it begins."""
        parts = []
        while True:
            self.blanks()
            place = self.here()
            if self.text[self.at] in "\"'":
                parts.append((self.string(), place))
            else:
                begin = self.at
                while self.text[self.at] not in _BARE_END:
                    self.at += 1
                if self.at == begin:
                    raise SpanError
                parts.append((self.text[begin : self.at], place))
            self.blanks()
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def string(self) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            self.long_string(quote)
            return ""  # only a value can be a long string, and nobody needs a value's text
        self.at += 1
        out = []
        while (char := self.text[self.at]) != quote:
            if char == "\n":
                raise SpanError
            if char == "\\" and quote == '"':
                out.append(self.escape())
            else:
                out.append(char)
                self.at += 1
        self.at += 1
        return "".join(out)

    def escape(self) -> str:
        letter = self.text[self.at + 1]
        digits = _HEX_DIGITS.get(letter, 0)
        begin = self.at + 2
        self.at = begin + digits
        if digits:
            return chr(int(self.text[begin : self.at], 16))
        return _ESCAPES.get(letter, letter)

    def long_string(self, quote: str) -> None:
        self.step(3)
        while not self.text.startswith(quote * 3, self.at):
            self.step(2 if self.text[self.at] == "\\" and quote == '"' else 1)
        self.step(3)
        # Up to two quotes may stand directly before the closing three: they belong to the value.
        while self.text[self.at] == quote:
            self.at += 1

    # --- values ----------------------------------------------------------------------------------------

    def value(self, path: Path) -> None:
        char = self.text[self.at]
        if char in "\"'":
            self.string()
        elif char == "[":
            self.array(path)
        elif char == "{":
            self.inline_table(path)
        else:
            while self.text[self.at] not in _SCALAR_END:
                self.at += 1

    def array(self, path: Path) -> None:
        self.step()
        index = 0
        while True:
            self.blank_lines()
            if self.text[self.at] == "]":
                break
            inner = (*path, index)
            self.spans[inner] = self.here()
            self.value(inner)
            index += 1
            self.blank_lines()
            if self.text[self.at] == ",":
                self.step()
        self.step()

    def inline_table(self, path: Path) -> None:
        self.step()
        while True:
            self.blank_lines()  # TOML 1.1 allows newlines here, 1.0 does not; tomllib has decided already
            if self.text[self.at] == "}":
                break
            self.pair(path)
            self.blank_lines()
            if self.text[self.at] == ",":
                self.step()
        self.step()

    def pair(self, table: Path) -> None:
        path = table
        for name, place in self.key():
            path = (*path, name)
            self.spans.setdefault(path, place)
        if self.text[self.at] != "=":
            raise SpanError
        self.step()
        self.blanks()
        self.value(path)

    # --- the document ----------------------------------------------------------------------------------

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the table that the following pairs belong to."""
        place = self.here()
        many = self.text.startswith("[[", self.at)
        self.step(2 if many else 1)
        path: Path = ()
        parts = self.key()
        for number, (name, where) in enumerate(parts):
            path = (*path, name)
            last = number == len(parts) - 1
            self.spans.setdefault(path, where)
            if last and many:
                index = self.counts[path] = self.counts.get(path, -1) + 1
                path = (*path, index)
                self.spans[path] = place
            elif path in self.counts:
                path = (*path, self.counts[path])
        self.step(2 if many else 1)
        return path

    def document(self) -> Spans:
        table: Path = ()
        while True:
            self.blank_lines()
            if self.at >= self.end:
                return self.spans
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)


def spans(text: str) -> Spans:
    """Map each key path (names, and indexes for array elements) to its 1-based (line, column in characters).

    `text` must have been accepted by `tomllib.loads`. Raises SpanError if the scanner cannot follow it.
    """
    scanner = _Scanner(text)
    try:
        return scanner.document()
    except (IndexError, ValueError) as error:
        raise SpanError(str(error)) from error
