"""Our own small syntax tree: what the walk needs to know of a command, whatever parser made it.

Offsets are bytes into the UTF-8 text. Nothing here is expanded or judged.
"""

from __future__ import annotations

from ringfence.records import Record


class Lit(Record):
    """Unquoted text; backslashes are still in it."""

    text: str


class Quoted(Record):
    """Text that stands for itself, as single quotes make it (`$'..'` already decoded)."""

    text: str


class Double(Record):
    """Parts inside double quotes: no splitting, no globs, no braces."""

    parts: tuple[Part, ...]


class Param(Record):
    """`$name` or `${name...}`. `op` is "" for the plain form, else its operator (`:-`, `%`, `/`, `@`, ...).

    `strange` names a form whose value the walk does not compute, "" for the others.
    """

    name: str
    op: str = ""
    word: Word | None = None
    other: Word | None = None
    subscript: Word | None = None
    indirect: bool = False
    length: bool = False
    strange: str = ""
    nested: tuple[Word, ...] = ()


class Command(Record):
    """`$( )` or backticks."""

    body: tuple[Stmt, ...]


class Process(Record):
    """`<( )`, `>( )`, `=( )`."""

    op: str
    body: tuple[Stmt, ...]


class Arith(Record):
    """`$(( ))`: only the words in it matter, its value is a number."""

    words: tuple[Word, ...]


class ExtGlob(Record):
    """`@(a|b)` and its four sisters; the pattern is raw text."""

    op: str
    pattern: str


Part = Lit | Quoted | Double | Param | Command | Process | Arith | ExtGlob


class Word(Record):
    parts: tuple[Part, ...]
    start: int = 0
    end: int = 0


class Assign(Record):
    """`name=value`, `name+=value`, `name=(...)`, `name[index]=value`; `naked` words of `export`/`declare` too."""

    name: str
    value: Word | None
    array: tuple[Word, ...] | None = None
    append: bool = False
    subscript: Word | None = None
    naked: bool = False


class Redirect(Record):
    """`op` as written; `fd` is "" or a number or `{name}`. `body` is a here-document, `literal` if not expanded."""

    op: str
    fd: str
    word: Word
    body: Word | None = None
    literal: bool = False


class Simple(Record):
    assigns: tuple[Assign, ...]
    words: tuple[Word, ...]


class Declare(Record):
    """`export`, `declare`, `local`, `readonly`, `typeset`, `nameref`."""

    variant: str
    args: tuple[Assign, ...]


class Group(Record):
    """`{ }` or, with `subshell`, `( )`."""

    body: tuple[Stmt, ...]
    subshell: bool


class If(Record):
    """Arms of (condition, body); an `else` arm has no condition."""

    arms: tuple[tuple[tuple[Stmt, ...], tuple[Stmt, ...]], ...]


class Loop(Record):
    """`while`, `until`, C-style `for`: `words` are those of an arithmetic head."""

    condition: tuple[Stmt, ...]
    body: tuple[Stmt, ...]
    words: tuple[Word, ...] = ()
    names: tuple[str, ...] = ()


class For(Record):
    """`for name in items` and `select`; `items` None: the positional parameters."""

    name: str
    items: tuple[Word, ...] | None
    body: tuple[Stmt, ...]
    select: bool


class Case(Record):
    word: Word
    items: tuple[tuple[tuple[Word, ...], tuple[Stmt, ...], str], ...]


class Function(Record):
    names: tuple[str, ...]
    body: Stmt


class Binary(Record):
    """`&&`, `||`, `|`, `|&`."""

    op: str
    left: Stmt
    right: Stmt


class Test(Record):
    """`[[ ]]`, `(( ))`, `let`: nothing is written, but words in it are expanded and names may be assigned."""

    words: tuple[Word, ...]
    names: tuple[str, ...] = ()
    arithmetic: bool = False  # `(( ))` and `let`: also what stands in quotes is expanded once more


class Timed(Record):
    body: Stmt | None


Cmd = Simple | Declare | Group | If | Loop | For | Case | Function | Binary | Test | Timed


class Stmt(Record):
    cmd: Cmd | None
    redirects: tuple[Redirect, ...]
    negated: bool
    background: bool
    start: int
    end: int


class Script(Record):
    """A whole text. `text` is what was parsed, for spans."""

    body: tuple[Stmt, ...]
    text: str


class Refusal(Record):
    """Text that no tree can be trusted for. `code` is `opaque.*` or `invalid.*`."""

    code: str
    why: str
    at: int = 0
