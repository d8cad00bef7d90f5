"""OpenCode. Source: 1.18.33, run offline; `opencode --help`, `opencode debug config`.

The last matching permission key wins. Settings are merged key by key, which keeps the place of a key that a user's own
file has: so each refusal stands a second time under a pattern that nobody else writes, and comes last.
"""

from __future__ import annotations

import json

from ringfence.model import Lane, Mode, Posture
from ringfence.render.lanes import (
    Ask,
    Estate,
    File,
    Grant,
    Held,
    Places,
    Promise,
    Rendering,
    common,
    definition_name,
    describe,
    hook_words,
    prompt,
)

TITLE = "OpenCode"
PINNED = "1.18.33"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = False
CHECK: tuple[str, ...] = ()
ENUMS: tuple[str, ...] = ()
PLUGIN = "ringfence.js"

ESTATE = Estate(
    ".config/opencode",
    "XDG_CONFIG_HOME",
    "/opencode",
    moved=True,
    inner="opencode",
    siblings=True,
    fixed=True,
    grants=(
        # What stands under the sealed names is run or trusted by sessions outside the fence.
        Grant("XDG_DATA_HOME", ".local/share", "opencode", ("auth.json", "mcp-auth.json", "bin", "snapshot")),
        Grant("XDG_STATE_HOME", ".local/state", "opencode"),
    ),
    lost="OpenCode sees its settings folder read-only and makes no snapshots: sessions are kept; logins are not "
    "changed, and `undo` does not bring files back",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
_OUTSIDE = "it would work in a process that stands outside this fence"
REFUSED = {
    "--pure": "it loads no plugin, and so no hook",
    "--auto": _TABLE,
    "--attach": _OUTSIDE,
    "attach": _OUTSIDE,
}
UNSET = {
    "OPENCODE_PURE": "it loads no plugin, and so no hook",
    "OPENCODE_PERMISSION": _TABLE,
    "OPENCODE_CONFIG_CONTENT": "the session's own settings stand there",
}


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    text = prompt(TITLE, ask, shell=not safe)
    permission = _permission(ask)
    name = definition_name(ask)
    config: dict[str, object] = {
        "permission": permission,
        "instructions": [f"{at.config}/prompt.md"],
        "plugin": [f"file://{at.config}/{PLUGIN}"],
    }
    if at.fenced:
        config["snapshot"] = False
        config["autoupdate"] = False
    # It writes this file where it is missing, and ends if it cannot; into a folder that it may not write it installs no
    # packages, which without a network takes over a minute.
    ignore = File(
        ".gitignore", "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n", at_home=True
    )
    files = (File("prompt.md", text + "\n"), File(PLUGIN, "", hooked=True), ignore)
    return Rendering(
        (),
        (("OPENCODE_CONFIG_CONTENT", json.dumps(config)),),
        files,
        (f".opencode/agent/{name}.md", _definition(ask, text)),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        notes=(ESTATE.lost,) if at.fenced else (),
    )


def _permission(ask: Ask) -> dict[str, str]:
    made = {}
    alone = ask.posture is Posture.UNATTENDED
    safe = ask.mode is Mode.SAFE
    if alone:
        made["*"] = "allow"
    made["bash"] = "deny" if safe else "allow"
    denied = []
    if safe:
        denied.append("bash")
    if ask.lane is Lane.REVIEWER:
        denied.append("edit")
    if safe or not alone:
        denied.append("external_directory")
    made.update(dict.fromkeys(denied, "deny"))
    made.update({f"{key}*": "deny" for key in denied})
    return made


def _definition(ask: Ask, text: str) -> str:
    """YAML front matter; a full lane names no permission and inherits."""
    lines = ["---", f"description: {describe(ask)}", "mode: all"]
    denied = (["bash"] if ask.mode is Mode.SAFE else []) + (["edit"] if ask.lane is Lane.REVIEWER else [])
    if denied:
        lines += ["permission:", *[f"  {key}: deny" for key in denied]]
    return "\n".join([*lines, "---", "", text, ""])


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = "`bash` is denied by its own rules and not offered; the plugin denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = "`edit` (edit, write, patch) is denied by its own rules; the plugin denies every edit too"
        found.append(Promise("no edit tools", Held.TOOL, why))
    if ask.posture is Posture.UNATTENDED:
        asks = "everything that is not denied is allowed: the fence is the boundary"
    else:
        asks = "its own rules; bash is allowed beforehand" if ask.mode is Mode.POWER else "its own rules"
    found.append(Promise("who approves", Held.TOOL, asks))
    found += common(ask, fenced=at.fenced, hook="the plugin sees their calls", shell=ask.mode is Mode.POWER)
    if ask.mode is Mode.SAFE or ask.posture is Posture.ATTENDED:
        why = "a second layer: its `external_directory` rule misses redirections and interpreters"
        found.append(Promise("its own rule about outside folders", Held.TOOL, why))
    why = "a plugin that fails to load is said in its log only; "
    why += (
        "the engine holds the session all the same" if at.fenced else "`ringfence status opencode` tries it"
    )
    found.append(
        Promise(
            "a session whose plugin does not load is fenced", Held.KERNEL if at.fenced else Held.NONE, why
        )
    )
    return tuple(found)
