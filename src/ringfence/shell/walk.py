"""Walk a tree as the shell would run it, with sets of possibilities instead of values.

Everything is visited, also what a plain reading would never reach: a use too many can be explained, one too few
cannot be undone.
"""

from __future__ import annotations

from ringfence.shell import tree as t
from ringfence.shell.redirects import fill, left_over, redirect
from ringfence.shell.state import (
    DIGITS,
    NOTHING,
    RESERVED,
    UNKNOWN,
    Outcome,
    State,
    clean,
    join,
)
from ringfence.shell.suspicion import Suspicion
from ringfence.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ringfence.model import Surroundings
    from ringfence.shell.disk import Disk
    from ringfence.shell.reading import Parse
    from ringfence.shell.state import Value

MAX_STEPS = 20_000  # statements walked, all repetitions counted
MAX_NESTING = 12  # texts within texts, functions within functions

_BASH_ONLY = ("$'", '$"', "&>", ">&", "|&", "<(", ">(", "[[", "((", "<<<", "function", "=(", "{")


class Walk(Suspicion):
    """One reading. Holds what was found so far; the shell's state is passed along."""

    def __init__(
        self, *, parse: Parse, dialect: str, at: Surroundings, env: Mapping[str, str], disk: Disk
    ) -> None:
        self.parse = parse
        self.dialect = dialect
        self.at = at
        self.env = env
        self.words = Words(self)
        super().__init__(disk)
        self.commands: dict[str, None] = {}
        self.steps = 0
        self.nesting = 0
        self.foreign = False  # inside a nested text, whose offsets are not the outer text's
        self.returns: list[list[State]] = []
        self.breaks: list[list[State]] = []
        self.locals: list[dict[str, tuple[Value, ...]]] = []
        self.traps: list[str] = []
        self.loose_traps: list[str] = []  # those that may run between any two commands
        self.unstable: set[str] = set()  # variables that such a trap sets
        self.ambient: dict[str, tuple[Value, ...]] = {}  # variables as the text found them
        self.integers = False  # some variable is an integer: what it is given is arithmetic
        self.loaded = False  # some variable's text holds a substitution, which arithmetic would run
        self.stdin_file = ""  # the file that the command at hand is fed from

    def start(self, text: str) -> None:
        values: dict[str, tuple[Value, ...]] = {
            name: (clean(value),) for name, value in self.env.items() if name not in ("PWD", "OLDPWD")
        }
        values["HOME"] = (self.at.home if self.at.home is None else clean(self.at.home),)
        self.ambient = dict(values)
        state = State(clean(self.at.cwd), values)
        state.exported = frozenset(values)
        script = self.parse(text, self.dialect)
        if isinstance(script, t.Refusal):
            self.unknown(script.code, script.why)
            return
        twin = state.copy()
        self.sequence(script.body, state, None)
        if self._as_bash_too(text, twin, None):
            state = join(state, twin)
        for code in self.traps[:20]:
            after = state.copy()
            self.code(code, after, "trap")
            if code in self.loose_traps and self._moved(state, after) - self.unstable:
                self.unknown("opaque.dynamic-code", "a trap that sets what earlier commands used")

    # -- traps ----------------------------------------------------------------------------------------------
    def interrupted(self, before: State, after: State) -> None:
        """A trap of DEBUG, ERR, RETURN or a signal: what it changes is not known from here on."""
        if after.dead == "exit":
            return  # nothing that follows sees it
        moved = self._moved(before, after)
        self.unstable |= moved
        if (
            before.cwds != after.cwds
            or before.params != after.params
            or before.functions != after.functions
            or before.options != after.options
        ):
            self.unknown("opaque.dynamic-code", "a trap that moves the shell")

    def _moved(self, before: State, after: State) -> set[str]:
        if after.dead == "exit":
            return set()
        return {name for name, values in after.values.items() if before.values.get(name) != values}

    # -- texts within texts ---------------------------------------------------------------------------------
    def code(
        self, text: str, state: State, why: str, dialect: str = "", stdin: str | None = None
    ) -> str | None:
        """Shell text met on the way (`eval`, `-c`, `trap`), run in `state`. Returns what it prints."""
        if UNKNOWN in text:
            self.unknown("opaque.dynamic-code", f"{why}: {text}")
            return None
        text = text.replace(DIGITS, "0")
        if not text.strip():
            return ""
        if self.nesting >= MAX_NESTING:
            self.unknown("opaque.parser-limit", f"{why}: texts nested too deeply")
            return None
        if any(c in text for c in RESERVED):
            self.unknown("opaque.guard-control", f"{why}: control characters")
            return None
        outer, outer_foreign = self.dialect, self.foreign
        self.dialect = dialect or outer
        script = self.parse(text, self.dialect)
        out: str | None = None
        if isinstance(script, t.Refusal):
            self.unknown(script.code, f"{why}: {script.why}")
        else:
            self.nesting += 1
            self.foreign = True
            twin = state.copy() if self.dialect == "sh" else state
            out = self.sequence(script.body, state, stdin).out
            if twin is not state and self._as_bash_too(text, twin, stdin):
                state.become(join(state.copy(), twin))
            self.nesting -= 1
        self.dialect, self.foreign = outer, outer_foreign
        return out

    def _as_bash_too(self, text: str, state: State, stdin: str | None) -> bool:
        """`sh` is bash on some machines and dash on others: what they read differently counts both ways."""
        if self.dialect != "sh" or not any(mark in text for mark in _BASH_ONLY):
            return False
        script = self.parse(text, "bash")
        if isinstance(script, t.Refusal):
            return False
        self.dialect = "bash"
        self.sequence(script.body, state, stdin)
        self.dialect = "sh"
        return True

    def substitute(self, body: tuple[t.Stmt, ...], state: State) -> str | None:
        """`$( )`: its effects noted, its text if that is known."""
        inner = state.copy()
        said = self.sequence(body, inner, None).out
        state.adopt_disk(inner)
        return None if said is None else said.rstrip("\n")

    def aside(self, body: tuple[t.Stmt, ...], state: State, *, writer: bool) -> None:
        """`<( )`, `>( )`."""
        del writer
        inner = state.copy()
        self.sequence(body, inner, None)
        state.adopt_disk(inner)

    # -- statements -----------------------------------------------------------------------------------------
    def sequence(self, stmts: tuple[t.Stmt, ...], state: State, stdin: str | None) -> Outcome:
        """`state` becomes where the shell stands after the last statement."""
        printed: str | None = ""
        last: Outcome | None = None
        for stmt in stmts:
            if state.dead:
                ghost = state.copy()
                ghost.dead = ""
                self.statement(stmt, ghost, stdin)
                continue
            last = self.statement(stmt, state, stdin)
            printed = None if printed is None or last.out is None else printed + last.out
            stdin = left_over(stmt, stdin)
            if stmt is not stmts[-1]:
                state.become(join(last.ok, last.bad))
        if last is None or state.dead:
            return Outcome(state, state, printed)
        ok, bad = last.ok, last.bad
        if ok is not state and bad is not state:
            state.become(join(ok.copy(), bad.copy()))
        elif ok is not bad:
            keep_ok, keep_bad = ok.copy(), bad.copy()
            state.become(join(ok.copy(), bad.copy()))
            return Outcome(keep_ok, keep_bad, printed)
        return Outcome(ok, bad, printed)

    def statement(self, stmt: t.Stmt, state: State, stdin: str | None) -> Outcome:
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.unknown("opaque.parser-limit", "too many statements")
            return Outcome(state, state, None)
        outer = self.span
        if not self.foreign:
            self.span = (stmt.start, stmt.end)
        if stmt.background:
            inner = state.copy()
            self._statement(stmt, inner, stdin)
            state.adopt_disk(inner)
            outcome = Outcome(state, state, None)
        else:
            outcome = self._statement(stmt, state, stdin)
        self.span = outer
        return outcome

    def _statement(self, stmt: t.Stmt, state: State, stdin: str | None) -> Outcome:
        targets: list[str] = []
        appends = False
        outer_file = self.stdin_file
        if stmt.redirects:
            stdin, targets, appends = redirect(self, stmt.redirects, state, stdin)
        outcome = Outcome(state, state, "") if stmt.cmd is None else self.command(stmt.cmd, state, stdin)
        self.stdin_file = outer_file
        if targets:
            fill(self, targets, outcome, appends=appends)
            outcome = outcome._replace(out="")
        if stmt.negated:
            outcome = Outcome(outcome.bad, outcome.ok, outcome.out)
        return outcome

    # -- commands -------------------------------------------------------------------------------------------
    def command(self, cmd: t.Cmd, state: State, stdin: str | None) -> Outcome:  # one arm a node type
        if isinstance(cmd, t.Simple):
            return self._simple(cmd, state, stdin)
        if isinstance(cmd, t.Binary):
            return self._binary(cmd, state, stdin)
        if isinstance(cmd, t.Declare):
            from ringfence.shell.assigning import declare

            declare(self, cmd, state)
            return Outcome(state, state, "")
        if isinstance(cmd, t.Group):
            if cmd.subshell:
                inner = state.copy()
                said = self.sequence(cmd.body, inner, stdin).out
                state.adopt_disk(inner)
                return Outcome(state, state, said)
            return self.sequence(cmd.body, state, stdin)
        if isinstance(cmd, (t.If, t.Loop, t.For, t.Case)):
            from ringfence.shell.compound import compound

            return compound(self, cmd, state, stdin)
        if isinstance(cmd, t.Function):
            for name in cmd.names:
                state.functions[name] = cmd.body
                state.options -= {f"maybe:{name}"}
            return Outcome(state, state, "")
        if isinstance(cmd, t.Test):
            self.arithmetic(state, self.words.visit(cmd.words, state), quoted=cmd.arithmetic)
            for name in cmd.names:
                state.set(name, (DIGITS,))
            return Outcome(state, state, "")
        return Outcome(state, state, "") if cmd.body is None else self.statement(cmd.body, state, stdin)

    def _binary(self, cmd: t.Binary, state: State, stdin: str | None) -> Outcome:
        if cmd.op in ("|", "|&"):
            left = state.copy()
            said = self.statement(cmd.left, left, stdin).out
            state.adopt_disk(left)
            right = state.copy()
            out = self.statement(cmd.right, right, UNKNOWN if said is None else said).out
            state.adopt_disk(right)
            if (
                self.dialect == "zsh" or "lastpipe" in state.options
            ):  # the last stage runs in the shell itself
                right.dead = ""
                state.become(join(state.copy(), right))
            return Outcome(state, state, out)
        first = self.statement(cmd.left, state, stdin)
        go, stay = (first.ok, first.bad) if cmd.op == "&&" else (first.bad, first.ok)
        before = stay.copy()
        if go is stay:
            stay = before
        ghost = bool(go.dead)
        if ghost:
            go = go.copy()
            go.dead = ""
        second = self.statement(cmd.right, go, left_over(cmd.left, stdin))
        if ghost:
            both = Outcome(before, before, None)
        elif cmd.op == "&&":
            both = Outcome(second.ok, join(before, second.bad.copy()), None)
        else:
            both = Outcome(join(before, second.ok.copy()), second.bad, None)
        said = None
        if first.out is not None and second.out is not None and cmd.op == "&&":
            said = first.out + second.out
        elif first.out is not None and cmd.op == "||":
            said = None
        return both._replace(out=said)

    def _simple(self, cmd: t.Simple, state: State, stdin: str | None) -> Outcome:
        from ringfence.shell.assigning import assign

        if not cmd.words:
            for one in cmd.assigns:
                assign(self, one, state)
            return Outcome(state, state, "")
        argvs = self.words.arguments(cmd.words, state)
        extra: dict[str, tuple[Value, ...]] = {}
        for one in cmd.assigns:
            scratch = state.copy()
            scratch.values.update(extra)
            scratch.readonly = frozenset()
            assign(self, one, scratch, lasting=False)
            extra[one.name] = scratch.get(one.name)
        if len(argvs) == 1:
            return self.call(argvs[0], state, stdin, extra)
        if not argvs:
            return Outcome(state, state, "")
        made: Outcome | None = None
        for argv in argvs:
            here = self.call(argv, state.copy(), stdin, extra)
            made = (
                here
                if made is None
                else Outcome(
                    join(made.ok, here.ok),
                    join(made.bad, here.bad),
                    made.out if made.out == here.out else None,
                )
            )
        assert made is not None  # noqa: S101  # there was at least one alternative
        return made

    def call(
        self,
        argv: list[str],
        state: State,
        stdin: str | None,
        extra: Mapping[str, tuple[Value, ...]],
        *,
        functions: bool = True,
    ) -> Outcome:
        """Run one command's words."""
        from ringfence.shell.programs import run_program

        argv = [a for a in argv if a != NOTHING]
        if not argv:
            return Outcome(state, state, "")
        name = argv[0]
        if functions and name in state.functions:
            return self._function(name, argv[1:], state, stdin)
        return run_program(self, argv, state, stdin, extra)

    def _function(self, name: str, args: list[str], state: State, stdin: str | None) -> Outcome:
        body = state.functions[name]
        if body is None or self.nesting >= MAX_NESTING:
            self.unknown("opaque.dynamic-command", f"the function {name}")
            return Outcome(state, state, None)
        if f"maybe:{name}" in state.options:
            self.unknown("opaque.dynamic-command", f"{name}, which may not be a function here")
        outer = state.params
        state.params = tuple(args)
        self.nesting += 1
        self.returns.append([])
        self.locals.append({})
        outcome = self.statement(body, state, stdin)
        merged = join(outcome.ok.copy(), outcome.bad.copy())
        if merged.dead == "return":
            merged.dead = ""
        for other in self.returns.pop():
            other.dead = ""
            merged = join(merged, other)
        for local, old in self.locals.pop().items():
            merged.values[local] = old
        merged.params = outer
        state.become(merged)
        self.nesting -= 1
        return Outcome(state, state, outcome.out)

    # -- environment ----------------------------------------------------------------------------------------
    def code_variable(self, name: str, values: Iterable[Value], state: State) -> None:
        """A variable whose value some later command will run: read as the text it is."""
        if name.isupper() or name in ("npm_config_cache", "npm_config_prefix"):
            from ringfence.shell.gitwords import CODE_VARIABLES
            from ringfence.shell.variables import directs

            directs(self, name, values, state)

            if name in CODE_VARIABLES:
                for value in values:
                    self.code(value if isinstance(value, str) else UNKNOWN, state.copy(), name, "sh")
