"""Claude Code's hook dialect: payload to ToolCall, decision to answer.

Source: Claude Code 2.1.332. Exit 0 with one JSON object decides; plain text on stdout means "no opinion" and lets the
tool run, so nothing but our JSON is ever printed there. An allow is answered with silence: a fence only narrows, and
the agent's own permission rules keep their say. Hot: no json, no re.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted

from ringfence.agents import claude_tools as tools
from ringfence.agents import fields
from ringfence.jsonscan import dumps
from ringfence.model import Access, Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "claude"
EVENTS = frozenset(("PreToolUse", "PermissionRequest", "PreSkillShellCommand"))
# Events that carry a call which has run already, or was denied: nothing to judge.
AFTER_EVENTS = frozenset(("PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionDenied"))
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
# How a shell call gets into the fenced shell: the agent's own shell prefix, or an answer that replaces the command.
ROUTES = ("prefix", "rewrite")
# Modes in which nobody is asked (agents that approve by themselves). `auto` asks a classifier, not a person.
UNATTENDED = frozenset(("bypassPermissions", "dontAsk", "auto"))
AUTO_APPROVING = frozenset(("bypassPermissions", "auto"))
_DROID = frozenset(
    ("off", "spec", "auto-low", "auto-medium", "auto-high")
)  # Factory Droid's permission modes
_OWN = frozenset(("permission_mode", "transcript_path", "tool_use_id"))
_MAX_TEXT = 9_000  # Claude caps hook strings at 10,000 characters


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found)
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
    cwd = fields.folder(NAME, found)
    tool = fields.text(NAME, found, "tool_name")
    if (
        mode in _DROID
        or ("timestamp" in found and not mode)
        or not (_OWN.intersection(found) or _is_known(tool))
    ):
        raise fields.foreign(
            NAME, "every call of Claude Code says its `permission_mode` or `transcript_path`"
        )
    given = fields.given(NAME, tool, found)
    uses, commands, understood = _uses(tool, given, exists)
    return ToolCall(NAME, event, session, cwd, tool, mode, uses, commands, understood)


def _is_known(tool: str) -> bool:
    """Whether Claude Code has a tool of that name: what tells a payload that says nothing else from Kiro's."""
    tables = (tools.PATHS, tools.COMMANDS, tools.CODE, tools.NO_PATHS, tools.READERS, ("Glob",))
    return tool.startswith("mcp__") or any(tool in table for table in tables)


def _uses(
    tool: str, given: Mapping[str, object], exists: Callable[[str], bool]
) -> tuple[tuple[PathUse, ...], tuple[str, ...], bool]:
    if tool in tools.COMMANDS:
        if tool == "Monitor" and tools.COMMANDS[tool] not in given:
            return (), (), True  # it watches a websocket; nothing is run
        return (), (fields.command(NAME, tool, given, tools.COMMANDS[tool]),), True
    if tool in tools.CODE:
        return (), (), False
    if tool == "Glob":
        return fields.glob_uses(NAME, tool, given, "path", "pattern"), (), True
    if tool in tools.PATHS:
        return fields.field_uses(NAME, tool, given, tools.PATHS[tool]), (), True
    if tool in tools.NO_PATHS:
        return (), (), True
    op = Op.READ if tool in tools.READERS else Op.WRITE
    return fields.string_uses(NAME, tool, given, exists, op), (), True


def scratch(
    payload: Mapping[str, object], env: Mapping[str, str], uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """(base, the way from there, access): folders outside the workspace that Claude's own tools need.

    Command output and tool results are read back; plans and the project's memory are written by the Write tool.
    All are plain text that nothing runs. Taken from the agent's own process (environment, transcript path), and
    only where they have exactly the shape that Claude Code 2.1.332 gives them.
    """
    session = payload.get("session_id")
    transcript = payload.get("transcript_path")
    home = env.get("HOME", "")
    config = env.get("CLAUDE_CONFIG_DIR") or (f"{home}/.claude" if home else "")
    if not (
        isinstance(session, str) and isinstance(transcript, str) and config[:1] == "/" and _is_id(session)
    ):
        return ()
    lead, tail = f"{config}/projects/", f"/{session}.jsonl"
    slug = transcript[len(lead) : -len(tail)]
    if transcript != f"{lead}{slug}{tail}" or not slug or "/" in slug or slug in (".", ".."):
        return ()
    temp = (env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp").rstrip("/")  # noqa: S108 - Claude's default
    return (
        (temp, f"/claude-{uid}/{slug}/{session}", Access.WRITE),
        (config, f"/projects/{slug}/{session}", Access.READ),
        (config, f"/projects/{slug}/memory", Access.WRITE),
        (config, "/plans", Access.WRITE),
    )


def _is_id(text: str) -> bool:
    return len(text) > 7 and all(c.isalnum() or c == "-" for c in text) and text.isascii()


def is_unattended(call: ToolCall, env: Mapping[str, str]) -> bool:
    """Whether nobody is there to answer a question. Claude Code says so itself; older ones only by their mode."""
    said = env.get("CLAUDE_CODE_SESSION_ATTENDED")
    if said in {"0", "1"} and call.mode not in UNATTENDED:
        return said == "0"
    return call.mode in UNATTENDED and not (said == "1" and call.mode == "auto")


def auto_approves(call: ToolCall) -> bool:
    """Whether the session approves its own tool calls."""
    return call.mode in AUTO_APPROVING


def route(call: ToolCall, launcher: str, env: Mapping[str, str]) -> str:
    """The way of this call's command into the fenced shell: "prefix", "rewrite", "met" (by another event), "none"."""
    if launcher and env.get("CLAUDE_CODE_SHELL_PREFIX") == launcher:
        return "prefix"
    if launcher and call.event == "PreToolUse" and call.tool == "Bash":
        return "rewrite"
    return "met" if call.event == "PermissionRequest" else "none"


def encode(
    call: ToolCall,
    verdict: Verdict,
    reason: str,
    *,
    command: str = "",
    warning: str = "",
    payload: Mapping[str, object] | None = None,
) -> Reply:
    """The answer; an empty stdout for no opinion. `command` replaces a Bash command by its fenced form."""
    reason = reason[:_MAX_TEXT]
    parts = []
    if verdict is not Verdict.ALLOW:
        if call.event == "PermissionRequest":
            if verdict is Verdict.DENY:
                parts.append(
                    '"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":'
                    f'{{"behavior":"deny","message":{quoted(reason)}}}}}'
                )
        else:
            parts.append(
                f'"hookSpecificOutput":{{"hookEventName":{quoted(call.event)},"permissionDecision":"{verdict}",'
                f'"permissionDecisionReason":{quoted(reason)}}}'
            )
    elif command and payload is not None:
        given = payload["tool_input"]
        changed = dumps({**given, "command": command}) if isinstance(given, dict) else "{}"
        parts.append(
            f'"hookSpecificOutput":{{"hookEventName":{quoted(call.event)},"updatedInput":{changed}}}'
        )
    if warning:
        parts.append(f'"systemMessage":{quoted(warning[:_MAX_TEXT])}')
    return Reply("{" + ",".join(parts) + "}" if parts else "", warning)


def refuse(event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures: the shape that blocks whatever else is wrong."""
    call = ToolCall(NAME, event if event in EVENTS else "PreToolUse", "", "", "", "", (), (), False)
    return encode(call, Verdict.DENY, reason)._replace(stderr=reason)
