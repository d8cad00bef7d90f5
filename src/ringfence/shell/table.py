"""Look a command up in the table."""

from __future__ import annotations

from ringfence.shell.commands_data import ENTRIES, NAMES
from ringfence.shell.parsing import decode_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.slots import Entry

_decoded: dict[int, Entry] = {}  # a pure function's memory: entry texts never change


def entry_of(name: str) -> Entry | None:
    """The entry for a command's basename, None if it is not listed."""
    index = NAMES.get(name)
    if index is None and name.startswith("python") and name[6:].replace(".", "").isdigit():
        index = NAMES["python"]
    if index is None:
        return None
    entry = _decoded.get(index)
    if entry is None:
        entry = _decoded[index] = decode_json(ENTRIES[index])
    return entry
