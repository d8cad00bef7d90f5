"""Qwen Code. Source: 0.24.4, run offline; `qwen --help`.

`--exclude-tools` takes every word up to the next option, so another option stands behind it. Excluding an edit
tool also refuses every command with a redirection, `2>&1` included, which a reviewer's checks need: with a shell
the hook alone holds them.
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

TITLE = "Qwen Code"
PINNED = "0.24.4"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ("--approval-mode",)
SHELLS = ("run_shell_command",)
EDITS = ("write_file", "edit", "notebook_edit")

ESTATE = Estate(
    ".qwen",
    "QWEN_HOME",
    moved=True,
    kept=("projects",),
    sealed=("settings.json",),
    lost="Qwen Code works on a private copy of its settings folder: chats are kept; logins and settings are not "
    "changed",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
_NO_HOOK = "it switches the hooks off"
REFUSED = {
    "--bare": _NO_HOOK,
    "--safe-mode": _NO_HOOK,
    "--approval-mode": _TABLE,
    "--yolo": _TABLE,
    "-y": _TABLE,
    "--allowed-tools": _TABLE,
    "--core-tools": "a lane names no tools",
}
UNSET: dict[str, str] = {}


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    denied = (*SHELLS, *(EDITS if ask.lane is Lane.REVIEWER else ())) if safe else ()
    text = prompt(TITLE, ask, shell=not safe)
    flags = ["--approval-mode", "yolo" if ask.posture is Posture.UNATTENDED and not safe else "auto-edit"]
    if denied:
        flags += ["--exclude-tools", ",".join(denied)]
    flags += ["--append-system-prompt", text]
    settings = {"disableAllHooks": False}
    name = definition_name(ask)
    fields = {
        "name": name,
        "description": describe(ask),
        "disallowedTools": ", ".join(denied or (EDITS if ask.lane is Lane.REVIEWER else ())),
    }
    return Rendering(
        tuple(flags),
        (),
        (File("settings.json", json.dumps(settings, indent=2) + "\n", True, True, True),),
        (f".qwen/agents/{name}.md", front_matter(fields, text)),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = f"{', '.join(SHELLS)} is excluded; the hook denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = f"{', '.join(EDITS)} are excluded; the hook denies every edit too"
        if ask.mode is Mode.POWER:
            why = "the hook denies them; excluding one would refuse every command with a redirection too"
        found.append(Promise("no edit tools", Held.TOOL if ask.mode is Mode.SAFE else Held.HOOK, why))
    alone = ask.posture is Posture.UNATTENDED and ask.mode is Mode.POWER
    asks = "yolo: the fence is the boundary" if alone else "edits are accepted; commands ask, or are refused"
    found.append(Promise("who approves", Held.TOOL, asks))
    found += common(ask, fenced=at.fenced, hook="the hook sees their calls", shell=ask.mode is Mode.POWER)
    return tuple(found)
