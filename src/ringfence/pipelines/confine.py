"""From a policy to a program that an engine holds. Hot: `run` and `shell` walk this line for every command.

policy -> what to hold (Confinement) -> what this kernel can (Capabilities) -> the weakest engine that holds every
rule some engine can hold -> launch. Nothing is run below the policy's `minimum`.
"""

from __future__ import annotations

from _stat import S_ISDIR, S_ISLNK
from posix import O_CLOEXEC, O_CREAT, O_NOFOLLOW, O_WRONLY, close, listdir, lstat, open, statvfs
from sys import platform

from ringfence.decide import match_name
from ringfence.enforce import launch as launcher
from ringfence.enforce.report import accepts, without_engine
from ringfence.errors import NotEnforcedError
from ringfence.model import (
    Access,
    Audience,
    Confinement,
    EnforcementReport,
    Rule,
    RuleStrength,
    Strength,
    Zone,
    ZoneKind,
)
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ringfence.model import Capabilities, Glob, Policy
    from ringfence.pipelines.aftermath import Watch


def confinement(policy: Policy, files: Sequence[str] = (), *, nested: bool = False) -> Confinement:
    """What an engine must hold for a program under `policy`; `files` are single files it may write beside.

    `nested`: this process may stand in a fence already; a read-only mount there is taken for held, since nobody inside
    can change it (statvfs is the kernel's word, not an environment's).
    """
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
        elif not _is_link(zone.root):  # a link cannot be mounted on: beside_engines says who holds it
            (masked if zone.access is Access.NONE else carve_outs).append(zone)
    for zone in (*_placed(policy), *_deep(policy)):
        there = _exists(zone.root)
        if there and _through_link(zone.root, policy):
            continue  # what lies behind is guarded by its own name; a link cannot be mounted on
        (absent if not there else masked if zone.access is Access.NONE else carve_outs).append(zone)
    if nested:
        # Inside another fence: what the kernel holds already needs no second hand, and could not be given one.
        carve_outs = [zone for zone in carve_outs if not _is_read_only(zone.root)]
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
    """Every pattern at the top of its tree; wildcards in the last component by what is there. Deeper matches would
    need a walk of the whole tree for each command: they are held by the hook, and said so."""
    zones: list[Zone] = []
    for glob in policy.globs:
        if glob.audience is Audience.TEXT:
            continue
        zones.extend(Zone(root, glob.access, glob.kind, glob.rule) for root in placed(glob))
    return zones


_MOST_PLACED = 256  # matches of one pattern that are held; a tree with more is reported by the hook only


def placed(glob: Glob) -> list[str]:
    """The paths that a pattern names from the top of its tree: wildcards by what is there, the rest literally."""
    found = [glob.base.rstrip("/")]
    for part in glob.parts:
        if any(c in part for c in "*?["):
            found = [f"{folder}/{name}" for folder in found for name in _matching(folder, part)][
                :_MOST_PLACED
            ]
        else:
            found = [f"{folder}/{part}" for folder in found]
    return [path for path in found if not (glob.exact and _is_folder(path))]


def _matching(folder: str, pattern: str) -> list[str]:
    try:
        names = listdir(folder.encode("utf-8", "surrogateescape"))
    except OSError:
        return []
    return [
        text for name in sorted(names) if match_name(pattern, text := name.decode("utf-8", "surrogateescape"))
    ]


_LOOK = 20_000  # directory entries looked at for patterns of the policy's own zones


def _deep(policy: Policy) -> list[Zone]:
    """Every match of the policy's own deep patterns (`**/.env`), in one bounded walk; none where there are none."""
    globs = [g for g in policy.globs if g.deep and g.kind is ZoneKind.ZONE and g.access is not Access.WRITE]
    if not globs:
        return []
    from os import scandir

    found: list[Zone] = []
    left = _LOOK
    for start in policy.workspace:
        mine = [g for g in globs if _reaches(g.base, start)]
        stack: list[tuple[bytes, tuple[str, ...]]] = [(start.encode("utf-8", "surrogateescape"), ())]
        while mine and stack and left > 0:
            folder, names = stack.pop()
            try:
                entries = list(scandir(folder))
            except OSError:
                continue
            for entry in entries:
                left -= 1
                here = (*names, entry.name.decode("utf-8", "surrogateescape"))
                for glob in mine:
                    tail = here[-len(glob.parts) :]
                    placed_already = glob.base == start and len(here) <= len(glob.parts)
                    if (
                        placed_already
                        or len(tail) < len(glob.parts)
                        or not all(map(match_name, glob.parts, tail))
                    ):
                        continue
                    root = entry.path.decode("utf-8", "surrogateescape")
                    found.append(Zone(root, glob.access, glob.kind, glob.rule))
                if entry.is_dir(follow_symlinks=False) and here[-1] != "node_modules":
                    stack.append((entry.path, here))
    return found


