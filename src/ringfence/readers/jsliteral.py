"""Calls `tools.NAME(LITERAL)` in JavaScript that a model wrote, as far as their arguments are plain literals.

Not a reader of JavaScript: whatever is not plainly such a call makes the answer "not everything was read".
Source: ECMA-262, "String Literals", "Object Initializer"; Codex 0.171.0's code mode.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARK = "tools"
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
_DEEPEST = 40


class _NoLiteralError(ValueError):
    """Something that only running the script would tell."""


def literal_calls(text: str) -> tuple[list[tuple[str, Any]], bool]:
    """((name, argument) for each call that can be read, whether these are all the calls that the script can make).

    A call without an argument has None.
    """
    found: list[tuple[str, Any]] = []
    complete = True
    at = text.find(_MARK)
    while at >= 0:
        end = at + len(_MARK)
        before = text[at - 1 : at]
        if before.isalnum() or before in {"_", "$"} or _is_name(text[end : end + 1]):
            at = text.find(_MARK, end)
            continue  # part of a longer word
        try:
            name, value, end = _call(text, end)
            found.append((name, value))
        except _NoLiteralError:
            complete = False
        at = text.find(_MARK, end)
    return found, complete and bool(found)


def _call(text: str, at: int) -> tuple[str, Any, int]:
    if text[at : at + 1] != ".":
        raise _NoLiteralError
    start = at = at + 1
    while _is_name(text[at : at + 1]):
        at += 1
    name = text[start:at]
    at = _blank(text, at)
    if not name or text[at : at + 1] != "(":
        raise _NoLiteralError
    at = _blank(text, at + 1)
    if text[at : at + 1] == ")":
        return name, None, at + 1
    value, at = _value(text, at, 0)
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        at = _blank(text, at + 1)
    if text[at : at + 1] != ")":
        raise _NoLiteralError
    return name, value, at + 1


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise _NoLiteralError
    char = text[at : at + 1]
    if char and char in "'\"`":
        return _string(text, at)
    if char == "{":
        return _object(text, at + 1, depth)
    if char == "[":
        return _list(text, at + 1, depth)
    start = at
    while _is_name(text[at : at + 1]) or text[at : at + 1] in {"-", "+", "."}:
        at += 1
    word = text[start:at]
    if word in _WORDS:
        return _WORDS[word], at
    try:
        return float(word), at
    except ValueError:
        raise _NoLiteralError from None


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    out: dict[str, Any] = {}
    while True:
        at = _blank(text, at)
        if text[at : at + 1] == "}":
            return out, at + 1
        if text[at : at + 1] in {"'", '"'}:
            key, at = _string(text, at)
        else:
            start = at
            while _is_name(text[at : at + 1]):
                at += 1
            key = text[start:at]
        at = _blank(text, at)
        if not key or text[at : at + 1] != ":":
            raise _NoLiteralError
        out[key], at = _value(text, _blank(text, at + 1), depth + 1)
        at = _after(text, at, "}")


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    out: list[Any] = []
    while True:
        at = _blank(text, at)
        if text[at : at + 1] == "]":
            return out, at + 1
        value, at = _value(text, at, depth + 1)
        out.append(value)
        at = _after(text, at, "]")


def _after(text: str, at: int, close: str) -> int:
    """Behind a comma, or at the closing bracket."""
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        return at + 1
    if text[at : at + 1] != close:
        raise _NoLiteralError
    return at


def _string(text: str, at: int) -> tuple[str, int]:
    quote = text[at]
    out: list[str] = []
    at += 1
    while at < len(text):
        char = text[at]
        if char == quote:
            return "".join(out), at + 1
        if (char == "\n" and quote != "`") or (quote == "`" and text.startswith("${", at)):
            raise _NoLiteralError
        if char == "\\":
            piece, at = _escape(text, at + 1)
            out.append(piece)
        else:
            out.append(char)
            at += 1
    raise _NoLiteralError


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at : at + 1]
    if char == "0" and text[at + 1 : at + 2].isdigit():
        raise _NoLiteralError  # an octal escape, which strict code refuses
    if char in {"x", "u"}:
        size = 2 if char == "x" else 4
        start, end = at + 1, at + 1 + size
        if text[start : start + 1] == "{":
            start, end = start + 1, text.find("}", start)
        after = end + (text[end : end + 1] == "}" and text[start - 1] == "{")
        try:
            return chr(int(text[start:end], 16)), after
        except (ValueError, OverflowError):
            raise _NoLiteralError from None
    if not char:
        raise _NoLiteralError
    return _SIMPLE.get(char, char), at + 1


def _blank(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _is_name(char: str) -> bool:
    return bool(char) and (char.isalnum() or char in "_$")
