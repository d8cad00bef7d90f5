"""What can go wrong with *us*, and the exit codes. A refusal is a value (model.Decision), never an error.

Imports nothing of ours. Every message says what, on which thing, and what to do next.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_NOT_ENFORCED = 3
EXIT_BUG = 70


class FenceError(Exception):
    """Base of our failures. `hint` is the next step, shown on its own line."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(FenceError):
    """The words of a call contradict each other or name nothing known."""


class OutputError(FenceError):
    """An answer or a file that was asked for cannot be written: a full disk, a folder in its place, no right."""


class PolicyError(FenceError):
    """A policy file that cannot be taken at its word. Line and column are 1-based; 0 means the whole file."""

    def __init__(self, message: str, source: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message, hint)
        self.source = source
        self.line = line
        self.column = column

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        text = f"{where}: {self.message}"
        return f"{text}\n  {self.hint}" if self.hint else text


class WireError(FenceError):
    """A payload that an agent sent and we cannot read. The door answers it with a refusal."""

    def __init__(self, agent: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.agent = agent


class ForeignError(WireError):
    """A payload with another agent's shape. No agent's JSON is printed for it: a wrong one would mean "run the tool"
    to whoever really asks, while exit status 2 with a line on stderr blocks in every agent that reads statuses."""


class KernelCallError(FenceError):
    """A system call that failed. `doing` is what it was for, in words."""

    exit_code = EXIT_NOT_ENFORCED

    def __init__(self, call: str, errno: int, doing: str) -> None:
        super().__init__(f"{call} failed with errno {errno} while {doing}")
        self.call = call
        self.errno = errno
        self.doing = doing


class NotEnforcedError(FenceError):
    """The fence that could be built is weaker than the policy's `minimum`; nothing was run."""

    exit_code = EXIT_NOT_ENFORCED
