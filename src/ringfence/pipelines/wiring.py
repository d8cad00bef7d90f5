"""Our hook in an agent's transient files: the settings module that `install` uses writes the entry."""

from __future__ import annotations

import json

from ringfence.errors import NotEnforcedError
from ringfence.pipelines.say import quote
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.agents.registry import Row


class Call(Record):
    """How the hook is called: the interpreter, its words, and the program that stands as the agent's shell prefix."""

    program: str
    words: tuple[str, ...]
    launcher: str


def wired(row: Row, path: str, text: str, call: Call) -> str:
    """`text` with our hook in it. Raises NotEnforcedError where this build cannot write the agent's hook."""
    try:
        settings = __import__(f"ringfence.agents.{row.module}_settings", fromlist=("install_text",))
    except ModuleNotFoundError:
        if row.module not in _WHOLE:
            raise NotEnforcedError(
                f"nothing was run: this build cannot wire the hook of {row.title}"
            ) from None
        return _whole(row, text, call)
    made: str = settings.install_text(path, text, settings.Wiring(call.program, call.words, call.launcher))
    return made


# --- files of our own, in which nobody else's entries stand -----------------------------------------

# agent -> (events, time limit in the agent's unit, extra top-level keys)
_WHOLE = {
    "codex": (("PreToolUse", "PermissionRequest"), 20),
    "gemini": (("BeforeTool",), 20_000),
}


def _whole(row: Row, text: str, call: Call) -> str:
    value = json.loads(text)
    events, limit = _WHOLE[row.module]
    command = " ".join(map(quote, (call.program, *call.words)))
    for event in events:
        handler = {"type": "command", "command": command, "timeout": limit}
        value.setdefault("hooks", {})[event] = [{"matcher": "*", "hooks": [handler]}]
    return json.dumps(value, indent=2) + "\n"
