"""Walk a tree as the shell would run it, with sets of possibilities instead of values.

Everything is visited, also what a plain reading would never reach: a use too many can be explained, one too few
cannot be undone.
"""

from __future__ import annotations

from ringfence.model import Op
from ringfence.records import Record
from ringfence.shell import tree as t
from ringfence.shell.notes import Notes
from ringfence.shell.state import (
    DIGITS,
    MAX_CHOICES,
    NOTHING,
    RESERVED,
    UNKNOWN,
    State,
    clean,
    fold,
    hides_code,
    join,
    union,
)
from ringfence.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ringfence.model import Surroundings
    from ringfence.shell.disk import Disk
    from ringfence.shell.reading import Parse
    from ringfence.shell.state import Value

MAX_STEPS = 20_000  # statements walked, all repetitions counted
MAX_NESTING = 12  # texts within texts, functions within functions
MAX_EXACT_ROUNDS = 16  # items of a `for` that are walked one by one

# Set to anything, these change what later words mean or which code a known name runs.
_TREACHEROUS = frozenset(
    ("PATH", "BASH_ENV", "ENV", "GLOBIGNORE", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS",
     "NODE_PATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "SHELLOPTS", "BASHOPTS", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH",
     "LESSOPEN", "PROMPT_COMMAND", "PS4", "ZDOTDIR", "FPATH", "BASH_XTRACEFD", "JAVA_TOOL_OPTIONS", "MAKEFLAGS",
     "XDG_CONFIG_HOME", "DIRSTACK")
)  # fmt: skip
_BASH_ONLY = ("$'", '$"', "&>", ">&", "|&", "<(", ">(", "[[", "((", "<<<", "function", "=(", "{")
_TREACHEROUS_STEMS = ("LD_", "DYLD_", "BASH_FUNC_")


class Outcome(Record):
    """Where the shell stands if the command succeeded, if it failed, and what it printed (None: not known)."""

    ok: State
    bad: State
    out: str | None


