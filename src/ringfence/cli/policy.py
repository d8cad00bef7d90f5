"""policy show, check, schema, trust."""

from __future__ import annotations

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.cli.output import Out
from ringfence.errors import EXIT_OK, UsageError
from ringfence.render import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags


@click.group()
def policy() -> None:
    """Show, check and trust policy files.

    \b
    Examples:
      ringfence policy show --workspace .
      ringfence policy check
      ringfence policy trust ringfence.toml
    """


@policy.command("show")
@fence_options
@json_option
def show(flags: Flags, as_json: bool) -> int:
    """The merged policy: every value with the place that set it, and every entry that was left out.

    \b
    Example:
      ringfence policy show --workspace . --json
    """
    from ringfence.pipelines import policy as pipeline

    rows = pipeline.rows(pipeline.load_here(flags))
    out = Out(as_json)
    if as_json:
        out.json({"version": 1, "rows": [row._asdict() for row in rows]})
        return EXIT_OK
    table = [
        (row.what, words.shown(row.name), row.value, f"{row.source}:{row.line}" if row.line else row.source)
        for row in rows
    ]
    out.lines(words.columns(table, ("what", "name", "value", "from")))
    return EXIT_OK


@policy.command("check")
@fence_options
@json_option
def check(flags: Flags, as_json: bool) -> int:
    """Read every policy file and run its [[test]] entries. Exit 1 if one fails, 2 if a file is wrong.

    \b
    Example:
      ringfence policy check --policy ci/ringfence.toml
    """
    from ringfence.pipelines import policy as pipeline

    done = pipeline.check(flags)
    out = Out(as_json)
    if as_json:
        tests = [
            {
                "path": o.test.path,
                "op": str(o.test.op),
                "expect": str(o.test.expect),
                "passed": o.passed,
                "place": str(o.test.place),
                "decision": words.decision_json(o.test.path, o.decision),
            }
            for o in done.outcomes
        ]
        out.json({"version": 1, "files": list(done.files), "notes": list(done.notes), "tests": tests})
        return done.status
    out.lines(f"read  {words.shown(path)}" for path in done.files)
    if not done.files:
        out.lines(["no policy file was found; flags, environment and defaults are all there is"])
    out.lines(f"note  {note}" for note in done.notes)
    for outcome in done.outcomes:
        word = out.paint("ok  ", "green") if outcome.passed else out.paint("FAIL", "bold red")
        out.lines([f"{word}  {outcome}"])
    return done.status


@policy.command("schema")
def schema() -> int:
    """The policy file's JSON Schema, for editors.

    \b
    Example:
      ringfence policy schema > ringfence.schema.json
    """
    from ringfence.pipelines import policy as pipeline

    Out(True).json(pipeline.schema())
    return EXIT_OK


@policy.command("trust")
@click.option("--forget", is_flag=True, help="take the acceptance back")
@click.option("--dry-run", is_flag=True, help="only show what the file would let in")
@json_option
@click.argument("file", type=click.Path(), default=".")
def trust(forget: bool, dry_run: bool, as_json: bool, file: str) -> int:
    """Accept FILE as it stands now, so that it may also widen the fence. Any later change needs it again.

    A policy file comes with a clone; until its owner accepts it, it can only narrow. What it widens is listed.

    \b
    Examples:
      ringfence policy trust --dry-run
      ringfence policy trust ringfence.toml
    """
    if forget and dry_run:
        raise UsageError("--forget and --dry-run do not go together", "name one of them")
    from ringfence.pipelines import policy as pipeline

    done = pipeline.trust_file(file, forget=forget, dry_run=dry_run)
    out = Out(as_json)
    if as_json:
        lets_in = [{"line": line, "entry": entry} for line, entry in done.lets_in]
        trusted = not forget and not dry_run
        out.json(
            {"version": 1, "file": done.path, "trusted": trusted, "changed": done.changed, "lets_in": lets_in}
        )
        return EXIT_OK
    name = words.shown(done.path)
    verb = "no longer trusted" if forget else "nothing was changed" if dry_run else "trusted as it stands now"
    out.lines([f"{name}: {verb}{'' if done.changed or dry_run else ' (already so)'}"])
    if not forget:
        verb = "would let in" if dry_run else "lets in"
        out.lines(f"  {verb}  {name}:{line}  {entry}" for line, entry in done.lets_in)
        if not done.lets_in:
            out.lines(["  it widens nothing: all of it counts without being trusted"])
    return EXIT_OK
