"""Codex CLI's hooks file and the trust without which it is skipped in silence.

Source: Codex CLI 0.171.0, run. `hooks.json` beside `config.toml`, user's or project's; a project's counts only where
the user's config.toml says `trust_level = "trusted"`. A hook that is not managed runs only after its exact
definition was trusted: a digest in `[hooks.state."FILE:EVENT:GROUP:HANDLER"]` of the user's config.toml, which only
Codex can compute. So Codex is asked, through its app-server (codex_trust). Cold.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

from ringfence.agents import answers, codex_trust, hookfile, tomlblocks
from ringfence.agents.hookfile import Shape, line_of
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "codex"
TIMEOUT = 20  # seconds
SINCE = (
    0,
    171,
    0,
)  # the version whose contract was run; older ones run a hook they do not understand as "go on"
SINCE_WHY = ("a hook contract that was tried", "was not tried, and runs what it does not understand")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("PreToolUse", "PermissionRequest")
SESSION = ("SessionStart", "SessionEnd")
SCOPES = {
    "project": "WORKSPACE/.codex/hooks.json, read only if the project is trusted",
    "user": "~/.codex/hooks.json ($CODEX_HOME), read wherever it starts",
}
NOTES: Mapping[str, str] = {
    "project": "write_stdin is not hooked: a shell that stays open is fenced itself, and so is what is typed into it",
    "user": "write_stdin is not hooked: a shell that stays open is fenced itself, and so is what is typed into it",
}


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    return {
        "type": "command",
        "command": line_of(wiring, event, judged=event in JUDGED),
        "timeout": TIMEOUT,
        "statusMessage": "ringfence",
    }


SHAPE = Shape(NAME, JUDGED, SESSION, _handler, matchers=JUDGED)


def home_folder(home: str, env: Mapping[str, str] | None) -> str:
    return (env or {}).get("CODEX_HOME") or os.path.join(home, ".codex")


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The hooks file of a scope."""
    folder = home_folder(home, env) if scope == "user" else os.path.join(workspace, ".codex")
    return os.path.join(folder, "hooks.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every hooks file that is read."""
    return tuple(settings_path(scope, workspace, home, env) for scope in SCOPES)


def off_switches(site: Site) -> tuple[str, ...]:
    """What turns hooks off: `features.hooks = false` in either config.toml, or a requirements file."""
    found = []
    for folder in (home_folder(site.home, site.env), os.path.join(site.workspace, ".codex")):
        path = os.path.join(folder, "config.toml")
        value = _toml(path)
        if value is None:
            found.append(f"{path} is no TOML that can be read")
        elif _at(value, "features", "hooks") is False or _at(value, "features", "codex_hooks") is False:
            found.append(f"{path} sets features.hooks = false")
    managed = "/etc/codex/requirements.toml"
    if _at(_toml(managed) or {}, "allow_managed_hooks_only") is True:
        found.append(f"{managed} sets allow_managed_hooks_only")
    return tuple(found)


def _toml(path: str) -> dict[str, Any] | None:
    text = read_text(path)
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text; see hookfile."""
    return hookfile.install_text(SHAPE, path, text, wiring)


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries; "" where nothing else is left of a file that only we wrote to."""
    return hookfile.uninstall_text(SHAPE, path, text)


def inspect(path: str) -> Found:
    """What one hooks file says about us."""
    return hookfile.inspect(SHAPE, path)


# --- trust -------------------------------------------------------------------------------------------


def trust_file(site: Site) -> str:
    """The user's config.toml: who is trusted stands there."""
    return os.path.join(home_folder(site.home, site.env), "config.toml")


def trust(site: Site, give: bool) -> tuple[Check, ...]:
    """Have Codex trust exactly our hooks; the project itself only where `give` says that its owner asked for it."""
    checks = []
    path = trust_file(site)
    if site.scope == "project":
        trusted = project_is_trusted(_toml(path) or {}, site.workspace)
        if not trusted and give:
            codex_trust.trust_project(site)
            trusted = True
        why = "trusted" if trusted else _UNTRUSTED.format(path=path)
        checks.append(Check("the project is trusted", trusted, "hook" if trusted else "none", why))
        if not trusted:
            return tuple(checks)
    hooks = settings_path(site.scope, site.workspace, site.home, site.env)
    checks.append(codex_trust.trust_hooks(site, hooks))
    return tuple(checks)


def trusted(site: Site) -> tuple[Check, ...]:
    """What `status` says: the same, asking only."""
    hooks = settings_path(site.scope, site.workspace, site.home, site.env)
    checks = []
    if site.scope == "project":
        path = trust_file(site)
        known = project_is_trusted(_toml(path) or {}, site.workspace)
        why = "trusted" if known else _UNTRUSTED.format(path=path)
        checks.append(Check("the project is trusted", known, "hook" if known else "none", why))
    checks.append(codex_trust.look(site, hooks))
    return tuple(checks)


_UNTRUSTED = (
    "Codex reads no project hooks until {path} trusts the project: trust it in Codex, or install with --trust, "
    "or with --scope user"
)


def project_is_trusted(config: dict[str, Any], workspace: str) -> bool:
    """Whether the workspace or a folder above it is trusted; the nearest entry counts."""
    projects = config.get("projects")
    at = workspace.rstrip("/") or "/"
    while isinstance(projects, dict):
        level = _at(projects, at, "trust_level")
        if isinstance(level, str):
            return level == "trusted"
        if at == "/":
            return False
        at = os.path.dirname(at)
    return False


def untrust_text(site: Site, text: str) -> str:
    """config.toml without the trust in our hooks; a trusted project stays, others may lean on it."""
    lead = settings_path(site.scope, site.workspace, site.home, site.env) + ":"
    text = tomlblocks.drop_tables(
        text, lambda keys: keys[:2] == ("hooks", "state") and len(keys) == 3 and keys[2].startswith(lead)
    )
    return tomlblocks.drop_empty(text, ("hooks", "state"))


# --- the canary --------------------------------------------------------------------------------------


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    patch = f"*** Begin Patch\n*** Add File: {value}\n+x\n*** End Patch\n"
    return {
        "session_id": "ringfence-canary",
        "turn_id": "canary",
        "transcript_path": None,
        "cwd": workspace,
        "hook_event_name": "PreToolUse",
        "model": "canary",
        "permission_mode": "bypassPermissions",
        "tool_name": "apply_patch" if tool == "write" else "Bash",
        "tool_input": {"command": patch if tool == "write" else value},
        "tool_use_id": "canary",
    }


def denial(answer: Answered) -> str | None:
    """The reason, if Codex takes this answer for a refusal."""
    return answers.nested_denial(answer) or None  # a denial without a reason runs the tool


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return answers.nested_rewrite(answer)
