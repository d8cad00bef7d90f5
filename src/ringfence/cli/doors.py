"""Help for the three hot doors. Their words are read by pipelines/words.py; click only documents them here."""

from __future__ import annotations

import click

from ringfence.cli.options import fence_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.texts import Flags

_REST = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command("run", context_settings=_REST)
@fence_options
@click.option("--report", is_flag=True, help="say on stderr which engine holds what, before the program starts")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
def run_help(flags: Flags, report: bool, program: tuple[str, ...]) -> int:
    """Run PROGRAM inside the fence; the kernel holds it and everything it starts.

    Arguments, standard streams, signals, terminal and exit status pass through unchanged.

    \b
    Examples:
      ringfence run --workspace . -- make test
      ringfence run --workspace ~/src/app --protect ~/src/app-main -- claude
    """
    from ringfence.pipelines.run import start

    return start(flags, list(program), report=report)


@click.command("shell", context_settings=_REST)
@fence_options
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def shell_help(flags: Flags, words: tuple[str, ...]) -> int:
    """A shell inside the fence: -c TEXT, -lc TEXT, a script file, or standard input.

    Can stand in as SHELL. The real shell is bash, or the one that RINGFENCE_SHELL… names.

    \b
    Examples:
      ringfence shell --workspace . -c 'make > build.log'
      ringfence shell --workspace . script.sh one two
      echo 'date > now' | ringfence shell --workspace .
    """
    from ringfence.pipelines.shell import start

    return start(flags, list(words))


@click.command("hook", context_settings=_REST)
@click.argument("agent")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook_help(agent: str, words: tuple[str, ...]) -> int:
    """Answer AGENT's pre-tool hook: its payload on standard input, its answer on standard output.

    Written into the agent's settings by `ringfence install`. Whatever breaks is answered with a refusal.

    \b
    Example:
      ringfence hook claude --workspace . < payload.json
    """
    from ringfence.pipelines.hook import run

    return run([agent, *words])
