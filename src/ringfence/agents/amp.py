"""Amp's dialect for delegated permissions: payload to ToolCall, decision to exit status.

Source: probes of `amp permissions test`, 0.0.1790142911, that others of the project wrote down; no live turn, and not
driven by this project's tests. The delegate reads the tool's arguments alone: what the door adds around them
(`Row.envelope`) says the tool's name, the thread and the folder. 0 allows, 1 asks, 2 and more refuses with stderr for a
reason; stdout is ignored. A status of 1 is given only where the installed words say that a person is there. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches, statuses
from ringfence.model import Op, PathUse, Posture, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "amp"
_EVENT = "delegate"
EVENTS = frozenset((_EVENT,))
AFTER_EVENTS: frozenset[str] = frozenset()
SESSION_EVENTS: frozenset[str] = frozenset()
END_EVENT = ""
ROUTES: tuple[str, ...] = ()
_MARKS = frozenset(("stdin",))
_ENVELOPE = frozenset(("env", "cwd", "stdin"))
_ASK = 1
_READ, _WRITE = Op.READ, Op.WRITE

PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "create_file": (("path", _WRITE, fields.ONE),),
    "edit_file": (("path", _WRITE, fields.ONE),),
    "delete_file": (("path", Op.DELETE, fields.ONE),),
    "Read": (("path", _READ, fields.ONE),),
    "view_media": (("path", _READ, fields.ONE),),
    "upload_thread_file": (("path", _READ, fields.ONE),),
    "download_thread_file": (("destination", _WRITE, fields.ONE),),
    "finder": (("path", _READ, fields.MAY),),
}
# tool -> (command, the folder it runs in)
COMMANDS: Mapping[str, tuple[str, str]] = {
    "shell_command": ("command", "workdir"),
    "async_shell_command": ("command", "workdir"),
    "Bash": ("cmd", "cwd"),
}
GLOBS: Mapping[str, str] = {"Grep": "glob", "glob": "filePattern"}
NO_PATHS = frozenset(("Task", "librarian", "oracle", "read_web_page", "skill", "web_search"))


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """`{env, cwd, stdin}`, as the door makes it. Raises WireError for anything that is not one, naming the field."""
    found = fields.record(NAME, payload)
    fields.no_other(NAME, found, _MARKS)
    env = found.get("env")
    if set(found) != _ENVELOPE or not isinstance(env, dict):
        raise fields.foreign(NAME, "it is not what the door makes of a delegate's input")
    if env.get("AGENT") != NAME:
        raise fields.foreign(NAME, "Amp sets AGENT=amp for its delegate, and here it is not set so")
    tool = fields.text(NAME, env, "AGENT_TOOL_NAME")
    session = fields.text(NAME, env, "AMP_THREAD_ID", required=False)
    cwd = fields.folder(NAME, found)
    given = fields.given(NAME, tool, found, "stdin")
    if tool in COMMANDS:
        key, where = COMMANDS[tool]
        line = fields.command(NAME, tool, given, key)
        folder = fields.workdir(NAME, tool, given, where, cwd)
        return ToolCall(NAME, _EVENT, session, folder, tool, "", (), (line,), True)
    return ToolCall(NAME, _EVENT, session, cwd, tool, "", _uses(tool, given, exists), (), True)


def _uses(tool: str, given: dict[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "apply_patch":
        return patches.field_patch_uses(NAME, tool, given)
    if tool in GLOBS:
        key = GLOBS[tool]
        pattern = given.get(key)
        return fields.glob_uses(NAME, tool, {**given, key: "" if pattern is None else pattern}, "path", key)
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool]) or (PathUse(_READ, ".", "path"),)
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. A delegate can change no input."""
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
    """The answer: an exit status and a reason."""
    if verdict is Verdict.ASK and call.mode == Posture.ATTENDED.value:
        return statuses.refusal(reason, warning)._replace(status=_ASK)
    return statuses.answer("Amp", verdict, reason, warning)


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return statuses.refusal(reason)


def is_unattended(call: ToolCall, _env: Mapping[str, str]) -> bool:
    """Unless the hook's own words say that somebody attends."""
    return call.mode != Posture.ATTENDED.value


def auto_approves(_call: ToolCall) -> bool:
    """The delegate is not told."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
