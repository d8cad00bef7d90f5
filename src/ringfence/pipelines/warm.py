"""A fence for one batch of paths: what it learned about a folder it believes until the batch ends.

In front of the one resolver, never beside it. A folder is resolved by `locate` once; a name in it that is a regular
file with one name, a folder, or missing is judged as the folder's place plus that name. Everything else (links, hard
links, devices, `..`, doors of procfs, odd text) takes `Fence.check` itself. tests/property/test_warm.py holds the two
together. What it costs in truth: a folder that is replaced while a batch runs, or an entry that comes or goes, may be
judged as it stood when the batch first looked (docs/audit.md, "One batch").
"""

from __future__ import annotations

import re
from _stat import S_IFDIR, S_IFMT, S_IFREG

from ringfence.decide import judge, nearest
from ringfence.model import Access, Decision, Located, Op, Verdict
from ringfence.pipelines.fence import FOLD, IN_PLACE, Fence, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import LinkNames, Rule
    from ringfence.pipelines.fence import PathText

try:
    from posix import lstat, scandir
except ImportError:  # Windows: there is no batch cache, only the fence
    from os import lstat, scandir

_MOST_FOLDERS = 8192
_MOST_NAMES = 50_000  # names held for all folders together: flat memory, whatever the batch is
_LONGEST = 900  # characters of a folder: four bytes each and a name stay below PATH_MAX
_MOST_FILES = 4096  # hard-linked files whose other names are remembered
_LIST_AFTER = 16  # looks into one folder before it is listed
_new = tuple.__new__
_NAME_BYTES = 255


class _Folder:
    """One folder as the batch first saw it. `names` maps what it holds to "is no plain case" once it was listed."""

    __slots__ = (
        "exists", "is_ours", "looks", "names", "path", "raw", "read_code", "read_rule", "read_words",
        "write_code", "write_rule", "write_words",
    )  # fmt: skip

    def __init__(self, path: str, exists: bool) -> None:
        self.path = path if path == "/" else path + "/"
        self.raw = self.path.encode("utf-8", "surrogateescape")
        self.exists = exists
        self.looks = 0
        self.names: Mapping[bytes, int] | None = None
        self.is_ours = False  # what follows holds for every name that no zone and no pattern names
        self.write_code = self.write_words = self.read_code = self.read_words = ""
        self.write_rule: Rule | None = None
        self.read_rule: Rule | None = None


