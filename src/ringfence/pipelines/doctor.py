"""`ringfence doctor`: what this machine can hold, per rule, and the proof that the fence bites."""

from __future__ import annotations

import os
import subprocess
import sys

from ringfence.enforce.launch import Program
from ringfence.enforce.report import accepts, without_engine
from ringfence.errors import EXIT_NOT_ENFORCED, EXIT_OK
from ringfence.kernel.parser_process import run_parser
from ringfence.model import STRENGTH_ORDER
from ringfence.pipelines import compose, session
from ringfence.pipelines.command import find_parser
from ringfence.pipelines.confine import run_confined
from ringfence.pipelines.placing import confinement
from ringfence.pipelines.proving import Proof, prove
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Capabilities, EnforcementReport, Policy, RuleStrength, Strength
    from ringfence.policy.asked import Flags


class Diagnosis(Record):
    """What doctor found. `short` are the rules below the policy's minimum."""

    capabilities: tuple[tuple[str, str], ...]
    restricted: bool
    workspace: tuple[str, ...]
    report: EnforcementReport
    short: tuple[RuleStrength, ...]
    proofs: tuple[Proof, ...]
    linked: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def status(self) -> int:
        bites = not any(proof.broken for proof in self.proofs)
        return EXIT_OK if bites and not self.short and self.restricted else EXIT_NOT_ENFORCED


def diagnose(flags: Flags, engine: str = "auto") -> Diagnosis:
    """Probe, choose an engine as `run` would, and try it."""
    env = compose.process_environment()
    cwd = compose.process_cwd()
    loaded = compose.load_policy(flags, env, cwd, env.get("HOME") or None)
    name = session.session_name("", "")
    policy = session.with_session(loaded.policy, name)
    here = _capabilities()
    session.prepare(policy, name)
    try:
        report, missed = _stand(policy, cwd, env, engine)
        proofs, untried = prove(policy, report, flags, engine) if policy.restricted else ((), "")
    finally:
        session.end(name)
    short = accepts(report, policy.minimum, policy.strict)
    parser, missing = reader(sys.prefix, os.path.dirname(sys.executable))
    return Diagnosis(
        (*_table(here), ("layer", _layer(here, policy)), ("parser", parser)),
        policy.restricted,
        policy.workspace,
        report,
        short,
        proofs,
        _hard_linked(policy),
        (*policy.notes, *missed, *report.notes, *missing, *unproved(untried)),
    )


def unproved(why: str) -> tuple[str, ...]:
    return (f"nothing could be tried inside the fence, so nothing is proved: {why}",) if why else ()


def _stand(
    policy: Policy, cwd: str, env: dict[str, str], engine: str
) -> tuple[EnforcementReport, tuple[str, ...]]:
    """What really holds: the fence is built around a program that does nothing, and reports from inside."""
    seen: list[EnforcementReport] = []
    ran = run_confined(policy, Program(["true"], env), cwd=cwd, env=env, engine=engine, told=seen.append)
    if seen:
        return seen[-1], ran.missed
    return without_engine(confinement(policy), "no engine could be built"), ran.missed


def seatbelt_profile(flags: Flags) -> tuple[str, str]:
    """The macOS profile of this policy, and what must be said of it. Raises UsageError for a path it cannot name."""
    from ringfence.enforce import seatbelt
    from ringfence.errors import UsageError

    env = compose.process_environment()
    loaded = compose.load_policy(flags, env, compose.process_cwd(), env.get("HOME") or None)
    policy = session.with_session(loaded.policy, session.session_name("", ""))
    own = tuple(folder for folder in (policy.folders.config, policy.folders.state) if folder)
    try:
        return seatbelt.profile(confinement(policy), own), seatbelt.UNPROVEN
    except ValueError as error:
        raise UsageError(str(error)) from None


def _capabilities() -> Capabilities | None:
    if sys.platform != "linux":
        return None
    from ringfence.kernel.probe import capabilities

    return capabilities()


