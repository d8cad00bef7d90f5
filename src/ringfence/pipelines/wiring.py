"""Our hook in an agent's transient files: the settings module that `install` uses writes the entry."""

from __future__ import annotations

import json
from typing import Any

from ringfence.agents import jsonedit
from ringfence.errors import FenceError, NotEnforcedError
from ringfence.pipelines.say import quote
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def merged(path: str, text: str) -> str:
    """The user's own file at `path`, other bytes as they are, with the values of the JSON object `text` put into it;
    lists are added to. Raises FenceError for a file that is no JSON object."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            new = file.read()
    except FileNotFoundError:
        return text
    except UnicodeDecodeError:
        raise FenceError(f"{path} is not UTF-8 text", "mend it first; nothing was run") from None
    if not new.strip():
        return text
    try:
        old, _ = jsonedit.parse(new)
    except jsonedit.JsonTextError as error:
        raise FenceError(f"{path} is not JSON: {error}", "mend it first; nothing was run") from None
    for way, value in _leaves(json.loads(text)):
        new = jsonedit.put(new, way, _joined(old, way, value))
    return new


def _leaves(value: dict[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*way, key))
        else:
            yield (*way, key), inner


def _joined(old: Any, way: tuple[str, ...], value: Any) -> Any:
    if not isinstance(value, list):
        return value
    for key in way:
        old = old.get(key) if isinstance(old, dict) else None
    had = [old] if isinstance(old, str) else old if isinstance(old, list) else []
    return [*had, *(item for item in value if item not in had)]


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


def trust(row: Row, workspace: str, env: Mapping[str, str]) -> None:
    """Have the agent trust exactly our hook, where it skips others in silence; `env` names the session's own settings
    folder. Raises NotEnforcedError if it does not."""
    settings = __import__(f"ringfence.agents.{row.module}_settings", fromlist=("trust",))
    for check in settings.trust(settings.Site("user", workspace, env.get("HOME", ""), env), False):
        if not check.ok:
            raise NotEnforcedError(f"nothing was run: {row.title} does not trust our hook: {check.detail}")
