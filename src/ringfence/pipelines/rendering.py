"""`ringfence render AGENT`: one row of the table, looked up by the agent's name. Also what `launch` starts from."""

from __future__ import annotations

from ringfence.agents import registry
from ringfence.agents.by_hand import BY_HAND
from ringfence.agents.holes import HOLES
from ringfence.errors import UsageError
from ringfence.model import Lane, Mode, Posture
from ringfence.pipelines.words import RETIRED_ENV
from ringfence.render.lanes import Ask, Places, Rendering, turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.agents.registry import Row
    from ringfence.render.lanes import Lanes

PARTS = ("flags", "env", "config", "agent", "prompt", "hooks", "promises", "holes")


def row_of(agent: str) -> Row:
    """Raises UsageError for an agent that is not known."""
    row = registry.ROWS.get(agent)
    if row is None:
        raise UsageError(f"unknown agent {agent!r}", f"one of: {', '.join(registry.names())}")
    return row


def lanes_of(row: Row) -> Lanes:
    """The agent's lanes module, imported on demand as its dialect is. Raises UsageError for an agent without one."""
    name = f"ringfence.render.lanes_{row.module}"
    try:
        made: Lanes = __import__(name, fromlist=("render",))
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        hint = "ringfence install wires its hook"
        if row.name in BY_HAND:
            hint = f"ringfence hook {row.name} --help says how to wire its hook by hand"
        raise UsageError(f"{row.title} has no modes and lanes here", hint) from None
    return made


def ask_of(mode: str, lane: str, posture: Posture) -> Ask:
    """Raises UsageError for an unknown mode or lane: there is no fallback, least of all to the wider one."""
    try:
        found_mode = Mode(mode)
    except ValueError:
        raise UsageError(f"unknown mode {mode!r}", "one of: safe, power") from None
    try:
        found_lane = Lane(lane)
    except ValueError:
        raise UsageError(f"unknown lane {lane!r}", "one of: full, reviewer") from None
    return Ask(found_mode, found_lane, posture)


def refuse_retired_environment(env: Mapping[str, str]) -> None:
    """Raises UsageError: a variable that once meant "everything" must not be taken for one that does nothing."""
    for name in env:
        for old, instead in RETIRED_ENV.items():
            if name == old or name.endswith(f"_{old}"):
                raise UsageError(f"the variable {name} is no longer read", f"unset it; {instead}")


def rendered(agent: str, ask: Ask, env: Mapping[str, str]) -> Rendering:
    """What `render` prints, with placeholders where `launch` puts folders."""
    refuse_retired_environment(env)
    return lanes_of(row_of(agent)).render(ask, Places())


def as_json(agent: str, ask: Ask, made: Rendering, snapshot: str = "") -> dict[str, object]:
    """Schema-stable: fields are added, never renamed."""
    return {
        "version": 1,
        "agent": agent,
        "mode": ask.mode.value,
        "lane": ask.lane.value,
        "posture": ask.posture.value,
        "flags": list(made.flags),
        "env": dict(made.env),
        "config": [{"name": file.name, "text": file.text, "hooked": file.hooked} for file in made.files],
        "agent_definition": {"name": made.definition[0], "text": made.definition[1]},
        "prompt": turn(made.prompt, snapshot),
        "hooks": ["ringfence", "hook", agent, *made.hook],
        "promises": [{"what": p.what, "held": p.held.value, "why": p.why} for p in made.promises],
        "notes": list(made.notes),
        "holes": [hole._asdict() for hole in HOLES.get(agent, ())],
    }


def part_lines(part: str, agent: str, made: Rendering, snapshot: str = "") -> list[str]:
    """One part as a person or a script reads it."""
    from ringfence.pipelines.say import quote

    if part == "flags":
        return [" ".join(map(quote, made.flags))]
    if part == "env":
        return [f"{name}={quote(value)}" for name, value in made.env]
    if part == "config":
        found = []
        for file in made.files:
            note = "  (our hook is put into it)" if file.hooked else ""
            found += [f"# {file.name}{note}", *file.text.splitlines(), ""]
        return found[:-1]
    if part == "agent":
        return [f"# {made.definition[0]}", *made.definition[1].splitlines()]
    if part == "prompt":
        return turn(made.prompt, snapshot).splitlines()
    if part == "hooks":
        return [" ".join(["ringfence", "hook", agent, *made.hook])]
    from ringfence.render.words import columns

    if part == "holes":
        rows = [(hole.what, hole.hook, hole.launch, hole.why) for hole in HOLES.get(agent, ())]
        return list(columns(rows, ("hole", "hook alone", "launch", "why")))
    return list(
        columns([(p.what, p.held.value, p.why) for p in made.promises], ("promise", "held by", "why"))
    )