class Walk(Notes):
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
            stdin, targets, appends = self._redirects(stmt.redirects, state, stdin)
        outcome = Outcome(state, state, "") if stmt.cmd is None else self.command(stmt.cmd, state, stdin)
        self.stdin_file = outer_file
        if targets:
            self._fill(targets, outcome, appends=appends)
            outcome = outcome._replace(out="")
        if stmt.negated:
            outcome = Outcome(outcome.bad, outcome.ok, outcome.out)
        return outcome

    def _fill(self, targets: list[str], outcome: Outcome, *, appends: bool) -> None:
        """Remember a file whose whole content the text tells."""
        said = outcome.out
        for state in {id(s): s for s in (outcome.ok, outcome.bad)}.values():
            if len(state.cwds) != 1 or said is None or UNKNOWN in said or len(targets) != 1:
                continue
            if state.cwds[0] == UNKNOWN or any(c in targets[0] for c in RESERVED):
                continue
            path = fold(state.cwds[0], targets[0])
            parent = path.rpartition("/")[0] or "/"
            plain = self.disk.physical(parent) == parent or parent in state.folders
            if (
                not appends
                and plain
                and ".." not in targets[0].split("/")
                and self.disk.readlink(path) is None
            ):
                state.files[path] = said

    def _redirects(
        self, redirects: tuple[t.Redirect, ...], state: State, stdin: str | None
    ) -> tuple[str | None, list[str], bool]:
        out: list[str] = []
        appends = False
        for redirect in redirects:
            op = redirect.op
            if op in ("<<", "<<-"):
                body = redirect.body or t.Word(())
                texts = self.words.body(body, state, literal=redirect.literal)
                if op == "<<-":
                    texts = ["\n".join(line.lstrip("\t") for line in text.split("\n")) for text in texts]
                if redirect.fd in ("", "0"):
                    stdin = texts[0] if len(texts) == 1 else None
                continue
            if op == "<<<":
                texts = self.words.texts(redirect.word, state)
                if redirect.fd in ("", "0"):
                    stdin = texts[0] + "\n" if len(texts) == 1 else UNKNOWN
                continue
            if op in ("<&", ">&") and _is_dup(redirect.word):
                continue
            targets = self.words.targets(redirect.word, state)
            for target in targets:
                if op == "<":
                    self.touch(Op.READ, target, state, "redirection <")
                elif op == "<&" or (op == ">&" and UNKNOWN in target):
                    self.unknown("opaque.dynamic-path", f"redirection {op}{target}")
                elif op == ">&" and _is_number(target):
                    continue
                else:
                    self.touch(Op.WRITE, target, state, f"redirection {op}")
            if op == "<":
                if redirect.fd in ("", "0"):
                    stdin = self.known_text(targets, state)
                    self.stdin_file = targets[0] if len(targets) == 1 else UNKNOWN
            elif redirect.fd in ("", "1"):
                out = targets
                appends = op in (">>", "&>>", "<>")
        return stdin, out, appends

    # -- commands -------------------------------------------------------------------------------------------
    def command(self, cmd: t.Cmd, state: State, stdin: str | None) -> Outcome:  # one arm a node type
        if isinstance(cmd, t.Simple):
            return self._simple(cmd, state, stdin)
        if isinstance(cmd, t.Binary):
            return self._binary(cmd, state, stdin)
        if isinstance(cmd, t.Declare):
            from ringfence.shell.builtins import declare

            declare(self, cmd, state)
            return Outcome(state, state, "")
        if isinstance(cmd, t.Group):
            if cmd.subshell:
                inner = state.copy()
                said = self.sequence(cmd.body, inner, stdin).out
                state.adopt_disk(inner)
                return Outcome(state, state, said)
            return self.sequence(cmd.body, state, stdin)
        if isinstance(cmd, t.If):
            return self._if(cmd, state, stdin)
        if isinstance(cmd, t.Loop):
            texts = self.words.visit(cmd.words, state)
            if cmd.words:
                self.arithmetic(state, texts, quoted=True)
            for name in cmd.names:
                state.set(name, (DIGITS,))
            return self._loop(state, lambda s: self._round(cmd.condition, cmd.body, s, stdin))
        if isinstance(cmd, t.For):
            return self._for(cmd, state, stdin)
        if isinstance(cmd, t.Case):
            return self._case(cmd, state, stdin)
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

    def _if(self, cmd: t.If, state: State, stdin: str | None) -> Outcome:
        ends: list[State] = []
        here = state
        closed = False
        for condition, body in cmd.arms:
            if not condition:
                self.sequence(body, here, stdin)
                ends.append(here)
                closed = True
                break
            test = self.sequence(condition, here, stdin)
            for stmt in condition:
                stdin = left_over(stmt, stdin)
            yes, no = test.ok.copy(), test.bad.copy()
            revived = bool(yes.dead)
            yes.dead = ""
            self.sequence(body, yes, stdin)
            if not revived:
                ends.append(yes)
            here = no
        if not closed:
            ends.append(here)
        made = ends[0].copy()
        for end in ends[1:]:
            made = join(made, end.copy())
        state.become(made)
        return Outcome(state, state, None)

    def _round(
        self, condition: tuple[t.Stmt, ...], body: tuple[t.Stmt, ...], state: State, stdin: str | None
    ) -> None:
        if condition:
            self.sequence(condition, state, stdin)
            for stmt in condition:
                stdin = left_over(stmt, stdin)
        self.sequence(body, state, stdin)

    def _loop(self, state: State, one_round: Callable[[State], None]) -> Outcome:
        """Walk a body until nothing new is learnt: twice, then with what still moves widened to unknown."""
        for attempt in range(3):
            before = state.copy()
            self.breaks.append([])
            one_round(state)
            escaped = self.breaks.pop()
            if state.dead == "break":
                state.dead = ""
            merged = join(before.copy(), state.copy())
            for other in escaped:
                other.dead = ""
                merged = join(merged, other)
            if merged.dead and not before.dead:
                merged.dead = ""
            state.become(merged)
            changed = [n for n in state.values if state.values[n] != before.values.get(n)]
            moved = state.cwds != before.cwds
            if not changed and not moved:
                break
            if attempt == 1:
                for name in changed:
                    state.values[name] = (UNKNOWN,)
                if moved:
                    state.cwds = union(state.cwds, (UNKNOWN,))
        return Outcome(state, state, None)

    def _for(self, cmd: t.For, state: State, stdin: str | None) -> Outcome:
        values: list[Value] = []
        if cmd.items is None:
            values.extend((UNKNOWN,) if state.params is None else state.params)
        else:
            for choice in self.words.arguments(cmd.items, state):
                values.extend(choice)
        if cmd.select:
            values.append("")
            self.fed(stdin)
            state.set("REPLY", (UNKNOWN,))
        if not values:
            ghost = state.copy()
            ghost.set(cmd.name, (UNKNOWN,))
            self.breaks.append([])
            self.sequence(cmd.body, ghost, stdin)
            self.breaks.pop()
            return Outcome(state, state, None)

        self.watch_variable(cmd.name, lasting=True)
        self.code_variable(cmd.name, values, state)

        def one_round(here: State) -> None:
            here.set(cmd.name, values)
            self.sequence(cmd.body, here, stdin)

        # At least one round runs for certain. A few known items are walked one by one, so that what they add up to
        # is exact; many are walked as one set, and what the rounds add up to is then found by `_loop`.
        exact = len(values) <= MAX_EXACT_ROUNDS and not any(
            isinstance(v, str) and UNKNOWN in v for v in values
        )
        rounds = (
            [[v] for v in values]
            if exact
            else [values[i : i + MAX_CHOICES] for i in range(0, len(values), MAX_CHOICES)]
        )
        for chosen in rounds:
            values = chosen
            self._certain_round(state, one_round)
            if not exact:
                self._loop(state, one_round)
        return Outcome(state, state, None)

    def _certain_round(self, state: State, one_round: Callable[[State], None]) -> None:
        self.breaks.append([])
        one_round(state)
        if state.dead == "break":
            state.dead = ""
        for other in self.breaks.pop():
            other.dead = ""
            state.become(join(state.copy(), other))

    def _case(self, cmd: t.Case, state: State, stdin: str | None) -> Outcome:
        self.words.texts(cmd.word, state)
        ends = [state.copy()]
        fallen: State | None = None
        for patterns, body, op in cmd.items:
            for pattern in patterns:
                self.words.patterns(pattern, state)
            here = state.copy()
            if fallen is not None:
                here = join(here, fallen)
            self.sequence(body, here, stdin)
            fallen = here.copy() if op in (";&", ";;&") else None
            ends.append(here)
        made = ends[0]
        for end in ends[1:]:
            made = join(made, end)
        state.become(made)
        return Outcome(state, state, None)

    def _simple(self, cmd: t.Simple, state: State, stdin: str | None) -> Outcome:
        from ringfence.shell.builtins import assign

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

    def arithmetic(self, state: State, texts: Iterable[str] = (), *, quoted: bool = False) -> None:
        """Arithmetic runs substitutions in the subscripts of a variable's *text*: `x='a[$(cmd)]'; $((x))`.

        Names stand for values that may be names again, so any known value that hides code counts, wherever it is;
        a value that is not known is taken for a number. `quoted`: within `$(( ))` quotes protect nothing.
        """
        if (
            self.loaded
            or any(hides_code(text) or (quoted and ("$(" in text or "`" in text)) for text in texts)
            or self._hidden(state)
        ):
            self.unknown("opaque.dynamic-code", "arithmetic on a value that holds a substitution")

    def _hidden(self, state: State) -> bool:
        """Code waits in some variable or parameter. What the environment brought was not written by this text."""
        if any(hides_code(text) for text in state.params or ()):
            return True
        for name, values in state.values.items():
            if self.ambient.get(name) == values:
                continue
            for value in values:
                if value is not None and any(
                    hides_code(v) for v in ((value,) if isinstance(value, str) else value)
                ):
                    return True
        return False

    def fed(self, text: str | None) -> None:
        """Text that a variable took in without its value being followed."""
        self.loaded = self.loaded or (text is not None and hides_code(text))

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

    def watch_variable(self, name: str, *, lasting: bool) -> None:
        """A variable that changes what names mean makes the rest unreadable."""
        if name in _TREACHEROUS or name.startswith(_TREACHEROUS_STEMS):
            self.unknown("opaque.environment", f"{name} is set")
        elif name.startswith("GIT_") and lasting:
            from ringfence.shell.gitwords import CODE_VARIABLES, HARMLESS_VARIABLES

            if name not in HARMLESS_VARIABLES and name not in CODE_VARIABLES:
                self.unknown("opaque.environment", f"{name} is set")


