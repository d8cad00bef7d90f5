"""install, uninstall, status."""

from __future__ import annotations

from typing import Any

import click

from ringfence.agents import registry
from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.pipelines.install import Installed
    from ringfence.policy.asked import Flags

_AGENT = click.argument("agent", type=click.Choice(registry.names()))


def _scope(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--scope",
        type=click.Choice(["project", "user"]),
        default="project",
        show_default=True,
        help="project: the workspace's own settings of the agent; user: those in the home folder, read wherever the "
        "agent starts. docs/install.md has the files",
    )(command)


@click.command()
@fence_options
@_scope
@click.option(
    "--trust",
    "give_trust",
    is_flag=True,
    help="have the agent trust the workspace as a whole, where it reads no project hooks else (Codex, Gemini CLI, Pi): "
    "other people's settings in it count then too",
)
@json_option
@_AGENT
def install(flags: Flags, scope: str, give_trust: bool, as_json: bool, agent: str) -> int:
    """Wire the fence into AGENT's own settings, and prove it with a refused canary through what was installed.

    Idempotent; other entries of the file stay byte for byte; `uninstall` brings back what stood there.

    \b
    Examples:
      ringfence install claude --workspace .
      ringfence install codex --workspace ~/src/app --protect ~/src/app-main --scope user
      ringfence install pi --workspace . --trust
    """
    from ringfence.pipelines.install import install as pipeline

    done = pipeline(agent, flags, scope, give_trust)
    verb = "installed in" if done.changed else "already installed in"
    return _show(done, agent, verb, scope, as_json)


@click.command()
@fence_options
@_scope
@json_option
@_AGENT
def uninstall(flags: Flags, scope: str, as_json: bool, agent: str) -> int:
    """Take the fence out of AGENT's settings again.

    \b
    Example:
      ringfence uninstall claude --workspace .
    """
    from ringfence.pipelines.install import uninstall as pipeline

    done = pipeline(agent, flags, scope)
    return _show(done, agent, "removed from" if done.changed else "was not installed in", scope, as_json)


@click.command()
@fence_options
@_scope
@json_option
@_AGENT
def status(flags: Flags, scope: str, as_json: bool, agent: str) -> int:
    """Whether AGENT's hook is installed and bites: the canaries are run again. Exit 1 if anything is wrong.

    \b
    Example:
      ringfence status claude --workspace .
    """
    from ringfence.pipelines.install import status as pipeline

    return _show(pipeline(agent, flags, scope), agent, "settings:", scope, as_json, holes=True)


def _show(done: Installed, agent: str, verb: str, scope: str, as_json: bool, *, holes: bool = False) -> int:
    from ringfence.agents.holes import HOLES, lines

    out = Out(as_json)
    if as_json:
        out.json(
            {
                "version": 1,
                "agent": agent,
                "scope": scope,
                "settings": done.path,
                "changed": done.changed,
                "workspace": list(done.workspace),
                "checks": [check._asdict() for check in done.checks],
                **({"holes": [hole._asdict() for hole in HOLES.get(agent, ())]} if holes else {}),
            }
        )
        return done.status
    out.lines([f"{agent}: {verb} {done.path}"])
    for check in done.checks:
        word = out.paint("ok  ", "green") if check.ok else out.paint("FAIL", "bold red")
        if check.ok is None:
            word = out.paint("?   ", "yellow")
        out.lines([f"  {word} {check.name} [{check.strength}]: {check.detail}"])
    if done.note and done.checks:
        out.lines([f"  note: {done.note}"])
    if holes:
        out.lines(["  what the hook does not see or cannot stop:", *[f"    {line}" for line in lines(agent)]])
    return done.status
