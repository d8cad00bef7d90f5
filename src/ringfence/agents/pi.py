"""Pi's dialect, as our own extension speaks it: the native event in, our answer out (docs/hook-protocol.md).

Source: Pi 1.6.0: dist/core/tools/path-utils.js and dist/utils/paths.js for how it reads a path, its extension types
for the events. The extension changes `event.input`, or blocks; an exception blocks too. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, shim
from ringfence.agents.strings import from_uri
from ringfence.errors import WireError
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "pi"
EVENTS = frozenset(("tool_call", "user_bash"))
AFTER_EVENTS = frozenset(("tool_result",))
SESSION_EVENTS = frozenset(("session_start", "session_shutdown"))
END_EVENT = "session_shutdown"
ROUTES = ("rewrite",)
_MARKS: frozenset[str] = frozenset()
_READ, _WRITE = Op.READ, Op.WRITE

# tool -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "read": (("path", _READ, fields.ONE),),
    "write": (("path", _WRITE, fields.ONE),),
    "edit": (("path", _WRITE, fields.ONE),),
    "ls": (("path", _READ, fields.MAY),),
    "grep": (("path", _READ, fields.MAY),),
    "find": (("path", _READ, fields.MAY),),
}
COMMANDS: Mapping[str, str] = {"bash": "command"}
CODE: Mapping[str, str] = {"powershell": "command"}
# The calls that a `codemode` script makes come as events of their own.
NO_PATHS = frozenset(("codemode", "tool_search"))

_SPACES = {
    ord(c): " "
    for c in "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
}


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """What our extension sends. Raises WireError for anything else, naming the field."""
    found = fields.record(NAME, payload)
    if found.get("agent") != NAME:
        raise fields.foreign(NAME, "our extension says `agent`: pi")
    fields.no_other(NAME, found, _MARKS)
    inner = fields.given(NAME, "the extension", found, "event")
    event = fields.text(NAME, inner, "type")
    mode = fields.text(NAME, found, "mode", required=False)
    session = fields.text(NAME, found, "session", required=False)
    if event not in EVENTS:
        if "input" in inner and event not in AFTER_EVENTS:
            raise WireError(NAME, f"{event} is no event that is known here, and it carries a tool's input")
        cwd = fields.text(NAME, found, "cwd", required=False)
        return ToolCall(NAME, event, session, cwd, "", mode, (), (), True)
    cwd = fields.folder(NAME, found)
    if event == "user_bash":
        line = fields.command(NAME, event, inner)
        return ToolCall(
            NAME,
            event,
            session,
            fields.workdir(NAME, event, inner, "cwd", cwd),
            event,
            mode,
            (),
            (line,),
            True,
        )
    tool = fields.text(NAME, inner, "toolName")
    given = fields.given(NAME, tool, inner, "input")
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        return ToolCall(NAME, event, session, cwd, tool, mode, (), (line,), True)
    uses = () if tool in CODE else _uses(tool, given, cwd, exists)
    return ToolCall(NAME, event, session, cwd, tool, mode, uses, (), tool not in CODE)


def _uses(
    tool: str, given: Mapping[str, object], cwd: str, exists: Callable[[str], bool]
) -> tuple[PathUse, ...]:
    if tool in NO_PATHS:
        return ()
    if tool not in PATHS:
        return fields.string_uses(NAME, tool, given, exists)
    uses = [use._replace(path=spelled(use.path)) for use in fields.field_uses(NAME, tool, given, PATHS[tool])]
    if tool == "find" and given.get("pattern") is not None:
        uses += fields.glob_uses(
            NAME, tool, {**given, "path": uses[0].path if uses else None}, "path", "pattern"
        )
    if tool == "read":
        uses += [
            use._replace(path=v) for use in uses for v in _variants(use.path) if exists(fields.joined(cwd, v))
        ]
    return tuple(dict.fromkeys(uses)) or (PathUse(_READ, ".", "path"),)


def spelled(path: str) -> str:
    """The path that Pi makes of a text: blanks of every width become plain ones, one `@` goes, `file:` is a path."""
    path = path.translate(_SPACES).removeprefix("@")
    return from_uri(path) if path.startswith("file://") else path


def _variants(path: str) -> list[str]:
    """Names that `read` tries where the given one is missing: as macOS stores them. Each that is there is judged."""
    found = []
    for mark in ("AM.", "PM.", "am.", "pm.", "Am.", "aM.", "Pm.", "pM."):
        if f" {mark}" in path:
            found.append(path.replace(f" {mark}", f"\u202f{mark}"))
    if not path.isascii():
        from unicodedata import normalize

        found.append(normalize("NFD", path))
    found += [name.replace("'", "\u2019") for name in [path, *found] if "'" in name]
    return [name for name in dict.fromkeys(found) if name != path]


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. A user's own `!` line is run by operations that the extension hands over."""
    return "rewrite"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",
    warning: str = "",
    payload: Mapping[str, object] | None = None,
) -> Reply:
    """The answer for our extension, which asks a person itself where Pi has a terminal."""
    changed: dict[str, object] | None = None
    if command and payload is not None:
        inner = fields.given(NAME, "the extension", payload, "event")
        given = fields.given(NAME, call.tool, inner, "input") if call.event == "tool_call" else {}
        changed = {**given, "command": command}
    return shim.answer(verdict, reason, changed=changed, warning=warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return shim.refusal(reason)


def is_unattended(call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Pi asks only where it has a terminal (`tui`) or a host that shows its questions (`rpc`)."""
    return call.mode not in ("tui", "rpc")


def auto_approves(_call: ToolCall) -> bool:
    """Always: Pi has no approval of its own."""
    return True


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None. A shell output that was cut off lies in a file of its own in the temp folder, which is not granted."""
    return ()
