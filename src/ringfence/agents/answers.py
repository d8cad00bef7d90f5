"""What an installed hook's answer means to the agent, for the canary: the shapes that several agents share. Cold."""

from __future__ import annotations

import json
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.agents.wiring import Answered


def loaded(answer: Answered) -> dict[str, Any]:
    """The JSON object on stdout; {} where the agent would find none."""
    try:
        value = json.loads(answer.stdout)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def nested_denial(answer: Answered) -> str | None:
    """The reason in Claude Code's nested shape, which Codex and Qwen Code took over; None if it refuses nothing."""
    output = loaded(answer).get("hookSpecificOutput")
    if answer.status or not isinstance(output, dict) or output.get("permissionDecision") != "deny":
        return None
    return str(output.get("permissionDecisionReason", ""))


def nested_rewrite(answer: Answered) -> str:
    """The command that takes the place of the call's own, in the same shape; "" if none."""
    return _command(loaded(answer).get("hookSpecificOutput"), "updatedInput")


def flat_denial(answer: Answered, decision: str, reason: str) -> str | None:
    """The reason where decision and reason stand at the top."""
    value = loaded(answer)
    if answer.status or value.get(decision) not in ("deny", "block"):
        return None
    return str(value.get(reason, ""))


def flat_rewrite(answer: Answered, key: str) -> str:
    """The command below `key` at the top; "" if none."""
    return _command(loaded(answer), key)


def _command(holder: object, key: str) -> str:
    given = holder.get(key) if isinstance(holder, dict) else None
    return str(given.get("command", "")) if isinstance(given, dict) else ""
