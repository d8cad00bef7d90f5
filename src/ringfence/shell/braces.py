"""Brace expansion on a word that is not expanded yet."""

from __future__ import annotations

import itertools

from ringfence.shell.tree import Lit, Quoted, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.tree import Part

MAX_WORDS = 2000


class TooManyError(Exception):
    """More words than are worth judging."""


def expand_braces(word: Word) -> list[Word]:
    """The words that `{a,b}` and `{1..3}` in unquoted text make of one; itself if there are none."""
    if not any(isinstance(p, Lit) and "{" in p.text for p in word.parts):
        return [word]
    units: list[Part | str] = []
    for part in word.parts:
        if not isinstance(part, Lit):
            units.append(part)
            continue
        i = 0
        while i < len(part.text):
            step = 2 if part.text[i] == "\\" else 1
            units.append(part.text[i : i + step])
            i += step
    made = _expand(units)
    return [Word(_parts(m), word.start, word.end) for m in made]


def _parts(units: list[Part | str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    text = ""
    for unit in units:
        if isinstance(unit, str):
            text += unit
            continue
        if text:
            parts.append(Lit(text))
            text = ""
        parts.append(unit)
    if text:
        parts.append(Lit(text))
    return tuple(parts) or (Quoted(""),)


def _expand(units: list[Part | str]) -> list[list[Part | str]]:
    start = 0
    while True:
        opening = next((i for i in range(start, len(units)) if units[i] == "{"), -1)
        if opening < 0:
            return [units]
        closing, commas = _close(units, opening)
        if closing < 0:
            start = opening + 1
            continue
        inner = units[opening + 1 : closing]
        arms: list[list[Part | str]]
        if commas:
            edges = [opening, *commas, closing]
            arms = []
            for a, b in itertools.pairwise(edges):
                arms.extend(_expand(units[a + 1 : b]))
        else:
            sequence = (
                _sequence("".join(u for u in inner if isinstance(u, str)))
                if all(isinstance(u, str) for u in inner)
                else None
            )
            if sequence is None:
                start = opening + 1
                continue
            arms = [list(text) for text in sequence]
        tails = _expand(units[closing + 1 :])
        if len(arms) * len(tails) > MAX_WORDS:
            raise TooManyError
        head = units[:opening]
        return [[*head, *arm, *tail] for arm in arms for tail in tails]


def _close(units: list[Part | str], opening: int) -> tuple[int, list[int]]:
    depth = 0
    commas: list[int] = []
    for i in range(opening, len(units)):
        unit = units[i]
        if unit == "{":
            depth += 1
        elif unit == "}":
            depth -= 1
            if depth == 0:
                return i, commas
        elif unit == "," and depth == 1:
            commas.append(i)
    return -1, []


def _sequence(text: str) -> list[str] | None:
    ends = text.split("..")
    if len(ends) not in (2, 3):
        return None
    step = 1
    if len(ends) == 3:
        if not _is_int(ends[2]):
            return None
        step = abs(int(ends[2])) or 1
    low, high = ends[0], ends[1]
    if _is_int(low) and _is_int(high):
        a, b = int(low), int(high)
        width = max(len(low), len(high)) if any(_padded(e) for e in (low, high)) else 0
        if abs(a - b) // step > MAX_WORDS:
            raise TooManyError
        numbers = range(a, b + 1, step) if a <= b else range(a, b - 1, -step)
        return [str(n).zfill(width) for n in numbers]
    if len(low) == 1 and len(high) == 1 and low.isascii() and high.isascii():
        a, b = ord(low), ord(high)
        codes = range(a, b + 1, step) if a <= b else range(a, b - 1, -step)
        return ["\\" + chr(c) if not chr(c).isalnum() else chr(c) for c in codes]
    return None


def _is_int(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") and len(text) > 1 else text
    return digits.isascii() and digits.isdigit() and len(digits) < 10


def _padded(text: str) -> bool:
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits.startswith("0")
