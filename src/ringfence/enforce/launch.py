"""Start a program under a fence and be transparent about it: same status, same signals, same terminal.

Two ways. `become` confines this very process and turns it into the program; nothing of ours is left, so
nothing can be in the way. `launch` keeps us as the parent, for engines that have something to do afterwards. It
forks a child that confines itself, or, for an engine that can confine one thread, does without the copy
(kernel/spawn.py); from then on the two are the same.

What a parent in the middle cannot do, and what remains:
* SIGKILL and SIGSTOP sent to us alone cannot be passed on. SIGKILL takes the program with it (by the kernel:
  PR_SET_PDEATHSIG, or spawn.Tie), not the jobs it left in the background; SIGSTOP leaves it running.
* A signal that another process sends to the whole group reaches the program twice, once through us; nothing
  tells us that it did. What the terminal sends is told apart (si_code) and not repeated.
* Descriptors that the program closes early stay open here until it ends, so a reader at the other end of a
  pipe learns of it only then.
* A caller that had SIGPIPE or SIGXFSZ ignored finds them at their default in the program (kernel/signals.py).
* Started by a thread, a program finds the two signals that glibc keeps to itself (32 and 33) ignored: so does
  every program that posix_spawn(3) starts, and the library sets its own handlers where it uses them.
"""

from __future__ import annotations

import errno
import posix
import sys

from ringfence.enforce.report import decode, encode
from ringfence.errors import EXIT_BUG, EXIT_NOT_ENFORCED, KernelCallError
from ringfence.kernel import signals, spawn
from ringfence.kernel.execute import execute
from ringfence.records import Record, assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from ringfence.kernel.execute import Environment
    from ringfence.model import EnforcementReport

    Confine: TypeAlias = Callable[[], EnforcementReport]
    Accept: TypeAlias = Callable[[EnforcementReport], bool]

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What shells exit with when there is no such program, and when there is one that cannot be run."""

_GO = b"g"
_HEAD = 4  # bytes of a length or an errno on the pipe


class Finished(Record):
    """The program ran. `status` is what waitpid(2) gave for it."""

    status: int


class NotConfined(Record):
    """The fence could not be built; nothing was run."""

    why: KernelCallError


class Declined(Record):
    """The fence stood, but `accept` did not want it; nothing was run."""

    report: EnforcementReport


class CannotRun(Record):
    """The fence stood and the program could not be started. `errno` is execve(2)'s, or chdir(2)'s."""

    name: str
    errno: int


class Program(Record):
    """What to run. `cwd` None: where we are. `argv[0]` without a slash is looked up in the PATH of `env`."""

    argv: Sequence[str]
    env: Environment
    cwd: str | None = None


class _Pipes(Record):
    """The child tells what holds, then waits for the word to go on. All four ends close at exec."""

    told: int
    tell: int
    wait: int
    go: int


Outcome = Finished | NotConfined | Declined | CannotRun
NotStarted = NotConfined | Declined | CannotRun


def become(program: Program, confine: Confine, accept: Accept | None = None) -> NotStarted:
    """Confine this process for good and turn it into the program; returns only if that fails.

    `confine` raises KernelCallError if it cannot. `accept` sees what really holds, already from inside the
    fence: it can write to what is open, not open files outside.
    """
    failed_with = _change_folder(program)
    if failed_with:
        return CannotRun(program.cwd or "", failed_with)
    try:
        report = confine()
    except KernelCallError as failed:
        return NotConfined(failed)
    if accept is not None and not accept(report):
        return Declined(report)
    signals.ready_for_exec(None)
    return CannotRun(program.argv[0], execute(program.argv, program.env))


def launch(
    program: Program,
    confine: Confine,
    accept: Accept | None = None,
    after: Callable[[int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
    *,
    by_thread: bool = False,
    assist: Callable[[int], None] | None = None,
) -> Outcome:
    """Run the program in a confined child and wait for it.

    `confine` runs in the child, `accept` here and before the program starts, `after` here with the wait
    status once it has ended (signals are still held then, so that Ctrl-C does not cut it short). `meanwhile` runs
    here while the child builds its fence, and before `accept`: what it does costs no time. `by_thread`: all that
    `confine` does holds for one thread, and no process is needed for it; what cannot be done so here is done by a
    child after all. `assist` gets that child's process id at once, and may do here what the child asks for. Only for
    the main thread. Hand the status to `imitate` to end as the program did.
    """
    caller = signals.hold()
    tie: spawn.Tie | None = None
    try:
        started: int | NotStarted | None = None
        if by_thread and not caller.child_ignored and (tie := spawn.tie()):
            started = _start_by_thread(program, confine, accept, meanwhile, caller, tie)
        if started is None:
            started = _start_by_fork(program, confine, accept, meanwhile, caller, assist)
        if not isinstance(started, int):
            return started
        status = _attend(started)
        if after is not None:
            after(status)
        return Finished(status)
    finally:
        if tie is not None:
            tie.loosen()
        signals.release(caller)


def exit_code(outcome: Outcome) -> int:
    """What to exit with: the program's own status, 128 + n for a signal, 3 without a fence, 126 or 127."""
    if isinstance(outcome, Finished):
        if posix.WIFSIGNALED(outcome.status):
            return 128 + posix.WTERMSIG(outcome.status)
        return posix.WEXITSTATUS(outcome.status)
    if isinstance(outcome, NotConfined | Declined):
        return EXIT_NOT_ENFORCED
    if isinstance(outcome, CannotRun):
        return NOT_FOUND if outcome.errno == errno.ENOENT else NOT_EXECUTABLE
    return assert_never(outcome)


