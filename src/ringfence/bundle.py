"""All hot modules' compiled code in one file beside the interpreter's own caches, found and loaded in few steps.

The interpreter's import of one small module costs some 60 µs beside running it: looking for it, two stats, opening
and checking its cache file. A door loads thirty to sixty. Here a module costs one stat and the unmarshalling, and what
a door's first import brings along with it is a *group*: one read, one unmarshalling (strings that many modules share
are made once), and no question to the import system for each.

The file is a cache like the `.pyc` files next to it, and trusted like them: it lies in the same `__pycache__`, is
believed only if that folder and it belong to us or root and nobody else can write them, and each entry only while its
source has the size and time it was compiled from (the rule of `.pyc` files, PEP 3147). Anything else, a corrupt file
included, means the ordinary import. Imports nothing of ours: it stands before everything. `__future__` is a module
too, so the annotations here and in doors.py are strings.
"""

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
    from typing import Any, TypeAlias

    # A module: source below the package, whether it is a package, the source's time (ns) and size, where its code
    # begins and ends. A group: its modules in the order in which they are to be run, and where their codes are.
    Entry: TypeAlias = "tuple[str, bool, int, int, int, int]"
    Group: TypeAlias = "tuple[tuple[str, ...], int, int]"

_FORMAT = 2
_NAME = f"hot-{sys.implementation.cache_tag}.bundle"
_OTHERS_WRITE = 0o022
_MOST = 16 << 20  # bytes
_MOST_HEAD = 1 << 20
_WORD = 8  # bytes at the very beginning: how long the head is

_ModuleSpec: "Any" = type(sys.__spec__)  # importlib.machinery.ModuleSpec without importing importlib
_Module: "Any" = type(sys)


