"""A private layer over the repository of a linked worktree, and what of it is taken over (docs/adr/0008).

A fenced program sees `common_dir` as writable and writes an overlay; only the worktree's own folder is written for
real. When the command has ended we, who are not fenced, take over new objects and the ref changes that this worktree
may make, as a push would. A layer whose watcher was killed is taken over by the next start; one that a job left behind
still uses is looked at again by every start until that job has ended.

Which refs are this worktree's own stands in our state folder: the branch that was checked out when it was first used,
and every name it made since. HEAD cannot tell, since a fenced program writes it.
"""

from __future__ import annotations

from posix import (
    O_APPEND,
    O_CLOEXEC,
    O_CREAT,
    O_NOFOLLOW,
    O_WRONLY,
    close,
    getpid,
    listdir,
    mkdir,
    open,
    readlink,
    stat,
    write,
)

from ringfence.model import Shadow, shown
from ringfence.pipelines import beneath, git_refs
from ringfence.pipelines.session import digest, make_parents
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.model import Policy, Worktree

# In the shared folder: what is neither objects nor refs nor logs and would be obeyed, or is another tree's own. It
# stays read-only inside, so that a write fails where it is tried; anything else is written to the layer and left there.
_FIXED = (
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "index",
    "info",
    "modules",
    "worktrees",
    "reftable",
)
_OWN_FIXED = ("commondir", "config.worktree", "gitdir", "modules")
_STASH = "refs/stash.lock"


class Layer(Record):
    """One layer of one command."""

    grant: Worktree
    folder: str
    shadow: Shadow


def prepare(policy: Policy) -> tuple[Layer, ...]:
    """Make a layer for each linked worktree. One that cannot be made leaves the shared folder read-only."""
    found = (_make(policy, number, grant) for number, grant in enumerate(policy.worktrees))
    return tuple(layer for layer in found if layer is not None)


def _base(policy: Policy) -> str:
    return f"{policy.folders.state}/git-layers" if policy.folders.state else ""


def _make(policy: Policy, number: int, grant: Worktree) -> Layer | None:
    base = _base(policy)
    common = beneath.open_folder(grant.common_dir)
    admin = beneath.open_folder(grant.git_dir)
    try:
        if not base or common < 0 or admin < 0 or beneath.entry(common, "reftable") is not None:
            return None
        folder = f"{base}/{getpid()}-{number}"
        make_parents(f"{folder}/upper/{_STASH}")
        mkdir(f"{folder}/work", 0o700)
        own = _own_file(policy, grant)
        _first_use(own, admin, common, grant)
        from ringfence.jsonscan import dumps

        bases = {ref: git_refs.value(common, ref) for ref in _own_refs(own)}
        record = dumps({"grant": list(grant), "bases": bases})
        _put(f"{folder}/record", record.encode("ascii", "replace"))
        fixed = [f"{grant.common_dir}/{name}" for name in _FIXED if beneath.entry(common, name) is not None]
        fixed += [f"{grant.git_dir}/{name}" for name in _OWN_FIXED if beneath.entry(admin, name) is not None]
        blocked = (f"{grant.common_dir}/{_STASH}",)
        return Layer(grant, folder, Shadow(grant.common_dir, folder, (grant.git_dir,), tuple(fixed), blocked))
    except OSError:
        return None
    finally:
        for descriptor in (common, admin):
            if descriptor >= 0:
                close(descriptor)


def finish(policy: Policy, layers: Sequence[Layer], writable: Sequence[str], path: str) -> list[str]:
    """Take over what the command made and remove its layers; a line for each thing that was not taken over.

    `path` is where git is looked for, `writable` where it must not come from.
    """
    said: list[str] = []
    for layer in layers:
        said += _take(policy, layer.grant, layer.folder, writable, path, last=False)
    return said


def discard(layers: Sequence[Layer]) -> None:
    """Nothing was run."""
    for layer in layers:
        _remove(layer.folder)


def recover(policy: Policy, writable: Sequence[str], path: str) -> list[str]:
    """Take over the layers whose watcher is gone, of this policy's worktrees."""
    base = _base(policy)
    try:
        names = listdir(base or "/nonexistent")
    except OSError:
        return []
    said: list[str] = []
    for name in names:
        pid = name.partition("-")[0]
        if not pid.isdigit() or int(pid) == getpid() or beneath.lives(int(pid)):
            continue
        folder = f"{base}/{name}"
        grant = next((g for g in policy.worktrees if list(g) == _record(folder).get("grant")), None)
        if grant is not None:
            try:
                said += _take(policy, grant, folder, writable, path, last=True)
            except OSError as error:
                said.append(f"{shown(folder)}: {error}; the next command tries again")
        elif not _is_there(_git_dir(folder)):
            _remove(folder)  # cut off before a program could start in it, or its worktree is gone
    return said


def _git_dir(folder: str) -> str:
    grant = _record(folder).get("grant")
    return str(grant[1]) if isinstance(grant, list) and len(grant) > 1 else f"{folder}/none"


