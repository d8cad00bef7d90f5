"""Which repository a git command works on, from the disk: its work tree, git folder, and the folder it shares."""

from __future__ import annotations

from ringfence.records import Record
from ringfence.shell.gitwords import config_value
from ringfence.shell.state import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.disk import Disk

MAX_DEPTH = 64


class Repo(Record):
    """`linked`: a linked worktree whose shared folder agrees that it is one."""

    top: str
    git_dir: str
    common: str
    linked: bool
    found: bool


def locate(disk: Disk, cwd: str, git_dir: str, work_tree: str) -> Repo:
    """`git_dir` and `work_tree` are what options or variables say, absolute, "" if they say nothing."""
    if git_dir:
        top = work_tree or cwd
        return _finish(disk, top, git_dir, fixed=bool(work_tree))
    here = cwd
    for _ in range(MAX_DEPTH):
        mark = f"{here.rstrip('/')}/.git"
        # git passes by a folder of that name that has no HEAD (setup.c, is_git_directory).
        if disk.is_dir(mark) and disk.exists(f"{mark}/HEAD"):
            return _finish(disk, work_tree or here, mark, fixed=bool(work_tree))
        text = disk.read_text(mark)
        if text is not None and text.startswith("gitdir:"):
            target = text[7:].strip()
            return _finish(disk, work_tree or here, fold(here, target), fixed=bool(work_tree), pointer=mark)
        if here == "/":
            break
        here = disk.physical(f"{here}/..") or here.rpartition("/")[0] or "/"
    top = work_tree or cwd
    return Repo(top, f"{top.rstrip('/')}/.git", f"{top.rstrip('/')}/.git", linked=False, found=False)


def _finish(disk: Disk, top: str, git_dir: str, *, fixed: bool, pointer: str = "") -> Repo:
    common = git_dir
    linked = False
    text = disk.read_text(f"{git_dir}/commondir")
    if text is not None and text.strip():
        common = fold(git_dir, text.strip())
        back = disk.read_text(f"{git_dir}/gitdir")
        # The shared side must name this very `.git` file: a pointer that an agent changed finds no such answer.
        same = (
            back is not None
            and disk.physical(fold(git_dir, back.strip())) == disk.physical(pointer) is not None
        )
        linked = bool(pointer) and same and fold(git_dir, "..") == fold(common, "worktrees")
    if not fixed:
        config = disk.read_text(f"{common}/config")
        for value in config_value(config or "", "core.worktree"):
            top = fold(git_dir, value)
    return Repo(top, git_dir, common, linked=linked, found=True)


def checked_out(disk: Disk, repo: Repo) -> frozenset[str]:
    """Branches (full names) that the main checkout or another worktree of this repository has checked out."""
    heads = [f"{repo.common}/HEAD"]
    for name in disk.names(f"{repo.common}/worktrees") or ():
        folder = f"{repo.common}/worktrees/{name}"
        if folder != repo.git_dir:
            heads.append(f"{folder}/HEAD")
    found = set()
    for head in heads:
        if head == f"{repo.git_dir}/HEAD":
            continue
        text = disk.read_text(head) or ""
        if text.startswith("ref:"):
            found.add(text[4:].strip())
    return frozenset(found)
