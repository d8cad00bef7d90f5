"""audit."""

from __future__ import annotations

import sys

import click

from ringfence.cli.options import fence_options
from ringfence.cli.sink import Sink
from ringfence.errors import EXIT_OK, EXIT_REFUSED, UsageError
from ringfence.model import Op, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ringfence.pipelines.fence import Fence
    from ringfence.pipelines.tally import Tally
    from ringfence.policy.asked import Flags
    from ringfence.proposals import Finding, Summary
    from ringfence.readers.options import Options
    from ringfence.render.findings import Writer

INTERRUPTED = 130
_OUTPUTS = ("text", "jsonl", "sarif", "junit")
_OPS = click.Choice([str(op) for op in Op])
_EVERY = 4096  # findings between two looks at the progress bar


def _formats() -> list[str]:
    from ringfence.readers.formats import FORMATS

    return list(FORMATS)


@click.command()
@fence_options
@click.option(
    "--format", "named", metavar="NAME", default="", help="read every input as this (see --formats)"
)
@click.option("--formats", is_flag=True, help="list the formats that are read, and end")
@click.option(
    "--output",
    type=click.Choice(_OUTPUTS),
    default="text",
    show_default=True,
    help="how findings are written",
)
@click.option("--json", "as_json", is_flag=True, help="the same as --output jsonl")
@click.option("--all", "everything", is_flag=True, help="write what is allowed too")
@click.option(
    "--op",
    type=_OPS,
    default="write",
    show_default=True,
    help="what would be done to a path that does not say",
)
@click.option(
    "--agent", metavar="NAME", default="", help="whose calls these are, where the record does not say"
)
@click.option("--cwd", metavar="DIR", default="", help="folder that relative paths start from")
@click.option(
    "--strip", type=click.IntRange(0), default=None, help="leading components off a diff's names, as patch -p"
)
@click.option(
    "--as-of", metavar="LISTING", default="", help="the tree is not here: judge by a listing of it (WEAKER)"
)
@click.option("--lexical", is_flag=True, help="the tree is not here: judge the text of paths alone (WEAKEST)")
@click.option(
    "--tree", is_flag=True, help="look at the workspace itself: what in it breaks the fence already?"
)
@click.option("--fix", is_flag=True, help="with --tree: mend what can be mended without loss")
@click.argument("files", nargs=-1, type=click.Path())
def audit(
    flags: Flags,
    named: str,
    formats: bool,
    output: str,
    as_json: bool,
    everything: bool,
    op: str,
    agent: str,
    cwd: str,
    strip: int | None,
    as_of: str,
    lexical: bool,
    tree: bool,
    fix: bool,
    files: tuple[str, ...],
) -> int:
    """Would any of this leave the workspace? Proposed paths, patches, archives, calls and transcripts, in bulk.

    FILES may be folders, or - for standard input. Each input's format is told from its beginning, or named.
    Exit 0 if everything is allowed, 1 if anything is refused, would be asked, or cannot be read.

    \b
    Examples:
      git ls-files -z | ringfence audit --workspace . --format nul
      ringfence audit --workspace . --output sarif feature.patch > audit.sarif
      ringfence audit --workspace ~/src/app ~/.claude/projects ~/.codex/sessions
      tar -tvf release.tar | ringfence audit --workspace /opt/app --cwd /opt/app
      ringfence audit --workspace . --tree
    """
    from ringfence.readers.options import Options

    if formats:
        return _list_formats()
    if as_of and lexical:
        raise UsageError("--as-of and --lexical do not go together", "a listing is the stronger of the two")
    if fix and not tree:
        raise UsageError("--fix mends what --tree finds", "add --tree")
    if named and named not in _formats():
        raise UsageError(f"no format is called {named!r}", f"known: {', '.join(_formats())}")
    output = "jsonl" if as_json else output
    if tree:
        if files or as_of or lexical:
            raise UsageError("--tree looks at the workspace and takes no inputs", "name it with --workspace")
        from ringfence.cli.audit_tree import audit_tree

        return audit_tree(flags, output, fix)
    fence, at, weaker = _fence(flags, cwd, as_of, lexical)
    options = Options(Op(op), agent, -1 if strip is None else strip, at)
    return _run(fence, files, options, named, output, everything, weaker)


