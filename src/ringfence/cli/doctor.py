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
@json_option
def doctor(flags: Flags, engine: str, as_json: bool) -> int:
    """What this machine can hold, rule by rule, proved by trying to write outside.

    Exit 0 if the fence bites and every rule reaches the policy's minimum, 3 if not.

    \b
    Examples:
      ringfence doctor --workspace .
      ringfence doctor --workspace . --json
    """
    from ringfence.pipelines.doctor import by_strength, diagnose

    found = diagnose(flags, engine)
    out = Out(as_json)
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
    for proof in found.proofs:
        if not proof.unfenced:
            out.lines([f"  proof: {proof.name} does not land without the fence either, so it proves nothing"])
        else:
            verdict = out.paint("refused", "green") if proof.held else out.paint("LANDED", "bold red")
            out.lines([f"  proof: {proof.name}: lands without the fence, {verdict} inside it"])
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
        "proofs": [proof._asdict() for proof in found.proofs],
        "hard_linked": list(found.linked),
        "notes": list(found.notes),
        "not_fenced": ["network", "environment secrets", "CPU and memory"],
    }
