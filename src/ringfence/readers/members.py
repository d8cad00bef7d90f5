"""What unpacking an archive member would do: the same for a listing's line and for an archive's own header."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.proposals import Malformed, PathProposal
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options
    from ringfence.readers.planted import Planted


class Member(Record):
    """`kind`: "file", "dir", "link" (symbolic), "hard", "device" or "other". `target`: of a link, as written."""

    line: int
    kind: str
    name: str
    target: str = ""


def uses_of(source: str, member: Member, planted: Planted, options: Options) -> Iterator[Proposal]:
    """The records of one member; `planted` remembers its links for those that follow.

    Absolute names and `..` are judged as written: some programs strip them, others obey.
    """

    def at(op: Op, path: str, note: str = "") -> PathProposal:
        return PathProposal(source, member.line, op, path, options.cwd, options.agent, note)

    name = member.name if member.kind != "dir" else member.name.rstrip("/") or member.name[:1]
    if not name:
        yield Malformed(source, member.line, "a member without a name")
        return
    # A symbolic link takes the entry's place, whatever stands there; everything else may be written through.
    yield at(Op.RENAME if member.kind == "link" else Op.CREATE, name)
    lead, slash, leaf = name.rpartition("/")
    way = (
        planted.through(name)
        if member.kind != "link"
        else planted.through(lead) + slash + leaf
        if slash
        else name
    )
    if way != name:
        yield at(Op.CREATE, way, f"through a link of this archive, from {name}")
    if "\\" in name and not options.path.endswith((".tar", ".gz", ".tgz", ".xz", ".bz2")):
        yield at(Op.CREATE, name.replace("\\", "/"), f"with its backslashes read as slashes, from {name}")
    if member.kind == "hard":
        if not member.target:
            yield Malformed(source, member.line, "a hard link that does not say to what")
            return
        note = f"hard-linked as {name}"
        yield at(Op.LINK, member.target, note)
        other = planted.through(member.target)
        if other != member.target:
            yield at(Op.LINK, other, f"{note}, through a link of this archive")
        planted.add(name, member.target, hard=True)
    elif member.kind == "link":
        if not member.target:
            yield Malformed(source, member.line, "a link that does not say where to")
            return
        planted.add(name, member.target)
    if planted.is_full:
        yield Malformed(
            source, member.line, "too many links in one archive: what lies behind this one is not known"
        )
