"""What the shell would know at one point of a text, as sets of possibilities.

In every text of the walk a few control characters carry meaning; `read_script` and `clean` keep them out of
what comes from outside. `UNKNOWN` stands for any text at all (also empty, also with slashes), `DIGITS` for a
number, `BREAK` separates the fields of `"$@"`, `NOTHING` marks a `"$@"` without any, `TILDE` is a `~` that the
shell would have expanded and we could not.
"""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ringfence.shell.tree import Stmt

    Value = str | tuple[str, ...] | None  # text, an array, or unset

UNKNOWN = "\0"
DIGITS = "\1"
BREAK = "\2"
NOTHING = "\3"
TILDE = "\4"
RESERVED = UNKNOWN + DIGITS + BREAK + NOTHING + TILDE
MAX_CHOICES = 64  # values of one variable, alternatives of one word
MAX_CWDS = 8


class State:
    """Mutable; `copy` for a subshell, `join` where two ways meet."""

    __slots__ = (
        "built",
        "cwds",
        "dead",
        "exported",
        "files",
        "folders",
        "functions",
        "links",
        "mirrors",
        "oldpwd",
        "options",
        "params",
        "planted",
        "readonly",
        "references",
        "stack",
        "touched",
        "values",
    )  # fmt: skip

    def __init__(self, cwd: str, values: Mapping[str, tuple[Value, ...]]) -> None:
        self.cwds: tuple[str, ...] = (cwd,)
        self.oldpwd: tuple[str, ...] = (UNKNOWN,)
        self.values: dict[str, tuple[Value, ...]] = dict(values)
        self.functions: dict[str, Stmt | None] = {}  # None: an unknown one of that name may exist
        self.params: tuple[str, ...] | None = ()
        self.stack: (
            tuple[tuple[str, ...], ...] | None
        ) = ()  # None: not known; below it lies the session's own
        self.options: frozenset[str] = frozenset()
        self.readonly: frozenset[str] = frozenset()
        self.references: dict[str, str] = {}  # `declare -n`: a name that stands for another
        self.dead = ""  # "exit", "return" or "break" once nothing after this runs
        self.exported: frozenset[str] = frozenset()
        # What this very text did to the disk so far, by absolute name:
        self.links: dict[str, str] = {}  # symbolic links made, with their targets
        self.mirrors: tuple[tuple[str, str], ...] = ()  # (copy, original) of trees that may hold links
        self.planted: tuple[str, ...] = ()  # folders that an archive may have filled with links
        self.files: dict[str, str] = {}  # files whose whole content the text tells
        self.folders: frozenset[str] = frozenset()  # folders, and links to some, that this text made
        self.touched: tuple[str, ...] = ()  # names changed, so that "it is a directory" may be out of date
        self.built: frozenset[str] = frozenset()  # programs that a compiler in this text made

    def copy(self) -> State:
        made = State.__new__(State)
        made.cwds = self.cwds
        made.oldpwd = self.oldpwd
        made.values = dict(self.values)
        made.functions = dict(self.functions)
        made.params = self.params
        made.stack = self.stack
        made.options = self.options
        made.readonly = self.readonly
        made.dead = self.dead
        made.references = dict(self.references)
        made.exported = self.exported
        made.links = dict(self.links)
        made.mirrors = self.mirrors
        made.planted = self.planted
        made.files = dict(self.files)
        made.touched = self.touched
        made.folders = self.folders
        made.built = self.built
        return made

    def adopt_disk(self, other: State) -> None:
        """A subshell's variables vanish, what it did to the disk does not."""
        self.links.update(other.links)
        self.mirrors = union(self.mirrors, other.mirrors)
        self.planted = union(self.planted, other.planted)
        self.touched = union(self.touched, other.touched)
        self.built |= other.built
        self.folders |= other.folders
        self.files = {k: v for k, v in other.files.items() if self.files.get(k, v) == v}

    def become(self, other: State) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    # -- variables ------------------------------------------------------------------------------------------
    def get(self, name: str) -> tuple[Value, ...]:
        return self.values.get(self.references.get(name, name), (UNKNOWN,))

    def set(self, name: str, values: Iterable[Value]) -> None:
        name = self.references.get(name, name)
        if name in self.readonly:
            self.values[name] = (UNKNOWN,)  # the assignment fails; which value it keeps is not worth guessing
            return
        seen = tuple(dict.fromkeys(values))
        self.values[name] = seen if len(seen) <= MAX_CHOICES else (UNKNOWN,)


class Outcome(Record):
    """Where the shell stands if the command succeeded, if it failed, and what it printed (None: not known)."""

    ok: State
    bad: State
    out: str | None


def join(left: State, right: State) -> State:
    """Either may be where the shell stands. A dead one is not."""
    if left is right:
        return left
    if left.dead:
        right.adopt_disk(left)
        return right
    if right.dead:
        left.adopt_disk(right)
        return left
    made = left.copy()
    made.cwds = limit_cwds(union(left.cwds, right.cwds))
    made.oldpwd = limit_cwds(union(left.oldpwd, right.oldpwd))
    for name in left.values.keys() | right.values.keys():
        a, b = left.get(name), right.get(name)
        if a != b:
            both = union(a, b)
            made.values[name] = both if len(both) <= MAX_CHOICES else (UNKNOWN,)
    for name in left.functions.keys() | right.functions.keys():
        one, other = left.functions.get(name), right.functions.get(name)
        if one is not other:
            # Two bodies: neither is trusted. One: it is walked, and that it may be missing is said.
            made.functions[name] = None if one is not None and other is not None else one or other
            made.options |= {f"maybe:{name}"}
    for name, target in right.references.items():
        if made.references.setdefault(name, target) != target:
            made.values[name] = (UNKNOWN,)
            del made.references[name]
    if left.params != right.params:
        made.params = None
    if left.stack != right.stack:
        made.stack = None
    made.options |= right.options
    made.readonly = left.readonly | right.readonly
    made.exported = left.exported | right.exported
    made.adopt_disk(right)
    return made


def union(a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
    if a == b:
        return a
    return tuple(dict.fromkeys((*a, *b)))


def hides_code(text: str) -> bool:
    """A text whose subscript runs something once arithmetic reads it: `a[$(cmd)]`, and what such texts are made of."""
    at = text.find("[")
    return at >= 0 and any(text.find(mark, at) >= 0 for mark in ("$(", "`", "${ ", "${|", "@P"))


def clean(text: str) -> str:
    """Text from outside (a file name, a variable): unknown if it could be mistaken for one of our marks."""
    return UNKNOWN if any(c in text for c in RESERVED) else text


def limit_cwds(cwds: tuple[str, ...]) -> tuple[str, ...]:
    return cwds if len(cwds) <= MAX_CWDS else (*cwds[:MAX_CWDS], UNKNOWN)


def fold(base: str, path: str) -> str:
    """`path` seen from `base`, `.` and `..` folded as text: how `cd` reads it, and only `cd`."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{base}/{path}").split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")
