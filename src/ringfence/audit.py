"""The audit for programs: `judge` over any iterable of records, in this process or spread over many.

    from ringfence import Fence
    from ringfence.audit import judge, records

    fence = Fence("/src/app")
    for finding in judge(records(["src/a.py", {"path": "../b", "op": "create"}]), fence):
        finding.decision.verdict, finding.decision.code, finding.record.path

`judge` is a generator over an iterable and holds nothing afterwards; records, findings and fences can be pickled, so a
Dask, Ray or Spark job can map it over partitions (docs/audit.md). A verdict is about the moment in which it is made.
"""

from __future__ import annotations

from ringfence.pipelines.audit import judge
from ringfence.proposals import (
    CallProposal,
    CommandProposal,
    Finding,
    LoggedDecision,
    Malformed,
    PathProposal,
    Proposal,
)
from ringfence.readers.formats import FORMATS
from ringfence.readers.jsonlines import from_value
from ringfence.readers.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.pipelines.fence import Fence

__all__ = [
    "FORMATS",
    "CallProposal",
    "CommandProposal",
    "Finding",
    "LoggedDecision",
    "Malformed",
    "Options",
    "PathProposal",
    "Proposal",
    "judge",
    "judged",
    "records",
]


def records(
    things: Iterable[str | Mapping[str, object] | Proposal],
    source: str = "<records>",
    options: Options | None = None,
) -> Iterator[Proposal]:
    """Records from path texts, from mappings as JSON Lines has them, and from records, numbered from 1.

    What is none of these becomes a Malformed record; nothing raises.
    """
    said = options or Options()
    for number, thing in enumerate(things, 1):
        if isinstance(thing, str):
            yield PathProposal(source, number, said.op, thing, "", said.agent)
        elif isinstance(thing, PathProposal | CommandProposal | CallProposal | LoggedDecision | Malformed):
            yield thing
        else:
            yield from from_value(source, number, thing, said)


def judged(records: Iterable[Proposal], fence: Fence) -> list[Finding]:
    """`judge` as a list: what a map over partitions returns."""
    return list(judge(records, fence))
