"""The fence's flags read by hand, for the doors that cannot afford click: hook, run, shell.

The same flags stand on every other command through click (cli/options.py); a test holds the two lists together.
"""

from __future__ import annotations

from ringfence.errors import UsageError
from ringfence.policy.asked import Flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUED: Mapping[str, str] = {
    "--workspace": "a folder the agent may write (repeatable)",
    "--protect": "a checkout that nothing may change (repeatable)",
    "--policy": "a policy file instead of the project's",
}
SWITCHES: Mapping[str, str] = {
    "--restrict-paths": "fence even without a workspace: to the current folder",
    "--no-restrict-paths": "no fence; refuse nothing but protected checkouts and explicit zones",
}
# Spellings that older harnesses still write. Ignoring one would run an agent wider than its owner believes.
RETIRED: Mapping[str, str] = {
    "--allow-all-tools": "the fence is the boundary: name it with --workspace",
    "--allow-all-tools-reason": "the fence is the boundary: name it with --workspace",
}
# The same as environment keys, alone or behind a prefix.
RETIRED_ENV: Mapping[str, str] = {
    "ALLOW_ALL_TOOLS": "name a mode and a lane: --mode power --lane full",
    "ALLOW_ALL_TOOLS_REASON": "name a mode and a lane: --mode power --lane full",
}


def take_flags(
    words: Sequence[str], extra: Mapping[str, bool], *, short_ends: bool = False
) -> tuple[Flags, dict[str, str], list[str]]:
    """(flags, extra options, the rest). `extra` maps further options to whether they take a value.

    Reading stops at the first word that is no option, or behind `--`; with `short_ends` also at the first option
    with a single dash, which is another program's. Raises UsageError with the nearest spelling.
    """
    workspace: list[str] = []
    protect: list[str] = []
    policy: str | None = None
    found: dict[str, str] = {}
    switches: set[str] = set()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word[:1] != "-" or word == "-" or (short_ends and word[:2] != "--"):
            break
        name, equals, value = word.partition("=")
        if name in RETIRED:
            raise UsageError(f"{name} is no longer an option", RETIRED[name])
        takes = name in VALUED or extra.get(name, False)
        if not takes and (name in SWITCHES or name in extra):
            if equals:
                raise UsageError(f"{name} takes no value")
            switches.add(name)
            found[name] = "1"
            at += 1
            continue
        if not takes:
            raise UsageError(f"unknown option {name}", _nearest(name, extra))
        if not equals:
            at += 1
            if at >= len(words):
                raise UsageError(f"{name} needs a value")
            value = words[at]
        if name == "--workspace":
            workspace.append(value)
        elif name == "--protect":
            protect.append(value)
        elif name == "--policy":
            policy = value
        else:
            found[name] = value
        at += 1
    flags = Flags(
        tuple(workspace),
        tuple(protect),
        policy,
        "--restrict-paths" in switches,
        "--no-restrict-paths" in switches,
    )
    if flags.restrict and flags.no_restrict:
        raise UsageError("--restrict-paths and --no-restrict-paths contradict each other", "give one of them")
    return flags, found, list(words[at:])


def flag_words(flags: Flags) -> list[str]:
    """The words that `take_flags` reads as `flags`, for a command that another program will run."""
    words: list[str] = []
    for root in flags.workspace:
        words += ["--workspace", root]
    for root in flags.protect:
        words += ["--protect", root]
    if flags.policy is not None:
        words += ["--policy", flags.policy]
    if flags.restrict:
        words.append("--restrict-paths")
    if flags.no_restrict:
        words.append("--no-restrict-paths")
    return words


def _nearest(name: str, extra: Mapping[str, bool]) -> str:
    from difflib import get_close_matches

    known = [*VALUED, *SWITCHES, *extra]
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(known))}"
