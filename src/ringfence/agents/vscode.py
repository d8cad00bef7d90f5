"""VS Code agent mode's hook dialect (a preview): payload to ToolCall, decision to answer.

Source: VS Code's documentation, and captures of others for the envelope's spelling and most tools' fields; never run
here. Claude Code's nested answer. `updatedInput` is documented as dropped where it does not fit a schema, so no command
rests on it. Matchers are ignored: the hook sees every tool. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.errors import WireError
from ringfence.jsonscan import dumps
from ringfence.model import Op, PathUse, Posture, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "vscode"
EVENTS = frozenset(("PreToolUse",))
AFTER_EVENTS = frozenset(("PostToolUse",))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES: tuple[str, ...] = ()
_MARKS = frozenset(("hookEventName", fields.VSCODE_CALL))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "create_file": (("filePath", _WRITE, fields.ONE),),
    "replace_string_in_file": (("filePath", _WRITE, fields.ONE),),
    "insert_edit_into_file": (("filePath", _WRITE, fields.ONE),),
    "create_directory": (("dirPath|path|filePath", _WRITE, fields.ONE),),
    "read_file": (("filePath", _READ, fields.ONE),),
    "list_dir": (("path", _READ, fields.ONE),),
}
COMMANDS: Mapping[str, str] = {"run_in_terminal": "command"}
# They run what their input does not spell out as one command.
CODE: Mapping[str, str] = dict.fromkeys(
    ("create_and_run_task", "run_task", "run_notebook_cell", "run_vscode_command"), ""
)
NO_PATHS = frozenset(("fetch_webpage", "manage_todo_list"))


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload, in either spelling. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    if "permission_mode" in found or "permissionMode" in found or "timestamp" not in found:
        raise fields.foreign(NAME, "VS Code's calls have a `timestamp` and no permission mode")
    camel = "hookEventName" in found
    if camel and "hook_event_name" in found:
        raise fields.foreign(NAME, "it names its event in two spellings")
    call_id = found.get("tool_use_id")
    marked = isinstance(call_id, str) and fields.VSCODE_CALL in call_id
    if not (camel or marked or "transcript_path" in found):
        raise fields.foreign(NAME, "every payload of VS Code has a `transcript_path`")
    event = fields.text(NAME, found, "hookEventName" if camel else "hook_event_name")
    session = fields.text(NAME, found, "sessionId" if camel else "session_id", required=False)
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


def _uses(tool: str, given: dict[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "apply_patch":
        return patches.field_patch_uses(NAME, tool, given)
    if tool == "multi_replace_string_in_file":
        return _replacements(tool, given)
    if tool == "file_search":
        return fields.glob_uses(NAME, tool, given, "path", "query")
    if tool == "grep_search":
        pattern = given.get("includePattern")
        return fields.glob_uses(
            NAME, tool, {"includePattern": "" if pattern is None else pattern}, "path", "includePattern"
        )
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool])
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def _replacements(tool: str, given: dict[str, object]) -> tuple[PathUse, ...]:
    value = given.get("replacements")
    if not isinstance(value, list) or not value:
        raise WireError(NAME, f"the `replacements` of {tool} are no list of replacements")
    uses = list(fields.field_uses(NAME, tool, given, (("filePath", _WRITE, fields.MAY),)))
    for one in value:
        if not isinstance(one, dict):
            raise WireError(NAME, f"a replacement of {tool} is not a JSON object")
        uses += fields.field_uses(NAME, tool, one, (("filePath", _WRITE, fields.ONE),))
    return tuple(uses)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. A changed input may be dropped in silence, as documented."""
    return "none"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",  # noqa: ARG001 - one signature for all agents
    warning: str = "",
    payload: Mapping[str, object] | None = None,  # noqa: ARG001
) -> Reply:
    """The nested answer; an empty stdout for no opinion."""
    if call.event not in EVENTS or verdict is Verdict.ALLOW:
        return Reply("", warning)
    return Reply(_answer(verdict.value, reason), warning)


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
    """Agent mode lives in a window; only the hook's own words say that nobody is in front of it."""
    return call.mode == Posture.UNATTENDED.value


def auto_approves(_call: ToolCall) -> bool:
    """The payload does not say."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
