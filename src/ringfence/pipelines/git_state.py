"""What git would go on with: a rebase or a sequence of picks that a fenced command left behind, looked at afterwards.

`git rebase --continue` runs the `exec` lines of a todo list, with the rights of whoever types it. A command may leave a
rebase that stopped at a conflict, and everyday work needs that; so the state stays and what names code is taken out.
Sources: sequencer.c and builtin/rebase.c of git 2.39 to 2.53.
"""

from __future__ import annotations

from posix import close, fstat

from ringfence.model import shown
from ringfence.pipelines import beneath
from ringfence.pipelines.git_refs import head_commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ringfence.model import Policy, Worktree

# Words of a todo list that move commits and nothing else; `exec` and `x` are left out, and so is `update-ref`.
_WORDS = frozenset(
    ("pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "label", "l", "reset", "t",
     "merge", "m", "revert", "break", "b", "noop")
)  # fmt: skip
_TODO = (
    ("rebase-merge", "git-rebase-todo"),
    ("rebase-merge", "git-rebase-todo.backup"),
    ("sequencer", "todo"),
)
# Files that name a program: `git merge-STRATEGY`, and options that are handed to it and to gpg.
_NAMES = (("rebase-merge", "strategy"), ("rebase-apply", "strategy"), ("sequencer", "opts"))
_STRATEGIES = frozenset((b"", b"ort", b"recursive", b"resolve", b"octopus", b"ours", b"subtree"))


class State:
    """The files below one git folder that decide what `--continue` does, as they stood before a command."""

    __slots__ = ("_before", "_git", "_path")

    def __init__(self, git: int, path: str, nothing_before: bool = False) -> None:
        """`git` is a descriptor of the folder, -1 for none; `path` is for messages. `nothing_before`: whatever
        stands there came since."""
        self._git = git
        self._path = path
        looked = not nothing_before and _any(git)
        self._before = {parts: _content(git, parts) for parts in (*_TODO, *_NAMES)} if looked else {}

    def after(self) -> Iterator[str]:
        """Take out what a fenced command put there and names code; a line for each."""
        if not _any(self._git):
            return
        for parts in _TODO:
            now = _content(self._git, parts)
            if now is not None and now != self._before.get(parts):
                clean = _without_code(now, (self._before.get(parts) or b""))
                if clean != now:
                    yield self._put(parts, clean, "lines that would run programs or move other refs")
        for parts in _NAMES:
            now = _content(self._git, parts)
            if now is not None and now != self._before.get(parts) and not _is_plain(parts, now):
                yield self._put(parts, b"", "a strategy that is none of git's own")

    def _put(self, parts: tuple[str, str], data: bytes, what: str) -> str:
        path = shown("/".join((self._path, *parts)))
        folder = beneath.open_folder(parts[0], self._git)
        try:
            if folder >= 0 and beneath.put(folder, parts[1], data, 0o644):
                return f"{path}: {what} were taken out: the owner's next `--continue` would obey them (git-rebase)"
        finally:
            if folder >= 0:
                close(folder)
        return f"{path}: {what} could NOT be taken out: look at it before you run git"


def _any(git: int) -> bool:
    return git >= 0 and any(
        beneath.entry(git, name) for name in ("rebase-merge", "rebase-apply", "sequencer")
    )


def _content(git: int, parts: tuple[str, str]) -> bytes | None:
    folder = beneath.open_folder(parts[0], git)
    if folder < 0:
        return None
    try:
        return beneath.content(folder, parts[1])
    finally:
        close(folder)


def _without_code(now: bytes, before: bytes) -> bytes:
    """The list with every line commented out that is not a plain step and did not stand there before."""
    known = frozenset(before.split(b"\n"))
    out = []
    for line in now.split(b"\n"):
        word = line.split(None, 1)[0].decode("utf-8", "replace") if line.strip() else ""
        harmless = not word or word.startswith("#") or word in _WORDS or line in known
        out.append(line if harmless else b"# taken out by ringfence: " + line)
    return b"\n".join(out)


