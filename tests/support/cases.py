"""Path cases as data: one row is a tree, a policy, one operation on one path and the verdict that is due.

`@` is the temp root: `@/` is replaced in paths, texts and link targets, and a field that is not absolute lies below
it. On Windows rows it is `C:\\root`. Rows come from tests/corpus/path.jsonl.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from pyfakefs.fake_filesystem import FakeFilesystem, OSType
from pyfakefs.fake_os import FakeOsModule

CORPUS = Path(__file__).parents[1] / "corpus" / "path.jsonl"
FAKE_ROOT = {"linux": "/root", "posix": "/root", "darwin": "/root", "windows": "C:\\root"}
_OS = {"linux": OSType.LINUX, "posix": OSType.LINUX, "darwin": OSType.MACOS, "windows": OSType.WINDOWS}
_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}


class Case(NamedTuple):
    id: str
    kind: str
    setup: list[dict[str, Any]]
    workspace: str
    protected: list[str]
    cwd: str
    home: str | None
    platform: str
    op: str
    path: str
    expect: str
    why: str
    source: str
    policy: str = ""


def load() -> list[Case]:
    with CORPUS.open(encoding="utf-8") as lines:
        return [Case(**json.loads(line)) for line in lines if line.strip()]


def needs(case: Case) -> set[str]:
    """The verbs of the setup."""
    return {verb for step in case.setup for verb in step if verb in _VERBS or verb in ("git", "worktree")}


def put(text: str, root: str, platform: str = "posix") -> str:
    """`@` replaced."""
    if platform == "windows":
        text = text.replace("@\\", "C:\\root\\").replace("@/", "C:/root/")
        return "C:\\root" if text == "@" else text
    return root if text == "@" else text.replace("@/", root + "/")


def below(field: str, root: str, platform: str = "posix") -> str:
    """A field of a case (workspace, cwd, ...) as an absolute path."""
    if platform == "windows":
        return root if field in ("", ".") else root + "\\" + field.replace("/", "\\")
    if field.startswith("/"):
        return field
    return root if field in ("", ".") else f"{root}/{field}"


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# --- real trees ---------------------------------------------------------------------------------------------


def build(case: Case, root: str) -> None:
    """The tree of a case below `root`, an empty folder. Raises OSError or CalledProcessError."""
    for step in case.setup:
        verb = next(iter(step))
        path = raw(below(step[verb], root))
        if verb == "git":
            os.makedirs(path, exist_ok=True)
            for words in (
                ["init", "-q", "-b", "main"],
                ["add", "-A"],
                ["commit", "-q", "--allow-empty", "-m", "init"],
            ):
                _git(words, path)
        elif verb == "worktree":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            words = ["worktree", "add", "-q", "-b", step["branch"], os.fsdecode(path)]
            _git(words, raw(below(step["of"], root)))
        else:
            if verb not in ("chmod", "deep"):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            _VERBS[verb](step, path, root)


def _git(words: list[str], cwd: bytes) -> None:
    env = {"PATH": os.environ.get("PATH", os.defpath), **_GIT}
    subprocess.run(["git", *words], cwd=cwd, env=env, check=True, capture_output=True)


def _mkdir(step: dict[str, Any], path: bytes, root: str) -> None:
    os.makedirs(path, exist_ok=True)


def _file(step: dict[str, Any], path: bytes, root: str) -> None:
    with open(path, "wb") as file:
        file.write(_content(step, root))


def _content(step: dict[str, Any], root: str) -> bytes:
    return base64.b64decode(step["b64"]) if "b64" in step else raw(put(step.get("text", "x\n"), root))


def _symlink(step: dict[str, Any], path: bytes, root: str) -> None:
    os.symlink(raw(put(step["to"], root)), path)


def _hardlink(step: dict[str, Any], path: bytes, root: str) -> None:
    os.link(raw(below(step["to"], root)), path)


def _fifo(step: dict[str, Any], path: bytes, root: str) -> None:
    os.mkfifo(path)


def _chmod(step: dict[str, Any], path: bytes, root: str) -> None:
    os.chmod(path, int(step["mode"], 8))


def _deep(step: dict[str, Any], path: bytes, root: str) -> None:
    """Nested folders whose whole name no system call takes, so each is made from its parent."""
    os.makedirs(path, exist_ok=True)
    name = b"d" * int(step["name_len"])
    here = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(int(step["depth"])):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


_VERBS = {
    "mkdir": _mkdir,
    "file": _file,
    "symlink": _symlink,
    "hardlink": _hardlink,
    "fifo": _fifo,
    "chmod": _chmod,
    "deep": _deep,
}


def wipe(root: str) -> None:
    """Remove a tree, folders without permissions included."""
    if not os.path.isdir(root):
        return
    for folder, names, _, _ in os.fwalk(root, onerror=None):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and len(raw(path)) < 4096:
                os.chmod(path, 0o700)
    shutil.rmtree(root)


# --- fake trees ---------------------------------------------------------------------------------------------

FAKE_VERBS = {"mkdir", "file", "symlink"}


class FakeDisk:
    """The calls that a walk makes, on a fake file system of one flavour.

    pyfakefs answers readlink of bytes with str; nothing else is changed here.
    """

    supports_dir_fd: frozenset[object] = frozenset()
    stat = None

    def __init__(self, platform: str) -> None:
        self.fs = FakeFilesystem()
        self.fs.os = _OS[platform]
        self.os = FakeOsModule(self.fs)
        self.lstat = self.os.lstat
        self.listdir = self.os.listdir
        self.looked_at: list[str] = []

    def readlink(self, path: Any) -> Any:
        target = self.os.readlink(path)
        if isinstance(path, bytes):
            return raw(target) if isinstance(target, str) else target
        return target


def build_fake(case: Case) -> FakeDisk:
    """The tree of a case on a fake disk; only for setups within FAKE_VERBS."""
    disk = FakeDisk(case.platform)
    root = FAKE_ROOT[case.platform]
    disk.os.makedirs(root, exist_ok=True)
    for step in case.setup:
        verb = next(iter(step))
        path = below(step[verb], root, case.platform)
        if verb == "mkdir":
            disk.os.makedirs(path, exist_ok=True)
            continue
        parent = disk.os.path.dirname(path)
        disk.os.makedirs(parent, exist_ok=True)
        if verb == "file":
            disk.fs.create_file(path, contents=_content(step, root))
        else:
            disk.os.symlink(put(step["to"], root, case.platform), path)
    return disk


# --- what really happens ------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What an operation did without a fence. `denied`: changes outside the workspace or in a protected root."""

    failed: OSError | ValueError | None
    changed: list[str]
    denied: list[str]


