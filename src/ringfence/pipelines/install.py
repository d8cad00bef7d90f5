"""`ringfence install | uninstall | status claude`: wire the hook into the agent's own settings, prove it, undo it.

read the settings -> the new text -> write -> call the hook and the launcher exactly as installed -> keep or put back.
"""

from __future__ import annotations

import json
import os
import subprocess

from ringfence.agents import claude_settings as settings
from ringfence.errors import EXIT_OK, EXIT_REFUSED, FenceError, NotEnforcedError, UsageError
from ringfence.pipelines import compose, launchers
from ringfence.pipelines.canaries import WAIT, Check, canaries
from ringfence.pipelines.words import flag_words
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Policy
    from ringfence.policy.asked import Flags


class Installed(Record):
    """What a command did and found."""

    path: str
    changed: bool
    workspace: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def status(self) -> int:
        return EXIT_OK if all(check.ok is not False for check in self.checks) else EXIT_REFUSED


def install(flags: Flags, scope: str) -> Installed:
    """Write our entries. Raises NotEnforcedError, with the settings put back, if the canary is not refused."""
    flags = launchers.absolute_flags(flags)
    env = compose.process_environment()
    cwd = compose.process_cwd()
    if not flags.workspace:
        raise UsageError(
            "name the workspace that the agent may write",
            "ringfence install claude --workspace DIR: it is fixed here and never guessed from where a call stands",
        )
    fence = compose.fence_for(flags, env, cwd)
    policy = fence.policy
    home = env.get("HOME", "")
    path = _path(scope, policy, home)
    _refuse_link(path)
    text = settings.read_text(path)
    launcher = launchers.claude_path(policy.folders.state, "\0".join(policy.workspace))
    foreign = _foreign_prefix(policy, home)
    launchers.write(launcher, launchers.launcher_text("ringfence.pipelines.claude_shell", flag_words(flags)))
    program, words = launchers.hook_words(settings.NAME, flags, launcher)
    new = settings.install_text(path, text, settings.Wiring(program, words, "" if foreign else launcher))
    if new != text:
        _remember(policy, path, text, new)
        _write(path, new)
    checks = canaries(policy, path, env)
    if foreign:
        checks = (*checks, Check("shell prefix", True, "kernel", foreign))
    failed = [check for check in checks if check.ok is False]
    if failed:
        if new != text:
            _put_back(path, text)
        why = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise NotEnforcedError(
            f"the hook as installed does not hold, so {path} was put back: {why}", "ringfence doctor"
        )
    return Installed(path, new != text, policy.workspace, (*checks, *_surroundings(policy, home, env)))


def uninstall(flags: Flags, scope: str) -> Installed:
    """Take our entries out; the file becomes what it was before, byte for byte, unless others changed it since."""
    env = compose.process_environment()
    policy = compose.fence_for(launchers.absolute_flags(flags), env, compose.process_cwd()).policy
    path = _path(scope, policy, env.get("HOME", ""))
    _refuse_link(path)
    text = settings.read_text(path)
    if text is None:
        return Installed(path, False, policy.workspace, ())
    found = settings.inspect(path)
    known, before = _remembered(policy, path, text)
    new = before if known else settings.uninstall_text(path, text)
    if new == text:
        return Installed(path, False, policy.workspace, ())
    _put_back(path, new)
    _forget(policy, path)
    if found.wiring is not None and settings.is_launcher(found.prefix):
        _remove(found.prefix)
    return Installed(path, True, policy.workspace, ())


def status(flags: Flags, scope: str) -> Installed:
    """What is installed and whether it bites: the canaries are run again, through what stands in the file."""
    env = compose.process_environment()
    policy = compose.fence_for(launchers.absolute_flags(flags), env, compose.process_cwd()).policy
    home = env.get("HOME", "")
    path = _path(scope, policy, home)
    found = settings.inspect(path)
    if found.problem:
        return Installed(path, False, policy.workspace, (Check("settings", False, "none", found.problem),))
    missing = [event for event in settings.JUDGED if event not in found.hooks]
    if found.wiring is None or missing:
        what = "not installed" if found.wiring is None else f"no hook on {', '.join(missing)}"
        hint = f"{what}; run: ringfence install claude --workspace DIR --scope {scope}"
        return Installed(path, False, policy.workspace, (Check("hook", False, "none", hint),))
    checks = (*canaries(policy, path, env), *_surroundings(policy, home, env))
    return Installed(path, False, policy.workspace, checks)


