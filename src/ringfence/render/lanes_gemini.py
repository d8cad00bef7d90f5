"""Gemini CLI. Source: 0.61.0, run offline; `gemini --help`, its bundle.

Settings of the system layer, and admin policies, are skipped unless root owns every folder above them: so ours stand in
the session's copy of the user's own. A policy rule with "deny" and without a pattern takes the tool out of the model's
list, for sub-agents too; the front matter of its agents is strict and knows an allow list only.
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

TITLE = "Gemini CLI"
PINNED = "0.61.0"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ("--approval-mode",)
SHELLS = ("run_shell_command",)
EDITS = ("write_file", "replace", "save_memory")
CONTEXT = "RINGFENCE.md"

ESTATE = Estate(
    ".gemini",
    "GEMINI_CLI_HOME",
    "/.gemini",
    moved=True,
    inner=".gemini",
    kept=("tmp",),
    sealed=("settings.json", CONTEXT, "tmp/bin"),
    lost="Gemini CLI works on a private copy of its settings folder: chats are kept; logins, trusted folders and "
    "checkpoints are not changed",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
REFUSED = {
    "--approval-mode": _TABLE,
    "--yolo": _TABLE,
    "-y": _TABLE,
    "--allowed-tools": _TABLE,
}
UNSET = {
    "GEMINI_SYSTEM_MD": "it would replace the prompt that names the mode",
}


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    denied = (*(SHELLS if safe else ()), *(EDITS if ask.lane is Lane.REVIEWER else ()))
    text = prompt(TITLE, ask, shell=not safe)
    flags = ["--approval-mode", "auto_edit" if safe else "yolo"]
    files = []
    if denied:
        flags += ["--policy", f"{at.config}/policy.toml"]
        files.append(File("policy.toml", _policy(denied)))
    settings = {
        "hooksConfig": {"enabled": True},
        "context": {"fileName": ["GEMINI.md", CONTEXT]},
        "general": {"checkpointing": {"enabled": False}},
    }
    files.append(File("settings.json", json.dumps(settings, indent=2) + "\n", True, True, True))
    files.append(File(CONTEXT, text + "\n", at_home=True))
    env = (("GEMINI_CLI_TRUST_WORKSPACE", "true"),)
    name = definition_name(ask)
    fields = {"name": name, "description": describe(ask)}
    return Rendering(
        tuple(flags),
        env,
        tuple(files),
        (f".gemini/agents/{name}.md", front_matter(fields, text)),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _policy(denied: tuple[str, ...]) -> str:
    lines = ["[[rule]]", f"toolName = {json.dumps(list(denied))}", 'decision = "deny"', "priority = 999"]
    return "\n".join([*lines, 'denyMessage = "this session\'s mode or lane does not have this tool"', ""])


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = (
            f"a policy rule takes {', '.join(SHELLS)} out of the tool list; the hook denies every command too"
        )
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = f"a policy rule takes {', '.join(EDITS)} out of the tool list; the hook denies every edit too"
        found.append(Promise("no edit tools", Held.TOOL, why))
    if ask.mode is Mode.SAFE:
        asks = "edits are accepted; what else would ask is asked, or refused where nobody is there"
    elif ask.posture is Posture.UNATTENDED:
        asks = "yolo: the fence is the boundary"
    else:
        asks = "yolo also while a person attends: nothing asks"
    found.append(Promise("who approves", Held.TOOL, asks))
    hook = "the engine holds what they write, and their calls come to the same hook"
    found += common(ask, fenced=at.fenced, hook=hook, shell=ask.mode is Mode.POWER)
    return tuple(found)
