"""Judging paths of a tree that is not on this machine: by a listing of it, or by their text alone. WEAKER, and said so.

The same walk and the same decision as for a tree that is here; only what the walk asks is answered from the listing
(resolve.walk takes the module that answers). What the listing does not name does not exist. Cold.
"""

from __future__ import annotations

from errno import ENOENT, ENOTDIR
from stat import S_IFDIR, S_IFIFO, S_IFLNK, S_IFREG, S_ISDIR, S_ISREG

from ringfence.errors import UsageError
from ringfence.model import LinkNames, Located, Unresolved
from ringfence.pipelines import compose
from ringfence.pipelines.fence import Fence
from ringfence.proposals import Malformed
from ringfence.readers.chunks import BLOCK
from ringfence.readers.tree_listing import Listed, read_tree
from ringfence.resolve.spell import absolute
from ringfence.resolve.walk import locate_walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ringfence.model import CommandDecision, Decision, Op, Site
    from ringfence.pipelines.fence import PathText
    from ringfence.policy.asked import Flags

BY_LISTING = (
    "judged by a listing, as it was when the listing was made; what it does not name counts as missing"
)
BY_TEXT = "judged by the text of each path alone: links, mounts, hard links and missing folders are not known"
_MODES = {"dir": S_IFDIR, "link": S_IFLNK, "file": S_IFREG, "hard": S_IFREG, "other": S_IFIFO}
_FIRST = 1 << 20  # inode numbers of our own start here: 1 is a root of procfs to the walk


class _Stat:
    """What the walk looks at of an os.stat_result."""

    __slots__ = ("st_dev", "st_ino", "st_mode", "st_nlink", "st_rdev")

    def __init__(self, mode: int, inode: int, links: int) -> None:
        self.st_mode, self.st_ino, self.st_nlink = mode, inode, links
        self.st_dev = 1
        self.st_rdev = 0


class ListedDisk:
    """A disk made of names. Offers what resolve.walk asks of `os`, and what the reader of commands asks of a disk."""

    supports_dir_fd: frozenset[object] = (
        frozenset()
    )  # no calls relative to a descriptor: names past PATH_MAX are refused

    def __init__(self) -> None:
        self._entries: dict[bytes, _Stat] = {b"/": _Stat(S_IFDIR, _FIRST, 2)}
        self._targets: dict[bytes, bytes] = {}
        self._names: dict[tuple[int, int], list[bytes]] = {}
        self._next = _FIRST + 1

    # --- made from a listing ---------------------------------------------------------------------------

    def add(self, path: str, listed: Listed) -> None:
        """One name, absolute and without `.` or `..`; its folders come with it."""
        raw = _raw(path)
        self._parents(raw)
        if listed.kind == "dir" and raw in self._entries:
            return
        mode = _MODES.get(listed.kind, S_IFIFO)
        other = self._entries.get(_raw(listed.target)) if listed.kind == "hard" else None
        if other is not None:
            other.st_nlink += 1
            self._entries[raw] = other
        else:
            self._next += 1
            inode = listed.inode + (1 << 40) if listed.inode else self._next
            self._entries[raw] = _Stat(mode, inode, listed.links or 1)
        if listed.kind == "link":
            self._targets[raw] = _raw(listed.target)
        elif S_ISREG(mode):
            self._names.setdefault((1, self._entries[raw].st_ino), []).append(raw)

    def folder(self, path: str) -> None:
        """A folder that is there whether or not the listing says so."""
        self.add(path, Listed("dir", path))

    def _parents(self, raw: bytes) -> None:
        at = raw.rfind(b"/")
        while at > 0 and raw[:at] not in self._entries:
            self._next += 1
            self._entries[raw[:at]] = _Stat(S_IFDIR, self._next, 2)
            at = raw.rfind(b"/", 0, at)

    def names_of(self, dev: int, inode: int) -> list[str]:
        return [_text(raw) for raw in self._names.get((dev, inode), [])]

    # --- as `os` ---------------------------------------------------------------------------------------

    def lstat(self, path: bytes) -> _Stat:
        """Raises OSError as the system call does. The walk hands in physical names only."""
        name = path.rstrip(b"/") or b"/"
        dots = name.endswith(b"/.")
        if dots:
            name = name[:-2] or b"/"
        found = self._entries.get(name)
        if found is None:
            raise FileNotFoundError(ENOENT, "not in the listing")
        if dots and not S_ISDIR(found.st_mode):
            raise NotADirectoryError(ENOTDIR, "not a folder in the listing")
        return found

    stat = lstat

    def readlink(self, path: bytes) -> bytes:
        """The text of a link of the listing."""
        return self._targets[path]

    # --- as the reader of commands asks -----------------------------------------------------------------

    def is_dir(self, path: str) -> bool:
        site = self._site(path)
        return site is not None and site.is_dir

    def is_file(self, path: str) -> bool:
        site = self._site(path)
        return site is not None and site.links > 0

    def exists(self, path: str) -> bool:
        site = self.locate(path, follow=False)
        return isinstance(site, Located) and site.exists

    def read_link(self, path: str) -> str | None:
        target = self._targets.get(_raw(path))
        return None if target is None else _text(target)

    def physical(self, path: str) -> str | None:
        site = self._site(path)
        return None if site is None else site.path

    def children(self, path: str) -> tuple[str, ...] | None:
        site = self._site(path)
        if site is None or not site.is_dir:
            return None
        lead = _raw(site.path.rstrip("/") + "/")
        found = {
            raw[len(lead) :].partition(b"/")[0]
            for raw in self._entries
            if raw.startswith(lead) and raw != lead
        }
        return tuple(sorted(_text(raw) for raw in found if raw))

    def _site(self, path: str) -> Located | None:
        site = self.locate(path, follow=True)
        return site if isinstance(site, Located) and site.exists else None

    def locate(self, path: str, *, follow: bool) -> Site:
        """Where `path` lands on this disk, by the portable walk."""
        return locate_walk(path, follow, os_module=self)  # type: ignore[arg-type]  # offers what the walk asks


