"""check, explain."""

from __future__ import annotations

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out
from ringfence.errors import EXIT_OK, EXIT_REFUSED, UsageError
from ringfence.model import Op, Verdict
from ringfence.render import commands, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.pipelines.explain import Explained
    from ringfence.policy.asked import Flags

_OPS = click.Choice([str(op) for op in Op])


def _path(text: str) -> str:
    """An argument as UTF-8 text with surrogateescape, whatever the locale."""
    import os

    return os.fsencode(text).decode("utf-8", "surrogateescape")


@click.command()
@fence_options
@click.option("--op", type=_OPS, default="write", show_default=True, help="what would be done to each PATH")
@click.option(
    "--cwd", metavar="DIR", help="folder that relative paths are joined to (default: the current one)"
)
@click.option("--command", metavar="TEXT", help="judge a shell command instead of paths")
@click.option("--shell", type=click.Choice(["bash", "zsh", "sh"]), default="bash", help="dialect of TEXT")
@json_option
@click.argument("paths", nargs=-1, type=click.UNPROCESSED)
def check(
    flags: Flags,
    op: str,
    cwd: str | None,
    command: str | None,
    shell: str,
    as_json: bool,
    paths: tuple[str, ...],
) -> int:
    """Would this be allowed? Exit 0 if everything is, 1 if anything is refused or would be asked.

    The answer is about this moment: only `ringfence run` and `ringfence shell` hold while a program runs.

    \b
    Examples:
      ringfence check --workspace . src/app.py ../notes.txt
      ringfence check --workspace . --op delete .
      ringfence check --workspace . --command 'cp a.txt ../b.txt'
    """
    from ringfence.pipelines.check import check as judge
    from ringfence.pipelines.check import fence_here

    if not paths and command is None:
        raise UsageError("nothing to check", "name paths, or give --command TEXT")
    if paths and command is not None:
        raise UsageError("paths and --command do not go together", "ask one of them at a time")
    fence, at = fence_here(flags, cwd)
    done = judge(fence, [_path(p) for p in paths], command, Op(op), at, shell)
    out = Out(as_json)
    for note in fence.policy.notes:
        out.note(f"note: {note}")
    if as_json:
        out.json(
            {
                "version": 1,
                "restricted": fence.policy.restricted,
                "paths": [words.decision_json(asked, decision) for asked, decision in done.paths],
                "command": words.command_json(done.command) if done.command else None,
            }
        )
        return done.status
    for asked, decision in done.paths:
        out.lines(words.decision_lines(asked, decision, out.paint))
    if done.command:
        out.lines(words.command_lines(done.command, out.paint))
    if not fence.policy.restricted:
        out.note("note: no workspace is named, so nothing is fenced; give --workspace DIR")
    return done.status


@click.command()
@fence_options
@click.option("--op", type=_OPS, default="write", show_default=True, help="what would be done to PATH")
@click.option("--cwd", metavar="DIR", help="folder that a relative PATH is joined to")
@click.option("--command", metavar="TEXT", help="explain a shell command, statement by statement")
@click.option("--shell", type=click.Choice(["bash", "zsh", "sh"]), default="bash", help="dialect of TEXT")
@click.option("--last", is_flag=True, help="explain the last refusal in the decision log")
@json_option
@click.argument("path", required=False, type=click.UNPROCESSED)
def explain(
    flags: Flags,
    op: str,
    cwd: str | None,
    command: str | None,
    shell: str,
    last: bool,
    as_json: bool,
    path: str | None,
) -> int:
    """Show each step to a verdict: expansion, every link on the way, the zones, the rule that won, the smallest grant.

    \b
    Examples:
      ringfence explain --workspace . build/out/../../x
      ringfence explain --workspace . --command 'cd build && cp ../a.txt ../../b.txt'
      ringfence explain --last
    """
    from ringfence.pipelines import explain as pipeline
    from ringfence.pipelines.check import fence_here

    if sum((path is not None, command is not None, last)) != 1:
        raise UsageError("name one thing to explain: PATH, --command TEXT or --last")
    out = Out(as_json)
    fence, at = fence_here(flags, cwd)
    if last:
        from ringfence.pipelines.journal import last_refusal

        entry = last_refusal(fence.policy)
        if entry is None:
            out.note("ringfence: the decision log holds no refusal")
            return EXIT_REFUSED
        if as_json:
            out.json({"version": 1, "entry": entry})
        else:
            out.lines(
                f"{key:9}{words.shown(str(value))}" for key, value in entry.items() if value not in ("", None)
            )
        return EXIT_OK
    if command is not None:
        from ringfence.pipelines.explain_command import explain as explain_text

        read = explain_text(fence, command, at, shell)
        if as_json:
            out.json(commands.as_json(read))
        else:
            out.lines(commands.lines(read, out.paint))
        return EXIT_OK if read.decision.verdict is Verdict.ALLOW else EXIT_REFUSED
    done = pipeline.explain(fence, _path(path or ""), Op(op), at)
    if as_json:
        out.json(_explained_json(done))
    else:
        out.lines(_explained_lines(done, out))
    return EXIT_OK if done.decision.verdict is Verdict.ALLOW else EXIT_REFUSED


def _explained_lines(done: Explained, out: Out) -> list[str]:
    lines = [f"asked:     {words.shown(done.asked)}  (to {done.op}, from {words.shown(done.cwd)})"]
    if done.spelled:
        lines.append(f"spelled:   {words.shown(done.spelled)}")
    lines.extend(f"link:      {words.shown(hop.link)} -> {words.shown(hop.target)}" for hop in done.hops)
    if done.missing_from:
        lines.append(f"missing:   {words.shown(done.missing_from)} and what follows does not exist yet")
    if done.decision.path:
        lines.append(f"lands at:  {words.shown(done.decision.path)}")
    if done.rows:
        lines.append("zones:")
        rows = [
            (
                "*" if row.governs else " ",
                row.access,
                row.kind,
                words.shown(row.root),
                row.rule,
                "" if row.applies else "(not on this path)",
            )
            for row in done.rows
        ]
        lines.extend("  " + line for line in words.columns(rows, ("", "access", "kind", "root", "rule", "")))
    lines.extend(words.decision_lines(done.asked, done.decision, out.paint))
    if done.grant:
        lines.append("smallest grant (a person's to make):")
        lines.extend("  " + line for line in done.grant.split("\n"))
    return lines


def _explained_json(done: Explained) -> dict[str, object]:
    return {
        "version": 1,
        "asked": done.asked,
        "op": str(done.op),
        "cwd": done.cwd,
        "home": done.home,
        "spelled": done.spelled,
        "links": [{"link": hop.link, "target": hop.target} for hop in done.hops],
        "missing_from": done.missing_from,
        "zones": [row._asdict() for row in done.rows],
        "decision": words.decision_json(done.asked, done.decision),
        "grant": done.grant,
    }
