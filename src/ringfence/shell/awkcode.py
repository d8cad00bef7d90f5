"""awk programs: redirected print, system() and pipes."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.state import RESERVED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call

    Token = tuple[str, str]  # (kind, text): "str" "re" "name" "num" "op" "nl"

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def awk_program(call: Call, program: str, operands: list[str], assigned: dict[str, str]) -> None:
    """`operands` are the words after the program (ARGV[1] is the first), `assigned` the `-v` variables."""
    if UNKNOWN in program:
        call.walk.unknown("opaque.dynamic-code", "an awk program that is not all in the text")
        return
    tokens = _tokens(program)
    if tokens is None:
        call.walk.unknown("opaque.inline-code", "awk: a program that is not understood")
        return
    _Reader(call, tokens, operands, assigned).run()


def _tokens(text: str) -> list[Token] | None:  # noqa: PLR0915  # a lexer
    out: list[Token] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c in " \t":
            i += 1
        elif c == "\\" and text[i + 1 : i + 2] == "\n":
            i += 2
        elif c == "\n":
            out.append(("nl", c))
            i += 1
        elif c == "#":
            while i < len(text) and text[i] != "\n":
                i += 1
        elif c == '"':
            value, i = _string(text, i + 1)
            if value is None:
                return None
            out.append(("str", value))
        elif c == "/" and (
            not out or not (out[-1][0] in ("name", "num", "str", "re") or out[-1][1] in (")", "]", "$"))
        ):
            j = i + 1
            inside = False
            while j < len(text) and (text[j] != "/" or inside):
                if text[j] == "\n":
                    return None
                if text[j] == "\\":
                    j += 1
                elif text[j] == "[":
                    inside = True
                elif text[j] == "]":
                    inside = False
                j += 1
            if j >= len(text):
                return None
            out.append(("re", text[i + 1 : j]))
            i = j + 1
        elif c.isalpha() or c == "_":
            j = i
            while j < len(text) and (text[j].isalnum() or text[j] == "_"):
                j += 1
            word = text[i:j]
            out.append(("op" if word in ("print", "printf", "getline") else "name", word))
            i = j
        elif c.isdigit() or c == ".":
            j = i
            while j < len(text) and (text[j].isalnum() or text[j] == "."):
                j += 1
            out.append(("num", text[i:j]))
            i = j
        elif c == "@":
            return None
        else:
            two = text[i : i + 2]
            op = (
                two
                if two
                in (
                    ">>",
                    "||",
                    "&&",
                    "|&",
                    "==",
                    "!=",
                    "<=",
                    ">=",
                    "++",
                    "--",
                    "+=",
                    "-=",
                    "*=",
                    "/=",
                    "%=",
                    "^=",
                )
                else c
            )
            out.append(("op", op))
            i += len(op)
    return out


def _string(text: str, i: int) -> tuple[str | None, int]:
    out = ""
    while i < len(text):
        c = text[i]
        if c == '"':
            return out, i + 1
        if c == "\n":
            return None, i
        if c == "\\":
            follower = text[i + 1 : i + 2]
            if follower in "01234567x" and follower:
                return None, i  # a path in numbers is not worth reading
            out += _ESCAPES.get(follower, follower)
            i += 2
            continue
        out += c
        i += 1
    return None, i


class _Reader:
    def __init__(
        self, call: Call, tokens: list[Token], operands: list[str], assigned: dict[str, str]
    ) -> None:
        self.call = call
        self.tokens = tokens
        self.operands = operands
        self.variables = dict(assigned)
        for index, (kind, text) in enumerate(tokens):
            follower = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            if kind == "name" and (
                follower in ("=", "++", "--", "+=", "-=") or text in ("sub", "gsub", "split")
            ):
                self.variables.pop(text, None)
        if any(t[1] in ("sub", "gsub", "getline") for t in tokens):
            self.variables.clear()

    def unknown(self, what: str) -> None:
        self.call.walk.unknown("opaque.inline-code", f"awk: {what}")

    def run(self) -> None:
        i = 0
        while i < len(self.tokens):
            kind, text = self.tokens[i]
            if kind == "op" and text in ("print", "printf"):
                i = self.printed(i + 1)
                continue
            if kind == "name" and text == "system":
                self.argument(i + 1)
            elif kind == "op" and text in ("|", "|&"):
                follower = self.tokens[i + 1][1] if i + 1 < len(self.tokens) else ""
                if follower == "getline":
                    self.code(
                        self.tokens[i - 1 : i],
                        closed=i < 2 or self.tokens[i - 2][1] in ("{", ";", "(", "\n", "while"),
                    )
            elif (
                kind == "name"
                and i + 1 < len(self.tokens)
                and self.tokens[i + 1][1] == "("
                and i > 0
                and self.tokens[i - 1][1] == "@"
            ):
                self.unknown("an indirect call")
            i += 1

    def argument(self, i: int) -> None:
        """`system(...)`: a single literal is read as shell text."""
        if i + 2 < len(self.tokens) and self.tokens[i][1] == "(" and self.tokens[i + 2][1] == ")":
            self.code(self.tokens[i + 1 : i + 2], closed=True)
        else:
            self.unknown("system() of a computed text")

    def printed(self, i: int) -> int:
        depth = 0
        while i < len(self.tokens):
            kind, text = self.tokens[i]
            if kind == "op" and text in ("(", "[", "{"):
                depth += 1
            elif kind == "op" and text in (")", "]", "}"):
                if depth == 0:
                    return i
                depth -= 1
            elif depth == 0 and (kind == "nl" or (kind == "op" and text == ";")):
                return i
            elif depth == 0 and kind == "op" and text in (">", ">>", "|", "|&"):
                end = i + 1
                inner = 0
                while end < len(self.tokens):
                    k, t = self.tokens[end]
                    if k == "op" and t in ("(", "["):
                        inner += 1
                    elif k == "op" and t in (")", "]") and inner:
                        inner -= 1
                    elif inner == 0 and (k == "nl" or (k == "op" and t in (";", "}", ")"))):
                        break
                    end += 1
                target = self.tokens[i + 1 : end]
                if text in ("|", "|&"):
                    self.code(target, closed=True)
                else:
                    value = self.value(target)
                    if value is None:
                        self.unknown("an output name from the data")
                    else:
                        self.call.walk.touch(Op.WRITE, value, self.call.state, "awk >")
                return end
            elif kind == "name" and text == "system":
                self.argument(i + 1)
            i += 1
        return i

    def value(self, tokens: list[Token]) -> str | None:
        while len(tokens) > 2 and tokens[0][1] == "(" and tokens[-1][1] == ")":
            tokens = tokens[1:-1]
        if len(tokens) == 1:
            kind, text = tokens[0]
            if kind == "str":
                return None if any(c in text for c in RESERVED) else text
            if kind == "name":
                return self.variables.get(text)
        if (
            len(tokens) == 4
            and tokens[0] == ("name", "ARGV")
            and tokens[2][0] == "num"
            and tokens[2][1].isdigit()
        ):
            index = int(tokens[2][1])
            return self.operands[index - 1] if 0 < index <= len(self.operands) else None
        if tokens and all(k in ("str", "name") for k, _ in tokens):
            parts = [self.value([t]) for t in tokens]
            if all(p is not None for p in parts):
                return "".join(p for p in parts if p is not None)
        return None

    def code(self, tokens: list[Token], *, closed: bool) -> None:
        value = self.value(tokens) if closed else None
        if value is None:
            self.unknown("a command from the data")
        else:
            self.call.walk.code(value, self.call.child_state(), "awk")
