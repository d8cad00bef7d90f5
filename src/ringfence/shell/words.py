"""Words to fields, in the shell's own order: braces, tilde, parameters and substitutions, splitting, globs.

Every result is a list of alternatives, because a variable may hold one of several values.
"""

from __future__ import annotations

from ringfence.shell import globs, params
from ringfence.shell.braces import TooManyError, expand_braces
from ringfence.shell.quoting import unescape, unescape_double
from ringfence.shell.state import BREAK, DIGITS, MAX_CHOICES, NOTHING, TILDE, UNKNOWN, State, hides_code
from ringfence.shell.tree import (
    Arith,
    Command,
    Double,
    ExtGlob,
    Lit,
    Param,
    Part,
    Process,
    Quoted,
    Word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.state import Value
    from ringfence.shell.walk import Walk

    Pieces = list[tuple[str, bool]]  # (text, quoted)

_NUMBERS = frozenset(
    ("$", "?", "#", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID",
     "BASHPID", "COLUMNS", "LINES")
)  # fmt: skip
_PLAIN_STOP = frozenset("\\~{*?[@!+(=")


class Words:
    """Expansion in one walk; substitutions are handed back to it."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    # -- results --------------------------------------------------------------------------------------------
    def fields(self, word: Word, state: State) -> list[list[str]]:
        """Alternatives, each the list of arguments this word becomes."""
        parts = word.parts
        if len(parts) == 1:
            only = parts[0]
            if isinstance(only, Quoted):
                return [[only.text]]
            if isinstance(only, Lit) and not _PLAIN_STOP.intersection(only.text):
                return [[only.text]]
        try:
            words = expand_braces(word)
        except TooManyError:
            return [[UNKNOWN]]
        if len(words) > 1 and self.walk.dialect == "sh":
            # dash has no braces: both readings count
            words = [*words, word]
        result: list[list[str]] = [[]]
        for one in words:
            choices = []
            for pieces in self._pieces(one.parts, state, quoted=False, leading=True):
                choices.append(self._glob(self._split(pieces, state), state))
            result = _product(result, choices)
        return result

    def arguments(self, words: tuple[Word, ...], state: State) -> list[list[str]]:
        result: list[list[str]] = [[]]
        for word in words:
            choices = self.fields(word, state)
            if len(choices) == 1 and len(result) == 1:
                result[0].extend(choices[0])
            else:
                result = _product(result, choices)
        return result

    def texts(self, word: Word, state: State, *, tilde: bool = True) -> list[str]:
        """Alternatives of the one text that an assignment or a redirection makes of the word."""
        out = []
        for pieces in self._pieces(word.parts, state, quoted=False, leading=tilde):
            out.append("".join(p for p, _ in pieces).replace(BREAK, " ").replace(NOTHING, ""))
        return list(dict.fromkeys(out))

    def targets(self, word: Word, state: State) -> list[str]:
        """What a redirection may open: the text, and the names on disk that it matches as a pattern."""
        out = self.texts(word, state)
        for choice in self.fields(word, state):
            out.extend(choice)
        return list(dict.fromkeys(out))

    def body(self, word: Word, state: State, *, literal: bool) -> list[str]:
        """A here-document."""
        if literal:
            return ["".join(p.text for p in word.parts if isinstance(p, Lit))]
        out = []
        for pieces in self._pieces(word.parts, state, quoted=True, leading=False, extra=""):
            out.append("".join(p for p, _ in pieces).replace(BREAK, " ").replace(NOTHING, ""))
        return list(dict.fromkeys(out))

    def patterns(self, word: Word, state: State) -> list[str]:
        out = []
        for pieces in self._pieces(word.parts, state, quoted=False, leading=False):
            out.append("".join(globs.quote(t) if q else t for t, q in pieces))
        return list(dict.fromkeys(out))

    def visit(self, words: tuple[Word, ...], state: State) -> list[str]:
        """Walk every substitution in words of which only the text matters (tests, arithmetic)."""
        out = []
        for word in words:
            for pieces in self._pieces(word.parts, state, quoted=True, leading=False):
                out.append("".join(text for text, _ in pieces))
        return out

    # -- pieces ---------------------------------------------------------------------------------------------
    def _pieces(
        self, parts: tuple[Part, ...], state: State, *, quoted: bool, leading: bool, extra: str = '"'
    ) -> list[Pieces]:
        result: list[Pieces] = [[]]
        for index, part in enumerate(parts):
            choices: list[Pieces]
            if isinstance(part, Lit):
                text = part.text
                if quoted:
                    choices = [[(unescape_double(text, extra), True)]]
                elif leading and index == 0 and "~" in text:
                    choices = self._tilde(text, state, alone=len(parts) == 1)
                else:
                    if self.walk.dialect == "zsh" and "(" in text:
                        self._qualifier(text, state)
                    choices = [list(unescape(text))]
            elif isinstance(part, Quoted):
                choices = [[(part.text, True)]]
            elif isinstance(part, Double):
                inner = self._pieces(part.parts, state, quoted=True, leading=False)
                choices = [p or [("", True)] for p in inner]
            elif isinstance(part, Param):
                choices = [[(text, quoted)] for text in self._param(part, state, quoted=quoted)]
            elif isinstance(part, Command):
                said = self.walk.substitute(part.body, state)
                choices = [[(UNKNOWN if said is None else said, quoted)]]
            elif isinstance(part, Process):
                self.walk.aside(part.body, state, writer=part.op == ">(")
                choices = [[("/dev/fd/63", True)]]
            elif isinstance(part, Arith):
                self.walk.arithmetic(state, self.visit(part.words, state), quoted=True)
                choices = [[(DIGITS, True)]]
            elif isinstance(part, ExtGlob):
                choices = [[(part.op + part.pattern + ")", quoted)]]
                if quoted:
                    choices = [[(UNKNOWN, True)]]
            result = (
                _product(result, choices) if len(choices) > 1 or len(result) > 1 else [result[0] + choices[0]]
            )
            if len(result) > MAX_CHOICES:
                result = [[(UNKNOWN, True)]]
        return result

    def _tilde(self, text: str, state: State, *, alone: bool) -> list[Pieces]:
        start = 0
        if not text.startswith("~"):
            # `name=~/x` is expanded by bash even as an argument (`dd of=~/x`).
            name, eq, rest = text.partition("=")
            if not (eq and rest.startswith("~") and name.replace("_", "a").isalnum()):
                return [list(unescape(text))]
            start = len(name) + 1
        slash = text.find("/", start)
        end = len(text) if slash < 0 else slash
        who = text[start + 1 : end]
        if "\\" in who or (slash < 0 and not alone):
            return [list(unescape(text))]
        head: Pieces = [(text[:start], True)] if start else []
        tail = unescape(text[end:])
        roots: tuple[str | None, ...]
        if who == "":
            roots = tuple(_scalar(v) if v is not None else None for v in state.get("HOME"))
        elif who == "+":
            roots = _texts_of(state.values.get("PWD"), state.cwds)
        elif who == "-":
            roots = _texts_of(state.values.get("OLDPWD"), state.oldpwd)
        else:
            roots = (TILDE + who,)
        return [[*head, (TILDE if root is None else root, True), *tail] for root in roots]

    def _qualifier(self, text: str, state: State) -> None:
        """zsh: `*(e:'code':)` runs code for every name; other qualifiers only choose."""
        at = text.find("(")
        body = text[at + 1 :].rstrip(")")
        if body.startswith("e") and len(body) > 2:
            code = body[2:].split(body[1], 1)[0].strip("'\"")
            self.walk.code(code, state, "a glob qualifier")
        elif "e" in body or "+" in body or "P" in body:
            self.walk.unknown("opaque.dynamic-code", f"the glob qualifier ({body})")

    # -- parameters -----------------------------------------------------------------------------------------
    def _param(self, part: Param, state: State, *, quoted: bool) -> list[str]:
        if part.strange:
            for word in part.nested:
                texts = self.texts(word, state, tilde=False)
                if part.strange.startswith("flags:") and "e" in part.strange[6:]:
                    for text in texts:
                        self.walk.code(": " + text, state, "the flag (e)")
            if part.strange.startswith("flags:") and "e" in part.strange[6:] and not part.nested:
                self.walk.unknown("opaque.dynamic-code", "the flag (e)")
            return [UNKNOWN]
        values = self._values(part, state, quoted=quoted)
        if part.op == "slice":
            self.walk.arithmetic(state, self.visit(part.nested, state), quoted=True)
        if not part.op and not part.length:
            self.visit(part.nested, state)
            return ["" if v is None else v for v in values]
        if part.length:
            return [DIGITS]
        out: list[str] = []
        for value in values:
            out.extend(self._operate(part, value, state))
        return list(dict.fromkeys(out))[:MAX_CHOICES] if len(out) <= MAX_CHOICES else [UNKNOWN]

    def _values(self, part: Param, state: State, *, quoted: bool) -> list[str | None]:
        name = part.name
        if name in self.walk.unstable:
            return [UNKNOWN]
        if part.indirect:
            return self._indirect(part, state, quoted=quoted)
        if name in ("@", "*"):
            if state.params is None:
                return [UNKNOWN]
            return [_many(state.params, star=name == "*" and quoted)]
        if name in _NUMBERS and name not in state.values:
            return [DIGITS]
        if name.isdigit():
            index = int(name)
            if index == 0:
                return [v if isinstance(v, str) else UNKNOWN for v in state.values.get("0", (UNKNOWN,))]
            if state.params is None:
                return [UNKNOWN]
            return [state.params[index - 1] if index <= len(state.params) else None]
        if name == "PWD" and name not in state.values:
            return list(state.cwds)
        if name == "OLDPWD" and name not in state.values:
            return list(state.oldpwd)
        if name == "IFS" and name not in state.values:
            return [" \t\n"]
        out: list[str | None] = []
        for value in state.get(name):
            if part.subscript is not None:
                out.extend(self._indexed(value, part.subscript, state, quoted=quoted))
            elif isinstance(value, tuple):
                out.append(value[0] if value else None)
            else:
                out.append(value)
        return out

    def _indexed(
        self, value: str | tuple[str, ...] | None, index: Word, state: State, *, quoted: bool
    ) -> list[str | None]:
        texts = self.texts(index, state, tilde=False)
        if texts not in (["@"], ["*"]):
            self.walk.arithmetic(state, texts, quoted=True)
        if value is None:
            return [None]
        out: list[str | None] = []
        for text in texts:
            if text in ("@", "*"):
                star = text == "*" and quoted
                out.append(_many(value, star=star) if isinstance(value, tuple) else value)
            elif isinstance(value, tuple) and text.isdigit():
                position = int(text)
                out.append(value[position] if position < len(value) else None)
            elif text == "0" and isinstance(value, str):
                out.append(value)
            else:
                out.append(UNKNOWN)
        return out

    def _indirect(self, part: Param, state: State, *, quoted: bool) -> list[str | None]:
        out: list[str | None] = []
        if part.subscript is not None:  # ${!a[@]}: the indices
            return [UNKNOWN]
        for target in self._values(part._replace(indirect=False, op=""), state, quoted=quoted):
            if target is not None and (hides_code(target) or UNKNOWN in target):
                self.walk.unknown("opaque.dynamic-code", f"the name in ${{!{part.name}}}")
            if target is None or not target.replace("_", "a").isalnum() or not target.isascii():
                out.append(UNKNOWN)
            else:
                plain = Param(target)
                out.extend(self._values(plain, state, quoted=quoted))
        return out

    def _operate(self, part: Param, value: str | None, state: State) -> list[str]:
        op = part.op
        word = part.word or Word(())
        if op in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            return self._default(part, op, word, value, state)
        if value is None:
            self.visit(part.nested, state)
            return [""]
        if op in ("#", "##", "%", "%%"):
            return self._each(value, lambda v, p: params.trim(v, op, p), self.patterns(word, state))
        if op in ("/", "//"):
            news = self.texts(part.other or Word(()), state, tilde=False)
            out: list[str] = []
            for new in news:
                out.extend(
                    self._each(
                        value, lambda v, p, n=new: params.replace(v, op, p, n), self.patterns(word, state)
                    )
                )
            return out
        if op in ("^", "^^", ",", ",,") and not word.parts:
            return [params.change_case(value, op)]
        self.visit(part.nested, state)
        if op == "@":
            wanted = self.texts(word, state, tilde=False)
            if wanted != ["Q"]:
                self.walk.unknown("opaque.dynamic-code", f"the expansion ${{{part.name}@{wanted[0]}}}")
        return [UNKNOWN]

    def _each(self, value: str, change: object, patterns: list[str]) -> list[str]:
        try:
            return [
                BREAK.join(change(v, p) for v in value.split(BREAK))  # type: ignore[operator]  # a lambda of ours
                for p in patterns
            ]
        except globs.TooWideError:
            return [UNKNOWN]

    def _default(self, part: Param, op: str, word: Word, value: str | None, state: State) -> list[str]:
        colon = op.startswith(":")
        missing = value is None or (colon and value in ("", NOTHING))
        unsure = value is not None and UNKNOWN in value
        kind = op[-1]
        if kind == "?":
            self.visit(part.nested, state)
            return [] if missing else [value or ""]
        if kind == "+":
            texts = self.texts(word, state)
            return ["", *texts] if unsure else [""] if missing else texts
        if not missing and not unsure:
            return [value or ""]
        texts = self.texts(word, state)
        if kind == "=" and part.name:
            state.set(part.name, [*texts, value] if unsure else texts)
        return [*texts, value or ""] if unsure else texts

    # -- splitting and globs --------------------------------------------------------------------------------
    def _split(self, pieces: Pieces, state: State) -> list[Pieces]:
        fields: list[Pieces] = []
        here: Pieces = []
        seps = self._separators(state)
        for text, quoted in _separate(pieces):
            if text == BREAK:
                fields.append(here)
                here = [("", quoted)]
                continue
            if quoted or self.walk.dialect == "zsh" or not any(c in text for c in seps):
                here.append((text, quoted))
                continue
            run = ""
            for c in text:
                if c not in seps:
                    run += c
                    continue
                if run:
                    here.append((run, False))
                    run = ""
                if here:
                    fields.append(here)
                    here = []
                elif c not in " \t\n":
                    fields.append([("", True)])
            if run:
                here.append((run, False))
        if here:
            fields.append(here)
        out = []
        for field in fields:
            whole = "".join(t for t, _ in field)
            if (whole == "" and not any(q for _, q in field)) or whole == NOTHING:
                continue
            out.append([(t.replace(NOTHING, ""), q) for t, q in field])
        return out

    def _separators(self, state: State) -> str:
        values = [v for v in state.values.get("IFS", (" \t\n",)) if isinstance(v, str)]
        return "".join(values) if values and UNKNOWN not in "".join(values) else " \t\n"

    def _glob(self, fields: list[Pieces], state: State) -> list[str]:
        out: list[str] = []
        for field in fields:
            text = "".join(t for t, _ in field)
            pattern = "".join(globs.quote(t) if q else t for t, q in field)
            if "noglob" in state.options or not globs.is_active(pattern) or UNKNOWN in text:
                out.append(text)
                continue
            out.extend(self.walk.matches(pattern, text, state))
        return out


def _separate(pieces: Pieces) -> Pieces:
    """Every BREAK a piece of its own."""
    if not any(BREAK in text for text, _ in pieces):
        return pieces
    out: Pieces = []
    for text, quoted in pieces:
        for index, chunk in enumerate(text.split(BREAK)):
            if index:
                out.append((BREAK, quoted))
            out.append((chunk, quoted))
    return out


def _texts_of(values: tuple[Value, ...] | None, default: tuple[str, ...]) -> tuple[str | None, ...]:
    """A variable that the text may have set; `default` as long as it did not."""
    if values is None:
        return default
    return tuple(None if v is None else _scalar(v) for v in values)


def _scalar(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else UNKNOWN


def _many(values: tuple[str, ...], *, star: bool = False) -> str:
    if star:
        return " ".join(values)
    return BREAK.join(values) if values else NOTHING


def _product(left: list[list[P]], right: list[list[P]]) -> list[list[P]]:
    if len(left) * len(right) > MAX_CHOICES:
        return [[UNKNOWN]] if left and left[0] and isinstance(left[0][0], str) else [[(UNKNOWN, True)]]  # type: ignore[list-item]  # the two piece types
    return [a + b for a in left for b in right]


if TYPE_CHECKING:
    from typing import TypeVar

    P = TypeVar("P")
