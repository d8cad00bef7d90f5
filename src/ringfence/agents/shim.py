"""What the two agents with in-process plugins share: the answer that our own plugin and extension read.

docs/hook-protocol.md has the contract. One JSON object on stdout and exit status 0 decides; the shim blocks on anything
else. So silence is no answer here, and an allow is spelled out. Hot.
"""

from __future__ import annotations

from ringfence.jsonscan import dumps
from ringfence.model import Reply, Verdict

_MAX_TEXT = 9_000


def answer(
    verdict: Verdict, reason: str, *, changed: dict[str, object] | None = None, warning: str = ""
) -> Reply:
    """`changed` is the tool's whole new input."""
    made: dict[str, object] = {"verdict": verdict.value}
    if verdict is not Verdict.ALLOW:
        made["reason"] = reason[:_MAX_TEXT] or "refused"
    elif changed is not None:
        made["input"] = changed
    if warning:
        made["warning"] = warning[:_MAX_TEXT]
    return Reply(dumps(made), warning)


def refusal(reason: str) -> Reply:
    return answer(Verdict.DENY, reason)._replace(stderr=reason)