# Simple commands that leave standard input alone.
_LEAVES_STDIN = frozenset(
    ("echo", "printf", "cd", "pwd", ":", "true", "false", "test", "[", "export", "local", "set", "shopt",
     "mkdir", "touch",
     "rm", "cp", "mv", "ln", "chmod", "sleep", "date", "ls", "exit", "return", "break", "continue", "pushd",
     "popd", "trap")
)  # fmt: skip


def left_over(stmt: t.Stmt, stdin: str | None) -> str | None:
    """Standard input for what follows `stmt`: the same text only if `stmt` certainly read none of it."""
    own = any(r.op in ("<", "<<", "<<-", "<<<") for r in stmt.redirects)
    if stdin is None or UNKNOWN in stdin or stmt.background or own:
        return stdin
    cmd = stmt.cmd
    if cmd is None or isinstance(cmd, (t.Declare, t.Function, t.Test)):
        return stdin
    if isinstance(cmd, t.Simple):
        if not cmd.words:
            return stdin
        first = cmd.words[0].parts
        if len(first) == 1 and isinstance(first[0], t.Lit) and first[0].text in _LEAVES_STDIN:
            return stdin
    return UNKNOWN


def _is_dup(word: t.Word) -> bool:
    if len(word.parts) != 1 or not isinstance(word.parts[0], t.Lit):
        return False
    text = word.parts[0].text
    return text == "-" or _is_number(text.removesuffix("-"))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
