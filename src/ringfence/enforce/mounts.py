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

from ringfence.enforce import landlock
from ringfence.enforce import mounts_report as report
from ringfence.enforce import plan as landlock_plan
from ringfence.enforce.control_sockets import control_paths, shown_in_runtime
from ringfence.enforce.mounts_apply import Place, build
from ringfence.enforce.mounts_devices import DEVICES
from ringfence.enforce.mounts_plan import Hold, MountPlan, may_write, plan
from ringfence.enforce.mounts_table import any_below, parse, showing_outside
from ringfence.kernel import descriptors, mounts, namespaces, seccomp
from ringfence.model import Access, EnforcementReport, Rule, Zone, ZoneKind
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Capabilities, Confinement

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


def confine_self(confinement: Confinement, standing: Standing, here: Capabilities) -> EnforcementReport:
    """Put this process under the fence; call it in a freshly forked, single-threaded child, then exec.

    `here` need tell only `landlock`: the second layer, which is left out where there is none (and what it
    would have held is reported as open). Whether user namespaces are open is found out by entering one.
    Raises KernelCallError when any part fails: the process is then unusable and must not start anything;
    `namespaces.why_closed` puts an error of unshare into words.
    """
    terminal = _terminal()
    namespaces.enter_user_and_mount()
    planned = plan_here(confinement)
    built = build(planned, _place(standing, terminal))
    seal()
    second = landlock_plan.plan(second_layer(confinement, standing), here)
    if isinstance(second, EnforcementReport):
        # An open folder belongs to the mounts outside and leads there; Landlock's engine closes them itself.
        roots = tuple(zone.root for zone in confinement.writable)
        inner = tuple(zone.root for zone in (*confinement.carve_outs, *confinement.masked))
        leaks = descriptors.close_leaks(roots, inner)
        notes = tuple(f"closed inherited descriptor {leak.descriptor}: {leak.what}" for leak in leaks)
        return report.of_mounts(confinement, planned, built, second.detail, notes)
    applied = landlock.confine_self(second)
    notes = tuple(note for note in applied.notes if note not in second.report.notes)
    return report.of_mounts(confinement, planned, built, "", notes)


def seal() -> None:
    """Give up every right over what was built. Raises KernelCallError."""
    namespaces.drop_rights()
    seccomp.install(_FILTER)
    mounts.refuse_mount_calls()


def plan_here(confinement: Confinement) -> MountPlan:
    """The plan, with the mounts of this machine that show an outside place inside a writable tree."""
    planned = plan(confinement)
    roots = [step.path for step in planned.steps if step.hold is Hold.WRITE]
    table = _read_mount_table()
    if not any_below(table, roots):
        return planned
    leading_out = showing_outside(parse(table), roots, lambda path: may_write(planned, path))
    return plan(confinement, leading_out) if leading_out else planned


def second_layer(confinement: Confinement, standing: Standing) -> Confinement:
    """The confinement that Landlock is to apply on top: the same, plus what is private or harmless here.

    /proc: what acts on the machine is read-only already, the rest is per process and guarded by ptrace rules.
    """
    files = (*confinement.files, *(path for path in (*DEVICES, "/proc") if _exists(path)))
    runtime = _runtime(standing.environ)
    if not _exists(runtime):
        return confinement._replace(files=files)
    own = Zone(runtime, Access.WRITE, ZoneKind.OWN, Rule("runtime-folder", "built in"))
    return confinement._replace(files=files, writable=(*confinement.writable, own))


def _runtime(environ: Mapping[str, str]) -> str:
    named = environ.get("XDG_RUNTIME_DIR", "").rstrip("/")
    return named if named.startswith("/") else f"/run/user/{posix.geteuid()}"


def _place(standing: Standing, terminal: str) -> Place:
    environ, keep, uid = standing.environ, standing.keep_sockets, posix.geteuid()
    runtime = _runtime(environ)
    sockets = control_paths(environ.get("HOME", ""), uid, environ, names_in=_names_in, keep=keep)
    shown = shown_in_runtime(runtime, uid, names_in=_names_in, keep=keep)
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


__all__ = ["Standing", "confine_self", "plan_here", "seal", "second_layer"]