class WarmFence(Fence):
    """The same answers as the fence it is made from, cheaper by the second path in a folder. Not for threads."""

    __slots__ = (
        "_absolute",
        "_count",
        "_cwd",
        "_kept",
        "_linked",
        "_names",
        "_needle",
        "_relative",
        "_safe",
        "_tables",
    )

    @classmethod
    def over(cls, fence: Fence) -> WarmFence:
        """A new batch under `fence`."""
        made = object.__new__(cls)
        made.policy, made._home, made._env, made.cwd = fence.policy, fence.home, fence.env, fence.cwd
        made._index = fence.index
        made._safe = FOLD is None  # elsewhere names have more than one spelling
        made._linked = {}
        # Every pattern without a whole name in it needs one of these texts: one search instead of one for each.
        needles = "|".join(re.escape(needle) for needle, _ in fence.index.wild)
        made._needle = re.compile(needles if fence.index.wild else "(?!)").search
        made._forget()
        return made

    _absolute: dict[str, _Folder | None]
    _tables: dict[str, dict[str, _Folder | None]]
    _relative: dict[str, _Folder | None]
    _cwd: str | None
    _linked: dict[tuple[int, int, str], LinkNames]
    _safe: bool
    _needle: Callable[[str], object]

    def _forget(self) -> None:
        self._absolute = {}
        self._tables = {}
        self._relative = {}
        self._cwd = None
        self._kept = 0
        self._names = 0

    def check(self, path: PathText, op: Op | str = Op.WRITE, *, cwd: PathText | None = None) -> Decision:
        """As Fence.check."""
        if type(path) is not str or type(op) is not Op or not self._safe:
            return Fence.check(self, path, op, cwd=cwd)
        folder, slash, leaf = path.rpartition("/")
        if path[:1] == "/":
            table = self._absolute
        else:
            base = self.cwd if cwd is None else cwd if type(cwd) is str else text_of(cwd)
            if base != self._cwd:
                self._turn_to(base)
            table = self._relative
        try:
            known = table[folder]
        except KeyError:
            known = self._learn(table, folder, slash)
        if known is None or leaf in {"", ".", ".."} or (not slash and leaf[0] == "~"):
            return Fence.check(self, path, op, cwd=cwd)
        return self._in(known, leaf, op) or Fence.check(self, path, op, cwd=cwd)

    def _turn_to(self, base: str) -> None:
        if base not in self._tables and len(self._tables) >= _MOST_FOLDERS:
            self._forget()
        self._relative = self._tables.setdefault(base, {})
        self._cwd = base

    def _learn(self, table: dict[str, _Folder | None], folder: str, slash: str) -> _Folder | None:
        """Resolve a folder by the one resolver and keep what it said; None: nothing to go by."""
        if self._kept >= _MOST_FOLDERS:
            cwd = self._cwd
            self._forget()
            if cwd is not None and table is not self._absolute:
                self._turn_to(cwd)
                table = self._relative
            else:
                table = self._absolute
        known = self._look(folder, slash)
        table[folder] = known
        self._kept += 1
        return known

    def _look(self, folder: str, slash: str) -> _Folder | None:
        rooted = bool(slash) and folder[:1] in {"/", ""}
        base = "" if rooted else self._cwd or ""
        if len(folder) + len(base) + len(self._home or "") > _LONGEST or "\0" in folder:
            return None  # too long to be sure that no name below passes PATH_MAX
        if not rooted and ":/" in folder:
            return None  # perhaps a URI
        # A relative folder with a name behind it, so that an empty text is the working directory itself.
        text = (folder or "/") if rooted else f"{folder}/." if folder else "."
        site = self.locate(text, cwd=base)
        if not isinstance(site, Located) or site.folded or site.magic or len(site.path) > _LONGEST:
            return None
        if site.exists and not site.is_dir:
            return None
        path = site.path
        if path == "/dev" or path.startswith(("/dev/", "/proc")):
            return None
        made = _Folder(path, site.exists)
        self._zones(made, path)
        return made

    def _zones(self, made: _Folder, path: str) -> None:
        """What an allowed use of an ordinary name below is answered with, where one zone governs them all."""
        index = self._index
        if not index.name_set.isdisjoint(path.split("/")) or any(needle in path for needle, _ in index.wild):
            return
        made.is_ours = True
        zone, _ = nearest(index, path)
        if zone is not None and zone.access is Access.WRITE:
            sample = judge(index, Op.WRITE, Located(path, False, False, 0, 0, 0, False, ""))
            made.write_code, made.write_rule, made.write_words = sample.code, sample.rule, sample.message
        zone, _ = nearest(index, path, reading=True)
        if zone is not None and zone.access is not Access.NONE:
            sample = judge(index, Op.READ, Located(path, False, False, 0, 0, 0, False, ""))
            made.read_code, made.read_rule, made.read_words = sample.code, sample.rule, sample.message

    def _in(self, known: _Folder, leaf: str, op: Op) -> Decision | None:
        """The verdict on a plain name in a known folder; None for everything that is not plain."""
        try:
            raw = leaf.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return None
        if len(raw) > _NAME_BYTES or b"\0" in raw:
            return None
        if known.exists:
            names = known.names
            if names is None or raw in names:
                if names is not None and names[raw]:
                    return None
                try:
                    st = lstat(known.raw + raw)
                except FileNotFoundError:
                    self._count_look(known)
                except (OSError, ValueError):
                    return None
                else:
                    kind = S_IFMT(st.st_mode)
                    if kind == S_IFREG:
                        if st.st_nlink != 1 and op in IN_PLACE:
                            return None
                    elif kind != S_IFDIR:
                        return None
        path = known.path + leaf
        index = self._index
        if (
            known.is_ours
            and leaf not in index.name_set
            and path not in index.roots
            and self._needle(leaf) is None
        ):
            if op is Op.READ:
                if known.read_code:
                    return _new(
                        Decision,
                        (Verdict.ALLOW, known.read_code, path, known.read_rule, known.read_words, op, ""),
                    )
            elif known.write_code and op in IN_PLACE:
                return _new(
                    Decision,
                    (Verdict.ALLOW, known.write_code, path, known.write_rule, known.write_words, op, ""),
                )
        return judge(index, op, Located(path, known.exists, False, 0, 0, 0, False, ""))

    def _count_look(self, known: _Folder) -> None:
        """A name was missing. A folder that is asked about often is listed once; missing names then cost nothing."""
        known.looks += 1
        if known.looks != _LIST_AFTER or self._names > _MOST_NAMES:
            return
        names: dict[bytes, int] = {}
        try:
            with scandir(known.raw) as entries:
                for entry in entries:
                    names[entry.name] = entry.is_symlink()
                    if self._names + len(names) > _MOST_NAMES:
                        return
        except OSError:
            return
        self._names += len(names)
        known.names = names

    def _other_names(self, site: Located) -> LinkNames:
        """As the fence, once for each file of the batch."""
        key = (site.dev, site.ino, site.path)
        found = self._linked.get(key)
        if found is None:
            if len(self._linked) >= _MOST_FILES:
                self._linked.clear()
            found = self._linked[key] = super()._other_names(site)
        return found
