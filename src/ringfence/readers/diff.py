"""Unified, git and context diffs: which files applying one would create, change, rename, delete or re-mode.

Hunks are counted, so that a changed line that looks like a header is none. Names are judged in every spelling that a
tool might take: where the headers of one file disagree (git refuses that, patch(1) picks one), each name is a record.
Sources: git's Documentation/diff-generate-patch.txt and apply.c; POSIX patch, "Filename Determination".
"""

from __future__ import annotations

from ringfence.model import Op
from ringfence.proposals import Malformed, PathProposal
from ringfence.readers.chunks import TooLong, numbered
from ringfence.readers.planted import Planted
from ringfence.readers.quoted import QuoteError, take_quoted, unescape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_LINK = "120000"
_PREFIXES = frozenset("abiwco")  # git's a/ b/ and, with diff.mnemonicPrefix, i/ w/ c/ o/
_NULL = "/dev/null"
_EXTENDED = (
    "old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ", "rename from ",
    "rename to ", "similarity index ", "dissimilarity index ", "index ",
)  # fmt: skip


def read_diff(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """Records in the order of the text. What stands between two patches (mail, commit messages) is passed over."""
    return _Reader(source, options).run(numbered(blocks))


class _File:
    """What was said about one file so far. `git`: it has a `diff --git` line."""

    def __init__(self, line: int, git: bool) -> None:
        self.line = line
        self.git = git
        self.header = ""
        self.old = self.new = ""  # of --- and +++, as written
        self.fields: dict[str, str] = {}  # extended headers
        self.index = ""  # svn's `Index:`
        self.target: list[str] = []  # the text of a symbolic link


class _Reader:
    def __init__(self, source: str, options: Options) -> None:
        self.source = source
        self.options = options
        self.planted = Planted()
        self.file: _File | None = None
        self.before = ""  # a `--- ` or `*** ` line whose fellow has not come yet
        self.left_old = self.left_new = 0  # lines still due in this hunk
        self.skip_combined = False

    def run(self, lines: Iterator[tuple[int, str | TooLong]]) -> Iterator[Proposal]:
        number = 0
        for number, text in lines:
            if isinstance(text, TooLong):
                if self.left_old or self.left_new:
                    self._count("+")
                else:
                    yield Malformed(self.source, number, f"a line of {text.size} bytes")
                continue
            line = text.removesuffix("\r")
            if self.left_old > 0 or self.left_new > 0:
                if self._in_hunk(line):
                    continue
                yield Malformed(self.source, number, "the hunk before this line is cut short")
                self.left_old = self.left_new = 0
            yield from self._outside(number, line)
        if self.left_old > 0 or self.left_new > 0:
            yield Malformed(self.source, number, "the last hunk is cut short")
        yield from self._flush()

    def _in_hunk(self, line: str) -> bool:
        mark = line[:1] or " "
        if mark not in " +-\\":
            return False
        if self.file is not None and mark == "+" and _LINK in self._mode():
            self.file.target.append(line[1:])
        self._count(mark)
        return True

    def _count(self, mark: str) -> None:
        self.left_old -= mark in " -"
        self.left_new -= mark in " +"

    def _mode(self) -> str:
        fields = self.file.fields if self.file is not None else {}
        return (
            fields.get("new file mode")
            or fields.get("new mode")
            or fields.get("index", "").rpartition(" ")[2]
        )

    def _outside(self, number: int, line: str) -> Iterator[Proposal]:
        before, self.before = self.before, ""
        if line.startswith("diff --git "):
            yield from self._start(number, git=True)
            self._file.header = line[len("diff --git ") :]
        elif line.startswith(("diff --cc ", "diff --combined ")):
            yield from self._start(number, git=True)
            self._file.new = line.split(" ", 2)[2]
            self.skip_combined = True
        elif self.skip_combined:
            return
        elif line.startswith("Index: "):
            yield from self._start(number, git=False)
            self._file.index = line[len("Index: ") :]
        elif line.startswith("diff ") and not line.startswith("diff --git"):
            yield from self._flush()
        elif line.startswith("@@ -"):
            if not self._hunk(line):
                yield Malformed(self.source, number, f"no hunk header that can be read: {line[:60]!r}")
            elif self.file is None:
                yield Malformed(self.source, number, "a hunk of no file")
        elif (line.startswith("+++ ") and before.startswith("--- ")) or (
            line.startswith("--- ") and before.startswith("*** ") and not line.endswith(" ----")
        ):
            yield from self._names(number, before[4:], line[4:])
        elif line.startswith("--- ") or (line.startswith("*** ") and not line.endswith(" ****")):
            self.before = line
        elif line.startswith("Binary files ") and line.endswith(" differ"):
            yield from self._binary(number, line)
        elif self.file is not None and self.file.git:
            for lead in _EXTENDED:
                if line.startswith(lead):
                    self.file.fields[lead[:-1]] = line[len(lead) :]
                    break

    @property
    def _file(self) -> _File:
        if self.file is None:
            raise AssertionError("asked for a file before one began")
        return self.file

    def _start(self, number: int, *, git: bool) -> Iterator[Proposal]:
        yield from self._flush()
        self.file = _File(number, git)

    def _names(self, number: int, old: str, new: str) -> Iterator[Proposal]:
        """A pair of --- and +++ lines: of the file that is under way, or of a new one without `diff --git`."""
        if self.file is None or self.file.old or (self.file.new and not self.file.git):
            yield from self._start(number - 1, git=False)
        self._file.old, self._file.new = old, new

    def _binary(self, number: int, line: str) -> Iterator[Proposal]:
        if self.file is not None and self.file.git:
            return  # its names stand in the header
        old, found, new = line[len("Binary files ") : -len(" differ")].partition(" and ")
        if found:
            yield from self._start(number, git=False)
            self._file.old, self._file.new = old, new

    def _hunk(self, line: str) -> bool:
        end = line.find(" @@", 3)
        parts = line[3:end].split(" ") if end > 0 else []
        if len(parts) != 2 or parts[0][:1] != "-" or parts[1][:1] != "+":
            return False
        try:
            old, new = (int(part.partition(",")[2] or 1) for part in parts)
        except ValueError:
            return False
        if old < 0 or new < 0:
            return False
        self.left_old, self.left_new = old, new
        return True

    def _flush(self) -> Iterator[Proposal]:
        """The records of the file that ends here."""
        file, self.file = self.file, None
        self.before, self.skip_combined = "", False
        if file is None:
            return
        try:
            uses = list(_uses(file, self.options.strip))
        except (QuoteError, ValueError) as error:
            yield Malformed(self.source, file.line, f"a file name that cannot be read: {error}")
            return
        if not uses:
            if file.git or file.old:
                yield Malformed(self.source, file.line, "a file without a name")
            return
        for op, name in uses:
            yield self._proposal(file.line, op, name, "")
            other = self.planted.through(name)
            if other != name:
                yield self._proposal(file.line, op, other, f"through a link of this patch, from {name}")
        self.file = file
        if _LINK in self._mode() and len(file.target) == 1:
            self.planted.add(uses[-1][1], file.target[0])
        self.file = None

    def _proposal(self, line: int, op: Op, name: str, note: str) -> PathProposal:
        return PathProposal(self.source, line, op, name, self.options.cwd, self.options.agent, note)


def _uses(file: _File, strip: int) -> Iterator[tuple[Op, str]]:
    """(op, name) for each thing that applying this file would do. Raises QuoteError."""
    fields = file.fields
    moved = [_whole(fields[key]) for key in ("rename from", "rename to") if key in fields]
    copied = [_whole(fields[key]) for key in ("copy from", "copy to") if key in fields]
    pair = _stripped(_plain(file.old), _plain(file.new), strip)
    if file.header:
        pair = (*pair, *_header(file.header, strip))
    if file.index:
        pair = (*pair, _plain(file.index))
    names = list(dict.fromkeys(name for name in pair if name and name != _NULL))
    is_link = _LINK in (fields.get("new file mode") or fields.get("new mode") or fields.get("index") or "")
    seen = set(moved + copied)
    if len(moved) == 2:
        yield Op.RENAME, moved[0]
        yield Op.CREATE, moved[1]
    if len(copied) == 2:
        yield Op.READ, copied[0]
        yield Op.CREATE, copied[1]
    deleted = "deleted file mode" in fields or _plain(file.new) == _NULL
    created = "new file mode" in fields or _plain(file.old) == _NULL
    for name in names:
        if name in seen:
            continue
        if deleted:
            yield Op.DELETE, name
        elif created:
            yield (Op.RENAME if is_link else Op.CREATE), name
        elif file.old or file.index or "index" in fields or not fields or "old mode" not in fields:
            yield (Op.RENAME if is_link else Op.WRITE), name
    if "old mode" in fields and "new mode" in fields:
        for name in moved[1:] or [n for n in names if n not in seen]:
            yield Op.METADATA, name


def _plain(text: str) -> str:
    """The name of a --- or +++ line: quoted, or up to the tab before a time."""
    if not text:
        return ""
    if text[0] == '"':
        return take_quoted(text)[0]
    return text.partition("\t")[0]


def _whole(text: str) -> str:
    return take_quoted(text)[0] if text[:1] == '"' else text


def _stripped(old: str, new: str, strip: int) -> tuple[str, ...]:
    if strip < 0:
        prefixed = all(
            name in {"", _NULL} or (name[1:2] == "/" and name[0] in _PREFIXES) for name in (old, new)
        )
        strip = int(prefixed and bool(old or new))
    return tuple(_without(name, strip) for name in (old, new))


def _without(name: str, count: int) -> str:
    if name in {"", _NULL}:
        return name
    for _ in range(count):
        head, found, rest = name.partition("/")
        if not found:
            raise ValueError(f"{name!r} has fewer components than are to be stripped")
        del head
        name = rest.lstrip("/")
    return name


def _header(text: str, strip: int) -> tuple[str, ...]:
    """The names of a `diff --git` line. Unquoted they are only readable if both are the same behind their prefixes."""
    if text[:1] == '"':
        old, rest = take_quoted(text)
        rest = rest.lstrip(" ")
        return _stripped(old, _whole(rest), strip)
    if text.endswith('"') and ' "' in text:
        old, _, rest = text.partition(' "')
        return _stripped(old, unescape(rest[:-1]), strip)
    middle = len(text) // 2
    if len(text) % 2 and text[middle] == " ":
        old, new = text[:middle], text[middle + 1 :]
        if old == new or (old.partition("/")[2] == new.partition("/")[2] != ""):
            return _stripped(old, new, strip)
    # Two different names: a rename or copy says them again, in lines of their own; without blanks they are clear here.
    parts = text.split(" ")
    return _stripped(parts[0], parts[1], strip) if len(parts) == 2 else ()
