"""From a confinement and a kernel's capabilities to what Landlock is told, and what that leaves open. Pure.

Landlock is an allow-list over trees. Hence the three things it cannot hold, each reported per rule: a
carve-out below a writable tree, a mask below a readable one, and changes that are not to content or names
(mode, owner, times, extended attributes).
"""

from __future__ import annotations

from ringfence.enforce.report import (
    BOUNDARY,
    READS,
    of_shadow,
    without_engine,
    zone_strength,
)
from ringfence.kernel import landlock
from ringfence.model import SYSTEM_PREFIXES, EnforcementReport, Rule, RuleStrength, Strength, ZoneKind
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Capabilities, Confinement, Zone

DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
)  # fmt: skip
"""Sinks, sources and the doors to terminals. Writing them changes no file."""

TERMINALS = "/dev/pts"
# POSIX shared memory and semaphores: Python's multiprocessing fails without. Shared with everything outside.
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the name glibc uses

_WRITE_V1 = landlock.FS_RIGHTS[landlock.ABI_1] & ~landlock.READ_RIGHTS & ~landlock.EXECUTE
# Nobody but root may make device nodes, and for root a node for the disk is a way to every file on it.
_DEVICE_NODES = landlock.MAKE_CHAR | landlock.MAKE_BLOCK


class PathGrant(Record):
    """Rights on one path and all below it. `system`: a fixed place, which may be missing or a link."""

    path: str
    rights: int
    system: bool = False


class LandlockPlan(Record):
    """What the kernel will be told. `report` is what holds if every grant can be made."""

    abi: int
    handled: int
    scoped: int
    grants: tuple[PathGrant, ...]
    writable: tuple[str, ...]  # the roots themselves, to judge inherited descriptors by
    read_only: tuple[str, ...]  # roots below those that stay read-only
    refuse_terminal_input: bool
    report: EnforcementReport


def plan(
    confinement: Confinement, here: Capabilities, readable: tuple[str, ...] = ()
) -> LandlockPlan | EnforcementReport:
    """What to tell Landlock, or a report with engine "none" where there is no Landlock.

    `readable` are more trees and files that programs may read when `confinement.reads` is "system" (the
    user's git configuration, a tool chain below the home); absolute and physical. No effect otherwise.
    """
    abi = landlock.named(here.landlock)
    if not abi:
        reason = dict(here.why_not).get("landlock", f"no Landlock on {here.system}")
        return without_engine(confinement, reason)
    handled = handled_rights(abi, confinement.reads)
    grants = _grants(confinement, handled, readable)
    # Signals stay free: a server started by one call must be stoppable by the next, and each call is a domain
    # of its own. Abstract sockets do not: X11 and older session buses listen there, and a call that talks to
    # its predecessor's server does so through a port or a socket file.
    scoped = landlock.SCOPES[abi] & landlock.SCOPE_ABSTRACT_UNIX_SOCKET
    report = EnforcementReport(
        "landlock",
        f"Landlock ABI {abi} (Linux {landlock.FIRST_KERNEL[abi]})",
        (*_boundary(confinement, abi), *_below(confinement, grants), *_beside(abi, here)),
        _notes(confinement, abi),
    )
    return LandlockPlan(
        abi=abi,
        handled=handled,
        scoped=scoped,
        grants=grants,
        writable=tuple(zone.root for zone in confinement.writable),
        read_only=tuple(zone.root for zone in (*confinement.carve_outs, *confinement.masked)),
        refuse_terminal_input=here.seccomp,
        report=report,
    )


def handled_rights(abi: int, reads: str) -> int:
    """The rights that are refused unless granted: all of the ABI's writes, and reads where they are confined.

    EXECUTE is left alone: a program that may not be read cannot be run either.
    """
    all_rights = landlock.FS_RIGHTS[abi]
    writes = all_rights & ~landlock.READ_RIGHTS & ~landlock.EXECUTE
    return writes | (landlock.READ_RIGHTS if reads == "system" else 0)


def _grants(confinement: Confinement, handled: int, readable: tuple[str, ...]) -> tuple[PathGrant, ...]:
    """One grant per path; a path named twice gets both sets of rights."""
    reads = landlock.READ_RIGHTS & handled
    tree = handled & ~_DEVICE_NODES & ~landlock.IOCTL_DEV
    single = (landlock.WRITE_FILE | landlock.TRUNCATE | landlock.IOCTL_DEV | landlock.READ_FILE) & handled
    wanted: list[PathGrant] = []
    for zone in confinement.writable:
        devices = (
            landlock.IOCTL_DEV & handled if _within("/dev", zone.root) or _within(zone.root, "/dev") else 0
        )
        wanted.append(PathGrant(zone.root, tree | devices))
    wanted += [PathGrant(path, single) for path in confinement.files]
    wanted += [PathGrant(path, single, system=True) for path in DEVICES]
    wanted.append(PathGrant(TERMINALS, single | reads, system=True))
    wanted.append(PathGrant(SHARED_MEMORY, tree, system=True))
    if reads:
        wanted += [PathGrant(path, reads, system=True) for path in SYSTEM_PREFIXES]
        wanted += [PathGrant(path, reads) for path in readable]
    merged: dict[str, PathGrant] = {}
    for grant in wanted:
        known = merged.get(grant.path)
        if known is None:
            merged[grant.path] = grant
        else:
            system = known.system or grant.system
            merged[grant.path] = PathGrant(grant.path, known.rights | grant.rights, system)
    return tuple(merged.values())


