"""What the mounts engine holds, rule by rule. Pure."""

from __future__ import annotations

from ringfence.enforce.mounts_plan import MountPlan, may_write
from ringfence.enforce.report import BOUNDARY, READS, of_shadow, zone_strength
from ringfence.model import Access, EnforcementReport, Rule, RuleStrength, Strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.enforce.mounts_apply import Built
    from ringfence.model import Confinement, Zone

_WITHOUT_LANDLOCK = (
    ("engine.pipes", "named pipes", "a read-only mount lets named pipes outside be written"),
    ("engine.abstract-sockets", "abstract sockets", "they have no path that could be hidden"),
    (
        "engine.descriptors",
        "descriptors",
        "a file opened for reading by the caller can be reopened for writing",
    ),
)


def of_mounts(
    confinement: Confinement, planned: MountPlan, built: Built, no_landlock: str, notes: tuple[str, ...]
) -> EnforcementReport:
    """The report. `no_landlock` is why the second layer is missing, "" if it stands; `notes` are added."""
    gone = frozenset(built.gone)
    zones = (*confinement.writable, *confinement.carve_outs, *confinement.masked)
    rules = [_held(zone, gone) for zone in zones]
    rules += [_absent(zone, planned) for zone in confinement.absent]
    rules += [of_shadow(shadow, shadow.root in gone) for shadow in confinement.shadowed]
    if not any(rule.boundary for rule in rules):
        rules.append(RuleStrength(BOUNDARY, "everything", Strength.KERNEL, boundary=True))
    if confinement.reads == "system":
        rules.append(_reads(no_landlock))
    rules.append(RuleStrength(Rule("engine.metadata", "built in"), "metadata", Strength.KERNEL))
    helpers = Rule("engine.helpers", "built in")
    rules.append(
        RuleStrength(
            helpers, "helper processes", Strength.KERNEL, "known control sockets are hidden; others are not"
        )
    )
    if no_landlock:
        rules += [
            RuleStrength(Rule(name, "built in"), subject, Strength.NOT_HERE, f"{why} ({no_landlock})")
            for name, subject, why in _WITHOUT_LANDLOCK
        ]
    layers = "mounts alone" if no_landlock else "mounts, with Landlock on top"
    return EnforcementReport("mounts", layers, tuple(rules), (*_notes(built), *notes))


def _held(zone: Zone, gone: frozenset[str]) -> RuleStrength:
    if zone.root not in gone:
        return zone_strength(zone, Strength.KERNEL, "")
    if zone.access is Access.WRITE:
        return zone_strength(zone, Strength.KERNEL, "it vanished meanwhile: nothing can be written there")
    return zone_strength(
        zone, Strength.AFTER, "it vanished while the fence was built, and could be made anew"
    )


def _absent(zone: Zone, planned: MountPlan) -> RuleStrength:
    if zone.access is Access.NONE:
        return zone_strength(zone, Strength.HOOK, "it does not exist yet: a mask needs something to cover")
    if not may_write(planned, zone.root):
        return zone_strength(zone, Strength.KERNEL, "")
    return zone_strength(zone, Strength.AFTER, "it does not exist yet, and could be made")


def _reads(no_landlock: str) -> RuleStrength:
    if no_landlock:
        why = f"only Landlock, the second layer, confines reads ({no_landlock})"
        return RuleStrength(READS, "reads", Strength.HOOK, why)
    return RuleStrength(READS, "reads", Strength.KERNEL)


def _notes(built: Built) -> tuple[str, ...]:
    notes = [
        "setuid programs and file capabilities give no rights inside (sudo, su, ping)",
        "to anyone but root, files of other users show as owned by 65534",
        "shared memory, new terminals and the runtime folder are private to this command and what it starts",
    ]
    if not built.limited:
        notes.append("the limit of mount namespaces could not be set: /proc/sys is read-only here")
    return tuple(notes)
