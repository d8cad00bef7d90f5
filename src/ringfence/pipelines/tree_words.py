"""What each finding of `audit --tree` means: why it matters and what to do. One literal table."""

from __future__ import annotations

from ringfence.proposals import Weakness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# code -> (severity, why it matters, what to do)
WORDS: Mapping[str, tuple[str, str, str]] = {
    "tree.hardlink": (
        "error",
        "a write to this file changes the other name too, and no engine can tell a link that was there before it",
        "copy the file and put the copy in its place: cp -p F F.new && mv F.new F",
    ),
    "tree.hardlink-objects": (
        "note",
        "git's local clones share their objects by hard links; they are read-only files named by their content, but a "
        "program that makes them writable damages the other clone",
        "clone with --no-hardlinks, or run `git repack -a -d` here, if you do not trust what runs in this tree",
    ),
    "tree.link-out": (
        "warning",
        "what is written or read through this link lies outside the workspace; the fence refuses it, but a program "
        "that runs without one follows it",
        "remove the link, or name its end in the policy if the agent is meant to use it",
    ),
    "tree.link-protected": (
        "error",
        "this link leads into a protected checkout; a program that runs without the fence changes it from here",
        "remove the link",
    ),
    "tree.link-broken": (
        "warning",
        "nobody can say where this link leads (a loop, or a way that may not be walked)",
        "remove the link",
    ),
    "tree.mount-out": (
        "error",
        "this mount shows, writable, a part of a place outside the workspace; its paths look inside, so no path "
        "check can see it, and only the mounts engine makes it read-only",
        "unmount it, or mount it read-only: mount -o remount,bind,ro M",
    ),
    "tree.mount": (
        "note",
        "a mount below the workspace: it counts as inside, whatever it holds",
        "nothing, if it is meant to be there",
    ),
    "tree.unguarded": (
        "error",
        "a later program without a fence runs or obeys this file, and the policy lets an agent write it",
        "take the guard's name out of `unguard` in the policy",
    ),
    "tree.hook": (
        "warning",
        "git runs this program at its next command, outside every fence; the fence keeps an agent from changing it "
        "now, and cannot say who wrote it",
        "read it; remove it if it is not yours",
    ),
    "tree.others-write": (
        "error",
        "other users of this machine may write this file, and a program without a fence runs or obeys it",
        "chmod go-w F",
    ),
    "tree.git-config": (
        "error",
        "this key of a repository's config names a program or a folder of programs, and git runs them at its next "
        "command, outside every fence",
        "read the value; `git config --unset KEY` if it is not yours",
    ),
    "tree.git-config-key": (
        "warning",
        "this key of a repository's config is none that everyday git writes; it may name a program or widen what git "
        "trusts",
        "read the value; `git config --unset KEY` if it is not yours",
    ),
    "tree.git-config-broken": (
        "warning",
        "git would refuse this config, so nobody can say what it sets",
        "look at it, or make the repository's config anew",
    ),
    "tree.setuid": (
        "error",
        "this program runs with its owner's rights for whoever starts it; inside the mounts engine it does not, "
        "outside of every fence it does",
        "chmod u-s,g-s F",
    ),
    "tree.device": (
        "error",
        "a device node reaches hardware or kernel memory from inside the workspace",
        "remove it",
    ),
    "tree.socket": (
        "warning",
        "a service listens here; what it is asked to do it does outside the fence",
        "stop the service, or keep its socket out of the workspace",
    ),
    "tree.fifo": (
        "note",
        "a pipe with a name: whoever reads it acts on what is written to it",
        "remove it if nobody uses it",
    ),
    "tree.case": (
        "warning",
        "on a file system that ignores case or Unicode form (macOS, Windows) these names are one file: the last one "
        "written wins, a guarded name included",
        "rename one of them",
    ),
    "tree.name": (
        "warning",
        "this name can fool a person, a log or a tool that reads lines: what is shown is not what is opened",
        "rename it",
    ),
    "tree.unseen": (
        "warning",
        "this folder cannot be listed, so what it holds was not looked at",
        "run the audit as a user who may read it",
    ),
}


def weakness(
    code: str, path: str, what: str, *, mend: str = "", related: str = "", severity: str = ""
) -> Weakness:
    """A finding with the words of its code; `severity` where this one is less than its code's."""
    usual, why, after = WORDS[code]
    return Weakness(code, severity or usual, path, what, why, after, mend, mended=False, related=related)