def _is_plain(parts: tuple[str, str], now: bytes) -> bool:
    if parts[1] == "strategy":
        return now.strip() in _STRATEGIES
    names = [
        line.partition(b"=")[2].strip() for line in now.split(b"\n") if line.strip().startswith(b"strategy =")
    ]
    return all(name in _STRATEGIES for name in names)


class Admin:
    """A linked worktree's own folder, which programs write for real: what of it another git would obey."""

    __slots__ = (
        "_config",
        "_folder",
        "_grant",
        "_guarded",
        "_head",
        "_modules",
        "_path",
        "_state",
        "_store",
        "_tree",
    )

    def __init__(self, grant: Worktree, policy: Policy, guarded: tuple[str, ...] = ()) -> None:
        self._grant = grant
        self._guarded = guarded
        self._path = grant.git_dir
        self._folder = beneath.open_folder(grant.git_dir)
        self._state = State(self._folder, grant.git_dir)
        self._config = beneath.entry(self._folder, "config.worktree") is not None
        self._modules = beneath.entry(self._folder, "modules") is not None
        self._head = beneath.content(self._folder, "HEAD") or b""
        self._store = f"{policy.folders.state}/moved/worktrees" if policy.folders.state else ""
        self._tree = self._tree_now() if guarded else None

    def _tree_now(self) -> tuple[int, int, int, str]:
        st = beneath.entry(self._folder, "index")
        common = beneath.open_folder(self._grant.common_dir)
        try:
            commit = head_commit(self._folder, common) if common >= 0 else ""
        finally:
            if common >= 0:
                close(common)
        return (st.st_ino, st.st_mtime_ns, st.st_size, commit) if st else (0, 0, 0, "")

    def tracked(self, path: str, writable: tuple[str, ...]) -> list[str]:
        """Guarded files of which git has noted another version; asked once new objects are there. Cold."""
        if self._tree is None or self._folder < 0 or self._tree_now() == self._tree:
            return []
        from ringfence.pipelines.git_objects import Git
        from ringfence.pipelines.git_take import program
        from ringfence.pipelines.tracked import disagreements

        found = program(path, writable)
        top = beneath.open_folder(self._grant.workspace)
        if top < 0 or not found:
            return []
        try:
            git = Git(found, self._path)
            return list(disagreements(git, self._grant.workspace, top, self._guarded, self._tree[-1]))
        finally:
            close(top)

    def after(self) -> Iterator[str]:
        """Put right what a fenced command made there, and say so, a line each."""
        if self._folder < 0:
            return
        yield from self._state.after()
        for name, was, rule in (
            ("config.worktree", self._config, "git-config-worktree"),
            ("modules", self._modules, "git-modules"),
        ):
            if not was and beneath.entry(self._folder, name) is not None:
                yield beneath.moved(self._folder, name, self._store, f"{self._path}/{name}", rule)
        yield from self._look_at_head()

    def _look_at_head(self) -> Iterator[str]:
        now = beneath.content(self._folder, "HEAD")
        if now == self._head or not self._head:
            return
        text = (now or b"").strip()
        ref = text[5:].decode("utf-8", "surrogateescape") if text.startswith(b"ref: ") else ""
        is_object = len(text) in (40, 64) and all(c in b"0123456789abcdef" for c in text)
        st = beneath.entry(self._folder, "HEAD")
        if (
            st is not None
            and not beneath.is_link(st)
            and (is_object or (ref and ref not in self._elsewhere()))
        ):
            return
        done = beneath.put(self._folder, "HEAD", self._head, fstat(self._folder).st_mode & 0o666)
        word = "it was put back" if done else "it could NOT be put back"
        yield f"{shown(self._path)}/HEAD named what another working tree has checked out, or nothing: {word}"

    def _elsewhere(self) -> frozenset[str]:
        from ringfence.model import Worktree
        from ringfence.pipelines.git_layer import others

        common = beneath.open_folder(self._path.rpartition("/worktrees/")[0])
        try:
            return others(common, Worktree("", self._path, "")) if common >= 0 else frozenset()
        finally:
            if common >= 0:
                close(common)