def explain(outcome: Outcome) -> str:
    """What to say on stderr, "" for a program that ran; a next step, if there is one, on its own line."""
    if isinstance(outcome, Finished):
        return ""
    if isinstance(outcome, NotConfined):
        return f"nothing was run, the fence could not be built: {outcome.why}"
    if isinstance(outcome, Declined):
        return f"nothing was run, the {outcome.report.engine} engine holds less than the policy asks for"
    if isinstance(outcome, CannotRun):
        why = posix.strerror(outcome.errno)
        if outcome.errno == errno.ENOENT:
            why = "not found, or the interpreter that its first line names is missing"
        elif outcome.errno == errno.EACCES:
            why = "permission denied: not executable, a folder, or outside what the fence lets programs read"
        return f"cannot run {outcome.name}: {why}"
    return assert_never(outcome)


def imitate(status: int) -> int:
    """End as the program did: die by its signal, or return its exit code for the caller to exit with.

    Flush what you wrote first. No core file is left for the imitation.
    """
    if not posix.WIFSIGNALED(status):
        return posix.WEXITSTATUS(status)
    number = posix.WTERMSIG(status)
    signals.die_by(number)
    # Still here: process 1 of a container, which signals do not kill. Shells say it this way.
    return 128 + number


# ---- by a thread


def _start_by_thread(
    program: Program,
    confine: Confine,
    accept: Accept | None,
    meanwhile: Callable[[], None] | None,
    caller: signals.Caller,
    tie: spawn.Tie,
) -> int | NotStarted | None:
    """The program's process id, or why there is none; None where a thread cannot stand apart. Nothing ran then."""

    def build() -> EnforcementReport | int | None:
        try:
            spawn.stand_apart()
        except KernelCallError:
            return None
        return _change_folder(program) or confine()

    def start() -> tuple[int, int]:
        spawn.close_memory()
        return spawn.spawn(program.argv, program.env, caller.mask, tie)

    try:
        worker = spawn.Worker()
    except RuntimeError:
        return None
    try:
        built = worker.do(build)
        if built is None:
            return None
        if isinstance(built, int):
            return CannotRun(program.cwd or "", built)
        if meanwhile is not None:
            meanwhile()
        if accept is not None and not accept(built):
            return Declined(built)
        made, failed_with = worker.do(start)
        return made or CannotRun(program.argv[0], failed_with)
    except KernelCallError as failed:
        return NotConfined(failed)
    finally:
        worker.end()


# ---- by a child


def _start_by_fork(
    program: Program,
    confine: Confine,
    accept: Accept | None,
    meanwhile: Callable[[], None] | None,
    caller: signals.Caller,
    assist: Callable[[int], None] | None,
) -> int | NotStarted:
    """The child's process id once it is the program, or why it is not. The child is gone then."""
    pipes = _Pipes(*posix.pipe(), *posix.pipe())
    us = posix.getpid()
    try:
        child = posix.fork()
    except OSError as failed:
        doing = "starting the program's process"
        return NotConfined(KernelCallError("fork", failed.errno or errno.EAGAIN, doing))
    if child == 0:
        _run_child(program, confine, caller, us, pipes)
    posix.close(pipes.tell)
    posix.close(pipes.wait)
    try:
        if assist is not None:
            assist(child)
        if meanwhile is not None:
            meanwhile()
        outcome = _attend_start(program, accept, pipes)
    except BaseException:
        posix.waitpid(child, 0)
        raise
    if outcome is not None:
        posix.waitpid(child, 0)
    return child if outcome is None else outcome


# ---- the child, until exec


