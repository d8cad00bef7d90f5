"""Which ref changes of a layer a linked worktree may make, and making them: the part of a push that judges. Cold.

| ref | taken over |
|---|---|
| checked out in another working tree, or rebased there | never |
| a new name below `refs/heads`, `refs/tags`, `refs/remotes`, `refs/notes` | yes: its own from then on |
| its own (the branch at first use, names it made) | yes, also rewound or deleted, unless somebody moved it meanwhile |
| the branch it stands on, not its own | fast-forward only |
| a remote-tracking ref | fast-forward only |
| anything else: other branches, existing tags, `refs/stash`, HEAD | never |

A commit on the branch it stands on, or on the stash, that is not taken over is kept at `refs/ringfence/kept/…`.
"""

from __future__ import annotations

import os

from ringfence.model import Located, shown
from ringfence.pipelines import git_refs
from ringfence.pipelines.compose import resolve
from ringfence.pipelines.git_layer import others
from ringfence.pipelines.git_objects import Git, take_objects
from ringfence.policy.paths import below
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ringfence.model import Worktree

_NEW = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/")
_KEPT = "refs/ringfence/kept/"
_LACKING = ": objects that it needs are missing; not taken over"
# What git writes into a shared folder on its way and nobody misses.
_IGNORED = frozenset(
    ("objects", "refs", "logs", "packed-refs", "gc.pid", "gc.log", "rr-cache", "COMMIT_EDITMSG", "FETCH_HEAD",
     "ORIG_HEAD", "AUTO_MERGE", "worktrees", "lfs", "branches")
)  # fmt: skip


class Taken(Record):
    """What was taken over. `made` and `lost` are refs of this worktree; `whole`: nothing is left to try again."""

    made: tuple[str, ...]
    lost: tuple[str, ...]
    said: tuple[str, ...]
    whole: bool


class Move(Record):
    """One ref from `old` to `new`, "" for none."""

    ref: str
    old: str
    new: str


def take(
    grant: Worktree,
    folders: tuple[int, int, int],
    own: frozenset[str],
    bases: Mapping[str, object],
    writable: Sequence[str],
    path: str,
    last: bool,
) -> Taken:
    """Take over; `folders` are descriptors of the layer, the shared folder and the worktree's own.

    `last`: what git would not take before is given up now.
    """
    upper, real, admin = folders
    found_git = program(path, writable)
    if not found_git:
        why = "git is not found outside the writable trees, so nothing was taken over from this command"
        return Taken((), (), (f"{shown(grant.common_dir)}: {why}",), False)
    git = Git(found_git, grant.common_dir)
    _, refused = take_objects(upper, real, git)
    said = [f"{shown(grant.common_dir)}: {line}; not taken over" for line in refused]
    found = git_refs.changes(upper, real)
    judge = _Judge(git, own, bases, others(real, grant), git_refs.head(admin))
    moves: list[Move] = []
    for ref, new in found.values.items():
        old = git_refs.value(real, ref)
        if new == old or new == bases.get(ref):
            continue
        why = judge.why_not(ref, old, new)
        if not why:
            moves.append(Move(ref, old, new))
            continue
        kept = _keep(ref, new, judge.standing, git)
        said.append(f"{shown(ref)} of {shown(grant.common_dir)} was changed, {why}: not taken over{kept}")
    for ref in found.gone:
        old = git_refs.value(real, ref)
        if not old:
            continue
        if ref in own and ref not in judge.elsewhere and bases.get(ref) in (old, None):
            moves.append(Move(ref, old, ""))
        else:
            said.append(
                f"{shown(ref)} of {shown(grant.common_dir)} was removed, which only its owner may do: it stays"
            )
    done = list(_apply(git, moves, said))
    lacking = any(line.endswith(_LACKING) for line in said) or any(".pack" in line for line in refused)
    said += [
        f"{shown(ref)}: no object name; not taken over" for ref in found.odd if not ref.endswith("/HEAD")
    ]
    said += [
        f"{shown(name)} in {shown(grant.common_dir)} was written, which all working trees share: it stays as it was"
        for name in _others(upper)
    ]
    made = tuple(move.ref for move in done if move.new and not move.old)
    return Taken(made, tuple(move.ref for move in done if not move.new), tuple(said), last or not lacking)


