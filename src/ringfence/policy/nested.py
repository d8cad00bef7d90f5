"""Repositories deeper in a workspace, found once when the policy is loaded: their hooks are guarded like its own.

A bounded look, since it is made at each cold load; what lies deeper or came later is held for file tools and command
texts by the deep patterns, as before. A kept policy is not made anew because a repository appeared.
"""

from __future__ import annotations

import os

from ringfence.model import Access, Audience, Glob, Rule, ZoneKind
from ringfence.policy.guards import GUARDS, TEXT_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MOST_ENTRIES = 4000  # directory entries looked at for one workspace root
MOST_FOUND = 32
_SKIPPED = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "target"))


def nested_repositories(root: str) -> tuple[str, ...]:
    """The `.git` folders below `root`, its own left out; breadth first, no link followed."""
    found: list[str] = []
    folders = [os.fsencode(root)]
    left = MOST_ENTRIES
    while folders and left > 0 and len(found) < MOST_FOUND:
        folder = folders.pop(0)
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                continue
            if entry.name == b".git" and folder != os.fsencode(root):
                found.append(entry.path.decode("utf-8", "surrogateescape"))
            elif entry.name.decode("utf-8", "surrogateescape") not in _SKIPPED:
                folders.append(entry.path)
    return tuple(found[:MOST_FOUND])


def nested_globs(roots: Sequence[str], off: Collection[str], git_config: str) -> list[Glob]:
    """The `.git/…` guards for each of them, in a form that engines hold."""
    globs = []
    for folder in dict.fromkeys(found for root in roots for found in nested_repositories(root)):
        for guard in GUARDS:
            held = guard.id not in TEXT_ONLY or (guard.id == "git-config" and git_config == "guard")
            for pattern in guard.patterns if held and guard.id not in off else ():
                parts = tuple(pattern.split("/"))
                if parts[0] == ".git" and len(parts) > 1:
                    rule = Rule(guard.id, "built in")
                    globs.append(
                        Glob(
                            folder, False, parts[1:], Access.READ, ZoneKind.GUARD, rule, audience=Audience.ALL
                        )
                    )
    return globs
