"""Cline's hook dialect: payload to ToolCall, decision to answer.

Source: probes of Cline CLI 3.0.65 that others of the project wrote down, and Cline's source; not driven by this
project's tests. Exit statuses mean nothing: only `{"cancel": true, "errorMessage"}` stops the tool, and it
ends the whole run. There is no question, and no changed input that anybody saw work. Hot.
"""

from __future__ import annotations

from ringfence.agents import fields, patches
from ringfence.errors import WireError
from ringfence.jsonscan import dumps, loads
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Access

NAME = "cline"
EVENTS = frozenset(("tool_call", "PreToolUse"))
AFTER_EVENTS = frozenset(("tool_result", "PostToolUse"))
SESSION_EVENTS: frozenset[str] = frozenset()
END_EVENT = ""
ROUTES: tuple[str, ...] = ()
_MARKS = frozenset(("clineVersion", "hookName"))
_MAX_TEXT = 9_000
_READ, _WRITE = Op.READ, Op.WRITE

PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "editor": (("path", _WRITE, fields.ONE),),
    "search_codebase": (("path|paths", _READ, fields.MANY),),
    # of the older extension
    "read_file": (("path", _READ, fields.ONE),),
    "write_to_file": (("path", _WRITE, fields.ONE),),
    "replace_in_file": (("path", _WRITE, fields.ONE),),
    "list_files": (("path", _READ, fields.MAY),),
    "search_files": (("path", _READ, fields.MAY),),
}
COMMANDS: Mapping[str, str] = {"run_commands": "commands", "execute_command": "command"}
NO_PATHS = frozenset(("fetch_web_content", "skills", "spawn_agent"))
_COMMAND_KEYS = ("commands", "command", "cmd")
# `preToolUse.parameters` is a map of texts: these come as the text of a JSON list.
_LISTS = ("commands", "command", "cmd", "files", "file_paths", "paths", "queries", "requests")


def decode(payload: object, exists: Callable[[str], bool]) -> ToolCall:
    """One hook payload, of the CLI or of the older extension. Raises WireError for anything that is not one.

    Only a payload that is surely not Cline's is a foreign one: Cline itself obeys nothing but its own JSON.
    """
    found = fields.record(NAME, payload)
    if "clineVersion" not in found and "hookName" not in found:
        raise fields.foreign(NAME, "every payload of Cline has a `clineVersion` or a `hookName`")
    fields.no_other(NAME, found, _MARKS)
    event = fields.text(NAME, found, "hookName")
    session = fields.text(NAME, found, "taskId", required=False)
    if event not in EVENTS:
        if event not in AFTER_EVENTS and ("tool_call" in found or "preToolUse" in found):
            raise WireError(NAME, f"it carries a tool's input under {event}, which is not known here")
        return ToolCall(NAME, event, session, "", "", "", (), (), True)
    tool, given = _call(found)
    cwd = _root(found)
    if tool in COMMANDS:
        return ToolCall(NAME, event, session, cwd, tool, "", (), _commands(tool, given), True)
    return ToolCall(NAME, event, session, cwd, tool, "", _uses(tool, given, exists), (), True)


def _call(found: dict[str, object]) -> tuple[str, dict[str, object]]:
    """(tool, input): `tool_call` where it is there, for its values have their own types."""
    call = found.get("tool_call")
    if call is not None:
        if not isinstance(call, dict):
            raise WireError(NAME, "the `tool_call` of the hook's payload is not a JSON object")
        tool = fields.text(NAME, call, "name")
        return tool, fields.given(NAME, tool, call, "input")
    older = found.get("preToolUse")
    if not isinstance(older, dict):
        raise WireError(NAME, "the hook's payload has neither a `tool_call` nor a `preToolUse`")
    tool = fields.text(NAME, older, "toolName")
    given = fields.given(NAME, tool, older, "parameters")
    return tool, {key: _listed(value) if key in _LISTS else value for key, value in given.items()}


