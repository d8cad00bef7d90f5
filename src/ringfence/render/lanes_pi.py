"""Pi. Source: 1.6.0, run offline; `pi --help`.

Pi asks nobody before it runs a command, so with a person attending it gets the conservative tool set in both modes.
`--approve` trusts the project's own settings for this run; it has nothing to do with tools.
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

TITLE = "Pi"
PINNED = "1.6.0"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ()
SHELLS = ("bash", "powershell")
EDITS = ("edit", "write")
EXTENSION = "ringfence.ts"

ESTATE = Estate(
    ".pi/agent",
    "PI_CODING_AGENT_DIR",
    moved=True,
    kept=("sessions",),
    lost="Pi works on a private copy of its settings folder: sessions are kept; logins and settings are not changed",
)

_LIST = "a lane names no tools: it would replace the lane's deny list"
REFUSED = {
    "--tools": _LIST,
    "-t": _LIST,
}
UNSET: dict[str, str] = {}


def has_shell(ask: Ask) -> bool:
    return ask.mode is Mode.POWER and ask.posture is Posture.UNATTENDED


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    shell = has_shell(ask)
    denied = (*(EDITS if ask.lane is Lane.REVIEWER else ()), *(() if shell else SHELLS))
    text = prompt(TITLE, ask, shell=shell)
    flags = ["--extension", f"{at.config}/{EXTENSION}"]
    if ask.posture is Posture.UNATTENDED:
        flags.append("--approve")
    if denied:
        flags += ["--exclude-tools", ",".join(denied)]
    flags += ["--append-system-prompt", text]
    name = definition_name(ask)
    fields = {"name": name, "description": describe(ask), "excludeTools": ", ".join(denied)}
    return Rendering(
        tuple(flags),
        (),
        (File(EXTENSION, "", hooked=True),),
        (f".pi/agents/{name}.md", front_matter(fields, text)),
        text,
        hook_words(ask, shell=shell),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if not has_shell(ask):
        why = f"{', '.join(SHELLS)} are excluded; the extension denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = f"{', '.join(EDITS)} are excluded; the extension denies every edit too"
        found.append(Promise("no edit tools", Held.TOOL, why))
    found.append(
        Promise("who approves", Held.NONE, "Pi never asks: the tool set and the fence are what there is")
    )
    hook = "Pi has no sub-agents of its own; those of an extension start their own Pi"
    return (*found, *common(ask, fenced=at.fenced, hook=hook, shell=has_shell(ask)))
