"""The agent's own state inside `launch`'s fence: what may be written, and the private folder that stands for the rest.

The settings folder holds credentials and settings that run code, so it is never writable. An agent that cannot live
with that works on a private folder of links to it: it reads its settings through them and replaces only the links.
"""

from __future__ import annotations

import os
import shutil

from ringfence.errors import UsageError
from ringfence.model import Access, Located, Rule, Zone, ZoneKind
from ringfence.pipelines.compose import resolve
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ringfence.model import Policy
    from ringfence.render.lanes import Estate

_RULE = Rule("agent-state", "built in")
_SEAL = Rule("agent-settings", "built in")


class Ground(Record):
    """What a session stands on: `home` the private folder, `folder` the part of it that stands for the settings."""

    zones: tuple[Zone, ...]
    env: tuple[tuple[str, str], ...]
    home: str
    folder: str
    notes: tuple[str, ...]


def base_folder(estate: Estate, env: Mapping[str, str]) -> str:
    """The agent's real settings folder. Raises UsageError without a home."""
    if env.get(estate.base_var):
        return os.path.join(env[estate.base_var], estate.base_tail.lstrip("/")).rstrip("/")
    return os.path.join(user_home(env), estate.base)


def user_home(env: Mapping[str, str]) -> str:
    home = env.get("HOME", "")
    if not home.startswith("/"):
        raise UsageError(
            "HOME is not set to an absolute path, so the agent's own settings are not to be found"
        )
    return home


def slug_of(cwd: str) -> str:
    """A working directory as Claude Code 2.1.332 names its folder below `projects`."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)


def lay(
    estate: Estate, env: Mapping[str, str], private: str, cwd: str, policy: Policy, ours: Sequence[str]
) -> Ground:
    """Make the private home at `private` (existing, empty) and the state folders that are granted.

    `ours`: names that the session's own files will take in the private folder. Raises OSError, UsageError.
    """
    base = base_folder(estate, env)
    notes: list[str] = []
    zones: list[Zone] = []
    kept = [name.replace("{slug}", slug_of(cwd)) for name in estate.kept]
    granted = [name for name in kept if _grant(base, name, policy, zones, notes)]
    folder = private
    variables: list[tuple[str, str]] = []
    if estate.moved:
        folder = os.path.join(private, estate.inner) if estate.inner else private
        os.makedirs(folder, 0o700, exist_ok=True)
        _link_all(base, folder, leave=(*ours, *kept), copy=estate.sealed)
        if estate.siblings:
            _link_all(os.path.dirname(base), private, leave=(os.path.basename(base),), copy=())
        for name in granted:
            os.symlink(os.path.join(base, name), os.path.join(folder, name))
        variables.append((estate.base_var, private))
        if not estate.fixed:
            zones.append(Zone(private, Access.WRITE, ZoneKind.SCRATCH, _RULE))
    for name in estate.sealed:
        within = next((top for top in granted if name.startswith(top + "/")), None)
        if within is None:
            zones.append(_sealed(os.path.join(folder, name)))
        else:
            os.makedirs(os.path.join(base, name), 0o700, exist_ok=True)
            zones.append(_sealed(os.path.join(base, name)))
    for grant in estate.grants:
        start = env.get(grant.var) or os.path.join(user_home(env), grant.home)
        if not _grant(start, grant.tail, policy, zones, notes):
            continue
        for name in grant.sealed:
            at = os.path.join(start, grant.tail, name)
            if "." not in name:
                os.makedirs(
                    at, 0o700, exist_ok=True
                )  # or the agent would make it, and what it makes is run later
            zones.append(_sealed(at))
    return Ground(tuple(zones), tuple(variables), private, folder, tuple(notes))


def _sealed(path: str) -> Zone:
    return Zone(path, Access.READ, ZoneKind.OWN, _SEAL)


def _grant(base: str, name: str, policy: Policy, zones: list[Zone], notes: list[str]) -> bool:
    """Add a writable folder; not one that is a link to elsewhere, nor one that the policy closes."""
    path = os.path.join(base, name)
    os.makedirs(path, 0o700, exist_ok=True)
    start, site = resolve(base), resolve(path)
    if not isinstance(start, Located) or not isinstance(site, Located) or site.magic:
        notes.append(f"{path} cannot be resolved and is not granted")
        return False
    if site.path != os.path.join(start.path, name):
        notes.append(f"{path} is a link to {site.path} and is not granted")
        return False
    for zone in policy.zones:
        closed = zone.kind is ZoneKind.PROTECT or zone.access is Access.NONE
        if closed and _meet(zone.root, site.path):
            notes.append(f"{path} meets {zone.root}, which the policy closes, and is not granted")
            return False
    zones.append(Zone(site.path, Access.WRITE, ZoneKind.SCRATCH, _RULE))
    return True


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")


def _link_all(source: str, target: str, leave: Sequence[str], copy: Sequence[str]) -> None:
    """A link in `target` for every entry of `source`; those of `copy` as files of their own, since a link cannot be
    mounted on."""
    try:
        names = os.listdir(source)
    except OSError:
        names = []
    for name in sorted(names):
        at, new = os.path.join(source, name), os.path.join(target, name)
        below = [left[len(name) + 1 :] for left in leave if left.startswith(name + "/")]
        if name in copy and os.path.isfile(at):
            shutil.copyfile(at, new)
            os.chmod(new, 0o600)
        elif below and name not in leave:
            os.makedirs(new, 0o700, exist_ok=True)
            _link_all(at, new, below, ())
        elif name not in leave:
            os.symlink(at, new)
