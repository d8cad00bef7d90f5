"""Answers of agents that read nothing but the exit status: 0 runs the tool, 2 refuses it with stderr for a reason. Hot.

A question cannot be asked this way, so it is a refusal that says so.
"""

from __future__ import annotations

from ringfence.errors import EXIT_USAGE
from ringfence.model import Reply, Verdict

_MAX_TEXT = 9_000


def answer(title: str, verdict: Verdict, reason: str, warning: str) -> Reply:
    """stdout stays empty. `title` is the agent's name for people."""
    if verdict is Verdict.ALLOW:
        return Reply("", warning)
    if verdict is Verdict.ASK:
        reason = f"{reason} {title} cannot ask a person from a hook, so this is a refusal."
    return refusal(reason, warning)


def refusal(reason: str, warning: str = "") -> Reply:
    """Never without a word: an empty stderr is no reason, and some agents take it for no refusal."""
    said = reason[:_MAX_TEXT] if reason.strip() else f"{reason[:_MAX_TEXT]}refused"
    return Reply("", f"{said}\n{warning}" if warning.strip() else said, EXIT_USAGE)
