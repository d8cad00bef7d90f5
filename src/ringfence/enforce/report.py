"""What was held, and whether it is enough. Pure; also the form in which a child tells its parent."""

from __future__ import annotations

import marshal

from ringfence.errors import KernelCallError
from ringfence.model import (
    STRENGTH_ORDER,
    EnforcementReport,
    Rule,
    RuleStrength,
    Strength,
    ZoneKind,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Confinement, Shadow, Zone

BOUNDARY_KINDS = (ZoneKind.WORKSPACE, ZoneKind.PROTECT)
"""The zones that make up the boundary itself, which `minimum` governs; the others are guards and grants."""

BOUNDARY = Rule("boundary", "built in")
READS = Rule("shell_reads", "built in")


def accepts(report: EnforcementReport, minimum: Strength, strict: bool) -> tuple[RuleStrength, ...]:
    """The rules that are held more weakly than `minimum`; empty means the program may run.

    Only boundary rules count, unless `strict`, which extends the minimum to every rule. A report without a
    single boundary rule is our bug and falls short as a whole: nothing judged is nothing held.
    """
    if not any(held.boundary for held in report.rules):
        return (RuleStrength(BOUNDARY, "everything", Strength.NOT_HERE, "no engine reported", boundary=True),)
    least = STRENGTH_ORDER[minimum]
    return tuple(
        held for held in report.rules if (held.boundary or strict) and STRENGTH_ORDER[held.strength] < least
    )


def without_engine(confinement: Confinement, why: str) -> EnforcementReport:
    """The report of a program that no engine holds: each rule is left to the hook."""
    zones = (*confinement.writable, *confinement.carve_outs, *confinement.masked, *confinement.absent)
    rules = [zone_strength(zone, Strength.HOOK, why) for zone in zones]
    if not any(held.boundary for held in rules):
        rules.append(RuleStrength(BOUNDARY, "everything", Strength.HOOK, why, boundary=True))
    if confinement.reads == "system":
        rules.append(RuleStrength(READS, "reads", Strength.HOOK, why))
    return EnforcementReport("none", why, tuple(rules))


def zone_strength(zone: Zone, strength: Strength, why: str) -> RuleStrength:
    return RuleStrength(zone.rule, zone.root, strength, why, boundary=zone.kind in BOUNDARY_KINDS)


GIT_WORKTREE = Rule("git-worktree", "built in")


def of_shadow(shadow: Shadow, gone: bool) -> RuleStrength:
    """A linked worktree's repository: nothing a program does reaches it but what is looked at afterwards."""
    why = (
        "read-only: git can neither add nor commit here, which takes the mounts engine with an overlay"
        if gone
        else "programs write a private copy; new objects and permitted refs are taken over when the command ends"
    )
    return RuleStrength(GIT_WORKTREE, shadow.root, Strength.KERNEL, why)


def encode(told: EnforcementReport | KernelCallError) -> bytes:
    """For the pipe from a child that is still our own code to its parent. Never for a file."""
    if isinstance(told, KernelCallError):
        return marshal.dumps(("failed", told.call, told.errno, told.doing, told.hint))
    rules = tuple(
        (*held.rule, held.subject, held.strength.value, held.why, held.boundary) for held in told.rules
    )
    return marshal.dumps(("held", told.engine, told.detail, rules, told.notes))


def decode(raw: bytes) -> EnforcementReport | KernelCallError:
    """The other end of `encode`. Raises ValueError, EOFError or TypeError if the child died while writing."""
    # The bytes come from our own fork, through a pipe that no program we start ever holds.
    kind, *rest = marshal.loads(raw)  # noqa: S302 - see above
    if kind == "failed":
        call, number, doing, hint = rest
        failed = KernelCallError(call, number, doing)
        failed.hint = hint
        return failed
    engine, detail, rules, notes = rest
    return EnforcementReport(
        engine,
        detail,
        tuple(
            RuleStrength(Rule(name, source, line), subject, Strength(strength), why, boundary)
            for name, source, line, subject, strength, why, boundary in rules
        ),
        notes,
    )
