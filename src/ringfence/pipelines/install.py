"""`ringfence install | uninstall | status AGENT`: wire the hook into the agent's own settings, prove it, undo it.

read the settings -> new text -> write -> have the agent trust it -> call it exactly as installed -> keep or put back.
"""

from __future__ import annotations

import shutil
import subprocess

from ringfence.agents import registry
from ringfence.agents.by_hand import BY_HAND
from ringfence.agents.wiring import Site, Wiring, read_text, write_text
from ringfence.errors import EXIT_OK, EXIT_REFUSED, FenceError, NotEnforcedError, UsageError
from ringfence.model import shown
from ringfence.pipelines import compose, installed_files, launchers
from ringfence.pipelines.canaries import WAIT, Check, canaries
from ringfence.pipelines.say import left_out
from ringfence.pipelines.words import flag_words
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.agents.settings import Settings
    from ringfence.model import Policy
    from ringfence.policy.asked import Flags


LIMIT = 12  # seconds


class Installed(Record):
    """What a command did and found."""

    path: str
    changed: bool
    workspace: tuple[str, ...]
    checks: tuple[Check, ...]
    note: str = ""

    @property
    def status(self) -> int:
        return EXIT_OK if all(check.ok is not False for check in self.checks) else EXIT_REFUSED


def settings_of(agent: str) -> Settings:
    """The agent's cold module. Raises UsageError for an agent that is wired by hand, ImportError for a broken row."""
    row = registry.ROWS[agent]
    if agent in BY_HAND:
        raise UsageError(
            f"ringfence does not write the settings of {row.title}: nothing was read or changed",
            f"ringfence hook {agent} --help prints what to put where",
        )
    made: Settings = __import__(f"ringfence.agents.{row.module}_settings", fromlist=("NAME",))
    return made


def _routes(agent: str) -> tuple[str, ...]:
    return registry.dialect(registry.ROWS[agent]).ROUTES


def install(agent: str, flags: Flags, scope: str, give_trust: bool = False) -> Installed:
    """Write our entries. Raises NotEnforcedError, with everything put back, if the canary is not refused."""
    flags = launchers.absolute_flags(flags)
    env = compose.process_environment()
    if not flags.workspace:
        raise UsageError(
            "name the workspace that the agent may write",
            f"ringfence install {agent} --workspace DIR: it is fixed here and never guessed from where a call stands",
        )
    settings, site, policy = _open(agent, flags, scope, env)
    path = settings.settings_path(scope, site.workspace, site.home, site.env)
    trust_path = settings.trust_file(site)
    for one in filter(None, (path, trust_path)):
        _refuse_link(one)
    _refuse_no_text(*flags.workspace, *flags.protect, flags.policy or "")
    text, trust_text = read_text(path), read_text(trust_path) if trust_path else None
    wiring, foreign = _wiring(agent, settings, site, policy, flags)
    new = settings.install_text(path, text, wiring)
    store = installed_files.Store(policy.folders.state)
    if new != text:
        store.remember(path, text, new, lambda old: settings.uninstall_text(path, old))
        write_text(path, new)
    try:
        trust = settings.trust(site, give_trust)
        if trust_path and (after := read_text(trust_path)) != trust_text and after is not None:
            store.remember(trust_path, trust_text, after, lambda old: settings.untrust_text(site, old))
        checks = canaries(settings, site, policy, path, _routes(agent))
    except FenceError:
        _undo(store, ((path, text), (trust_path, trust_text)))
        raise
    failed = [check for check in checks if check.ok is False]
    if failed:
        _undo(store, ((path, text), (trust_path, trust_text)))
        why = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise NotEnforcedError(
            f"the hook as installed does not hold, so {path} was put back: {why}", "ringfence doctor"
        )
    if foreign:
        checks = (*checks, Check("shell prefix", True, "kernel", foreign))
    unread = (Check("the policy file is taken whole", None, "none", note) for note in left_out(policy))
    checks = (*checks, *trust, *_surroundings(agent, settings, site), *unread)
    return Installed(path, new != text, policy.workspace, checks, settings.NOTES.get(scope, ""))


def _refuse_no_text(*paths: str) -> None:
    """Before anything is written: settings files are UTF-8, and so could not name such a path."""
    for path in paths:
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(
                f"{shown(path)} is not UTF-8 text, so no settings file can name it; nothing was changed",
                "rename the folder, or fence the agent with ringfence run",
            ) from None


def _undo(store: installed_files.Store, files: tuple[tuple[str, str | None], ...]) -> None:
    """Every file as it was before this install, whoever of us wrote to it."""
    for path, text in files:
        if path and read_text(path) != text:
            store.put_back(path, text)


def uninstall(agent: str, flags: Flags, scope: str) -> Installed:
    """Take our entries out; the file becomes what it was before, byte for byte, unless others changed it since."""
    env = compose.process_environment()
    settings, site, policy = _open(agent, launchers.absolute_flags(flags), scope, env)
    path = settings.settings_path(scope, site.workspace, site.home, site.env)
    store = installed_files.Store(policy.folders.state)
    found = settings.inspect(path)
    changed = _take_out(store, path, lambda text: settings.uninstall_text(path, text))
    trust_path = settings.trust_file(site)
    # Only trust that we gave: without a record it is its owner's.
    if changed and trust_path and store.knows(trust_path):
        _take_out(store, trust_path, lambda text: settings.untrust_text(site, text))
    if changed and found.wiring is not None and launchers.is_launcher(found.wiring.launcher):
        installed_files.remove(found.wiring.launcher)
    return Installed(path, changed, policy.workspace, ())


