"""`ringfence check`: verdicts on paths or a command."""

from __future__ import annotations

from ringfence.errors import EXIT_OK, EXIT_REFUSED
from ringfence.model import Op, Verdict
from ringfence.pipelines import compose
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ringfence.model import CommandDecision, Decision
    from ringfence.pipelines.fence import Fence
    from ringfence.policy.asked import Flags


class Checked(Record):
    """The verdicts in the order asked, and the exit status they amount to."""

    paths: tuple[tuple[str, Decision], ...]
    command: CommandDecision | None
    status: int


def check(fence: Fence, paths: Sequence[str], command: str | None, op: Op, cwd: str, shell: str) -> Checked:
    """Judge. Exit 0 if everything is allowed, 1 if anything is not: an `ask` is not an allow."""
    judged = tuple((path, fence.check(path, op, cwd=cwd)) for path in paths)
    read = fence.check_command(command, cwd=cwd, shell=shell) if command is not None else None
    verdicts = [decision.verdict for _, decision in judged]
    if read is not None:
        verdicts.append(read.verdict)
    refused = not verdicts or any(verdict is not Verdict.ALLOW for verdict in verdicts)
    return Checked(judged, read, EXIT_REFUSED if refused else EXIT_OK)


def fence_here(
    flags: Flags, cwd: str | None = None, env: Mapping[str, str] | None = None
) -> tuple[Fence, str]:
    """(the fence for this process and the flags, the working directory that relative paths are joined to)."""
    seen = compose.process_environment() if env is None else env
    base = compose.process_cwd()
    at = base if cwd is None else cwd if cwd.startswith("/") else f"{base}/{cwd}"
    return compose.fence_for(flags, seen, base), at
