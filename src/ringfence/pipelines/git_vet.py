"""`git_config = "vet"`: everyday git writes `.git/config`, and nobody smuggles a key into it that names code.

Looks at one workspace's `.git` when a command ends. Works below a descriptor of the folder that stood there when the
command began: a `.git` that was moved away and rebuilt is not touched but moved aside, and a link is never followed.
The last text that passed is kept in the state folder, so that what a background job changed between two commands is
seen (and said, never put back: it may have been the owner).
"""

from __future__ import annotations

from posix import (
    O_CLOEXEC,
    O_CREAT,
    O_EXCL,
    O_NOFOLLOW,
    O_WRONLY,
    close,
    fstat,
    getpid,
    open,
    rename,
    unlink,
    write,
)

from ringfence.model import shown
from ringfence.pipelines import beneath
from ringfence.pipelines.session import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ringfence.model import Policy
    from ringfence.pipelines.git_state import State

_CONFIG = "config"
# Beside hooks, what git obeys in a repository and does not write when it makes one.
_OBEYED = (("commondir",), ("config.worktree",), ("info", "attributes"))


class Vet:
    """One repository of a workspace. `is_new`: the workspace had no `.git` when the command began."""

    __slots__ = (
        "_before", "_busy", "_git", "_guarded", "_inside", "_kept", "_mode", "_said", "_state", "_store", "_top",
        "_tree", "identity", "is_new", "parts", "root", "vets",
    )  # fmt: skip

    def __init__(
        self,
        policy: Policy,
        root: str,
        top: int,
        store: str,
        parts: tuple[str, ...] = (".git",),
        inside: Callable[[str], bool] | None = None,
        busy: bool = False,
        guarded: tuple[str, ...] = (),
    ) -> None:
        """`parts` lead from the workspace `root` (descriptor `top`) to the folder that holds `config`.
        `busy`: other fenced commands are running. `guarded`: what of the working tree is read-only, below `root`."""
        self.root = root
        self.parts = parts
        self._top = top
        self._store = store
        self._inside = inside
        self._busy = busy
        self.vets = policy.git_config == "vet"
        self._git = beneath.folder_at(top, parts)
        self.is_new = parts == (".git",) and beneath.entry(top, ".git") is None
        self.identity = [fstat(self._git).st_dev, fstat(self._git).st_ino] if self._git >= 0 else [0, 0]
        state = policy.folders.state
        self._kept = f"{state}/vetted/{digest('/'.join((root, *parts))):016x}" if state else ""
        self._said: list[str] = []
        self._before: bytes | None = None
        self._mode = 0o644
        self._guarded = guarded if parts == (".git",) else ()
        self._tree = _tree_of(self._git) if self._guarded and self._git >= 0 else None
        self._state: State | None = None
        if self._git >= 0 and _has_state(self._git):
            from ringfence.pipelines.git_state import State

            self._state = State(self._git, f"{root.rstrip('/')}/{'/'.join(parts)}")
        if self._git >= 0 and self.vets:
            self._begin()

    def resume(self, is_new: bool, identity: list[int]) -> None:
        """Go on for a command whose watcher was killed: what it had seen at its start, as it wrote it down."""
        self.is_new = is_new
        self.identity = identity
        self._said = []
        self._before = None if is_new else _read_own(self._kept)
        self._state = None
        self._tree = None  # the index as it stood is not known

    def _begin(self) -> None:
        st = beneath.entry(self._git, _CONFIG)
        if st is not None and not beneath.is_link(st) and not beneath.is_folder(st):
            self._mode = st.st_mode & 0o666
        now = beneath.content(self._git, _CONFIG)
        kept = _read_own(self._kept)
        if now is None:
            self._before = kept  # gone, or no file: what passed last is what is put back
            return
        self._before = now
        if kept is not None and kept != now:
            keys = self._changed(kept, now)
            if keys and self._busy:
                self._before = kept  # another fenced command is at it: its change is not what we go back to
            elif keys:
                self._said.append(
                    f"{self._path(_CONFIG)}: {', '.join(keys)} changed since the last fenced command ended; "
                    "if that was not you, a job it left behind did it: look at it before you run git"
                )

    def keep(self) -> None:
        """Write down the text that counts as good, before the command runs."""
        if self._before is not None and _read_own(self._kept) != self._before:
            _write_own(self._kept, self._before)

    def _changed(self, before: bytes, now: bytes | None) -> tuple[str, ...]:
        """The keys that changed and can name code; the file itself where git would not read it."""
        from ringfence.policy.git_config import forbidden, parse

        new = parse(now) if now is not None else None
        return forbidden(parse(before) or {}, new, self._inside) if new is not None else ("the file itself",)

    def _path(self, *parts: str) -> str:
        return shown("/".join((self.root.rstrip("/"), *self.parts, *parts)))

    def after(self) -> list[str]:
        """What was found and done, a line each."""
        said = list(self._said)
        if self.is_new:
            said.extend(self._look_at_new())
        elif self._git >= 0:
            said.extend(self._look_at_old())
        return said

    def _look_at_old(self) -> Iterator[str]:
        st = fstat(self._git)
        now_there = beneath.folder_at(self._top, self.parts)
        held = (
            now_there >= 0 and beneath.same(fstat(now_there), st) and [st.st_dev, st.st_ino] == self.identity
        )
        if now_there >= 0:
            close(now_there)
        if not held:
            if self.parts == (".git",):
                yield from self._replaced(beneath.entry(self._top, ".git") is not None)
            else:
                yield f"{self._path()} is no longer the folder that stood there: look at it before you run git"
            return
        yield from self._look_at_state(self._git)
        if self.vets:
            yield from self._look_at_config()

    def _look_at_state(self, git: int) -> Iterator[str]:
        """A rebase that was left there: what of it names code."""
        if _has_state(git):
            from ringfence.pipelines.git_state import State

            path = f"{self.root.rstrip('/')}/{'/'.join(self.parts)}"
            yield from (self._state or State(git, path, nothing_before=True)).after()

    def tracked(self, path: str, writable: tuple[str, ...]) -> list[str]:
        """Guarded files of which git has noted another version; asked once everything else is in order. Cold."""
        if (
            self._tree is None
            or beneath.folder_at(self._top, self.parts) < 0
            or _tree_of(self._git) == self._tree
        ):
            return []
        from ringfence.pipelines.git_objects import Git
        from ringfence.pipelines.git_take import program
        from ringfence.pipelines.tracked import disagreements

        found = program(path, writable)
        git = Git(found, f"{self.root.rstrip('/')}/{'/'.join(self.parts)}")
        before = _commit_of(self._git, *self._tree[3:])
        return list(disagreements(git, self.root, self._top, self._guarded, before)) if found else []

    def _look_at_config(self) -> Iterator[str]:
        now = beneath.content(self._git, _CONFIG)
        if now == self._before:
            return
        keys = self._changed(self._before or b"", now)
        if not keys:
            _write_own(self._kept, now or b"")
            return
        before = self._before
        if before is None or not beneath.put(self._git, _CONFIG, before, self._mode):
            yield f"{self._path(_CONFIG)}: {', '.join(keys)} changed, which can name code, and could NOT be put back"
            return
        yield (
            f"{self._path(_CONFIG)}: {', '.join(keys)} changed, which can name code that git runs: the whole file was "
            'put back as it stood before the command (git_config = "vet")'
        )

    def _replaced(self, there: bool) -> Iterator[str]:
        """`.git` is another one now, or gone. The old one is where the command moved it; we do not guess."""
        old = _where(self._git)
        if there:
            where = beneath.move_away(self._top, ".git", self._store + self.root) if self._store else ""
            done = (
                f"the new one was moved to {shown(where)}" if where else "the new one could NOT be moved away"
            )
        else:
            done = "nothing stands there now"
        yield f"{self._path()} is no longer the folder that stood there: {done}; the repository is now {shown(old)}"

    def _look_at_new(self) -> Iterator[str]:
        st = beneath.entry(self._top, ".git")
        if st is None:
            return
        if not beneath.is_folder(st):
            yield beneath.moved(self._top, ".git", self._store, f"{self.root}/.git", "git-pointer")
            return
        git = beneath.open_folder(".git", self._top)
        if git < 0:
            yield f"{self._path()} was made and cannot be looked at; do not run git there"
            return
        try:
            hooks = beneath.entry(git, "hooks")
            if hooks is not None and not beneath.is_folder(hooks):
                yield beneath.moved(git, "hooks", self._store, f"{self.root}/.git/hooks", "git-hooks")
            folder = beneath.open_folder("hooks", git)
            if folder >= 0:
                try:
                    for name in beneath.names(folder):
                        if not name.endswith(".sample"):
                            path = f"{self.root}/.git/hooks/{name}"
                            yield beneath.moved(folder, name, self._store, path, "git-hooks")
                finally:
                    close(folder)
            for parts in _OBEYED:
                yield from self._obeyed(git, parts)
            yield from self._look_at_state(git)
            if self.vets:
                yield from self._vet_new(git)
        finally:
            close(git)

    def _obeyed(self, git: int, parts: tuple[str, ...]) -> Iterator[str]:
        reached = beneath.walk(git, parts)
        if reached is None:
            return
        try:
            if beneath.entry(reached.folder, reached.name) is not None:
                path = "/".join((self.root, ".git", *parts[: reached.depth]))
                yield beneath.moved(reached.folder, reached.name, self._store, path, "git-" + parts[0])
        finally:
            close(reached.folder)

    def _vet_new(self, git: int) -> Iterator[str]:
        from ringfence.policy.git_config import forbidden, harmless, parse

        if beneath.entry(git, _CONFIG) is None:
            return
        now = beneath.content(git, _CONFIG)
        values = parse(now) if now is not None else None
        keys = forbidden({}, values, self._inside) if values is not None else ("the file itself",)
        if not keys:
            _write_own(self._kept, now or b"")
            return
        clean = harmless(values or {"core.repositoryformatversion": ("0",)}, self._inside)
        if beneath.put(git, _CONFIG, clean, self._mode):
            _write_own(self._kept, clean)
            yield (
                f"{self._path(_CONFIG)}: {', '.join(keys)} in a repository that the command made, which can name code "
                "that git runs: taken out"
            )
        else:
            yield f"{self._path(_CONFIG)}: {', '.join(keys)} can name code, and could NOT be taken out"


