"""`audit --tree`: what in the workspace already breaks the fence. One walk, sorted, no link followed. Cold.

Workspaces and write zones are walked; a nested root is part of the outer one. Protected checkouts are walked only to
look for the other names of files that have several.
"""

from __future__ import annotations

import os
import stat

from ringfence.decide import Index, judge_names, nearest
from ringfence.errors import UsageError
from ringfence.model import Access, Decision, Glob, LinkNames, Op, Unresolved, Verdict, ZoneKind, shown
from ringfence.pipelines.tree_git import config_findings, is_hook
from ringfence.pipelines.tree_names import colliding, is_odd
from ringfence.pipelines.tree_words import weakness
from ringfence.policy.guarding import guard_globs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ringfence.pipelines.fence import Fence
    from ringfence.proposals import Weakness

_MOST_LINKED = 200_000  # inodes with several names that are remembered
_OBJECTS = "/.git/objects/"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SPECIAL = {
    stat.S_IFSOCK: "tree.socket",
    stat.S_IFIFO: "tree.fifo",
    stat.S_IFBLK: "tree.device",
    stat.S_IFCHR: "tree.device",
}


class Look:
    """One audit under way. `entries` and `unseen` count as it goes."""

    def __init__(self, fence: Fence) -> None:
        """Raises UsageError where no workspace is named: then there is no tree to look at."""
        self.fence = fence
        policy = fence.policy
        writable = [zone.root for zone in policy.zones if zone.access is Access.WRITE and _counts(zone.kind)]
        if not policy.restricted or not writable:
            raise UsageError("no workspace is named, so there is no tree to look at", "give --workspace DIR")
        self.roots = tuple(sorted(r for r in set(writable) if not any(_below(r, o) for o in writable)))
        self.protected = tuple(zone.root for zone in policy.zones if zone.kind is ZoneKind.PROTECT)
        every = guard_globs(self.roots, (), policy.git_config)
        self.guards = Index(policy._replace(globs=tuple(every)))
        self.entries = 0
        self.unseen = 0
        self.linked: dict[tuple[int, int], tuple[int, list[str]]] = {}

    def findings(self) -> Iterator[Weakness]:
        """Every finding, tree by tree in the order of their names; hard links and mounts last."""
        for root in self.roots:
            yield from self._walk(root)
        yield from self._hard_links()
        yield from self._mounts()

    # --- the walk --------------------------------------------------------------------------------------

    def _walk(self, root: str) -> Iterator[Weakness]:
        stack = [root]
        while stack:
            folder = stack.pop()
            try:
                with os.scandir(_raw(folder)) as entries:
                    names = sorted(entry.name for entry in entries)
            except OSError as error:
                self.unseen += 1
                yield weakness("tree.unseen", folder, f"cannot be listed: {error.strerror}")
                continue
            yield from self._names(folder, names)
            below = []
            for name in names:
                path = f"{folder.rstrip('/')}/{_text(name)}"
                try:
                    facts = os.lstat(_raw(path))
                except OSError:
                    continue  # gone meanwhile
                self.entries += 1
                if stat.S_ISDIR(facts.st_mode):
                    below.append(path)
                yield from self._entry(path, facts)
            stack.extend(reversed(below))

    def _names(self, folder: str, names: list[bytes]) -> Iterator[Weakness]:
        texts = [_text(name) for name in names]
        lead = folder.rstrip("/")
        for text in texts:
            why = is_odd(text)
            if why:
                yield weakness("tree.name", f"{lead}/{text}", why)
        for group in colliding(texts):
            yield weakness(
                "tree.case",
                f"{lead}/{group[0]}",
                f"differs only in case or Unicode form from {', '.join(map(shown, group[1:]))}",
                related=f"{lead}/{group[1]}",
            )

    def _entry(self, path: str, facts: os.stat_result) -> Iterator[Weakness]:
        mode = facts.st_mode
        if stat.S_ISLNK(mode):
            yield from self._link(path)
        elif stat.S_ISREG(mode):
            yield from self._file(path, facts)
        elif stat.S_ISDIR(mode):
            yield from config_findings(path, self._inside)
        else:
            code = _SPECIAL.get(stat.S_IFMT(mode))
            if code is not None:
                yield weakness(
                    code,
                    path,
                    "is "
                    + {"tree.socket": "a socket", "tree.fifo": "a named pipe"}.get(code, "a device node"),
                )
        if not stat.S_ISLNK(mode):
            yield from self._guarded(path, facts)

    def _file(self, path: str, facts: os.stat_result) -> Iterator[Weakness]:
        if facts.st_mode & (stat.S_ISUID | stat.S_ISGID):
            which = "setuid" if facts.st_mode & stat.S_ISUID else "setgid"
            yield weakness(
                "tree.setuid", path, f"is {which}, owner {facts.st_uid}:{facts.st_gid}", mend="clear-setuid"
            )
        if facts.st_nlink > 1 and len(self.linked) < _MOST_LINKED:
            key = (facts.st_dev, facts.st_ino)
            self.linked.setdefault(key, (facts.st_nlink, []))[1].append(path)
        if is_hook(path) and facts.st_mode & 0o111:
            yield weakness("tree.hook", path, "a hook that git will run")

    def _guarded(self, path: str, facts: os.stat_result) -> Iterator[Weakness]:
        """What a later unfenced program obeys: whether the fence keeps it, and who else may write it."""
        zone, _ = nearest(self.guards, path)
        if not isinstance(zone, Glob) or zone.kind is not ZoneKind.GUARD:
            return
        if stat.S_ISDIR(facts.st_mode) and path.endswith("/.git"):
            return
        name = zone.rule.id
        decision = self.fence.check(path, Op.WRITE)
        if decision.verdict is Verdict.ALLOW and stat.S_ISREG(facts.st_mode):
            yield weakness(
                "tree.unguarded", path, f"would be guarded by {name!r}, which this policy switches off"
            )
        sticky = stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
        if facts.st_mode & _others_write(facts) and not sticky:
            mode = stat.S_IMODE(facts.st_mode)
            yield weakness("tree.others-write", path, f"has mode {mode:04o}", mend="go-w")

    def _link(self, path: str) -> Iterator[Weakness]:
        site = self.fence.locate(path)
        if isinstance(site, Unresolved):
            yield weakness("tree.link-broken", path, site.why)
            return
        decision = self.fence.check(path, Op.WRITE)
        if decision.verdict is Verdict.ALLOW:
            return
        what = f"leads to {shown(site.path)}"
        if decision.code == "protected.checkout":
            yield weakness("tree.link-protected", path, what, related=site.path)
        elif decision.code == "outside.write":
            # Into a place that this user cannot change anyway (/usr, say): good to know, no way out.
            severity = "" if site.exists and os.access(_raw(site.path), os.W_OK) else "note"
            if not site.exists and os.access(_raw(os.path.dirname(site.path)), os.W_OK):
                severity = ""
            yield weakness("tree.link-out", path, what, related=site.path, severity=severity)

    # --- after the walk --------------------------------------------------------------------------------

    def _hard_links(self) -> Iterator[Weakness]:
        """Files with names that were not met: outside, or in a protected checkout. The decision is the fence's own."""
        protected = self._protected_names(set(self.linked))
        shared: dict[str, int] = {}
        for key, (links, names) in self.linked.items():
            found = [*names, *protected.get(key, ())]
            allowed = Decision(Verdict.ALLOW, "", names[0], self.fence.policy.default, "")
            names_of = LinkNames(tuple(found), len(found) >= links, timed_out=False)
            decision = judge_names(self.fence.index, Op.WRITE, allowed, names_of)
            if decision.verdict is Verdict.ALLOW:
                continue
            for name in names:
                head, is_object, _ = name.partition(_OBJECTS)
                if is_object and decision.code == "hardlink.outside":
                    shared[head] = shared.get(head, 0) + 1
                    continue
                other = next(iter(protected.get(key, ())), "")
                where = (
                    f"also {shown(other)}"
                    if other
                    else f"{links - len(names)} of its {links} names are elsewhere"
                )
                yield weakness(
                    "tree.hardlink", name, f"{where} [{decision.code}]", mend="break-link", related=other
                )
        for head, count in sorted(shared.items()):
            yield weakness(
                "tree.hardlink-objects", head + _OBJECTS[:-1], f"shares {count} files with another repository"
            )

    def _protected_names(self, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], list[str]]:
        found: dict[tuple[int, int], list[str]] = {}
        for root in self.protected if wanted else ():
            if any(_below(root, own) for own in self.roots):
                continue  # walked already
            for at, _, names in os.walk(_raw(root)):
                for name in names:
                    path = os.path.join(at, name)
                    try:
                        facts = os.lstat(path)
                    except OSError:
                        continue
                    key = (facts.st_dev, facts.st_ino)
                    if key in wanted:
                        found.setdefault(key, []).append(_text(path))
        return found

    def _mounts(self) -> Iterator[Weakness]:
        from ringfence.enforce.mounts_table import parse, showing_outside

        try:
            with open("/proc/self/mountinfo", "rb") as table:
                text = table.read()
        except OSError:
            return
        rows = parse(text)
        out = set(showing_outside(rows, self.roots, self._inside))
        read_only = _read_only(text)
        for row in sorted(rows, key=lambda each: each.where):
            if not any(_below(row.where, root) for root in self.roots):
                continue
            kind = "a bind mount" if row.part != "/" else "a mount"
            what = f"{kind} of {shown(row.part)} of device {row.filesystem}"
            if row.where in out and row.where not in read_only:
                yield weakness("tree.mount-out", row.where, what)
            else:
                yield weakness("tree.mount", row.where, what)

    def _inside(self, path: str) -> bool:
        return self.fence.check(path, Op.WRITE).verdict is Verdict.ALLOW


def _read_only(text: bytes) -> set[str]:
    """Mount points whose own options begin with `ro` (proc(5), field 6)."""
    found = set()
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        fields = line.split(" ", 6)
        if len(fields) > 5 and "ro" in fields[5].split(","):
            found.add(fields[4].replace("\\040", " "))
    return found


def _others_write(facts: os.stat_result) -> int:
    """The write bits of others; the group's counts only where the group is not the owner's private one."""
    return _OTHERS_WRITE if facts.st_gid != facts.st_uid else stat.S_IWOTH


def _counts(kind: ZoneKind) -> bool:
    return kind in (ZoneKind.WORKSPACE, ZoneKind.ZONE)


def _below(path: str, root: str) -> bool:
    """Strictly below."""
    return path != root and path.startswith(root.rstrip("/") + "/")


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