class _Judge:
    """Whether one ref may go from here to there."""

    def __init__(
        self,
        git: Git,
        own: frozenset[str],
        bases: Mapping[str, object],
        elsewhere: frozenset[str],
        standing: str,
    ) -> None:
        self._git = git
        self._own = own
        self._bases = bases
        self.elsewhere = elsewhere
        self.standing = standing

    def why_not(self, ref: str, old: str, new: str) -> str:
        if ref in self.elsewhere:
            return "which another working tree has checked out"
        if ref == "refs/stash":
            return "which is one stack for all working trees of the repository"
        if not ref.startswith(_NEW):
            return "which all working trees share"
        if not old:
            return ""
        if ref in self._own and self._bases.get(ref) == old:
            return ""
        if ref in self._own or ref == self.standing or ref.startswith("refs/remotes/"):
            return "" if self._forward(old, new) else "and not by going forward from where it is now"
        return "which is not this worktree's"

    def _forward(self, old: str, new: str) -> bool:
        return self._git.run("merge-base", "--is-ancestor", old, new)[0] == 0


def _apply(git: Git, moves: Sequence[Move], said: list[str]) -> Iterator[Move]:
    """Move what can be moved: all in one transaction, or each by itself when one of them cannot."""
    if not moves:
        return
    if _connected(git, moves) and _update(git, moves):
        yield from moves
        return
    for move in moves:
        if not _connected(git, (move,)):
            said.append(f"{shown(move.ref)}{_LACKING}")
        elif _update(git, (move,)):
            yield move
        else:
            said.append(f"{shown(move.ref)}: git would not set it (it moved meanwhile, or its name is taken)")


def _connected(git: Git, moves: Sequence[Move]) -> bool:
    """As a push is checked (git-receive-pack(1)): every object that a tip needs and no ref has yet is there."""
    tips = "".join(f"{move.new}\n" for move in moves if move.new)
    if not tips:
        return True
    words = ("rev-list", "--objects", "--stdin", "--not", "--all", "--quiet")
    return git.run(*words, given=tips.encode("ascii"))[0] == 0


def _update(git: Git, moves: Sequence[Move]) -> bool:
    text = b""
    for move in moves:
        ref = move.ref.encode("utf-8", "surrogateescape")
        new, old = move.new.encode("ascii"), (move.old or "0" * len(move.new or move.old)).encode("ascii")
        text += b"update %s\0%s\0%s\0" % (ref, new, old) if new else b"delete %s\0%s\0" % (ref, old)
    return git.run("update-ref", "-m", "from a fenced command", "-z", "--stdin", given=text)[0] == 0


def _keep(ref: str, new: str, standing: str, git: Git) -> str:
    """A ref for a commit that would be lost otherwise; the words that say so."""
    if ref not in ("refs/stash", standing):
        return ""
    kept = f"{_KEPT}{ref.removeprefix('refs/').removeprefix('heads/')}-{new[:12]}"
    move = Move(kept, "", new)
    return (
        f"; the commit is kept at {shown(kept)}" if _connected(git, (move,)) and _update(git, (move,)) else ""
    )


def _others(upper: int) -> list[str]:
    from ringfence.pipelines import beneath

    return [name for name in beneath.names(upper) if name not in _IGNORED and not name.endswith(".lock")]


def program(path: str, writable: Sequence[str]) -> str:
    """git from the caller's PATH, but from no place that a fenced program may write."""
    for folder in (*path.split(":"), "/usr/bin", "/usr/local/bin"):
        site = resolve(f"{folder}/git") if folder.startswith("/") else None
        name = site.path if isinstance(site, Located) else ""
        if os.access(name, os.X_OK) and not any(below(name, tree) for tree in writable):
            return name
    return ""