def _take(
    policy: Policy, grant: Worktree, folder: str, writable: Sequence[str], path: str, *, last: bool
) -> list[str]:
    upper = beneath.open_folder(f"{folder}/upper")
    real = beneath.open_folder(grant.common_dir)
    admin = beneath.open_folder(grant.git_dir)
    try:
        if upper < 0:  # cut off while it was being removed
            _remove(folder)
            return []
        if min(real, admin) < 0:
            return [
                f"{shown(folder)}: this layer of {shown(grant.common_dir)} cannot be read; it was left there"
            ]
        said: list[str] = []
        if _has_changes(upper):
            from ringfence.pipelines.git_take import take

            own = _own_file(policy, grant)
            bases = _record(folder).get("bases")
            known = _own_refs(own)
            taken = take(
                grant,
                (upper, real, admin),
                known,
                bases if isinstance(bases, dict) else {},
                writable,
                path,
                last,
            )
            said = list(taken.said)
            _append(own, [*taken.made, *(f"-{ref}" for ref in taken.lost)])
            if not taken.whole:
                return [*said, f"the layer was left at {shown(folder)}; the next command tries again"]
            if _is_used(folder):  # by a job: from here on, what we have just seen is where it started
                from ringfence.jsonscan import dumps

                bases = {ref: git_refs.value(real, ref) for ref in _own_refs(own)}
                _put(
                    f"{folder}/record",
                    dumps({"grant": list(grant), "bases": bases}).encode("ascii", "replace"),
                )
    finally:
        for descriptor in (upper, real, admin):
            if descriptor >= 0:
                close(descriptor)
    if not _is_used(folder):
        _remove(folder)
    return said


def _has_changes(upper: int) -> bool:
    """Whether anything is there beside the lock that we put there ourselves."""
    if beneath.names(upper) != ["refs"]:
        return True
    refs = beneath.open_folder("refs", upper)
    try:
        return refs < 0 or beneath.names(refs) != ["stash.lock"]
    finally:
        if refs >= 0:
            close(refs)


def _is_used(folder: str) -> bool:
    """Whether a process still stands in the mount namespace that uses the layer."""
    at = beneath.open_folder(folder)
    wanted = (beneath.content(at, "namespace") or b"").decode("ascii", "replace") if at >= 0 else ""
    if at >= 0:
        close(at)
    if not wanted:
        return False
    for pid in listdir("/proc"):
        if pid.isdigit():
            try:
                if readlink(f"/proc/{pid}/ns/mnt") == wanted:
                    return True
            except OSError:
                continue
    return False


def _remove(folder: str) -> None:
    import os
    import shutil

    work = f"{folder}/work/work"  # the overlay's own, made without any permission
    try:
        os.chmod(work, 0o700, follow_symlinks=False)
    except (OSError, NotImplementedError):
        pass
    # The record last: without it nobody would look at the rest again.
    for name in ("upper", "work", ""):
        shutil.rmtree(f"{folder}/{name}", ignore_errors=True)


# --- what we keep ---------------------------------------------------------------------------------------------


def _own_file(policy: Policy, grant: Worktree) -> str:
    """Named after the worktree and its `commondir` file, which git writes once and nobody inside can replace."""
    made = stat(beneath.raw(f"{grant.git_dir}/commondir"))
    return (
        f"{policy.folders.state}/worktrees/{digest(f'{grant.git_dir} {made.st_ino} {made.st_mtime_ns}'):016x}"
    )


def _is_there(path: str) -> bool:
    try:
        stat(beneath.raw(path))
    except OSError:
        return False
    return True


def _first_use(own: str, admin: int, common: int, grant: Worktree) -> None:
    if _is_there(own):
        return
    branch = git_refs.head(admin)
    text = f"{branch}\n" if branch and branch not in others(common, grant) else ""
    make_parents(own.rpartition("/")[0])
    _put(own, text.encode("utf-8", "surrogateescape"))


def others(common: int, grant: Worktree) -> frozenset[str]:
    """The branches that other working trees of the repository have checked out, or are about to rebase."""
    found = {git_refs.head(common)}
    mine = grant.git_dir.rpartition("/")[2]
    folder = beneath.open_folder("worktrees", common)
    trees = [(common, False)]
    for name in beneath.names(folder) if folder >= 0 else ():
        if name != mine and (tree := beneath.open_folder(name, folder)) >= 0:
            trees.append((tree, True))
    if folder >= 0:
        close(folder)
    for tree, ours in trees:
        found.add(git_refs.head(tree))
        for state in ("rebase-merge", "rebase-apply"):
            at = beneath.open_folder(state, tree)
            if at >= 0:
                found.add(
                    (beneath.content(at, "head-name") or b"").decode("utf-8", "surrogateescape").strip()
                )
                close(at)
        if ours:
            close(tree)
    return frozenset(found - {""})


def _own_refs(own: str) -> frozenset[str]:
    at = beneath.open_folder(own.rpartition("/")[0])
    text = (beneath.content(at, own.rpartition("/")[2]) or b"") if at >= 0 else b""
    if at >= 0:
        close(at)
    found: dict[str, None] = {}
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        if line.startswith("-"):
            found.pop(line[1:], None)
        elif line:
            found[line] = None
    return frozenset(found)


def _record(folder: str) -> dict[str, object]:
    from ringfence.jsonscan import loads

    at = beneath.open_folder(folder)
    text = beneath.content(at, "record") if at >= 0 else None
    if at >= 0:
        close(at)
    try:
        found = loads(text or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _put(path: str, data: bytes) -> None:
    """Write a file of ours whole, in one step."""
    at = beneath.open_folder(path.rpartition("/")[0])
    try:
        if at < 0 or not beneath.put(at, path.rpartition("/")[2], data, 0o600):
            raise OSError(5, "cannot be written", path)
    finally:
        if at >= 0:
            close(at)


def _append(path: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    fd = open(beneath.raw(path), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    try:
        write(fd, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    finally:
        close(fd)


__all__ = ["Layer", "discard", "finish", "others", "prepare", "recover"]
