"""What no engine can hold beforehand, looked at when a fenced command ends: *after the fact*.

Two things. A guarded file that did not exist (a placeholder would be a trace in the user's tree) and exists now is
moved into the state folder. A `.git/config` in which a key that can name code has changed is put back. Both are
reported; nothing is deleted.

What remains, and is said by `doctor`: the window until the command ends; jobs that it leaves in the background; and
that nobody can tell who made a file, so one that an unfenced program made meanwhile is moved as well (and named).
"""

from __future__ import annotations

from _stat import S_ISREG
from posix import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, close, fstat, getpid, lstat, open, read

from ringfence.model import Access, Audience, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.model import Confinement, Glob, Policy, Zone

_MOST = 16 << 20  # bytes; git itself reads larger ones, and nobody has them


class Watch:
    """The state before a command, and what to do after it."""

    __slots__ = ("_absent", "_configs", "_globs", "_new_repositories", "_placed", "_policy")

    def __init__(self, policy: Policy, wanted: Confinement, placed: Callable[[Glob], list[str]]) -> None:
        """`placed` names the paths that a pattern covers at the top of its tree."""
        self._policy = policy
        self._placed = placed
        self._globs = tuple(
            (glob, frozenset(placed(glob)))
            for glob in policy.globs
            if glob.audience is not Audience.TEXT and any(c in glob.parts[-1] for c in "*?[")
        )
        roots = [zone.root for zone in wanted.writable]
        self._absent = tuple(
            z for z in wanted.absent if z.access is not Access.WRITE and _below(z.root, roots)
        )
        # A repository that the command makes itself keeps git's own files; only what git would run is looked at.
        self._new_repositories = tuple(root for root in policy.workspace if not _there(f"{root}/.git"))
        self._configs: tuple[tuple[str, bytes], ...] = ()
        if policy.restricted and policy.git_config == "vet":
            paths = [f"{root}/.git/config" for root in policy.workspace]
            self._configs = tuple((p, text) for p in paths if (text := _content(p)) is not None)

    def after(self) -> list[str]:
        """Undo and say so: one line for each thing."""
        said = []
        for zone in self._absent:
            if _there(zone.root) and not self._is_gits_own(zone.root):
                said.append(self._move_away(zone))
        for glob, known in self._globs:
            said.extend(
                self._quarantine(path, glob.rule.id) for path in self._placed(glob) if path not in known
            )
        said.extend(self._new_hooks())
        for path, before in self._configs:
            line = self._vet(path, before)
            if line:
                said.append(line)
        return said

    def _is_gits_own(self, path: str) -> bool:
        return any(
            path.startswith(f"{root}/.git/") or path == f"{root}/.git" for root in self._new_repositories
        )

    def _new_hooks(self) -> list[str]:
        """Hooks planted in a repository that was made just now: everything in it but git's own samples."""
        from posix import listdir

        said = []
        for root in self._new_repositories:
            folder = f"{root}/.git/hooks"
            try:
                names = sorted(listdir(folder))
            except OSError:
                continue
            for name in names:
                if not name.endswith(".sample"):
                    said.append(self._quarantine(f"{folder}/{name}", "git-hooks"))
        return said

    def _move_away(self, zone: Zone) -> str:
        return self._quarantine(zone.root, zone.rule.id if zone.kind is ZoneKind.GUARD else str(zone.rule))

    def _quarantine(self, path: str, rule: str) -> str:
        import os
        import shutil
        import time

        folder = f"{self._policy.folders.state}/moved/{time.strftime('%Y%m%dT%H%M%S')}-{getpid()}"
        target = folder + path
        try:
            os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
            shutil.move(path, target)
        except OSError as error:
            return f"{path} was made, which the policy guards ({rule}), and could NOT be moved away: {error.strerror}"
        return (
            f"{path} did not exist before and is guarded ({rule}), since a later unfenced program would obey it: "
            f"it was moved to {target} after the command ended"
        )

    def _vet(self, path: str, before: bytes) -> str:
        now = _content(path)
        if now == before:
            return ""
        from ringfence.policy.git_config import forbidden, parse

        old = parse(before) or {}
        new = parse(now) if now is not None else None
        keys = forbidden(old, new) if new is not None else ("the file itself",)
        if not keys:
            return ""
        if not _put_back(path, before):
            return f"{path}: {', '.join(keys)} changed, which can name code to run, and could NOT be put back"
        return (
            f"{path}: {', '.join(keys)} changed, which can name code that git runs: the whole file was put back as it "
            'stood before the command (git_config = "vet")'
        )


def _put_back(path: str, content: bytes) -> bool:
    import os

    staged = f"{path}.ringfence-{getpid()}"
    try:
        mode = os.lstat(path).st_mode & 0o777 if os.path.isfile(path) and not os.path.islink(path) else 0o644
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.replace(staged, path)
    except OSError:
        return False
    return True


def _content(path: str) -> bytes | None:
    """A regular file's bytes, all of them; None for anything else, and for one too large to be a git config."""
    try:
        fd = open(path.encode("utf-8", "surrogateescape"), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    except OSError:
        return None
    try:
        if not S_ISREG(fstat(fd).st_mode):
            return None
        parts = []
        size = 0
        while part := read(fd, 1 << 20):
            parts.append(part)
            size += len(part)
            if size > _MOST:
                return None
        return b"".join(parts)
    except OSError:
        return None
    finally:
        close(fd)


def _there(path: str) -> bool:
    try:
        lstat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return False
    return True


def _below(path: str, roots: Sequence[str]) -> bool:
    return any(path.startswith(root.rstrip("/") + "/") for root in roots)
