"""After a fenced command: say which refusal of the fence it met, if it met one.

Derived from the policy. Paths in the command's output are candidates only; each is judged, and named only if the
policy refuses it. Ordinary failures are never called refusals of the fence.

What remains: output that went to a pipe or a terminal cannot be read back, so there only the command's own text
offers candidates, and the wording says "if"; a text that does not tell gets one line on what holds there.
"""

from __future__ import annotations

from _stat import S_ISREG
from posix import (
    O_CLOEXEC,
    O_RDONLY,
    W_OK,
    WEXITSTATUS,
    WIFEXITED,
    access,
    close,
    fstat,
    lseek,
    lstat,
    open,
    pread,
)

from ringfence.model import Op, Strength, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.model import Decision, EnforcementReport
    from ringfence.pipelines.fence import Fence
    from ringfence.pipelines.refusals import Sink

_TAIL = 64 * 1024  # bytes of output looked at, from its end
_MOST = 3  # refusals named
# What each engine's refusals look like to a program. The mounts engine answers before Landlock does, so under it
# "permission denied" is the system's own word, and nobody's business here.
_SIGNS = {
    "mounts": (b"ead-only file system", b"resource busy", b"cross-device", b"EROFS", b"EBUSY", b"EXDEV"),
    "landlock": (b"ermission denied", b"not permitted", b"cross-device", b"EACCES", b"EPERM", b"EXDEV"),
}
_CANNOT_EXECUTE = 126  # a shell's status for a file that is no program; Landlock refuses no exec
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"


class Watch:
    """What a command was and what its output file held before it ran."""

    __slots__ = ("_command", "_cwd", "_engine", "_env", "_fence", "_sink", "_start")

    def __init__(
        self, fence: Fence, command: str, cwd: str, env: Mapping[str, str], sink: Sink | None = None
    ) -> None:
        self._sink = sink
        self._fence = fence
        self._command = command
        self._cwd = cwd
        self._env = env
        self._start = _end_of(2)
        self._engine = "none"

    def told(self, report: EnforcementReport) -> None:
        """Which engine stands; its refusals look different from another's."""
        self._engine = report.engine

    def explain(self, status: int) -> None:
        """Write to stderr what the fence refused, after a command that ended with wait status `status`."""
        signs = _SIGNS.get(self._engine, ())
        if not self._fence.policy.restricted or not signs:
            return
        if self._engine == "landlock" and WIFEXITED(status) and WEXITSTATUS(status) == _CANNOT_EXECUTE:
            return
        stashes = list(self._stashes()) if WIFEXITED(status) and WEXITSTATUS(status) else []
        output = _since(2, self._start)
        if stashes and (found := self._refused(stashes)):
            # git only says that it cannot save, and names no file.
            self._say(found, certain=False)
            return
        if output is None:
            if not WIFEXITED(status) or not 0 < WEXITSTATUS(status) < _CANNOT_EXECUTE:
                return
            found = self._refused(self._written_by_text())
            self._say(found, certain=False)
            if not found:
                self._say_where()
            return
        found = []
        if any(sign in output for sign in signs):
            named = list(_named(output.decode("utf-8", "surrogateescape"), signs))
            found = self._refused(named) or self._refused(self._below_folders(named))
            if not found and not named:
                found = self._refused(self._written_by_text())
        if not found and status:
            found = self._side_effects(output)
        self._say(found, certain=True)

    def _side_effects(self, output: bytes) -> list[Decision]:
        """What the fence causes without refusing a path: hidden sockets, setuid programs, foreign owners."""
        from ringfence.pipelines.sideeffects import SIGNS, causes

        if not any(sign in output for sign in SIGNS):
            return []
        text = output.decode("utf-8", "surrogateescape")
        return causes(text, _all_words(self._command), self._env, self._engine, self._fence.policy.helpers)[
            :_MOST
        ]

    def _refused(self, candidates: Iterable[str]) -> list[Decision]:
        """Those that the policy refuses and that this user could have done without the fence."""
        found: dict[str, Decision] = {}
        for count, path in enumerate(candidates):
            if count > 200 or len(found) >= _MOST:
                break
            for op in (Op.WRITE, Op.RENAME):
                decision = self._fence.check(path, op, cwd=self._cwd)
                if decision.verdict is not Verdict.ALLOW and decision.path:
                    if decision.path not in found and could(decision.path):
                        found[decision.path] = decision
                    break
        return list(found.values())

    def _stashes(self) -> Iterator[str]:
        """In a linked worktree, the stash of its repository, if the command speaks of one."""
        for tree in self._fence.policy.worktrees:
            if "stash" in _bare(self._command).split():
                yield f"{tree.common_dir}/refs/stash"

    def _written_by_text(self) -> Iterator[str]:
        """The paths that the command's text is read to write; what it only reads is never a candidate."""
        for use in self._fence.check_command(self._command, cwd=self._cwd).uses:
            if use.op is not Op.READ and use.path:
                yield use.path

    def _from_text(self) -> Iterator[str]:
        """Path-like words of the command, as far as they can be expanded; patterns are nobody's path."""
        for word in _words(self._command):
            text = self._expanded(word)
            if not any(c in text for c in "*?[]{}$"):
                yield text

    def _below_folders(self, named: list[str]) -> Iterator[str]:
        """Bare names joined to folders that the command names: `cd D; … name`, `tar -C D`."""
        folders = list(self._from_text())
        for name in named:
            if name[0] != "/":
                yield from (f"{folder}/{name}" for folder in folders)

    def _expanded(self, text: str) -> str:
        if "$" not in text:
            return text
        for key, value in self._env.items():
            text = text.replace("${" + key + "}", value)
            if text.startswith("$" + key + "/") or text == "$" + key:
                text = value + text[len(key) + 1 :]
        return text

    def _say_where(self) -> None:
        """A command whose text does not tell has failed, and its output cannot be read back: say what holds there."""
        if self._fence.check_command(self._command, cwd=self._cwd).verdict is not Verdict.ASK:
            return
        from ringfence.pipelines.say import complain

        roots = ", ".join(self._fence.policy.workspace)
        complain(
            "ringfence: this ran inside the fence: if it failed because a file could not be written, that was the "
            f"fence, which allows writing below {roots} and $TMPDIR"
        )

    def _say(self, found: list[Decision], *, certain: bool) -> None:
        if not found:
            return
        from ringfence.pipelines.journal import record_command
        from ringfence.pipelines.say import complain, left_out

        lead = "refused by the fence" if certain else "if it failed for this reason, that was the fence"
        for decision in found:
            if self._sink is not None:
                self._sink.tell(decision, certain=certain)
            complain(f"ringfence: {lead} [{decision.code}]: {decision.message}. Rule: {decision.rule}.")
            if decision.hint:
                complain(f"ringfence:   next: {decision.hint}")
            record_command(self._fence.policy, "shell", self._command, self._cwd, decision, Strength.KERNEL)
        if any(decision.code.startswith("outside.") for decision in found):
            for note in left_out(self._fence.policy):
                complain(f"ringfence:   note: {note}")


