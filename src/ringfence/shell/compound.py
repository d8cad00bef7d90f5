"""What loops and branches add up to: every arm is walked, and where they meet the possibilities are joined."""

from __future__ import annotations

from ringfence.shell import tree as t
from ringfence.shell.redirects import left_over
from ringfence.shell.state import DIGITS, MAX_CHOICES, UNKNOWN, Outcome, State, join, union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.state import Value
    from ringfence.shell.walk import Walk

    Compound = t.If | t.For | t.Case | t.Loop

MAX_EXACT_ROUNDS = 16  # items of a `for` that are walked one by one


def compound(walk: Walk, cmd: Compound, state: State, stdin: str | None) -> Outcome:
    """Run one of them; the state becomes where all ways meet."""
    if isinstance(cmd, t.If):
        return _if(walk, cmd, state, stdin)
    if isinstance(cmd, t.For):
        return _for(walk, cmd, state, stdin)
    if isinstance(cmd, t.Case):
        return _case(walk, cmd, state, stdin)
    texts = walk.words.visit(cmd.words, state)
    if cmd.words:
        walk.arithmetic(state, texts, quoted=True)
    for name in cmd.names:
        state.set(name, (DIGITS,))
    return _until_stable(walk, state, lambda s: _round(walk, cmd.condition, cmd.body, s, stdin))


def _if(walk: Walk, cmd: t.If, state: State, stdin: str | None) -> Outcome:
    ends: list[State] = []
    here = state
    closed = False
    for condition, body in cmd.arms:
        if not condition:
            walk.sequence(body, here, stdin)
            ends.append(here)
            closed = True
            break
        test = walk.sequence(condition, here, stdin)
        for stmt in condition:
            stdin = left_over(stmt, stdin)
        yes, no = test.ok.copy(), test.bad.copy()
        revived = bool(yes.dead)
        yes.dead = ""
        walk.sequence(body, yes, stdin)
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
    walk: Walk, condition: tuple[t.Stmt, ...], body: tuple[t.Stmt, ...], state: State, stdin: str | None
) -> None:
    if condition:
        walk.sequence(condition, state, stdin)
        for stmt in condition:
            stdin = left_over(stmt, stdin)
    walk.sequence(body, state, stdin)


def _until_stable(walk: Walk, state: State, one_round: Callable[[State], None]) -> Outcome:
    """Walk a body until nothing new is learnt: twice, then with what still moves widened to unknown."""
    for attempt in range(3):
        before = state.copy()
        walk.breaks.append([])
        one_round(state)
        escaped = walk.breaks.pop()
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


def _for(walk: Walk, cmd: t.For, state: State, stdin: str | None) -> Outcome:
    values: list[Value] = []
    if cmd.items is None:
        values.extend((UNKNOWN,) if state.params is None else state.params)
    else:
        for choice in walk.words.arguments(cmd.items, state):
            values.extend(choice)
    if cmd.select:
        values.append("")
        walk.fed(stdin)
        state.set("REPLY", (UNKNOWN,))
    if not values:
        ghost = state.copy()
        ghost.set(cmd.name, (UNKNOWN,))
        walk.breaks.append([])
        walk.sequence(cmd.body, ghost, stdin)
        walk.breaks.pop()
        return Outcome(state, state, None)

    walk.watch_variable(cmd.name, lasting=True)
    walk.code_variable(cmd.name, values, state)

    def one_round(here: State) -> None:
        here.set(cmd.name, values)
        walk.sequence(cmd.body, here, stdin)

    # At least one round runs for certain. A few known items are walked one by one, so that what they add up to
    # is exact; many are walked as one set, and what the rounds add up to is then found by `_loop`.
    exact = len(values) <= MAX_EXACT_ROUNDS and not any(isinstance(v, str) and UNKNOWN in v for v in values)
    rounds = (
        [[v] for v in values]
        if exact
        else [values[i : i + MAX_CHOICES] for i in range(0, len(values), MAX_CHOICES)]
    )
    for chosen in rounds:
        values = chosen
        _certain_round(walk, state, one_round)
        if not exact:
            _until_stable(walk, state, one_round)
    return Outcome(state, state, None)


def _certain_round(walk: Walk, state: State, one_round: Callable[[State], None]) -> None:
    walk.breaks.append([])
    one_round(state)
    if state.dead == "break":
        state.dead = ""
    for other in walk.breaks.pop():
        other.dead = ""
        state.become(join(state.copy(), other))


def _case(walk: Walk, cmd: t.Case, state: State, stdin: str | None) -> Outcome:
    walk.words.texts(cmd.word, state)
    ends = [state.copy()]
    fallen: State | None = None
    for patterns, body, op in cmd.items:
        for pattern in patterns:
            walk.words.patterns(pattern, state)
        here = state.copy()
        if fallen is not None:
            here = join(here, fallen)
        walk.sequence(body, here, stdin)
        fallen = here.copy() if op in (";&", ";;&") else None
        ends.append(here)
    made = ends[0]
    for end in ends[1:]:
        made = join(made, end)
    state.become(made)
    return Outcome(state, state, None)
