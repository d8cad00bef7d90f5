"""doctor."""

from __future__ import annotations

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out
from ringfence.model import Strength
from ringfence.pipelines.confine import ENGINES
from ringfence.render import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.pipelines.doctor import Diagnosis
    from ringfence.pipelines.proving import Proof
    from ringfence.policy.asked import Flags

_STYLES = {
    Strength.KERNEL: "green",
    Strength.AFTER: "yellow",
    Strength.HOOK: "yellow",
    Strength.NOT_HERE: "bold red",
}


@click.command()
@fence_options
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="look at one engine only")
@click.option(
    "--seatbelt",
    is_flag=True,
    help="print the macOS profile of this policy and end (unproven: it has never run on a Mac)",
)
@json_option
def doctor(flags: Flags, engine: str, seatbelt: bool, as_json: bool) -> int:
    """What this machine can hold, rule by rule, and the proof: in a child, each rule is tried.

    Tried are writes, moves of what holds a guarded place, changes of mode, sockets of helpers and typing into a
    terminal, harmlessly, with the fence and without it for comparison. Exit 0 if everything that the kernel is said
    to hold was held and every rule reaches the policy's minimum, 3 if not.

    \b
    Examples:
      ringfence doctor --workspace .
      ringfence doctor --workspace . --json
      ringfence doctor --workspace . --seatbelt > fence.sb
    """
    from ringfence.pipelines.doctor import by_strength, diagnose

    out = Out(as_json)
    if seatbelt:
        return _seatbelt(flags, out, as_json)
    found = diagnose(flags, engine)
    if as_json:
        out.json(_as_json(found))
        return found.status
    out.lines(["this machine"])
    out.lines("  " + line for line in words.columns(found.capabilities, ("feature", "found")))
    out.lines([f"the fence: {found.report.engine} ({found.report.detail})"])
    if not found.restricted:
        out.lines(["  NO FENCE: no workspace is named; give --workspace DIR"])
    rows = [
        (str(row.strength), _few(row.rules), _few(row.subjects), row.why) for row in by_strength(found.report)
    ]
    for line in words.columns(rows, ("held by", "rule", "what", "why not more")):
        style = next((_STYLES[s] for s in Strength if line.startswith(s.value)), "")
        out.lines(["  " + (out.paint(line, style) if style else line)])
    _show_proofs(out, found.proofs)
    for path in found.linked:
        out.lines(
            [
                f"  hard link: {words.shown(path)} has another name; programs can write through it (strength: hook)"
            ]
        )
    out.lines(f"  note: {note}" for note in found.notes)
    for held in found.short:
        out.lines(
            [
                out.paint(
                    f"  TOO WEAK: {held.rule.id}: {held.subject}: {held.strength} ({held.why})", "bold red"
                )
            ]
        )
    out.lines(["not fenced by ringfence: network, environment secrets, CPU and memory"])
    return found.status


def _seatbelt(flags: Flags, out: Out, as_json: bool) -> int:
    from ringfence.pipelines.doctor import seatbelt_profile

    text, unproven = seatbelt_profile(flags)
    if as_json:
        out.json({"version": 1, "engine": "seatbelt", "unproven": unproven, "profile": text})
    else:
        out.lines(text.splitlines())
    return 0


def _show_proofs(out: Out, proofs: tuple[Proof, ...]) -> None:
    """One row for each rule and attempt, those that landed where the kernel should hold first."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for proof in proofs:
        rows.setdefault((_outcome(proof), proof.rule, proof.attempt), []).append(proof.subject)
    shown = [
        (outcome, rule, kind, _few(tuple(paths))) for (outcome, rule, kind), paths in sorted(rows.items())
    ]
    for line in words.columns(shown, ("proof", "rule", "tried", "on")) if shown else ():
        style = "green" if line.startswith("held") else "bold red" if line.startswith("LANDED") else ""
        out.lines(["  " + (out.paint(line, style) if style else line)])


def _outcome(proof: Proof) -> str:
    if not proof.unfenced:
        return "proves nothing"
    if proof.held:
        return "held"
    return "LANDED" if proof.broken else "open, as said"


def _few(names: tuple[str, ...]) -> str:
    """The first one or two of several; --json has them all."""
    listed = ", ".join(words.shown(name) for name in names[:2])
    return listed if len(names) <= 2 else f"{listed} and {len(names) - 2} more"


def _as_json(found: Diagnosis) -> dict[str, object]:
    return {
        "version": 1,
        "capabilities": dict(found.capabilities),
        "restricted": found.restricted,
        "workspace": list(found.workspace),
        "engine": found.report.engine,
        "detail": found.report.detail,
        "rules": [
            {
                "rule": held.rule.id,
                "source": held.rule.source,
                "line": held.rule.line or None,
                "subject": held.subject,
                "strength": str(held.strength),
                "why": held.why,
                "boundary": held.boundary,
            }
            for held in found.report.rules
        ],
        "short": [held.rule.id for held in found.short],
        "proofs": [{**proof._asdict(), "outcome": _outcome(proof)} for proof in found.proofs],
        "hard_linked": list(found.linked),
        "notes": list(found.notes),
        "not_fenced": ["network", "environment secrets", "CPU and memory"],
    }
