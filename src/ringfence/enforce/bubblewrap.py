"""The mounts engine where only bubblewrap may make namespaces: the same plan, as words for bwrap.

Some systems close user namespaces to unprivileged programs and open them to bubblewrap by name (AppArmor profiles since
Ubuntu 24.04) or install it setuid. The rights it has inside end when it starts the program, so it must make the mounts
itself. The pins of carve-outs lie in a second copy as in mounts_plan.py, covered at the end.

What is weaker than our own hand, and said in the report: no Landlock on top; bubblewrap takes paths, so a job that
swaps folders while it works is not shut out; and as a process between us and the program it passes no signals on and
reports a program that cannot be started as exit status 1.
"""

from __future__ import annotations

import posix
import stat
import subprocess

from ringfence.enforce import mounts
from ringfence.enforce import mounts_report as report
from ringfence.enforce.mounts_apply import Built
from ringfence.enforce.mounts_devices import DEVICES
from ringfence.enforce.mounts_plan import Hold
from ringfence.enforce.report import of_shadow
from ringfence.errors import KernelCallError
from ringfence.kernel import descriptors, libc, seccomp
from ringfence.kernel import mounts as mount_calls
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.enforce.launch import Program
    from ringfence.enforce.mounts_apply import Place
    from ringfence.enforce.mounts_plan import MountPlan, Step
    from ringfence.model import Confinement, EnforcementReport

PROGRAMS = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap")
"""Never by PATH: a bwrap in a workspace would be the agent's own."""

_HIDDEN = "/dev/.ringfence"  # in the private /dev that bubblewrap makes
_EPERM, _SEEK_SET = 1, 0
_WAIT = 10.0  # seconds for the trial
_BY_BUBBLEWRAP = "bubblewrap made the mounts, and a Landlock domain would have kept it from that"


class Prepared(Record):
    """What is ready to run: `program` is bubblewrap around the asked one; `confine` is for the child, before exec."""

    program: Program
    confine: Callable[[], EnforcementReport]


def find() -> str:
    """The first bwrap that nobody but root could have put there, "" if there is none."""
    for path in PROGRAMS:
        try:
            st = posix.stat(path)
        except OSError:
            continue
        if (
            stat.S_ISREG(st.st_mode)
            and st.st_uid == 0
            and not st.st_mode & 0o022
            and posix.access(path, posix.X_OK)
        ):
            return path
    return ""


def prepare(confinement: Confinement, standing: mounts.Standing, program: Program) -> Prepared:
    """Plan, and try it once with a program that does nothing. Raises KernelCallError where bubblewrap fails too."""
    bwrap = find()
    if not bwrap:
        raise KernelCallError("bwrap", _EPERM, "looking for bubblewrap: none of root's is installed")
    # A private layer over a shared repository takes an overlay, which this bubblewrap cannot make: it stays closed.
    shadowed, confinement = confinement.shadowed, confinement._replace(shadowed=())
    found = mounts.survey(confinement, standing)
    gone = tuple(step.path for step in found.planned.steps if _mode(step.path) is None)
    words = [bwrap, *arguments(found.planned, found.place, standing.cwd)]
    filters = _filters()
    for descriptor in filters:
        words += ["--add-seccomp-fd", str(descriptor)]
    _try([*words, "--", "/bin/true"], filters)
    for descriptor in filters:
        posix.lseek(descriptor, 0, _SEEK_SET)
        posix.set_inheritable(descriptor, True)
    hidden = [path for path in found.sockets if path not in gone]
    notes = (
        *((f"hidden control sockets: {', '.join(hidden)}",) if hidden else ()),
        "bubblewrap stands between: signals sent to ringfence end the program instead of reaching it",
    )

    def confine() -> EnforcementReport:
        roots = tuple(zone.root for zone in confinement.writable)
        inner = tuple(zone.root for zone in (*confinement.carve_outs, *confinement.masked))
        descriptors.close_leaks(roots, inner)
        held = report.of_mounts(confinement, found.planned, Built(gone, limited=False), _BY_BUBBLEWRAP, notes)
        rules = (*held.rules, *(of_shadow(each, gone=True) for each in shadowed))
        return held._replace(rules=rules, detail=f"mounts made by {bwrap}, without Landlock on top")

    return Prepared(program._replace(argv=[*words, "--", *program.argv]), confine)


def arguments(planned: MountPlan, place: Place, cwd: str) -> list[str]:
    """The words for bwrap, before the program. Steps whose path is gone are left out: bwrap would create them."""
    words = ["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", "/proc", "/proc"]
    for device in DEVICES:
        words += ["--dev-bind-try", device, device]
    for index, pins in enumerate(planned.pins):
        shadow = f"{_HIDDEN}/{index}"
        words += ["--bind", pins.root, shadow]
        for folder in pins.folders:
            words += ["--bind", f"{pins.root.rstrip('/')}/{folder}", f"{shadow}/{folder}"]
    if place.runtime and _mode(place.runtime) is not None:
        words += ["--tmpfs", place.runtime]
        for path in place.shown:
            words += ["--bind-try", path, path]
    for step in planned.steps:
        words += _step(step)
    if planned.pins:
        words += ["--tmpfs", _HIDDEN, "--remount-ro", _HIDDEN]
    return [*words, "--chdir", cwd]


def _step(step: Step) -> list[str]:
    mode = _mode(step.path)
    if mode is None or (step.hold is Hold.FILE and step.path.startswith("/dev/")):
        return []
    if step.hold in (Hold.WRITE, Hold.FILE):
        return ["--bind", step.path, step.path]
    if step.hold is Hold.READ:
        return ["--ro-bind", step.path, step.path]
    if stat.S_ISDIR(mode):
        return ["--tmpfs", step.path, "--remount-ro", step.path]
    # A device node on a mount without devices: it can be neither read nor written.
    return ["--ro-bind", "/dev/null", step.path]


def _mode(path: str) -> int | None:
    try:
        return posix.lstat(path.encode("utf-8", "surrogateescape")).st_mode
    except OSError:
        return None


def _filters() -> list[int]:
    """Memory files with the programs that the mounts engine installs by itself."""
    made = []
    for name, code in (
        ("calls", seccomp.assemble(mounts.FILTER, libc.machine())),
        ("later", mount_calls.later_calls_filter()),
    ):
        descriptor = posix.memfd_create(f"ringfence-{name}", posix.MFD_CLOEXEC)
        posix.write(descriptor, code)
        posix.lseek(descriptor, 0, _SEEK_SET)
        made.append(descriptor)
    return made


def _try(words: list[str], filters: list[int]) -> None:
    """Raises KernelCallError with bubblewrap's own words if it cannot make these mounts."""
    doing = "making the mounts"
    try:
        done = subprocess.run(
            words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_WAIT, pass_fds=filters,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelCallError("bwrap", getattr(error, "errno", 0) or _EPERM, f"{doing}: {error}") from None
    if done.returncode:
        said = done.stderr.strip().partition("\n")[0]
        raise KernelCallError("bwrap", _EPERM, f"{doing}: {said}")
