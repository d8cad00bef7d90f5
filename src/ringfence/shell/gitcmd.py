"""git: which trees, folders and refs a subcommand writes.

In a linked worktree git itself may write what its own worktree needs in the shared folder, and nothing else: the
index and HEAD of this worktree, new objects, refs that no other tree has checked out. What is shared with others
(stash, configuration, other worktrees, other trees' branches) is noted as a write to the shared folder and judged
like any path.
"""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.gitrepo import Repo, checked_out, locate
from ringfence.shell.gitsubs import (
    META,
    READS,
    SUBCOMMANDS,
    TREE,
    UNREADABLE,
    meta_subcommand,
    read_subcommand,
    tree_subcommand,
)
from ringfence.shell.gitwords import CODE_VARIABLES, HARMLESS_VARIABLES, key_kind
from ringfence.shell.state import DIGITS, UNKNOWN, State, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call

_VALUED_GLOBALS = (
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
    "--attr-source",
)


class Git:
    """One git command on one repository."""

    def __init__(self, call: Call, state: State, repo: Repo, sub: str, args: list[str]) -> None:
        self.call = call
        self.walk = call.walk
        self.state = state
        self.repo = repo
        self.sub = sub
        self.args = args
        self.operands: list[str] = []
        self.present: dict[str, str] = {}

    # -- what is written ------------------------------------------------------------------------------------
    def touch(
        self, op: Op, path: str, *, deep: bool = False, soft: bool = False, entry: bool = False
    ) -> None:
        self.walk.touch(op, path, self.state, f"git {self.sub}", deep=deep, soft=soft, entry=entry)

    def meta(self) -> None:
        """git's own bookkeeping for this worktree."""
        if self.repo.linked:
            self.touch(Op.WRITE, self.repo.top)
        else:
            self.touch(Op.WRITE, f"{self.repo.git_dir}/index")
            if self.repo.common != self.repo.git_dir:
                self.touch(Op.WRITE, f"{self.repo.common}/objects")
        for name in ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
            for value in self.call.extra.get(name, self.call.state.values.get(name, ())):
                if value is None:
                    continue
                self.touch(Op.WRITE, value if isinstance(value, str) else UNKNOWN)

    def tree(self) -> None:
        """Any tracked file of the work tree."""
        self.touch(Op.WRITE, self.repo.top)
        self.touch(Op.WRITE, self.repo.top, deep=True, soft=True)
        self.meta()

    def shared(self, below: str) -> None:
        """Something every worktree of the repository shares."""
        self.touch(
            Op.WRITE, f"{self.repo.common}/{below}" if self.repo.linked else f"{self.repo.git_dir}/index"
        )

    def ref(self, name: str) -> None:
        """A ref named by the command."""
        full = name if name.startswith("refs/") or name == "HEAD" else f"refs/heads/{name}"
        if UNKNOWN in full:
            self.walk.unknown("opaque.dynamic-path", f"git {self.sub} {name}")
        elif self.repo.linked and (full == "refs/stash" or full in checked_out(self.walk.disk, self.repo)):
            self.shared(full)
        else:
            self.meta()

    def code(self, text: str, why: str) -> None:
        inner = self.call.child_state()
        inner.cwds = (self.repo.top,)
        self.walk.code(text, inner, f"git {why}", "sh")

    # -- words ----------------------------------------------------------------------------------------------
    def scan(self, valued: tuple[str, ...] = ()) -> None:
        """Options into `present`, the rest into `operands`; `--` is kept as an operand."""
        words = iter(self.args)
        for word in words:
            if word == "--":
                self.operands.append(word)
                self.operands.extend(words)
                return
            if word.startswith("--"):
                name, eq, value = word.partition("=")
                near = [v for v in valued if v.startswith(name) and len(name) > 3]
                if name not in valued and len(near) == 1:
                    name = near[0]
                self.present[name] = value if eq else next(words, "") if name in valued else ""
            elif word.startswith("-") and len(word) > 1:
                i = 1
                while i < len(word):
                    flag = "-" + word[i]
                    if flag in valued:
                        self.present[flag] = word[i + 1 :] or next(words, "")
                        break
                    self.present[flag] = ""
                    i += 1
            else:
                if word.startswith(UNKNOWN):
                    self.walk.unknown(
                        "opaque.dynamic-argument", f"git {self.sub}: a word that may be an option"
                    )
                self.operands.append(word)

    def has(self, *names: str) -> bool:
        return any(n in self.present for n in names)

    def paths(self) -> list[str]:
        return [w for w in self.operands if w != "--"]

    def pathspec(self, word: str) -> str:
        if word.startswith(":/"):
            return f"{self.repo.top}/{word[2:]}"
        if word.startswith(":"):
            return self.repo.top
        return word


