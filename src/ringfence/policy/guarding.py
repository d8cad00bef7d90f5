"""The built-in guards as zones and patterns of one policy (the table itself is guards.py)."""

from __future__ import annotations

import os

from ringfence.model import Access, Audience, Glob, Located, Rule, Zone, ZoneKind
from ringfence.policy.guards import (
    FILES_ONLY,
    GIT_HOOKS_PATH,
    GUARDS,
    OWN_INSTALLATION,
    OWN_POLICY,
    USER_SETTINGS,
    Guard,
    Hold,
)
from ringfence.policy.paths import below
from ringfence.policy.roots import links_on_the_way
from ringfence.policy.texts import FILE_NAME, Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ringfence.policy.asked import Sources
    from ringfence.policy.evidence import Evidence
    from ringfence.policy.git_layout import GitLayout
    from ringfence.policy.roots import Locator
    from ringfence.policy.texts import LayerText

SOURCE = "built in"
_FILE_LAYERS = (Layer.PROJECT, Layer.USER, Layer.SITE)


def guard_globs(writable: Sequence[str], off: Collection[str], git_config: str) -> list[Glob]:
    """Every guard of the table below every writable tree, at any depth. `off` are the ids switched off."""
    globs = []
    # A tree inside another one is covered by the outer pattern.
    bases = [r for r in dict.fromkeys(writable) if not any(below(r, o) and o != r for o in writable)]
    for guard in GUARDS:
        if guard.id not in off:
            rule = Rule(guard.id, SOURCE)
            audience = _audience(guard, git_config)
            for pattern in guard.patterns:
                globs += [_glob(base, pattern, rule, audience) for base in bases]
    return globs


def repository_globs(
    layouts: Sequence[GitLayout], writable: Sequence[str], off: Collection[str], git_config: str
) -> list[Glob]:
    """The `.git/...` guards for repositories that a writable tree holds under another name (`.bare`, a bare root)."""
    globs = []
    for folder in dict.fromkeys(
        folder for each in layouts for folder in (each.git_dir, each.pointed) if folder
    ):
        if os.path.basename(folder) == ".git" or not any(below(folder, tree) for tree in writable):
            continue
        for guard in GUARDS:
            for pattern in guard.patterns if guard.id not in off else ():
                parts = tuple(pattern.split("/"))
                if parts[0] == ".git" and len(parts) > 1:
                    rule, audience = Rule(guard.id, SOURCE), _audience(guard, git_config)
                    globs.append(
                        Glob(folder, False, parts[1:], Access.READ, ZoneKind.GUARD, rule, audience=audience)
                    )
    return globs


def _audience(guard: Guard, git_config: str) -> Audience:
    """Who a guard is held against; `git_config = "guard"` holds that one file against programs, too."""
    text_only = guard.hold is Hold.TEXT and not (
        guard.id in {"git-config", "git-modules-config"} and git_config == "guard"
    )
    return Audience.TEXT if text_only else Audience.ALL


def _glob(base: str, pattern: str, rule: Rule, audience: Audience) -> Glob:
    parts = tuple(pattern.split("/"))
    exact = rule.id in FILES_ONLY
    return Glob(base, True, parts, Access.READ, ZoneKind.GUARD, rule, exact, audience)


def placed_guards(
    layers: Sequence[LayerText],
    layouts: Sequence[GitLayout],
    sources: Sources,
    writable: Sequence[str],
    off: Collection[str],
    locator: Locator,
) -> tuple[list[Zone], list[str]]:
    """The guards whose paths the machine gives, where a writable tree holds them; and notes worth showing."""
    zones: list[Zone] = []
    notes = []

    def add(guard_id: str, paths: Iterable[str]) -> bool:
        found = [] if guard_id in off else _inside(paths, writable, locator)
        rule = Rule(guard_id, SOURCE)
        zones.extend(Zone(root, Access.READ, ZoneKind.GUARD, rule) for root in found)
        return bool(found)

    hooks = [layout.hooks_path for layout in layouts if layout.hooks_path]
    # husky's folder is rewritten by its own installer; its guard is for text only (guards.py).
    add(GIT_HOOKS_PATH.id, [path for path in hooks if "/.husky" not in path])
    add(OWN_POLICY.id, [layer.source for layer in layers if _needs_guard(layer, writable, locator)])
    if add(OWN_INSTALLATION.id, sources.installation):
        notes.append(
            "ringfence runs from inside a writable tree, so agents cannot change that installation;"
            f' install it elsewhere (pipx, uv tool), or write unguard = ["{OWN_INSTALLATION.id}"]'
        )
    add(USER_SETTINGS.id, _user_settings(sources.home, writable))
    return zones, notes


