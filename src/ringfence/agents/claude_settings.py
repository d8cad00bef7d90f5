"""Claude Code's settings files: where they lie, what we write there, and how to tell ours from others'.

Source: Claude Code 2.1.332. Layers: managed > --settings > local > project > user; hooks of all layers run, and the
strictest answer wins. `onFailure: "block"` needs 2.1.295. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import jsonedit
from ringfence.errors import FenceError
from ringfence.records import Record

NAME = "claude"
TIMEOUT = 20  # seconds, as Claude counts; the hook's own deadline is far below
SINCE = (2, 1, 295)  # the first version that honours onFailure
PREFIX = ("env", "CLAUDE_CODE_SHELL_PREFIX")
JUDGED = ("PreToolUse", "PermissionRequest", "PreSkillShellCommand")
SESSION = ("SessionStart", "SessionEnd")
_EMPTY = "{}\n"


class Wiring(Record):
    """What is to stand in a settings file. `launcher` "" leaves the shell prefix alone."""

    command: str
    args: tuple[str, ...]
    launcher: str


class Found(Record):
    """What stands in one settings file."""

    path: str
    exists: bool
    hooks: tuple[str, ...]  # events that call us
    wiring: Wiring | None  # how they call us
    prefix: str  # the shell prefix set there, whoever set it
    disabled: bool  # disableAllHooks
    problem: str = ""


def settings_path(scope: str, workspace: str, home: str) -> str:
    """The file of a scope: `project` is private to this machine, since it names absolute paths."""
    if scope == "user":
        return os.path.join(home, ".claude", "settings.json")
    return os.path.join(workspace, ".claude", "settings.local.json")


def layers(workspace: str, home: str) -> tuple[str, ...]:
    """Every settings file that could switch our hooks off."""
    folder = os.path.join(workspace, ".claude")
    return (
        os.path.join(home, ".claude", "settings.json"),
        os.path.join(folder, "settings.json"),
        os.path.join(folder, "settings.local.json"),
        "/etc/claude-code/managed-settings.json",
    )


def read_text(path: str) -> str | None:
    """The file's text, None if it does not exist. Raises FenceError if it is no UTF-8 text."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise FenceError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        value, _ = jsonedit.parse(text)
    except jsonedit.JsonTextError as error:
        line = text.count("\n", 0, error.at) + 1
        raise FenceError(
            f"{path}:{line}: not JSON: {error}", "mend the file first; nothing was changed"
        ) from None
    if not isinstance(value, dict):
        raise FenceError(
            f"{path}: the settings are not a JSON object", "mend the file first; nothing was changed"
        )
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(v, list) for v in hooks.values()):
        raise FenceError(
            f"{path}: `hooks` is not an object of lists", "mend the file first; nothing was changed"
        )
    if not isinstance(value.get("env", {}), dict):
        raise FenceError(f"{path}: `env` is not an object", "mend the file first; nothing was changed")
    return value


def is_ours(handler: object) -> bool:
    """Whether a hook handler calls ringfence's Claude hook, of any version or place."""
    if not isinstance(handler, dict):
        return False
    args = handler.get("args")
    if not isinstance(args, list):
        return False
    words = [str(handler.get("command", "")), *[str(a) for a in args]]
    names = any(w.endswith(("/ringfence/start.py", "/ringfence")) or w == "ringfence" for w in words)
    return names and any(words[i : i + 2] == ["hook", NAME] for i in range(len(words)))


