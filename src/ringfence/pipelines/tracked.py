"""Guarded files that git tracks: a switch, merge, rebase or pull that wanted to change one could not, and says little.

git warns that it cannot unlink the file, exits 0 and notes the new version in its index; the old one stays in place,
and the next `commit -a` would take upstream's change back. So after a command that wrote the index, the index is
compared with what stands on disk, and a disagreement that the command made is said, with the repair. Cold: git is asked
only where the index was written and guarded files stand.
"""

from __future__ import annotations

import hashlib
import os

from ringfence.model import shown
from ringfence.pipelines import beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ringfence.pipelines.git_objects import Git

_MOST = 20  # files named


def disagreements(git: Git, root: str, top: int, guarded: Sequence[str], before: str) -> Iterator[str]:
    """A line for each guarded file whose version in the index is new since commit `before` and not the one on disk.

    `guarded` are paths below `root` (descriptor `top`), files or folders.
    """
    now = dict(_entries(git, ("ls-files", "-s", "-z", "--", *guarded)))
    apart = [path for path, name in now.items() if _on_disk(top, path, len(name)) != name]
    if not apart:
        return
    known = dict(_entries(git, ("ls-tree", "-r", "-z", before, "--", *apart))) if before else {}
    changed = [path for path in apart if known.get(path) != now[path]]
    for path in changed[:_MOST]:
        yield (
            f"{shown(f'{root}/{path}')} is guarded and tracked: git has noted another version of it than "
            "stands there, and `git commit -a` would take the change back. To have git's version, outside the "
            f"fence: git -C {shown(root)} restore -- {shown(path)} (or give the guard up, unguard = [...], in your own "
            "policy file)"
        )
    if len(changed) > _MOST:
        yield f"{shown(root)}: {len(changed) - _MOST} more guarded files like these"


def _entries(git: Git, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(path, object name) of each regular file that git lists: `MODE [blob] NAME [STAGE]<TAB>PATH`."""
    status, out = git.run(*words)
    for line in out.split(b"\0") if not status else ():
        facts, _, path = line.partition(b"\t")
        parts = facts.decode("ascii", "replace").split(" ")
        name = next((part for part in parts if len(part) in (40, 64)), "")
        if parts[0].startswith("100") and name:
            yield path.decode("utf-8", "surrogateescape"), name


def _on_disk(top: int, path: str, size: int) -> str:
    """The object name of the file as it stands, "" if there is none. Filters are not run: they are programs."""
    reached = beneath.walk(top, path.split("/"))
    if reached is None:
        return ""
    try:
        data = beneath.content(reached.folder, reached.name) if reached.whole else None
    finally:
        os.close(reached.folder)
    if data is None:
        return ""
    text = b"blob %d\0" % len(data) + data
    return (hashlib.sha1(text, usedforsecurity=False) if size == 40 else hashlib.sha256(text)).hexdigest()
