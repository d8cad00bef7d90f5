"""One command about to run: what every program handler is given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.shell.state import State, Value
    from ringfence.shell.walk import Walk


class Call:
    """`args` are the words after `name`. A handler returns what the command prints, None if that is not known.

    `ok` and `bad` are where the shell stands afterwards; only builtins that move it set them.
    """

    __slots__ = ("args", "bad", "extra", "name", "ok", "path", "state", "stdin", "walk")

    def __init__(
        self,
        walk: Walk,
        state: State,
        path: str,
        name: str,
        args: list[str],
        stdin: str | None,
        extra: Mapping[str, tuple[Value, ...]],
    ) -> None:
        self.walk = walk
        self.state = state
        self.path = path
        self.name = name
        self.args = args
        self.stdin = stdin
        self.extra = extra
        self.ok: State | None = None
        self.bad: State | None = None

    def variable(self, name: str) -> tuple[Value, ...]:
        """What the command would see of a variable: its own prefix assignments first."""
        return self.extra[name] if name in self.extra else self.state.get(name)

    def child_state(self) -> State:
        """The state that a new shell would start in: exported variables only, no functions."""
        made = self.state.copy()
        made.values = {k: v for k, v in made.values.items() if k in made.exported or k == "HOME"}
        made.values.update(self.extra)
        made.exported = frozenset(made.values)
        made.functions = {}
        made.options = frozenset()
        made.readonly = frozenset()
        made.params = ()
        return made
