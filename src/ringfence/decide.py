"""Policy and site to verdict. Pure: no I/O of any kind, nothing ambient.

The longest root wins and the stricter one on a tie; component by component, never string prefixes. The number of
zones does not matter: a path asks a dictionary once for each of its ancestors.
"""

from __future__ import annotations

from ringfence.model import (
    Access,
    Audience,
    Decision,
    Glob,
    Located,
    Op,
    Rule,
    Unresolved,
    Verdict,
    Zone,
    ZoneKind,
    shown,
)
from ringfence.records import assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ringfence.model import LinkNames, Policy, Site

_STRICTNESS = {Access.NONE: 2, Access.READ: 1, Access.WRITE: 0}
_SEVERITY = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
_BUILT_IN = Rule("resolve", "built in")
_SINK = Rule("sink", "built in")
_MAGIC = Rule("procfs", "built in")
_HARDLINK = Rule("hardlink", "built in")
_ROOT_KEPT = Rule("root", "built in")
ALLOWED: Mapping[ZoneKind, str] = {
    ZoneKind.WORKSPACE: "inside the workspace",
    ZoneKind.ZONE: "inside a zone of the policy",
    ZoneKind.TEMP: "inside the session's temp folder",
    ZoneKind.CACHE: "inside the fence's own cache folder",
    ZoneKind.SCRATCH: "inside the agent's scratch folder",
    ZoneKind.PROTECT: "the protected checkout may be read",
    ZoneKind.GUARD: "guarded files may be read",
    ZoneKind.OWN: "ringfence's own files may be read",
}
_DOING: Mapping[Op, str] = {
    Op.READ: "reading",
    Op.WRITE: "writing",
    Op.CREATE: "creating",
    Op.DELETE: "deleting",
    Op.RENAME: "renaming",
    Op.LINK: "hard-linking",
    Op.METADATA: "changing the metadata of",
}


class Index:
    """A policy arranged for lookup. Built once per policy; shared by every check."""

    __slots__ = (
        "audience",
        "fold",
        "globs",
        "has_masks",
        "name_set",
        "names",
        "pins",
        "policy",
        "reads_free",
        "restricted",
        "roots",
        "wild",
    )

    def __init__(
        self,
        policy: Policy,
        fold: Callable[[str], str] | None = None,
        audience: Audience = Audience.ALL,
    ) -> None:
        """`fold` is applied to both sides of every comparison (macOS, Windows); None on Linux."""
        self.policy = policy
        self.fold = fold
        self.audience = audience
        self.restricted = policy.restricted
        self.reads_free = policy.reads == "anywhere" or not policy.restricted
        roots: dict[str, Zone] = {}
        for zone in policy.zones:
            if zone.audience is Audience.PROGRAMS and audience is Audience.ALL:
                continue
            root = fold(zone.root) if fold else zone.root
            held = roots.get(root)
            if held is None or _STRICTNESS[zone.access] > _STRICTNESS[held.access]:
                roots[root] = zone
        self.roots = roots
        self.pins = sorted(roots)
        self.globs = policy.globs
        names: dict[str, list[Glob]] = {}
        wild: list[tuple[str, Glob]] = []
        for glob in policy.globs:
            # Any literal component will do as a trigger: a path without it cannot match.
            literal = next((part for part in glob.parts if not _is_wild(part)), None)
            if literal is None:
                needle = max(map(_longest_literal, glob.parts), key=len)
                wild.append((fold(needle) if fold else needle, glob))
            else:
                names.setdefault(fold(literal) if fold else literal, []).append(glob)
        self.names = names
        self.name_set = frozenset(names)
        self.wild = tuple(wild)
        self.has_masks = any(z.access is Access.NONE for z in policy.zones) or any(
            g.access is Access.NONE for g in policy.globs
        )


_WRITES_ONLY = (ZoneKind.GUARD, ZoneKind.OWN)


def nearest(index: Index, path: str, *, reading: bool = False) -> tuple[Zone | Glob | None, int]:
    """The zone or glob that governs `path` (physical, folded) and the length of its root in characters.

    Guards only take writes away: for a read they are passed over, so that none opens what another zone closes.
    """
    roots = index.roots
    zone: Zone | None = None
    at = path
    while True:
        zone = roots.get(at)
        if zone is not None and not (reading and zone.kind in _WRITES_ONLY):
            break
        cut = at.rfind("/")
        if cut <= 0:
            zone = roots.get("/")
            at = "/"
            if zone is not None and reading and zone.kind in _WRITES_ONLY:
                zone = None
            break
        at = at[:cut]
    size = len(at) if zone is not None else -1
    if not index.name_set.isdisjoint(path.split("/")):
        return _nearest_glob(index, path, zone, size, reading)
    for needle, _ in index.wild:
        if needle in path:
            return _nearest_glob(index, path, zone, size, reading)
    return zone, size


