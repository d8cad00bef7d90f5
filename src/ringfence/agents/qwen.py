"""Qwen Code's hook dialect: payload to ToolCall, decision to answer.

Source: Qwen Code 0.24.4, run against a scripted model, and its bundle. A fork of Gemini CLI whose hooks follow Claude
Code's shape. `updatedInput` of `PreToolUse` is read and never applied, so no command can be rewritten. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields
from ringfence.errors import WireError
from ringfence.jsonscan import dumps, loads
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "qwen"
EVENTS = frozenset(("PreToolUse",))
AFTER_EVENTS = frozenset(("PostToolUse", "PostToolUseFailure", "PermissionDenied"))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES: tuple[str, ...] = ()
UNATTENDED = frozenset(("yolo", "auto"))
_MARKS = frozenset(("tool_call_id",))
_MAX_TEXT = 9_000
_BRIDGE = 8  # how deep a tool_call may wrap another
_READ, _WRITE = Op.READ, Op.WRITE

# tool -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "read_file": (("file_path|absolute_path", _READ, fields.ONE),),
    "write_file": (("file_path", _WRITE, fields.ONE),),
    "edit": (("file_path", _WRITE, fields.ONE),),
    "notebook_edit": (("notebook_path", _WRITE, fields.ONE),),
    "list_directory": (("path|dir_path", _READ, fields.MAY),),
    "agent": (("working_dir", _READ, fields.MAY),),
}
# tool -> (folder, pattern)
GLOBS: Mapping[str, tuple[str, str]] = {"glob": ("path", "pattern"), "grep_search": ("path", "glob")}
COMMANDS: Mapping[str, str] = {"run_shell_command": "command"}
NO_PATHS = frozenset(
    ("ask_user_question", "enter_plan_mode", "exit_plan_mode", "get_goal", "list_agents", "save_memory", "skill",
     "task_stop", "todo_write", "tool_search", "update_goal", "web_fetch", "web_search")
)  # fmt: skip


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    event = fields.text(NAME, found, "hook_event_name")
    session = fields.text(NAME, found, "session_id", required=False)
    mode = fields.text(NAME, found, "permission_mode", required=False)
    if event not in EVENTS:
        if "tool_input" in found and event not in AFTER_EVENTS:
            raise fields.foreign(
                NAME, f"it carries a tool's input under the event {event}, which is not known here"
            )
        cwd = fields.text(NAME, found, "cwd", required=False)
        return ToolCall(NAME, event, session, cwd, "", mode, (), (), True)
    if "tool_call_id" not in found and not ("timestamp" in found and "prompt_id" in found):
        raise fields.foreign(
            NAME, "every call of Qwen Code says its `tool_call_id`, or `timestamp` and `prompt_id`"
        )
    cwd = fields.folder(NAME, found)
    tool, given = _unwrapped(fields.text(NAME, found, "tool_name"), found)
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        where = fields.workdir(NAME, tool, given, "directory", cwd)
        return ToolCall(NAME, event, session, where, tool, mode, (), (line,), True)
    return ToolCall(NAME, event, session, cwd, tool, mode, _uses(tool, given, exists), (), True)


def _unwrapped(tool: str, payload: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The tool that is really called: `tool_call` carries another one's name and arguments."""
    given = fields.given(NAME, tool, payload)
    for _ in range(_BRIDGE):
        if tool != "tool_call":
            return tool, given
        tool = fields.text(NAME, given, "name")
        inner = given.get("arguments", {})
        if isinstance(inner, str):
            try:
                inner = loads(inner)
            except ValueError as error:
                raise WireError(NAME, f"the `arguments` of tool_call are not JSON: {error}") from None
        given = fields.given(NAME, tool, {"arguments": inner}, "arguments")
    raise WireError(NAME, "the tool_call wraps too many others")


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool in GLOBS:
        where, pattern = GLOBS[tool]
        if tool == "glob" or given.get(pattern) is not None:
            return fields.glob_uses(NAME, tool, given, where, pattern)
        return fields.field_uses(NAME, tool, given, ((where, _READ, fields.MAY),)) or (
            PathUse(_READ, ".", where),
        )
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool])
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route: nothing of Qwen's leads a command into the fenced shell, only `launch` stands around it."""
    return "none"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",  # noqa: ARG001 - `route` never offers it
    warning: str = "",
    payload: Mapping[str, object] | None = None,  # noqa: ARG001 - same
) -> Reply:
    """The nested answer; an empty stdout for no opinion. Without a terminal Qwen itself denies an `ask`."""
    if call.event not in EVENTS:
        return Reply("", warning)
    if verdict is not Verdict.ALLOW:
        return Reply(_answer(verdict.value, reason), warning)
    return Reply(dumps({"systemMessage": warning[:_MAX_TEXT]}) if warning else "", warning)


def _answer(decision: str, reason: str) -> str:
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason[:_MAX_TEXT] or "refused",
    }
    return dumps({"hookSpecificOutput": said})


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_answer("deny", reason), reason)


def is_unattended(call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Qwen says so by its permission mode, and denies a question that nobody can answer."""
    return call.mode in UNATTENDED


def auto_approves(call: ToolCall) -> bool:
    """Whether the session approves its own tool calls."""
    return call.mode in UNATTENDED


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None: nothing is known that Qwen keeps outside and reads back."""
    return ()
