"""Holding signals to pass them on, and giving a program the dispositions its caller meant it to have.

`signal` costs three milliseconds for its enums; the module below it, `_signal`, is part of the interpreter.
"""

from __future__ import annotations

import posix
import sys

from ringfence.kernel import libc
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4

# All but the two that cannot be caught. Those that tell of a fault (SEGV, ILL, …) too: for a real fault the kernel
# lifts the block and ends us as ever (force_sig, kernel/signal.c); one that is *sent*, as by `timeout -s ABRT`, is
# meant for the program.
HELD = frozenset(
    int(number) for number in _signal.valid_signals() if number not in {_signal.SIGKILL, _signal.SIGSTOP}
)
"""What a wrapper holds back and passes on."""

FROM_TERMINAL = frozenset(
    int(getattr(_signal, name))
    for name in ("SIGINT", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGHUP", "SIGWINCH")
    if hasattr(_signal, name)
)
"""What a terminal sends to its whole foreground group, program and wrapper alike."""

CHILD_CHANGED, CONTINUE = int(_signal.SIGCHLD), int(_signal.SIGCONT)


class Caller(Record):
    """How the caller left the signals."""

    mask: frozenset[int]
    child_ignored: bool


def hold() -> Caller:
    """Block what is to be passed on, and make sure that a child of ours leaves a status to wait for."""
    mask = frozenset(int(number) for number in _signal.pthread_sigmask(_signal.SIG_BLOCK, HELD))
    # A caller may have left SIGCHLD ignored, and the kernel then reaps our child before we can ask.
    child_ignored = _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN
    if child_ignored:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    return Caller(mask, child_ignored)


def release(caller: Caller) -> None:
    """Undo `hold`. What was held meanwhile and not taken is delivered now."""
    if caller.child_ignored:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, caller.mask)


def ready_for_exec(caller: Caller | None) -> None:
    """Dispositions and mask as the caller of this interpreter had them, as far as that can be known.

    CPython ignores SIGPIPE and SIGXFSZ and does not remember what they were: programs get the default.
    """
    for number in HELD:
        known = _signal.getsignal(number)
        # A handler in Python would swallow a signal that waits for the mask to open just before exec.
        if known is not None and known not in {_signal.SIG_IGN, _signal.SIG_DFL}:
            _signal.signal(number, _signal.SIG_DFL)
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    if caller is not None:
        release(caller)


def take() -> tuple[int, bool]:
    """Wait for a held signal: its number, and whether the kernel itself sent it (si_code above 0)."""
    if hasattr(_signal, "sigwaitinfo"):
        info = _signal.sigwaitinfo(HELD)
        return info.si_signo, info.si_code > 0
    # macOS has no siginfo here; the terminal is by far the likeliest sender of what terminals send.
    return int(_signal.sigwait(HELD)), True


def stop_by(number: int) -> None:
    """Stop as a child did, so that the shell above sees a stopped job; returns when continued.

    SIGCONT stays pending for `take`. In an orphaned group the kernel ignores the terminal's stop signals, and
    this returns at once.
    """
    known = None
    if number != _signal.SIGSTOP:
        known = _signal.getsignal(number)
        _signal.signal(number, _signal.SIG_DFL)
    posix.kill(posix.getpid(), number)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (number,))
    if number in HELD:
        _signal.pthread_sigmask(_signal.SIG_BLOCK, (number,))
    if known is not None:
        _signal.signal(number, known)


def die_by(number: int) -> None:
    """Die by this signal, without a core file. Returns only in process 1, which signals do not kill."""
    if sys.platform == "linux":
        libc.call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0, doing="leaving no core file")
    if number != _signal.SIGKILL:
        _signal.signal(number, _signal.SIG_DFL)
    posix.kill(posix.getpid(), number)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (number,))


def die_with(parent: int) -> bool:
    """Be killed when the parent is (Linux). False if it is gone already: nobody waits for us any more.

    Raises KernelCallError. The kernel forgets the wish when credentials grow, as in a new user namespace.
    """
    if sys.platform == "linux":
        doing = "tying the program to its wrapper"
        libc.call("prctl", _PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0, doing=doing)
    return posix.getppid() == parent
