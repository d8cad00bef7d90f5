"""Take whole tables out of a TOML text; every other byte stays. Cold."""

from __future__ import annotations

import tomllib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _header(line: str) -> tuple[str, ...] | None:
    """The keys of a table's header line; None for any other line."""
    if not line.lstrip(" \t").startswith("["):
        return None
    try:
        value = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    at: object = value
    while isinstance(at, dict) and len(at) == 1:
        ((key, at),) = at.items()
        keys.append(key)
        if isinstance(at, list):
            break
    return tuple(keys)


def _blocks(text: str) -> list[tuple[tuple[str, ...] | None, str]]:
    """(keys of the header or None, the lines of that table) in order; what stands before the first has None.

    A line inside a many-line string or array may look like a header: only a cut at which both halves are TOML counts.
    """
    lines = text.splitlines(keepends=True)
    blocks: list[tuple[tuple[str, ...] | None, str]] = []
    keys: tuple[str, ...] | None = None
    begin = 0
    for at, line in enumerate(lines):
        found = _header(line)
        if found is None or not _whole("".join(lines[begin:at])):
            continue
        blocks.append((keys, "".join(lines[begin:at])))
        keys, begin = found, at
    blocks.append((keys, "".join(lines[begin:])))
    return blocks


def _whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def drop_tables(text: str, unwanted: Callable[[tuple[str, ...]], bool]) -> str:
    """The text without the tables whose keys are unwanted, and without the blank line that set each of them apart."""
    made: list[str] = []
    for keys, block in _blocks(text):
        if keys is None or not unwanted(keys):
            made.append(block)
        elif made and made[-1].endswith("\n\n") and not block.endswith("\n\n"):
            made[-1] = made[-1][:-1]
    return "".join(made)


def drop_empty(text: str, keys: tuple[str, ...]) -> str:
    """The text without the table `keys`, if nothing stands in it or below it."""
    blocks = _blocks(text)
    below = [found for found, _ in blocks if found is not None and found[: len(keys)] == keys]
    alone = [block for found, block in blocks if found == keys]
    if len(below) != 1 or len(alone) != 1 or len(alone[0].strip().splitlines()) != 1:
        return text
    return drop_tables(text, lambda found: found == keys)
