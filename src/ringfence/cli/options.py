"""The fence's flags for click; the hot doors read the same ones by hand (pipelines/words.py)."""

from __future__ import annotations

import functools
from typing import Any

import click

from ringfence.errors import UsageError
from ringfence.pipelines.words import RETIRED, SWITCHES, VALUED
from ringfence.policy.asked import Flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def fence_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the fence's flags; the command gets them as one `flags`."""

    @functools.wraps(command)
    def call(
        *,
        workspace: tuple[str, ...],
        protect: tuple[str, ...],
        policy: str | None,
        restrict_paths: bool,
        no_restrict_paths: bool,
        **rest: Any,
    ) -> Any:
        if restrict_paths and no_restrict_paths:
            raise UsageError(
                "--restrict-paths and --no-restrict-paths contradict each other", "give one of them"
            )
        return command(flags=Flags(workspace, protect, policy, restrict_paths, no_restrict_paths), **rest)

    for name, text in reversed(list(SWITCHES.items())):
        call = click.option(name, is_flag=True, help=text)(call)
    call = click.option("--policy", metavar="FILE", type=click.Path(), help=VALUED["--policy"])(call)
    for name in ("--protect", "--workspace"):
        call = click.option(name, metavar="DIR", multiple=True, type=click.Path(), help=VALUED[name])(call)
    return call


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="one JSON document, schema-stable")(command)


def refuse_retired(words: list[str]) -> None:
    """Old spellings fail fast: ignoring one would run an agent wider than its owner believes."""
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name in RETIRED:
            raise UsageError(f"{name} is no longer an option", RETIRED[name])
