"""How the hot doors speak: whole lines to a descriptor, whatever the locale, and never an exception."""

from __future__ import annotations

from posix import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Decision, Policy


def reason(decision: Decision) -> str:
    """One refusal in words for a model: what, which rule, what next."""
    text = f"ringfence {decision.verdict} [{decision.code}]: {decision.message}. Rule: {decision.rule}."
    return f"{text} Next: {decision.hint}." if decision.hint else text


def quote(text: str) -> str:
    """One word for a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def left_out(policy: Policy) -> list[str]:
    """What a policy file that nobody trusts asked for in vain (policy/merge.py, LeftOut), in words."""
    return [note for note in policy.notes if "; to accept the file: ringfence policy trust " in note]


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[write(fd, data) :]


def complain(text: str) -> None:
    try:
        write_all(2, (text + "\n").encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # nobody reads stderr; the answer on stdout is what counts
