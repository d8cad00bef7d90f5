"""Codex CLI's hook dialect: payload to ToolCall, decision to answer.

Source: Codex CLI 0.171.0, run against a scripted model, and its published hook schemas. Exit 0 with one JSON object
decides, and only a denial does: `ask` is not supported and runs the tool, an `allow` is taken only together with
`updatedInput`, and one field that is not known for the event makes the whole answer void. Everything else runs the
tool, exit status 2 with an empty stderr included. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.jsonscan import dumps
from ringfence.model import Op, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access, PathUse

NAME = "codex"
EVENTS = frozenset(("PreToolUse", "PermissionRequest"))
AFTER_EVENTS = frozenset(("PostToolUse",))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES = ("rewrite",)
# `codex exec` always reports bypassPermissions; `dontAsk` is approval_policy = "never".
UNATTENDED = frozenset(("bypassPermissions", "dontAsk"))
_MARKS = frozenset(("turn_id",))
_MAX_TEXT = 9_000

PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {"view_image": (("path", Op.READ, fields.ONE),)}
# Every shell call comes as `Bash`, whatever the model's tool is called. `write_stdin` comes not at all.
COMMANDS: Mapping[str, str] = {"Bash": "command"}
NO_PATHS = frozenset(("create_goal", "get_goal", "request_user_input", "update_goal", "update_plan"))


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
    if not isinstance(found.get("turn_id"), str) or not isinstance(found.get("model"), str):
        raise fields.foreign(NAME, "every call of Codex says its `turn_id` and `model`")
    cwd = fields.folder(NAME, found)  # the call's own working directory, already absolute
    tool = fields.text(NAME, found, "tool_name")
    given = fields.given(NAME, tool, found)
    uses, commands = _uses(tool, given, cwd, exists)
    return ToolCall(NAME, event, session, cwd, tool, mode, uses, commands, True)


def _uses(
    tool: str, given: Mapping[str, object], cwd: str, exists: Callable[[str], bool]
) -> tuple[tuple[PathUse, ...], tuple[str, ...]]:
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        wrapped = patches.wrapped_patch(line)
        if wrapped is None:
            return (), (line,)
        # Codex applies it in its own process, where no engine stands: an edit, and no command.
        folder, patch = wrapped
        base = fields.joined(cwd, folder) if folder else cwd
        uses = patches.patch_uses(NAME, tool, patch)
        return tuple(use._replace(path=fields.joined(base, use.path)) for use in uses), ()
    if tool == "apply_patch":
        return patches.patch_uses(NAME, tool, given.get("command")), ()
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool]), ()
    if tool in NO_PATHS:
        return (), ()
    return fields.string_uses(NAME, tool, given, exists), ()


def route(call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. `write_stdin` feeds a shell that was itself started by a rewritten call."""
    return "met" if call.event == "PermissionRequest" else "rewrite"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",
    warning: str = "",
    payload: Mapping[str, object] | None = None,
) -> Reply:
    """The answer; an empty stdout for no opinion. A question becomes a denial that says so."""
    if call.event == "PermissionRequest":
        if verdict is not Verdict.DENY:
            return Reply("", warning)  # Codex itself asks a person now
        return Reply(_permission(reason), warning)
    if call.event not in EVENTS:
        return Reply("", warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} Codex cannot ask a person from a hook, so this is a refusal."
    if verdict is not Verdict.ALLOW:
        return Reply(_denial(reason), warning)
    made: dict[str, object] = {}
    if warning:
        made["systemMessage"] = warning[:_MAX_TEXT]
    if command and payload is not None:
        given = payload["tool_input"]
        made["hookSpecificOutput"] = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": {**(given if isinstance(given, dict) else {}), "command": command},
        }
    return Reply(dumps(made) if made else "", warning)


def _denial(reason: str) -> str:
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason[:_MAX_TEXT] or "refused",
    }
    return dumps({"hookSpecificOutput": said})


def _permission(reason: str) -> str:
    decision = {"behavior": "deny", "message": reason[:_MAX_TEXT] or "refused"}
    return dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def refuse(event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_permission(reason) if event == "PermissionRequest" else _denial(reason), reason)


def is_unattended(call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Codex says so by its permission mode."""
    return call.mode in UNATTENDED


def auto_approves(call: ToolCall) -> bool:
    """Whether the session approves its own tool calls."""
    return call.mode in UNATTENDED


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None: Codex's tools keep nothing outside the workspace that they read back."""
    return ()