def _layer(here: Capabilities | None, policy: Policy) -> str:
    """Where a throwaway layer would lie, how much it may hold, and what a mount below a root makes of it."""
    if here is None or not (here.userns and here.overlay):
        return "no: `try` refuses to run (exit 3), and a reviewer's workspace is read-only"
    from ringfence.pipelines.layer_run import mount_below
    from ringfence.pipelines.layers import medium_here, shown_size

    below = mount_below(policy.workspace) if policy.workspace else ""
    if below:
        return f"no: {below} is a mount below the workspace, which no layer can cover"
    medium = medium_here(policy.folders)
    bound = "held by the kernel" if medium.on == "memory" else "watched"
    return f"in {medium.on}, at most {shown_size(medium.size)} ({bound}): {medium.why}"


def _table(here: Capabilities | None) -> tuple[tuple[str, str], ...]:
    if here is None:
        return (("system", sys.platform), ("engine", "none yet on this system: rules are held by the hook"))
    missing = dict(here.why_not)
    rows = [("system", f"{here.system} {os.uname().release}")]
    rows.append(
        ("landlock", f"ABI {here.landlock}" if here.landlock else f"no: {missing.get('landlock', '')}")
    )
    for feature, there in (
        ("seccomp", here.seccomp),
        ("userns", here.userns),
        ("mount_api", here.mount_api),
        ("overlay", here.overlay),
    ):
        rows.append((feature, "yes" if there else f"no: {missing.get(feature, 'missing')}"))
    return tuple(rows)


def reader(prefix: str, scripts: str) -> tuple[str, tuple[str, ...]]:
    """The parser of command texts: what was found, and what to do where there is none that answers.

    `prefix` and `scripts` are the interpreter's, as for `find_parser`. The wheel exists for glibc, macOS and Windows.
    """
    program = find_parser(prefix, scripts)
    answer = run_parser(program, "bash", b"echo a; echo b")
    if answer.ok:
        asked = subprocess.run(
            [program, "--version"], check=False, capture_output=True, text=True, timeout=10
        )
        return f"shfmt {asked.stdout.strip()}: {program}", ()
    return f"no: {answer.detail}", (
        "without a parser only the plainest command texts are read, all others are `ask` [opaque.no-parser]; the "
        "engine holds them all the same. Give one with `pip install shfmt-py`, or put shfmt 3.14 (for musl: "
        f"`go install mvdan.cc/sh/v3/cmd/shfmt@v3.14.1`) at {prefix}/bin/shfmt",
    )


_LOOK = 20_000  # directory entries looked at for hard links


def _hard_linked(policy: Policy) -> tuple[str, ...]:
    """Files in the workspace with another name: a program can write through them; no engine can tell."""
    found: list[str] = []
    left = _LOOK
    for root in policy.workspace:
        stack = [root]
        while stack and left > 0 and len(found) < 20:
            try:
                entries = list(os.scandir(stack.pop()))
            except OSError:
                continue
            for entry in entries:
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":  # git's own clones link objects
                        stack.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink > 1:
                    found.append(entry.path)
    return tuple(found)


class Gathered(Record):
    """Rules that are held alike: by the same strength for the same reason."""

    rules: tuple[str, ...]
    strength: Strength
    why: str
    subjects: tuple[str, ...]


def by_strength(report: EnforcementReport) -> tuple[Gathered, ...]:
    """The report's rules for a person: those with a reason in one row for each reason, the strongest first."""
    rows: dict[tuple[str, str, str], list[RuleStrength]] = {}
    for held in report.rules:
        own = "" if held.why and not held.boundary else held.rule.id
        rows.setdefault((held.strength.value, held.why, own), []).append(held)
    gathered = [
        Gathered(
            tuple(dict.fromkeys(held.rule.id for held in group)),
            group[0].strength,
            group[0].why,
            tuple(held.subject for held in group),
        )
        for group in rows.values()
    ]
    return tuple(sorted(gathered, key=lambda row: (-STRENGTH_ORDER[row.strength], row.rules)))