def could(path: str) -> bool:
    """Whether this user may write `path`, or make it, as far as the system's own permissions go.

    What would fail without the fence too is never called a refusal of the fence.
    """
    raw = path.encode("utf-8", "surrogateescape")
    while True:
        if access(raw, W_OK):
            return True
        try:
            lstat(raw)
        except FileNotFoundError:
            raw = raw.rpartition(b"/")[0] or b"/"
            continue
        except OSError:
            return False
        # An entry can also be taken out of a folder that one may write.
        return access(raw.rpartition(b"/")[0] or b"/", W_OK)


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


def _named(text: str, marks: tuple[bytes, ...]) -> Iterator[str]:
    """Path-like words on the lines that speak of a refusal, the last line first: quoted ones, then bare ones."""
    signs = tuple(mark.decode("ascii") for mark in marks)
    for line in reversed(text.split("\n")):
        if not any(sign in line for sign in signs):
            continue
        quoted = list(_quoted(line))
        if quoted:  # a name in quotes is whole; its words are not names
            yield from quoted
            continue
        # The first word names the program that complains, not what it complains of.
        for word in line.replace(",", " ").split()[1:]:
            bare = word.strip(_QUOTES + ":;()[]<>")
            if "/" in bare:
                yield bare
        # `bash: line 1: name: Permission denied`: the last word of the part before the sign
        parts = line.split(": ")
        if len(parts) > 2:
            name = parts[-2].rpartition(" ")[2]
            name = name.strip(_QUOTES)
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
    for word in _all_words(command):
        if "/" in word or word.startswith(("~", "..", "$")):
            yield word


def _all_words(command: str) -> list[str]:
    return _bare(command).split()


def _bare(command: str) -> str:
    for mark in "\n\t;|&()<>=,\"'`":
        command = command.replace(mark, " ")
    return command