def _has_state(git: int) -> bool:
    return any(beneath.entry(git, name) is not None for name in ("rebase-merge", "rebase-apply", "sequencer"))


def _tree_of(git: int) -> tuple[int, int, int, bytes, bytes]:
    """What the index, HEAD and its branch are: when none changed, no command moved the tree."""
    st = beneath.entry(git, "index")
    if st is None:
        return (0, 0, 0, b"", b"")
    head = beneath.content(git, "HEAD") or b""
    tip = b""
    if head.startswith(b"ref: refs/"):
        parts = head[5:].strip().decode("utf-8", "surrogateescape").split("/")
        folder = beneath.folder_at(git, parts[:-1])
        if folder >= 0:
            tip = beneath.content(folder, parts[-1]) or b""
            close(folder)
    return (st.st_ino, st.st_mtime_ns, st.st_size, head, tip)


def _commit_of(git: int, head: bytes, tip: bytes) -> str:
    """The commit that was checked out. A branch without a file of its own stands in `packed-refs`."""
    from ringfence.pipelines.git_refs import is_object_name, packed

    if head.startswith(b"ref: ") and not tip:
        return (packed(git) or {}).get(head[5:].strip().decode("utf-8", "surrogateescape"), "")
    text = (tip or head).strip().decode("ascii", "replace")
    return text if is_object_name(text) else ""


def _where(folder: int) -> str:
    from posix import readlink

    try:
        return "at " + readlink(f"/proc/self/fd/{folder}")
    except OSError:
        return "moved away"


def _read_own(path: str) -> bytes | None:
    """Our own record; None if there is none."""
    if not path:
        return None
    folder = beneath.open_folder(path.rpartition("/")[0])
    if folder < 0:
        return None
    try:
        return beneath.content(folder, path.rpartition("/")[2])
    finally:
        close(folder)


def _write_own(path: str, data: bytes) -> None:
    """Keep a text that passed. A state folder that cannot be written costs only the look at background jobs."""
    if not path:
        return
    from ringfence.pipelines.session import make_parents

    staged = f"{path}.{getpid()}"
    try:
        make_parents(path.rpartition("/")[0])
        fd = open(beneath.raw(staged), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        write(fd, data)
        rename(beneath.raw(staged), beneath.raw(path))
    except OSError:
        unlink(beneath.raw(staged))
    finally:
        close(fd)
