"""From a policy to a program that an engine holds. Hot: `run` and `shell` walk this line for every command.

policy -> what to hold (Confinement) -> what this kernel can (Capabilities) -> the weakest engine that holds every
rule some engine can hold -> launch. Nothing is run below the policy's `minimum`.
"""

from __future__ import annotations

from posix import O_CLOEXEC, O_CREAT, O_NOFOLLOW, O_WRONLY, close, geteuid, open
from sys import platform

from ringfence.enforce import landlock
from ringfence.enforce import launch as launcher
from ringfence.enforce import plan as landlock_plan
from ringfence.enforce.report import accepts, without_engine
from ringfence.errors import KernelCallError, NotEnforcedError
from ringfence.kernel.namespaces import Mapper
from ringfence.kernel.probe import capabilities
from ringfence.model import (
    Access,
    Audience,
    Confinement,
    EnforcementReport,
    Rule,
    RuleStrength,
    Strength,
    ZoneKind,
)
from ringfence.pipelines import pending
from ringfence.pipelines.aftermath import Watch
from ringfence.pipelines.placing import confinement, exists, is_link, placed
from ringfence.pipelines.say import complain
from ringfence.pipelines.session import make_parents
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ringfence.enforce.bubblewrap import Prepared
    from ringfence.model import Capabilities, Policy


ENGINES = ("auto", "mounts", "landlock")


class NoGrant:
    """Nothing beside the policy's own zones; git_grant.py has the other one."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: Confinement) -> None:
        self.wanted = wanted

    def finish(self) -> list[str]:
        """Called when the program has ended; what to say, a line each."""
        return []

    def tracked(self) -> list[str]:
        """Called last: guarded files of which git has noted another version."""
        return []

    def discard(self) -> None:
        """Called when nothing was run, or it is not known how it ended."""


class Attempt(Record):
    """One engine to try: `confine` runs in the child, before exec, and returns what really holds there."""

    engine: str
    confine: Callable[[], EnforcementReport]
    by_thread: bool = False  # all that it does holds for one thread; a user namespace is for a whole process
    assist: Callable[[int], None] | None = None  # what the child cannot do and its parent can
    # For an engine that is a program around the asked one: made only when its turn comes, since it costs a trial.
    prepare: Callable[[launcher.Program], Prepared] | None = None


def attempts(
    wanted: Confinement,
    cwd: str,
    env: Mapping[str, str],
    engine: str,
    here: Capabilities | None,
    keep: tuple[str, ...] = (),
) -> list[Attempt]:
    """The engines to try, in order. `mounts` first: it alone holds carve-outs, masks and metadata.

    Whether user namespaces are open is found out by entering one, which costs nothing where they are. `here` pins
    the capabilities in tests; `keep` are the kinds of helpers whose sockets stay open.
    """
    if platform != "linux":
        report = without_engine(wanted, f"ringfence has no engine for {platform} yet")
        return [Attempt("none", lambda: report)]
    kernel = capabilities(("landlock", "seccomp")) if here is None else here
    found = []
    if engine in ("auto", "mounts") and (here is None or (here.userns and here.mount_api)):
        mapper = None if geteuid() else Mapper()
        assist = mapper.serve if mapper else None
        found.append(
            Attempt("mounts", lambda: _by_mounts(wanted, cwd, env, kernel, keep, mapper), assist=assist)
        )
        if geteuid():
            # Root of a container whose namespaces are closed has no bubblewrap that could do more.
            standing = (cwd, env, keep)
            found.append(
                Attempt("bubblewrap", _nothing, prepare=lambda asked: _by_bubblewrap(wanted, standing, asked))
            )
    if engine in ("auto", "landlock"):
        found.append(Attempt("landlock", lambda: _by_landlock(wanted, kernel), by_thread=True))
    return found


def _by_mounts(
    wanted: Confinement,
    cwd: str,
    env: Mapping[str, str],
    kernel: Capabilities,
    keep: tuple[str, ...],
    mapper: Mapper | None,
) -> EnforcementReport:
    from ringfence.enforce import mounts

    return mounts.confine_self(wanted, mounts.Standing(cwd, env, keep, mapper), kernel)


def _by_bubblewrap(
    wanted: Confinement, standing: tuple[str, Mapping[str, str], tuple[str, ...]], program: launcher.Program
) -> Prepared:
    from ringfence.enforce import bubblewrap, mounts

    return bubblewrap.prepare(wanted, mounts.Standing(*standing), program)


def _nothing() -> EnforcementReport:
    raise AssertionError("an engine that has to be prepared was not")


def _by_landlock(wanted: Confinement, kernel: Capabilities) -> EnforcementReport:
    planned = landlock_plan.plan(wanted, kernel)
    return planned if isinstance(planned, EnforcementReport) else landlock.confine_self(planned)


def weaknesses(policy: Policy, report: EnforcementReport) -> str:
    """Why nothing may be run: each rule that is held more weakly than the policy's minimum; "" if none is."""
    short = accepts(report, policy.minimum, policy.strict)
    if not short:
        return ""
    lines = "\n".join(f"    {held.rule}: {held.subject}: {held.strength} ({held.why})" for held in short)
    least = f'"{policy.minimum}"{" for every rule" if policy.strict else ""}'
    gone = any("does not exist yet" in held.why for held in short)
    create = "create what does not exist yet, or correct its name;\n  otherwise: " if gone else ""
    return (
        f"nothing was run: the {report.engine} engine ({report.detail}) does not hold\n{lines}\n"
        f"  {create}the policy asks for {least}; to accept less write {_weaker(short, policy)} "
        "in your own policy file, or move the tree out of the workspace"
    )