def act(case: Case, root: str, path: bytes) -> Seen:
    """Do the operation of `case` on `path` (absolute bytes) and look at the tree below `root` before and after."""
    regions = _Regions(case, root)
    before = _snapshot(raw(root))
    failed: OSError | ValueError | None = None
    try:
        _DO[case.op](path)
    except (OSError, ValueError) as error:
        failed = error
    after = _snapshot(raw(root))
    changed = [p for p in sorted(before.keys() | after.keys()) if before.get(p) != after.get(p)]
    return Seen(
        failed, [os.fsdecode(p) for p in changed], [os.fsdecode(p) for p in changed if regions.denied(p)]
    )


class _Regions:
    """Deepest root wins, protection on a tie; a root itself may be changed but neither removed nor replaced."""

    def __init__(self, case: Case, root: str) -> None:
        self.roots = [(_real(raw(below(case.workspace, root))), False)]
        self.roots += [(_real(raw(below(p, root))), True) for p in case.protected]
        self.held = {p: _inode(p) for p, _ in self.roots}

    def denied(self, path: bytes) -> bool:
        if path in self.held:
            protected = dict(self.roots)[path]
            return protected or _inode(path) != self.held[path]
        best = max(
            ((len(r), p) for r, p in self.roots if path == r or r == b"/" or path.startswith(r + b"/")),
            default=None,
        )
        return best is None or best[1]


def _real(path: bytes) -> bytes:
    """Roots are short and theirs is no attack, so the standard function will do, and it is not our code."""
    return os.path.realpath(path)


def _inode(path: bytes) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _snapshot(root: bytes) -> dict[bytes, tuple[Any, ...]]:
    """Names, kinds, modes, contents; a folder's own times are left out, its entries tell."""
    found: dict[bytes, tuple[Any, ...]] = {}
    todo = [root]
    while todo:
        path = todo.pop()
        try:
            st = os.lstat(path)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG and path != root:
                raise
            continue
        if stat.S_ISDIR(st.st_mode):
            found[path] = ("dir", st.st_mode, st.st_ino)
            todo += [path + b"/" + name for name in os.listdir(path)]
        elif stat.S_ISLNK(st.st_mode):
            found[path] = ("link", os.readlink(path), st.st_ino)
        elif stat.S_ISREG(st.st_mode):
            with open(path, "rb") as file:
                found[path] = ("file", st.st_mode, st.st_ino, file.read())
        else:
            found[path] = ("other", st.st_mode, st.st_ino)
    return found


def _write(path: bytes) -> None:
    """Append to what is there, change the mode of a folder, else create and append."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.EISDIR:
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) ^ stat.S_IWOTH)
            return
        if error.errno == errno.ENXIO:  # a fifo without a reader: nothing to change, nothing refused
            return
        if error.errno != errno.ENOENT:
            raise
        _make_parents(path, _HOPS)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, b"!")
    finally:
        os.close(fd)


_HOPS = 41  # the path itself and as many links as the kernel follows


def _create(path: bytes) -> None:
    """Create as a patient program does: missing parents first, one by one as the kernel reads them."""
    _make_parents(path, _HOPS)
    if os.path.lexists(path) and os.path.exists(path):
        _write(path)
    elif path.endswith(b"/"):
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def _make_parents(path: bytes, hops: int) -> None:
    """Every missing folder on the way to the last name, those that dangling links lead to included."""
    if not hops:
        raise OSError(errno.ELOOP, "too many links", path)
    cut = path.rstrip(b"/").rfind(b"/") + 1
    at = path.find(b"/", 1)
    while 0 < at <= cut:
        part = path[:at].rstrip(b"/") or b"/"
        if os.path.islink(part):
            _make_parents(os.path.join(os.path.dirname(part), os.readlink(part)) + b"/x", hops - 1)
        elif not os.path.lexists(part):
            os.mkdir(part)
        at = path.find(b"/", at + 1)
    if os.path.islink(path.rstrip(b"/")):
        leaf = path.rstrip(b"/")
        _make_parents(os.path.join(os.path.dirname(leaf), os.readlink(leaf)), hops - 1)


def _delete(path: bytes) -> None:
    if os.path.islink(path):  # False with a slash or dots at the end, as for the kernel
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(_real(path))
    else:
        os.unlink(path)


def _rename(path: bytes) -> None:
    ends = path.endswith((b"/", b"/.", b"/.."))
    source = _real(path) if ends else path
    os.rename(source, source.rstrip(b"/") + b".moved")


def _read(path: bytes) -> None:
    os.stat(path)


_DO = {"write": _write, "create": _create, "delete": _delete, "rename": _rename, "read": _read}
