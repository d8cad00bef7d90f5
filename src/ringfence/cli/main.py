"""The command group, its errors and its exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback

import click

from ringfence import __version__
from ringfence.cli.audit import audit
from ringfence.cli.doctor import doctor
from ringfence.cli.doors import hook_help, run_help, shell_help
from ringfence.cli.install import install, status, uninstall
from ringfence.cli.lanes import launch, render
from ringfence.cli.options import refuse_retired
from ringfence.cli.output import Out
from ringfence.cli.policy import policy
from ringfence.cli.replay import replay
from ringfence.cli.trying import review, try_help
from ringfence.cli.verdicts import check, explain
from ringfence.errors import EXIT_BUG, EXIT_OK, EXIT_REFUSED, EXIT_USAGE, FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = """\b
Examples:
  ringfence run --workspace . -- make test
  ringfence try --workspace . -- npm install
  ringfence check --workspace . --op create ../notes.txt
  ringfence install claude --workspace .
  ringfence doctor

Exit status: 0 all allowed or done, 1 something refused, 2 usage or policy error, 3 the fence is not strong enough
(nothing was run), 70 a bug of ours. `run` and `shell` pass the program's own status through.
"""


# For the list of commands, which cuts longer lines off: at most 60 characters each.
_IN_ONE_LINE = {
    "check": "Would this path or command be allowed?",
    "explain": "Show each step to a verdict.",
    "audit": "Judge patches, archives, lists, transcripts, or a tree.",
    "replay": "What would change under another policy?",
    "policy": "Show, check and trust policy files.",
    "doctor": "What this machine can hold, rule by rule, and the proof.",
    "run": "Run a program inside the fence.",
    "shell": "A shell inside the fence.",
    "try": "Run a program on a throwaway layer; list what it changed.",
    "review": "The throwaway layers of reviewers' sessions.",
    "hook": "Answer an agent's pre-tool hook.",
    "install": "Wire the fence into an agent's own settings.",
    "uninstall": "Take the fence out of an agent's settings again.",
    "status": "Whether an agent's hook is installed and bites.",
    "render": "Print what an agent is given for a mode and a lane.",
    "launch": "Run an agent in a mode and a lane, the whole of it fenced.",
}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="ringfence")
def cli() -> None:
    """Keep AI coding agents inside their workspace.

    One policy and one decision at three doors: the agents' own hooks, a shell that the kernel holds, and an audit of
    proposed paths. A hook judges a string before the agent opens it; only the engine holds while a program runs.
    """


@cli.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Example:
      ringfence completion bash > ~/.local/share/bash-completion/completions/ringfence
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click.Choice has refused it
        raise FenceError(f"no completion for {shell}")
    Out(False).lines([made(cli, {}, "ringfence", "_RINGFENCE_COMPLETE").source()])


for _command in (
    check,
    explain,
    audit,
    replay,
    policy,
    doctor,
    run_help,
    shell_help,
    try_help,
    review,
    hook_help,
    install,
    uninstall,
    status,
    render,
    launch,
):
    _command.short_help = _IN_ONE_LINE[str(_command.name)]
    cli.add_command(_command)


def _stand_in_for_closed_streams() -> None:
    """`>&-`: Python has no stream then, and the next file that is opened would get the stream's number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - as long as we run


def main(words: Sequence[str]) -> int:
    """Run one command and turn everything that can go wrong into a message and an exit status."""
    _stand_in_for_closed_streams()
    try:
        refuse_retired(list(words))
        result = cli.main(args=list(words), prog_name="ringfence", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.Abort:
        return 130
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except FenceError as error:
        sys.stderr.write(f"ringfence: {error}\n")
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_REFUSED
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:  # help and usage, which click itself prints
            return _bug()
        sys.stderr.write(f"ringfence: {error.strerror}\n  what was written is not whole\n")
        return EXIT_USAGE
    except Exception:  # noqa: BLE001 - the outermost door: a bug gets its own exit status
        return _bug()
    return result if isinstance(result, int) else EXIT_OK


def _bug() -> int:
    sys.stderr.write("ringfence: this is a bug of ringfence; please report what follows\n")
    traceback.print_exc()
    return EXIT_BUG
