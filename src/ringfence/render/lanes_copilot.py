"""Copilot CLI. Source: 1.0.102, run offline; `copilot --help`.

It has no flag for a prompt of its own; custom instructions are read from the settings folder.
"""

from __future__ import annotations

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

TITLE = "Copilot CLI"
PINNED = "1.0.102"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ()
SHELLS = ("bash", "read_bash", "stop_bash", "write_bash", "powershell")
EDITS = ("create", "edit", "apply_patch")
INSTRUCTIONS = "copilot-instructions.md"

ESTATE = Estate(
    ".copilot",
    "COPILOT_HOME",
    moved=True,
    kept=("session-state",),
    sealed=("hooks", INSTRUCTIONS),
    lost="Copilot CLI works on a private copy of its settings folder: sessions are kept; logins and trusted folders "
    "are not changed, and your own instructions there are not read",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
_OUTSIDE = "it would work in a process that stands outside this fence"
REFUSED = {
    "--allow-all-tools": _TABLE,
    "--allow-all": _TABLE,
    "--yolo": _TABLE,
    "--allow-tool": _TABLE,
    "--available-tools": "a lane names no tools",
    "--no-custom-instructions": "the prompt that names the mode stands there",
    "--connect": _OUTSIDE,
    "--remote": _OUTSIDE,
    "--environment-host": _OUTSIDE,
}
UNSET = {"COPILOT_ALLOW_ALL": _TABLE}


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    alone = ask.posture is Posture.UNATTENDED
    denied = (*(SHELLS if safe else ()), *(EDITS if ask.lane is Lane.REVIEWER else ()))
    text = prompt(TITLE, ask, shell=not safe)
    flags = ["--no-remote"]
    if alone:
        flags += ["--allow-all-tools", "--no-ask-user"]
    elif not safe:
        flags.append("--allow-tool=shell")
    if denied:
        flags.append(f"--excluded-tools={','.join(denied)}")
    if safe:
        flags.append("--disallow-temp-dir")
    name = definition_name(ask)
    fields = {"name": name, "description": describe(ask)}
    return Rendering(
        tuple(flags),
        (),
        (File("hooks/ringfence.json", "", True, True), File(INSTRUCTIONS, text + "\n", at_home=True)),
        (f".github/agents/{name}.agent.md", front_matter(fields, text)),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = f"{', '.join(SHELLS)} are excluded; the hook denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = f"{', '.join(EDITS)} are excluded; the hook denies every edit too"
        found.append(Promise("no edit tools", Held.TOOL, why))
    if ask.posture is Posture.UNATTENDED:
        asks = "every tool is allowed: the fence is the boundary"
    else:
        asks = "commands are allowed beforehand; edits ask" if ask.mode is Mode.POWER else "edits ask"
    found.append(Promise("who approves", Held.TOOL, asks))
    hook = "the engine holds what they write, and their calls come to the same hook"
    found += common(ask, fenced=at.fenced, hook=hook, shell=ask.mode is Mode.POWER)
    return tuple(found)
