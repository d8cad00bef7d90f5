"""Layers to model.Policy: every root physical, every rule with the place it stands at.

The straight line is `compile_policy`; each step takes what the earlier ones made.
"""

from __future__ import annotations

import os

from ringfence.errors import PolicyError
from ringfence.model import (
    HELPER_GUARD,
    HELPERS,
    Access,
    Folders,
    Glob,
    Located,
    Policy,
    Rule,
    Strength,
    Verdict,
    Zone,
    ZoneKind,
)
from ringfence.policy.git_layout import GitLayout, inspect_git, worktrees_of
from ringfence.policy.guarding import guard_globs, linked_guards, placed_guards, repository_globs
from ringfence.policy.merge import LeftOut, merge_unguard, merge_words
from ringfence.policy.narrow import Bounds, why_not
from ringfence.policy.nested import nested_globs
from ringfence.policy.paths import below
from ringfence.policy.roots import (
    existing_folder,
    fail,
    links_on_the_way,
    locate_root,
    refuse_movable_links,
)
from ringfence.policy.texts import Expectation, Layer, LayerText, PathText, Place, Word, ZoneText
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ringfence.policy.asked import Sources
    from ringfence.policy.evidence import Evidence
    from ringfence.policy.roots import Locator

MINIMUM = {"kernel": Strength.KERNEL, "hook": Strength.HOOK, "none": Strength.NOT_HERE}


class Compiled(Record):
    """A policy and what `policy show` tells about it. `layouts` are in the order of `policy.workspace`."""

    policy: Policy
    words: Mapping[str, Word]
    unguarded: Mapping[str, Place]
    left_out: tuple[LeftOut, ...]
    tests: tuple[Expectation, ...]
    layouts: tuple[GitLayout, ...]


def compile_policy(
    layers: Sequence[LayerText],
    restrict: tuple[bool, bool],
    sources: Sources,
    evidence: Evidence,
    locator: Locator,
) -> Compiled:
    """Compile. `restrict` is (restrict, no_restrict) as gather.restriction answers. Raises PolicyError."""
    words, left_words = merge_words(layers, sources.system)
    unguarded, left_guards = merge_unguard(layers)
    workspace, left_roots = _workspace(layers, restrict, sources, locator)
    restricted = not restrict[1] and (restrict[0] or bool(workspace))
    zones, globs = _sure_zones(layers, workspace, locator)
    zones += _own_folders(sources.folders, locator)
    zones += _temp(words["temp"], sources, locator)
    free = words["reads"].value == "anywhere" or not restricted
    left_zones = _add_unsure(layers, zones, globs, Bounds(free, sources.system), locator)
    writable = [zone.root for zone in zones if zone.access is Access.WRITE]
    roots = tuple(dict.fromkeys(root for root, _ in workspace))
    layouts = tuple(inspect_git(root, evidence, locator.locate) for root in roots)
    git_open = words["git_config"].value == "open"
    off = {*unguarded, "git-config", "git-modules-config"} if git_open else set(unguarded)
    globs += guard_globs(writable, off, words["git_config"].value)
    globs += repository_globs(layouts, writable, off, words["git_config"].value)
    globs += nested_globs(roots, off, words["git_config"].value) if restricted else []
    placed, notes = placed_guards(layers, layouts, sources, writable, off, locator)
    linked, linked_globs, linked_notes = linked_guards(
        writable, off, words["git_config"].value, evidence, locator
    )
    zones += [*placed, *linked]
    globs += linked_globs
    notes += linked_notes
    left_out = (*left_words, *left_guards, *left_roots, *left_zones)
    notes += [f"{layout.workspace}: {layout.problem}" for layout in layouts if layout.problem]
    policy = Policy(
        workspace=roots,
        restricted=restricted,
        zones=tuple(dict.fromkeys(zones)),
        globs=tuple(dict.fromkeys(globs)),
        reads=words["reads"].value,
        shell_reads=words["shell_reads"].value,
        opaque=Verdict(words["opaque"].value),
        unattended=Verdict(words["unattended"].value),
        minimum=MINIMUM[words["minimum"].value],
        strict=words["strict"].value == "true",
        temp=words["temp"].value,
        caches=words["caches"].value,
        git_config=words["git_config"].value,
        folders=sources.folders,
        default=Rule("default", "built in"),
        notes=(*(str(each) for each in left_out), *notes),
        helpers=tuple(name for name in HELPERS if HELPER_GUARD + name in unguarded),
        worktrees=worktrees_of(layouts, zones) if restricted else (),
    )
    tests = tuple(test for layer in layers for test in layer.tests)
    return Compiled(policy, words, unguarded, left_out, tests, layouts)


