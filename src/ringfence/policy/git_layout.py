"""What git makes of a workspace, read once when the policy is loaded: no git is run, no text is believed
alone.

A `.git` file and the folders it names point at each other (gitrepository-layout(5), git-worktree(1)); both
directions are checked, because the text of one of them may lie where an agent could have written it.
"""

from __future__ import annotations

import os

from ringfence.errors import PolicyError
from ringfence.model import Access, Located, Worktree
from ringfence.policy.paths import below
from ringfence.records import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ringfence.model import Site, Zone
    from ringfence.policy.evidence import Evidence

    Locate = Callable[[str], Site]

_MAX_WORKTREES = 256
_MAX_LINE = 4096  # PATH_MAX; a pointer file holds one path


class GitKind(Choice):
    """How a workspace root relates to git."""

    NONE = "none"
    CHECKOUT = "checkout"
    WORKTREE = "linked worktree"
    SUBMODULE = "submodule"
    BARE = "bare repository"
    BROKEN = "broken"


class GitLayout(Record):
    """All paths physical, "" where there is none. `branch` is a full ref name, "" when detached or not read.

    `other_branches` are the refs that other working trees of the same repository have checked out; read only
    for linked worktrees. `hooks_path` is core.hooksPath of the repository's own config, as spelled there but
    made absolute. `problem` says why `kind` is BROKEN. BARE: the root is a bare repository, or its `.git` file
    names one (worktrees beside a `.bare` folder). `pointed` is the folder that a `.git` file names, believed or
    not: it is guarded wherever it can be written.
    """

    workspace: str
    kind: GitKind
    git_dir: str = ""
    common_dir: str = ""
    branch: str = ""
    other_branches: tuple[str, ...] = ()
    hooks_path: str = ""
    problem: str = ""
    pointed: str = ""


def inspect_git(workspace: str, evidence: Evidence, locate: Locate) -> GitLayout:
    """Read the layout of one physical workspace root. Odd text is BROKEN, not an error."""
    pointer = os.path.join(workspace, ".git")
    try:
        if os.path.isdir(pointer):
            git_dir = _folder(pointer, locate)
            if evidence.read(os.path.join(git_dir, "commondir")) is not None:
                return _broken(workspace, f"{git_dir} holds a commondir file, which no ordinary checkout has")
            return _with_hooks(GitLayout(workspace, GitKind.CHECKOUT, git_dir, git_dir), evidence)
        text = evidence.read(pointer)
        if text is None:
            return _with_hooks(_bare(workspace, evidence), evidence)
        return _with_hooks(_follow(workspace, pointer, text, evidence, locate), evidence)
    except PolicyError as error:
        return _broken(workspace, str(error))


def _follow(workspace: str, pointer: str, text: bytes, evidence: Evidence, locate: Locate) -> GitLayout:
    """From the pointer file to the repository, and back again."""
    target = _one_line(text, b"gitdir: ")
    if not target:
        return _broken(workspace, f"{pointer} holds no gitdir line")
    git_dir = _folder(os.path.join(workspace, target), locate)
    if not git_dir:
        return _broken(workspace, f"{pointer} names {target}, which is no folder")
    return _believe(workspace, git_dir, evidence, locate)._replace(pointed=git_dir)


def _believe(workspace: str, git_dir: str, evidence: Evidence, locate: Locate) -> GitLayout:
    """What the folder that a pointer names says about itself."""
    common_text = evidence.read(os.path.join(git_dir, "commondir"))
    if common_text is None:
        return _submodule(workspace, git_dir, evidence, locate)
    common = _folder(os.path.join(git_dir, _one_line(common_text, b"")), locate)
    if not common or os.path.dirname(git_dir) != os.path.join(common, "worktrees"):
        return _broken(workspace, f"{git_dir} is not below worktrees/ of the common directory it names")
    back = _one_line(evidence.read(os.path.join(git_dir, "gitdir")) or b"", b"")
    # Since git 2.48 the back pointer may be relative to the administrative folder.
    home = _folder(os.path.dirname(os.path.join(git_dir, back)), locate) if back else ""
    if home != workspace or os.path.basename(back) != ".git":
        return _broken(workspace, f"{git_dir}/gitdir points at {back or 'nothing'}, not at this workspace")
    own = _head(git_dir, evidence)
    others = tuple(sorted({head for head in _other_heads(git_dir, common, evidence) if head}))
    return GitLayout(workspace, GitKind.WORKTREE, git_dir, common, own, others)


def _submodule(workspace: str, git_dir: str, evidence: Evidence, locate: Locate) -> GitLayout:
    config = evidence.read(os.path.join(git_dir, "config"))
    tree = config_value(config or b"", "core", "worktree")
    if config is not None and not tree and _is_bare(config):
        return GitLayout(workspace, GitKind.BARE, git_dir, git_dir)
    if config is None or not tree or _folder(os.path.join(git_dir, tree), locate) != workspace:
        return _broken(workspace, f"{git_dir} does not name this workspace as its working tree")
    return GitLayout(workspace, GitKind.SUBMODULE, git_dir, git_dir)


