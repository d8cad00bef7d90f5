"""The mounts engine: confine this process and all it starts to a view of the files in which only the
writable trees can be changed, and which nobody inside can change back.

What holds it, each tried by tests/kernel/mounts_rows.py with the others in place:

1. a mount namespace of its own, all mounts read-only and `nodev` but the granted ones;
2. a user namespace in which no program keeps CAP_SYS_ADMIN, so the mounts cannot be changed; one that the
   program makes itself gets the same mounts, locked;
3. a system call filter on the mount calls, and on the two ioctls that type into a terminal;
4. the second engine, Landlock, on top (device nodes, pipes with a name, abstract sockets, reads).

What remains: docs/escapes.md.
"""

from __future__ import annotations

import posix

from ringfence.enforce.control_sockets import KEPT_IN_RUNTIME, control_paths
from ringfence.enforce.mounts_apply import Built, Place, build
from ringfence.enforce.mounts_plan import Hold, MountPlan, is_below, plan
from ringfence.enforce.mounts_table import parse, showing_outside
from ringfence.enforce.report import BOUNDARY, READS, zone_strength
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts, namespaces, seccomp
from ringfence.model import EnforcementReport, Rule, RuleStrength, Strength, ZoneKind
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Confinement, Zone

_EPERM = 1

# By name, because these have other numbers in 32-bit programs; the later ones: kernel/mounts.py.
_FILTER = (
    *(seccomp.Refusal(name, _EPERM) for name in ("mount", "umount2", "pivot_root", "open_by_handle_at")),
    *seccomp.TERMINAL_INPUT,
)


class Standing(Record):
    """What the program stands in, captured at the door: nothing of it is read from our own process.

    `cwd` is absolute and physical. `environ` is what the program will see. `keep_sockets` names rows of
    enforce/control_sockets.py that stay open.
    """

    cwd: str
    environ: Mapping[str, str]
    keep_sockets: tuple[str, ...] = ()


def confine_self(confinement: Confinement, standing: Standing) -> EnforcementReport:
    """Put this process under the fence; call it in a freshly forked, single-threaded child, then exec.

    Raises KernelCallError when any part fails: the process is then unusable and must not start anything.
    `namespaces.why_closed` explains an error of unshare. The caller closes inherited descriptors: an open
    folder belongs to the mounts outside and would be a way there.
    """
    terminal = _terminal()
    namespaces.enter_user_and_mount()
    planned = plan_here(confinement)
    built = build(planned, _place(standing, terminal))
    seal()
    return _report(confinement, planned, built)


def seal() -> None:
    """Give up every right over what was built. Raises KernelCallError."""
    namespaces.drop_rights()
    seccomp.install(_FILTER)
    mounts.refuse_mount_calls()


def plan_here(confinement: Confinement) -> MountPlan:
    """The plan, with the mounts of this machine that show an outside place inside a writable tree."""
    planned = plan(confinement)
    roots = [step.path for step in planned.steps if step.hold is Hold.WRITE]
    table = parse(_read_mount_table())
    leading_out = showing_outside(table, roots, lambda path: _is_writable(planned, path))
    return plan(confinement, leading_out) if leading_out else planned


def second_layer(confinement: Confinement, standing: Standing) -> Confinement:
    """The confinement that Landlock is to apply on top: the same, plus what is private or harmless here.

    /proc: what acts on the machine is read-only already, the rest is per process and guarded by ptrace rules.
    """
    from ringfence.enforce.mounts_devices import DEVICES

    runtime = standing.environ.get("XDG_RUNTIME_DIR", "")
    private = (runtime,) if runtime.startswith("/") else ()
    here = tuple(path for path in (*DEVICES, "/proc", *private) if _exists(path))
    return confinement._replace(files=(*confinement.files, *here))


def _is_writable(planned: MountPlan, path: str) -> bool:
    above = [step for step in planned.steps if is_below(path, step.path)]
    return bool(above) and above[-1].hold in (Hold.WRITE, Hold.FILE)


def _place(standing: Standing, terminal: str) -> Place:
    environ = standing.environ
    uid = posix.geteuid()
    runtime = environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    if not runtime.startswith("/"):
        runtime = f"/run/user/{uid}"
    sockets = control_paths(runtime, environ.get("HOME", ""), uid, environ, _names_in, standing.keep_sockets)
    shown = tuple(f"{runtime}/{name}" for name in KEPT_IN_RUNTIME)
    return Place(standing.cwd, runtime, shown, sockets, terminal)


def _terminal() -> str:
    """The name of the terminal on one of the standard descriptors, "" if there is none."""
    for descriptor in (0, 1, 2):
        try:
            return posix.ttyname(descriptor)
        except OSError:
            continue
    return ""


def _names_in(folder: str) -> tuple[str, ...]:
    try:
        return tuple(posix.listdir(folder))
    except OSError:
        return ()


def _exists(path: str) -> bool:
    try:
        posix.lstat(path)
    except OSError:
        return False
    return True


def _read_mount_table() -> bytes:
    descriptor = posix.open("/proc/self/mountinfo", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        pieces = []
        while piece := posix.read(descriptor, 1 << 16):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        posix.close(descriptor)


def _report(confinement: Confinement, planned: MountPlan, built: Built) -> EnforcementReport:
    gone = frozenset(built.gone)
    rules = [
        _held(zone, gone) for zone in (*confinement.writable, *confinement.carve_outs, *confinement.masked)
    ]
    rules += [_absent(zone, planned) for zone in confinement.absent]
    if not any(rule.boundary for rule in rules):
        rules.append(RuleStrength(BOUNDARY, "everything", Strength.KERNEL, boundary=True))
    if confinement.reads == "system":
        rules.append(
            RuleStrength(READS, "reads", Strength.HOOK, "only Landlock, the second layer, confines reads")
        )
    rules.append(RuleStrength(Rule("engine.metadata", "built in"), "metadata", Strength.KERNEL))
    why = "a helper that listens on a socket file unknown to enforce/control_sockets.py writes unfenced"
    rules.append(RuleStrength(Rule("engine.helpers", "built in"), "helper processes", Strength.KERNEL, why))
    return EnforcementReport("mounts", "user and mount namespace", tuple(rules), _notes(built))


def _held(zone: Zone, gone: frozenset[str]) -> RuleStrength:
    if zone.root not in gone:
        return zone_strength(zone, Strength.KERNEL, "")
    if zone.kind is ZoneKind.WORKSPACE:
        return zone_strength(zone, Strength.KERNEL, "it vanished meanwhile, so nothing can be written there")
    return zone_strength(zone, Strength.AFTER, "it vanished while the fence was built")


def _absent(zone: Zone, planned: MountPlan) -> RuleStrength:
    if zone.access.value == "none":
        return zone_strength(zone, Strength.HOOK, "it does not exist yet: a mask needs something to cover")
    if not _is_writable(planned, zone.root):
        return zone_strength(zone, Strength.KERNEL, "")
    return zone_strength(zone, Strength.AFTER, "it does not exist yet, and could be made")


def _notes(built: Built) -> tuple[str, ...]:
    notes = [
        "files of other users show as owned by 65534; setuid programs give no rights (sudo, su, ping)"
        if posix.geteuid()
        else "setuid programs and file capabilities give no rights inside",
        "/dev/shm, /dev/pts and the runtime folder are private to this command and what it starts",
    ]
    if built.hidden:
        notes.append("hidden control sockets: " + ", ".join(built.hidden))
    return tuple(notes)


__all__ = ["Standing", "confine_self", "plan_here", "seal", "second_layer"]
