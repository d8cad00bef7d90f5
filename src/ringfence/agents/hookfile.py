"""Hook entries in an agent's JSON settings: written, found and taken out again, everything else byte for byte.

Most agents took over one shape: `hooks` maps an event to a list, of groups with a matcher (Claude Code, Codex,
Gemini CLI, Qwen Code) or of handlers (Cursor, Copilot). What differs is a Shape. Cold.
"""

from __future__ import annotations

import shlex
from typing import Any

from ringfence.agents import jsonedit
from ringfence.agents.wiring import Found, Wiring, names_us, read_text
from ringfence.errors import FenceError
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MEND = "mend the file first; nothing was changed"


class Shape(Record):
    """How one agent writes its hooks down.

    judged, session  the events that we stand on; the first of `judged` carries a tool call
    handler          what stands for us at one event
    matchers         events whose group has a matcher
    grouped          whether an event lists groups of handlers, or the handlers themselves
    exec_form        whether a handler names program and arguments apart; else `program` is one line for a shell
    program          the member that names the program
    comments         whether the agent reads comments in this file
    top              members that a file needs beside `hooks`
    off              the switch in these settings that turns hooks off, "" if it is not thrown
    """

    name: str
    judged: tuple[str, ...]
    session: tuple[str, ...]
    handler: Callable[[str, Wiring], dict[str, Any]]
    matchers: tuple[str, ...] = ()
    grouped: bool = True
    exec_form: bool = False
    program: str = "command"
    comments: bool = False
    top: tuple[tuple[str, Any], ...] = ()
    off: Callable[[dict[str, Any]], str] = lambda _: ""

    @property
    def events(self) -> tuple[str, ...]:
        return (*self.judged, *self.session)

    def entry(self, event: str, wiring: Wiring) -> dict[str, Any]:
        """What stands in the event's list."""
        handler = self.handler(event, wiring)
        if not self.grouped:
            return handler
        group: dict[str, Any] = {"hooks": [handler]}
        return {"matcher": "*", **group} if event in self.matchers else group


def line_of(wiring: Wiring, event: str, *, judged: bool) -> str:
    """The command as one line for a shell.

    Codex, Gemini CLI and Qwen Code run the tool when a hook cannot be started, is killed or is slow; exit status 2
    with a word on stderr blocks. So the shell that they start turns every failure into that. What remains: a hook that
    not even SIGKILL ends (a dead disk) outlives the limit, and the agent's own timeout then runs the tool.
    """
    words = shlex.join((*wiring.limit, wiring.command, *wiring.args, "--event", event))
    return f"{words} || {_CLOSE}" if judged else words


_CLOSE = '{ s=$?; [ "$s" -eq 2 ] || echo "ringfence refused this call: its hook ended with status $s" >&2; exit 2; }'


def words_of(shape: Shape, handler: object) -> list[str]:
    """The words of a handler's command; none if it is not of the shape that we write."""
    if not isinstance(handler, dict):
        return []
    if shape.exec_form:
        args = handler.get("args")
        if not isinstance(args, list):
            return []
        return [str(handler.get(shape.program, "")), *[str(a) for a in args]]
    line = handler.get(shape.program)
    try:
        return shlex.split(line) if isinstance(line, str) else []
    except ValueError:
        return []


def is_ours(shape: Shape, handler: object) -> bool:
    """Whether a handler calls ringfence's hook for this agent, of any version or place."""
    return names_us(words_of(shape, handler), shape.name)


def parsed(shape: Shape, path: str, text: str) -> dict[str, Any]:
    """The settings. Raises FenceError, with the line, for what the agent could not read either."""
    try:
        value, _ = jsonedit.parse(text, comments=shape.comments)
    except jsonedit.JsonTextError as error:
        line = text.count("\n", 0, error.at) + 1
        raise FenceError(f"{path}:{line}: not JSON: {error}", _MEND) from None
    if not isinstance(value, dict):
        raise FenceError(f"{path}: the settings are not a JSON object", _MEND)
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(v, list) for v in hooks.values()):
        raise FenceError(f"{path}: `hooks` is not an object of lists", _MEND)
    return value


def _handlers(shape: Shape, entry: object) -> list[object]:
    if not shape.grouped:
        return [entry]
    found = entry.get("hooks", []) if isinstance(entry, dict) else []
    return found if isinstance(found, list) else []


def install_text(shape: Shape, path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text. Our older entries are replaced, all others stay byte for byte; twice changes nothing."""
    if text is not None and stands(shape, path, text, wiring):
        return text
    old = uninstall_text(shape, path, text) if text is not None else None
    new = "{}\n" if old is None or not old.strip() else old
    value = parsed(shape, path, new)
    for key, needed in shape.top:
        if key not in value:
            new = jsonedit.put(new, (key,), needed, comments=shape.comments)
    for event in shape.events:
        new = jsonedit.append(new, ("hooks", event), shape.entry(event, wiring), comments=shape.comments)
    return new


def stands(shape: Shape, path: str, text: str, wiring: Wiring) -> bool:
    """Whether exactly this wiring, and no older one of ours, is in the text already."""
    if not text.strip():
        return False
    hooks = parsed(shape, path, text).get("hooks", {})
    for event, entries in hooks.items():
        ours = [e for e in entries if any(is_ours(shape, h) for h in _handlers(shape, e))]
        if ours != ([shape.entry(event, wiring)] if event in shape.events else []):
            return False
    return all(event in hooks for event in shape.events)


def uninstall_text(shape: Shape, path: str, text: str) -> str:
    """The text without our entries; lists and objects that this leaves empty go too."""
    if not text.strip():
        return text
    before = text
    for event in list(parsed(shape, path, text).get("hooks", {})):
        text = _drop_event(shape, path, text, event)
    if text != before and not parsed(shape, path, text)["hooks"]:
        text = jsonedit.drop(text, ("hooks",), comments=shape.comments)
    return text


def _drop_event(shape: Shape, path: str, text: str, event: str) -> str:
    entries = parsed(shape, path, text)["hooks"][event]
    for index in range(len(entries) - 1, -1, -1):
        handlers = _handlers(shape, entries[index])
        ours = [i for i, h in enumerate(handlers) if is_ours(shape, h)]
        if not ours:
            continue
        if len(ours) == len(handlers):
            text = jsonedit.drop(text, ("hooks", event), index, comments=shape.comments)
            continue
        raise FenceError(
            f"{path}: hooks.{event}[{index}] holds our handler beside somebody else's",
            "move ours into a group of its own, or remove it by hand",
        )
    if entries and not parsed(shape, path, text)["hooks"][event]:
        text = jsonedit.drop(text, ("hooks", event), comments=shape.comments)
    return text


def inspect(shape: Shape, path: str) -> Found:
    """What one settings file says about us."""
    text = read_text(path)
    if text is None:
        return Found(path, False, (), None, "", False)
    if not text.strip():
        return Found(path, True, (), None, "", False)
    try:
        value = parsed(shape, path, text)
    except FenceError as error:
        return Found(path, True, (), None, "", False, error.message)
    events = []
    wiring = None
    line = ""
    off = shape.off(value)
    for event, entries in value.get("hooks", {}).items():
        for handler in [h for entry in entries for h in _handlers(shape, entry)]:
            if is_ours(shape, handler):
                events.append(event)
                if event == shape.judged[0]:
                    words = words_of(shape, handler)
                    wiring = Wiring(words[0], tuple(words[1:]))
                    line = "" if shape.exec_form or not isinstance(handler, dict) else handler[shape.program]
    return Found(path, True, tuple(events), wiring, "", bool(off), "", off, line)
