"""Every key of a policy file, in one literal table that reader, layers, docs and `policy schema` share."""

from __future__ import annotations

from ringfence.records import Choice, Record


class Shape(Choice):
    """What a key's value looks like."""

    PATHS = "array of paths"
    WORD = "one word"
    SWITCH = "true or false"
    IDS = "array of guard ids"
    TABLES = "array of tables"


class Key(Record):
    """One key.

    `values` run from the strictest to the widest: narrowing is one comparison of places in it. `default` is
    the text as it would stand in a file ("" = unset). `before_trust` says what a project file may do with
    the key before its owner has trusted it.
    """

    name: str
    shape: Shape
    values: tuple[str, ...]
    default: str
    meaning: str
    before_trust: str


_STRICTER = "may only move to a stricter value (the values are listed from strict to wide)"

KEYS: tuple[Key, ...] = (
    Key(
        "workspace",
        Shape.PATHS,
        (),
        "",
        "The trees an agent may write. Each must exist. The highest layer that names any wins.",
        "inside the file's own folder, when no flag or variable names a workspace, and inside the workspace"
        " that the user's or site's file names, if any",
    ),
    Key(
        "protect",
        Shape.PATHS,
        (),
        "",
        "Trees that no call may change, wherever they lie, also inside a workspace. One that does not"
        " exist is judged by its name. All layers add up.",
        "yes",
    ),
    Key(
        "reads",
        Shape.WORD,
        ("workspace", "anywhere"),
        '"workspace"',
        "Where file tools, search tools and the reads that a command's text names may read.",
        _STRICTER,
    ),
    Key(
        "shell_reads",
        Shape.WORD,
        ("system", "anywhere"),
        '"anywhere"',
        'What a running program may read: everything but `none` zones, or ("system") only'
        " the workspace, its caches and the system's own prefixes.",
        _STRICTER,
    ),
    Key(
        "opaque",
        Shape.WORD,
        ("deny", "ask", "allow"),
        '"ask"',
        "The verdict on a command that nobody can read, where no engine holds it.",
        _STRICTER,
    ),
    Key(
        "unattended",
        Shape.WORD,
        ("deny", "allow"),
        '"deny"',
        'What "ask" becomes when no one is there to answer.',
        _STRICTER,
    ),
    Key(
        "minimum",
        Shape.WORD,
        ("kernel", "hook", "none"),
        '"kernel" on Linux, "hook" elsewhere',
        "Run no command whose boundary would be held by less than this.",
        _STRICTER,
    ),
    Key(
        "strict",
        Shape.SWITCH,
        ("true", "false"),
        "false",
        "`minimum` holds for every rule, guards included, not only for the boundary.",
        _STRICTER,
    ),
    Key(
        "temp",
        Shape.WORD,
        ("none", "private", "shared"),
        '"private"',
        "The temp folder of commands: none, one of their own for the session, or the system's.",
        _STRICTER,
    ),
    Key(
        "caches",
        Shape.WORD,
        ("none", "private", "shared"),
        '"private"',
        "The caches of package managers and compilers: none, a folder for each workspace, or the user's own.",
        _STRICTER,
    ),
    Key(
        "git_config",
        Shape.WORD,
        ("guard", "vet", "open"),
        '"vet"',
        "`.git/config` of an ordinary checkout: read-only, git may write harmless keys, or not guarded.",
        _STRICTER,
    ),
    Key(
        "unguard",
        Shape.IDS,
        (),
        "[]",
        "Built-in guards to switch off, by id. All layers add up.",
        "no",
    ),
    Key(
        "zone",
        Shape.TABLES,
        (),
        "",
        "One more rule: `path` (a tree, a file or a pattern) and `access`. The longest root wins, on a"
        " tie the stricter. All layers add up.",
        "access none; access read where the path could be read anyway and nobody else hides a part",
    ),
    Key(
        "test",
        Shape.TABLES,
        (),
        "",
        "What the policy must answer: `path`, `op`, `expect`. Run by `ringfence policy check`.",
        "yes",
    ),
)

ACCESS_WORDS = ("none", "read", "write")  # strict to wide
OP_WORDS = ("read", "write", "create", "delete", "rename", "link", "metadata")
VERDICT_WORDS = ("deny", "ask", "allow")


class Field(Record):
    """One key of a `[[zone]]` or `[[test]]` table. `values` empty: any text."""

    name: str
    values: tuple[str, ...]
    required: bool
    meaning: str


TABLES: dict[str, tuple[Field, ...]] = {
    "zone": (
        Field("path", (), True, "a path, or a pattern: `**/` any depth, `*` and `?` within a component"),
        Field("access", ACCESS_WORDS, True, "what the zone grants below its root"),
    ),
    "test": (
        Field("path", (), True, "the path as an agent would write it"),
        Field("op", OP_WORDS, True, "what would be done to it"),
        Field("expect", VERDICT_WORDS, True, "the verdict that must come out"),
        Field("cwd", (), False, "the folder the path is relative to; by default the file's own"),
    ),
}

BY_NAME: dict[str, Key] = {key.name: key for key in KEYS}
WORD_KEYS: tuple[str, ...] = tuple(key.name for key in KEYS if key.shape in (Shape.WORD, Shape.SWITCH))


def is_wider(key: str, value: str, than: str) -> bool:
    """Whether `value` grants more than `than`; both must be values of `key`."""
    values = BY_NAME[key].values
    return values.index(value) > values.index(than)


def defaults(system: str) -> dict[str, str]:
    """The value of every word and switch where nobody says anything. `system` is `sys.platform`."""
    return {
        "reads": "workspace",
        "shell_reads": "anywhere",
        "opaque": "ask",
        "unattended": "deny",
        "minimum": "kernel" if system == "linux" else "hook",
        "strict": "false",
        "temp": "private",
        "caches": "private",
        "git_config": "vet",
    }
