"""The room's answer: every path a command's text would touch, and everything the text does not tell."""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Op, Surroundings
    from ringfence.shell.disk import Disk
    from ringfence.shell.tree import Refusal, Script

    # (text, dialect) -> tree or refusal; needed again for every nested text (`bash -c`, `eval`, `trap`)
    Parse = Callable[[str, str], Script | Refusal]


class Use(Record):
    """One path, expanded, and what would be done to it.

    `path` may be relative to `cwd`; `~name` at its start is meant, a file of that name is spelled `./~name`.
    `deep`: everything below counts too. `soft`: what happens there is another program's business, so a refusal
    makes the command unreadable instead of refused. `entry`: the leaf itself, not what it links to.
    """

    op: Op
    path: str
    cwd: str
    why: str
    start: int
    end: int
    deep: bool = False
    soft: bool = False
    entry: bool = False


class Unknown(Record):
    """Something only the running command will tell. `code` is a stable `opaque.*`."""

    code: str
    why: str
    start: int
    end: int


class Reading(Record):
    uses: tuple[Use, ...]
    unknowns: tuple[Unknown, ...]
    commands: tuple[str, ...]  # names of the commands that would run, in order of appearance


def read(
    text: str,
    *,
    parse: Parse,
    dialect: str,
    at: Surroundings,
    env: Mapping[str, str],
    disk: Disk,
) -> Reading:
    """Read one command. `env` holds the variables the command would see; one that it lacks is unknown, not empty.

    Never raises for what `text` holds; a text that cannot be parsed is one Unknown, and its readable beginning
    is not trusted either, because the shell runs the lines before a syntax error.
    """
    from ringfence.shell.walk import Walk

    walk = Walk(parse=parse, dialect=dialect, at=at, env=env, disk=disk)
    walk.start(text)
    return Reading(tuple(walk.uses), tuple(walk.unknowns), tuple(walk.commands))
