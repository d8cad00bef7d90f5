"""Help for the three hot doors. Their words are read by pipelines/words.py; click only documents them here."""

from __future__ import annotations

import click

from ringfence.cli.options import fence_options
from ringfence.model import Lane
from ringfence.pipelines.confine import ENGINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags

LANES = tuple(lane.value for lane in Lane)
_REST = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command("run", context_settings=_REST)
@fence_options
@click.option(
    "--report", is_flag=True, help="say on stderr which engine holds what, before the program starts"
)
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="take this engine or none")
@click.option(
    "--refusals",
    metavar="WHERE",
    default="",
    help="write each refusal as a JSON line to this file, or to this open descriptor (3 and up)",
)
@click.option(
    "--lane", type=click.Choice(LANES), default="full", help="reviewer: on a throwaway layer; nothing lands"
)
@click.option("--session", metavar="NAME", default="", help="keep the layer of a reviewer under this name")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
def run_help(
    flags: Flags, report: bool, engine: str, refusals: str, lane: str, session: str, program: tuple[str, ...]
) -> int:
    """Run PROGRAM inside the fence; the kernel holds it and everything it starts.

    Arguments, standard streams, signals, terminal and exit status pass through unchanged.

    \b
    Examples:
      ringfence run --workspace . -- make test
      ringfence run --workspace . --lane reviewer -- make check
      ringfence run --workspace ~/src/app --protect ~/src/app-main -- claude
      ringfence run --workspace . --refusals refused.jsonl -- make
    """
    from ringfence.pipelines.run import start

    return start(
        flags,
        list(program),
        report=report,
        engine=engine,
        refusals=refusals,
        lane=Lane(lane),
        keep_as=session,
    )


@click.command("shell", context_settings=_REST)
@fence_options
@click.option("--shell", metavar="PATH", default="", help="the real shell (default: bash, else sh)")
@click.option("--session", metavar="NAME", default="", help="share the temp folder of this session")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="take this engine or none")
@click.option(
    "--from", "root", metavar="DIR", default="", help="look for policy files from here, not from the cwd"
)
@click.option(
    "--lane", type=click.Choice(LANES), default="full", help="reviewer: on the session's throwaway layer"
)
@click.option(
    "--install-as", metavar="PATH", default="", help="write a program that can stand as SHELL, and end"
)
@click.option(
    "--refusals",
    metavar="WHERE",
    default="",
    help="write each refusal as a JSON line to this file, or to this open descriptor (3 and up)",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def shell_help(
    flags: Flags,
    shell: str,
    session: str,
    engine: str,
    root: str,
    lane: str,
    install_as: str,
    refusals: str,
    words: tuple[str, ...],
) -> int:
    """A shell inside the fence: -c TEXT, -lc TEXT, a script file, or standard input.

    The words behind the options reach the real shell unchanged.

    \b
    Examples:
      ringfence shell --workspace . -c 'make > build.log'
      ringfence shell --workspace . --lane reviewer --session r1 -c 'make check'
      ringfence shell --workspace . script.sh one two
      echo 'date > now' | ringfence shell --workspace .
      ringfence shell --workspace . --install-as ~/.local/bin/fenced-bash
    """
    from ringfence.pipelines.shell import start

    if install_as:
        from ringfence.pipelines.launchers import write_shell

        write_shell(install_as, flags, shell)
        return 0
    return start(
        flags,
        list(words),
        shell=shell,
        name=session,
        engine=engine,
        root=root,
        refusals=refusals,
        lane=Lane(lane),
    )


class _HookHelp(click.Command):
    """`hook AGENT --help` also says how to wire an agent that `install` does not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Exactly these words: `--help` among the words of an installed hook must stay a refusal.
        if args[1:] == ["--help"]:
            ctx.meta["agent"] = args[0]
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ringfence.agents import by_hand, holes

        agent = ctx.meta.get("agent", "")
        found = by_hand.lines(agent)
        if found:
            found += ["", "What the hook does not see or cannot stop:", *holes.lines(agent)]
        for line in found:
            formatter.write(f"{line}\n")


@click.command("hook", cls=_HookHelp, context_settings=_REST)
@click.argument("agent")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook_help(agent: str, words: tuple[str, ...]) -> int:
    """Answer AGENT's pre-tool hook: its payload on standard input, its answer on standard output.

    Written into the agent's settings by `ringfence install`, or by hand where that is not there (amp, cline, droid,
    goose, kiro, vscode, windsurf: `ringfence hook NAME --help` says how). Whatever breaks is answered with a refusal.

    \b
    Example:
      ringfence hook claude --workspace . < payload.json
    """
    from ringfence.pipelines.hook import run

    return run([agent, *words])
