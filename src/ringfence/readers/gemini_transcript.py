"""Gemini CLI's chats: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, and the `.json` documents of older versions.

Source: Gemini CLI 0.61.0, run; the older form from its own reader. A message is written again when its calls are known,
so the same call stands there more than once. The folder is only told by the text that opens the chat.
"""

from __future__ import annotations

from ringfence.proposals import CallProposal, Malformed
from ringfence.readers.chunks import TooLong
from ringfence.readers.jsonlines import document, load
from ringfence.readers.rows import dict_of, list_of, rows, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_HEADS = ("- **Workspace Directories:**\n  - ", "I'm currently working in the directory: ")


def read_gemini(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """A record for each call, in the order in which they were first written."""
    reader = _Reader(source, options)
    for row in rows(source, blocks):
        if isinstance(row, Malformed):
            yield row
        else:
            yield from reader.entry(*row)


def read_gemini_document(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One JSON document with a list of `messages`; they are numbered from 1."""
    body = document(blocks)
    try:
        value = load(body) if isinstance(body, str) else None
    except ValueError as error:
        yield Malformed(source, 0, f"not JSON: {error}")
        return
    if not isinstance(value, dict) or isinstance(body, TooLong):
        yield Malformed(source, 0, "not a chat that can be read whole")
        return
    reader = _Reader(source, options)
    reader.session = text_of(value.get("sessionId"))
    for number, message in enumerate(list_of(value.get("messages")), 1):
        yield from reader.entry(number, dict_of(message))


class _Reader:
    def __init__(self, source: str, options: Options) -> None:
        self.source = source
        self.options = options
        self.cwd = ""
        self.session = ""
        self.seen: set[str] = set()

    def entry(self, line: int, entry: dict[str, Any]) -> Iterator[Proposal]:
        self.session = text_of(entry.get("sessionId")) or self.session
        for message in (entry, *list_of(dict_of(entry.get("$set")).get("messages"))):
            self._place(dict_of(message))
            for call in list_of(dict_of(message).get("toolCalls")):
                yield from self._call(line, dict_of(call))

    def _place(self, message: dict[str, Any]) -> None:
        """The first workspace folder that the opening text names."""
        if self.cwd or message.get("type") != "user":
            return
        content = message.get("content")
        texts = (
            [content]
            if isinstance(content, str)
            else [dict_of(part).get("text") for part in list_of(content)]
        )
        for text in texts:
            for head in _HEADS:
                found = text_of(text).partition(head)[2].partition("\n")[0].strip()
                if found.startswith("/"):
                    self.cwd = found
                    return

    def _call(self, line: int, call: dict[str, Any]) -> Iterator[Proposal]:
        name = text_of(call.get("id"))
        if name and name in self.seen:
            return
        self.seen.add(name)
        payload = {
            "session_id": self.session,
            "transcript_path": self.options.path,
            "cwd": self.cwd or self.options.cwd,
            "hook_event_name": "BeforeTool",
            "timestamp": text_of(call.get("timestamp")),
            "tool_name": call.get("name"),
            "tool_input": call.get("args"),
        }
        yield CallProposal(self.source, line, "gemini", payload, name)
