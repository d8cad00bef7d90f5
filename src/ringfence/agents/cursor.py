"""Cursor's hook dialect: payload to ToolCall, decision to answer.

Source: Cursor's hook documentation and third-party captures of 3.9 and 3.20; never run here. Flat JSON at exit 0. With
`failClosed` an empty answer blocks, so an allow is spelled out. `ask` is not enforced on `preToolUse`. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.errors import WireError
from ringfence.jsonscan import dumps, loads
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "cursor"
EVENTS = frozenset(("preToolUse", "beforeShellExecution", "beforeReadFile", "beforeMCPExecution"))
AFTER_EVENTS = frozenset(("postToolUse", "postToolUseFailure", "afterMCPExecution", "afterShellExecution"))
SESSION_EVENTS = frozenset(("sessionStart", "sessionEnd"))
END_EVENT = "sessionEnd"
ROUTES = ("rewrite",)
_MARKS = frozenset(("cursor_version", "generation_id"))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

# tool of `preToolUse` -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "Read": (("file_path|path", _READ, fields.ONE),),
    "Write": (("file_path|path", _WRITE, fields.ONE),),
    "StrReplace": (("file_path|path", _WRITE, fields.ONE),),
    "Delete": (("file_path|path", Op.DELETE, fields.ONE),),
    "Grep": (("file_path|path", _READ, fields.MAY),),
}
COMMANDS: Mapping[str, str] = {"Shell": "command"}
NO_PATHS = frozenset(("Task", "TodoWrite", "WebFetch", "WebSearch"))


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    if "cursor_version" not in found and not ("conversation_id" in found and "generation_id" in found):
        raise fields.foreign(NAME, "every call of Cursor says its `cursor_version`")
    fields.no_other(NAME, found, _MARKS)
    event = fields.text(NAME, found, "hook_event_name")
    session = fields.text(NAME, found, "conversation_id", required=False)
    if event not in EVENTS:
        if event not in AFTER_EVENTS and ("tool_input" in found or "command" in found):
            raise fields.foreign(
                NAME, f"it carries a tool's input under the event {event}, which is not known here"
            )
        return ToolCall(NAME, event, session, "", "", "", (), (), True)
    cwd = _cwd(found)
    if event == "beforeShellExecution":
        line = fields.command(NAME, event, found)
        return ToolCall(NAME, event, session, cwd, "Shell", "", (), (line,), True)
    if event == "beforeReadFile":
        uses = fields.field_uses(NAME, event, found, (("file_path", _READ, fields.ONE),))
        more = fields.string_uses(NAME, event, found.get("attachments"), exists, _READ)
        return ToolCall(NAME, event, session, cwd, "Read", "", (*uses, *more), (), True)
    tool = fields.text(NAME, found, "tool_name")
    given = _input(tool, found.get("tool_input"))
    if event == "preToolUse" and tool in COMMANDS and isinstance(given, dict):
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        where = fields.workdir(NAME, tool, given, "cwd", cwd)
        return ToolCall(NAME, event, session, where, tool, "", (), (line,), True)
    return ToolCall(NAME, event, session, cwd, tool, "", _uses(event, tool, given, exists), (), True)


def _cwd(found: Mapping[str, object]) -> str:
    """The call's own folder where Cursor says one (often it does not), else the first workspace root."""
    if fields.text(NAME, found, "cwd", required=False):
        return fields.folder(NAME, found)
    roots = found.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    if not isinstance(first, str) or first[:1] != "/":
        raise WireError(NAME, "the hook's payload names neither a `cwd` nor an absolute workspace root")
    return first


def _input(tool: str, value: object) -> dict[str, object] | str:
    """The tool's input; that of a tool server comes as the text of a JSON object."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except ValueError:
            return str(value)
    if isinstance(value, dict):
        return value
    raise WireError(NAME, f"the `tool_input` of {tool} is not a JSON object")


def _uses(
    event: str, tool: str, given: dict[str, object] | str, exists: Callable[[str], bool]
) -> tuple[PathUse, ...]:
    if event == "preToolUse" and tool == "ApplyPatch":
        if isinstance(given, str):
            return patches.patch_uses(NAME, tool, given)
        return patches.field_patch_uses(NAME, tool, given)
    if not isinstance(given, dict):
        raise WireError(NAME, f"the `tool_input` of {tool} is not a JSON object")
    if event == "preToolUse":
        if tool == "Glob":
            return fields.glob_uses(
                NAME, tool, given, "path", "pattern" if "pattern" in given else "glob_pattern"
            )
        if tool in PATHS:
            return fields.field_uses(NAME, tool, given, PATHS[tool])
        if tool in NO_PATHS:
            return ()
    return fields.string_uses(NAME, tool, given, exists)


def route(call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. `beforeShellExecution` sees what `preToolUse` made of the command, and cannot change it."""
    return "rewrite" if call.event == "preToolUse" else "none"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",
    warning: str = "",
    payload: Mapping[str, object] | None = None,
) -> Reply:
    """The answer, always one object. The model reads `user_message` (3.20), so the reason stands in both."""
    if call.event not in EVENTS:
        return Reply("{}", warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} Cursor does not enforce a question here, so this is a refusal."
    if verdict is not Verdict.ALLOW:
        return Reply(_denial(reason), warning)
    made: dict[str, object] = {"permission": "allow"}
    if command and payload is not None:
        given = _input(call.tool, payload.get("tool_input"))
        made["updated_input"] = {**(given if isinstance(given, dict) else {}), "command": command}
    if warning:
        made["user_message"] = warning[:_MAX_TEXT]
    return Reply(dumps(made), warning)


def _denial(reason: str) -> str:
    reason = reason[:_MAX_TEXT] or "refused"
    return dumps({"permission": "deny", "user_message": reason, "agent_message": reason})


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_denial(reason), reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """A question is not enforced, so nobody is there to answer one."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """Cursor's payload does not name its approval mode."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None: nothing is known that Cursor keeps outside and reads back."""
    return ()
