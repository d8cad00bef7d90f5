"""render and launch."""

from __future__ import annotations

import sys
from typing import Any

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out
from ringfence.errors import UsageError
from ringfence.model import Lane, Mode, Posture
from ringfence.pipelines.confine import ENGINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.policy.asked import Flags


def _axes(command: Callable[..., Any]) -> Callable[..., Any]:
    """--mode, --lane and the posture. No choice has a fallback."""
    made = click.option("--unattended", is_flag=True, help="nobody is there: the fence is the boundary")(
        command
    )
    made = click.option("--attended", is_flag=True, help="a person may approve while the session runs")(made)
    lane = click.Choice([lane.value for lane in Lane])
    made = click.option(
        "--lane", type=lane, default="full", show_default=True, help="what the session is for"
    )(made)
    mode = click.Choice([mode.value for mode in Mode])
    return click.option("--mode", type=mode, default="power", show_default=True, help="what it may use")(made)


def _posture(attended: bool, unattended: bool) -> Posture | None:
    if attended and unattended:
        raise UsageError("--attended and --unattended contradict each other", "give one of them")
    if attended or unattended:
        return Posture.UNATTENDED if unattended else Posture.ATTENDED
    return None


@click.command()
@_axes
@click.option(
    "--part",
    type=click.Choice(["flags", "env", "config", "agent", "prompt", "hooks", "promises", "holes"]),
    help="this part alone",
)
@click.option(
    "--snapshot",
    type=click.File("r", encoding="utf-8", errors="surrogateescape"),
    help="a turn's context snapshot",
)
@json_option
@click.argument("agent")
def render(
    mode: str,
    lane: str,
    attended: bool,
    unattended: bool,
    part: str | None,
    snapshot: Any,
    as_json: bool,
    agent: str,
) -> int:
    """Print what AGENT is given for a mode, a lane and a posture: flags, environment, transient files, the native agent
    definition, the prompt of every turn, the hook's words, and how strongly each promise is held.

    Nothing is written and nothing is started. Words in braces stand for folders that `launch` makes.

    \b
    Examples:
      ringfence render claude --mode safe
      ringfence render codex --lane reviewer --unattended --part promises
      ringfence render pi --part prompt --snapshot context.md
    """
    from ringfence.pipelines import compose, rendering

    ask = rendering.ask_of(mode, lane, _posture(attended, unattended) or Posture.ATTENDED)
    made = rendering.rendered(agent, ask, compose.process_environment())
    context = snapshot.read() if snapshot is not None else ""
    out = Out(as_json)
    if as_json:
        whole = rendering.as_json(agent, ask, made, context)
        key = {"agent": "agent_definition"}.get(part or "", part or "")
        out.json({"version": 1, key: whole[key]} if part else whole)
        return 0
    if part:
        out.lines(rendering.part_lines(part, agent, made, context))
        return 0
    out.lines([f"{agent}: {ask.mode} mode, {ask.lane} lane, {ask.posture}"])
    for name in rendering.PARTS:
        lines = rendering.part_lines(name, agent, made, context)
        if lines:
            out.lines(["", out.paint(name, "bold"), *[f"  {line}" for line in lines]])
    for note in made.notes:
        out.lines(["", f"note: {note}"])
    return 0


@click.command()
@fence_options
@_axes
@click.option("--report", is_flag=True, help="say on stderr which engine holds what, before the agent starts")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="take this engine or none")
@click.argument("agent")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def launch(
    flags: Flags,
    mode: str,
    lane: str,
    attended: bool,
    unattended: bool,
    report: bool,
    engine: str,
    agent: str,
    args: tuple[str, ...],
) -> int:
    """Run AGENT in a mode and a lane, with its hook wired for this session only and the whole process in the fence.

    The agent's own settings are never written. Without a terminal the session is unattended. What stands behind `--`
    goes to the agent.

    \b
    Examples:
      ringfence launch claude --workspace .
      ringfence launch codex --workspace . --mode safe
      ringfence launch gemini --workspace . --lane reviewer --unattended -- -p "review the last commit"
    """
    from ringfence.pipelines.launch import Wish, start

    wish = Wish(mode, lane, _posture(attended, unattended), sys.stdin.isatty() and sys.stdout.isatty())
    return start(flags, agent, wish, list(args), engine=engine, report=report)
