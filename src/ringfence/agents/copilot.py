"""Copilot CLI's hook dialect: payload to ToolCall, decision to answer.

Source: Copilot CLI 1.0.102, run against a scripted model. The event's spelling in the settings decides the payload's:
`preToolUse` sends camelCase and native tool names, `PreToolUse` snake_case and Claude's names with native arguments.
The flat answer works under both; the nested one is ignored under `preToolUse` and the tool runs. A crash of the hook
blocks, a timeout does not. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.errors import WireError
from ringfence.jsonscan import dumps, loads
from ringfence.model import Access, Op, PathUse, Posture, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "copilot"
EVENTS = frozenset(("preToolUse", "PreToolUse"))
AFTER_EVENTS = frozenset(("postToolUse", "PostToolUse", "postToolUseFailure", "PostToolUseFailure"))
SESSION_EVENTS = frozenset(("sessionStart", "sessionEnd", "SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES = ("rewrite",)
_MARKS = frozenset(("toolArgs",))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

# Claude's names, as `PreToolUse` sends them, to the native ones. `Edit` stands for three tools: told by its input.
NATIVE: Mapping[str, str] = {
    "Agent": "task",
    "Bash": "bash",
    "Edit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "PowerShell": "powershell",
    "Read": "view",
    "WebFetch": "web_fetch",
    "Write": "create",
}
# native tool -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "view": (("path", _READ, fields.ONE),),
    "create": (("path", _WRITE, fields.ONE),),
    "edit": (("path", _WRITE, fields.ONE),),
    "str_replace_editor": (("path", _WRITE, fields.ONE),),
    "grep": (("paths|path", _READ, fields.MANY),),
    "rg": (("paths|path", _READ, fields.MANY),),
}
COMMANDS: Mapping[str, str] = {"bash": "command"}
CODE: Mapping[str, str] = {"powershell": "command"}
# The text of `write_bash` goes to a shell that a rewritten `bash` call started, so it is inside the fence already.
NO_PATHS = frozenset(
    ("ask_user", "exit_plan_mode", "fetch_copilot_cli_documentation", "list_agents", "list_bash", "read_agent",
     "read_bash", "report_intent", "session_store_sql", "skill", "stop_bash", "task", "update_todo", "web_fetch",
     "web_search", "write_agent", "write_bash")
)  # fmt: skip
# SQL that reaches a file of its own choice. Copilot refuses ATTACH itself; the rest is not left to it.
_SQL_FILES = ("attach", "vacuum", "load_extension", "writefile", "readfile")


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    camel = "sessionId" in found and "hook_event_name" not in found
    if not camel and ("permission_mode" in found or "transcript_path" in found or "timestamp" not in found):
        raise fields.foreign(
            NAME, "Copilot's calls have a `timestamp`, and neither `permission_mode` nor a transcript"
        )
    session = fields.text(NAME, found, "sessionId" if camel else "session_id", required=False)
    event = "preToolUse" if camel else fields.text(NAME, found, "hook_event_name")
    if (camel and "toolName" not in found) or event not in EVENTS:
        if ("tool_input" in found or "toolArgs" in found) and event not in AFTER_EVENTS:
            raise fields.foreign(
                NAME, f"it carries a tool's input under the event {event}, which is not known here"
            )
        # Without a tool it is a session's event, whose name the camelCase payload does not carry.
        return ToolCall(NAME, "session" if camel else event, session, "", "", "", (), (), True)
    if camel and "toolResult" in found:
        return ToolCall(NAME, "postToolUse", session, "", "", "", (), (), True)
    cwd = fields.folder(NAME, found)
    named = fields.text(NAME, found, "toolName" if camel else "tool_name")
    tool = named if camel else NATIVE.get(named, named)
    value = _arguments(tool, found.get("toolArgs" if camel else "tool_input"))
    commands: tuple[str, ...] = ()
    understood = tool not in CODE
    uses: tuple[PathUse, ...] = ()
    if isinstance(value, str):
        uses = patches.patch_uses(NAME, tool, value)
    elif tool in COMMANDS:
        commands = (fields.command(NAME, tool, value, COMMANDS[tool]),)
    elif tool == "sql":
        understood = not any(word in str(value.get("query")).lower() for word in _SQL_FILES)
    elif understood:
        uses = _uses(tool, value, exists)
    return ToolCall(NAME, event, session, cwd, tool, "", uses, commands, understood)


def _arguments(tool: str, value: object) -> dict[str, object] | str:
    """An object; or a patch, as a text; or, from older releases, the text of a JSON object."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise WireError(NAME, f"the arguments of {tool} are neither a JSON object nor a text")
    if tool in ("apply_patch", "edit") and value.lstrip()[:1] != "{":
        return value
    try:
        made = loads(value)
    except ValueError as error:
        raise WireError(NAME, f"the arguments of {tool} are a text that is not JSON: {error}") from None
    if not isinstance(made, dict):
        raise WireError(NAME, f"the arguments of {tool} are no JSON object")
    return made


