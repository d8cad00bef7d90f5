"""The command group, its errors and its exit codes."""

from __future__ import annotations

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


@cli.command()
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
    click.echo(made(cli, {}, "ringfence", "_RINGFENCE_COMPLETE").source())


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
    cli.add_command(_command)


def main(words: Sequence[str]) -> int:
    """Run one command and turn everything that can go wrong into a message and an exit status."""
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
    except Exception:  # noqa: BLE001 - the outermost door: a bug gets its own exit status
        sys.stderr.write("ringfence: this is a bug of ringfence; please report what follows\n")
        traceback.print_exc()
        return EXIT_BUG
    return result if isinstance(result, int) else EXIT_OK