def _list_formats() -> int:
    from ringfence.cli.output import Out
    from ringfence.readers.formats import FORMATS
    from ringfence.render.words import columns

    rows = [(row.name, row.what) for row in FORMATS.values()]
    Out(False).lines(columns(rows, ("format", "what")))
    return EXIT_OK


def _fence(flags: Flags, cwd: str, as_of: str, lexical: bool) -> tuple[Fence, str, str]:
    """(the fence, the folder that was named for relative paths or "", in what way its verdicts are weaker)."""
    from ringfence.pipelines.check import fence_here

    if as_of or lexical:
        from ringfence.pipelines.absent import absent_fence

        return absent_fence(flags, cwd, as_of)
    fence, at = fence_here(flags, cwd or None)
    return fence, at if cwd else "", ""


def _run(
    fence: Fence,
    files: tuple[str, ...],
    options: Options,
    named: str,
    output: str,
    everything: bool,
    weaker: str,
) -> int:
    from ringfence.cli.progress import Progress
    from ringfence.pipelines.audit import judge
    from ringfence.pipelines.inputs import Skipped, find, read, size_of
    from ringfence.pipelines.tally import Tally

    inputs = find(files)
    for note in fence.policy.notes:
        sys.stderr.write(f"note: {note}\n")
    if not fence.policy.restricted:
        sys.stderr.write("note: no workspace is named, so nothing is fenced; give --workspace DIR\n")
    if weaker:
        sys.stderr.write(f"note: WEAKER than an audit where the tree is: {weaker}\n")
    tally = Tally()

    def told(item: Skipped) -> None:
        tally.skipped += 1
        sys.stderr.write(f"note: passed over {item.name}: {item.why}\n")

    with Progress(size_of(inputs)) as progress:
        findings = judge(read(inputs, options, named, told, progress.bytes), fence)
        return write(findings, tally, writer_of(output), everything, weaker, progress.step)


def writer_of(output: str) -> Writer:
    """The writer behind a word of --output."""
    from ringfence import __version__
    from ringfence.cli.output import Out
    from ringfence.render.findings import Lines, Table
    from ringfence.render.junit import JUnit
    from ringfence.render.sarif import Sarif

    if output == "jsonl":
        return Lines()
    if output == "sarif":
        return Sarif(__version__)
    if output == "junit":
        return JUnit()
    return Table(Out(False).paint)


def write(
    findings: Iterator[Finding],
    tally: Tally,
    writer: Writer,
    everything: bool,
    weaker: str = "",
    step: Callable[[int], None] = lambda _count: None,
) -> int:
    """Write findings as they come, then what they come to. An interrupt ends it with what was judged so far.

    Raises BrokenPipeError when nobody reads on.
    """
    add, allow = tally.add, Verdict.ALLOW
    complete = True
    with Sink(late=writer.late) as sink:
        count = 0
        try:
            if not writer.late:
                sink.put(writer.head(None))
            for finding in findings:
                decision = finding.decision
                add(decision)
                if everything or decision.verdict is not allow:
                    sink.put(writer.finding(finding))
                count += 1
                if not count % _EVERY:
                    step(_EVERY)
            step(count % _EVERY)
        except KeyboardInterrupt:
            complete = False
        summary: Summary = tally.summary(complete=complete, weaker=weaker)
        sink.finish(writer.tail(summary), writer.head(summary) if writer.late else "")
    if not complete:
        return INTERRUPTED
    return EXIT_OK if summary.allowed == summary.judged and not summary.malformed else EXIT_REFUSED
