"""Codex CLI. Source: 0.171.0, run offline; `codex --help`, `codex features list`.

`-c` and `--disable` in front of the subcommand reach the terminal screen, `exec` and the app-server alike. 0.171.0
no longer takes `approval_policy = "untrusted"`, and its own sandbox cannot be built inside another: each
command then fails with "error building bubblewrap command".
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
    Swap,
    common,
    definition_name,
    describe,
    hook_words,
    prompt,
)

TITLE = "Codex"
PINNED = "0.171.0"
PROBE = ("--help",)
LAUNCHER = ""
TRUSTS = True
CHECK: tuple[str, ...] = ("features", "list")
ENUMS: tuple[str, ...] = ()

ESTATE = Estate(
    ".codex",
    "CODEX_HOME",
    moved=True,
    kept=("sessions", "archived_sessions"),
    sealed=("config.toml", "hooks.json"),
    lost="Codex works on a private copy of its settings folder: transcripts are kept; logins, history and its session "
    "index are not changed",
)

_TABLE = "the table sets it: choose with --mode, --lane, --attended and --unattended"
_OUTSIDE = "it would work in a process that stands outside this fence"
_NO_HOOK = "it switches the hooks off"
REFUSED = {
    "--sandbox": _TABLE,
    "-s": _TABLE,
    "--ask-for-approval": _TABLE,
    "-a": _TABLE,
    "--approve-for-me": _TABLE,
    "--dangerously-bypass-approvals-and-sandbox": _TABLE,
    "--yolo": _TABLE,
    "--ignore-user-config": _NO_HOOK,
    "--remote": _OUTSIDE,
    "remote-control": _OUTSIDE,
    "cloud": _OUTSIDE,
    "-c sandbox_mode": _TABLE,
    "-c approval_policy": _TABLE,
    "-c sandbox_workspace_write": _TABLE,
    "-c features": _NO_HOOK + " or the shell on",
    "-c hooks": _NO_HOOK,
    "-c projects": _TABLE,
    "--enable": "it could bring the shell back",
    "--disable hooks": _NO_HOOK,
}
UNSET: dict[str, str] = {}
_UNTRUSTED = ("-c", 'approval_policy="untrusted"')


def render(ask: Ask, at: Places) -> Rendering:
    """Pure."""
    safe = ask.mode is Mode.SAFE
    sandbox, approval = _pair(ask, at)
    text = prompt(TITLE, ask, shell=not safe)
    # Without it the terminal screen talks to a server that runs outside the fence.
    flags = ["--no-daemon", "-c", f'sandbox_mode="{sandbox}"', "-c", f'approval_policy="{approval}"']
    flags += ["-c", "features.hooks=true"]
    if safe:
        flags += ["--disable", "shell_tool"]
    flags += ["-c", f"developer_instructions={json.dumps(text)}"]
    thread = {"approvalPolicy": approval, "sandbox": sandbox}
    name = definition_name(ask)
    role = [f"name = {json.dumps(name)}", f"description = {json.dumps(describe(ask))}"]
    role += [f"developer_instructions = {json.dumps(text)}"]
    notes = []
    if safe:
        notes.append(
            "Codex reads through its shell: in safe mode it sees images and MCP servers' answers only"
        )
    if at.fenced:
        notes.append(ESTATE.lost)
        if _pair(ask, at._replace(fenced=False))[0] != sandbox:
            why = "Codex cannot build its own sandbox inside another; the engine's fence holds the same boundary"
            notes.append(f'sandbox "danger-full-access" stands inside our fence only: {why}')
    return Rendering(
        tuple(flags),
        (),
        (
            File("hooks.json", "{}\n", hooked=True, at_home=True),
            File("thread-start.json", json.dumps(thread, indent=2) + "\n"),
        ),
        (f".codex/agents/{name}.toml", "\n".join([*role, ""])),
        text,
        hook_words(ask, shell=not safe),
        _promises(ask, at),
        (Swap(_UNTRUSTED, ("-c", 'approval_policy="on-request"'), "no longer supported by this version"),),
        tuple(notes),
    )


def _pair(ask: Ask, at: Places) -> tuple[str, str]:
    """(sandbox, approval policy)."""
    if ask.posture is Posture.UNATTENDED:
        if at.loose or (ask.mode is Mode.SAFE and not at.fenced):
            return "workspace-write", "never"  # its own sandbox is all there is
        return "danger-full-access", "never"  # inside our fence
    if ask.mode is Mode.SAFE:
        return "read-only", "untrusted"
    return ("danger-full-access" if at.fenced else "workspace-write"), "never"


def _promises(ask: Ask, at: Places) -> tuple[Promise, ...]:
    found = []
    if ask.mode is Mode.SAFE:
        why = "shell_tool is off: exec_command and write_stdin are not offered; the hook denies every command too"
        found.append(Promise("no shell", Held.TOOL, why))
    if ask.lane is Lane.REVIEWER:
        why = "no flag of Codex removes apply_patch; the hook denies it"
        found.append(Promise("no edit tools", Held.HOOK, why))
    asks = {
        "never": "nobody is asked: the fence is the boundary",
        "untrusted": "every patch asks, because the sandbox is read-only",
    }
    found.append(Promise("who approves", Held.TOOL, asks[_pair(ask, at)[1]]))
    found += common(ask, fenced=at.fenced, hook="the hook sees their calls", shell=ask.mode is Mode.POWER)
    if ask.mode is Mode.POWER:
        why = "no hook event fires for write_stdin; the shell that it types into is fenced itself"
        found.append(Promise("text typed into a running shell", Held.KERNEL, why))
    why = "the outer JavaScript call is not hooked, its nested calls are"
    found.append(Promise("code mode", Held.KERNEL if at.fenced else Held.HOOK, why))
    return tuple(found)
