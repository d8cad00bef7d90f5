"""Pi's sessions: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`.

Source: Pi 1.6.0, run. The folder stands in the first row; a resumed session goes on in its file.
"""

from __future__ import annotations

from ringfence.proposals import CallProposal, Malformed
from ringfence.readers.rows import dict_of, list_of, rows, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options


def read_pi(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """A record for each tool call that the model asked for. What a person typed behind `!` is no call."""
    cwd = options.cwd
    session = ""
    for row in rows(source, blocks):
        if isinstance(row, Malformed):
            yield row
            continue
        line, entry = row
        if entry.get("type") == "session":
            cwd = text_of(entry.get("cwd")) or cwd
            session = text_of(entry.get("id")) or session
            continue
        message = dict_of(entry.get("message"))
        if entry.get("type") != "message" or message.get("role") != "assistant":
            continue
        for item in list_of(message.get("content")):
            if dict_of(item).get("type") != "toolCall":
                continue
            call = text_of(item.get("id"))
            event = {
                "type": "tool_call",
                "toolName": item.get("name"),
                "toolCallId": call,
                "input": item.get("arguments"),
            }
            payload = {"agent": "pi", "cwd": cwd, "session": session, "mode": "print", "event": event}
            yield CallProposal(source, line, "pi", payload, call)
