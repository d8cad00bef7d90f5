"""replay."""

from __future__ import annotations

import sys

import click

from ringfence.cli.options import fence_options, json_option
from ringfence.errors import EXIT_OK, EXIT_REFUSED, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags


@click.command()
@fence_options
@click.option("--under", metavar="FILE", type=click.Path(), help="the policy file to try")
@click.option(
    "--under-workspace", metavar="DIR", multiple=True, type=click.Path(), help="the workspace to try"
)
@click.option(
    "--under-protect", metavar="DIR", multiple=True, type=click.Path(), help="the protected checkout to try"
)
@click.option(
    "--format", "named", metavar="NAME", default="", help="read every input as this (see audit --formats)"
)
@click.option("--all", "everything", is_flag=True, help="show what stays as it is, too")
@json_option
@click.argument("files", nargs=-1, type=click.Path())
def replay(
    flags: Flags,
    under: str | None,
    under_workspace: tuple[str, ...],
    under_protect: tuple[str, ...],
    named: str,
    everything: bool,
    as_json: bool,
    files: tuple[str, ...],
) -> int:
    """What would change under another policy? Recorded decisions or transcripts, judged under both.

    FILES are what `audit` reads; without any, the decision log. That log holds refusals and warnings only: what a new
    policy would take away shows in transcripts. A logged verdict stays as it was logged, everything else is judged
    under the policy in force (the usual flags) and under the one to try. Exit 0 if nothing would change, 1 if anything.

    \b
    Examples:
      ringfence replay --workspace . --under stricter.toml ~/.claude/projects
      ringfence replay --workspace . --under-workspace ./packages/app ~/.codex/sessions
      ringfence replay --under new.toml
    """
    from ringfence.cli.audit import INTERRUPTED
    from ringfence.cli.output import Out
    from ringfence.cli.sink import Sink
    from ringfence.pipelines.check import fence_here
    from ringfence.pipelines.inputs import Skipped, find, read
    from ringfence.pipelines.replay import default_inputs, kind_of
    from ringfence.pipelines.replay import replay as pipeline
    from ringfence.proposals import ReplaySummary
    from ringfence.readers.formats import FORMATS
    from ringfence.readers.options import Options
    from ringfence.render import replayed

    if under is None and not under_workspace and not under_protect:
        raise UsageError("nothing to try", "give --under FILE, --under-workspace DIR or --under-protect DIR")
    if named and named not in FORMATS:
        raise UsageError(f"no format is called {named!r}", f"known: {', '.join(FORMATS)}")
    before, _ = fence_here(flags)
    tried = flags._replace(
        policy=flags.policy if under is None else under,
        workspace=under_workspace or flags.workspace,
        protect=(*flags.protect, *under_protect),
    )
    after, _ = fence_here(tried)
    inputs = find(files or default_inputs(before)) if files or default_inputs(before) else []
    if not inputs:
        raise UsageError("there is no decision log yet", "name transcripts or other records to replay")
    skipped = 0

    def told(item: Skipped) -> None:
        nonlocal skipped
        skipped += 1
        sys.stderr.write(f"note: passed over {item.name}: {item.why}\n")

    paint = Out(False).paint
    counts = dict.fromkeys(("same", "lost", "gained", "other", "malformed"), 0)
    complete = True
    with Sink(late=False) as sink:
        try:
            for change in pipeline(read(inputs, Options(), named, told, lambda _size: None), before, after):
                kind = kind_of(change)
                counts[kind] += 1
                if kind != "same" or everything:
                    sink.put(
                        replayed.change_json(change, kind)
                        if as_json
                        else replayed.change_text(change, kind, paint)
                    )
        except KeyboardInterrupt:
            complete = False
        judged = sum(counts.values()) - counts["malformed"]
        summary = ReplaySummary(judged=judged, skipped=skipped, complete=complete, **counts)
        sink.finish(replayed.replay_json(summary) if as_json else replayed.replay_text(summary))
    if not complete:
        return INTERRUPTED
    return EXIT_OK if counts["same"] == judged and not counts["malformed"] else EXIT_REFUSED
