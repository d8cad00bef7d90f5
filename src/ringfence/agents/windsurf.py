"""Windsurf's (Devin Desktop's) hook dialect: payload to ToolCall, decision to exit status.

Source: Windsurf's hook documentation alone; never run here. Only exit status 2 blocks, stderr is the reason; there is
no JSON answer, no question, no changed input. File paths are documented as absolute: a relative one is judged from `/`,
which is inside no ordinary workspace. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, statuses
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "windsurf"
EVENTS = frozenset(("pre_read_code", "pre_write_code", "pre_run_command", "pre_mcp_tool_use"))
AFTER_EVENTS = frozenset(("post_read_code", "post_write_code", "post_run_command", "post_mcp_tool_use"))
SESSION_EVENTS: frozenset[str] = frozenset()
END_EVENT = ""
ROUTES: tuple[str, ...] = ()
_MARKS = frozenset(("agent_action_name",))
# Fields of `tool_info` that say that a tool is about to run.
_TOOL_KEYS = ("file_path", "edits", "command_line", "mcp_tool_name", "mcp_tool_arguments")

# The action is the tool: action -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "pre_read_code": (("file_path", Op.READ, fields.ONE),),
    "pre_write_code": (("file_path", Op.WRITE, fields.ONE),),
}
COMMANDS: Mapping[str, str] = {"pre_run_command": "command_line"}
NO_PATHS: frozenset[str] = frozenset()


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    if "agent_action_name" not in found:
        raise fields.foreign(NAME, "every call of Windsurf says its `agent_action_name`")
    fields.no_other(NAME, found, _MARKS)
    event = fields.text(NAME, found, "agent_action_name")
    session = fields.text(NAME, found, "trajectory_id", required=False)
    info = found.get("tool_info")
    if event not in EVENTS:
        names_a_tool = isinstance(info, dict) and any(key in info for key in _TOOL_KEYS)
        if event not in AFTER_EVENTS and (names_a_tool or "tool_input" in found):
            raise fields.foreign(NAME, f"it carries a tool's input under {event}, which is not known here")
        return ToolCall(NAME, event, session, "", "", "", (), (), True)
    given = fields.given(NAME, event, found, "tool_info")
    cwd = fields.folder(NAME, given) if given.get("cwd") not in (None, "") else "/"
    uses: tuple[PathUse, ...] = ()
    commands: tuple[str, ...] = ()
    tool = event
    if event in COMMANDS:
        commands = (fields.command(NAME, event, given, COMMANDS[event]),)
    elif event in PATHS:
        uses = fields.field_uses(NAME, event, given, PATHS[event])
    else:
        tool = fields.text(NAME, given, "mcp_tool_name")
        value = given.get("mcp_tool_arguments")
        uses = fields.string_uses(NAME, tool, fields.opened(NAME, tool, value), exists)
    return ToolCall(NAME, event, session, cwd, tool, "", uses, commands, True)


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
    return statuses.answer("Windsurf", verdict, reason, warning)


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
