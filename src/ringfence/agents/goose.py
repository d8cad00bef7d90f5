"""Goose's hook dialect: payload to ToolCall, decision to answer.

Source: Goose's own source, read and not run. `{"decision":"block"}` refuses at any exit status, an allow is an empty
stdout; there is no question and no changed input. Failures run the tool unless the handler says `on_failure: "block"`,
and only `PreToolUse` is sure to block. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields
from ringfence.jsonscan import dumps
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "goose"
EVENTS = frozenset(("PreToolUse",))
AFTER_EVENTS = frozenset(
    ("PreToolUseResult", "PostToolUse", "PostToolUseFailure", "AfterFileEdit", "AfterShellExecution")
)
SESSION_EVENTS = frozenset(("SessionStart", "SessionEnd"))
END_EVENT = "SessionEnd"
ROUTES: tuple[str, ...] = ()
_MARKS = frozenset(("matcher_context", "working_dir", "tool_call_id"))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

# Tools of the developer extension, which has no prefix now and had one once; every other is `EXTENSION__TOOL`.
_OWN = "developer__"
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "write": (("path", _WRITE, fields.ONE),),
    "edit": (("path", _WRITE, fields.ONE),),
    "tree": (("path", _READ, fields.MAY),),
}
COMMANDS: Mapping[str, str] = {"shell": "command"}
NO_PATHS: frozenset[str] = frozenset()


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    if "event" not in found or "hook_event_name" in found:
        raise fields.foreign(NAME, "Goose names its event in `event`")
    event = fields.text(NAME, found, "event")
    session = fields.text(NAME, found, "session_id", required=False)
    if event not in EVENTS:
        if "tool_input" in found and event not in AFTER_EVENTS:
            raise fields.foreign(NAME, f"it carries a tool's input under {event}, which is not known here")
        return ToolCall(NAME, event, session, "", "", "", (), (), True)
    if "matcher_context" not in found:
        raise fields.foreign(NAME, "every call of Goose says its `matcher_context`")
    cwd = fields.folder(NAME, found, "working_dir")
    named = fields.text(NAME, found, "tool_name")
    tool = named.removeprefix(_OWN)
    given = fields.given(NAME, named, found)
    if tool in COMMANDS:
        line = fields.command(NAME, named, given, COMMANDS[tool])
        return ToolCall(NAME, event, session, cwd, named, "", (), (line,), True)
    return ToolCall(NAME, event, session, cwd, named, "", _uses(tool, given, exists), (), True)


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool]) or (PathUse(_READ, ".", "path"),)
    if tool == "read_image":
        return fields.located_uses(NAME, tool, given, "source", _READ)
    if tool == "web_fetch":
        saved = fields.field_uses(NAME, tool, given, (("save_as", _WRITE, fields.MAY),))
        return (*fields.located_uses(NAME, tool, given, "url", _READ, url=True), *saved)
    return fields.string_uses(NAME, tool, given, exists)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. No input can be changed."""
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
    """The answer; an empty stdout for an allow."""
    if call.event not in EVENTS or verdict is Verdict.ALLOW:
        return Reply("", warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} Goose cannot ask a person from a hook, so this is a refusal."
    return Reply(_block(reason), warning)


def _block(reason: str) -> str:
    return dumps({"decision": "block", "reason": reason[:_MAX_TEXT] or "refused"})


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_block(reason), reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """There is no way to ask."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """The payload does not say (`GOOSE_MODE` does, and is the user's own affair)."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