def _needs_guard(layer: LayerText, writable: Sequence[str], locator: Locator) -> bool:
    """A policy file in use that the pattern `ringfence.toml` does not cover for an engine: another name, a link, or
    the usual name anywhere but at the top of a writable tree."""
    site = locator.locate(layer.source) if layer.layer in _FILE_LAYERS else None
    if not isinstance(site, Located):
        return site is not None
    folder, name = os.path.split(site.path)
    return not (site.path == layer.source and name == FILE_NAME and folder in writable)


def linked_guards(
    writable: Sequence[str], off: Collection[str], git_config: str, evidence: Evidence, locator: Locator
) -> tuple[list[Zone], list[Glob], list[str]]:
    """Guarded names of a writable tree's top that are links: the guard must stand where they lead, too.

    `.claude -> tools/claude` would otherwise leave the files themselves open under their other name. Nested
    folders are not looked through.
    """
    zones: list[Zone] = []
    globs: list[Glob] = []
    notes = []
    for tree in writable:
        for guard in GUARDS if os.path.isdir(tree) else ():
            # A `.git` that is a link is a folder under another name: its parts are guarded, not all of it.
            for pattern in guard.patterns if guard.id not in (*off, *FILES_ONLY) else ():
                parts = pattern.split("/")
                size = next((i for i, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
                name = "/".join((tree.rstrip("/"), *parts[:size]))
                if not size or not _runs_through_link(tree, parts[:size], evidence):
                    continue
                site = locator.locate(name)
                if not isinstance(site, Located) or not any(below(site.path, each) for each in writable):
                    continue
                rule = Rule(guard.id, SOURCE)
                audience = _audience(guard, git_config)
                if size == len(parts):
                    zones.append(Zone(site.path, Access.READ, ZoneKind.GUARD, rule, audience))
                else:
                    rest = tuple(parts[size:])
                    globs.append(
                        Glob(site.path, False, rest, Access.READ, ZoneKind.GUARD, rule, audience=audience)
                    )
                notes.append(f"{name} is guarded and runs through a link; guarded at {site.path} as well")
    return zones, globs, notes


def _runs_through_link(tree: str, parts: Sequence[str], evidence: Evidence) -> bool:
    """Whether a component below `tree` is a link. Behind an absent one nothing is asked: it being absent is
    evidence, and when it comes into being the snapshot is stale."""
    at = tree.rstrip("/")
    for part in parts:
        at = f"{at}/{part}"
        target = evidence.link(at)
        if target is None:
            return False
        if target:
            return True
    return False


def _user_settings(home: str | None, writable: Sequence[str]) -> list[str]:
    """Paths only where they could matter; a `*` is taken at its word for the files that are there."""
    if not home or not any(below(home, tree) or below(tree, home) for tree in writable):
        return []
    paths = []
    for pattern in USER_SETTINGS.patterns:
        path = os.path.join(home, pattern)
        if "*" in pattern:
            paths += [path.replace("*", ending) for ending in ("", ".local")]
        else:
            paths.append(path)
    return paths


def _inside(paths: Iterable[str], writable: Sequence[str], locator: Locator) -> list[str]:
    """The physical roots of `paths`, and the links leading to them, that a writable tree holds.

    A writable tree at or below such a root was named by the owner and stays writable: the longer root wins.
    """
    found: dict[str, None] = {}
    for path in paths:
        site = locator.locate(path)
        if isinstance(site, Located):
            for root in (site.path, *links_on_the_way(path)):
                if any(below(root, tree) for tree in writable):
                    found[root] = None
    return list(found)