def _take_out(store: installed_files.Store, path: str, without: installed_files.Without) -> bool:
    text = read_text(path)
    if text is None:
        return False
    _refuse_link(path)
    known, before = store.remembered(path, text)
    new = before if known else without(text)
    if new == text:
        return False
    store.put_back(path, new or None if not known else new)
    store.forget(path)
    return True


def status(agent: str, flags: Flags, scope: str) -> Installed:
    """What is installed and whether it bites: the canaries are run again, through what stands in the file."""
    env = compose.process_environment()
    settings, site, policy = _open(agent, launchers.absolute_flags(flags), scope, env)
    path = settings.settings_path(scope, site.workspace, site.home, site.env)
    found = settings.inspect(path)
    if found.problem:
        return Installed(path, False, policy.workspace, (Check("settings", False, "none", found.problem),))
    missing = [event for event in settings.JUDGED if event not in found.hooks]
    if found.wiring is None or missing:
        what = "not installed" if found.wiring is None else f"no hook on {', '.join(missing)}"
        hint = f"{what}; run: ringfence install {agent} --workspace DIR --scope {scope}"
        return Installed(path, False, policy.workspace, (Check("hook", False, "none", hint),))
    checks = (*canaries(settings, site, policy, path, _routes(agent)), *settings.trusted(site))
    checks = (*checks, *_surroundings(agent, settings, site))
    return Installed(path, False, policy.workspace, checks, settings.NOTES.get(scope, ""))


def _open(agent: str, flags: Flags, scope: str, env: dict[str, str]) -> tuple[Settings, Site, Policy]:
    settings = settings_of(agent)
    policy = compose.fence_for(flags, env, compose.process_cwd()).policy
    home = env.get("HOME", "")
    if scope == "user" and not home.startswith("/"):
        raise UsageError("HOME is not set to an absolute path, so there are no user settings")
    if not policy.workspace:
        raise UsageError("name the workspace", f"ringfence install {agent} --workspace DIR")
    return settings, Site(scope, policy.workspace[0], home, env), policy


def _wiring(agent: str, settings: Settings, site: Site, policy: Policy, flags: Flags) -> tuple[Wiring, str]:
    """(what the settings are to call, why the agent's own shell setting is left alone or "")."""
    foreign_prefix = getattr(settings, "foreign_prefix", None)
    if foreign_prefix is None:
        program, words = launchers.hook_words(agent, flags, "")
        return Wiring(program, words, "", _limit()), ""
    foreign: str = foreign_prefix(site)
    launcher = launchers.claude_path(policy.folders.state, "\0".join(policy.workspace))
    launchers.write(launcher, launchers.launcher_text("ringfence.pipelines.claude_shell", flag_words(flags)))
    program, words = launchers.hook_words(agent, flags, launcher)
    return Wiring(program, words, "" if foreign else launcher), foreign


def _limit() -> tuple[str, ...]:
    """Words that end a hook that hangs, well before any agent's own timeout; the hook's own deadline comes first."""
    program = shutil.which("timeout", path="/usr/bin:/bin")
    return (program, "-k", "1", f"{LIMIT}") if program else ()


def _refuse_link(path: str) -> None:
    """A settings file that is a link lies where its owner keeps it (dotfiles); replacing it would break that."""
    target = installed_files.link_target(path)
    if target:
        raise FenceError(
            f"{path} is a link to {target}",
            "install into another scope, or make it a file of its own: a rename would replace the link",
        )


def _surroundings(agent: str, settings: Settings, site: Site) -> tuple[Check, ...]:
    """Everything around that could switch the hook off, and the version that keeps its contract."""
    checks = []
    for path in settings.layers(site.workspace, site.home, site.env):
        found = settings.inspect(path)
        if found.disabled:
            checks.append(Check("hooks are on", False, "none", f"{path} sets {found.switch}"))
    for why in settings.off_switches(site):
        checks.append(Check("hooks are on", False, "none", why))
    checks.append(_version_check(agent, settings, site))
    return tuple(checks)


def _version_check(agent: str, settings: Settings, site: Site) -> Check:
    row = registry.ROWS[agent]
    name, older = settings.SINCE_WHY
    since = ".".join(map(str, settings.SINCE))
    if not settings.SINCE:
        return Check(name, None, "none", f"no version of {row.title} was tried")
    found = _version(row.program, settings.VERSION_WORDS, site)
    if found is None:
        what = (
            f"{row.program} is not on PATH, so its version is not known; {since} or newer keeps this promise"
        )
        return Check(name, None, "none", what)
    text = ".".join(map(str, found))
    if found < settings.SINCE:
        ok = False if settings.SINCE_REQUIRED else None
        return Check(name, ok, "none", f"{row.title} {text} {older}; upgrade to {since} or newer")
    return Check(name, True, "hook", f"{row.title} {text}")


def _version(program: str, words: tuple[str, ...], site: Site) -> tuple[int, ...] | None:
    """The first word of the form 1.2.3 that the program says."""
    try:
        done = subprocess.run(
            [program, *words],
            capture_output=True,
            timeout=WAIT,
            env={**site.env, "DISABLE_AUTOUPDATER": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    for word in done.stdout.decode(errors="replace").split():
        parts = word.strip("v.,()").split(".")
        if len(parts) == 3 and all(part.isdigit() for part in parts):
            return tuple(int(part) for part in parts)
    return None
