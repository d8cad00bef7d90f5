"""OpenCode's dialect, as our own plugin speaks it: the native tool call in, our answer out (docs/hook-protocol.md).

Source: OpenCode 1.18.33 and its plugin types. The plugin changes the call's arguments or throws; a throw blocks. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches, shim
from ringfence.errors import WireError
from ringfence.model import Access, Op, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import PathUse

NAME = "opencode"
BEFORE = "tool.execute.before"
EVENTS = frozenset((BEFORE,))
AFTER_EVENTS = frozenset(("tool.execute.after",))
SESSION_EVENTS = frozenset(("session.start", "session.end"))
END_EVENT = "session.end"
ROUTES = ("rewrite",)
_MARKS = frozenset(("args",))
_READ, _WRITE = Op.READ, Op.WRITE

# tool -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "read": (("filePath|filePaths", _READ, fields.SOME),),
    "write": (("filePath", _WRITE, fields.ONE),),
    "edit": (("filePath", _WRITE, fields.ONE),),
    "multiedit": (("filePath", _WRITE, fields.ONE),),
    "list": (("path", _READ, fields.MAY),),
    "grep": (("path", _READ, fields.MAY),),
}
COMMANDS: Mapping[str, str] = {"bash": "command"}
READERS = frozenset(("lsp",))
# `invalid` wraps a malformed call and runs nothing.
NO_PATHS = frozenset(
    ("batch_status", "codesearch", "invalid", "plan_enter", "plan_exit", "question", "skill", "task",
     "todoread", "todowrite", "webfetch", "websearch")
)  # fmt: skip


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """What our plugin sends. Raises WireError for anything else, naming the field."""
    found = fields.record(NAME, payload)
    if found.get("agent") != NAME:
        raise fields.foreign(NAME, "our plugin says `agent`: opencode")
    fields.no_other(NAME, found, _MARKS)
    event = fields.text(NAME, found, "event", required=False) or BEFORE
    session = fields.text(NAME, found, "session", required=False)
    if event not in EVENTS:
        if "args" in found and event not in AFTER_EVENTS:
            raise WireError(
                NAME, f"{event} is no event that is known here, and it carries a tool's arguments"
            )
        cwd = fields.text(NAME, found, "cwd", required=False)
        return ToolCall(NAME, event, session, cwd, "", "", (), (), True)
    cwd = fields.folder(NAME, found)
    tool = fields.text(NAME, found, "tool")
    given = fields.given(NAME, tool, found, "args")
    if tool in COMMANDS:
        line = fields.command(NAME, tool, given, COMMANDS[tool])
        return ToolCall(
            NAME,
            event,
            session,
            fields.workdir(NAME, tool, given, "workdir", cwd),
            tool,
            "",
            (),
            (line,),
            True,
        )
    return ToolCall(NAME, event, session, cwd, tool, "", _uses(tool, given, exists), (), True)


def _uses(tool: str, given: Mapping[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "glob":
        return fields.glob_uses(NAME, tool, given, "path", "pattern")
    if tool in ("apply_patch", "patch"):
        return patches.patch_uses(NAME, tool, given.get("patchText"))
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool])
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists, _READ if tool in READERS else _WRITE)


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
    """The answer for our plugin, which has no way to ask a person: a question becomes a denial that says so."""
    if verdict is Verdict.ASK:
        verdict = Verdict.DENY
        reason = f"{reason} OpenCode's plugins cannot ask a person, so this is a refusal."
    changed = None
    if command and payload is not None:
        changed = {**fields.given(NAME, call.tool, payload, "args"), "command": command}
    return shim.answer(verdict, reason, changed=changed, warning=warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return shim.refusal(reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """A plugin cannot ask."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """The plugin is not told the session's permissions; the hook's own words say the posture."""
    return False


def scratch(
    _payload: Mapping[str, object], env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """Where OpenCode keeps outputs that were too long for the model, which reads them back."""
    home = env.get("HOME", "")
    data = env.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else "")
    return ((data, "/opencode/tool-output", Access.READ),) if data[:1] == "/" else ()
