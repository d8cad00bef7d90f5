"""The mounts engine: confine this process and all it starts to a view of the files in which only the
writable trees can be changed, and which nobody inside can change back.

What holds it (tests/kernel/mounts_rows.py says which row ends where):

1. a mount namespace of its own, all mounts read-only and `nodev` but the granted ones;
2. a user namespace in which no program keeps CAP_SYS_ADMIN, so the mounts cannot be changed; one that the
   program makes itself gets the same mounts, locked;
3. a system call filter on the mount calls, and on the two ioctls that type into a terminal;
4. the second engine, Landlock, on top (named pipes, abstract sockets, reopened descriptors, reads).

What remains: docs/escapes.md.
"""

from __future__ import annotations

import posix

from ringfence.enforce import landlock
from ringfence.enforce import mounts_report as report
from ringfence.enforce import plan as landlock_plan
from ringfence.enforce.control_sockets import control_paths, named_sockets, shown_in_runtime
from ringfence.enforce.mounts_apply import Built, Place, build
from ringfence.enforce.mounts_devices import DEVICES
from ringfence.enforce.mounts_mark import read_mount_table
from ringfence.enforce.mounts_plan import Hold, MountPlan, is_below, may_write, plan
from ringfence.enforce.mounts_table import any_below, parse, showing_outside
from ringfence.kernel import descriptors, mounts, namespaces, seccomp
from ringfence.model import Access, EnforcementReport, Rule, Zone, ZoneKind
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Capabilities, Confinement

_EPERM = 1
_O_PATH = 0o10000000

# By name, because these have other numbers in 32-bit programs; the later ones: kernel/mounts.py.
FILTER = (
    *(seccomp.Refusal(name, _EPERM) for name in ("mount", "umount2", "pivot_root", "open_by_handle_at")),
    *seccomp.TERMINAL_INPUT,
)


class Standing(Record):
    """What the program stands in, captured at the door: nothing of it is read from our own process.

    `cwd` is absolute and physical. `environ` is what the program will see. `keep_sockets` names rows of
    enforce/control_sockets.py that stay open. `mapper` is served by the parent, where there is one.
    """

    cwd: str
    environ: Mapping[str, str]
    keep_sockets: tuple[str, ...] = ()
    mapper: namespaces.Mapper | None = None


class Survey(Record):
    """Everything that is looked up before the fence is built."""

    planned: MountPlan
    place: Place
    sockets: tuple[str, ...]


def survey(confinement: Confinement, standing: Standing) -> Survey:
    """Look at what there is: the control sockets, the terminal, the mounts of this machine."""
    sockets, place = _surveyed(confinement, standing, _terminal())
    return Survey(plan_here(confinement, sockets), place, sockets)


def confine_self(confinement: Confinement, standing: Standing, here: Capabilities) -> EnforcementReport:
    """Put this process under the fence; call it in a freshly forked, single-threaded child, then exec.

    `here` need tell only `landlock`: the second layer, which is left out where there is none (and what it
    would have held is reported as open). Whether user namespaces are open is found out by entering one.
    Raises KernelCallError when any part fails: the process is then unusable and must not start anything.
    """
    terminal = _terminal()
    namespaces.enter_user_and_mount(standing.mapper)
    sockets, place = _surveyed(confinement, standing, terminal)
    planned = plan_here(confinement, sockets)
    built = build(planned, place, shadowed=confinement.shadowed)
    seal()
    return finish(confinement, Survey(planned, place, sockets), built, here)


def finish(confinement: Confinement, found: Survey, built: Built, here: Capabilities) -> EnforcementReport:
    """Put the second engine on top of the mounts that stand around this sealed process, and say what holds."""
    planned, place = found.planned, found.place
    hidden = [path for path in found.sockets if path not in built.gone]
    notes: tuple[str, ...] = (f"hidden control sockets: {', '.join(hidden)}",) if hidden else ()
    if here.landlock == 1 and confinement.reads == "anywhere":
        why = "ABI 1 would refuse every rename between two folders"
        here = here._replace(landlock=0, why_not=(("landlock", why), *here.why_not))
    second = landlock_plan.plan(second_layer(confinement, place), here)
    if isinstance(second, EnforcementReport):
        # An open folder belongs to the mounts outside and leads there; Landlock's engine closes them itself.
        roots = tuple(zone.root for zone in confinement.writable)
        inner = tuple(zone.root for zone in (*confinement.carve_outs, *confinement.masked))
        leaks = descriptors.close_leaks(roots, inner)
        closed = tuple(f"closed inherited descriptor {leak.descriptor}: {leak.what}" for leak in leaks)
        return report.of_mounts(confinement, planned, built, second.detail, (*notes, *closed))
    applied = landlock.confine_self(second)
    notes += tuple(note for note in applied.notes if note not in second.report.notes)
    return report.of_mounts(confinement, planned, built, "", notes)


