"""The verdict on a command text. This release does not read commands: every text is opaque, and the engine judges."""

from __future__ import annotations

from ringfence.model import CommandDecision, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Decision


def judge_text(
    text: str,
    check: Callable[..., Decision],
    *,
    cwd: str,
    home: str | None,
    env: Mapping[str, str],
    shell: str,
) -> CommandDecision:
    """`ask` with code `opaque.unread`: nothing in the text is taken for a promise."""
    del check, cwd, home, env, shell
    why = "this release does not read commands; run it by `ringfence shell`, where the kernel holds it"
    return CommandDecision(Verdict.ASK, "opaque.unread", (), why, text)