def _rule(rule_id: str, place: Place) -> Rule:
    return Rule(rule_id, place.source, place.line)


# --- the workspace ------------------------------------------------------------------------------------


def _workspace(
    layers: Sequence[LayerText], restrict: tuple[bool, bool], sources: Sources, locator: Locator
) -> tuple[list[tuple[str, PathText]], list[LeftOut]]:
    """The roots of the highest layer that names any, physical, each with its text."""
    left_out: list[LeftOut] = []
    named = {layer: [each for each in layers if each.layer is layer and each.workspace] for layer in Layer}
    lower = named[Layer.USER] or named[Layer.SITE]
    bounds = [existing_folder(text, "workspace", locator).path for each in lower for text in each.workspace]
    if restrict[0] and not restrict[1] and not bounds:  # without the file, the fence would stand at the cwd
        bounds = [existing_folder(_cwd(sources), "the working directory", locator).path]
    for layer in (Layer.FLAGS, Layer.ENVIRONMENT, Layer.PROJECT, Layer.USER, Layer.SITE):
        roots: list[tuple[str, PathText]] = []
        for each in named[layer]:
            outer = [root for root, _ in roots]
            taken = []
            for text in each.workspace:
                root = existing_folder(text, "workspace", locator).path
                if not each.trusted and (why := _outside(root, each, bounds, locator)):
                    left_out.append(LeftOut(f'workspace "{text.text}"', text.place, why))
                elif layer is Layer.PROJECT and outer and not any(below(root, held) for held in outer):
                    why = "it lies outside the workspace that a policy file further out names"
                    left_out.append(LeftOut(f'workspace "{text.text}"', text.place, why))
                else:
                    taken.append((root, text))
            # Files of one layer that lie in one another: the inner one narrows. Elsewhere there is one file only.
            roots = taken or roots if layer is Layer.PROJECT else roots + taken
        if roots:
            return roots, left_out
    if restrict[0] and not restrict[1]:
        return [(bounds[0], _cwd(sources))], left_out
    if left_out and not restrict[1]:
        # A workspace is named and may not be taken: going on without a fence is the last thing its owner expects.
        first = left_out[0]
        raise PolicyError(
            f"{first.what} cannot be taken, and no other workspace is named: {first.why}",
            first.place.source,
            first.place.line,
            first.place.column,
            hint=f"read the file and accept it as it stands now: ringfence policy trust {first.place.source}",
        )
    return [], left_out


def _cwd(sources: Sources) -> PathText:
    return PathText(".", sources.cwd, Place("--restrict-paths"))


def _outside(root: str, layer: LayerText, bounds: Sequence[str], locator: Locator) -> str:
    """Why an untrusted file may not make `root` a workspace; "" if it may."""
    folder = locator.locate(layer.folder)
    if not isinstance(folder, Located) or not below(root, folder.path):
        return "it lies outside the file's own folder and the file is not trusted"
    if bounds and not any(below(root, bound) for bound in bounds):
        return (
            "it lies outside the workspace that there would be without the file, and the file is not trusted"
        )
    return ""


# --- zones --------------------------------------------------------------------------------------------


def _sure_zones(
    layers: Sequence[LayerText], workspace: Sequence[tuple[str, PathText]], locator: Locator
) -> tuple[list[Zone], list[Glob]]:
    """Workspace, protect and `[[zone]]` rules of everything that is trusted."""
    zones = [
        Zone(root, Access.WRITE, ZoneKind.WORKSPACE, _rule("workspace", text.place))
        for root, text in workspace
    ]
    globs: list[Glob] = []
    grants = [("workspace", root, text) for root, text in workspace]
    for layer in layers:
        if not layer.trusted:
            continue
        for text in layer.protect:
            zones += _held(text, Access.READ, ZoneKind.PROTECT, _rule("protect", text.place), locator)
        _refuse_contradictions(layer, locator)
        for zone in layer.zones:
            _add_zone(zone, zones, globs, locator)
            if zone.access == "write":
                grants.append(("zone", locate_root(zone.path, "zone", locator).path, zone.path))
    writable = [root for _, root, _ in grants]
    for what, root, text in grants:
        refuse_movable_links(text, what, root, writable)
    return zones, globs


