"""find's expressions: which files an action may be reached for. What is not modelled may be true and may be false."""

from __future__ import annotations

from ringfence.records import Record
from ringfence.shell import globs
from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONS = frozenset(("-delete", "-exec", "-execdir", "-ok", "-okdir"))
_ALWAYS = frozenset(
    ("-print", "-print0", "-ls", "-maxdepth", "-mindepth", "-depth", "-d", "-xdev", "-mount", "-daystart", "-warn",
     "-nowarn", "-noleaf", "-follow", "-regextype", "-ignore_readdir_race", "-true", "-printf", "-fprint", "-fprint0",
     "-fls", "-fprintf", "-quit")
)  # fmt: skip
# Words each takes after itself; what is not listed takes none.
_VALUES = dict.fromkeys(
    ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type", "-xtype", "-size", "-mtime",
     "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-maxdepth", "-mindepth", "-user", "-group", "-perm", "-printf",
     "-regextype", "-inum", "-links", "-lname", "-ilname", "-fstype", "-uid", "-gid", "-used", "-newer", "-anewer",
     "-cnewer", "-newermt", "-newerct", "-newerat", "-samefile", "-fprint", "-fprint0", "-fls", "-context", "-D"),
    1,
)  # fmt: skip
_VALUES["-fprintf"] = 2


class File(Record):
    """One name that find meets. `path` as find spells it."""

    path: str
    leaf: str
    folder: bool
    link: bool


class _Node(Record):
    """ "test", "not", "and", "or"; tests keep their words."""

    kind: str
    words: tuple[str, ...]
    parts: tuple[_Node, ...]


def parse_expression(words: Sequence[str]) -> _Node | None:
    """The expression part of a command line; None if it is not understood, and then everything matches."""
    tokens = list(words)
    try:
        node = _either(tokens)
    except (IndexError, RecursionError):
        return None
    return None if tokens else node


def _either(tokens: list[str]) -> _Node:
    parts = [_all(tokens)]
    while tokens and tokens[0] in ("-o", "-or", ","):
        comma = tokens.pop(0) == ","
        if comma:
            raise IndexError
        parts.append(_all(tokens))
    return parts[0] if len(parts) == 1 else _Node("or", (), tuple(parts))


def _all(tokens: list[str]) -> _Node:
    parts: list[_Node] = []
    while tokens and tokens[0] not in ("-o", "-or", ")", ","):
        if tokens[0] in ("-a", "-and"):
            tokens.pop(0)
            continue
        parts.append(_one(tokens))
    return parts[0] if len(parts) == 1 else _Node("and", (), tuple(parts))


def _one(tokens: list[str]) -> _Node:
    word = tokens.pop(0)
    if word in ("!", "-not"):
        return _Node("not", (), (_one(tokens),))
    if word == "(":
        inner = _either(tokens)
        if tokens.pop(0) != ")":
            raise IndexError
        return inner
    if not word.startswith("-"):
        raise IndexError
    taken = [word]
    if word in ("-exec", "-execdir", "-ok", "-okdir"):
        while tokens:
            taken.append(tokens.pop(0))
            if taken[-1] == ";" or (taken[-1] == "+" and taken[-2] == "{}"):
                break
    else:
        for _ in range(_VALUES.get(word, 0)):
            taken.append(tokens.pop(0))
    return _Node("test", tuple(taken), ())


def reaches(node: _Node, file: File, found: set[tuple[str, ...]]) -> tuple[bool, bool]:
    """(may be true, may be false); actions that may be reached are added to `found`, `-prune` when it is certain."""
    if node.kind == "not":
        yes, no = reaches(node.parts[0], file, found)
        return no, yes
    if node.kind == "and":
        may_fail = False
        for part in node.parts:
            before = set(found)
            yes, no = reaches(part, file, found)
            if may_fail and ("-prune",) in found - before:
                found.discard(("-prune",))
            may_fail = may_fail or no
            if not yes:
                return False, True
        return True, may_fail
    if node.kind == "or":
        may_hold = False
        for part in node.parts:
            yes, no = reaches(part, file, found)
            may_hold = may_hold or yes
            if not no:
                return True, False
        return may_hold, True
    return _test(node.words, file, found)


def _test(words: tuple[str, ...], file: File, found: set[tuple[str, ...]]) -> tuple[bool, bool]:
    name = words[0]
    if name in ACTIONS or name == "-prune":
        found.add(words)
        return True, name not in ("-prune", "-delete")
    if name in _ALWAYS:
        return True, False
    if name == "-false":
        return False, True
    if name in ("-name", "-iname", "-path", "-ipath", "-wholename") and UNKNOWN not in words[1]:
        pattern, text = words[1], file.leaf if name.endswith("name") and name != "-wholename" else file.path
        if name.startswith("-i"):
            pattern, text = pattern.lower(), text.lower()
        try:
            hit = globs.match(pattern, text)
        except globs.TooWideError:
            return True, True
        return hit, not hit
    if name == "-type" and words[1] in ("f", "d", "l"):
        hit = file.link if words[1] == "l" else not file.link and file.folder == (words[1] == "d")
        return hit, not hit
    return True, True
