"""Windows names: text to an absolute path, then a component walk. By reasoning and pyfakefs, not on Windows.

`..` is folded as text because Win32 does so before anything touches the disk (unlike POSIX). Shares, device
namespaces and other drives are *outside* and are never asked about: a look at `\\\\server\\share` sends
credentials (CVE-2024-49766). Such a path is handed on as it stands, below no root that a policy can have.
What remains: a folder whose real name ends in a blank, made through `\\\\?\\`, is taken for its trimmed name.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from ringfence.model import Located, Site, Unresolved
from ringfence.resolve.spell import EMPTY, LOOP, NO_ACCESS, NOT_A_DIRECTORY, NUL, TOO_LONG, is_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_MAX_LINKS = 63  # reparse points on one path (CreateFile, "Symbolic Link Effects")
_MAX_NAME = 255  # UTF-16 units in one component (NTFS)
_MAX_PATH = 32767  # UTF-16 units, the closing NUL included
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: lstat shows a folder, and it leads elsewhere
_SURROGATE = 0x20000000  # a reparse tag with this bit stands for another named object

_FORBIDDEN = frozenset('<>"|?*').union(map(chr, range(32)))
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"]
    + [stem + digit for stem in ("COM", "LPT") for digit in "0123456789\u00b9\u00b2\u00b3"]
)
_HEX = frozenset("0123456789ABCDEF")

_SHORT = Unresolved("invalid.short-name", "an 8.3 name whose long name cannot be found")
_REPARSE = Unresolved("invalid.reparse-point", "a link of a kind that is not known here")


def absolute_windows(raw: str, cwd: str, home: str | None) -> str | Unresolved:
    """Absolute text: `C:\\a\\b`, a separator at the end kept, or a path outside every drive as it stands.

    `cwd` is absolute (`C:\\...`, either separator). `home` as in spell.absolute. Drive-relative names (`C:a`)
    are refused: they depend on a folder per drive that only the other process knows.
    """
    if not raw:
        return EMPTY
    if "\0" in raw:
        return NUL
    if is_uri(raw):
        return Unresolved("invalid.uri", "a URI is not a path; give the path itself")
    text = raw.replace("/", "\\")
    if text[0] == "~":
        name, slash, rest = text[1:].partition("\\")
        if name:
            return Unresolved("invalid.user", f"~{name} means nothing on Windows")
        if home is None or not _has_drive(home):
            return Unresolved(
                "invalid.home", "the path starts with ~ and the home folder is not set to an absolute path"
            )
        text = home.replace("/", "\\") + slash + rest
    if text.startswith("\\\\"):
        return _verbatim(text)
    base = cwd.replace("/", "\\")
    folders: list[str] = []
    if text[1:2] == ":" and text[0].isascii() and text[0].isalpha():
        if text[2:3] != "\\":
            return Unresolved(
                "invalid.drive-relative", "relative to a current folder of that drive, unknown here"
            )
        drive, rest = text[0].upper() + ":", text[3:]
    elif not _has_drive(base):
        if base.startswith("\\\\"):
            return base.rstrip("\\") + "\\" + text.lstrip("\\")  # a share: outside, not touched
        return Unresolved("invalid.cwd", "a relative path needs an absolute working directory")
    elif text[0] == "\\":
        drive, rest = base[0].upper() + ":", text
    else:
        drive, rest = base[0].upper() + ":", text
        folders = [part for part in base[3:].split("\\") if part]
    return _folded(drive, folders, rest)


def _has_drive(text: str) -> bool:
    return text[:1].isascii() and text[:1].isalpha() and text[1:3] in (":\\", ":/")


def _verbatim(text: str) -> str | Unresolved:
    """`\\\\?\\C:\\a` names what `C:\\a` does, if nothing in it would be read differently. Else outside."""
    if text.startswith("\\\\?\\") and _has_drive(text[4:]):
        parts = text[7:].split("\\")
        if all(part and part not in (".", "..") and part == part.rstrip(". ") for part in parts):
            return _folded(text[4].upper() + ":", [], text[7:])
    return text


def _folded(drive: str, folders: list[str], rest: str) -> str | Unresolved:
    """Join, fold `.` and `..` as text, trim each name as Win32 does, refuse what no name can be."""
    for part in rest.split("\\"):
        if part in ("", "."):
            continue
        if part == "..":
            if folders:
                folders.pop()
            continue
        name = _name(part)
        if isinstance(name, Unresolved):
            return name
        folders.append(name)
    last = rest.rpartition("\\")[2]
    path = drive + "\\" + "\\".join(folders)
    if folders and last in ("", ".", ".."):
        path += "\\"
    return TOO_LONG if _units(path) >= _MAX_PATH else path


def _name(part: str) -> str | Unresolved:
    """One component as the system keeps it: trailing dots and blanks gone."""
    if ":" in part:
        return Unresolved("invalid.stream", "a name with a colon is a stream of a file, not a file")
    if not _FORBIDDEN.isdisjoint(part):
        return Unresolved("invalid.name", "the name holds a character that Windows cannot store")
    name = part.rstrip(". ")
    if not name:
        # `...` and `.. ` have meant different folders to different versions and layers.
        return Unresolved("invalid.name", "a name of dots and blanks only")
    # Windows 10 takes `nul.txt` for the device, Windows 11 only `nul`: the stricter reading.
    if part.partition(".")[0].rstrip(" ").upper() in _DEVICES:
        return Unresolved(
            "invalid.device", "the name of a device (CON, NUL, COM1, ...), whatever its extension"
        )
    return TOO_LONG if _units(name) > _MAX_NAME else name


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def locate_windows(
    path: str,
    follow_leaf: bool,
    *,
    drives: tuple[str, ...] | None = None,
    os_module: ModuleType = os,
) -> Site:
    """Where `path` (made by absolute_windows) lands.

    `folded` is the long name that a missing 8.3 look-alike may stand for. `drives`: the only drives that may
    be asked about ("C:"), those of the policy's roots; None is any letter. `os_module` must offer lstat,
    readlink and listdir in the Windows dialect.
    """
    walk = _Walk(follow_leaf, drives, os_module)
    try:
        site = walk.start(path)
        while walk.todo and site is None:
            site = walk.step(walk.todo.pop())
        return walk.located() if site is None else site
    except PermissionError:
        return NO_ACCESS
    except NotADirectoryError:
        return NOT_A_DIRECTORY
    except OSError as error:
        return Unresolved("invalid.unreadable", f"the path cannot be looked at: {error.strerror}")


class _Walk:
    """A walk under way. Each step answers with a site once there is nothing more to walk, else None."""

    __slots__ = ("alias", "drives", "follow_leaf", "here", "hops", "io", "missing", "state", "todo")

    def __init__(self, follow_leaf: bool, drives: tuple[str, ...] | None, io: ModuleType) -> None:
        self.follow_leaf = follow_leaf
        self.drives = drives
        self.io = io
        self.here = ""  # physical, without a separator at the end: "C:" is the top of a drive
        self.state: os.stat_result | None = None  # of `here`; None: a folder, not asked about yet
        self.todo: list[str] = []
        self.missing = False
        self.alias = ""  # the second reading, once a missing name may be short for another
        self.hops = 0

    def start(self, path: str) -> Site | None:
        if not _has_drive(path) or (self.drives is not None and path[:2].upper() not in self.drives):
            return Located(path, False, False, 0, 0, 0, False, "")
        self.here, self.state = path[:2], None
        self.todo += _parts(path[3:])
        return None

    def step(self, name: str) -> Site | None:
        """Raises OSError."""
        if self.state is not None and not S_ISDIR(self.state.st_mode):
            return NOT_A_DIRECTORY
        if name == "\\":
            return None
        entry = self.here + "\\" + name
        if self.missing:
            self.here = entry
            self.alias = self.alias and self.alias + "\\" + name
            return None
        try:
            found = self.io.lstat(entry)
        except FileNotFoundError:
            return self._absent(name)
        if _is_short(name):
            real = _long_name(self.io, self.here, name, found)
            if not real:
                return _SHORT
            entry = self.here + "\\" + real
        tag = getattr(found, "st_reparse_tag", 0)
        if S_ISLNK(found.st_mode) or tag == _JUNCTION:
            if self.todo or self.follow_leaf:
                return self._follow(entry)
        elif tag & _SURROGATE:
            return _REPARSE
        self.here, self.state = entry, found
        return None

    def _absent(self, name: str) -> Site | None:
        if _is_short(name):
            longer = _could_be(name, self.io.listdir(self.here + "\\"))
            if len(longer) > 1:
                return _SHORT
            if longer:
                self.alias = self.here + "\\" + longer[0]
        self.here, self.state, self.missing = self.here + "\\" + name, None, True
        return None

    def _follow(self, entry: str) -> Site | None:
        self.hops += 1
        if self.hops > _MAX_LINKS:
            return LOOP
        target = _joined(self.here, self.io.readlink(entry))
        return target if isinstance(target, Unresolved) else self.start(target)

    def located(self) -> Site:
        where = self.here if len(self.here) > 2 else self.here + "\\"
        if self.missing:
            return Located(where, False, False, 0, 0, 0, False, "", self.alias)
        state = self.state or self.io.lstat(where)
        links = state.st_nlink if S_ISREG(state.st_mode) else 0
        return Located(where, True, S_ISDIR(state.st_mode), links, state.st_dev, state.st_ino, False, "")


def _parts(text: str) -> list[str]:
    """Components, the next one last; a separator at the end is one of its own."""
    parts = [part for part in text.split("\\") if part]
    if text.endswith("\\") and parts:
        parts.append("\\")
    parts.reverse()
    return parts


def _joined(folder: str, target: str) -> str | Unresolved:
    """A link's text as an absolute path; `..` in it is folded from the folder that holds the link."""
    if target.startswith("\\??\\"):
        target = "\\\\?\\" + target[4:]
    if target.startswith("\\\\?\\") and _has_drive(target[4:]):
        target = target[4:]  # readlink and junctions give this form; it is not what a caller wrote
    return absolute_windows(target, folder + "\\", None)


