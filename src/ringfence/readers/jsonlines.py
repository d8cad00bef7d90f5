"""JSON Lines: one object for each record. A path, a command, an agent's hook payload, or a line of a decision log.

    {"path": "src/a.py", "op": "create", "cwd": "/src/app"}
    {"command": "cp a ../b", "cwd": "/src/app", "shell": "bash"}
    {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {...}, "cwd": "/src/app"}

What else an object holds is its owner's business and passed over. A file that holds one JSON document, or a list of
objects, is read the same way.
"""

from __future__ import annotations

import json

from ringfence.model import Op
from ringfence.proposals import CallProposal, CommandProposal, LoggedDecision, Malformed, PathProposal
from ringfence.readers.chunks import MAX_RECORD, TooLong, numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_OPS: Mapping[str, Op] = {op.value: op for op in Op}
_SHELLS = frozenset(("bash", "zsh", "sh"))
_VERDICTS = frozenset(("allow", "ask", "deny"))
# Any of these makes an object an agent's payload (../agents says what each means).
_PAYLOAD = (
    "hook_event_name",
    "hookEventName",
    "tool_name",
    "toolName",
    "tool_input",
    "toolArgs",
    "agent_action_name",
)


def load(text: str) -> object:
    """One JSON value. Raises ValueError for everything that is none, too deep nesting included."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_jsonlines(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One record for each line; empty lines are passed over."""
    for number, text in numbered(blocks):
        if isinstance(text, TooLong):
            yield Malformed(source, number, f"a line of {text.size} bytes; the limit is {MAX_RECORD}")
        elif text.strip():
            try:
                value = load(text)
            except ValueError as error:
                yield Malformed(source, number, f"not JSON: {error}")
            else:
                yield from from_value(source, number, value, options)


def read_document(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """One JSON document, however it is laid out; the elements of a list are numbered from 1."""
    body = document(blocks)
    if isinstance(body, TooLong):
        yield Malformed(source, 0, f"a document of more than {MAX_RECORD} bytes")
        return
    try:
        value = load(body)
    except ValueError as error:
        yield Malformed(source, 0, f"not JSON: {error}")
        return
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from from_value(source, number, item, options)
    else:
        yield from from_value(source, 1, value, options)


def document(blocks: Iterable[bytes], limit: int = 4 * MAX_RECORD) -> str | TooLong:
    """Everything as one text, up to `limit` bytes."""
    parts = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > limit:
            return TooLong(size)
    return b"".join(parts).decode("utf-8", "surrogateescape")


def from_value(source: str, line: int, value: object, options: Options) -> Iterator[Proposal]:
    """The records of one decoded object. Never raises for what is in it."""
    if not isinstance(value, dict):
        yield Malformed(source, line, f"not an object but {_kind(value)}")
        return
    if is_payload(value):
        agent = value.get("agent")
        yield CallProposal(
            source, line, agent if isinstance(agent, str) else options.agent, value, call_id(value)
        )
        return
    wrong = _wrong(value)
    if wrong:
        yield Malformed(source, line, wrong)
        return
    cwd = value.get("cwd") or options.cwd
    agent = value.get("agent") or options.agent
    op = _OPS[value["op"]] if value.get("op") else options.op
    if "verdict" in value:
        yield from _logged(source, line, value, op, cwd)
        return
    found = False
    paths = [value["path"]] if value.get("path") is not None else value.get("paths") or ()
    for path in paths:
        found = True
        yield PathProposal(source, line, op, path, cwd, agent)
    if value.get("command") is not None:
        found = True
        yield CommandProposal(source, line, value["command"], cwd, value.get("shell") or options.shell, agent)
    if not found:
        yield Malformed(source, line, "the object has no `path`, `command` or tool call")


def is_payload(value: Mapping[str, object]) -> bool:
    """Whether an object is an agent's hook payload, by the fields that only those have."""
    return any(key in value for key in _PAYLOAD) or (
        "agent" in value and ("args" in value or isinstance(value.get("event"), dict))
    )


def call_id(value: Mapping[str, object]) -> str:
    """The agent's own id of the call, "" if the payload has none."""
    for key in ("tool_use_id", "call", "toolCallId", "tool_call_id"):
        found = value.get(key)
        if isinstance(found, str):
            return found
    return ""


def _logged(source: str, line: int, value: Mapping[str, object], op: Op, cwd: str) -> Iterator[Proposal]:
    text = {key: str(value.get(key) or "") for key in ("verdict", "code", "path", "command", "agent")}
    if text["verdict"] not in _VERDICTS:
        yield Malformed(source, line, f"`verdict` is {text['verdict']!r}, not allow, ask or deny")
    elif not text["path"] and not text["command"]:
        yield Malformed(source, line, "a logged decision with neither `path` nor `command`")
    else:
        yield LoggedDecision(
            source, line, text["verdict"], text["code"], op, text["path"], text["command"], cwd, text["agent"]
        )


def _wrong(value: Mapping[str, object]) -> str:
    """What is wrong with the fields that are read, "" if nothing."""
    for key in ("path", "cwd", "command", "op", "shell", "agent", "verdict"):
        if value.get(key) is not None and not isinstance(value[key], str):
            return f"`{key}` is {_kind(value[key])}, not a text"
    paths = value.get("paths")
    if paths is not None and not (isinstance(paths, list) and all(isinstance(p, str) for p in paths)):
        return "`paths` is not a list of texts"
    op = value.get("op")
    if op and op not in _OPS:
        return f"`op` is {op!r}, not one of {', '.join(_OPS)}"
    shell = value.get("shell")
    if shell and shell not in _SHELLS:
        return f"`shell` is {shell!r}, not one of {', '.join(sorted(_SHELLS))}"
    return ""


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "something else")
