"""From a policy to a program that an engine holds. Hot: `run` and `shell` walk this line for every command.

policy -> what to hold (Confinement) -> what this kernel can (Capabilities) -> the weakest engine that holds every
rule some engine can hold -> launch. Nothing is run below the policy's `minimum`.
"""

from __future__ import annotations

from _stat import S_ISDIR
from posix import lstat
from sys import platform

from ringfence.enforce import launch as launcher
from ringfence.enforce.report import accepts, without_engine
from ringfence.errors import NotEnforcedError
from ringfence.model import Access, Confinement, EnforcementReport, Strength, Zone, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.enforce.plan import LandlockPlan
    from ringfence.model import Capabilities, Policy, RuleStrength


def confinement(policy: Policy, files: Sequence[str] = ()) -> Confinement:
    """What an engine must hold for a program under `policy`; `files` are single files it may write beside."""
    writable: list[Zone] = []
    carve_outs: list[Zone] = []
    masked: list[Zone] = []
    absent: list[Zone] = []
    if not policy.restricted:
        writable.append(Zone("/", Access.WRITE, ZoneKind.WORKSPACE, policy.default))
    for zone in policy.zones:
        if zone.access is Access.WRITE:
            if _exists(zone.root):
                writable.append(zone)
            elif zone.kind is not ZoneKind.SCRATCH:
                absent.append(zone)
        elif not _exists(zone.root):
            absent.append(zone)
        else:
            (masked if zone.access is Access.NONE else carve_outs).append(zone)
    for zone in _placed(policy):
        there = _exists(zone.root)
        (absent if not there else masked if zone.access is Access.NONE else carve_outs).append(zone)
    roots = [zone.root for zone in writable]
    return Confinement(
        tuple(writable),
        tuple(files),
        tuple(zone for zone in carve_outs if _under(zone.root, roots)),
        tuple(masked),
        tuple(absent),
        policy.shell_reads,
    )


def _placed(policy: Policy) -> list[Zone]:
    """Every literal pattern at the top of its tree. Deeper ones need a walk, which the engine that can hold them makes."""
    zones = []
    for glob in policy.globs:
        if any(c in part for part in glob.parts for c in "*?["):
            continue
        root = f"{glob.base}/{'/'.join(glob.parts)}"
        if glob.exact and _is_folder(root):
            continue
        zones.append(Zone(root, glob.access, glob.kind, glob.rule))
    return zones


def _exists(path: str) -> bool:
    try:
        lstat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return False
    return True


def _is_folder(path: str) -> bool:
    try:
        return S_ISDIR(lstat(path.encode("utf-8", "surrogateescape")).st_mode)
    except OSError:
        return False


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or root == "/" or path.startswith(root + "/") for root in roots)


class Chosen:
    """An engine made ready: the report it promises, and the function that confines the child before exec."""

    __slots__ = ("confine", "report")

    def __init__(self, report: EnforcementReport, confine: Callable[[], EnforcementReport]) -> None:
        self.report = report
        self.confine = confine


def choose(wanted: Confinement, here: Capabilities | None = None) -> Chosen:
    """The weakest engine that holds every rule some engine can hold. `here` pins the capabilities in tests."""
    if platform != "linux":
        report = without_engine(wanted, f"ringfence has no engine for {platform} yet")
        return Chosen(report, lambda: report)
    from ringfence.enforce import landlock, plan
    from ringfence.kernel.probe import capabilities

    kernel = capabilities(("landlock", "seccomp")) if here is None else here
    planned = plan.plan(wanted, kernel)
    if isinstance(planned, EnforcementReport):
        return Chosen(planned, lambda: planned)
    return Chosen(planned.report, lambda: landlock.confine_self(planned))


def refuse_weak(policy: Policy, report: EnforcementReport) -> None:
    """Raise NotEnforcedError naming each rule that is held more weakly than the policy's minimum."""
    short = accepts(report, policy.minimum, policy.strict)
    if not short:
        return
    lines = "\n".join(f"    {held.rule}: {held.subject}: {held.strength} ({held.why})" for held in short)
    raise NotEnforcedError(
        f"nothing was run: the {report.engine} engine ({report.detail}) does not hold\n{lines}",
        f'the policy asks for "{policy.minimum}"{" for every rule" if policy.strict else ""}; to accept less write '
        f'{_weaker(short, policy)} in your ringfence.toml, or move the tree out of the workspace',
    )


def _weaker(short: tuple[RuleStrength, ...], policy: Policy) -> str:
    if policy.strict and not any(held.boundary for held in short):
        return "strict = false"
    worst = Strength.NOT_HERE if any(held.strength is Strength.NOT_HERE for held in short) else Strength.HOOK
    return f'minimum = "{"none" if worst is Strength.NOT_HERE else worst}"'


def run_confined(
    policy: Policy,
    program: launcher.Program,
    *,
    files: Sequence[str] = (),
    here: Capabilities | None = None,
    after: Callable[[int], None] | None = None,
    told: Callable[[EnforcementReport], None] | None = None,
) -> launcher.Outcome:
    """Run `program` under the policy. Raises NotEnforcedError before anything runs if the fence is too weak.

    `told` gets the report of what really holds, from the child, before the program starts.
    """
    chosen = choose(confinement(policy, files), here)
    refuse_weak(policy, chosen.report)

    def accept(report: EnforcementReport) -> bool:
        if told is not None:
            told(report)
        return not accepts(report, policy.minimum, policy.strict)

    return launcher.launch(program, chosen.confine, accept, after)


def end(outcome: launcher.Outcome) -> int:
    """The wrapper's own end: the program's status or signal, or our message and exit status."""
    if isinstance(outcome, launcher.Finished):
        return launcher.imitate(outcome.status)
    from ringfence.pipelines.hook import complain

    complain(f"ringfence: {launcher.explain(outcome)}")
    return launcher.exit_code(outcome)
