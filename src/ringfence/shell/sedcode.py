"""sed scripts: `w`, `W`, `s///w` write, `e` and `s///e` run a command. Everything else only changes text."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call


class _StrangeError(Exception):
    """A script that is not understood."""


def sed_script(call: Call, script: str) -> None:
    if UNKNOWN in script:
        call.walk.unknown("opaque.dynamic-code", "a sed script that is not all in the text")
        return
    try:
        _Scanner(call, script).run()
    except (_StrangeError, IndexError) as strange:
        call.walk.unknown("opaque.inline-code", f"sed: {strange}")


class _Scanner:
    def __init__(self, call: Call, text: str) -> None:
        self.call = call
        self.text = text
        self.i = 0

    def peek(self) -> str:
        return self.text[self.i : self.i + 1]

    def skip(self, chars: str) -> None:
        while self.i < len(self.text) and self.text[self.i] in chars:
            self.i += 1

    def line(self) -> str:
        end = self.text.find("\n", self.i)
        end = len(self.text) if end < 0 else end
        got = self.text[self.i : end]
        self.i = end
        return got

    def run(self) -> None:
        while True:
            self.skip(" \t\n;")
            if self.i >= len(self.text):
                return
            self.address()
            self.skip(" \t")
            while self.peek() == "!":
                self.i += 1
                self.skip(" \t")
            self.command()

    def address(self) -> None:
        while True:
            c = self.peek()
            if c.isdigit() or c in ("+", "~") or c == "$":
                self.i += 1
                self.skip("0123456789~")
            elif c == "/":
                self.i += 1
                self.delimited("/")
                self.skip("IM")
            elif c == "\\":
                delimiter = self.text[self.i + 1]
                self.i += 2
                self.delimited(delimiter)
                self.skip("IM")
            else:
                return
            self.skip(" \t")
            if self.peek() == ",":
                self.i += 1
                self.skip(" \t")
                continue
            return

    def delimited(self, delimiter: str) -> str:
        """Text up to an unescaped delimiter; a bracket expression hides one (seen with GNU sed 4.9)."""
        start = self.i
        while self.i < len(self.text):
            c = self.text[self.i]
            if c == "\\":
                self.i += 2
                continue
            if c == delimiter:
                self.i += 1
                return self.text[start : self.i - 1]
            if c == "[" and delimiter != "[":
                end = self.bracket()
                if end:
                    self.i = end
                    continue
            self.i += 1
        raise _StrangeError("an unterminated pattern")

    def bracket(self) -> int:
        """Index after `]`, 0 if this is no bracket expression."""
        j = self.i + 1
        if self.text[j : j + 1] == "^":
            j += 1
        if self.text[j : j + 1] == "]":
            j += 1
        while j < len(self.text) and self.text[j] != "\n":
            if self.text[j] == "[" and self.text[j + 1 : j + 2] in (":", ".", "="):
                end = self.text.find(self.text[j + 1] + "]", j + 2)
                if end < 0:
                    return 0
                j = end + 2
                continue
            if self.text[j] == "]":
                return j + 1
            j += 1
        return 0

    def command(self) -> None:
        c = self.peek()
        self.i += 1
        if c in ("", "\n", ";", "{", "}"):
            return
        if c in "=dDgGhHnNpPxzF":
            return
        if c in "lqQL":
            self.skip(" \t0123456789")
        elif c == "#":
            self.line()
        elif c in ":btTv":
            while self.i < len(self.text) and self.text[self.i] not in "\n;}":
                self.i += 1
        elif c in "aic":
            self.text_argument()
        elif c in "rR":
            self.call.walk.touch(Op.READ, self.line().strip(), self.call.state, "sed r")
        elif c in "wW":
            self.write()
        elif c == "y":
            delimiter = self.peek()
            self.i += 1
            self.plain(delimiter)
            self.plain(delimiter)
        elif c == "s":
            self.substitute()
        elif c == "e":
            command = self.line().strip()
            if not command:
                raise _StrangeError("e runs what the data says")
            self.call.walk.code(command, self.call.child_state(), "sed e")
        else:
            raise _StrangeError(f"the command {c!r}")

    def plain(self, delimiter: str) -> str:
        start = self.i
        while self.i < len(self.text):
            c = self.text[self.i]
            if c == "\\":
                self.i += 2
                continue
            self.i += 1
            if c == delimiter:
                return self.text[start : self.i - 1]
        raise _StrangeError("an unterminated replacement")

    def write(self) -> None:
        self.call.walk.touch(Op.WRITE, self.line().strip(" \t"), self.call.state, "sed w")

    def text_argument(self) -> None:
        while True:
            got = self.line()
            if not got.endswith("\\") or self.i >= len(self.text):
                return
            self.i += 1

    def substitute(self) -> None:
        delimiter = self.peek()
        if delimiter in ("", "\n", "\\"):
            raise _StrangeError("s without a delimiter")
        self.i += 1
        self.delimited(delimiter)
        replacement = self.plain(delimiter)
        while self.i < len(self.text):
            c = self.peek()
            if c in "gpIiMm0123456789":
                self.i += 1
            elif c == "w":
                self.i += 1
                self.write()
                return
            elif c == "e":
                self.i += 1
                if "&" in replacement or any(f"\\{d}" in replacement for d in "0123456789"):
                    raise _StrangeError("s///e runs what the data says")
                text = replacement.replace("\\" + delimiter, delimiter).replace("\\n", "\n")
                self.call.walk.code(text, self.call.child_state(), "sed s///e")
            elif c in " \t\n;}#":
                return
            else:
                raise _StrangeError(f"the flag {c!r}")
