"""One path on each line, or between NUL bytes: `find`, `git ls-files [-z]`, `tar -t`."""

from __future__ import annotations

from ringfence.proposals import Malformed, PathProposal
from ringfence.readers.chunks import TooLong, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_MAX_LINE = 1 << 16  # bytes; no path is longer than PATH_MAX (4096), and one this long is refused as such
_new = tuple.__new__


def read_lines(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """Empty lines are passed over; a carriage return at the end is the line's, not the name's."""
    return _read(source, blocks, options, b"\n")


def read_nul(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """Every byte but NUL is the name's. An empty name is a record: nobody writes one by accident."""
    return _read(source, blocks, options, b"\0")


def _read(source: str, blocks: Iterable[bytes], options: Options, mark: bytes) -> Iterator[Proposal]:
    op, agent = options.op, options.agent
    number = 0
    lines = mark == b"\n"
    for piece in pieces(blocks, mark, _MAX_LINE):
        if isinstance(piece, TooLong):
            number += 1
            yield Malformed(source, number, f"{piece.size} bytes without an end; no path is that long")
            continue
        for text in piece:
            number += 1
            if lines:
                if not text:
                    continue
                if text[-1] == "\r":
                    text = text[:-1]  # noqa: PLW2901 - the line's end
                    if not text:
                        continue
            yield _new(PathProposal, (source, number, op, text, "", agent, ""))
