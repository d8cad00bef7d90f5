"""Recorded tool calls to the same ToolCall, and the same policy, that the agent's hook would have had. Cold."""

from __future__ import annotations

from ringfence.errors import WireError
from ringfence.model import ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.pipelines.fence import Fence
    from ringfence.proposals import CallProposal


def decode(record: CallProposal, exists: Callable[[str], bool]) -> tuple[ToolCall, object]:
    """(the call, the dialect that read it). Raises WireError where no decoder takes the payload.

    A payload that does not say whose it is goes to each decoder in turn: none of them takes another agent's call.
    """
    known = _dialects()
    if record.agent:
        found = known.get(record.agent)
        if found is None:
            raise WireError(
                record.agent, f"no decoder for calls of {record.agent!r}; known: {', '.join(known)}"
            )
        return _take(found, record, exists), found
    why: list[str] = []
    for dialect in known.values():
        try:
            call = _take(dialect, record, exists)
        except WireError as error:
            why.append(f"{error.agent}: {error.message}")
        else:
            return call, dialect
    raise WireError(
        "", "a tool call that no decoder takes (" + "; ".join(why) + ")", "name the agent with --agent"
    )


def _take(dialect: object, record: CallProposal, exists: Callable[[str], bool]) -> ToolCall:
    call = dialect.decode(record.payload, exists)  # type: ignore[attr-defined]  # a dialect module
    if not isinstance(call, ToolCall):
        raise WireError(record.agent, "the decoder gave no call")
    if call.event not in dialect.EVENTS:  # type: ignore[attr-defined]  # same
        raise WireError(call.agent, f"{call.event} is no event that carries a call to judge")
    return call


def _dialects() -> Mapping[str, object]:
    from ringfence.agents import claude

    return {claude.NAME: claude}


def session_fence(fence: Fence, call: ToolCall, dialect: object, payload: Mapping[str, object]) -> Fence:
    """`fence` with the zones that the call's session owns, as the hook adds them (compose.hook_fence)."""
    from ringfence.pipelines.compose import resolve
    from ringfence.pipelines.session import environment, session_name, with_scratch, with_session

    name = session_name(call.agent, call.session)
    policy = with_session(fence.policy, name)
    if policy is fence.policy:
        return fence
    policy = with_scratch(policy, dialect.scratch(payload, fence.env, _uid()), resolve)  # type: ignore[attr-defined]
    return fence.with_policy(policy, {**fence.env, **environment(policy, name)})


def _uid() -> int:
    import os

    return os.getuid() if hasattr(os, "getuid") else 0
