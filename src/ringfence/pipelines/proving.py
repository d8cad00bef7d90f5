"""The proof that the fence bites: each rule is tried in a child behind the fence, and without it for comparison.

Cold. An attempt counts only if it lands without the fence; where it does not (another user's file, a file system
without unnamed files), nothing is proved, and that is said.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile

from ringfence.model import STRENGTH_ORDER, Access, Strength
from ringfence.pipelines import launchers, prober
from ringfence.pipelines.placing import confinement
from ringfence.pipelines.words import flag_words
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import EnforcementReport, Policy
    from ringfence.policy.asked import Flags

_WAIT = 120.0  # seconds for all attempts together
_MOST = 300  # attempts


class Attempt(Record):
    """One thing to try. `path` "@name" is an abstract socket; `other` is where a folder would be moved."""

    rule: str
    kind: str  # a key of prober._KINDS
    path: str
    other: str = ""


class Proof(Record):
    """What came of it. `strength` is what the report promises for the rule; `held` what really happened.

    `unfenced` False: it does not land without the fence either, so it proves nothing. `errno` inside, 0: it landed.
    """

    rule: str
    attempt: str
    subject: str
    unfenced: bool
    held: bool
    errno: int
    strength: str

    @property
    def broken(self) -> bool:
        """The kernel was said to hold it, and does not."""
        return self.unfenced and not self.held and self.strength == Strength.KERNEL.value


def prove(
    policy: Policy, report: EnforcementReport, flags: Flags, engine: str
) -> tuple[tuple[Proof, ...], str]:
    """Try every rule, by the very program that users start. The second value says why nothing could be tried."""
    folder = tempfile.mkdtemp(prefix="ringfence-doctor-")
    try:
        with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
            stage = _staged(os.path.join(folder, "outside"), named, abstract)
            attempts = (*stage, *attempts_on(policy))[:_MOST]
            return _compare(attempts, report, flags, engine, f"{folder}/outside")
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _staged(folder: str, named: socket.socket, abstract: socket.socket) -> list[Attempt]:
    """A place outside of our own: a folder, a file, a socket that DOCKER_HOST names, and an abstract one."""
    os.mkdir(folder)
    os.mkdir(f"{folder}/full")
    os.mkdir(f"{folder}/full/keep")
    os.mkdir(f"{folder}/folder")
    with open(f"{folder}/file", "w", encoding="utf-8"):
        pass
    named.bind(f"{folder}/engine.sock")
    abstract.bind(f"\0{folder}")
    named.listen()
    abstract.listen()
    return [
        Attempt("boundary", "write", folder),
        Attempt("boundary", "write", f"{folder}/file"),
        Attempt("boundary", "move", f"{folder}/folder", f"{folder}/full"),
        Attempt("engine.metadata", "metadata", f"{folder}/file"),
        Attempt("engine.helpers", "connect", f"{folder}/engine.sock"),
        Attempt("engine.abstract-sockets", "connect", f"@{folder}"),
        Attempt("engine.terminal-input", "typing", "its own terminal"),
    ]


def attempts_on(policy: Policy) -> list[Attempt]:
    """What to try on the places that the policy itself names, those that exist."""
    wanted = confinement(policy)
    tops = [zone.root for zone in wanted.writable]
    outside = [z for z in policy.zones if z.access is Access.READ and not _below_any(z.root, tops)]
    found: list[Attempt] = []
    for zone in (*wanted.carve_outs, *outside):
        mode = _mode(zone.root)
        if mode is None or stat.S_ISLNK(mode):
            continue
        found += [Attempt(zone.rule.id, kind, zone.root) for kind in ("write", "metadata")]
        for root in tops:
            found += [
                Attempt(zone.rule.id, "move", at, other)
                for at in _between(root, zone.root)
                if (other := _another(root, at))
            ]
    found += [Attempt(zone.rule.id, "read", zone.root) for zone in wanted.masked]
    return found


def _compare(
    attempts: tuple[Attempt, ...], report: EnforcementReport, flags: Flags, engine: str, stage: str
) -> tuple[tuple[Proof, ...], str]:
    rows = json.dumps([[a.kind, a.path, a.other] for a in attempts]).encode("utf-8", "surrogateescape")
    tried = [sys.executable, "-I", "-S", prober.__file__]
    words = [sys.executable, "-I", "-S", launchers.start_file(), "run", "--engine", engine]
    bare, why = _answers(tried, rows, len(attempts), stage)
    if why:
        return (), why
    inside, why = _answers([*words, *flag_words(flags), "--", *tried], rows, len(attempts), stage)
    if why:
        return (), why
    strengths = {held.rule.id: held.strength.value for held in report.rules}
    strengths["boundary"] = _boundary(report)
    return tuple(
        Proof(
            a.rule,
            a.kind,
            a.path,
            without == 0,
            within not in (0, prober.NOT_TRIED),
            max(within, 0),
            _promised(a, strengths),
        )
        for a, without, within in zip(attempts, bare, inside, strict=True)
    ), ""


def _promised(attempt: Attempt, strengths: dict[str, str]) -> str:
    """The strength that the report gives to this attempt: of its rule, and of metadata where it is about that."""
    names = [attempt.rule, "engine.metadata"] if attempt.kind == "metadata" else [attempt.rule]
    found = [strengths.get(name, Strength.KERNEL.value) for name in names]
    return min(found, key=lambda value: STRENGTH_ORDER[Strength(value)])


def _boundary(report: EnforcementReport) -> str:
    """What is promised for what lies outside every zone: what the workspace's own edge is held by."""
    return next((held.strength.value for held in report.rules if held.boundary), Strength.NOT_HERE.value)


def _answers(words: list[str], rows: bytes, count: int, stage: str) -> tuple[list[int], str]:
    env = {**os.environ, "DOCKER_HOST": f"unix://{stage}/engine.sock"}
    try:
        done = subprocess.run(words, check=False, input=rows, capture_output=True, timeout=_WAIT, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], str(error)
    try:
        answers = json.loads(done.stdout)
    except ValueError:
        answers = []
    if len(answers) == count:
        return answers, ""
    said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:300]
    return [], said or "the attempts gave no answer"


def _between(root: str, path: str) -> list[str]:
    """`path` and the folders above it, strictly below `root`; empty if it does not lie there."""
    prefix = root.rstrip("/") + "/"
    if not path.startswith(prefix):
        return []
    parts = path[len(prefix) :].split("/")
    chain = [prefix + "/".join(parts[: count + 1]) for count in range(len(parts))]
    return [at for at in chain if (mode := _mode(at)) is not None and stat.S_ISDIR(mode)]


def _another(root: str, path: str) -> str:
    """A folder of `root` that is not empty and has nothing to do with `path`, "" if there is none."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return ""
    for name in names:
        at = f"{root.rstrip('/')}/{name}"
        if at == path or path.startswith(at + "/") or os.path.islink(at) or os.path.ismount(at):
            continue
        try:
            if os.listdir(at):
                return at
        except OSError:
            continue
    return ""


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None


def _below_any(path: str, roots: list[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