def _path(scope: str, policy: Policy, home: str) -> str:
    if scope == "user":
        if not home.startswith("/"):
            raise UsageError("HOME is not set to an absolute path, so there are no user settings")
        return settings.settings_path(scope, "", home)
    if not policy.workspace:
        raise UsageError("name the workspace", "ringfence install claude --workspace DIR")
    return settings.settings_path(scope, policy.workspace[0], home)


def _refuse_link(path: str) -> None:
    """A settings file that is a link lies where its owner keeps it (dotfiles); replacing it would break that."""
    if os.path.islink(path):
        raise FenceError(
            f"{path} is a link to {os.readlink(path)}",
            "install into another scope, or make it a file of its own: a rename would replace the link",
        )


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    staged = f"{path}.ringfence-{os.getpid()}"
    mode = 0o600
    if os.path.exists(path):
        mode = os.stat(path).st_mode & 0o777
    fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)


def _put_back(path: str, text: str | None) -> None:
    if text is None:
        _remove(path)
        try:
            os.rmdir(os.path.dirname(path))  # only if it is empty, and then we made it
        except OSError:
            return
    else:
        _write(path, text)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


# --- what the file was before -----------------------------------------------------------------------


def _record_path(policy: Policy, path: str) -> str:
    from ringfence.pipelines.session import digest

    return os.path.join(policy.folders.state, "installed", f"{digest(path):016x}.json")


def _remember(policy: Policy, path: str, before: str | None, after: str) -> None:
    """Keep the bytes that stood there, so that uninstall can bring back exactly them."""
    record = _record_path(policy, path)
    if before is not None and settings.uninstall_text(path, before) != before:
        known, older = _remembered(policy, path, before)
        before = older if known else settings.uninstall_text(path, before)
    os.makedirs(os.path.dirname(record), 0o700, exist_ok=True)
    body = json.dumps({"path": path, "before": before, "after": after})
    launchers.write(record, body)
    os.chmod(record, 0o600)


def _remembered(policy: Policy, path: str, now: str) -> tuple[bool, str | None]:
    """(whether nobody changed the file since we wrote it, what stood there before; None: no file)."""
    try:
        with open(_record_path(policy, path), encoding="utf-8") as file:
            record = json.load(file)
        return record["path"] == path and record["after"] == now, record["before"]
    except (OSError, ValueError, KeyError, TypeError):
        return False, None


def _forget(policy: Policy, path: str) -> None:
    _remove(_record_path(policy, path))


def _foreign_prefix(policy: Policy, home: str) -> str:
    """Somebody else's shell prefix, in any layer that would win: then commands are rewritten by the hook instead."""
    for path in settings.layers(policy.workspace[0] if policy.workspace else "", home):
        found = settings.inspect(path)
        if found.prefix and not settings.is_launcher(found.prefix):
            return (
                f"{path} sets CLAUDE_CODE_SHELL_PREFIX to {found.prefix}; it is left alone, and commands are rewritten "
                "by the hook (a `cd` then does not last from one call to the next)"
            )
    return ""


def _surroundings(policy: Policy, home: str, env: dict[str, str]) -> tuple[Check, ...]:
    """Everything around that could switch the hook off."""
    checks = []
    for path in settings.layers(policy.workspace[0] if policy.workspace else "", home):
        if settings.inspect(path).disabled:
            checks.append(Check("hooks are on", False, "none", f"{path} sets disableAllHooks"))
    for name in ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"):
        if env.get(name):
            checks.append(
                Check("hooks are on", False, "none", f"{name} is set: Claude Code runs no hooks then")
            )
    checks.append(_version_check(env))
    return tuple(checks)


def _version_check(env: dict[str, str]) -> Check:
    name = 'a hook that breaks blocks (onFailure: "block")'
    since = ".".join(map(str, settings.SINCE))
    found = _claude_version(env)
    if found is None:
        return Check(
            name,
            None,
            "none",
            f"claude is not on PATH, so its version is not known; {since} or newer keeps this promise",
        )
    text = ".".join(map(str, found))
    if found < settings.SINCE:
        return Check(
            name, False, "none", f"Claude Code {text} ignores onFailure; upgrade to {since} or newer"
        )
    return Check(name, True, "hook", f"Claude Code {text}")


def _claude_version(env: dict[str, str]) -> tuple[int, ...] | None:
    try:
        done = subprocess.run(
            ["claude", "--version"],
            capture_output=True,
            timeout=WAIT,
            env={**env, "DISABLE_AUTOUPDATER": "1"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    word = done.stdout.decode(errors="replace").split(" ")[0]
    parts = word.split(".")
    return tuple(int(part) for part in parts) if len(parts) == 3 and all(p.isdigit() for p in parts) else None
