"""Copilot CLI's hook files: one file of ours per scope, beside those of others.

Source: Copilot CLI 1.0.102, run. Every `*.json` of the folder is read; a failing or missing hook blocks, a slow one
does not. Repository hooks wait for the folder's trust, and in print mode for an environment variable. Cold.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ringfence.agents import answers, hookfile
from ringfence.agents.hookfile import Shape
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text
from ringfence.errors import FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "copilot"
TIMEOUT = 20  # seconds
SINCE = (1, 0, 102)
SINCE_WHY = ("a hook contract that was tried", "was not tried")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
# The camelCase event: native tool names, and the flat answer that both spellings honour.
REPOSITORY_HOOKS = "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"
JUDGED = ("preToolUse",)
SESSION = ("sessionStart", "sessionEnd")
SCOPES = {
    "project": "WORKSPACE/.github/hooks/ringfence.json, read when Copilot CLI starts in that repository",
    "user": "~/.copilot/hooks/ringfence.json ($COPILOT_HOME), read wherever it starts",
}
NOTES: Mapping[str, str] = {}


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    # A hook that fails blocks, one that outlives `timeoutSec` does not: so it fails first.
    words = [*wiring.limit, wiring.command, *wiring.args, "--event", event]
    return {
        "type": "command",
        "exec": words[0],
        "args": words[1:],
        "timeoutSec": TIMEOUT,
    }


def _off(value: dict[str, Any]) -> str:
    return "disableAllHooks" if value.get("disableAllHooks") is True else ""


SHAPE = Shape(
    NAME,
    JUDGED,
    SESSION,
    _handler,
    grouped=False,
    exec_form=True,
    program="exec",
    top=(("version", 1),),
    off=_off,
)


def _folder(home: str, env: Mapping[str, str] | None) -> str:
    return (env or {}).get("COPILOT_HOME") or os.path.join(home, ".copilot")


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope; nobody else writes to it."""
    if scope == "user":
        return os.path.join(_folder(home, env), "hooks", "ringfence.json")
    return os.path.join(workspace, ".github", "hooks", "ringfence.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every file that could switch hooks off."""
    own = tuple(settings_path(scope, workspace, home, env) for scope in SCOPES)
    folder = os.path.join(workspace, ".github", "copilot")
    return (
        *own,
        os.path.join(_folder(home, env), "settings.json"),
        os.path.join(_folder(home, env), "config.json"),
        os.path.join(folder, "settings.json"),
        os.path.join(folder, "settings.local.json"),
    )


def off_switches(_: Site) -> tuple[str, ...]:
    """Nothing known in its environment turns hooks off."""
    return ()


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text; see hookfile."""
    return hookfile.install_text(SHAPE, path, text, wiring)


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries; "" if the file holds nothing else."""
    new = hookfile.uninstall_text(SHAPE, path, text)
    try:
        return "" if json.loads(new) == dict(SHAPE.top) and new != text else new
    except ValueError:
        return new


def inspect(path: str) -> Found:
    """What one hooks file says about us. A settings file may hold comments: then only its switch is looked for."""
    try:
        return hookfile.inspect(SHAPE._replace(comments=True), path)
    except FenceError:
        return Found(path, read_text(path) is not None, (), None, "", False, f"{path} cannot be read")


def trust_file(_: Site) -> str:
    """We never change whom Copilot CLI trusts."""
    return ""


def trust(site: Site, _give: bool) -> tuple[Check, ...]:
    """Nothing to give."""
    return trusted(site)


def trusted(site: Site) -> tuple[Check, ...]:
    """`copilot -p` skips a repository's hooks without a word, unless its environment asks for them (1.0.102, run)."""
    if site.scope == "user":
        return ()
    top = _repository(site.workspace)
    if top != site.workspace:
        why = f"Copilot CLI reads the hooks of {top}, whose repository this is; install with --scope user"
        return (Check("the workspace is the repository's root", False, "none", why),)
    name = "copilot -p runs the repository's hooks"
    if site.env.get(REPOSITORY_HOOKS) == "true":
        return (Check(name, True, "hook", f"{REPOSITORY_HOOKS} is set"),)
    why = f"set {REPOSITORY_HOOKS}=true wherever it is started so, or install with --scope user"
    return (Check(name, False, "none", why),)


def _repository(workspace: str) -> str:
    """The folder whose `.github` Copilot reads: the nearest that has a `.git`, even an empty one; else its own."""
    at = workspace
    while not os.path.lexists(os.path.join(at, ".git")):
        if at == "/":
            return workspace
        at = os.path.dirname(at)
    return at


def untrust_text(_: Site, text: str) -> str:
    """Nothing of ours stands there."""
    return text


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    given = {"path": value, "file_text": ""} if tool == "write" else {"command": value, "description": ""}
    return {
        "sessionId": "ringfence-canary",
        "timestamp": 1,
        "cwd": workspace,
        "toolName": "create" if tool == "write" else "bash",
        "toolArgs": given,
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the agent takes this answer for a refusal."""
    return answers.flat_denial(answer, "permissionDecision", "permissionDecisionReason")


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return answers.flat_rewrite(answer, "modifiedArgs")