def _nearest_glob(
    index: Index, path: str, zone: Zone | None, size: int, reading: bool
) -> tuple[Zone | Glob | None, int]:
    best: Zone | Glob | None = zone
    names = path.split("/")
    candidates = [glob for needle, glob in index.wild if needle in path]
    for name in index.name_set.intersection(names):
        candidates.extend(index.names[name])
    for glob in candidates:
        if reading and glob.kind in _WRITES_ONLY:
            continue
        reach = glob_reach(index, glob, path)
        if reach > size or (
            reach == size and best is not None and _STRICTNESS[glob.access] > _STRICTNESS[best.access]
        ):
            best, size = glob, reach
    return best, size


def glob_reach(index: Index, glob: Glob, path: str) -> int:
    """Length of the longest root below which `glob` covers `path`, -1 if it does not."""
    base = index.fold(glob.base) if index.fold else glob.base
    if base != "/" and path != base and not path.startswith(base + "/"):
        return -1
    names = path[len(base) :].split("/") if base != "/" else path.split("/")
    names = [n for n in names if n]
    parts = tuple(index.fold(p) for p in glob.parts) if index.fold else glob.parts
    starts = range(len(names)) if glob.deep else range(1)
    best = -1
    for start in starts:
        for end in _ends(parts, names, start):
            if glob.exact and end != len(names):
                continue
            best = max(best, end)
    if best < 0:
        return -1
    root = "/".join(names[:best])
    return len(base) + len(root) + (0 if base == "/" else 1)


def _ends(parts: tuple[str, ...], names: list[str], start: int) -> Iterable[int]:
    """Every index behind the last name that `parts` can consume from `start`."""
    open_ends = [(0, start)]
    while open_ends:
        done, at = open_ends.pop()
        if done == len(parts):
            if at > start:
                yield at
            continue
        part = parts[done]
        if part == "**":
            open_ends.extend((done + 1, here) for here in range(at, len(names) + 1))
        elif at < len(names) and match_name(part, names[at]):
            open_ends.append((done + 1, at + 1))


def _longest_literal(part: str) -> str:
    """The longest run of characters that every name which `part` matches must hold."""
    best = run = ""
    at = 0
    while at < len(part):
        if part[at] == "[":
            close = part.find("]", at + 2 + (part[at + 1 : at + 2] in {"!", "^"}))
            at = close if close > 0 else at
            run = "" if close > 0 else run + "["
        elif part[at] in "*?":
            run = ""
        else:
            run += part[at]
        best = max(best, run, key=len)
        at += 1
    return best


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part or "[" in part


def match_name(pattern: str, name: str) -> bool:
    """Shell matching within one component: `*`, `?`, `[set]`, `[!set]`. Linear in time (no recursion)."""
    if not _is_wild(pattern):
        return pattern == name
    p = n = 0
    star, mark = -1, 0
    while n < len(name):
        step = _match_one(pattern, p, name[n]) if p < len(pattern) else 0
        if p < len(pattern) and pattern[p] == "*":
            star, mark = p, n
            p += 1
        elif step:
            p += step
            n += 1
        elif star >= 0:
            p, mark = star + 1, mark + 1
            n = mark
        else:
            return False
    return all(c == "*" for c in pattern[p:])


def _match_one(pattern: str, at: int, char: str) -> int:
    """How many pattern characters match `char` at `at`; 0 if they do not."""
    head = pattern[at]
    if head == "?":
        return 1
    if head == "[":
        negate = pattern[at + 1 : at + 2] in ("!", "^")
        close = pattern.find("]", at + 2 + negate)  # a bracket that comes first is a member
        if close > 0:
            body = pattern[at + 1 : close]
            return (close - at + 1) if _in_set(body[negate:], char) != negate else 0
    return 1 if head == char and head != "*" else 0


def _in_set(body: str, char: str) -> bool:
    at = 0
    while at < len(body):
        if at + 2 < len(body) and body[at + 1] == "-":
            if body[at] <= char <= body[at + 2]:
                return True
            at += 3
        else:
            if body[at] == char:
                return True
            at += 1
    return False