def git(call: Call) -> str | None:
    """The handler. Walks every folder the command may stand in."""
    words = list(call.args)
    folders: list[str] = []
    settings: list[str] = []
    git_dir = work_tree = ""
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, eq, value = word.partition("=")
        if name in ("--version", "--help", "-v", "-h", "--html-path", "--man-path", "--info-path"):
            return None
        if name in _VALUED_GLOBALS and not eq:
            value = words.pop(0) if words else ""
        if UNKNOWN in word or (UNKNOWN in value and name in ("-C", "--git-dir", "--work-tree")):
            call.walk.unknown("opaque.dynamic-path", f"git {word} {value}")
            return None
        if name == "-C":
            folders.append(value)
        elif name == "--git-dir":
            git_dir = value
        elif name == "--work-tree":
            work_tree = value
        elif name == "-c":
            settings.append(value)
        elif name in ("--exec-path", "--config-env"):
            call.walk.unknown("opaque.environment", f"git {word}")
        elif name == "--bare":
            git_dir = git_dir or "."
    for name in call.extra:
        _variable(call, name)
    if not words:
        return None
    if UNKNOWN in words[0]:
        call.walk.unknown("opaque.dynamic-command", f"git {words[0]}")
        return None
    values = {n: v[0] for n, v in call.extra.items() if len(v) == 1 and isinstance(v[0], str)}
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        if call.state.values.get(name, (None,)) not in ((None,), (UNKNOWN,)) and name not in values:
            first = call.state.values[name][0]
            values[name] = first if isinstance(first, str) else ""
    git_dir = git_dir or values.get("GIT_DIR", "")
    work_tree = work_tree or values.get("GIT_WORK_TREE", "")
    for cwd in call.state.cwds:
        where = cwd
        for folder in folders:
            where = folder if folder.startswith("/") else f"{where}/{folder}"
        if UNKNOWN in where:
            if words[0] not in READS:
                call.walk.unknown("opaque.unknown-cwd", f"git {words[0]}")
            continue
        real = call.walk.disk.physical(where) or fold("/", where)
        state = call.state.copy()
        state.cwds = (real,)
        repo = locate(
            call.walk.disk,
            real,
            fold(real, git_dir) if git_dir else "",
            fold(real, work_tree) if work_tree else "",
        )
        one = Git(call, state, repo, words[0].replace(DIGITS, "0"), words[1:])
        _run(one, settings)
        call.state.adopt_disk(state)
    return None


def _variable(call: Call, name: str) -> None:
    values = call.extra[name]
    if name in CODE_VARIABLES:
        return  # read where it was assigned
    if name.startswith("GIT_TRACE"):
        for value in values:
            if isinstance(value, str) and value.startswith(("/", UNKNOWN)):
                call.walk.touch(Op.WRITE, value, call.state, name)
    elif name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        if values != ("/dev/null",):
            call.walk.unknown("opaque.environment", f"{name} is set")
    elif name.startswith("GIT_") and name not in (
        *HARMLESS_VARIABLES, "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    ):  # fmt: skip
        call.walk.unknown("opaque.environment", f"{name} is set")
    if name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY") and any(
        not isinstance(v, str) or UNKNOWN in v for v in values
    ):
        call.walk.unknown("opaque.dynamic-path", f"{name}")


def _run(one: Git, settings: list[str]) -> None:
    for setting in settings:
        key, _, value = setting.partition("=")
        kind = key_kind(key)
        if key.lower() == f"alias.{one.sub.lower()}":
            if value.startswith("!"):
                one.code(value[1:], f"-c {key}")
            else:
                one.walk.call(["git", *value.split(), *one.args], one.state, one.call.stdin, one.call.extra)
            return
        if kind == "code" and key.lower().startswith("alias."):
            continue
        if kind == "code":
            one.code(value, f"-c {key}")
        elif kind == "danger" and key.lower() == "core.worktree":
            continue  # git ignores it on the command line (seen with 2.39)
        elif kind == "danger" and key.lower() == "core.hookspath" and value == "/dev/null":
            continue
        elif kind != "harmless":
            one.walk.unknown("opaque.environment", f"git -c {key}")
    handler = SUBCOMMANDS.get(one.sub)
    if handler is not None:
        handler(one)
    elif one.sub in READS:
        read_subcommand(one)
    elif one.sub in TREE:
        tree_subcommand(one)
    elif one.sub in META:
        meta_subcommand(one)
    elif one.sub in UNREADABLE:
        one.meta()
        one.walk.unknown("opaque.unmodelled-arguments", f"git {one.sub}")
    else:
        one.walk.unknown("opaque.unlisted-subcommand", f"git {one.sub}")
