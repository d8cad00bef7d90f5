"""Claude Code's transcripts: `~/.claude/projects/<folder>/<session>.jsonl`, sub-agents in `<session>/subagents/`.

Source: Claude Code 2.1.332, run. A row holds the folder the session stood in when the row was written; a resumed
session goes on in its file, and a forked one starts with copies of the rows before.
"""

from __future__ import annotations

from ringfence.proposals import CallProposal, Malformed
from ringfence.readers.rows import dict_of, list_of, rows, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options


def read_claude(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """A record for each tool call that the model asked for, whatever became of it."""
    cwd = options.cwd
    mode = ""
    for row in rows(source, blocks):
        if isinstance(row, Malformed):
            yield row
            continue
        line, entry = row
        cwd = text_of(entry.get("cwd")) or cwd
        mode = text_of(entry.get("permissionMode")) or mode
        if entry.get("type") != "assistant":
            continue
        for item in list_of(dict_of(entry.get("message")).get("content")):
            if dict_of(item).get("type") != "tool_use":
                continue
            payload = {
                "hook_event_name": "PreToolUse",
                "session_id": text_of(entry.get("sessionId")),
                "transcript_path": options.path,
                "cwd": cwd,
                "permission_mode": mode,
                "tool_name": item.get("name"),
                "tool_input": item.get("input"),
                "tool_use_id": item.get("id"),
            }
            note = "by a sub-agent" if entry.get("isSidechain") is True else ""
            yield CallProposal(source, line, "claude", payload, text_of(item.get("id")), note)
