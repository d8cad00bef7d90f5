"""All hot modules' compiled code in one file beside the interpreter's own caches, found and loaded in one step.

The interpreter's import of one small module costs some 60 µs beside running it: looking for it, two stats, opening
and checking its cache file. A door loads thirty to sixty. Here a module costs one stat and the unmarshalling.

The file is a cache like the `.pyc` files next to it, and trusted like them: it lies in the same `__pycache__`, is
believed only if that folder and it belong to us or root and nobody else can write them, and each entry only while its
source has the size and time it was compiled from (the rule of `.pyc` files, PEP 3147). Anything else, a corrupt file
included, means the ordinary import. Imports nothing of ours: it stands before everything.
"""

from __future__ import annotations

import marshal
import sys

if sys.platform != "win32":
    from posix import (
        O_CLOEXEC,
        O_CREAT,
        O_EXCL,
        O_NOFOLLOW,
        O_RDONLY,
        O_WRONLY,
        close,
        fstat,
        getpid,
        getuid,
        open,
        pread,
        rename,
        stat,
        unlink,
        write,
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    from posix import stat_result
    from types import CodeType, ModuleType
    from typing import Any

_FORMAT = 1
_NAME = f"hot-{sys.implementation.cache_tag}.bundle"
_OTHERS_WRITE = 0o022
_MOST = 8 << 20  # bytes
_HEAD = 64 << 10  # bytes: the table of some 800 modules


class Bundle:
    """A finder and loader for the modules in one bundle file (importlib's protocol, by duck typing)."""

    def __init__(self, folder: str) -> None:
        """`folder` is the package's own folder."""
        self.folder = folder
        self.path = f"{folder}/__pycache__/{_NAME}"
        self.table: dict[str, tuple[str, bool, int, int, int, int]] = {}
        self.missed: list[
            str
        ] = []  # modules of ours that were asked for and had to be loaded the ordinary way
        self._fd = -1  # open as long as the process lives; closed by exec
        self._start = 0
        self._found: dict[str, bytes] = {}

    def read(self) -> None:
        """Take the file in, if it can be believed."""
        try:
            folder = stat(f"{self.folder}/__pycache__")
            fd = open(self.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        except OSError:
            return
        self._take(fd, folder)
        if self._fd < 0:
            close(fd)

    def _take(self, fd: int, folder: stat_result) -> None:
        """Keep `fd` and the table at its head, if both can be believed. The modules are read one by one."""
        try:
            facts = fstat(fd)
            us = (0, getuid())
            if folder.st_mode & _OTHERS_WRITE or folder.st_uid not in us:
                return
            if facts.st_mode & _OTHERS_WRITE or facts.st_uid not in us or facts.st_size > _MOST:
                return
            version, table, start = marshal.loads(pread(fd, _HEAD, 0))  # noqa: S302 - our own cache, see above
            whole = version == (_FORMAT, sys.hexversion, facts.st_size - start)
        except (OSError, ValueError, EOFError, TypeError):
            return
        # Nothing is synced before the rename, so after a power loss the file may be cut short: whole or not at all.
        if whole and isinstance(table, dict):
            self.table, self._fd, self._start = table, fd, start

    def _block(self, name: str) -> bytes:
        """Raises OSError, or EOFError where the file is shorter than it was."""
        *_, begin, end = self.table[name]
        block = pread(self._fd, end - begin, self._start + begin)
        if len(block) != end - begin:
            raise EOFError(name)
        return block

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        """importlib's question. None lets the ordinary import answer."""
        if name[:10] != "ringfence.":
            return None
        entry = self.table.get(name)
        if entry is None:
            self.missed.append(name)
            return None
        relative, is_package, mtime, size, _, _ = entry
        source = f"{self.folder}/{relative}"
        try:
            facts = stat(source)
        except OSError:
            return None
        if facts.st_mtime_ns != mtime or facts.st_size != size:
            self.missed.append(name)
            return None
        try:
            self._found[name] = self._block(name)
        except (OSError, EOFError):
            return None
        spec = _ModuleSpec(name, self, origin=source, is_package=is_package)
        spec._set_fileattr = True  # noqa: SLF001 - as importlib does for modules with a file
        if is_package:
            spec.submodule_search_locations.append(source.rpartition("/")[0])
        return spec

    def create_module(self, _spec: object) -> None:
        """None: the ordinary module object."""

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102 - what every loader does

    def get_code(self, name: str) -> CodeType:
        block = self._found.pop(name, b"") or self._block(name)
        code: CodeType = marshal.loads(block)  # noqa: S302 - our own cache, see above
        return code

    def keep(self) -> None:
        """Write the file anew if a module of ours was loaded the ordinary way. Never raises: it is only a cache."""
        names = [name for name in self.missed if name in sys.modules]
        if not names:
            return
        try:
            self._write(names)
        except Exception:  # noqa: BLE001 - a nonsense entry, a full disk: it is only a cache
            return

    def _write(self, names: list[str]) -> None:
        table: dict[str, tuple[str, bool, int, int, int, int]] = {}
        blocks: list[bytes] = []
        at = 0
        for name in sorted({*self.table, *names}):
            module = sys.modules.get(name)
            spec = getattr(module, "__spec__", None)
            if spec is not None and spec.loader is not self:
                relative, is_package = (
                    spec.origin[len(self.folder) + 1 :],
                    spec.submodule_search_locations is not None,
                )
                # Without docstrings (optimize 2): a third of what has to be unmarshalled, and no door shows them.
                code = compile(spec.loader.get_data(spec.origin), spec.origin, "exec", 0, True, 2)
            else:
                relative, is_package, *_ = self.table[name]
                code = self.get_code(name)
            facts = stat(f"{self.folder}/{relative}")
            kept = spec is None or spec.loader is self
            if kept and (facts.st_mtime_ns, facts.st_size) != self.table[name][2:4]:
                continue
            block = marshal.dumps(code)
            table[name] = (relative, is_package, facts.st_mtime_ns, facts.st_size, at, at + len(block))
            blocks.append(block)
            at += len(block)
        version = (_FORMAT, sys.hexversion, at)
        # The header holds its own length, because marshal does not say where a value ended.
        start = len(marshal.dumps((version, table, 1 << 30)))
        head = marshal.dumps((version, table, start)).ljust(start, b"\0")
        staged = f"{self.path}.{getpid()}"
        try:
            unlink(staged)  # of an earlier process with this number, which was killed
        except FileNotFoundError:
            pass
        fd = open(staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        try:
            data = b"".join((head, *blocks))
            while data:
                data = data[write(fd, data) :]
        finally:
            close(fd)
        try:
            rename(staged, self.path)
        except OSError:
            unlink(staged)


_ModuleSpec: Any = type(sys.__spec__)  # importlib.machinery.ModuleSpec without importing importlib


def install(folder: str) -> Bundle | None:
    """Put the bundle of the package in `folder` before all other finders; None where there can be none."""
    if sys.platform == "win32":
        return None
    made = Bundle(folder)
    made.read()
    sys.meta_path.insert(0, made)
    return made