def seal() -> None:
    """Give up every right over what was built. Raises KernelCallError."""
    namespaces.drop_rights()
    seccomp.install(FILTER)
    mounts.refuse_mount_calls()


def plan_here(confinement: Confinement, sockets: tuple[str, ...] = ()) -> MountPlan:
    """The plan, with the mounts of this machine that show an outside place inside a writable tree."""
    planned = plan(confinement, (), sockets)
    roots = [step.path for step in planned.steps if step.hold is Hold.WRITE]
    table = read_mount_table()
    if not any_below(table, roots):
        return planned
    leading_out = showing_outside(parse(table), roots, lambda path: may_write(planned, path))
    return plan(confinement, leading_out, sockets) if leading_out else planned


def second_layer(confinement: Confinement, place: Place) -> Confinement:
    """The confinement that Landlock is to apply on top: the same, plus what is private or harmless here.

    /proc: what acts on the machine is read-only already, the rest is per process and guarded by ptrace rules.
    """
    extra = [path for path in (*DEVICES, "/proc") if _exists(path)]
    if place.terminal and _exists("/dev/console"):
        extra.append("/dev/console")
    layered = confinement._replace(files=(*confinement.files, *extra))
    if confinement.shadowed:
        rule = Rule("git-worktree", "built in")
        roots = (path for shadow in confinement.shadowed for path in (shadow.root, *shadow.open))
        shown = tuple(Zone(path, Access.WRITE, ZoneKind.OWN, rule) for path in roots)
        layered = layered._replace(writable=(*layered.writable, *shown), shadowed=())
    if not place.runtime or not _exists(place.runtime):
        return layered
    own = Zone(place.runtime, Access.WRITE, ZoneKind.OWN, Rule("runtime-folder", "built in"))
    return layered._replace(writable=(*layered.writable, own))


def _surveyed(confinement: Confinement, standing: Standing, terminal: str) -> tuple[tuple[str, ...], Place]:
    """The control sockets that there are, by their physical paths, and where the program stands."""
    environ, keep, uid = standing.environ, standing.keep_sockets, posix.geteuid()
    home = environ.get("HOME", "")
    runtime = environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    if not runtime.startswith("/"):
        runtime = f"/run/user/{uid}"
    runtime = _physical(runtime)
    # A runtime folder that the policy grants is not replaced; its sockets are then hidden one by one.
    private = "" if may_write(plan(confinement), runtime) else runtime
    rows = control_paths("" if private else runtime, home, uid, names_in=_names_in, keep=keep)
    found = [_physical(path) for path in rows if _exists(path)]
    found += [_physical(path) for path in named_sockets(environ, keep) if _is_socket(path)]
    if private:
        found = [path for path in found if not is_below(path, private)]
    shown = shown_in_runtime(private, uid, names_in=_names_in, keep=keep) if private else ()
    sockets = tuple(dict.fromkeys(path for path in found if path))
    return sockets, Place(standing.cwd, private, shown, terminal)


def _physical(path: str) -> str:
    """Where an existing path of the system's leads, "" where this user cannot go: nor could the program."""
    try:
        descriptor = posix.open(path, _O_PATH | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return posix.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        posix.close(descriptor)


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
    return posix.access(path, 0)


def _is_socket(path: str) -> bool:
    try:
        return posix.stat(path).st_mode & 0o170000 == 0o140000
    except OSError:
        return False


__all__ = ["Standing", "Survey", "confine_self", "finish", "plan_here", "seal", "second_layer", "survey"]
