"""apply-patch envelopes (`*** Begin Patch` … `*** End Patch`), as Codex and others edit files.

Source: Codex 0.171.0, codex-rs/apply-patch: a header is a line that starts with `*** `, blanks around it ignored; lines
of content start with `+`, `-`, a blank or `@@`. Several may stand in one text, and a shell heredoc around them.
"""

from __future__ import annotations

from ringfence.model import Op
from ringfence.proposals import Malformed, PathProposal
from ringfence.readers.chunks import TooLong, numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

BEGIN, END = "*** Begin Patch", "*** End Patch"
_VERBS: Mapping[str, Op] = {
    "*** Add File: ": Op.CREATE,
    "*** Update File: ": Op.WRITE,
    "*** Delete File: ": Op.DELETE,
}
_MOVE = "*** Move to: "
_SILENT = ("*** End of File", "*** Environment ID: ")


class Headers:
    """The headers of one text, line by line. `open_`: an envelope has begun and not ended."""

    __slots__ = ("_updated", "open_")

    def __init__(self) -> None:
        self.open_ = False
        self._updated = ""

    def take(self, line: str) -> tuple[tuple[tuple[Op, str], ...], str]:
        """((op, name) for each thing this line would do, what is wrong with it or "")."""
        if line[:1] in {"+", "-", " ", "@"} and not (line[:1] == " " and line.lstrip().startswith("*** ")):
            return (), ""
        bare = line.strip()
        if bare == BEGIN:
            self.open_, self._updated = True, ""
            return (), ""
        if bare == END:
            was, self.open_ = self.open_, False
            return (), "" if was else "the end of a patch that did not begin"
        if not bare.startswith("*** "):
            return (), ""
        return self._header(bare)

    def _header(self, bare: str) -> tuple[tuple[tuple[Op, str], ...], str]:
        for lead, op in _VERBS.items():
            if bare.startswith(lead):
                name = bare[len(lead) :].strip()
                self._updated = name if op is Op.WRITE else ""
                return ((op, name),), "" if self.open_ else "a file header outside of a patch"
        if bare.startswith(_MOVE):
            old, self._updated = self._updated, ""
            name = bare[len(_MOVE) :].strip()
            if not old:
                return ((Op.CREATE, name),), "a move of no file"
            return ((Op.RENAME, old), (Op.CREATE, name)), ""
        if not self.open_ or bare.startswith(_SILENT):
            return (), ""
        return (), f"a patch header that is not known: {bare[:60]!r}"


def read_envelope(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """A record for each header; a file that is updated and moved is written, renamed and created."""
    headers = Headers()
    number = 0
    for number, text in numbered(blocks):
        if isinstance(text, TooLong):
            yield Malformed(source, number, f"a line of {text.size} bytes")
            continue
        found, wrong = headers.take(text)
        for op, name in found:
            yield PathProposal(source, number, op, name, options.cwd, options.agent)
        if wrong:
            yield Malformed(source, number, wrong)
    if headers.open_:
        yield Malformed(source, number, f"the patch has no {END!r}: it may be cut short")