def _run_child(
    program: Program, confine: Confine, caller: signals.Caller, parent: int, pipes: _Pipes
) -> None:
    """Never returns: this is a copy of the caller and must not run on as one."""
    code = EXIT_BUG
    try:
        code = _confine_and_exec(program, confine, caller, parent, pipes)
    except BaseException:  # noqa: BLE001 - the copy ends here whatever happened, and says what
        sys.excepthook(*sys.exc_info())
    finally:
        posix._exit(code)  # noqa: SLF001 - public as os._exit


def _confine_and_exec(
    program: Program, confine: Confine, caller: signals.Caller, parent: int, pipes: _Pipes
) -> int:
    # Our copies of the parent's ends: with them open we would wait for ourselves once it is gone.
    posix.close(pipes.told)
    posix.close(pipes.go)
    failed_with = _change_folder(program)
    if failed_with:
        _write(pipes.tell, _word(0) + _word(failed_with))
        return NOT_EXECUTABLE
    try:
        if not signals.die_with(parent):
            return EXIT_NOT_ENFORCED
        message = encode(confine())
    except KernelCallError as failed:
        message = encode(failed)
    _write(pipes.tell, _word(len(message)) + message)
    if posix.read(pipes.wait, 1) != _GO:
        return EXIT_NOT_ENFORCED
    # Once more: entering a user namespace changes credentials, and the kernel forgets the wish then.
    if not signals.die_with(parent):
        return EXIT_NOT_ENFORCED
    signals.ready_for_exec(caller)
    failed_with = execute(program.argv, program.env)
    _write(pipes.tell, _word(failed_with))
    return NOT_EXECUTABLE


def _change_folder(program: Program) -> int:
    """0, or the errno of chdir(2)."""
    if program.cwd is None:
        return 0
    try:
        posix.chdir(program.cwd)
    except OSError as failed:
        return failed.errno or errno.EIO
    return 0


# ---- the parent


def _attend_start(program: Program, accept: Accept | None, pipes: _Pipes) -> NotStarted | None:
    """Hear what the child achieved, let it go on or not, and learn whether exec worked (then None)."""
    try:
        size = _number(_read(pipes.told, _HEAD))
        if size == 0:
            return CannotRun(program.cwd or "", _number(_read(pipes.told, _HEAD)) or errno.EIO)
        try:
            heard = decode(_read(pipes.told, size or 0))
        except (EOFError, ValueError, TypeError):
            return NotConfined(
                KernelCallError("fork", errno.ECHILD, "waiting for the child to build the fence")
            )
        if isinstance(heard, KernelCallError):
            return NotConfined(heard)
        if accept is not None and not accept(heard):
            return Declined(heard)
        try:
            posix.write(pipes.go, _GO)
        except BrokenPipeError:
            return None  # it was killed while we looked at the report: how, its wait status says
        failed_with = _number(_read(pipes.told, _HEAD))
        return None if failed_with is None else CannotRun(program.argv[0], failed_with)
    finally:
        posix.close(pipes.told)
        posix.close(pipes.go)


def _attend(child: int) -> int:
    """Pass on signals and stops until the program ends; its wait status."""
    stopped = False
    while True:
        number, by_kernel = signals.take()
        if number in {signals.CHILD_CHANGED, signals.CONTINUE}:
            ended, stopped = _reap(child, stopped)
            if ended is not None:
                return ended
            # A shell continues the whole group, and then there is nothing left to do.
            if number == signals.CONTINUE and stopped:
                posix.kill(child, number)
        elif not (by_kernel and number in signals.FROM_TERMINAL):
            posix.kill(child, number)


def _reap(child: int, stopped: bool) -> tuple[int | None, bool]:
    """Take every change of the child: its final status if it has ended, and whether it is stopped."""
    while True:
        pid, status = posix.waitpid(child, posix.WNOHANG | posix.WUNTRACED | posix.WCONTINUED)
        if pid == 0:
            return None, stopped
        if posix.WIFSTOPPED(status):
            stopped = True
            signals.stop_by(posix.WSTOPSIG(status))
        elif posix.WIFCONTINUED(status):
            stopped = False
        else:
            return status, False


# ---- bytes on the pipe


def _word(value: int) -> bytes:
    return value.to_bytes(_HEAD, "little")


def _number(raw: bytes) -> int | None:
    return int.from_bytes(raw, "little") if len(raw) == _HEAD else None


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[posix.write(descriptor, data) :]


def _read(descriptor: int, size: int) -> bytes:
    """So many bytes, fewer only at the end of the pipe."""
    data = b""
    while len(data) < size:
        more = posix.read(descriptor, size - len(data))
        if not more:
            break
        data += more
    return data
