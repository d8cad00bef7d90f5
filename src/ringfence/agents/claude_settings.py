"""Claude Code's settings files: where they lie, what we write there, and how to tell ours from others'.

Source: Claude Code 2.1.332. Layers: managed > --settings > local > project > user; hooks of all layers run, and the
strictest answer wins. `onFailure: "block"` needs 2.1.295. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import answers, hookfile, jsonedit
from ringfence.agents.hookfile import Shape
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text
from ringfence.errors import FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Found", "Wiring", "read_text"]

NAME = "claude"
TIMEOUT = 20  # seconds, as Claude counts; the hook's own deadline is far below
SINCE = (2, 1, 295)  # the first version that honours onFailure
SINCE_WHY = ('a hook that breaks blocks (onFailure: "block")', "ignores onFailure")
SINCE_REQUIRED = True
VERSION_WORDS = ("--version",)
LAUNCHER = "ringfence-claude-"  # how the name of the shell prefix that `install` makes begins
PREFIX = ("env", "CLAUDE_CODE_SHELL_PREFIX")
JUDGED = ("PreToolUse", "PermissionRequest", "PreSkillShellCommand")
SESSION = ("SessionStart", "SessionEnd")
SCOPES = {
    "project": "WORKSPACE/.claude/settings.local.json, read only when Claude Code starts in that very folder",
    "user": "~/.claude/settings.json, read wherever it starts",
}
NOTES = {
    "project": "project settings are read only when Claude Code starts in that very folder, not below it; "
    "--scope user holds everywhere"
}


def _handler(event: str, wiring: Wiring) -> dict[str, Any]:
    # The event stands in the arguments too: an answer to a payload that cannot be read needs its name, and a
    # PermissionRequest is not denied by exit status 2 (Claude Code 2.1.332).
    handler: dict[str, Any] = {"type": "command", "command": wiring.command}
    handler["args"] = [*wiring.args, "--event", event]
    handler["timeout"] = TIMEOUT
    if event in JUDGED:
        handler["onFailure"] = "block"
    return handler


SHAPE = Shape(
    NAME,
    JUDGED,
    SESSION,
    _handler,
    matchers=("PreToolUse", "PermissionRequest"),
    exec_form=True,
    off=lambda value: "disableAllHooks" if value.get("disableAllHooks") is True else "",
)


def _folder(home: str, env: Mapping[str, str] | None) -> str:
    return (env or {}).get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope: `project` is private to this machine, since it names absolute paths."""
    if scope == "user":
        return os.path.join(_folder(home, env), "settings.json")
    return os.path.join(workspace, ".claude", "settings.local.json")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Every settings file that could switch our hooks off."""
    folder = os.path.join(workspace, ".claude")
    return (
        os.path.join(_folder(home, env), "settings.json"),
        os.path.join(folder, "settings.json"),
        os.path.join(folder, "settings.local.json"),
        "/etc/claude-code/managed-settings.json",
    )


def off_switches(site: Site) -> tuple[str, ...]:
    """What in the agent's environment makes it run no hooks."""
    return tuple(
        f"{name} is set: Claude Code runs no hooks then"
        for name in ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
        if site.env.get(name)
    )


def is_ours(handler: object) -> bool:
    """Whether a hook handler calls ringfence's Claude hook, of any version or place."""
    return hookfile.is_ours(SHAPE, handler)


def _parsed(path: str, text: str) -> dict[str, Any]:
    value = hookfile.parsed(SHAPE, path, text)
    if not isinstance(value.get("env", {}), dict):
        raise FenceError(f"{path}: `env` is not an object", "mend the file first; nothing was changed")
    return value


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text. Our older entries are replaced, all others stay byte for byte; twice changes nothing."""
    if text is not None and _stands(path, text, wiring):
        return text
    if text is not None and text.strip():
        _parsed(path, text)
        text = uninstall_text(path, text)
    new = hookfile.install_text(SHAPE, path, text, wiring)
    return jsonedit.put(new, PREFIX, wiring.launcher) if wiring.launcher else new


def _stands(path: str, text: str, wiring: Wiring) -> bool:
    """Whether exactly this wiring, and no older one of ours, is in the text already."""
    if not hookfile.stands(SHAPE, path, text, wiring):
        return False
    prefix = _parsed(path, text).get("env", {}).get(PREFIX[1], "")
    return bool(prefix == (wiring.launcher or ("" if is_launcher(str(prefix)) else prefix)))


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries; lists and objects that this leaves empty go too."""
    if not text.strip():
        return text
    prefix = _parsed(path, text).get("env", {}).get(PREFIX[1])
    text = hookfile.uninstall_text(SHAPE, path, text)
    if isinstance(prefix, str) and is_launcher(prefix):
        text = jsonedit.drop(text, PREFIX)
        if not _parsed(path, text).get("env"):
            text = jsonedit.drop(text, ("env",))
    return text


def is_launcher(prefix: str) -> bool:
    """Whether a shell prefix is a launcher that `install` made."""
    return os.path.basename(prefix).startswith(LAUNCHER)


def inspect(path: str) -> Found:
    """What one settings file says about us."""
    found = hookfile.inspect(SHAPE, path)
    text = read_text(path)
    if found.problem or text is None or not text.strip():
        return found
    try:
        prefix = str(_parsed(path, text).get("env", {}).get(PREFIX[1], ""))
    except FenceError as error:
        return Found(path, True, (), None, "", False, error.message)
    wiring = found.wiring
    if wiring is not None:
        wiring = wiring._replace(launcher=prefix)
    return found._replace(prefix=prefix, wiring=wiring)


def foreign_prefix(site: Site) -> str:
    """Somebody else's shell prefix, in any layer that would win: then commands are rewritten by the hook instead."""
    for path in layers(site.workspace, site.home, site.env):
        found = inspect(path)
        if found.prefix and not is_launcher(found.prefix):
            return (
                f"{path} sets CLAUDE_CODE_SHELL_PREFIX to {found.prefix}; it is left alone, and commands are rewritten "
                "by the hook (a `cd` then does not last from one call to the next)"
            )
    return ""


# --- the canary --------------------------------------------------------------------------------------


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call: `tool` "write" with a path, or "shell" with a command."""
    given = {"file_path": value, "content": ""} if tool == "write" else {"command": value}
    return {
        "session_id": "ringfence-canary",
        "transcript_path": "",
        "cwd": workspace,
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": "Write" if tool == "write" else "Bash",
        "tool_input": given,
        "tool_use_id": "canary",
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the agent takes this answer for a refusal."""
    return answers.nested_denial(answer)


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return answers.nested_rewrite(answer)


def trust_file(_: Site) -> str:
    """Where the agent keeps whom it trusts; "": nothing is asked for our scopes in print mode."""
    return ""


def trust(_site: Site, _give: bool) -> tuple[Check, ...]:
    """Hooks of a project run in print mode without trust; a session with a terminal asks for the folder first."""
    return ()


def trusted(_: Site) -> tuple[Check, ...]:
    """What `status` says of trust."""
    return ()


def untrust_text(_: Site, text: str) -> str:
    """Nothing of ours stands there."""
    return text