def _group(event: str, wiring: Wiring) -> dict[str, Any]:
    # The event stands in the arguments too: an answer to a payload that cannot be read needs its name, and a
    # PermissionRequest is not denied by exit status 2 (Claude Code 2.1.332).
    handler: dict[str, Any] = {"type": "command", "command": wiring.command}
    handler["args"] = [*wiring.args, "--event", event]
    handler["timeout"] = TIMEOUT
    if event in JUDGED:
        handler["onFailure"] = "block"
    group: dict[str, Any] = {"hooks": [handler]}
    return {"matcher": "*", **group} if event in ("PreToolUse", "PermissionRequest") else group


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The file's new text. Our older entries are replaced, all others stay byte for byte; twice changes nothing."""
    if text is not None and _stands(path, text, wiring):
        return text
    old = uninstall_text(path, text) if text is not None else None
    new = _EMPTY if old is None or not old.strip() else old
    _parsed(path, new)
    for event in (*JUDGED, *SESSION):
        new = jsonedit.append(new, ("hooks", event), _group(event, wiring))
    if wiring.launcher:
        new = jsonedit.put(new, PREFIX, wiring.launcher)
    return new


def _stands(path: str, text: str, wiring: Wiring) -> bool:
    """Whether exactly this wiring, and no older one of ours, is in the text already."""
    if not text.strip():
        return False
    value = _parsed(path, text)
    hooks = value.get("hooks", {})
    for event, groups in hooks.items():
        ours = [g for g in groups if isinstance(g, dict) and any(map(is_ours, g.get("hooks", [])))]
        if ours != ([_group(event, wiring)] if event in (*JUDGED, *SESSION) else []):
            return False
    prefix = value.get("env", {}).get(PREFIX[1], "")
    wanted = wiring.launcher or ("" if is_launcher(str(prefix)) else prefix)
    return all(event in hooks for event in (*JUDGED, *SESSION)) and prefix == wanted


def uninstall_text(path: str, text: str) -> str:
    """The text without our entries; lists and objects that this leaves empty go too."""
    if not text.strip():
        return text
    value = _parsed(path, text)
    before = text
    for event in list(value.get("hooks", {})):
        text = _drop_event(path, text, event)
    value = _parsed(path, text)
    if text != before and not value["hooks"]:
        text = jsonedit.drop(text, ("hooks",))
    prefix = value.get("env", {}).get(PREFIX[1])
    if isinstance(prefix, str) and is_launcher(prefix):
        text = jsonedit.drop(text, PREFIX)
        if not _parsed(path, text).get("env"):
            text = jsonedit.drop(text, ("env",))
    return text


def _drop_event(path: str, text: str, event: str) -> str:
    groups = _parsed(path, text)["hooks"][event]
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        handlers = group.get("hooks", []) if isinstance(group, dict) else []
        ours = [i for i, h in enumerate(handlers) if is_ours(h)]
        if not ours:
            continue
        if len(ours) == len(handlers):
            text = jsonedit.drop(text, ("hooks", event), index)
            continue
        raise FenceError(
            f"{path}: hooks.{event}[{index}] holds our handler beside somebody else's",
            "move ours into a group of its own, or remove it by hand",
        )
    if groups and not _parsed(path, text)["hooks"][event]:
        text = jsonedit.drop(text, ("hooks", event))
    return text


def is_launcher(prefix: str) -> bool:
    """Whether a shell prefix is a launcher that `install` made."""
    return os.path.basename(prefix).startswith("ringfence-claude-")


def inspect(path: str) -> Found:
    """What one settings file says about us."""
    text = read_text(path)
    if text is None:
        return Found(path, False, (), None, "", False)
    if not text.strip():
        return Found(path, True, (), None, "", False)
    try:
        value = _parsed(path, text)
    except FenceError as error:
        return Found(path, True, (), None, "", False, error.message)
    events = []
    wiring = None
    prefix = value.get("env", {}).get(PREFIX[1], "")
    for event, groups in value.get("hooks", {}).items():
        for group in groups:
            for item in group.get("hooks", []) if isinstance(group, dict) else []:
                if is_ours(item):
                    events.append(event)
                if is_ours(item) and event == JUDGED[0]:
                    wiring = Wiring(str(item["command"]), tuple(map(str, item["args"])), str(prefix))
    return Found(path, True, tuple(events), wiring, str(prefix), value.get("disableAllHooks") is True)
