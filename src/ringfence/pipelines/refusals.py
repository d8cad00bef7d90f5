"""Refusals for programs: one JSON line for each, on a descriptor or in a file that the caller names.

`{"version": 1, "path", "op", "code", "message", "rule": {"id", "source", "line"}, "next", "certain", "ran", "command",
"cwd"}`. `certain` is false where the output could not be read back and the refusal is one that the command's text
makes likely; `ran` is false where the text itself was refused. The fenced program never holds the descriptor.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted
from posix import (
    O_APPEND,
    O_CLOEXEC,
    O_CREAT,
    O_NOFOLLOW,
    O_WRONLY,
    fstat,
    open,
    set_inheritable,
    strerror,
)

from ringfence.errors import UsageError
from ringfence.pipelines.say import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Decision


class Sink:
    """Where the lines go. Opened before the program starts, so that a name cannot be swapped by it."""

    __slots__ = ("_command", "_cwd", "_fd")

    def __init__(self, where: str, command: str, cwd: str) -> None:
        """`where`: a descriptor's number from 3 up, or a file. UsageError if it cannot be written."""
        self._fd = _opened(where)
        self._command = command[:2000]
        self._cwd = cwd

    def tell(self, decision: Decision, *, certain: bool, ran: bool = True) -> None:
        rule = decision.rule
        where = f'"id":{quoted(rule.id)},"source":{quoted(rule.source)},"line":{rule.line or "null"}'
        words = (
            ("path", quoted(decision.path)),
            ("op", quoted(str(decision.op))),
            ("code", quoted(decision.code)),
            ("message", quoted(decision.message)),
            ("rule", "{" + where + "}"),
            ("next", quoted(decision.hint)),
            ("certain", "true" if certain else "false"),
            ("ran", "true" if ran else "false"),
            ("command", quoted(self._command)),
            ("cwd", quoted(self._cwd)),
        )
        body = ",".join(f'"{key}":{value}' for key, value in words)
        try:
            write_all(self._fd, f'{{"version":1,{body}}}\n'.encode("ascii"))
        except OSError:
            return  # the reader is gone; stderr has said it


def _opened(where: str) -> int:
    try:
        if not (where.isascii() and where.isdigit()):
            flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC
            return open(where.encode("utf-8", "surrogateescape"), flags, 0o600)
        number = int(where)
        if number < 3:
            hint = "give another descriptor or a file"
            raise UsageError(f"--refusals {where}: the standard streams belong to the program", hint)
        fstat(number)
        set_inheritable(number, False)
    except (OSError, OverflowError) as error:
        failed_with = getattr(error, "errno", 0)
        why = strerror(failed_with) if failed_with else "it cannot be opened"
        hint = "a file that can be written, or an open descriptor's number"
        raise UsageError(f"--refusals {where}: {why}", hint) from None
    return number