def _listed(value: object) -> object:
    """The list that a text stands for; the text itself where it is no JSON (`[ -f x ] && make` is a command)."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return loads(value)
        except ValueError:
            return value
    return value


def _root(found: Mapping[str, object]) -> str:
    """Where relative paths start: Cline names no working directory."""
    info = found.get("workspaceInfo")
    first = info.get("rootPath") if isinstance(info, dict) else None
    roots = found.get("workspaceRoots")
    if first in (None, "") and isinstance(roots, list) and roots:
        first = roots[0]
    if not isinstance(first, str) or first[:1] != "/":
        raise WireError(NAME, "the hook's payload names no absolute workspace root")
    return first


def _commands(tool: str, given: Mapping[str, object]) -> tuple[str, ...]:
    lines: list[str] = []
    for key in _COMMAND_KEYS:
        value = given.get(key)
        if value is not None:
            lines += [_line(tool, one) for one in (value if isinstance(value, list) else [value])]
    if not lines:
        raise WireError(NAME, f"the `{COMMANDS[tool]}` of {tool} is not a command")
    return tuple(lines)


def _line(tool: str, value: object) -> str:
    """A command line; a program with a list of arguments is the same line with each of them quoted."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise WireError(NAME, f"a command of {tool} is neither a text nor a JSON object")
    line = fields.command(NAME, tool, value)
    args = value.get("args")
    if args is None:
        return line
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        raise WireError(NAME, f"the `args` of a command of {tool} are no list of texts")
    return " ".join((line, *("'" + one.replace("'", "'\"'\"'") + "'" for one in args)))


def _uses(tool: str, given: dict[str, object], exists: Callable[[str], bool]) -> tuple[PathUse, ...]:
    if tool == "apply_patch":
        return patches.field_patch_uses(NAME, tool, given)
    if tool == "read_files":
        return _files(tool, given)
    if tool in PATHS:
        return fields.field_uses(NAME, tool, given, PATHS[tool]) or (PathUse(_READ, ".", "path"),)
    if tool in NO_PATHS:
        return ()
    return fields.string_uses(NAME, tool, given, exists)


def _files(tool: str, given: Mapping[str, object]) -> tuple[PathUse, ...]:
    uses = list(
        fields.field_uses(NAME, tool, given, (("file_paths|paths|file_path|path", _READ, fields.MANY),))
    )
    value = given.get("files")
    for one in value if isinstance(value, list) else [] if value is None else [value]:
        holder = {"path": one} if isinstance(one, str) else one
        if not isinstance(holder, dict):
            raise WireError(NAME, f"a file of {tool} is neither a path nor a JSON object")
        uses += fields.field_uses(NAME, tool, holder, (("path|file_path", _READ, fields.ONE),))
    if not uses:
        raise WireError(NAME, f"the `files` of {tool} name no file")
    return tuple(uses)


def route(_call: ToolCall, _launcher: str, _env: Mapping[str, str]) -> str:
    """See Dialect.route. Whether `overrideInput` changes a command was not seen."""
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
    """One JSON object, always: an empty stdout is no answer that Cline documents."""
    if call.event not in EVENTS or verdict is Verdict.ALLOW:
        return Reply('{"cancel":false}', warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} Cline cannot ask a person from a hook, so this is a refusal."
    return Reply(_cancel(reason), warning)


def _cancel(reason: str) -> str:
    return dumps({"cancel": True, "errorMessage": reason[:_MAX_TEXT] or "refused"})


def refuse(_event: str, reason: str) -> Reply:
    """A denial made without a call, for our own failures."""
    return Reply(_cancel(reason), reason)


def is_unattended(_call: ToolCall, _env: Mapping[str, str]) -> bool:
    """There is no way to ask."""
    return True


def auto_approves(_call: ToolCall) -> bool:
    """The payload does not say."""
    return False


def scratch(
    _payload: Mapping[str, object], _env: Mapping[str, str], _uid: int
) -> tuple[tuple[str, str, Access], ...]:
    """None is known."""
    return ()