def _reaches(base: str, start: str) -> bool:
    """Whether a pattern below `base` can match below `start`."""
    return start == base or start.startswith(base.rstrip("/") + "/")


def _through_link(path: str, policy: Policy) -> bool:
    """Whether a component below the workspace, the last one included, is a link."""
    base = max(
        (root for root in policy.workspace if path.startswith(root.rstrip("/") + "/")), key=len, default=""
    )
    if not base:
        return False
    at = base.rstrip("/")
    for part in path[len(at) + 1 :].split("/"):
        at = f"{at}/{part}"
        try:
            if S_ISLNK(lstat(at.encode("utf-8", "surrogateescape")).st_mode):
                return True
        except OSError:
            return False
    return False


def _is_link(path: str) -> bool:
    try:
        return S_ISLNK(lstat(path.encode("utf-8", "surrogateescape")).st_mode)
    except OSError:
        return False


def _is_read_only(path: str) -> bool:
    try:
        return bool(statvfs(path.encode("utf-8", "surrogateescape")).f_flag & 1)  # ST_RDONLY
    except OSError:
        return False


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


ENGINES = ("auto", "mounts", "landlock")


class Attempt(Record):
    """One engine to try: `confine` runs in the child, before exec, and returns what really holds there."""

    engine: str
    confine: Callable[[], EnforcementReport]


def attempts(
    wanted: Confinement, cwd: str, env: Mapping[str, str], engine: str, here: Capabilities | None
) -> list[Attempt]:
    """The engines to try, in order. `mounts` first: it alone holds carve-outs, masks and metadata.

    Whether user namespaces are open is found out by entering one, which costs nothing where they are. `here` pins
    the capabilities in tests.
    """
    if platform != "linux":
        report = without_engine(wanted, f"ringfence has no engine for {platform} yet")
        return [Attempt("none", lambda: report)]
    from ringfence.kernel.probe import capabilities

    kernel = capabilities(("landlock", "seccomp")) if here is None else here
    found = []
    if engine in ("auto", "mounts") and (here is None or (here.userns and here.mount_api)):
        found.append(Attempt("mounts", lambda: _by_mounts(wanted, cwd, env, kernel)))
    if engine in ("auto", "landlock"):
        found.append(Attempt("landlock", lambda: _by_landlock(wanted, kernel)))
    return found


def _by_mounts(
    wanted: Confinement, cwd: str, env: Mapping[str, str], kernel: Capabilities
) -> EnforcementReport:
    from ringfence.enforce import mounts

    return mounts.confine_self(wanted, mounts.Standing(cwd, env), kernel)


def _by_landlock(wanted: Confinement, kernel: Capabilities) -> EnforcementReport:
    from ringfence.enforce import landlock, plan

    planned = plan.plan(wanted, kernel)
    return planned if isinstance(planned, EnforcementReport) else landlock.confine_self(planned)


