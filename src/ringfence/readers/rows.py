"""JSON rows of a transcript, one on each line, with the rows that cannot be read as Malformed."""

from __future__ import annotations

from ringfence.proposals import Malformed
from ringfence.readers.chunks import MAX_RECORD, TooLong, numbered
from ringfence.readers.jsonlines import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


def rows(source: str, blocks: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]] | Malformed]:
    """(line, object) for each line. A last line that is cut short, as a killed agent leaves it, is Malformed too."""
    held: Malformed | None = None
    for number, text in numbered(blocks):
        if held is not None:
            yield held
            held = None
        if isinstance(text, TooLong):
            yield Malformed(source, number, f"a line of {text.size} bytes; the limit is {MAX_RECORD}")
        elif text.strip():
            try:
                value = load(text)
            except ValueError as error:
                held = Malformed(source, number, f"not JSON: {error}")
            else:
                if isinstance(value, dict):
                    yield number, value
                else:
                    yield Malformed(source, number, "not an object")
    if held is not None:
        yield held._replace(why=f"the last line is cut short, or no JSON: {held.why.partition(': ')[2]}")


def text_of(value: object) -> str:
    """A text, "" for anything else."""
    return value if isinstance(value, str) else ""


def dict_of(value: object) -> dict[str, Any]:
    """An object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """A list, an empty one for anything else."""
    return value if isinstance(value, list) else []