def holds(index: Index, path: str) -> Zone | Glob | None:
    """A root that lies at or below `path`, or a guard that a tree moved away from `path` could hold."""
    from _bisect import bisect_left

    prefix = path if path == "/" else path + "/"
    at = bisect_left(index.pins, prefix)
    if at < len(index.pins) and index.pins[at].startswith(prefix):
        return index.roots[index.pins[at]]
    own = index.roots.get(path)
    if own is not None:
        return own
    names = [n for n in path.split("/") if n]
    for glob in index.globs:
        base = index.fold(glob.base) if index.fold else glob.base
        if base != "/" and not path.startswith(base + "/"):
            continue
        below = names[len([n for n in base.split("/") if n]) :]
        for size in range(min(len(glob.parts) - 1, len(below)), 0, -1):
            tail = below[-size:]
            if not glob.deep and len(below) != size:
                continue
            wanted = glob.parts[:size]
            if index.fold:
                wanted = tuple(index.fold(part) for part in wanted)
            if all(match_name(w, n) for w, n in zip(wanted, tail, strict=True)):
                return glob
    return None


def judge(index: Index, op: Op, site: Site) -> Decision:
    """One use of one path. Both readings of `..` behind a missing component are judged; the stricter counts."""
    if isinstance(site, Unresolved):
        return Decision(Verdict.DENY, site.code, "", _BUILT_IN, site.why, op)
    if isinstance(site, Located):
        decision = _judge_path(index, op, site, site.path)
        if site.folded:
            other = _judge_path(index, op, site._replace(exists=False, links=0, sink=False), site.folded)
            if _SEVERITY[other.verdict] > _SEVERITY[decision.verdict]:
                return other
        return decision
    return assert_never(site)


def _judge_path(index: Index, op: Op, site: Located, path: str) -> Decision:
    at = index.fold(path) if index.fold else path
    if site.magic or at.startswith(("/proc/", "/dev/fd/")):
        refused = _judge_magic(index, op, site, path)
        if refused is not None:
            return refused
    if op is Op.READ:
        zone, _ = nearest(index, at, reading=True)
        return judge_read(index, zone, path)
    if site.sink and op in (Op.WRITE, Op.CREATE):
        return Decision(Verdict.ALLOW, "allow.sink", path, _SINK, "the null device keeps nothing", op)
    if op is Op.DELETE or op is Op.RENAME:
        held = holds(index, at)
        if held is not None and (index.restricted or held.access is not Access.WRITE):
            return Decision(
                Verdict.DENY,
                "root.holds",
                path,
                held.rule,
                f"{_DOING[op]} {shown(path)} would take away {_name_of(held)}, which the policy names",
                op,
                "delete or move single files below it instead",
            )
    zone, _ = nearest(index, at)
    return judge_write(index, op, zone, path)


def _judge_magic(index: Index, op: Op, site: Located, path: str) -> Decision | None:
    door = f"/proc (by {site.magic!r})" if site.magic else "/proc or /dev/fd"
    if op is not Op.READ:
        why = f"{_DOING[op]} {shown(path)} through {door} means another object in each process"
        return Decision(Verdict.DENY, "magic.procfs", path, _MAGIC, why, op, "name the file itself")
    if site.magic and (not index.reads_free or index.has_masks):
        why = f"reading through {door} means another object in each process"
        return Decision(Verdict.DENY, "magic.procfs", path, _MAGIC, why, op, "name the file itself")
    return None


def judge_read(index: Index, zone: Zone | Glob | None, path: str) -> Decision:
    """A read by a file or search tool, once the governing zone is known."""
    if zone is None:
        if index.reads_free:
            return Decision(
                Verdict.ALLOW, "allow.read", path, index.policy.default, "reads are free", Op.READ
            )
        why = f"reading {shown(path)}: it lies outside the workspace {_roots_text(index)} and every readable zone"
        hint = f'grant it: [[zone]] path = {toml_text(path)} access = "read", or reads = "anywhere"'
        return Decision(Verdict.DENY, "outside.read", path, index.policy.default, why, Op.READ, hint)
    if zone.access is Access.NONE:
        why = f"reading {shown(path)}: the policy grants no access to {_name_of(zone)}"
        return Decision(Verdict.DENY, "zone.none", path, zone.rule, why, Op.READ)
    return Decision(Verdict.ALLOW, "allow." + zone.kind.value, path, zone.rule, ALLOWED[zone.kind], Op.READ)


