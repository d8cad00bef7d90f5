"""What `policy show` tells: every effective value with the place it stands at. Data only, no layout."""

from __future__ import annotations

from ringfence.model import Access, ZoneKind
from ringfence.policy.guards import GUARDS, HELPER_IDS, PLACED
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Glob
    from ringfence.policy.load import Loaded

_NAMES = {
    ZoneKind.WORKSPACE: "workspace",
    ZoneKind.PROTECT: "protect",
    ZoneKind.ZONE: "zone",
    ZoneKind.OWN: "own",
    ZoneKind.TEMP: "temp",
    ZoneKind.GUARD: "guard",
}


class Row(Record):
    """One line. `source`: a file, a flag, a variable or "built in"; `line` 1-based, 0 = none."""

    what: str
    name: str
    value: str
    source: str
    line: int = 0


def show(loaded: Loaded) -> tuple[Row, ...]:
    """Every rule and word of the policy, then what was left out, then every file that was looked for."""
    return (*_rules(loaded), *_guards(loaded), *_left_out(loaded), *_files(loaded))


def pattern_text(glob: Glob) -> str:
    """A pattern as a policy file would write it."""
    return "/".join((glob.base.rstrip("/"), *(("**",) if glob.deep else ()), *glob.parts))


def _rules(loaded: Loaded) -> list[Row]:
    policy = loaded.policy
    rows = [Row("setting", "restricted", str(policy.restricted).lower(), "flags and workspace")]
    rows += [
        Row("setting", word.key, word.value, word.place.source, word.place.line)
        for word in loaded.compiled.words.values()
    ]
    for zone in policy.zones:
        name = _NAMES.get(zone.kind, zone.kind.value)
        rows.append(Row(name, zone.root, zone.access.value, zone.rule.source, zone.rule.line))
    for glob in policy.globs:
        if glob.kind is not ZoneKind.GUARD:
            rows.append(Row("zone", pattern_text(glob), glob.access.value, glob.rule.source, glob.rule.line))
    for layout in loaded.compiled.layouts:
        value = f"{layout.kind}: {layout.problem}" if layout.problem else layout.kind.value
        rows.append(Row("git", layout.workspace, value, "looked at"))
    return rows


def _guards(loaded: Loaded) -> list[Row]:
    """One row for each guard, on or off; their paths stand in the reference."""
    unguarded = loaded.compiled.unguarded
    active = {glob.rule.id for glob in loaded.policy.globs} | {zone.rule.id for zone in loaded.policy.zones}
    rows = []
    for guard in (*GUARDS, *PLACED):
        place = unguarded.get(guard.id)
        if place is not None:
            rows.append(Row("guard", guard.id, "off", place.source, place.line))
        elif guard.id in {"git-config", "git-modules-config"} and loaded.policy.git_config == "open":
            word = loaded.compiled.words["git_config"]
            rows.append(Row("guard", guard.id, "off", word.place.source, word.place.line))
        elif guard.id in active:
            rows.append(Row("guard", guard.id, Access.READ.value, "built in"))
        else:
            rows.append(Row("guard", guard.id, "nothing to guard here", "built in"))
    for name in HELPER_IDS:
        if name in unguarded:
            rows.append(Row("guard", name, "off", unguarded[name].source, unguarded[name].line))
        else:
            rows.append(Row("guard", name, "sockets hidden", "built in"))
    return rows


def _left_out(loaded: Loaded) -> list[Row]:
    return [
        Row("left out", each.what, each.why, each.place.source, each.place.line)
        for each in loaded.compiled.left_out
    ]


def _files(loaded: Loaded) -> list[Row]:
    read = {layer.source: layer for layer in loaded.layers}
    rows = []
    for seen in loaded.files:
        layer = read.get(seen.path)
        if layer is not None:
            trust = "" if layer.trusted else ", not trusted"
            rows.append(Row("file", seen.path, f"{layer.layer} file{trust}", seen.path))
        elif seen.path.endswith(".toml"):
            rows.append(Row("file", seen.path, "not there", seen.path))
    return rows
