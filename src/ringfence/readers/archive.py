"""Archives themselves: tar (plain, gzip, bzip2, xz) as a stream, zip by its central directory. Nothing is unpacked."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from stat import S_ISLNK

from ringfence.proposals import Malformed
from ringfence.readers.members import Member, uses_of
from ringfence.readers.planted import Planted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_TARGET = 8192  # bytes of a link's target that are read; more is no path
_UTF8 = 0x800  # general purpose bit 11 (APPNOTE.TXT, 4.4.4): the name is UTF-8
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError,
           NotImplementedError, RuntimeError)  # fmt: skip


class _Info(tarfile.TarInfo):
    """Remembers whether the end of the archive was met: tarfile takes a cut or garbled archive for one that ends."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Info:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # a block of zeros (POSIX, ustar)
            archive.at_end = True  # type: ignore[attr-defined]  # our own mark
            raise


def read_tar(source: str, file: IO[bytes], options: Options) -> Iterator[Proposal]:
    """One member after the other. An archive that is cut short or broken ends with a malformed record."""
    planted = Planted()
    number = 0
    try:
        with tarfile.open(
            fileobj=file, mode="r|*", encoding="utf-8", errors="surrogateescape", tarinfo=_Info
        ) as archive:
            for info in archive:
                number += 1
                archive.members = []  # type: ignore[attr-defined]  # kept for a second reading
                yield from uses_of(source, _tar_member(number, info), planted, options)
            if not getattr(archive, "at_end", False):
                yield Malformed(
                    source, number + 1, "the archive has no end here: it is cut short, or garbled"
                )
    except _BROKEN as error:
        yield Malformed(source, number + 1, f"the archive cannot be read on: {_said(error)}")


def _tar_member(number: int, info: tarfile.TarInfo) -> Member:
    if info.issym():
        return Member(number, "link", info.name, info.linkname)
    if info.islnk():
        return Member(number, "hard", info.name, info.linkname)
    kind = "dir" if info.isdir() else "file" if info.isreg() else "device" if info.isdev() else "other"
    return Member(number, kind, info.name)


def read_zip(source: str, file: IO[bytes], options: Options) -> Iterator[Proposal]:
    """By the central directory, which is what unzip obeys. `file` must be seekable."""
    planted = Planted()
    number = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for number, info in enumerate(archive.infolist(), 1):
                member = _zip_member(archive, number, info)
                if isinstance(member, Member):
                    yield from uses_of(source, member, planted, options)
                else:
                    yield Malformed(source, number, member)
    except _BROKEN as error:
        yield Malformed(source, number + 1, f"the archive cannot be read on: {_said(error)}")


def _zip_member(archive: zipfile.ZipFile, number: int, info: zipfile.ZipInfo) -> Member | str:
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        name = name.encode("cp437", "surrogateescape").decode("utf-8", "surrogateescape")
    mode = info.external_attr >> 16
    if not S_ISLNK(mode):
        return Member(number, "dir" if name.endswith("/") else "file", name)
    try:
        with archive.open(info) as content:
            target = content.read(_TARGET + 1)
    except _BROKEN as error:
        return f"a link whose target cannot be read: {name!r}: {_said(error)}"
    if len(target) > _TARGET:
        return f"a link whose target is no path: {name!r}"
    return Member(number, "link", name, target.decode("utf-8", "surrogateescape"))


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
