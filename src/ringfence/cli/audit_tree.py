"""audit --tree."""

from __future__ import annotations

import sys

from ringfence.errors import EXIT_OK, EXIT_REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags
    from ringfence.render.weaknesses import TreeWriter


def audit_tree(flags: Flags, output: str, fix: bool) -> int:
    """Exit 0 if nothing but notes was found, or all of it was mended; 1 if anything else."""
    from ringfence.cli.audit import INTERRUPTED
    from ringfence.cli.sink import Sink
    from ringfence.pipelines.check import fence_here
    from ringfence.pipelines.tree import Look
    from ringfence.pipelines.tree_mend import mend
    from ringfence.proposals import TreeSummary

    fence, _ = fence_here(flags)
    look = Look(fence)
    for note in fence.policy.notes:
        sys.stderr.write(f"note: {note}\n")
    writer = _writer(output)
    counts = {"error": 0, "warning": 0, "note": 0}
    mended = left = 0
    complete = True
    with Sink(late=writer.late) as sink:
        try:
            if not writer.late:
                sink.put(writer.head())
            for found in look.findings():
                seen = mend(found) if fix else found
                counts[seen.severity] += 1
                mended += seen.mended
                left += seen.severity != "note" and not seen.mended
                sink.put(writer.finding(seen))
        except KeyboardInterrupt:
            complete = False
        summary = TreeSummary(
            look.roots,
            look.entries,
            counts["error"],
            counts["warning"],
            counts["note"],
            mended,
            look.unseen,
            complete,
        )
        sink.finish(writer.tail(summary), writer.head() if writer.late else "")
    if not complete:
        return INTERRUPTED
    return EXIT_REFUSED if left else EXIT_OK


def _writer(output: str) -> TreeWriter:
    from ringfence import __version__
    from ringfence.cli.output import Out
    from ringfence.render.weaknesses import TreeJUnit, TreeLines, TreeSarif, TreeTable

    if output == "jsonl":
        return TreeLines()
    if output == "sarif":
        return TreeSarif(__version__)
    if output == "junit":
        return TreeJUnit()
    return TreeTable(Out(False).paint)