def judge_write(index: Index, op: Op, zone: Zone | Glob | None, path: str) -> Decision:
    """Any use but a read, once the governing zone is known."""
    if zone is None:
        if not index.restricted:
            free = "no workspace is named, so nothing is fenced"
            return Decision(Verdict.ALLOW, "allow.unfenced", path, index.policy.default, free, op)
        why = f"{_DOING[op]} {shown(path)}: it lies outside the workspace {_roots_text(index)}"
        return Decision(
            Verdict.DENY, "outside.write", path, index.policy.default, why, op, _way_out(index, path)
        )
    access = zone.access
    if access is Access.WRITE:
        return Decision(Verdict.ALLOW, "allow." + zone.kind.value, path, zone.rule, ALLOWED[zone.kind], op)
    doing = f"{_DOING[op]} {shown(path)}"
    if access is Access.NONE:
        why = f"{doing}: the policy grants no access to {_name_of(zone)}"
        return Decision(Verdict.DENY, "zone.none", path, zone.rule, why, op)
    if zone.kind is ZoneKind.PROTECT:
        why = f"{doing}: it lies in the protected checkout {_name_of(zone)}"
        return Decision(
            Verdict.DENY, "protected.checkout", path, zone.rule, why, op, "work in the workspace instead"
        )
    if zone.kind is ZoneKind.OWN:
        why = f"{doing}: {_name_of(zone)} is ringfence's own, and no agent may change the fence"
        return Decision(Verdict.DENY, "guard.own", path, zone.rule, why, op)
    if zone.kind is ZoneKind.GUARD:
        guard = zone.rule.id.removeprefix("guard.")
        why = f"{doing}: {_name_of(zone)} is guarded, since a later unfenced program would run or obey it"
        hint = f'if you must, a person may add to the policy: unguard = ["{guard}"]'
        return Decision(Verdict.DENY, "guard." + guard, path, zone.rule, why, op, hint)
    why = f"{doing}: {_name_of(zone)} is read-only by the policy"
    return Decision(Verdict.DENY, "zone.read-only", path, zone.rule, why, op)


def judge_names(index: Index, op: Op, decision: Decision, names: LinkNames) -> Decision:
    """An allowed write to a file with other names: every one of them must be writable too."""
    for name in names.names:
        zone, _ = nearest(index, index.fold(name) if index.fold else name)
        if zone is None or zone.access is not Access.WRITE:
            rule = zone.rule if zone is not None else _HARDLINK
            why = f"{_DOING[op]} {shown(decision.path)} also changes {shown(name)}, another name of the same file"
            return Decision(Verdict.DENY, "hardlink.protected", decision.path, rule, why, op, _COPY)
    if names.complete:
        return decision
    reason = "time ran out while looking" if names.timed_out else "its other names lie outside the fence"
    why = f"{_DOING[op]} {shown(decision.path)} also changes another name of the same file: {reason}"
    return Decision(Verdict.DENY, "hardlink.outside", decision.path, _HARDLINK, why, op, _COPY)


_COPY = "write a new file and rename it over this one: that breaks the link and is allowed"


def worst(decisions: Iterable[Decision]) -> Decision | None:
    """The strictest decision, the first of equals; None for an empty list (nothing judged is never allowed)."""
    found: Decision | None = None
    for decision in decisions:
        if found is None or _SEVERITY[decision.verdict] > _SEVERITY[found.verdict]:
            found = decision
    return found


def _name_of(zone: Zone | Glob) -> str:
    if isinstance(zone, Zone):
        return shown(zone.root)
    return ("**/" if zone.deep else "") + "/".join(zone.parts)


def _roots_text(index: Index) -> str:
    return ", ".join(map(shown, index.policy.workspace)) or "(none)"


def toml_text(text: str) -> str:
    """A TOML basic string (TOML 1.0, "String") that means exactly `text`."""
    out = []
    for char in text:
        if char in {'"', "\\"}:
            out.append("\\" + char)
        elif char.isprintable():
            out.append(char)
        else:
            out.append(f"\\U{ord(char):08x}" if ord(char) > 0xFFFF else f"\\u{ord(char):04x}")
    return '"' + "".join(out) + '"'


def _way_out(index: Index, path: str) -> str:
    for tree in index.policy.worktrees:
        if path == f"{tree.common_dir}/refs/stash":
            return (
                "the stash is one stack with the main checkout's, so no linked worktree may write it; commit on a "
                "branch of your own instead: git switch -c wip && git commit -am wip"
            )
        if path.startswith(tree.common_dir + "/"):
            return (
                "git add, commit, branch, switch, merge, rebase and fetch work here, but not on a throwaway layer "
                "(try, the reviewer's lane); this part is other trees', too"
            )
    if path.startswith(("/tmp/", "/var/tmp/")):  # noqa: S108 - a name in a message, nothing is opened
        for zone in index.policy.zones:
            if zone.kind is ZoneKind.TEMP:
                return f"use $TMPDIR, which is {zone.root} here"
    return f'a person may grant it: [[zone]] path = {toml_text(path)} access = "write"'