def _bare(workspace: str, evidence: Evidence) -> GitLayout:
    """A root without `.git` that is a repository itself, as git recognises one: HEAD, objects and refs."""
    head = evidence.read(os.path.join(workspace, "HEAD"))
    folders = all(os.path.isdir(os.path.join(workspace, name)) for name in ("objects", "refs"))
    if head is None or not folders:
        return GitLayout(workspace, GitKind.NONE)
    return GitLayout(workspace, GitKind.BARE, workspace, workspace)


def _is_bare(config: bytes) -> bool:
    return config_value(config, "core", "bare").lower() in ("true", "yes", "on", "1")


def worktrees_of(layouts: Sequence[GitLayout], zones: Sequence[Zone]) -> tuple[Worktree, ...]:
    """The linked worktrees whose shared folder nobody may write otherwise: there git needs a grant.

    A shared folder that lies in a writable tree needs none: git works there as in any checkout.
    """
    return tuple(
        Worktree(each.workspace, each.git_dir, each.common_dir)
        for each in layouts
        if each.kind is GitKind.WORKTREE and not _writable(each.common_dir, zones)
    )


def _writable(path: str, zones: Sequence[Zone]) -> bool:
    """Whether the longest root above `path` grants writing; on a tie the stricter one counts."""
    above = [zone for zone in zones if below(path, zone.root)]
    longest = max((len(zone.root) for zone in above), default=-1)
    return bool(above) and all(z.access is Access.WRITE for z in above if len(z.root) == longest)


def _with_hooks(layout: GitLayout, evidence: Evidence) -> GitLayout:
    if not layout.common_dir:
        return layout
    config = evidence.read(os.path.join(layout.common_dir, "config"))
    hooks = config_value(config or b"", "core", "hookspath")
    if not hooks or hooks.startswith(
        "~"
    ):  # a home folder is no agent's to write; user-settings guards it if it is
        return layout
    return layout._replace(hooks_path=os.path.join(layout.workspace, hooks))


def _other_heads(git_dir: str, common: str, evidence: Evidence) -> Iterator[str]:
    if not _is_bare(evidence.read(os.path.join(common, "config")) or b""):
        yield _head(common, evidence)
    folder = os.path.join(common, "worktrees")
    for name in evidence.names(folder)[:_MAX_WORKTREES]:
        if (other := os.path.join(folder, name)) != git_dir:
            yield _head(other, evidence)


def _head(folder: str, evidence: Evidence) -> str:
    return _one_line(evidence.read(os.path.join(folder, "HEAD")) or b"", b"ref: ")


def _one_line(text: bytes, lead: bytes) -> str:
    """The first line after `lead`, "" if it does not begin so or is longer than any path."""
    line = text.split(b"\n", 1)[0].rstrip(b"\r")
    if not line.startswith(lead) or len(line) > _MAX_LINE or b"\0" in line:
        return ""
    return line[len(lead) :].strip().decode("utf-8", "surrogateescape")


def _folder(path: str, locate: Locate) -> str:
    """The physical path of a folder, "" if it is none."""
    site = locate(path)
    return site.path if isinstance(site, Located) and site.is_dir else ""


def _broken(workspace: str, problem: str) -> GitLayout:
    return GitLayout(workspace, GitKind.BROKEN, problem=problem)


def config_value(text: bytes, section: str, key: str) -> str:
    """The last value of `section.key` (both lower-case) in a git config text, "" if unset. git-config(1).

    Knows comments, quotes, escapes and line continuations; included files are not read, so a value set there
    is not seen.
    """
    found = ""
    inside = False
    lines = iter(text.decode("utf-8", "surrogateescape").split("\n"))
    for raw in lines:
        line = raw.strip()
        if line.startswith("["):
            head, _, line = line.partition("]")
            inside = head[1:].strip().lower() == section
            line = line.strip()
        if not inside or not line or line[0] in "#;":
            continue
        while _open_ended(line):
            line = line[:-1] + next(lines, "").rstrip("\r")
        name, equals, value = line.partition("=")
        if name.strip().lower() == key:
            found = _unquote(value.strip()) if equals else "true"
    return found


def _open_ended(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unquote(value: str) -> str:
    out: list[str] = []
    quoted = False
    chars = iter(value)
    for char in chars:
        if char == "\\":
            letter = next(chars, "")
            out.append({"n": "\n", "t": "\t", "b": "\b"}.get(letter, letter))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
    return "".join(out).strip() if not value.endswith('"') else "".join(out)
