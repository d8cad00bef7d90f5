"""Claude Code's hook dialect: payload to ToolCall, decision to answer.

Source: Claude Code 2.1.332. Exit 0 with one JSON object decides; plain text on stdout means "no opinion" and lets the
tool run, so nothing but our JSON is ever printed there. An allow is answered with silence: a fence only narrows, and
the agent's own permission rules keep their say. Hot: no json, no re.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted

from ringfence.agents import claude_tools as tools
from ringfence.agents.strings import TooMuchError, path_strings
from ringfence.errors import WireError
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
_MAX_TEXT = 9_000  # Claude caps hook strings at 10,000 characters


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    if not isinstance(payload, dict):
        raise WireError(NAME, "the hook's payload is not a JSON object")
    event = _text(payload, "hook_event_name")
    session = _text(payload, "session_id", required=False)
    cwd = _text(payload, "cwd", required=event in EVENTS)
    mode = _text(payload, "permission_mode", required=False)
    if event not in EVENTS:
        if "tool_input" in payload and event not in AFTER_EVENTS:
            raise WireError(
                NAME, f"{event} is no hook event that is known here, and it carries a tool's input"
            )
        return ToolCall(NAME, event, session, cwd, "", mode, (), (), True)
    if cwd[:1] != "/":
        raise WireError(NAME, f"the hook's `cwd` is not an absolute path: {cwd!r}")
    tool = _text(payload, "tool_name")
    given = payload.get("tool_input")
    if not isinstance(given, dict):
        raise WireError(NAME, f"the `tool_input` of {tool} is not a JSON object")
    uses, commands, understood = _uses(tool, given, exists)
    return ToolCall(NAME, event, session, cwd, tool, mode, uses, commands, understood)


def _text(payload: Mapping[str, object], key: str, required: bool = True) -> str:
    value = payload.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value):
        raise WireError(NAME, f"the hook's payload has no usable `{key}`")
    return value


def _uses(
    tool: str, given: Mapping[str, object], exists: Callable[[str], bool]
) -> tuple[tuple[PathUse, ...], tuple[str, ...], bool]:
    if tool in tools.COMMANDS:
        field = tools.COMMANDS[tool]
        if tool == "Monitor" and field not in given:
            return (), (), True  # it watches a websocket; nothing is run
        command = given.get(field)
        if not isinstance(command, str):
            raise WireError(NAME, f"the `{field}` of {tool} is not a text")
        return (), (command,), True
    if tool in tools.CODE:
        return (), (), False
    if tool == "Glob":
        return _glob_uses(given), (), True
    if tool in tools.PATHS:
        return _field_uses(tool, given), (), True
    if tool in tools.NO_PATHS:
        return (), (), True
    op = Op.READ if tool in tools.READERS else Op.WRITE
    try:
        found = tuple(PathUse(op, path, key) for key, path in path_strings(given, exists))
    except TooMuchError as error:
        raise WireError(NAME, f"the input of {tool} cannot be judged: {error}") from error
    return found, (), True


def _field_uses(tool: str, given: Mapping[str, object]) -> tuple[PathUse, ...]:
    uses = []
    for field, op, required in tools.PATHS[tool]:
        value = given.get(field)
        if value is None and not required:
            continue
        values = value if isinstance(value, list) else [value]
        if not values and required:
            raise WireError(NAME, f"the `{field}` of {tool} names no path")
        for item in values:
            if not isinstance(item, str):
                raise WireError(NAME, f"the `{field}` of {tool} is not a path")
            uses.append(PathUse(op, item, field))
    return tuple(uses)


def _glob_uses(given: Mapping[str, object]) -> tuple[PathUse, ...]:
    """A search below `path` for `pattern`; both arrive raw, and the pattern may be absolute or climb by `..`."""
    folder = given.get("path")
    pattern = given.get("pattern")
    if not isinstance(pattern, str) or not (folder is None or isinstance(folder, str)):
        raise WireError(NAME, "the `pattern` or `path` of Glob is not a text")
    uses = [PathUse(Op.READ, folder, "path")] if folder else []
    # Up to the last `..`, wildcards standing as names: `*/../../x` climbs out whatever the star matches.
    names = pattern.split("/")
    climbs = max((i for i, n in enumerate(names) if n == ".."), default=-1)
    wild = next((i for i, n in enumerate(names) if any(c in n for c in "*?[{")), len(names))
    keep = max(climbs + 1, wild)
    base = "/".join(names[:keep])
    if pattern.startswith("/") and not base:
        base = "/"
    if base:
        uses.append(
            PathUse(Op.READ, base if base[0] in "/~" or not folder else f"{folder}/{base}", "pattern")
        )
    return tuple(uses) or (PathUse(Op.READ, ".", "pattern"),)


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
