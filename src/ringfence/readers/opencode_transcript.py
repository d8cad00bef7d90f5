"""OpenCode's sessions: its database (`~/.local/share/opencode/opencode.db`) and what `opencode export` prints.

Source: OpenCode 1.18.33, run: tables `session` (id, directory), `message` and `part`, whose `data` is JSON.
"""

from __future__ import annotations

import sqlite3

from ringfence.proposals import CallProposal, Malformed
from ringfence.readers.chunks import TooLong
from ringfence.readers.jsonlines import document, load
from ringfence.readers.rows import dict_of, list_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_QUERY = (
    "SELECT part.rowid, part.session_id, part.data, session.directory, session.parent_id, message.data FROM part "
    "LEFT JOIN session ON session.id = part.session_id LEFT JOIN message ON message.id = part.message_id "
    "ORDER BY part.session_id, part.id"
)


def read_opencode_database(source: str, path: str, options: Options) -> Iterator[Proposal]:
    """A record for each tool part of every session, ordered by session and age; `line` is the row's number.

    `path` is opened for reading only; a file that is no such database is one Malformed record.
    """
    try:
        base = sqlite3.connect(f"file:{_uri(path)}?mode=ro", uri=True)
    except sqlite3.Error as error:
        yield Malformed(source, 0, f"the database cannot be opened: {error}")
        return
    try:
        base.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for number, session, data, directory, parent, message in base.execute(_QUERY):
            yield from _row(source, options, number, (session, data, directory, parent, message))
    except sqlite3.Error as error:
        yield Malformed(source, 0, f"the database cannot be read on: {error}")
    finally:
        base.close()


def _row(source: str, options: Options, number: int, columns: tuple[Any, ...]) -> Iterator[Proposal]:
    session, data, directory, parent, message = columns
    try:
        part = load(text_of(data))
        told = load(message) if isinstance(message, str) else {}
    except ValueError as error:
        yield Malformed(source, number, f"a part that is not JSON: {error}")
        return
    cwd = text_of(dict_of(dict_of(told).get("path")).get("cwd")) or text_of(directory) or options.cwd
    note = "by a sub-agent" if parent else ""
    yield from _part(source, number, dict_of(part), text_of(session), cwd, note)


def read_opencode_export(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One JSON document: `info` of the session and `messages` with their parts, numbered from 1."""
    body = document(blocks)
    if isinstance(body, TooLong):
        yield Malformed(source, 0, f"a document of more than {body.size} bytes")
        return
    try:
        value = load(body[body.find("{") :])  # a line of progress may stand before it
    except ValueError as error:
        yield Malformed(source, 0, f"not JSON: {error}")
        return
    info = dict_of(dict_of(value).get("info"))
    for number, message in enumerate(list_of(dict_of(value).get("messages")), 1):
        told = dict_of(dict_of(message).get("info"))
        cwd = text_of(dict_of(told.get("path")).get("cwd")) or text_of(info.get("directory")) or options.cwd
        for part in list_of(dict_of(message).get("parts")):
            yield from _part(source, number, dict_of(part), text_of(info.get("id")), cwd, "")


def _part(
    source: str, number: int, part: dict[str, Any], session: str, cwd: str, note: str
) -> Iterator[Proposal]:
    if part.get("type") != "tool":
        return
    call = text_of(part.get("callID"))
    payload = {
        "agent": "opencode",
        "cwd": cwd,
        "session": session,
        "call": call,
        "tool": part.get("tool"),
        "args": dict_of(part.get("state")).get("input"),
    }
    yield CallProposal(source, number, "opencode", payload, call, note)


def _uri(path: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in "%?#" else c for c in path)
