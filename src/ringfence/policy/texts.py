"""The records that stand between policy text and a compiled policy. Frozen; nothing here reads anything."""

from __future__ import annotations

from ringfence.records import Choice, Record

TYPE_CHECKING = False


FILE_NAME = "ringfence.toml"


class Layer(Choice):
    """Who said it. The order of LAYER_ORDER decides: the first that sets a word wins."""

    FLAGS = "flags"
    ENVIRONMENT = "environment"
    PROJECT = "project"
    USER = "user"
    SITE = "site"
    BUILT_IN = "built in"


LAYER_ORDER: tuple[Layer, ...] = (
    Layer.FLAGS,
    Layer.ENVIRONMENT,
    Layer.PROJECT,
    Layer.USER,
    Layer.SITE,
    Layer.BUILT_IN,
)


class Place(Record):
    """Where a value stands: a file, a flag, a variable; line and column are 1-based, 0 = none."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class PathText(Record):
    """A path as written, and `spelled`: joined to its folder and `~`-expanded, not resolved."""

    text: str
    spelled: str
    place: Place


class Word(Record):
    """One word or switch as its text ("true" and "false" for switches)."""

    key: str
    value: str
    place: Place


class ZoneText(Record):
    """One `[[zone]]`. With `parts` a pattern: `path.spelled` is then the literal folder it starts from."""

    path: PathText
    access: str
    place: Place
    deep: bool = False
    parts: tuple[str, ...] = ()


class Expectation(Record):
    """One `[[test]]`; `path` stays as an agent would write it. `cwd` is absolute."""

    path: str
    op: str
    expect: str
    cwd: str
    place: Place


class LayerText(Record):
    """What one source says. `trusted` False: a project file that its owner has not accepted yet."""

    layer: Layer
    source: str
    folder: str
    trusted: bool
    workspace: tuple[PathText, ...] = ()
    protect: tuple[PathText, ...] = ()
    zones: tuple[ZoneText, ...] = ()
    words: tuple[Word, ...] = ()
    unguard: tuple[tuple[str, Place], ...] = ()
    tests: tuple[Expectation, ...] = ()


class FileSeen(Record):
    """A file that was looked for while loading; `content` None: it was not there."""

    path: str
    content: bytes | None


class LinkSeen(Record):
    """A name that was asked whether it is a link. `target`: its text, "" no link, None nothing to be seen."""

    path: str
    target: str | None


class RootSeen(Record):
    """A root as spelled, and where it led when the policy was compiled."""

    spelled: str
    path: str  # "" if it could not be resolved
    is_dir: bool
