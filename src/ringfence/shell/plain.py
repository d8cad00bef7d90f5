"""The commands that need no parser: one simple command of plain words, read alike by every shell.

Starting the parser costs more than all the rest of a reading, and most of what people and agents type is `pytest -q
tests/unit`. What is taken here is narrow on purpose: ASCII words of letters, digits and `_./:@%,+-=`, whole or in
quotes, with blanks between them. Anything else, a reserved word or an assignment in front included, is the parser's;
tests/property/test_shell_plain.py holds the two to the same tree.
"""

from __future__ import annotations

from ringfence.shell.tree import Double, Lit, Quoted, Script, Simple, Stmt, Word

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%,+-=")
_IN_QUOTES = _LETTERS | frozenset(" ;|&<>(){}#*?~^")
_ALL = _IN_QUOTES | frozenset("'\"")

# Reserved words of bash, zsh and ksh; `declare` and its kin; what has a grammar of its own.
_NOT_FIRST = frozenset(
    {"if", "then", "elif", "else", "fi", "for", "foreach", "while", "until", "do", "done", "case", "esac",
     "select", "in", "function", "repeat", "end", "time", "coproc", "nocorrect", "noglob", "declare",
     "typeset", "local", "export", "readonly", "nameref", "integer", "float", "let"}
)  # fmt: skip


def plain_script(text: str) -> Script | None:
    """The tree of a plain command; None for every other text."""
    if not _ALL.issuperset(text):
        return None
    words: list[Word] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] == " ":
            at += 1
            continue
        word = _word(text, at, end)
        if word is None:
            return None
        words.append(word)
        at = word.end
    if not words or not _may_be_first(words[0], text):
        return None
    cmd = Simple((), tuple(words))
    return Script((Stmt(cmd, (), False, False, words[0].start, words[-1].end),), text)


def _may_be_first(word: Word, text: str) -> bool:
    """A command's name in one unquoted piece: no assignment, no reserved word, nothing a shell reads otherwise."""
    name = text[word.start : word.end]
    return _LETTERS.issuperset(name) and "=" not in name and "@" not in name and name not in _NOT_FIRST


def _word(text: str, start: int, end: int) -> Word | None:
    """A plain word, or one that is quoted from its first character to its last."""
    mark = text[start]
    if mark in "'\"":
        close = text.find(mark, start + 1)
        inner = text[start + 1 : close]
        if close < 0 or not inner or not _IN_QUOTES.issuperset(inner):
            return None
        if close + 1 < end and text[close + 1] != " ":
            return None
        part = Quoted(inner) if mark == "'" else Double((Lit(inner),))
        return Word((part,), start, close + 1)
    at = start
    while at < end and text[at] in _LETTERS:
        at += 1
    if at == start or (at < end and text[at] != " ") or mark == "=":
        return None
    return Word((Lit(text[start:at]),), start, at)
