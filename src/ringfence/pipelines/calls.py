"""Recorded tool calls to the same ToolCall, and the same policy, that the agent's hook would have had. Cold."""

from __future__ import annotations

from ringfence.agents import registry
from ringfence.errors import WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.agents.dialect import Dialect
    from ringfence.model import ToolCall
    from ringfence.pipelines.fence import Fence
    from ringfence.proposals import CallProposal


def decode(record: CallProposal, exists: Callable[[str], bool]) -> tuple[ToolCall, Dialect]:
    """(the call, the dialect that read it). Raises WireError where no decoder takes the payload.

    A payload that does not say whose it is goes to each decoder in turn; each checks that the shape is its agent's.
    """
    if record.agent:
        row = registry.ROWS.get(record.agent)
        if row is None:
            known = ", ".join(registry.names())
            raise WireError(record.agent, f"no decoder for calls of {record.agent!r}; known: {known}")
        dialect = registry.dialect(row)
        return _take(dialect, record, exists), dialect
    why: list[str] = []
    for row in registry.ROWS.values():
        dialect = registry.dialect(row)
        try:
            return _take(dialect, record, exists), dialect
        except WireError as error:
            why.append(f"{row.name}: {error.message}")
    raise WireError("", "no agent's decoder takes it (" + "; ".join(why) + ")", "name the agent with --agent")


def _take(dialect: Dialect, record: CallProposal, exists: Callable[[str], bool]) -> ToolCall:
    call = dialect.decode(record.payload, exists)
    if call.event not in dialect.EVENTS:
        raise WireError(call.agent, f"{call.event} is no event that carries a call to judge")
    return call


def session_fence(fence: Fence, call: ToolCall, dialect: Dialect, payload: Mapping[str, object]) -> Fence:
    """`fence` with the zones that the call's session owns, as the hook adds them (compose.hook_fence)."""
    from ringfence.pipelines.compose import resolve
    from ringfence.pipelines.session import environment, session_name, with_scratch, with_session

    name = session_name(call.agent, call.session)
    policy = with_session(fence.policy, name)
    if policy is fence.policy:
        return fence
    policy = with_scratch(policy, dialect.scratch(payload, fence.env, _uid()), resolve)
    return fence.with_policy(policy, {**fence.env, **environment(policy, name)})


def _uid() -> int:
    import os

    return os.getuid() if hasattr(os, "getuid") else 0


_OPEN = frozenset(";&|<>(){}$`\\\"'\n")


def inner_text(line: str) -> str:
    """The command inside a line that a hook of ours made of it, as some agents write it down; `line` itself otherwise.

    Only where everything before the text is plain words, so that nothing else can run beside it.
    """
    head, found, tail = line.partition(" -c '")
    if not found or not tail.endswith("'") or not _OPEN.isdisjoint(head):
        return line
    words = head.split(" ")
    if len(words) < 5 or words[1:3] != ["-I", "-S"] or words[4] != "shell":
        return line
    if not words[3].endswith("/ringfence/start.py"):
        return line
    text = tail[:-1].replace("'\"'\"'", "\0")
    return line if "'" in text else text.replace("\0", "'")
