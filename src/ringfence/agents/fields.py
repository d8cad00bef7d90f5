"""Reading a tool's input field by field, the same for every agent. What a field means stands in the agent's own table.

Every function takes the agent's name first, for the refusal's words. Hot.
"""

from __future__ import annotations

from ringfence.agents.strings import TooMuchError, from_uri, path_strings
from ringfence.errors import ForeignError, WireError
from ringfence.jsonscan import loads
from ringfence.model import Op, PathUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    Row = tuple[str, Op, str]

# How a table's row is read: a text that must be there, one that may be, texts (one or a list) that must or may be.
ONE, MAY, SOME, MANY = "one", "may", "some", "many"

# A key of a payload's top level, and the agent that alone sends it. Read from agents' own payloads as of 2026-11.
MARKS: Mapping[str, str] = {
    "cursor_version": "Cursor",
    "generation_id": "Cursor",
    "clineVersion": "Cline",
    "hookName": "Cline",
    "agent_action_name": "Windsurf",
    "matcher_context": "Goose",
    "working_dir": "Goose",
    "toolArgs": "Copilot CLI",
    "turn_id": "Codex",
    "tool_call_id": "Qwen Code",
    "hookEventName": "VS Code",
    "args": "an OpenCode plugin",
    "stdin": "an Amp delegate",
}
VSCODE_CALL = "__vscode-"  # in the `tool_use_id` of VS Code's calls; stands among `own` for its module
_SHIMS = ("opencode", "pi")  # what our own plugins call themselves in `agent`


def record(agent: str, payload: object) -> dict[str, object]:
    """The payload as a JSON object. Raises WireError for anything else."""
    if not isinstance(payload, dict):
        raise WireError(agent, "the hook's payload is not a JSON object")
    return payload


def no_other(agent: str, payload: Mapping[str, object], own: Collection[str] = ()) -> None:
    """Raises ForeignError for a payload that carries another agent's mark; `own` are the marks of this one."""
    for key, owner in MARKS.items():
        if key in payload and key not in own:
            raise ForeignError(agent, f"this is no payload of {agent}: its `{key}` is what {owner} sends")
    if payload.get("agent") in _SHIMS and agent not in _SHIMS:
        raise ForeignError(agent, f"this is no payload of {agent}: one of our own plugins sent it")
    call = payload.get("tool_use_id")
    if isinstance(call, str) and VSCODE_CALL in call and VSCODE_CALL not in own:
        raise ForeignError(agent, f"this is no payload of {agent}: its `tool_use_id` is VS Code's")


def foreign(agent: str, why: str) -> ForeignError:
    return ForeignError(agent, f"this is no payload of {agent}: {why}")


def text(agent: str, payload: Mapping[str, object], key: str, required: bool = True) -> str:
    value = payload.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value):
        raise WireError(agent, f"the hook's payload has no usable `{key}`")
    return value


def folder(agent: str, payload: Mapping[str, object], key: str = "cwd") -> str:
    """An absolute path. Raises WireError for anything else."""
    value = text(agent, payload, key)
    if value[:1] != "/":
        raise WireError(agent, f"the hook's `{key}` is not an absolute path: {value!r}")
    return value


def given(agent: str, tool: str, payload: Mapping[str, object], key: str = "tool_input") -> dict[str, object]:
    """The tool's input, a JSON object."""
    value = payload.get(key)
    if not isinstance(value, dict):
        raise WireError(agent, f"the `{key}` of {tool} is not a JSON object")
    return value


def opened(agent: str, tool: str, value: object) -> object:
    """The input of a tool server's tool: itself, or the value that its text stands for. None is no input."""
    if isinstance(value, str):
        try:
            return loads(value)
        except ValueError:
            return value
    if value is None or isinstance(value, dict | list):
        return value
    raise WireError(agent, f"the arguments of {tool} are no JSON object")


def command(agent: str, tool: str, found: Mapping[str, object], key: str = "command") -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise WireError(agent, f"the `{key}` of {tool} is not a text")
    return value


def joined(base: str, path: str) -> str:
    """`path` from `base`; nothing is folded."""
    return path if path[:1] == "/" else f"{base}/{path}"


