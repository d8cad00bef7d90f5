"""After a fenced command: say which refusal of the fence it met, if it met one.

Derived from the policy. Paths in the command's output are candidates only; each is judged, and named only if the
policy refuses it. Ordinary failures are never called refusals of the fence.

What remains: output that went to a pipe or a terminal cannot be read back, so there only the command's own text
offers candidates, and the wording says "may".
"""

from __future__ import annotations

from _stat import S_ISREG
from posix import O_CLOEXEC, O_RDONLY, WEXITSTATUS, WIFEXITED, close, fstat, lseek, open, pread

from ringfence.model import Op, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ringfence.model import Decision
    from ringfence.pipelines.fence import Fence

_TAIL = 64 * 1024  # bytes of output looked at, from its end
_MOST = 3  # refusals named
_SIGNS = (
    b"ermission denied",
    b"ead-only file system",
    b"not permitted",
    b"EACCES",
    b"EROFS",
    b"EPERM",
    b"cross-device",
)
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"


class Watch:
    """What a command was and what its output file held before it ran."""

    __slots__ = ("_command", "_cwd", "_env", "_fence", "_start")

    def __init__(self, fence: Fence, command: str, cwd: str, env: Mapping[str, str]) -> None:
        self._fence = fence
        self._command = command
        self._cwd = cwd
        self._env = env
        self._start = _end_of(2)

    def explain(self, status: int) -> None:
        """Write to stderr what the fence refused, after a command that ended with wait status `status`."""
        if not self._fence.policy.restricted:
            return
        output = _since(2, self._start)
        if output is None:
            if not WIFEXITED(status) or WEXITSTATUS(status) == 0:
                return
            found = self._refused(_words(self._command), in_text=True)
            lead = "if it failed for this reason, that was the fence"
        elif any(sign in output for sign in _SIGNS):
            text = output.decode("utf-8", "surrogateescape")
            found = self._refused(_named(text)) or self._refused(_words(self._command), in_text=True)
            lead = "refused by the fence"
        else:
            return
        if found:
            self._say(found, lead)

    def _refused(self, candidates: Iterator[str], in_text: bool = False) -> list[Decision]:
        found: dict[str, Decision] = {}
        for count, text in enumerate(candidates):
            if count > 200 or len(found) >= _MOST:
                break
            path = self._expanded(text) if in_text else text
            decision = self._fence.check(path, Op.WRITE, cwd=self._cwd)
            if decision.verdict is not Verdict.ALLOW and decision.path and decision.path not in found:
                found[decision.path] = decision
        return list(found.values())

    def _expanded(self, text: str) -> str:
        if "$" not in text:
            return text
        for key, value in self._env.items():
            text = text.replace("${" + key + "}", value)
            if text.startswith("$" + key + "/") or text == "$" + key:
                text = value + text[len(key) + 1 :]
        return text

    def _say(self, found: list[Decision], lead: str) -> None:
        from ringfence.pipelines.journal import record_command
        from ringfence.pipelines.say import complain

        for decision in found:
            complain(f"ringfence: {lead} [{decision.code}]: {decision.message}. Rule: {decision.rule}.")
            if decision.hint:
                complain(f"ringfence:   next: {decision.hint}")
            record_command(self._fence.policy, "shell", self._command, self._cwd, decision)


def _end_of(fd: int) -> int:
    """Where the file behind `fd` ends now; -1 if it is no regular file."""
    try:
        st = fstat(fd)
    except OSError:
        return -1
    return st.st_size if S_ISREG(st.st_mode) else -1


def _since(fd: int, start: int) -> bytes | None:
    """What was written to the file behind `fd` after `start`; None if it cannot be read back."""
    if start < 0:
        return None
    try:
        # A new description: the caller's own offset and flags stay as they are.
        again = open(f"/proc/self/fd/{fd}", O_RDONLY | O_CLOEXEC)
    except OSError:
        return None
    try:
        size = lseek(again, 0, 2)  # SEEK_END
        begin = max(start if start <= size else 0, size - _TAIL)
        return pread(again, max(size - begin, 0), begin)
    except OSError:
        return None
    finally:
        close(again)


def _named(text: str) -> Iterator[str]:
    """Path-like words on the lines that speak of a refusal, the last line first: quoted ones, then bare ones."""
    signs = tuple(sign.decode("ascii") for sign in _SIGNS)
    for line in reversed(text.split("\n")):
        if not any(sign in line for sign in signs):
            continue
        yield from _quoted(line)
        # The first word names the program that complains, not what it complains of.
        for word in line.replace(",", " ").split()[1:]:
            bare = word.strip(_QUOTES + ":;()[]<>")
            if "/" in bare:
                yield bare
        # `bash: line 1: name: Permission denied`: the last word of the part before the sign
        parts = line.split(": ")
        if len(parts) > 2:
            name = parts[-2].rpartition(" ")[2]
            if name and not name.isdigit():
                yield name


def _quoted(line: str) -> Iterator[str]:
    for open_mark, close_mark in (("'", "'"), ('"', '"'), ("\u2018", "\u2019"), ("`", "'")):
        at = line.find(open_mark)
        while at >= 0:
            end = line.find(close_mark, at + 1)
            if end < 0:
                break
            if end > at + 1:
                yield line[at + 1 : end]
            at = line.find(open_mark, end + 1)


def _words(command: str) -> Iterator[str]:
    """Words of a command text that look like paths; no parser, only candidates."""
    for mark in "\n\t;|&()<>=,\"'`":
        command = command.replace(mark, " ")
    for word in command.split():
        if "/" in word or word.startswith(("~", "..", "$")):
            yield word
