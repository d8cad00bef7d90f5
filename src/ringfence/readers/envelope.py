"""apply-patch envelopes (`*** Begin Patch` … `*** End Patch`), as Codex and others edit files.

Sources: Codex 0.171.0, codex-rs/apply-patch (a header begins with `*** `, blanks around it ignored); OpenCode 1.18.33
(no blank needed). Several envelopes may stand in one text, and a shell heredoc around them.
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

BEGIN, END = "begin patch", "end patch"
_MARK = "***"
_VERBS: Mapping[str, Op] = {"add file:": Op.CREATE, "update file:": Op.WRITE, "delete file:": Op.DELETE}
_MOVE = "move to:"
_SILENT = ("end of file", "environment id:")


def begins(line: str) -> bool:
    """Whether a line begins an envelope, for the widest of its readers."""
    bare = line.strip()
    return bare.startswith(_MARK) and bare[len(_MARK) :].strip().lower() == BEGIN


class Headers:
    """The headers of one text, line by line. `open_`: an envelope has begun and not ended.

    As wide as the widest reader, in step with the agents' own decoder (agents/patches.py): blanks and case do not
    hide a header, nor does a missing blank behind the stars or the colon.
    """

    __slots__ = ("_updated", "open_")

    def __init__(self) -> None:
        self.open_ = False
        self._updated = ""

    def take(self, line: str) -> tuple[tuple[tuple[Op, str], ...], str]:
        """((op, name) for each thing this line would do, what is wrong with it or "")."""
        bare = line.strip()
        if not bare.startswith(_MARK):
            return (), ""
        words = bare[len(_MARK) :]
        said = words.strip().lower()
        if said == BEGIN:
            self.open_, self._updated = True, ""
            return (), ""
        if said == END:
            was, self.open_ = self.open_, False
            return (), "" if was else "the end of a patch that did not begin"
        head, colon, rest = words.partition(":")
        return self._header(head.strip().lower() + colon, rest.strip(), line)

    def _header(self, key: str, name: str, line: str) -> tuple[tuple[tuple[Op, str], ...], str]:
        op = _VERBS.get(key)
        if op is not None or key == _MOVE:
            if not name:
                return (), "a file header without a name"
            if op is not None:
                self._updated = name if op is Op.WRITE else ""
                return ((op, name),), "" if self.open_ else "a file header outside of a patch"
            old, self._updated = self._updated, ""
            if not old:
                return ((Op.CREATE, name),), "a move of no file"
            return ((Op.RENAME, old), (Op.CREATE, name)), ""
        if not self.open_ or key.startswith(_SILENT) or not line.startswith(_MARK):
            return (), ""  # a changed line may begin with stars behind its blank
        return (), f"a patch header that is not known: {line[:60]!r}"


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
        yield Malformed(source, number, "the patch has no end: it may be cut short")
