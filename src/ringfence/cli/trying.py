"""Help for `try`, which pipelines/words.py reads, and the commands on reviewers' layers."""

from __future__ import annotations

import os

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out
from ringfence.errors import EXIT_OK
from ringfence.render import changes as render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags

_REST = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command("try", context_settings=_REST)
@fence_options
@json_option
@click.option("--keep", is_flag=True, help="apply the allowed changes to the real tree")
@click.option("--ask", is_flag=True, help="list, then ask on the terminal whether to apply them")
@click.option("--diff", is_flag=True, help="show a unified diff of text files as well")
@click.option("--export", metavar="FILE", default="", help="write that diff to FILE")
@click.option("--no-attempts", is_flag=True, help="do not listen for writes outside (faster for huge builds)")
@click.option(
    "--on", type=click.Choice(["auto", "memory", "disk"]), default="auto", help="where the layer lies"
)
@click.option("--size", metavar="SIZE", default="", help="how much it may hold: 512M, 2G")
@click.option("--report", is_flag=True, help="say on stderr what holds, before the program starts")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
def try_help(flags: Flags, as_json: bool, program: tuple[str, ...], **more: object) -> int:
    """Run PROGRAM on a throwaway layer and list what it would have changed, each with its verdict.

    Nothing lands unless --keep or --ask says so. Writes outside the workspace are refused, and listed. Exit 0: all that
    it did is allowed; 1: something is not, or could not be applied. The program's own status is in the report.

    \b
    Examples:
      ringfence try --workspace . -- npm install left-pad
      ringfence try --workspace . --keep -- make format
      ringfence try --workspace . --json -- ./unknown.sh
    """
    from ringfence.pipelines.trying import start, wish_of

    options = {f"--{key.replace('_', '-')}": str(value) for key, value in more.items() if value}
    if as_json:
        options["--json"] = "1"
    return start(flags, list(program), wish_of(options))


@click.group()
def review() -> None:
    """The throwaway layers of reviewers' sessions.

    A reviewer's shell (`ringfence shell --lane reviewer --session NAME`) writes into a layer of its session: each call
    sees what earlier ones wrote, and nothing lands.

    \b
    Examples:
      ringfence review list
      ringfence review diff --session claude-1234
      ringfence review drop --session claude-1234
    """


_session = click.option(
    "--session", metavar="NAME", default="", help="the session (default: the only one there is)"
)


@review.command("list")
@json_option
def review_list(as_json: bool) -> int:
    """The sessions that have a layer.

    \b
    Example:
      ringfence review list --json
    """
    from ringfence.pipelines.layers import shown_size
    from ringfence.pipelines.review import listed

    found = listed()
    out = Out(as_json)
    if as_json:
        out.json({"version": 1, "layers": [one._asdict() for one in found]})
    elif not found:
        out.note("no session has a layer; ringfence shell --lane reviewer makes one")
    else:
        out.lines(
            f"{one.session}  {shown_size(one.used)} of {shown_size(one.size)} in {one.on}, "
            f"idle {one.idle:.0f} s: {', '.join(one.roots)}"
            for one in found
        )
    return EXIT_OK


@review.command("diff")
@fence_options
@_session
@json_option
@click.option("--stat", is_flag=True, help="the list alone, without the diff")
def review_diff(flags: Flags, session: str, as_json: bool, stat: bool) -> int:
    """What a session's layer holds against the real tree: the list, and a unified diff of text files.

    \b
    Example:
      ringfence review diff --session claude-1234 --stat
    """
    from ringfence.pipelines.review import shown

    found = shown(flags, session, with_diff=not stat)
    out = Out(as_json)
    if as_json:
        value = [
            {
                "session": one.session,
                "changes": [render.change_json(change) for change in one.changes],
                "unread": [{"path": path, "why": why} for path, why in one.unread],
                "diff": one.diff,
            }
            for one in found
        ]
        out.json({"version": 1, "layers": value})
        return EXIT_OK
    for one in found:
        out.lines([f"session {one.session}: {len(one.changes)} changes, none of them on the real tree"])
        out.lines(render.lines(one.changes, _near))
        out.lines(f"  COULD NOT BE READ BACK: {path}: {why}" for path, why in one.unread)
        if one.diff:
            out.lines(one.diff.rstrip("\n").split("\n"))
    return EXIT_OK


@review.command("drop")
@_session
@json_option
def review_drop(session: str, as_json: bool) -> int:
    """Throw a session's layer away and end what still runs in it.

    \b
    Example:
      ringfence review drop --session claude-1234
    """
    from ringfence.pipelines.review import dropped

    found = dropped(session)
    out = Out(as_json)
    if as_json:
        out.json({"version": 1, "dropped": [{"session": name, "ended": ended} for name, ended in found]})
    else:
        out.lines(
            f"dropped the layer of {name}; {ended} {'process' if ended == 1 else 'processes'} ended"
            for name, ended in found
        )
    return EXIT_OK


def _near(path: str) -> str:
    base = os.getcwd().rstrip("/") + "/"
    return path.removeprefix(base)
