"""The proof that what was installed bites: its own hook and launcher are called, exactly as the settings name them."""

from __future__ import annotations

import json
import os
import subprocess

from ringfence.agents import claude_settings as settings
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Policy

_CANARY = "ringfence-canary-that-must-not-exist"
WAIT = 30.0  # seconds for one canary call


class Check(Record):
    """One thing that was looked at. `strength` is what the promise rests on: kernel, hook, or none."""

    name: str
    ok: bool | None  # None: could not be looked at
    strength: str
    detail: str


def canaries(policy: Policy, path: str, env: dict[str, str]) -> tuple[Check, ...]:
    """Call the hook and the launcher as the settings file names them: one write outside each, one inside."""
    found = settings.inspect(path)
    if found.wiring is None:
        return (Check("hook", False, "none", f"{path} does not call ringfence"),)
    inside = os.path.join(policy.workspace[0], _CANARY)
    outside = os.path.join(os.path.dirname(policy.workspace[0].rstrip("/")) or "/", _CANARY)
    refused = _ask_hook(found.wiring, policy, outside, env)
    allowed = _ask_hook(found.wiring, policy, inside, env)
    checks = [
        Check("hook refuses a write outside", _is_denial(refused), "hook", _short(refused)),
        Check(
            "hook allows a write inside",
            allowed == "",
            "hook",
            _short(allowed) or "no opinion, as it should be",
        ),
    ]
    launcher = _launcher_of(found.wiring)
    if launcher:
        checks.append(_ask_engine(launcher, outside, env))
    return tuple(checks)


def _launcher_of(wiring: settings.Wiring) -> str:
    words = wiring.args
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word == "--launcher"), "")


def _ask_hook(wiring: settings.Wiring, policy: Policy, target: str, env: dict[str, str]) -> str:
    payload = {
        "session_id": "ringfence-canary",
        "transcript_path": "",
        "cwd": policy.workspace[0],
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": target, "content": ""},
        "tool_use_id": "canary",
    }
    try:
        done = subprocess.run(
            [wiring.command, *wiring.args],
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=WAIT,
            env=env,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be run: {error}"
    if done.returncode:
        return f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return done.stdout.decode(errors="replace")


def _is_denial(answer: str) -> bool:
    try:
        return bool(json.loads(answer)["hookSpecificOutput"]["permissionDecision"] == "deny")
    except (ValueError, KeyError, TypeError):
        return False


def _short(answer: str) -> str:
    try:
        return str(json.loads(answer)["hookSpecificOutput"]["permissionDecisionReason"])
    except (ValueError, KeyError, TypeError):
        return answer.strip()[:300]


def _ask_engine(launcher: str, outside: str, env: dict[str, str]) -> Check:
    """A command through the launcher that writes inside and tries to write outside.

    Built so that no reading of the text can tell: it is the kernel that must refuse it.
    """
    from ringfence.pipelines.say import quote

    name = "fenced shell refuses a write outside"
    line = f'echo ran > "$TMPDIR/canary" && cat "$TMPDIR/canary"; eval "$(printf ": > %s" {quote(quote(outside))})"'
    try:
        done = subprocess.run([launcher, line], capture_output=True, timeout=WAIT, env=env, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, False, "none", f"cannot be run: {error}")
    if os.path.lexists(outside):
        os.unlink(outside)
        return Check(name, False, "none", f"{outside} was written, and has been removed again")
    said = done.stderr.decode(errors="replace").strip().split("\n")[0][:300]
    ran = done.stdout == b"ran\n" and done.returncode != 0
    return Check(name, ran, "kernel" if ran else "none", said or "it did not run")
