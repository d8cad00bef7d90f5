"""Gemini CLI's hook dialect: payload to ToolCall, decision to answer.

Source: Gemini CLI 0.61.0, run against a scripted model, and its bundle. The decision stands at the top level; another
agent's nested shape is ignored and the tool runs. A rewritten input replaces the whole input (a field that is left out
is lost), and the model is told that it was changed. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields
from ringfence.errors import WireError
from ringfence.jsonscan import dumps
from ringfence.model import Access, Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "gemini"
EVENTS = frozenset(("BeforeTool",))
AFTER_EVENTS = frozenset(("AfterTool",))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES = ("rewrite",)
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

# tool -> (field, op, how it is read; see fields.py). `|`: names that older releases used for the same.
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "read_file": (("file_path|absolute_path", _READ, fields.ONE),),
    "write_file": (("file_path", _WRITE, fields.ONE),),
    "replace": (("file_path", _WRITE, fields.ONE),),
    "list_directory": (("dir_path|path", _READ, fields.ONE),),
}
# tool -> (folder, pattern that may climb)
GLOBS: Mapping[str, tuple[str, str]] = {
    "glob": ("dir_path", "pattern"),
    "grep_search": ("dir_path", "include_pattern"),
    "search_file_content": ("path", "include"),
}
COMMANDS: Mapping[str, str] = {"run_shell_command": "command"}
READERS = frozenset(("read_mcp_resource",))
NO_PATHS = frozenset(
    (
        "activate_skill",
        "ask_user",
        "complete_task",
        "enter_plan_mode",
        "google_web_search",
        "invoke_agent",
        "list_background_processes",
        "list_mcp_resources",
        "read_background_output",
        "save_memory",
        "update_topic",
        "web_fetch",
        "write_todos",
    )
)


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found)
    event = fields.text(NAME, found, "hook_event_name")
    session = fields.text(NAME, found, "session_id", required=False)
    if event not in EVENTS:
        if "tool_input" in found and event not in AFTER_EVENTS:
            raise fields.foreign(
                NAME, f"it carries a tool's input under the event {event}, which is not known here"
            )
        cwd = fields.text(NAME, found, "cwd", required=False)
        return ToolCall(NAME, event, session, cwd, "", "", (), (), True)
    cwd = fields.folder(NAME, found)
    tool = fields.text(NAME, found, "tool_name")
    given = fields.given(NAME, tool, found)
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        asked = _permissions(tool, given.get("additional_permissions"))
        for key in ("dir_path", "directory"):
            cwd = fields.workdir(NAME, tool, given, key, cwd)
        return ToolCall(NAME, event, session, cwd, tool, "", asked, (line,), True)
    return ToolCall(NAME, event, session, cwd, tool, "", _uses(tool, given, exists), (), True)


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool])
    if tool in GLOBS:
        return _searches(tool, given)
    if tool == "read_many_files":
        return fields.glob_uses(
            NAME, tool, given, "", "include" if "include" in given else "paths", listed=True
        )
    if tool in ("exit_plan_mode", "get_internal_docs"):
        return _own_file(tool, given)
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists, _READ if tool in READERS else _WRITE)


def _searches(tool: str, given: Mapping[str, object]) -> tuple[PathUse, ...]:
    """A folder, and a pattern below it that may climb: `glob` follows `../*` out of the workspace."""
    where, pattern = GLOBS[tool]
    if tool == "glob" or given.get(pattern) is not None:
        return fields.glob_uses(NAME, tool, given, where, pattern)
    return fields.field_uses(NAME, tool, given, ((where, _READ, fields.MAY),)) or (
        PathUse(_READ, ".", where),
    )


def _own_file(tool: str, given: Mapping[str, object]) -> tuple[PathUse, ...]:
    """A name below a folder of Gemini's own (its plans, its documentation): a plain one is its own business."""
    for key in ("plan_filename", "plan_path", "path"):
        value = given.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            raise WireError(NAME, f"the `{key}` of {tool} is not a path")
        if ".." in value or value[:1] in ("/", "~"):
            return (PathUse(_READ if tool == "get_internal_docs" else _WRITE, value, key),)
    return ()


def _permissions(tool: str, asked: object) -> tuple[PathUse, ...]:
    """What a shell call asks to be let out to: `{"fileSystem": {"read": [...], "write": [...]}}`, by its keys."""
    if asked is None:
        return ()
    fields.given(NAME, tool, {"tool_input": asked})
    return tuple(_grants(asked, _READ, 0))


def _grants(value: object, op: Op, depth: int) -> list[PathUse]:
    if depth > 8:
        raise WireError(NAME, "the `additional_permissions` nest too deeply")
    if isinstance(value, str):
        return [PathUse(op, value, "additional_permissions")]
    found: list[PathUse] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if "network" not in key.lower():
                found += _grants(item, _WRITE if "write" in key.lower() else op, depth + 1)
    elif isinstance(value, list):
        for item in value:
            found += _grants(item, op, depth + 1)
    return found


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
    """The answer; an empty stdout for no opinion. `ask` is undocumented, and ends a run without a terminal."""
    if call.event not in EVENTS:
        return Reply("", warning)
    made: dict[str, object] = {}
    if verdict is not Verdict.ALLOW:
        made = {
            "decision": "ask" if verdict is Verdict.ASK else "deny",
            "reason": reason[:_MAX_TEXT] or "refused",
        }
    elif command and payload is not None:
        given = payload["tool_input"]
        made["hookSpecificOutput"] = {
            "hookEventName": call.event,
            "tool_input": {**(given if isinstance(given, dict) else {}), "command": command},
        }
    if warning:
        made["systemMessage"] = warning[:_MAX_TEXT]
    return Reply(dumps(made) if made else "", warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(dumps({"decision": "deny", "reason": reason[:_MAX_TEXT] or "refused"}), reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Gemini does not say whether somebody is there; only the hook's own words can."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """Gemini's payload does not name its approval mode."""
    return False


def scratch(
    payload: Mapping[str, object], env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """Gemini's folder for this project below its temp folder: long outputs are kept there and read back.

    Taken from the transcript's path, and only where it has the shape that 0.61.0 gives it.
    """
    transcript = payload.get("transcript_path")
    home = env.get("HOME", "")
    lead = f"{home}/.gemini/tmp/"
    if not isinstance(transcript, str) or home[:1] != "/" or not transcript.startswith(lead):
        return ()
    slug, _, rest = transcript[len(lead) :].partition("/")
    if not slug or slug in (".", "..") or not rest.startswith("chats/"):
        return ()
    return ((f"{home}/.gemini", f"/tmp/{slug}", Access.READ),)  # noqa: S108 - a name below Gemini's own folder