def _weaker(short: tuple[RuleStrength, ...], policy: Policy) -> str:
    if policy.strict and not any(held.boundary for held in short):
        return "strict = false"
    worst = Strength.NOT_HERE if any(held.strength is Strength.NOT_HERE for held in short) else Strength.HOOK
    return f'minimum = "{"none" if worst is Strength.NOT_HERE else worst}"'


def beside_engines(policy: Policy) -> tuple[RuleStrength, ...]:
    """The rules that no engine is asked to hold, and what holds them."""
    rules: dict[str, RuleStrength] = {}
    for glob in policy.globs:
        if glob.audience is Audience.TEXT and glob.rule.id not in rules:
            vetted = glob.rule.id in {"git-config", "git-modules-config"} and policy.git_config == "vet"
            is_state = glob.rule.id == "git-rebase"
            strength = Strength.AFTER if vetted or is_state else Strength.HOOK
            why = (
                _STATE
                if is_state
                else _VETTED
                if vetted
                else "programs write it every day; file tools and command texts are held"
            )
            rules[glob.rule.id] = RuleStrength(glob.rule, "/".join(glob.parts), strength, why)
    for zone in policy.zones:
        if zone.access is not Access.WRITE and is_link(zone.root):
            why = "a link cannot be mounted on; what it leads to is held by its own name"
            rules[zone.root] = RuleStrength(zone.rule, zone.root, Strength.HOOK, why)
    if any(glob.deep and glob.kind is ZoneKind.GUARD for glob in policy.globs):
        deep = Rule("guards-below", "built in")
        why = "guarded names deeper in the tree; an engine would have to walk it for each command"
        rules[deep.id] = RuleStrength(deep, "**/ of each guard", Strength.HOOK, why)
    return tuple(rules.values())


_VETTED = "programs may write it; keys that can name code are put back when the command ends"
_STATE = "programs may leave a rebase; what of it names code is taken out when the command ends"


class Ran(Record):
    """How it went: the launcher's outcome, the report of the engine that stood ("" engines are said in `missed`)."""

    outcome: launcher.Outcome
    report: EnforcementReport | None
    missed: tuple[str, ...]


