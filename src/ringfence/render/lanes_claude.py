"""Claude Code. Source: 2.1.332, run offline; `claude --help`.

`--disallowedTools NAME` removes the tool for the main thread and every sub-agent. A system prompt is recorded once per
conversation and sent again as it was, also by a later launch in another mode, unless `--system-prompt-snapshot off`.
"""

from __future__ import annotations

import json

from ringfence.model import Lane, Mode, Posture
from ringfence.render.lanes import (
    Ask,
    Estate,
    File,
    Held,
    Places,
    Promise,
    Rendering,
    common,
    definition_name,
    describe,
    front_matter,
    hook_words,
    prompt,
)

TITLE = "Claude Code"
PINNED = "2.1.332"
PROBE = ("--help",)
LAUNCHER = "ringfence.pipelines.claude_shell"
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ("--permission-mode", "--system-prompt-snapshot")
SHELLS = ("Bash", "PowerShell", "Monitor")  # a name that it does not know, as REPL, it complains about
EDITS = ("Edit", "Write", "NotebookEdit")

ESTATE = Estate(
    ".claude",
    "CLAUDE_CONFIG_DIR",
    # Not shell-snapshots and session-env: other sessions source what stands there.
    kept=("projects/{slug}", "todos", "tasks", "plans", "file-history"),
    lost="~/.claude.json and .credentials.json stay as they are: a renewed login, an accepted trust question and a "
    "changed setting do not outlive the session",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
_OUTSIDE = "it would work in a process that stands outside this fence"
_NO_HOOK = "it switches the hooks off"
REFUSED = {
    "--bare": _NO_HOOK,
    "--safe-mode": _NO_HOOK,
    "--settings": "the session's own settings stand there",
    "--permission-mode": _TABLE,
    "--dangerously-skip-permissions": _TABLE,
    "--allow-dangerously-skip-permissions": _TABLE,
    "--system-prompt-snapshot": "an older prompt could name another mode",
    "--bg": _OUTSIDE,
    "--background": _OUTSIDE,
    "--cloud": _OUTSIDE,
    "--environment": _OUTSIDE,
    "--teleport": _OUTSIDE,
    "--desktop": _OUTSIDE,
    "--tmux": _OUTSIDE,
    "attach": _OUTSIDE,
    "respawn": _OUTSIDE,
}
UNSET = {
    "CLAUDE_CODE_SIMPLE": _NO_HOOK,
    "CLAUDE_CODE_SAFE_MODE": _NO_HOOK,
}


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    review = ask.lane is Lane.REVIEWER
    alone = ask.posture is Posture.UNATTENDED
    denied = (*(SHELLS if safe else ()), *(EDITS if review else ()))
    flags = ["--settings", f"{at.config}/settings.json"]
    if alone and not safe:
        flags += ["--permission-mode", "bypassPermissions"]
    else:
        flags += ["--permission-mode", "acceptEdits"]
    if not alone and not safe:
        flags += ["--allowedTools", "Bash"]
    if denied:
        flags += ["--disallowedTools", ",".join(denied)]
    text = prompt(TITLE, ask, shell=not safe)
    flags += ["--append-system-prompt", text, "--system-prompt-snapshot", "off"]
    env = []
    if alone and not safe and at.fenced and at.root:
        env.append(("IS_SANDBOX", "1"))  # what it is; without it bypassPermissions is refused to root
    settings: dict[str, object] = {"disableAllHooks": False}
    fields = {"name": definition_name(ask), "description": describe(ask)}
    fields["disallowedTools"] = ", ".join(denied)  # a full lane names no tools and inherits its pool
    return Rendering(
        tuple(flags),
        tuple(env),
        (File("settings.json", json.dumps(settings, indent=2) + "\n", hooked=True),),
        (f".claude/agents/{definition_name(ask)}.md", front_matter(fields, text)),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = f"{', '.join(SHELLS)} are not in the tool set, of sub-agents neither; the hook denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = f"{', '.join(EDITS)} are not in the tool set, of sub-agents neither; the hook denies every edit too"
        found.append(Promise("no edit tools", Held.TOOL, why))
    if ask.mode is Mode.SAFE:
        asks = "edits are accepted; what else would ask is asked, or refused where nobody is there"
    elif ask.posture is Posture.UNATTENDED:
        asks = "bypassPermissions: the fence is the boundary"
    else:
        asks = "edits and Bash are accepted beforehand, everything else asks"
    found.append(Promise("who approves", Held.TOOL, asks))
    found += common(ask, fenced=at.fenced, hook="the hook sees their calls", shell=ask.mode is Mode.POWER)
    reads = "no hook event fires for them; the engine holds `none` zones, and what a `!` line writes"
    if at.fenced:
        found.append(Promise("`@file` mentions and `!` lines of the prompt", Held.KERNEL, reads))
    else:
        why = "no hook event fires for them; `ringfence launch` holds what they write"
        found.append(Promise("`@file` mentions and `!` lines of the prompt", Held.NONE, why))
    return tuple(found)