def _uses(tool: str, given: dict[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "apply_patch" or (tool == "edit" and "path" not in given):
        return patches.field_patch_uses(NAME, tool, given)
    if tool == "edit" and any(field in given for field in patches.FIELDS):
        return (
            *fields.field_uses(NAME, tool, given, PATHS[tool]),
            *patches.field_patch_uses(NAME, tool, given),
        )
    if tool == "glob":
        return _globs(tool, given)
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool]) or (PathUse(_READ, ".", "paths"),)
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def _globs(tool: str, given: dict[str, object]) -> tuple[PathUse, ...]:
    folders = fields.field_uses(NAME, tool, given, (("paths|path", _READ, fields.MANY),))
    uses: list[PathUse] = []
    for folder in [use.path for use in folders] or [""]:
        uses += fields.glob_uses(NAME, tool, {**given, "paths": folder}, "paths", "pattern")
    return tuple(dict.fromkeys(uses))


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route."""
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
    """The flat answer; an empty stdout for no opinion. Without a terminal Copilot itself denies an `ask`."""
    if call.event not in EVENTS:
        return Reply("", warning)
    if verdict is not Verdict.ALLOW:
        return Reply(_answer(verdict.value, reason), warning)
    if command and payload is not None:
        value = _arguments(call.tool, payload.get("toolArgs" if call.event == "preToolUse" else "tool_input"))
        made: dict[str, object] = {
            "modifiedArgs": {**(value if isinstance(value, dict) else {}), "command": command}
        }
        if call.mode == Posture.UNATTENDED.value:
            # Copilot asks about the paths of our own program in the new command, and nobody is there to say yes.
            made["permissionDecision"] = "allow"
        return Reply(dumps(made), warning)
    return Reply("", warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_answer("deny", reason), reason)


def _answer(decision: str, reason: str) -> str:
    return dumps(
        {"permissionDecision": decision, "permissionDecisionReason": reason[:_MAX_TEXT] or "refused"}
    )


def is_unattended(call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Only the hook's own words say so; and Copilot denies a question that nobody can answer."""
    return call.mode == Posture.UNATTENDED.value


def auto_approves(_call: ToolCall) -> bool:
    """Copilot's payload does not name its approval mode."""
    return False


def scratch(
    payload: Mapping[str, object], env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """The session's own folder, whose plan is read back."""
    session = payload.get("sessionId", payload.get("session_id"))
    home = env.get("HOME", "")
    base = env.get("COPILOT_HOME") or (f"{home}/.copilot" if home else "")
    if base[:1] != "/" or not isinstance(session, str) or len(session) < 8 or not session.isascii():
        return ()
    if not all(c.isalnum() or c == "-" for c in session):
        return ()
    return ((base, f"/session-state/{session}", Access.READ),)
