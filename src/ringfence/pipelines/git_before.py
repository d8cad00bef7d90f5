"""Before a command starts: a plain `git switch X` that would change a guarded tracked file is refused, and why.

A courtesy for the commonest forms, read from the text; whatever it does not see is reported afterwards (tracked.py).
Cold: only for texts that name one of these commands.
"""

from __future__ import annotations

from ringfence.model import shown
from ringfence.pipelines.aftermath import guarded_below
from ringfence.pipelines.git_objects import Git
from ringfence.pipelines.git_take import program
from ringfence.pipelines.placing import confinement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Policy

# What is compared for each: the commit itself with HEAD, what it adds since both parted, or what it does itself.
_RANGES = {
    "switch": ("HEAD", "{0}"),
    "checkout": ("HEAD", "{0}"),
    "reset": ("HEAD", "{0}"),
    "merge": ("HEAD...{0}",),
    "rebase": ("HEAD...{0}",),
    "cherry-pick": ("{0}^!",),
}
_MAKES = (
    "-c",
    "-C",
    "-b",
    "-B",
    "--orphan",
    "--soft",
    "--mixed",
    "--abort",
    "--continue",
    "--skip",
    "--quit",
    "-i",
    "--",
)


def refusal(policy: Policy, text: str, cwd: str, path: str) -> str:
    """Why nothing may be run, "" if nothing speaks against it. `path` is where git is looked for."""
    root = next(
        (root for root in policy.workspace if cwd == root or cwd.startswith(root.rstrip("/") + "/")), ""
    )
    wanted = confinement(policy)
    guarded = guarded_below(root, wanted) if root else ()
    found = program(path, tuple(zone.root for zone in wanted.writable)) if guarded else ""
    if not found or policy.git_config == "open":
        return ""
    grant = next((tree for tree in policy.worktrees if tree.workspace == root), None)
    git = Git(found, grant.git_dir if grant else f"{root}/.git")
    for statement in _statements(text):
        words = statement.split()
        if (
            len(words) < 3
            or words[0] != "git"
            or words[1] not in _RANGES
            or any(word in _MAKES for word in words)
        ):
            continue
        operands = [word for word in words[2:] if not word.startswith("-")]
        if len(operands) != 1 or any(c in operands[0] for c in "$`'\"*?\\(){}~"):
            continue
        asked = [part.format(operands[0]) for part in _RANGES[words[1]]]
        status, out = git.run("diff", "--name-only", "-z", "--no-ext-diff", *asked, "--", *guarded)
        names = (
            [name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name]
            if not status
            else []
        )
        if names:
            return (
                f"`{' '.join(words)}` would change {', '.join(map(shown, names[:5]))}, which git tracks and the policy "
                "guards: the file would stay as it is and git would take it for changed. Run it outside the fence, or "
                "give the guard up (unguard, in your own policy file)"
            )
    return ""


def _statements(text: str) -> list[str]:
    for mark in ";&|\n":
        text = text.replace(mark, "\0")
    return text.split("\0")