def _boundary(confinement: Confinement, abi: int) -> list[RuleStrength]:
    """The outer edge: what lies in no granted tree cannot be written."""
    if abi < landlock.ABI_3:
        strength = Strength.HOOK
        why = "before ABI 3 (Linux 6.2) a file outside can be truncated: truncate(2), or opened with O_TRUNC"
    else:
        strength, why = Strength.KERNEL, ""
    held = [zone_strength(zone, strength, why) for zone in confinement.writable]
    if not any(rule.boundary for rule in held):
        held.append(RuleStrength(BOUNDARY, "everything", strength, why, boundary=True))
    return held


def _below(confinement: Confinement, grants: tuple[PathGrant, ...]) -> list[RuleStrength]:
    """Carve-outs, masks and what does not exist yet."""
    why = "Landlock cannot take back a part of a tree that it grants"
    held = [_unless_granted(zone, grants, _WRITE_V1, why) for zone in confinement.carve_outs]
    why = "Landlock cannot hide a part of a tree that may be read"
    if confinement.reads == "system":
        held += [_unless_granted(zone, grants, landlock.READ_RIGHTS, why) for zone in confinement.masked]
    else:
        held += [zone_strength(zone, Strength.HOOK, why) for zone in confinement.masked]
    why = "it does not exist yet, and could be made"
    held += [_unless_granted(zone, grants, _WRITE_V1, why) for zone in confinement.absent]
    held += [of_shadow(shadow, gone=True) for shadow in confinement.shadowed]
    if confinement.reads == "system":
        held.append(RuleStrength(READS, "reads", Strength.KERNEL))
    return held


def _unless_granted(zone: Zone, grants: tuple[PathGrant, ...], rights: int, why: str) -> RuleStrength:
    """Held by the kernel where no grant of `rights` stands above it. One below it is the policy's own."""
    reached = any(grant.rights & rights and _within(zone.root, grant.path) for grant in grants)
    return zone_strength(zone, Strength.HOOK if reached else Strength.KERNEL, why if reached else "")


def _beside(abi: int, here: Capabilities) -> list[RuleStrength]:
    """Ways past the fence that are no rule of a policy; `strict` counts them."""
    metadata = (
        "mode, owner, times and extended attributes of any file can be changed; Landlock has no such right"
    )
    sockets = "a helper that listens on a socket file (container engine, session bus, tmux) writes unfenced"
    held = [
        RuleStrength(Rule("engine.metadata", "built in"), "metadata", Strength.HOOK, metadata),
        RuleStrength(Rule("engine.helpers", "built in"), "helper processes", Strength.NOT_HERE, sockets),
    ]
    if abi < landlock.ABI_6:
        why = "abstract sockets are open before ABI 6 (Linux 6.12): X11, older session buses"
        rule = Rule("engine.abstract-sockets", "built in")
        held.append(RuleStrength(rule, "abstract sockets", Strength.NOT_HERE, why))
    if not here.seccomp:
        why = "without system call filters a program can type into its terminal (TIOCSTI)"
        rule = Rule("engine.terminal-input", "built in")
        held.append(RuleStrength(rule, "terminal input", Strength.NOT_HERE, why))
    return held


def _notes(confinement: Confinement, abi: int) -> tuple[str, ...]:
    """What a user would otherwise find out by surprise."""
    notes = [
        "setuid programs and file capabilities give no rights inside (sudo, su, ping)",
        "a program's own sandbox (browsers, bubblewrap) cannot be set up: user maps and mounts are refused",
        f"{SHARED_MEMORY} and the other terminals in {TERMINALS} are shared with programs outside",
    ]
    if abi < landlock.ABI_2:
        notes.append("before ABI 2 (Linux 5.19) mv and ln between two folders fail with EXDEV, inside too")
    if abi < landlock.ABI_5:
        notes.append("before ABI 5 (Linux 6.10) ioctl on devices outside is not held")
    kinds = {zone.kind for zone in confinement.carve_outs}
    if ZoneKind.PROTECT in kinds:
        notes.append("a protected checkout lies below a writable tree: only the mounts engine can hold it")
    return tuple(notes)


def _within(path: str, root: str) -> bool:
    """Component by component: is `path` the root or below it? Both are physical."""
    return path == root or path.startswith(root if root.endswith("/") else root + "/")
