"""Gemini CLI's settings files: hooks, and the folder trust without which they are not read.

Source: Gemini CLI 0.61.0, run and read. Settings are JSON with comments. The hooks of all layers are merged and run;
in a folder that is not trusted none of them does, and print mode does not start. A changed project hook is
announced once and recorded (`trusted_hooks.json`), which blocks nothing. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import answers, hookfile, jsonedit
from ringfence.agents.hookfile import Shape, line_of
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text, write_text
from ringfence.errors import FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "gemini"
TIMEOUT = 20_000  # milliseconds
SINCE = (0, 61, 0)
SINCE_WHY = ("a hook contract that was tried", "was not tried, and runs what it does not understand")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("BeforeTool",)
SESSION = ("SessionStart", "SessionEnd")
SCOPES = {
    "project": "WORKSPACE/.gemini/settings.json, read where the folder is trusted",
    "user": "~/.gemini/settings.json, read wherever it starts",
}
NOTES: Mapping[str, str] = {}


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    return {
        "name": "ringfence",
        "type": "command",
        "command": line_of(wiring, event, judged=event in JUDGED),
        "timeout": TIMEOUT,
    }


def _off(value: dict[str, Any]) -> str:
    config = value.get("hooksConfig")
    if not isinstance(config, dict):
        return ""
    if config.get("enabled") is False:
        return "hooksConfig.enabled = false"
    disabled = config.get("disabled")
    return "hooksConfig.disabled" if isinstance(disabled, list) and "ringfence" in disabled else ""


SHAPE = Shape(NAME, JUDGED, SESSION, _handler, matchers=JUDGED, comments=True, off=_off)


def _folder(home: str, env: Mapping[str, str] | None) -> str:
    # GEMINI_CLI_HOME stands for the home folder, not for `.gemini` (0.61.0).
    return os.path.join((env or {}).get("GEMINI_CLI_HOME") or home, ".gemini")


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope."""
    folder = _folder(home, env) if scope == "user" else os.path.join(workspace, ".gemini")
    return os.path.join(folder, "settings.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every settings file that could switch our hooks off."""
    system = (env or {}).get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or "/etc/gemini-cli/settings.json"
    defaults = (env or {}).get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") or "/etc/gemini-cli/system-defaults.json"
    return (*(settings_path(scope, workspace, home, env) for scope in SCOPES), system, defaults)


def off_switches(_: Site) -> tuple[str, ...]:
    """Nothing in its environment turns hooks off."""
    return ()


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text; see hookfile."""
    return hookfile.install_text(SHAPE, path, text, wiring)


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries."""
    return hookfile.uninstall_text(SHAPE, path, text)


def inspect(path: str) -> Found:
    """What one settings file says about us."""
    return hookfile.inspect(SHAPE, path)


# --- trust -------------------------------------------------------------------------------------------


def trust_file(site: Site) -> str:
    """Which folders are trusted."""
    given = site.env.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
    return given or os.path.join(_folder(site.home, site.env), "trustedFolders.json")


def trust(site: Site, give: bool) -> tuple[Check, ...]:
    """Look at the folder's trust; record it where `give` says that its owner asked for it."""
    found = trusted(site)
    if not give or found[0].ok:
        return found
    path = trust_file(site)
    text = read_text(path)
    try:
        new = jsonedit.put(text or "{}\n", (site.workspace,), "TRUST_FOLDER", comments=True)
    except jsonedit.JsonTextError as error:
        raise FenceError(f"{path}: not JSON: {error}", "mend the file first") from None
    write_text(path, new)
    return trusted(site)


def trusted(site: Site) -> tuple[Check, ...]:
    """Whether Gemini CLI trusts the folder, as its own rules have it (0.61.0)."""
    name = "the folder is trusted"
    if not _asks_for_trust(site):
        return (Check(name, True, "hook", "folder trust is off, so every folder counts as trusted"),)
    if site.env.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return (Check(name, True, "hook", "GEMINI_CLI_TRUST_WORKSPACE is set"),)
    path = trust_file(site)
    try:
        value, _ = jsonedit.parse(read_text(path) or "{}", comments=True)
    except jsonedit.JsonTextError as error:
        return (Check(name, False, "none", f"{path}: not JSON: {error}"),)
    nearest = _nearest(value if isinstance(value, dict) else {}, site.workspace)
    if nearest in ("TRUST_FOLDER", "TRUST_PARENT"):
        return (Check(name, True, "hook", f"{path} says {nearest}"),)
    why = (
        f"Gemini CLI runs no hooks in a folder that {path} does not trust (without a terminal it does not start "
        "there): trust it there, install with --trust, or start it with --skip-trust"
    )
    return (Check(name, False, "none", why),)


def _asks_for_trust(site: Site) -> bool:
    """security.folderTrust.enabled of the system's and the user's settings; on by default since 0.2x."""
    wanted = True
    for path in layers(site.workspace, site.home, site.env)[1:]:
        try:
            value, _ = jsonedit.parse(read_text(path) or "{}", comments=True)
        except (jsonedit.JsonTextError, FenceError):
            continue
        for key in ("security", "folderTrust", "enabled"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            wanted = value
    return wanted


def _nearest(rules: dict[str, Any], workspace: str) -> str:
    """The rule of the nearest folder: TRUST_PARENT stands for the folder above the one it names."""
    best, said = -1, ""
    for place, level in rules.items():
        root = os.path.dirname(place) if level == "TRUST_PARENT" else place
        root = root.rstrip("/") or "/"
        if (workspace == root or workspace.startswith(root.rstrip("/") + "/")) and len(root) > best:
            best, said = len(root), str(level)
    return said


def untrust_text(site: Site, text: str) -> str:
    """trustedFolders.json without the workspace."""
    try:
        return jsonedit.drop(text, (site.workspace,), comments=True)
    except jsonedit.JsonTextError:
        return text


# --- the canary --------------------------------------------------------------------------------------


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    return {
        "session_id": "ringfence-canary",
        "transcript_path": "",
        "cwd": workspace,
        "hook_event_name": "BeforeTool",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_name": "write_file" if tool == "write" else "run_shell_command",
        "tool_input": {"file_path": value, "content": ""} if tool == "write" else {"command": value},
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the agent takes this answer for a refusal."""
    return answers.flat_denial(answer, "decision", "reason")


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    output = answers.loaded(answer).get("hookSpecificOutput")
    given = output.get("tool_input") if isinstance(output, dict) else None
    return str(given.get("command", "")) if isinstance(given, dict) else ""
