"""Blocks of bytes to separated texts with their numbers, in flat memory.

Text is UTF-8 with surrogateescape, whatever the locale, as everywhere here (PEP 383).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK = 1 << 16  # bytes of one read; what a caller that opens files asks for
MAX_RECORD = (
    16 << 20
)  # bytes of one line, a transcript's with a whole file in it; more is skipped and reported


class TooLong:
    """Stands where a line longer than the limit was. `size`: bytes that were skipped."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


def pieces(blocks: Iterable[bytes], mark: bytes, limit: int = MAX_RECORD) -> Iterator[list[str] | TooLong]:
    """Lists of whole texts, in order, `mark` (one byte) taken off; a TooLong stands alone.

    The last text counts whether or not `mark` stands behind it. Lists and not single texts: a million short lines
    cost a list each block, not a generator step each line. A byte order mark before the first line is none of it.
    """
    found = _pieces(blocks, mark, limit)
    for piece in found:
        if mark == b"\n" and isinstance(piece, list) and piece[0].startswith("\ufeff"):
            piece[0] = piece[0][1:]
        yield piece
        break
    yield from found


def _pieces(blocks: Iterable[bytes], mark: bytes, limit: int = MAX_RECORD) -> Iterator[list[str] | TooLong]:
    rest = b""
    skipped = 0
    for block in blocks:
        if skipped:
            head, found, tail = block.partition(mark)
            skipped += len(head)
            if not found:
                continue
            yield TooLong(skipped)
            skipped, block = 0, tail  # noqa: PLW2901 - what is left of it
        last = block.rfind(mark)
        if last < 0:
            rest += block
        else:
            whole = rest + block[:last]
            rest = block[last + 1 :]
            if len(whole) > limit:
                yield from _careful(whole, mark, limit)
            else:
                yield whole.decode("utf-8", "surrogateescape").split(mark.decode("ascii"))
        if len(rest) > limit:
            skipped, rest = len(rest), b""
    if skipped:
        yield TooLong(skipped)
    elif rest:
        yield [rest.decode("utf-8", "surrogateescape")]


def _careful(whole: bytes, mark: bytes, limit: int) -> Iterator[list[str] | TooLong]:
    for part in whole.split(mark):
        if len(part) > limit:
            yield TooLong(len(part))
        else:
            yield [part.decode("utf-8", "surrogateescape")]


def numbered(
    blocks: Iterable[bytes], mark: bytes = b"\n", limit: int = MAX_RECORD
) -> Iterator[tuple[int, str | TooLong]]:
    """(1-based number, text) one by one, for readers that do more with a line than copy it."""
    number = 0
    for piece in pieces(blocks, mark, limit):
        if isinstance(piece, TooLong):
            number += 1
            yield number, piece
            continue
        for text in piece:
            number += 1
            yield number, text
