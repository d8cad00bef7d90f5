"""Cursor's hooks file.

Source: Cursor's documentation and captures of others; never run by us, since it needs an account (docs/agents).
`failClosed` blocks on a failing, slow or silent hook, so an allow is said aloud. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import answers, hookfile
from ringfence.agents.hookfile import Shape, line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring

NAME = "cursor"
TIMEOUT = 20  # seconds
SINCE: tuple[int, ...] = ()  # nothing was run, so no version is known to keep the contract
SINCE_WHY = ("the hook contract", "was not tried")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("preToolUse", "beforeShellExecution", "beforeReadFile", "beforeMCPExecution")
SESSION: tuple[str, ...] = ()
SCOPES = {
    "project": "WORKSPACE/.cursor/hooks.json, read when Cursor opens that folder",
    "user": "~/.cursor/hooks.json, read wherever it starts",
}
NOTES: Mapping[str, str] = dict.fromkeys(
    SCOPES, "the contract is Cursor's documentation; it was not run by us"
)


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    return {"command": line_of(wiring, event, judged=event in JUDGED), "timeout": TIMEOUT, "failClosed": True}


SHAPE = Shape(NAME, JUDGED, SESSION, _handler, grouped=False, top=(("version", 1),))


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:  # noqa: ARG001 - one signature for all agents
    """The file of a scope."""
    return os.path.join(home if scope == "user" else workspace, ".cursor", "hooks.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every hooks file that is read."""
    found = tuple(settings_path(scope, workspace, home, env) for scope in SCOPES)
    return (*found, "/etc/cursor/hooks.json")


def off_switches(_: Site) -> tuple[str, ...]:
    """None is known."""
    return ()


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text; see hookfile."""
    return hookfile.install_text(SHAPE, path, text, wiring)


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries."""
    return hookfile.uninstall_text(SHAPE, path, text)


def inspect(path: str) -> Found:
    """What one hooks file says about us."""
    return hookfile.inspect(SHAPE, path)


def trust_file(_: Site) -> str:
    """Cursor keeps no trust in a file."""
    return ""


def trust(site: Site, _give: bool) -> tuple[Check, ...]:
    """Nothing to give."""
    return trusted(site)


def trusted(_: Site) -> tuple[Check, ...]:
    """A workspace that is not trusted runs no agent at all (documentation)."""
    return ()


def untrust_text(_: Site, text: str) -> str:
    """Nothing of ours stands there."""
    return text


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    given = {"file_path": value, "content": ""} if tool == "write" else {"command": value, "cwd": workspace}
    return {
        "conversation_id": "ringfence-canary",
        "generation_id": "canary",
        "model": "canary",
        "session_id": "ringfence-canary",
        "hook_event_name": "preToolUse",
        "cursor_version": "0",
        "workspace_roots": [workspace],
        "user_email": None,
        "transcript_path": None,
        "tool_name": "Write" if tool == "write" else "Shell",
        "tool_input": given,
        "tool_use_id": "canary",
        "cwd": workspace,
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the agent takes this answer for a refusal."""
    return answers.flat_denial(answer, "permission", "user_message")


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return answers.flat_rewrite(answer, "updated_input")