def workdir(agent: str, tool: str, found: Mapping[str, object], key: str, cwd: str) -> str:
    """The folder that a shell call names for itself, else `cwd`."""
    value = found.get(key)
    if value is None or value == "":
        return cwd
    if not isinstance(value, str):
        raise WireError(agent, f"the `{key}` of {tool} is not a path")
    return joined(cwd, value)


def field_uses(
    agent: str, tool: str, found: Mapping[str, object], rows: Iterable[Row]
) -> tuple[PathUse, ...]:
    """The paths that the tool's own fields name. `a|b` in a row: either name, and both count where both stand.

    A required field that is missing, or one of another type, is a payload we do not understand: WireError.
    """
    uses = []
    for names, op, kind in rows:
        seen = 0
        for name in names.split("|"):
            value = found.get(name)
            if value is None or (value == "" and kind in (MAY, MANY)):
                continue
            seen += 1
            listed = isinstance(value, list) and kind in (SOME, MANY)
            for item in value if listed and isinstance(value, list) else [value]:
                if not isinstance(item, str):
                    raise WireError(agent, f"the `{name}` of {tool} is not a path")
                uses.append(PathUse(op, item, name))
                seen += 1
        if kind in (ONE, SOME) and seen < 2:
            raise WireError(agent, f"the `{names}` of {tool} is not a path")
    return tuple(uses)


def located_uses(
    agent: str, tool: str, found: Mapping[str, object], key: str, op: Op, *, url: bool = False
) -> tuple[PathUse, ...]:
    """A path, a `file:` address, or an address of the network, which is no path. `url`: never a plain path."""
    value = found.get(key)
    if not isinstance(value, str):
        raise WireError(agent, f"the `{key}` of {tool} is not a text")
    scheme = value.strip().partition(":")[0].lower()
    if scheme == "file":
        rest = value.strip().partition(":")[2]
        return (PathUse(op, from_uri("file://" + rest[2:] if rest[:2] == "//" else "file://" + rest), key),)
    if url or scheme in ("http", "https"):
        return ()
    return (PathUse(op, value, key),)


def glob_uses(
    agent: str, tool: str, found: Mapping[str, object], where: str, patterns: str, *, listed: bool = False
) -> tuple[PathUse, ...]:
    """A search below the folder in `where` for `patterns`: they may be absolute or climb by `..`, and both come raw.

    `listed`: several patterns may stand in a list.
    """
    base = found.get(where)
    value = found.get(patterns)
    several = value if listed and isinstance(value, list) else [value]
    if not (base is None or isinstance(base, str)) or not all(isinstance(one, str) for one in several):
        raise WireError(agent, f"the `{patterns}` or `{where}` of {tool} is not a text")
    uses = [PathUse(Op.READ, base, where)] if base else []
    for pattern in map(str, several):
        start = pattern_base(pattern)
        if start:
            uses.append(
                PathUse(Op.READ, start if start[0] in "/~" or not base else f"{base}/{start}", patterns)
            )
    return tuple(uses) or (PathUse(Op.READ, ".", patterns),)


def pattern_base(pattern: str) -> str:
    """The folder that a pattern starts from, "" for the current one.

    Up to the last `..`, wildcards standing as names: `*/../../x` climbs out whatever the star matches. An alternative
    in braces is a name of its own, so one that holds a separator is judged as if it stood there: `{a,../b}/x`.
    """
    if "{/" in pattern or ("{" in pattern and ",/" in pattern):
        return "/"
    names = pattern.split("/")
    climbs = max((i for i, n in enumerate(names) if ".." in n and _climbs(n)), default=-1)
    wild = next((i for i, n in enumerate(names) if any(c in n for c in "*?[{")), len(names))
    keep = max(climbs + 1, wild)
    base = "/".join(".." if _climbs(n) else n for n in names[:keep])
    return base or ("/" if pattern.startswith("/") else "")


def _climbs(name: str) -> bool:
    return name == ".." or name.rpartition("{")[2] == ".." or name.rpartition(",")[2] == ".."


def string_uses(
    agent: str, tool: str, found: object, exists: Callable[[str], bool], op: Op = Op.WRITE
) -> tuple[PathUse, ...]:
    """Every string that looks like a path, for a tool that we do not know. Raises WireError for a flood."""
    try:
        return tuple(PathUse(op, path, key) for key, path in path_strings(found, exists))
    except TooMuchError as error:
        raise WireError(agent, f"the input of {tool} cannot be judged: {error}") from error
