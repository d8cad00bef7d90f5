"""Starting a program from one confined thread: vfork(2) semantics, no copy of this process and of its page tables.

Landlock, no_new_privs, system call filters and capabilities belong to a thread (credentials(7), landlock(7),
seccomp(2)), and a new process has those of the thread that made it. So a thread of ours confines itself, starts
the program by posix_spawn(3) and ends; the others stay as they were. A fork instead copies every page that either
side touches until exec: a millisecond and more for an interpreter.

The thread and the program are in the same Landlock domain, and the thread shares its memory with us, who are in none.
Were it there to be attached to while the program runs, the fence would be open: Landlock lets a program trace its own
domain. `close_memory` shuts that door before the program exists: nobody without CAP_SYS_PTRACE attaches to us any
more, and privileges.DROPPED has taken that from root's programs.
"""

from __future__ import annotations

import errno
import posix
import sys
from _thread import allocate_lock, start_new_thread

from ringfence.errors import KernelCallError
from ringfence.kernel import libc
from ringfence.kernel.execute import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    T = TypeVar("T")

    from ringfence.kernel.execute import Environment
else:
    import _signal

_CLONE_FS, _CLONE_FILES = 0x200, 0x400  # linux/sched.h
_PR_SET_DUMPABLE = 4
# asm-generic/fcntl.h; the machines that kernel/libc.py lists agree.
_F_SETFL, _F_SETOWN, _F_SETSIG = 4, 8, 10
_DEFAULTS = (_signal.SIGPIPE, _signal.SIGXFSZ) if sys.platform != "win32" else ()


def tie() -> Tie | None:
    """A tie for the program to be started, None where a thread cannot start one: then a fork does it."""
    if sys.platform != "linux" or not hasattr(posix, "posix_spawn"):
        return None
    try:
        return Tie()
    except (OSError, KernelCallError):
        return None


def stand_apart() -> None:
    """Give this thread a working folder and a table of descriptors of its own: copies, as after a fork.

    Raises KernelCallError: EPERM under a container's filter that refuses every unshare(2). Nothing changed then.
    """
    doing = "giving a thread its own descriptors"
    libc.call("unshare", _CLONE_FS | _CLONE_FILES, doing=doing)


def close_memory() -> None:
    """Let no process attach to this one or read its memory, from now to its end (PR_SET_DUMPABLE, ptrace(2))."""
    libc.call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0, doing="closing our memory to the program")


def spawn(argv: Sequence[str], env: Environment, mask: Iterable[int], tie: Tie) -> tuple[int, int]:
    """Start the program as `execute` would find it: its process id and 0, or 0 and execve(2)'s errno.

    Returns when the program runs, or did not. `mask`: the signals it starts with blocked. What CPython ignores is
    at its default in the program, what was ignored before stays so. Raises KernelCallError if it could not be tied;
    it is gone then.
    """
    made = [0]

    def attempt(path: str, words: list[str], env: Environment) -> int:
        try:
            posix.stat(path)  # most of PATH does not have it, and a stat costs less than a process
            made[0] = posix.posix_spawn(path, words, env, setsigmask=mask, setsigdef=_DEFAULTS)
        except OSError as failed:
            return failed.errno or errno.EIO
        return 0

    failed_with = search(argv, env, attempt)
    pid = made[0]
    if pid:
        try:
            tie.bind(pid)
        except KernelCallError:
            posix.kill(pid, _signal.SIGKILL)
            posix.waitpid(pid, 0)
            raise
    return pid, failed_with


class Worker:
    """A thread that does what it is given, one thing after the other, while the giver waits: never both at once."""

    __slots__ = ("_answered", "_failed", "_given", "_result", "_task")

    def __init__(self) -> None:
        """Raises RuntimeError where the kernel allows no more threads."""
        self._task: Callable[[], object] | None = None
        self._result: object = None
        self._failed: BaseException | None = None
        self._given, self._answered = allocate_lock(), allocate_lock()
        self._given.acquire()
        self._answered.acquire()
        start_new_thread(self._live, ())

    def do(self, task: Callable[[], T]) -> T:
        """What `task` returns in the thread; what it raises is raised here."""
        self._task = task
        self._given.release()
        self._answered.acquire()
        if self._failed is not None:
            raise self._failed
        return self._result  # type: ignore[return-value]  # of this very task

    def end(self) -> None:
        """Let the thread end. It may be there for a moment yet."""
        self._task = None
        self._given.release()

    def _live(self) -> None:
        while True:
            self._given.acquire()
            task = self._task
            if task is None:
                return
            self._failed = None
            try:
                self._result = task()
            except BaseException as failed:  # noqa: BLE001 - raised again where it was asked for
                self._failed = failed
            self._answered.release()


class Tie:
    """While this process lives, a process that it is tied to may; when it is killed, so is that one (SIGKILL).

    PR_SET_PDEATHSIG can only be asked for by the child, between fork and exec. Here it is done from outside: a pipe
    whose two ends are both ours and both send a signal when the other is closed (O_ASYNC with F_SETSIG, fcntl(2)).
    However we end, the kernel closes them, one first. Unlike the program's own wish it cannot be taken back by it.
    What remains: nothing holds until `bind`, which comes when this thread runs again after the program's exec: some
    10 µs later, on a busy machine a millisecond and more.
    """

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        """Raises OSError where there are no more descriptors, KernelCallError."""
        self._ends = posix.pipe()
        for end in self._ends:
            libc.call("fcntl", end, _F_SETSIG, int(_signal.SIGKILL), doing="choosing the signal of a tie")
            libc.call("fcntl", end, _F_SETFL, posix.O_ASYNC, doing="making a tie")

    def bind(self, pid: int) -> None:
        """To a child of ours, not waited for yet. The kernel keeps the process itself in mind, not its number."""
        for end in self._ends:
            libc.call("fcntl", end, _F_SETOWN, pid, doing="tying the program to its wrapper")

    def loosen(self) -> None:
        """To be called when the other has ended, or never began."""
        for end in self._ends:
            posix.close(end)