def _is_short(name: str) -> bool:
    """`STEM~1` or `STEM~1.EXT`: the form that NTFS gives to the short name of a longer one."""
    stem, _, extension = name.partition(".")
    base, tilde, number = stem.rpartition("~")
    return bool(tilde and base) and number.isdecimal() and len(stem) <= 8 and len(extension) <= 3


def _could_be(name: str, siblings: list[str]) -> list[str]:
    """The siblings that `name` could be short for: same start, or two characters and a four-digit hash."""
    stem, _, extension = name.upper().partition(".")
    base = stem.rpartition("~")[0]
    found = []
    for sibling in siblings:
        body, dot, tail = sibling.upper().rpartition(".")
        if not dot:
            body, tail = sibling.upper(), ""
        body = "".join(char for char in body if char not in " .")
        hashed = len(base) == 6 and _HEX.issuperset(base[2:]) and body.startswith(base[:2])
        if (body.startswith(base) or hashed) and tail[:3] == extension:
            found.append(sibling)
    return found


def _long_name(io: ModuleType, folder: str, name: str, found: os.stat_result) -> str:
    """The entry of `folder` that `name` opens: itself if it is listed, else the one with the same file id."""
    listed = io.listdir(folder + "\\")
    for sibling in listed:
        if sibling.upper() == name.upper():
            return str(sibling)
    for sibling in _could_be(name, listed):
        other = io.lstat(folder + "\\" + sibling)
        if found.st_ino and (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino):
            return sibling
    return ""
