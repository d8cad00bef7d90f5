"""Parameter operators on known text."""

from __future__ import annotations

from ringfence.shell import globs
from ringfence.shell.state import DIGITS, UNKNOWN


def trim(value: str, op: str, pattern: str) -> str:
    """`#`, `##`, `%`, `%%`."""
    if UNKNOWN in pattern or UNKNOWN in value or DIGITS in value:
        return UNKNOWN
    if op in ("#", "##"):
        ends = globs.prefixes(pattern, value)
        if not ends:
            return value
        return value[ends[0] if op == "#" else ends[-1] :]
    starts = [i for i in range(len(value) + 1) if globs.match(pattern, value[i:])]
    if not starts:
        return value
    return value[: starts[-1] if op == "%" else starts[0]]


def replace(value: str, op: str, pattern: str, new: str) -> str:
    """`/` (first, `/#` and `/%` anchored), `//` (all)."""
    if UNKNOWN in pattern or UNKNOWN in value or DIGITS in value:
        return UNKNOWN
    if op == "/" and pattern[:1] == "#":
        ends = globs.prefixes(pattern[1:], value)
        return new + value[ends[-1] :] if ends else value
    if op == "/" and pattern[:1] == "%":
        starts = [i for i in range(len(value) + 1) if globs.match(pattern[1:], value[i:])]
        return value[: starts[0]] + new if starts else value
    out: list[str] = []
    i = 0
    while i < len(value):
        ends = [e for e in globs.prefixes(pattern, value[i:]) if e > 0]
        if not ends:
            out.append(value[i])
            i += 1
            continue
        out.append(new)
        i += ends[-1]
        if op == "/":
            out.append(value[i:])
            break
    return "".join(out)


def change_case(value: str, op: str) -> str:
    if UNKNOWN in value:
        return UNKNOWN
    if op == "^^":
        return value.upper()
    if op == ",,":
        return value.lower()
    if op == "^":
        return value[:1].upper() + value[1:]
    return value[:1].lower() + value[1:]
