"""The proof that what was installed bites: its hook, plugin and shell are called, exactly as the settings name them."""

from __future__ import annotations

import json
import os
import subprocess

from ringfence.agents.wiring import Answered, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ringfence.agents.settings import Settings
    from ringfence.agents.wiring import Found, Site
    from ringfence.model import Policy

    Drive = Callable[[str, str, str, Site], Answered | None]

__all__ = ["Check", "canaries"]

_CANARY = "ringfence-canary-that-must-not-exist"
WAIT = 30.0  # seconds for one canary call


def canaries(
    settings: Settings, site: Site, policy: Policy, path: str, routes: tuple[str, ...]
) -> tuple[Check, ...]:
    """One write outside and one inside through the hook and the plugin, and a command through the fenced shell.

    `routes`: the agent's ways into the fenced shell (Dialect.ROUTES).
    """
    found = settings.inspect(path)
    if found.wiring is None:
        return (Check("hook", False, "none", found.problem or f"{path} does not call ringfence"),)
    inside = os.path.join(policy.workspace[0], _CANARY)
    outside = os.path.join(os.path.dirname(policy.workspace[0].rstrip("/")) or "/", _CANARY)

    def ask(tool: str, value: str) -> Answered:
        return _ask_hook(found, settings.canary(tool, value, policy.workspace[0]), site, policy.workspace[0])

    checks = list(_writes(settings, "hook", ask("write", outside), ask("write", inside)))
    drive: Drive | None = getattr(settings, "drive", None)
    if drive is not None:
        refused, allowed = drive(path, "write", outside, site), drive(path, "write", inside, site)
        if refused is None or allowed is None:
            why = f"there is no node on PATH to run {path} with: only the hook that it calls was tried"
            checks.append(Check("plugin refuses a write outside", None, "none", why))
        else:
            checks += _writes(settings, "plugin", refused, allowed)
    launcher = _launcher_of(found)
    line = _line(outside)
    if launcher:
        checks.append(_engine([launcher, line], outside, site))
    else:
        answer = ask("shell", line)
        command = settings.rewritten(answer)
        refused_line = settings.denial(answer)
        if refused_line is not None and not routes:
            # Nothing of this agent's leads a command into the fence: then none may run at all.
            checks.append(
                Check("commands are refused without a fence around them", True, "hook", refused_line)
            )
        elif not command or command == line:
            why = f"the hook does not put the command into the fenced shell: {_short(answer)}"
            checks.append(Check(_ENGINE, False, "none", why))
        else:
            checks.append(_engine(["/bin/sh", "-c", command], outside, site))
    return tuple(checks)


_ENGINE = "fenced shell refuses a write outside"


def _writes(settings: Settings, what: str, refused: Answered, allowed: Answered) -> tuple[Check, ...]:
    reason = settings.denial(refused)
    name = f"{what} refuses a write outside"
    first = Check(
        name, reason is not None, "hook" if reason is not None else "none", reason or _short(refused)
    )
    against = settings.denial(allowed)
    ok = against is None and allowed.status == 0
    detail = "no opinion, as it should be" if ok else against or _short(allowed)
    return first, Check(f"{what} allows a write inside", ok, "hook" if ok else "none", detail)


def _launcher_of(found: Found) -> str:
    words = found.wiring.args if found.wiring is not None else ()
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word == "--launcher"), "")


def _ask_hook(found: Found, payload: dict[str, Any], site: Site, folder: str) -> Answered:
    assert found.wiring is not None  # noqa: S101 - canaries() has looked
    words = ["/bin/sh", "-c", found.line] if found.line else [found.wiring.command, *found.wiring.args]
    try:
        done = subprocess.run(
            words,
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=WAIT,
            env=dict(site.env),
            cwd=folder,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answered(-1, "", f"cannot be run: {error}")
    return Answered(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _short(answer: Answered) -> str:
    said = answer.stdout.strip() or answer.stderr.strip()
    return (f"exit status {answer.status}: {said}" if answer.status else said or "it said nothing")[:300]


def _line(outside: str) -> str:
    """A command that writes inside and tries to write outside.

    Built so that no reading of the text can tell (the name is put through a cipher): it is the kernel that must
    refuse it.
    """
    from codecs import encode

    from ringfence.pipelines.say import quote

    hidden = encode(f": > {quote(outside)}", "rot13")
    cipher = f"printf %s {quote(hidden)} | tr A-Za-z N-ZA-Mn-za-m"
    return f'echo ran > "$TMPDIR/canary" && cat "$TMPDIR/canary"; eval "$({cipher})"'


def _engine(words: list[str], outside: str, site: Site) -> Check:
    try:
        done = subprocess.run(
            words, capture_output=True, timeout=WAIT, env=dict(site.env), cwd=site.workspace, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(_ENGINE, False, "none", f"cannot be run: {error}")
    if os.path.lexists(outside):
        os.unlink(outside)
        return Check(_ENGINE, False, "none", f"{outside} was written, and has been removed again")
    said = done.stderr.decode(errors="replace").strip().split("\n")[0][:300]
    ran = done.stdout == b"ran\n" and done.returncode != 0
    return Check(_ENGINE, ran, "kernel" if ran else "none", said or "it did not run")
