"""Factory Droid's hook dialect: payload to ToolCall, decision to answer.

Source: probes of Droid 0.225.2 that others of the project wrote down, and its documentation for the camelCase envelope;
not driven by this project's tests. Claude Code's nested answer; an `ask` ran the tool under `exec`, and the documented
`{"decision":"block"}` blocked nothing, so neither is ever sent. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.jsonscan import dumps
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "droid"
EVENTS = frozenset(("PreToolUse",))
AFTER_EVENTS = frozenset(("PostToolUse",))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES = ("rewrite",)
MODES = frozenset(("off", "spec", "auto-low", "auto-medium", "auto-high"))
_APPROVES = "auto-high"
_MARKS = frozenset(("hookEventName",))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "Read": (("file_path", _READ, fields.ONE),),
    "Create": (("file_path", _WRITE, fields.ONE),),
    "LS": (("directory_path", _READ, fields.MAY),),
    "Task": (("image_paths", _READ, fields.MANY),),
}
COMMANDS: Mapping[str, str] = {"Execute": "command"}
NO_PATHS = frozenset(
    ("ConnectorSearch", "FetchUrl", "Skill", "TaskOutput", "TaskStop", "ToolSearch", "WebSearch")
)


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload, in the spelling that is sent or the one that is documented. Raises WireError for anything that
    is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    camel = "hookEventName" in found
    if (camel and "hook_event_name" in found) or "timestamp" in found:
        raise fields.foreign(NAME, "it has a `timestamp`, or names its event in two spellings")
    mode = fields.text(NAME, found, "permissionMode" if camel else "permission_mode", required=False)
    event = fields.text(NAME, found, "hookEventName" if camel else "hook_event_name")
    session = fields.text(NAME, found, "sessionId" if camel else "session_id", required=False)
    if event not in EVENTS:
        if "tool_input" in found and event not in AFTER_EVENTS:
            raise fields.foreign(NAME, f"it carries a tool's input under {event}, which is not known here")
        return ToolCall(NAME, event, session, "", "", mode, (), (), True)
    if mode not in MODES:
        raise fields.foreign(NAME, "every call of Droid says a permission mode that Droid has")
    cwd = fields.folder(NAME, found)
    tool = fields.text(NAME, found, "tool_name")
    given = fields.given(NAME, tool, found)
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        return ToolCall(NAME, event, session, cwd, tool, mode, (), (line,), True)
    return ToolCall(NAME, event, session, cwd, tool, mode, _uses(tool, given, exists), (), True)


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "ApplyPatch":
        return patches.field_patch_uses(NAME, tool, given)
    if tool == "Edit":
        # The form with several `changes` was seen by others alone: whatever in it names a path counts.
        named = fields.field_uses(NAME, tool, given, (("file_path", _WRITE, fields.ONE),))
        return (*named, *fields.string_uses(NAME, tool, given.get("changes"), exists))
    if tool == "Glob":
        return fields.glob_uses(NAME, tool, given, "folder", "patterns", listed=True)
    if tool == "Grep":
        pattern = given.get("glob_pattern")
        asked = {**given, "glob_pattern": "" if pattern is None else pattern}
        return fields.glob_uses(NAME, tool, asked, "path", "glob_pattern")
    if tool == "GenerateImage":
        images = fields.field_uses(NAME, tool, given, (("input_image_paths", _READ, fields.MANY),))
        rest = {key: value for key, value in given.items() if key != "input_image_paths"}
        return (*images, *fields.string_uses(NAME, tool, rest, exists))
    if tool in PATHS:
        found = fields.field_uses(NAME, tool, given, PATHS[tool])
        return found or ((PathUse(_READ, ".", "directory_path"),) if tool == "LS" else ())
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def route(call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. A changed input was seen to work together with `allow`, which skips Droid's own question: so
    only where Droid approves everything by itself, and never over a person's head or in `spec`."""
    return "rewrite" if call.mode == _APPROVES else "none"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",
    warning: str = "",
    payload: Mapping[str, object] | None = None,
) -> Reply:
    """The nested answer; an empty stdout for no opinion. A question becomes a denial that says so."""
    if call.event not in EVENTS:
        return Reply("", warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} Droid runs the tool where a hook asks, so this is a refusal."
    if verdict is not Verdict.ALLOW:
        return Reply(_denial(reason), warning)
    if not command or payload is None:
        return Reply("", warning)
    given = payload["tool_input"]
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        # Merged by Droid 0.225.2; the whole input is right whether it merges or replaces.
        "updatedInput": {**(given if isinstance(given, dict) else {}), "command": command},
    }
    return Reply(dumps({"hookSpecificOutput": said}), warning)


def _denial(reason: str) -> str:
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason[:_MAX_TEXT] or "refused",
    }
    return dumps({"hookSpecificOutput": said})


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_denial(reason), reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """A question runs the tool, so nobody is there to answer one."""
    return True


def auto_approves(call: ToolCall) -> bool:
    """Whether the session approves its own tool calls."""
    return call.mode == _APPROVES


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