class Bundle:
    """A finder and loader for the modules in one bundle file (importlib's protocol, by duck typing)."""

    def __init__(self, folder: str) -> None:
        """`folder` is the package's own folder."""
        self.folder = folder
        self.path = f"{folder}/__pycache__/{_NAME}"
        self.table: dict[str, Entry] = {}
        self.groups: dict[str, Group] = {}
        self.libraries: dict[str, str] = {}  # compiled modules of the interpreter -> their files
        # What was asked for and had to be loaded the ordinary way, and groups that were seen for the first time.
        self.missed: list[str] = []
        self.seen: dict[str, tuple[str, ...]] = {}
        self._fd = -1  # open as long as the process lives; closed by exec
        self._start = 0
        self._found: dict[str, bytes] = {}
        self._ran: list[str] | None = None  # inside an import: what has been run so far

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

    def _take(self, fd: int, folder: "stat_result") -> None:
        """Keep `fd` and the tables at its head, if all can be believed. The codes are read when they are needed."""
        try:
            facts = fstat(fd)
            us = (0, getuid())
            if folder.st_mode & _OTHERS_WRITE or folder.st_uid not in us:
                return
            if facts.st_mode & _OTHERS_WRITE or facts.st_uid not in us or facts.st_size > _MOST:
                return
            start = int.from_bytes(pread(fd, _WORD, 0), "little")
            if not _WORD < start <= min(facts.st_size, _MOST_HEAD):
                return
            head = marshal.loads(pread(fd, start - _WORD, _WORD))  # noqa: S302 - our own cache, see above
            version, table, groups, libraries = head
            whole = version == (_FORMAT, sys.hexversion, facts.st_size - start)
        except (OSError, ValueError, EOFError, TypeError):
            return
        # Nothing is synced before the rename, so after a power loss the file may be cut short: whole or not at all.
        if whole and all(type(each) is dict for each in (table, groups, libraries)):
            self.table, self.groups, self.libraries = table, groups, libraries
            self._fd, self._start = fd, start

    def _block(self, begin: int, end: int) -> bytes:
        """Raises OSError, or EOFError where the file is shorter than it was."""
        block = pread(self._fd, end - begin, self._start + begin)
        if len(block) != end - begin:
            raise EOFError(self.path)
        return block

    # ---- importlib's questions

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> "Any":
        """None lets the ordinary import answer."""
        if name[:10] != "ringfence.":
            return self._library(name) if name in self.libraries else None
        if not self._fresh(name):
            return None
        *_, begin, end = self.table[name]
        try:
            self._found[name] = self._block(begin, end)
        except (OSError, EOFError, TypeError):
            return None
        return self._spec(name)

    def create_module(self, _spec: object) -> None:
        """None: the ordinary module object."""

    def exec_module(self, module: "ModuleType") -> None:
        name = module.__name__
        if self._ran is not None:
            self._run(self.get_code(name), module)
            return
        # Asked for by a function, not by a module that is being imported: here a group begins.
        self._ran = []
        try:
            codes = self._together(name)
            if codes is None:
                self._run(self.get_code(name), module)
                if len(self._ran) > 1 and name not in self.groups:
                    self.seen[name] = tuple(self._ran)
                return
            members = self.groups[name][0]
            for member, code in zip(members, codes, strict=True):
                if member == name:
                    self._run(code, module)
                elif member not in sys.modules:
                    self._import(member, code)
        finally:
            self._ran = None

    def get_code(self, name: str) -> "CodeType":
        code: CodeType = marshal.loads(self._found.pop(name, b"") or self._block(*self.table[name][4:]))  # noqa: S302
        return code

    # ---- modules

    def _fresh(self, name: str) -> bool:
        """Whether the bundle has this module as its source is now."""
        entry = self.table.get(name)
        if entry is None:
            self.missed.append(name)
            return False
        try:
            relative, _, mtime, size, _, _ = entry
            facts = stat(f"{self.folder}/{relative}")
        except (OSError, TypeError, ValueError):
            return False
        if facts.st_mtime_ns != mtime or facts.st_size != size:
            self.missed.append(name)
            return False
        return True

    def _spec(self, name: str) -> "Any":
        relative, is_package, *_ = self.table[name]
        source = f"{self.folder}/{relative}"
        spec = _ModuleSpec(name, self, origin=source, is_package=is_package)
        spec._set_fileattr = True  # noqa: SLF001 - as importlib does for modules with a file
        if is_package:
            spec.submodule_search_locations.append(source.rpartition("/")[0])
        return spec

    def _run(self, code: "CodeType", module: "ModuleType") -> None:
        exec(code, module.__dict__)  # noqa: S102 - what every loader does
        if self._ran is not None:
            self._ran.append(module.__name__)

    def _together(self, name: str) -> "tuple[CodeType, ...] | None":
        """The codes of the group that begins with `name`, None if there is none or a source in it has changed."""
        group = self.groups.get(name)
        if group is None:
            return None
        try:
            members, begin, end = group
            if not all(member in sys.modules or self._fresh(member) for member in members):
                return None
            codes: tuple[CodeType, ...] = marshal.loads(self._block(begin, end))  # noqa: S302 - see above
            return codes if len(codes) == len(members) else None
        except (OSError, EOFError, ValueError, TypeError):
            return None

    def _import(self, name: str, code: "CodeType") -> None:
        """What importlib does for a module of a group. What it imports itself is there as a rule: it came first."""
        parent, _, tail = name.rpartition(".")
        if parent not in sys.modules:
            __import__(parent)  # another door had it already when the group was written down
        spec = self._spec(name)
        module = _Module(name)
        module.__spec__, module.__loader__, module.__file__ = spec, self, spec.origin
        module.__package__ = spec.parent
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        try:
            self._run(code, module)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[parent], tail, module)

    def _library(self, name: str) -> "Any":
        """A compiled module of the interpreter: its file is known, and no folder of the path has to be listed."""
        path = self.libraries[name]
        if path.rpartition("/")[0] not in sys.path:
            return None  # another interpreter of this version, which keeps its own elsewhere
        try:
            stat(path)
        except OSError:
            return None
        loader = sys.modules["_frozen_importlib_external"].ExtensionFileLoader
        spec = _ModuleSpec(name, loader(name, path), origin=path)
        spec._set_fileattr = True  # noqa: SLF001 - as importlib does for modules with a file
        return spec

    # ---- writing

    def keep(self) -> None:
        """Write the file anew if there is something to add. Never raises: it is only a cache."""
        names = [name for name in self.missed if name in sys.modules]
        if names:
            # What came the ordinary way is missing in the groups that were seen: the next process sees them whole.
            self.seen.clear()
        if not names and not self.seen:
            return
        try:
            self._write(names)
        except Exception:  # noqa: BLE001 - a nonsense entry, a full disk: it is only a cache
            return

    def _write(self, names: list[str]) -> None:
        libraries = {**self.libraries, **_libraries()}
        from ringfence.slim import compiled  # with modules of its own, which no door needs

        table: dict[str, Entry] = {}
        groups: dict[str, Group] = {}
        codes: dict[str, CodeType] = {}
        blocks: list[bytes] = []
        at = 0

        def add(value: "CodeType | tuple[CodeType, ...]") -> tuple[int, int]:
            nonlocal at
            blocks.append(marshal.dumps(value))
            begin, at = at, at + len(blocks[-1])
            return begin, at

        fresh = set()
        for name in sorted({*self.table, *names}):
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if spec is not None and spec.loader is not self:
                relative, is_package = (
                    spec.origin[len(self.folder) + 1 :],
                    spec.submodule_search_locations is not None,
                )
                codes[name] = compiled(spec.loader.get_data(spec.origin), spec.origin)
                fresh.add(name)
            else:
                relative, is_package, *_ = self.table[name]
                codes[name] = self.get_code(name)
            try:
                facts = stat(f"{self.folder}/{relative}")
            except FileNotFoundError:
                continue  # moved or removed since: by an upgrade, say
            if name not in fresh and (facts.st_mtime_ns, facts.st_size) != self.table[name][2:4]:
                continue
            table[name] = (relative, is_package, facts.st_mtime_ns, facts.st_size, *add(codes[name]))
        # A file that has grown with every way in which modules can come along starts over with those of this process.
        crowded = sum(end - begin for _, begin, end in self.groups.values()) > _MOST // 4
        known = {} if crowded else {name: members for name, (members, *_) in self.groups.items()}
        for name, members in {**known, **self.seen}.items():
            # One with a changed source may bring along other modules now: it is seen anew by the next process.
            if all(member in table for member in members) and not fresh.intersection(members):
                groups[name] = (members, *add(tuple(codes[member] for member in members)))
        version = (_FORMAT, sys.hexversion, at)
        head = marshal.dumps((version, table, groups, libraries))
        self._put(b"".join(((len(head) + _WORD).to_bytes(_WORD, "little"), head, *blocks)))

    def _put(self, data: bytes) -> None:
        staged = f"{self.path}.{getpid()}"
        try:
            unlink(staged)  # of an earlier process with this number, which was killed
        except FileNotFoundError:
            pass
        fd = open(staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        try:
            while data:
                data = data[write(fd, data) :]
        finally:
            close(fd)
        try:
            rename(staged, self.path)
        except OSError:
            unlink(staged)


def _libraries() -> dict[str, str]:
    """The interpreter's compiled modules that this process loaded from folders of the path."""
    found = {}
    for name, module in sys.modules.items():
        spec: Any = getattr(module, "__spec__", None)
        if "." not in name and type(getattr(spec, "loader", None)).__name__ == "ExtensionFileLoader":
            found[name] = spec.origin
    return found


def install(folder: str) -> "Bundle | None":
    """Put the bundle of the package in `folder` before all other finders; None where there can be none."""
    if sys.platform == "win32":
        return None
    made = Bundle(folder)
    made.read()
    sys.meta_path.insert(0, made)
    return made
