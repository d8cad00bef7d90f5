"""Kiro's hook dialect: payload to ToolCall, decision to exit status.

Source: Kiro's documentation (CLI 2, CLI 3 and IDE 1.x) and others' adapters for the tools' fields; never run here. Only
exit status 2 blocks, stderr goes to the model; no JSON answer, no question, no changed input. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, statuses
from ringfence.errors import WireError
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "kiro"
EVENTS = frozenset(("preToolUse", "PreToolUse"))
AFTER_EVENTS = frozenset(("postToolUse", "PostToolUse"))
SESSION_EVENTS: frozenset[str] = frozenset()
END_EVENT = ""
ROUTES: tuple[str, ...] = ()
_READ, _WRITE = Op.READ, Op.WRITE
# What every other agent's call with these events says about itself.
_OTHERS = ("permission_mode", "timestamp", "transcript_path", "conversation_id", "toolName")

# Tools of CLI 2 take one `path` or a list of `operations`, each with its own: every entry is judged.
OPERATIONS: Mapping[str, Op] = {"fs_read": _READ, "read": _READ, "fs_write": _WRITE, "write": _WRITE}
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "read_file": (("path", _READ, fields.ONE),),
    "str_replace": (("path", _WRITE, fields.ONE),),
}
COMMANDS: Mapping[str, str] = {"execute_bash": "command", "shell": "command"}
CODE: Mapping[str, str] = {"execute_cmd": "command"}
NO_PATHS: frozenset[str] = frozenset()


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found)
    for key in _OTHERS:
        if key in found:
            raise fields.foreign(NAME, f"no payload of Kiro has `{key}`")
    event = fields.text(NAME, found, "hook_event_name")
    session = fields.text(NAME, found, "session_id", required=False)
    if event not in EVENTS:
        if "tool_input" in found and event not in AFTER_EVENTS:
            raise fields.foreign(NAME, f"it carries a tool's input under {event}, which is not known here")
        return ToolCall(NAME, event, session, "", "", "", (), (), True)
    cwd = fields.folder(NAME, found)
    tool = fields.text(NAME, found, "tool_name")
    given = fields.given(NAME, tool, found)
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        return ToolCall(NAME, event, session, cwd, tool, "", (), (line,), True)
    if tool in CODE:
        return ToolCall(NAME, event, session, cwd, tool, "", (), (), False)
    return ToolCall(NAME, event, session, cwd, tool, "", _uses(tool, given, exists), (), True)


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool in OPERATIONS:
        return _operations(tool, given, OPERATIONS[tool])
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool])
    return fields.string_uses(NAME, tool, given, exists)


def _operations(tool: str, given: Mapping[str, object], op: Op) -> tuple[PathUse, ...]:
    row = (("path|paths|image_paths", op, fields.SOME),)
    value = given.get("operations")
    if value is None:
        return fields.field_uses(NAME, tool, given, row)
    if not isinstance(value, list) or not value:
        raise WireError(NAME, f"the `operations` of {tool} are no list of operations")
    uses = list(fields.field_uses(NAME, tool, given, (("path|paths|image_paths", op, fields.MANY),)))
    for one in value:
        if not isinstance(one, dict):
            raise WireError(NAME, f"an operation of {tool} is not a JSON object")
        uses += fields.field_uses(NAME, tool, one, row)
    return tuple(uses)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. No input can be changed."""
    return "none"


def encode(
    _call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",  # noqa: ARG001 - one signature for all agents
    warning: str = "",
    payload: Mapping[str, object] | None = None,  # noqa: ARG001
) -> Reply:
    """The answer: an exit status and a reason."""
    return statuses.answer("Kiro", verdict, reason, warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return statuses.refusal(reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """There is no way to ask."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """The payload does not say."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