def run_confined(
    policy: Policy,
    program: launcher.Program,
    *,
    cwd: str,
    env: Mapping[str, str],
    files: Sequence[str] = (),
    engine: str = "auto",
    here: Capabilities | None = None,
    after: Callable[[int], None] | None = None,
    told: Callable[[EnforcementReport], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Ran:
    """Run `program` under the policy, by the first engine that can be built. Nothing runs below `minimum`.

    `env` is what the program will see. `told` gets the report of what really holds, before the
    program starts; `meanwhile` runs beside the child that builds its fence.
    """
    nested = "RINGFENCE_FENCE" in env and _caller_is_fenced()
    wanted = confinement(policy, files, nested=nested)
    for line in pending.recover(policy, wanted):
        say_after(line)
    granted = git_grant(policy, wanted, env, engine, nested)
    wanted = granted.wanted
    watches: list[Watch] = []
    missed: list[str] = []
    seen: list[EnforcementReport] = []

    def prepare() -> None:
        # Beside the child that builds its fence, and before anything runs in it.
        if not watches:
            watches.append(
                Watch(policy, wanted, placed, busy=pending.others_run(policy), search=env.get("PATH", ""))
            )
            watches[0].begin()
            pending.begin(policy, watches[0])
            if meanwhile is not None:
                meanwhile()

    def accept(report: EnforcementReport) -> bool:
        report = report._replace(rules=(*report.rules, *beside_engines(policy)))
        seen.append(report)
        if report.engine == "mounts":
            _remember_mounts(policy)
        if told is not None:
            told(report._replace(notes=(*missed, *report.notes)))
        return not accepts(report, policy.minimum, policy.strict)

    def ended(status: int) -> None:
        # The program has ended: whatever goes wrong here is said, and does not change how it ended.
        try:
            for line in (*granted.finish(), *watches[0].after(), *granted.tracked()):
                say_after(line)
            pending.end(policy)
            if after is not None:
                after(status)
        except Exception as error:  # noqa: BLE001 - see above; the journal stays for the next command
            say_after(f"this look went wrong, the next command looks again: {type(error).__name__}: {error}")

    _load_before_the_fork(engine)
    outcome: launcher.Outcome | None = None
    try:
        for attempt in attempts(wanted, cwd, env, engine, here, policy.helpers):
            outcome = _launched(attempt, program, accept, ended, prepare)
            if not isinstance(outcome, launcher.NotConfined):
                break
            missed.append(f"{attempt.engine}: {outcome.why}")
            if attempt.engine == ("bubblewrap" if geteuid() else "mounts") and engine == "auto":
                _refuse_downgrade(policy, wanted, "; ".join(missed), nested)
    finally:
        if not isinstance(outcome, launcher.Finished):
            pending.end(policy)  # nothing was run: what is made from now on is not a fenced program's
            granted.discard()
    if outcome is None:
        raise NotEnforcedError(
            f"nothing was run: the {engine} engine is not to be had here", "ringfence doctor"
        )
    return Ran(outcome, seen[-1] if seen else None, tuple(missed))


def git_grant(
    policy: Policy, wanted: Confinement, env: Mapping[str, str], engine: str, nested: bool
) -> NoGrant:
    """What a workspace that is a linked worktree needs beside its own tree; nothing for any other."""
    if not policy.worktrees:
        return NoGrant(wanted)
    from ringfence.pipelines.git_grant import grant

    return grant(policy, wanted, env, engine, nested)


def _launched(
    attempt: Attempt,
    program: launcher.Program,
    accept: Callable[[EnforcementReport], bool],
    ended: Callable[[int], None],
    prepare: Callable[[], None],
) -> launcher.Outcome:
    """Try one engine. What cannot even be prepared was not confined."""
    confine = attempt.confine
    if attempt.prepare is not None:
        try:
            program, confine = attempt.prepare(program)
        except KernelCallError as failed:
            return launcher.NotConfined(failed)
    return launcher.launch(
        program, confine, accept, ended, prepare, by_thread=attempt.by_thread, assist=attempt.assist
    )


def _load_before_the_fork(engine: str) -> None:
    """What the child needs next: an import after the fork copies each page it touches, on both sides."""
    if platform == "linux" and engine != "landlock":
        import ringfence.enforce.mounts  # noqa: F401


def _caller_is_fenced() -> bool:
    """Whether this very process stands in a fence of the mounts engine: the mount table says so, not an environment."""
    try:
        from ringfence.enforce.mounts_mark import inside_a_fence

        return inside_a_fence()
    except OSError:
        return False


def _marker(policy: Policy) -> str:
    return f"{policy.folders.state}/mounts-worked-here" if policy.folders.state else ""


def _remember_mounts(policy: Policy) -> None:
    """That the stronger engine could be built on this machine: from then on it is never silently done without."""
    path = _marker(policy)
    if not path or exists(path):
        return
    try:
        make_parents(policy.folders.state)
        close(open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600))
    except OSError:
        return


def _refuse_downgrade(policy: Policy, wanted: Confinement, why: str, nested: bool) -> None:
    """The mounts engine failed. Where it has worked before, nothing is run; elsewhere the loss is said."""
    if nested or not (wanted.carve_outs or wanted.masked):
        return
    path = _marker(policy)
    if path and exists(path):
        raise NotEnforcedError(
            f"nothing was run: {why}\n  this engine has worked here before, and Landlock alone would leave guarded "
            "files in the workspace to the hook",
            f"ringfence doctor; if user namespaces are closed on purpose now, remove {path} or use --engine landlock",
        )
    held = len(wanted.carve_outs) + len(wanted.masked)
    complain(
        f"ringfence: held by Landlock alone ({why}): {held} guarded or closed places in the workspace are held by the "
        "hook only; ringfence doctor says which"
    )


def say_after(line: str) -> None:
    complain(f"ringfence: after the fact: {line}")


def end(policy: Policy, ran: Ran) -> int:
    """The wrapper's own end: the program's status or signal, or our message and exit status."""
    outcome = ran.outcome
    if isinstance(outcome, launcher.Finished):
        return launcher.imitate(outcome.status)
    if isinstance(outcome, launcher.Declined):
        complain(f"ringfence: {weaknesses(policy, outcome.report)}")
    else:
        complain(f"ringfence: {launcher.explain(outcome)}")
    for line in ran.missed:
        complain(f"ringfence: {line}")
    return launcher.exit_code(outcome)
