"""Qwen Code's settings files: Gemini CLI's place and trust, Claude Code's hooks.

Source: Qwen Code 0.24.4, run. Folder trust is off by default; where it is on, project hooks wait for it. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import answers, hookfile, jsonedit
from ringfence.agents.hookfile import Shape, line_of
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text
from ringfence.errors import FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "qwen"
TIMEOUT = 20  # seconds; from 1000 on it would be read as milliseconds
SINCE = (0, 24, 4)
SINCE_WHY = ("a hook contract that was tried", "was not tried, and runs what it does not understand")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("PreToolUse",)
SESSION = ("SessionStart", "SessionEnd")
SCOPES = {
    "project": "WORKSPACE/.qwen/settings.json, read where the folder is trusted",
    "user": "~/.qwen/settings.json, read wherever it starts",
}
NOTES: Mapping[str, str] = dict.fromkeys(SCOPES, "--bare and --safe-mode start Qwen Code without hooks")


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    return {
        "name": "ringfence",
        "type": "command",
        "command": line_of(wiring, event, judged=event in JUDGED),
        "timeout": TIMEOUT,
    }


SHAPE = Shape(
    NAME,
    JUDGED,
    SESSION,
    _handler,
    matchers=JUDGED,
    comments=True,
    off=lambda value: "disableAllHooks" if value.get("disableAllHooks") is True else "",
)


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope."""
    folder = (
        ((env or {}).get("QWEN_HOME") or os.path.join(home, ".qwen"))
        if scope == "user"
        else os.path.join(workspace, ".qwen")
    )
    return os.path.join(folder, "settings.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every settings file that could switch our hooks off."""
    system = (env or {}).get("QWEN_CODE_SYSTEM_SETTINGS_PATH") or "/etc/qwen-code/settings.json"
    return (*(settings_path(scope, workspace, home, env) for scope in SCOPES), system)


def off_switches(_: Site) -> tuple[str, ...]:
    """Nothing known in its environment turns hooks off."""
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


def trust_file(_: Site) -> str:
    """We never change whom Qwen Code trusts."""
    return ""


def trust(site: Site, _give: bool) -> tuple[Check, ...]:
    """What `trusted` says: Qwen Code has to be told by its owner."""
    return trusted(site)


def trusted(site: Site) -> tuple[Check, ...]:
    """Only a folder trust that somebody switched on stands in the way of project hooks."""
    wanted = False
    for path in layers(site.workspace, site.home, site.env)[1:]:
        try:
            value, _ = jsonedit.parse(read_text(path) or "{}", comments=True)
        except (jsonedit.JsonTextError, FenceError):
            continue
        for key in ("security", "folderTrust", "enabled"):
            value = value.get(key) if isinstance(value, dict) else None
        wanted = value if isinstance(value, bool) else wanted
    if not wanted or site.scope == "user":
        return ()
    why = "folder trust is on: whether this folder has it is for Qwen Code to say (/permissions)"
    return (Check("the folder is trusted", None, "none", why),)


def untrust_text(_: Site, text: str) -> str:
    """Nothing of ours stands there."""
    return text


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    return {
        "session_id": "ringfence-canary",
        "transcript_path": "",
        "cwd": workspace,
        "hook_event_name": "PreToolUse",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "permission_mode": "yolo",
        "prompt_id": "canary",
        "tool_name": "write_file" if tool == "write" else "run_shell_command",
        "tool_input": {"file_path": value, "content": ""} if tool == "write" else {"command": value},
        "tool_use_id": "canary",
        "tool_call_id": "canary",
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the agent takes this answer for a refusal."""
    return answers.nested_denial(answer)


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return answers.nested_rewrite(answer)
