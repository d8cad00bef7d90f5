"""One program on a throwaway layer: survey, holder, join. For `try`, and for `run` and `shell` in a reviewer's lane.

No watch of the real tree stands beside such a program, as it does beside others: it cannot change anything there, and
what somebody else changes meanwhile is not its doing.
"""

from __future__ import annotations

import posix

from ringfence.enforce import launch as launcher
from ringfence.enforce import mounts as engine
from ringfence.enforce.layer_holder import Held, Joining, join, start
from ringfence.enforce.report import accepts
from ringfence.errors import KernelCallError, NotEnforcedError
from ringfence.kernel import processes
from ringfence.kernel.probe import capabilities
from ringfence.pipelines import layers
from ringfence.pipelines.confine import beside_engines
from ringfence.pipelines.placing import confinement
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ringfence.enforce.layer import Layer
    from ringfence.model import Confinement, EnforcementReport, Policy
    from ringfence.pipelines.layer_watch import Watch


class Prepared(Record):
    """What is known before anything is built. `single` are write zones that no overlay can cover: read-only here."""

    wanted: Confinement
    found: engine.Survey
    roots: tuple[str, ...]
    single: tuple[str, ...]


class Standing(Record):
    """A layer that stands, and what it covers."""

    held: Held
    layer: Layer
    prepared: Prepared


def prepare(policy: Policy, cwd: str, env: Mapping[str, str], files: Sequence[str] = ()) -> Prepared:
    """Raises NotEnforcedError where there is nothing to cover."""
    wanted, single = layers.without_files(confinement(policy, files))
    found = engine.survey(wanted, engine.Standing(cwd, env))
    return Prepared(wanted, found, layers.covered(wanted, found), single)


def build(prepared: Prepared, layer: Layer, attend: Callable[[str], None] | None = None) -> Standing:
    """Start the holder. Raises NotEnforcedError with the reason: nothing is ever run without the layer."""
    try:
        pending = start(prepared.found, layer, attend)
        _load_meanwhile()
        held = pending.wait()
    except KernelCallError as failed:
        # The mount below a root is the commonest reason, and the kernel's EINVAL names nothing.
        below = mount_below(prepared.roots) if failed.errno == 22 else ""
        hint = (
            f"{below} is a mount below the workspace; unmount it, or name a workspace beside it"
            if below
            else failed.hint
        )
        raise NotEnforcedError(
            f"nothing was run: no throwaway layer could be built: {failed.message}", hint
        ) from None
    return Standing(held, layer, prepared)


def _load_meanwhile() -> None:
    """What is needed later, beside the holder that builds its mounts."""
    import ringfence.enforce.landlock
    import ringfence.enforce.plan
    import ringfence.pipelines.layer_changes
    import ringfence.pipelines.layer_judge
    import ringfence.pipelines.layer_tell
    import ringfence.pipelines.layer_watch
    import ringfence.pipelines.run  # noqa: F401


def run(
    policy: Policy,
    program: launcher.Program,
    standing: Standing,
    joining: Joining,
    *,
    watch: Watch | None = None,
    quiet_stdout: bool = False,
    after: Callable[[int], None] | None = None,
    told: Callable[[EnforcementReport], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> tuple[launcher.Outcome, EnforcementReport | None]:
    """Join the layer and become the program; the outcome, and what held. `quiet_stdout`: its output goes to stderr."""
    here = capabilities(("landlock", "seccomp"))
    prepared, held = standing.prepared, standing.held
    seen: list[EnforcementReport] = []
    hear, say = posix.pipe() if watch is not None else (-1, -1)
    joining = joining._replace(listen=say)

    def confine() -> EnforcementReport:
        if quiet_stdout:
            posix.dup2(2, 1)
        return join(held, joining, prepared.wanted, prepared.found, here)

    def accept(report: EnforcementReport) -> bool:
        report = report._replace(rules=(*report.rules, *beside_engines(policy)))
        seen.append(report)
        if told is not None:
            told(report)
        good = not accepts(report, policy.minimum, policy.strict)
        if watch is not None and good:
            _listen(watch, hear)
        return good

    try:
        outcome = launcher.launch(program, confine, accept, after, meanwhile)
    finally:
        for descriptor in (hear, say):
            if descriptor >= 0:
                posix.close(descriptor)
    return outcome, (seen[-1] if seen else None)


def is_fenced() -> bool:
    """Whether this process stands in a fence of the mounts engine: no layer can be mounted in there."""
    from ringfence.enforce.mounts_mark import inside_a_fence

    try:
        return inside_a_fence()
    except OSError:
        return False


def _listen(watch: Watch, hear: int) -> None:
    """Take the listener that the child has made, before it may go on; without one attempts go unheard: said so."""
    number = posix.read(hear, 32).split()
    child, at = (int(word) for word in number) if len(number) == 2 else (0, -1)
    if at < 0:
        watch.missed = "this kernel, or a filter around us, lets nobody listen to system calls"
        return
    try:
        watch.begin(processes.take_descriptor(child, at))
    except KernelCallError as failed:
        # Its calls would wait for us for ever.
        raise NotEnforcedError(f"nothing was run: {failed}", "ringfence try --no-attempts") from None


def mount_below(roots: tuple[str, ...]) -> str:
    from ringfence.enforce.mounts_mark import read_mount_table
    from ringfence.enforce.mounts_table import parse

    for row in parse(read_mount_table()):
        if any(row.where != root and row.where.startswith(root.rstrip("/") + "/") for root in roots):
            return row.where
    return ""


def close(standing: Standing, *, empty: bool = False) -> None:
    """End the holder and whoever lives in the layer. For a holder that is our child.

    `empty`: everybody else has been ended already. Then the holder is killed and not waited for: undoing its mounts
    takes the kernel some milliseconds, in which nobody is there to see them.
    """
    held = standing.held
    if empty:
        processes.end_one(held.pid, held.born)
    else:
        processes.end_all(held.namespace, standing.layer.mark)
        try:
            posix.waitpid(held.pid, 0)
        except ChildProcessError:
            pass  # the caller left SIGCHLD ignored
    if held.life >= 0:
        posix.close(held.life)
    posix.close(held.top)
