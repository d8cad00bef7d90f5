"""Files, folders and standard input to records: each opened, its format told or named, read as a stream. Cold."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile

from ringfence.errors import UsageError
from ringfence.proposals import Malformed
from ringfence.readers.chunks import BLOCK
from ringfence.readers.formats import FORMATS, HEAD, detect
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

STDIN = "-"


class Input(Record):
    """One thing to read. `name` is what findings call it; `sure`: named by the caller and not met in a folder."""

    name: str
    path: str
    sure: bool


class Skipped(Record):
    """A file of a folder that is no record of anything: told, and not counted as judged."""

    name: str
    why: str


def find(names: Sequence[str]) -> list[Input | Skipped]:
    """What `names` stand for, folders opened up in sorted order. Raises UsageError for a name that is not there."""
    found: list[Input | Skipped] = []
    for name in names or (STDIN,):
        if name == STDIN:
            found.append(Input("<stdin>", STDIN, sure=True))
            continue
        try:
            mode = os.stat(name).st_mode
        except OSError as error:
            raise UsageError(
                f"{name}: {error.strerror}", "name files or folders that can be read, or -"
            ) from None
        if stat.S_ISDIR(mode):
            found.extend(_below(name))
        else:
            found.append(Input(name, name, sure=True))
    return found


def _below(folder: str) -> Iterator[Input | Skipped]:
    problems: list[OSError] = []
    for at, folders, names in os.walk(folder, onerror=problems.append):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(at, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError as error:
                yield Skipped(path, str(error.strerror))
                continue
            if stat.S_ISREG(mode):
                yield Input(path, path, sure=False)
            else:
                yield Skipped(path, "not a regular file")
    for problem in problems:
        yield Skipped(str(problem.filename), f"the folder cannot be listed: {problem.strerror}")


def read(
    inputs: Sequence[Input | Skipped],
    options: Options,
    named: str,
    told: Callable[[Skipped], None],
    seen: Callable[[int], None],
) -> Iterator[Proposal]:
    """Every record of every input. `named`: a format's name, "" = told from each input's beginning.

    `told` hears of what is passed over, `seen` of bytes read. An input that cannot be read is one Malformed record.
    """
    for item in inputs:
        if isinstance(item, Skipped):
            told(item)
            continue
        try:
            yield from _open(item, options, named, told, seen)
        except OSError as error:
            yield Malformed(item.name, 0, f"cannot be read: {error.strerror or error}")


def _open(
    item: Input, options: Options, named: str, told: Callable[[Skipped], None], seen: Callable[[int], None]
) -> Iterator[Proposal]:
    if item.path == STDIN:
        yield from _from(item, sys.stdin.buffer, options, named, told, seen)
        return
    with open(item.path, "rb") as file:
        yield from _from(item, file, options._replace(path=os.path.abspath(item.path)), named, told, seen)


def _from(
    item: Input,
    file: IO[bytes],
    options: Options,
    named: str,
    told: Callable[[Skipped], None],
    seen: Callable[[int], None],
) -> Iterator[Proposal]:
    # A named format is read as it comes: a slow pipe is judged record by record.
    head = b"" if named else _head(file)
    name = named or detect(head)
    if not item.sure and not named and (not head or name in {"lines", "nul"}):
        told(Skipped(item.name, "its format is not told by its beginning; name it with --format"))
        return
    row = FORMATS[name]
    if row.takes == "blocks":
        yield from row.read(item.name, _blocks(head, file, seen), options)
    elif row.takes == "file" and name == "tar":
        yield from row.read(item.name, _Rest(head, file, seen), options)
    elif row.takes == "file":
        yield from _spooled(row.read, item, head, file, options, seen)
    elif item.path == STDIN:
        yield Malformed(item.name, 0, f"{name} is read from a file, not from a pipe")
    else:
        yield from _quietly(row.read, item, options)


def _head(file: IO[bytes]) -> bytes:
    """The first bytes, as many as tell the format; a slow pipe is waited for."""
    parts = []
    size = 0
    while size < HEAD:
        part = file.read1(HEAD - size) if hasattr(file, "read1") else file.read(HEAD - size)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _blocks(head: bytes, file: IO[bytes], seen: Callable[[int], None]) -> Iterator[bytes]:
    if head:
        seen(len(head))
        yield head
    take = getattr(file, "read1", file.read)  # what is there, and not what fills a block
    while block := take(BLOCK):
        seen(len(block))
        yield block


class _Rest:
    """The head and what follows it as one readable stream, for tarfile."""

    def __init__(self, head: bytes, file: IO[bytes], seen: Callable[[int], None]) -> None:
        self._head, self._file, self._seen = head, file, seen

    def read(self, size: int = -1) -> bytes:
        if self._head:
            part = self._head if size < 0 else self._head[:size]
            self._head = self._head[len(part) :]
            if size < 0:
                part += self._file.read()
        else:
            part = self._file.read(size)
        self._seen(len(part))
        return part


def _spooled(
    read_file: Callable[..., Iterator[Proposal]],
    item: Input,
    head: bytes,
    file: IO[bytes],
    options: Options,
    seen: Callable[[int], None],
) -> Iterator[Proposal]:
    """A format that must seek: a pipe is first copied into a nameless file."""
    if item.path != STDIN:
        seen(len(head))
        file.seek(0)
        yield from read_file(item.name, file, options)
        return
    with tempfile.TemporaryFile() as spool:
        for block in _blocks(head, file, seen):
            spool.write(block)
        spool.seek(0)
        yield from read_file(item.name, spool, options)


def _quietly(
    read_path: Callable[..., Iterator[Proposal]], item: Input, options: Options
) -> Iterator[Proposal]:
    """A database that somebody may be writing: read from a copy with its journal, so that nothing is left beside it."""
    with tempfile.TemporaryDirectory(prefix="ringfence-audit-") as folder:
        copy = os.path.join(folder, "copy.db")
        shutil.copyfile(item.path, copy)
        if os.path.exists(item.path + "-wal"):
            shutil.copyfile(item.path + "-wal", copy + "-wal")
        yield from read_path(item.name, copy, options)


def size_of(inputs: Sequence[Input | Skipped]) -> int:
    """Bytes in all inputs together, 0 where one of them does not tell (a pipe)."""
    total = 0
    for item in inputs:
        if isinstance(item, Input):
            try:
                facts = os.stat(item.path) if item.path != STDIN else os.fstat(0)
            except OSError:
                return 0
            if not stat.S_ISREG(facts.st_mode):
                return 0
            total += facts.st_size
    return total