def _add_unsure(
    layers: Sequence[LayerText], zones: list[Zone], globs: list[Glob], bounds: Bounds, locator: Locator
) -> list[LeftOut]:
    """The rules of untrusted files, as far as they narrow what `zones` and `globs` grant; added to both."""
    left_out = []
    sure_zones, sure_globs = tuple(zones), tuple(globs)
    for layer in layers:
        if layer.trusted:
            continue
        _refuse_contradictions(layer, locator)
        for text in layer.protect:
            # A protected tree may be read, so naming one is a grant where nothing could be read before; and
            # where nothing can be read, nothing can be written either.
            rule = ZoneText(text, "read", text.place)
            root = locate_root(text, "protect", locator).path
            if why := why_not(rule, root, sure_zones, sure_globs, bounds):
                left_out.append(LeftOut(f'protect "{text.text}"', text.place, why))
            else:
                zones += _held(text, Access.READ, ZoneKind.PROTECT, _rule("protect", text.place), locator)
        for zone in layer.zones:
            root = locate_root(zone.path, "zone", locator).path
            if why := why_not(zone, root, sure_zones, sure_globs, bounds):
                left_out.append(LeftOut(f'zone "{zone.path.text}" ({zone.access})', zone.place, why))
            else:
                _add_zone(zone, zones, globs, locator)
    return left_out


def _add_zone(text: ZoneText, zones: list[Zone], globs: list[Glob], locator: Locator) -> None:
    access = Access(text.access)
    rule = _rule("zone", text.place)
    if text.parts:
        base = locate_root(text.path, "zone", locator)
        globs.append(Glob(base.path, text.deep, text.parts, access, ZoneKind.ZONE, rule))
    elif access is Access.WRITE:
        site = locate_root(text.path, "zone", locator)
        if site.folded and site.folded != site.path:
            message = f'zone "{text.path.text}" climbs with ".." out of a folder that does not exist'
            raise fail(text.path, message, "write the path without ..")
        zones.append(Zone(site.path, access, ZoneKind.ZONE, rule))
    else:
        zones += _held(text.path, access, ZoneKind.ZONE, rule, locator)


def _held(text: PathText, access: Access, kind: ZoneKind, rule: Rule, locator: Locator) -> list[Zone]:
    """The zones of a rule that takes something away: its root, and every link that its spelling runs through.

    The links become roots of their own: whoever may not touch the tree may not re-point its name either.
    """
    site = locate_root(text, rule.id, locator)
    roots = [site.path, *([site.folded] if site.folded else []), *links_on_the_way(text.spelled)]
    return [Zone(root, access, kind, rule) for root in dict.fromkeys(roots)]


def _refuse_contradictions(layer: LayerText, locator: Locator) -> None:
    """Two spellings of one root with different access, in one file: one of them is a slip."""
    seen: dict[str, ZoneText] = {}
    for zone in layer.zones:
        if zone.parts:
            continue
        root = locate_root(zone.path, "zone", locator).path
        first = seen.setdefault(root, zone)
        if first.access != zone.access:
            message = (
                f'"{zone.path.text}" ({zone.access}) and "{first.path.text}" ({first.access}, line'
                f" {first.place.line}) are the same place: {root}"
            )
            raise fail(zone.path, message, "keep one of the two")


# --- what nobody has to ask for -----------------------------------------------------------------------


def _own_folders(folders: Folders, locator: Locator) -> list[Zone]:
    """Our own configuration, state, cache and runtime folders: no agent writes them, whatever holds them."""
    zones = []
    for name in ("config", "state", "cache", "runtime"):
        folder: str = getattr(folders, name)
        if not folder:
            continue
        site = locator.locate(folder)
        if not isinstance(site, Located):
            raise PolicyError(f"our own {name} folder cannot be resolved: {site.why}", folder)
        rule = Rule("own-folders", "built in")
        zones += [
            Zone(root, Access.READ, ZoneKind.OWN, rule)
            for root in dict.fromkeys((site.path, *links_on_the_way(folder)))
        ]
    return zones


def _temp(word: Word, sources: Sources, locator: Locator) -> list[Zone]:
    """`temp = "shared"`: the system's temp folders, as far as they exist, and TMPDIR if it is set.

    A TMPDIR that holds the home folder or our own would grant far more than scratch room: it is left out.
    """
    if word.value != "shared":
        return []
    rule = _rule("temp", word.place)
    kept = [path for path in (sources.home, *sources.folders) if path]
    zones = []
    system = ("/tmp", "/var/tmp")  # noqa: S108 - named by the owner with temp = "shared"
    for folder in dict.fromkeys((*system, sources.env.get("TMPDIR", ""))):
        site = locator.locate(folder) if os.path.isabs(folder) else None
        if isinstance(site, Located) and site.is_dir and not any(below(path, site.path) for path in kept):
            zones.append(Zone(site.path, Access.WRITE, ZoneKind.TEMP, rule))
    return zones