class _CommandDisk:
    """ListedDisk under the names that the reader of commands uses; no file's content is known."""

    def __init__(self, disk: ListedDisk) -> None:
        self.is_dir, self.is_file, self.exists = disk.is_dir, disk.is_file, disk.exists
        self.readlink, self.physical, self.names = disk.read_link, disk.physical, disk.children

    def read_text(self, path: str) -> str | None:
        del path
        return None


class AbsentFence(Fence):
    """A fence whose disk is a listing. Everything else is the fence's own."""

    __slots__ = ("_disk",)
    _disk: ListedDisk

    @classmethod
    def over(cls, fence: Fence, disk: ListedDisk) -> AbsentFence:
        made = object.__new__(cls)
        made.policy, made._home, made._env, made.cwd = fence.policy, fence.home, fence.env, fence.cwd
        made._index, made._disk = fence.index, disk
        return made

    def _quick(self, whole: str, op: Op) -> Decision | None:
        del whole, op  # no short cut by system calls: they would ask this machine's disk
        return None

    def _site(self, whole: str, follow: bool) -> Site:
        return self._disk.locate(whole, follow=follow)

    def _other_names(self, site: Located) -> LinkNames:
        names = self._disk.names_of(site.dev, site.ino)
        return LinkNames(tuple(names), len(names) >= site.links, timed_out=False)

    def check_command(
        self, text: str, *, cwd: PathText | None = None, shell: str = "bash"
    ) -> CommandDecision:
        """As Fence.check_command, with the listing for a disk."""
        from ringfence.pipelines.command import judge_text
        from ringfence.pipelines.fence import text_of

        return judge_text(
            text,
            self.check_in_command,
            cwd=self.cwd if cwd is None else text_of(cwd),
            home=self._home,
            env=self._env,
            shell=shell,
            policy=self.policy,
            disk=_CommandDisk(self._disk),
        )

    def with_policy(self, policy: object, env: Mapping[str, str] | None = None) -> Fence:
        """The same listing under another policy."""
        return AbsentFence.over(super().with_policy(policy, env), self._disk)  # type: ignore[arg-type]  # a Policy

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """A listing travels with its fence."""
        return AbsentFence.over, (
            Fence(policy=self.policy, home=self._home, env=dict(self._env), cwd=self.cwd),
            self._disk,
        )


def absent_fence(flags: Flags, cwd: str, listing: str) -> tuple[Fence, str, str]:
    """(the fence, the folder that was named for relative paths or "", in what way it is weaker).

    `listing` "" means the text alone. The roots that the flags name count as folders that are there; files of policy
    are read from this machine only if `--policy` names one. Raises UsageError for a listing that cannot be read.
    """
    env = compose.process_environment()
    here = compose.process_cwd()
    base = _absolute(flags.workspace[0], here, env) if flags.workspace else here
    at = _absolute(cwd, here, env) if cwd else base
    disk = ListedDisk()
    for root in (*flags.workspace, *flags.protect):
        disk.folder(_absolute(root, here, env))
    disk.folder(at)
    if listing:
        _fill(disk, listing, at)

    def locate(path: str) -> Site:
        return disk.locate(path, follow=True)

    from ringfence.policy.load import load

    home = env.get("HOME") or None
    policy = load(compose.sources(flags, env, here, home, files=flags.policy is not None), locate).policy
    fence = Fence(policy=policy, home=home, env=env, cwd=at)
    return AbsentFence.over(fence, disk), at if cwd else "", BY_LISTING if listing else BY_TEXT


def _absolute(path: str, cwd: str, env: Mapping[str, str]) -> str:
    """A root as text: there is no disk to ask. Raises UsageError for a text that names none."""
    whole = absolute(path, cwd, env.get("HOME") or None)
    if isinstance(whole, Unresolved):
        raise UsageError(f"{path!r}: {whole.why}")
    return _joined("/", whole)


def _fill(disk: ListedDisk, listing: str, at: str) -> None:
    problems = 0
    first = ""
    try:
        with open(listing, "rb") as file:
            for item in read_tree(listing, _blocks(file)):
                if isinstance(item, Malformed):
                    problems += 1
                    first = first or f"line {item.line}: {item.why}"
                    continue
                target = _joined(at, item.target) if item.kind == "hard" else item.target
                disk.add(_joined(at, item.name), item._replace(target=target))
    except OSError as error:
        raise UsageError(
            f"{listing}: {error.strerror}", "--as-of takes a file that holds a listing"
        ) from None
    if problems:
        raise UsageError(
            f"{listing}: {problems} lines cannot be read, the first: {first}",
            "a tree that is known in part is not judged; make the listing anew",
        )


def _blocks(file: object) -> Iterable[bytes]:
    def blocks() -> Iterator[bytes]:
        while block := file.read(BLOCK):  # type: ignore[attr-defined]  # an open file
            yield block

    return blocks()


def _joined(at: str, name: str) -> str:
    """`name` below `at`, tidied as text: a listing's names hold no links on the way but those it lists."""
    out: list[str] = []
    for part in (name if name.startswith("/") else f"{at}/{name}").split("/"):
        if part == "..":
            if out:
                out.pop()
        elif part and part != ".":
            out.append(part)
    return "/" + "/".join(out)


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