def weaknesses(policy: Policy, report: EnforcementReport) -> str:
    """Why nothing may be run: each rule that is held more weakly than the policy's minimum; "" if none is."""
    short = accepts(report, policy.minimum, policy.strict)
    if not short:
        return ""
    lines = "\n".join(f"    {held.rule}: {held.subject}: {held.strength} ({held.why})" for held in short)
    least = f'"{policy.minimum}"{" for every rule" if policy.strict else ""}'
    return (
        f"nothing was run: the {report.engine} engine ({report.detail}) does not hold\n{lines}\n"
        f"  the policy asks for {least}; to accept less write {_weaker(short, policy)} in your own policy file, "
        "or move the tree out of the workspace"
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
            strength = Strength.AFTER if vetted else Strength.HOOK
            why = _VETTED if vetted else "programs write it every day; file tools and command texts are held"
            rules[glob.rule.id] = RuleStrength(glob.rule, "/".join(glob.parts), strength, why)
    for zone in policy.zones:
        if zone.access is not Access.WRITE and _is_link(zone.root):
            why = "a link cannot be mounted on; what it leads to is held by its own name"
            rules[zone.root] = RuleStrength(zone.rule, zone.root, Strength.HOOK, why)
    if any(glob.deep and glob.kind is ZoneKind.GUARD for glob in policy.globs):
        deep = Rule("guards-below", "built in")
        why = "guarded names deeper in the tree; an engine would have to walk it for each command"
        rules[deep.id] = RuleStrength(deep, "**/ of each guard", Strength.HOOK, why)
    return tuple(rules.values())


_VETTED = "programs may write it; keys that can name code are put back when the command ends"


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
    from ringfence.pipelines import pending

    nested = "RINGFENCE_FENCE" in env and _caller_is_fenced()
    wanted = confinement(policy, files, nested=nested)
    for line in pending.recover(policy, wanted):
        _say(line)
    watches: list[Watch] = []
    missed: list[str] = []
    seen: list[EnforcementReport] = []

    def prepare() -> None:
        # Beside the child that builds its fence, and before anything runs in it.
        if not watches:
            from ringfence.pipelines.aftermath import Watch as Aftermath

            watches.append(Aftermath(policy, wanted, placed))
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
            for line in watches[0].after():
                _say(line)
            pending.end(policy)
            if after is not None:
                after(status)
        except Exception as error:  # noqa: BLE001 - see above; the journal stays for the next command
            _say(f"this look went wrong, the next command looks again: {type(error).__name__}: {error}")

    outcome: launcher.Outcome | None = None
    for attempt in attempts(wanted, cwd, env, engine, here):
        outcome = launcher.launch(program, attempt.confine, accept, ended, prepare)
        if not isinstance(outcome, launcher.NotConfined):
            break
        missed.append(f"{attempt.engine}: {outcome.why}")
        if attempt.engine == "mounts" and engine == "auto":
            _refuse_downgrade(policy, wanted, missed[-1], nested)
    if outcome is None:
        raise NotEnforcedError(
            f"nothing was run: the {engine} engine is not to be had here", "ringfence doctor"
        )
    return Ran(outcome, seen[-1] if seen else None, tuple(missed))


def _caller_is_fenced() -> bool:
    """Whether this very process stands in a fence of the mounts engine: the mount table says so, not an environment."""
    try:
        from ringfence.enforce.mounts import inside_a_fence

        return inside_a_fence()
    except OSError:
        return False


def _marker(policy: Policy) -> str:
    return f"{policy.folders.state}/mounts-worked-here" if policy.folders.state else ""


def _remember_mounts(policy: Policy) -> None:
    """That the stronger engine could be built on this machine: from then on it is never silently done without."""
    path = _marker(policy)
    if not path or _exists(path):
        return
    from ringfence.pipelines.session import make_parents

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
    if path and _exists(path):
        raise NotEnforcedError(
            f"nothing was run: {why}\n  this engine has worked here before, and Landlock alone would leave guarded "
            "files in the workspace to the hook",
            f"ringfence doctor; if user namespaces are closed on purpose now, remove {path} or use --engine landlock",
        )
    from ringfence.pipelines.say import complain

    held = len(wanted.carve_outs) + len(wanted.masked)
    complain(
        f"ringfence: held by Landlock alone ({why}): {held} guarded or closed places in the workspace are held by the "
        "hook only; ringfence doctor says which"
    )


def _say(line: str) -> None:
    from ringfence.pipelines.say import complain

    complain(f"ringfence: after the fact: {line}")


def end(policy: Policy, ran: Ran) -> int:
    """The wrapper's own end: the program's status or signal, or our message and exit status."""
    outcome = ran.outcome
    if isinstance(outcome, launcher.Finished):
        return launcher.imitate(outcome.status)
    from ringfence.pipelines.say import complain

    if isinstance(outcome, launcher.Declined):
        complain(f"ringfence: {weaknesses(policy, outcome.report)}")
    else:
        complain(f"ringfence: {launcher.explain(outcome)}")
    for line in ran.missed:
        complain(f"ringfence: {line}")
    return launcher.exit_code(outcome)
