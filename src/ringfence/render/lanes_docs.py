"""docs/agents/*.md, from the table and nothing else: every cell of every agent, as `render` and `launch` have it."""

from __future__ import annotations

import itertools

from ringfence.model import Lane, Mode, Posture
from ringfence.render.lanes import Ask, Held, Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ringfence.render.lanes import Estate, Lanes, Rendering

_MADE = "<!-- Made by scripts/gen_agents.py from the table in src/ringfence/render; do not edit. -->"
_PROMPT = "PROMPT"
ASKS = tuple(Ask(*axes) for axes in itertools.product(Mode, Lane, Posture))


def pages(table: Mapping[str, Lanes], holes: Mapping[str, Sequence[tuple[str, ...]]]) -> dict[str, str]:
    """File name -> text, for agents in the order of `table`. `holes`: (what, hook alone, launch, why) of each."""
    made = {f"{name}.md": "\n".join(_page(name, lanes, holes[name])) for name, lanes in table.items()}
    made["README.md"] = "\n".join(_overview(table))
    return made


def _overview(table: Mapping[str, Lanes]) -> Iterator[str]:
    yield from ("# Agents", "", _MADE, "")
    yield "What holds the promises of each mode and lane, under `ringfence launch` (the whole process in the fence) and"
    yield "with the hook alone (`ringfence install`). docs/modes.md says what the words mean."
    yield ""
    heads = ("safe: no shell", "reviewer: no edit tools", "reviewer: tree unchanged", "nothing outside")
    yield f"| agent | table made from | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|"
    for name, lanes in table.items():
        safe = _strengths(lanes, Ask(Mode.SAFE, Lane.FULL, Posture.UNATTENDED))
        review = _strengths(lanes, Ask(Mode.POWER, Lane.REVIEWER, Posture.UNATTENDED))
        cells = (
            _both(safe, "no shell"),
            _both(review, "no edit tools"),
            _both(review, "the workspace is not changed"),
            _both(safe, "nothing outside the workspace is written"),
        )
        yield f"| [{lanes.TITLE}]({name}.md) | {lanes.PINNED} | {' | '.join(cells)} |"
    yield ""
    yield "One word: the same in both. Two: under `launch`, then with the hook alone. kernel: the engine, while the"
    yield "program runs. tool: the agent does not have the tool, or its own rule refuses it; the hook refuses it too."
    yield "hook: our answer before the call. none: nothing does."
    yield ""


def _strengths(lanes: Lanes, ask: Ask) -> tuple[dict[str, Held], dict[str, Held]]:
    def held(fenced: bool) -> dict[str, Held]:
        return {promise.what: promise.held for promise in lanes.render(ask, Places(fenced=fenced)).promises}

    return held(True), held(False)


def _both(found: tuple[dict[str, Held], dict[str, Held]], what: str) -> str:
    inside, outside = (side.get(what, Held.NONE).value for side in found)
    return inside if inside == outside else f"{inside}, {outside}"


def _page(name: str, lanes: Lanes, holes: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield from (f"# {lanes.TITLE}", "", _MADE, "")
    yield f"Table made from version {lanes.PINNED}. `ringfence render {name}` prints every part of it,"
    yield f"`ringfence launch {name}` runs it. A flag that the installed version does not know is refused, and the"
    yield "version named."
    yield from ("", "## Modes, lanes, postures", "")
    yield from ("| posture | mode | lane | flags | hook |", "|---|---|---|---|---|")
    for ask in ASKS:
        made = lanes.render(ask, Places())
        flags = " ".join(_flag(word, made) for word in made.flags) or "none"
        yield f"| {ask.posture} | {ask.mode} | {ask.lane} | `{flags}` | `{' '.join(made.hook[:4])}` |"
    if lanes.render(Ask(), Places()).env:
        yield from ("", "Environment:", "")
        for ask in ASKS:
            shown = " ".join(
                f"{key}={_flag(value, lanes.render(ask, Places()))}" for key, value in _env(lanes, ask)
            )
            yield f"* {ask.posture}, {ask.mode}, {ask.lane}: `{shown}`"
    yield from ("", "Transient files:", "")
    for file_name, notes in _files(lanes).items():
        yield f"* `{file_name}`{notes}"
    for title, fenced in (("under `launch`", True), ("with the hook alone", False)):
        yield from ("", f"## What holds, {title}", "")
        yield from ("| promise | where | held by | why |", "|---|---|---|---|")
        yield from _promises(lanes, fenced)
    yield from ("", "## What its hook does not see or cannot stop", "")
    yield from ("| hole | with the hook alone | under `launch` | why |", "|---|---|---|---|")
    for row in holes:
        yield f"| {' | '.join(word.replace('|', chr(92) + '|') for word in row)} |"
    yield from ("", "## Prompts of every turn", "")
    for text, asks in _prompts(lanes).items():
        yield from (f"{'; '.join(asks)}:", "", f"> {text}", "")
    yield from ("## Native definition of the reviewer", "")
    where, text = lanes.render(Ask(Mode.POWER, Lane.REVIEWER, Posture.UNATTENDED), Places()).definition
    yield from (f"`{where}`", "", "```", text.rstrip("\n"), "```", "")
    yield from ("## Its own state, inside the fence", "")
    yield from _estate(lanes.ESTATE)
    yield from ("", "## Words that `launch` does not pass on", "")
    for word, why in lanes.REFUSED.items():
        yield f"* `{word}`: {why}"
    for variable, why in lanes.UNSET.items():
        yield f"* the variable `{variable}`: {why}"
    yield ""


def _env(lanes: Lanes, ask: Ask) -> tuple[tuple[str, str], ...]:
    return lanes.render(ask, Places()).env


def _flag(word: str, made: Rendering) -> str:
    """A word of a table cell; the prompt, which has a section of its own, by its name."""
    if made.prompt in word or word.startswith("developer_instructions="):
        word = word.partition("=")[0] + f"={_PROMPT}" if word.startswith("developer_") else _PROMPT
    return word.replace("|", "\\|")


def _files(lanes: Lanes) -> dict[str, str]:
    found: dict[str, str] = {}
    for ask in ASKS:
        for file in lanes.render(ask, Places()).files:
            notes = []
            if file.hooked:
                notes.append("our hook stands in it")
            if file.merged:
                notes.append("a copy of the user's own, with ours put in")
            notes.append("in the private settings folder" if file.at_home else "read-only for the agent")
            found[file.name] = ": " + "; ".join(notes)
    return found


def _promises(lanes: Lanes, fenced: bool) -> Iterator[str]:
    seen: dict[tuple[str, str, str], list[Ask]] = {}
    for ask in ASKS:
        for promise in lanes.render(ask, Places(fenced=fenced)).promises:
            seen.setdefault((promise.what, promise.held.value, promise.why), []).append(ask)
    for (what, held, why), asks in seen.items():
        yield f"| {what} | {_where(asks)} | {held} | {why} |"


def _where(asks: list[Ask]) -> str:
    """The axes that these cells share; "everywhere" for all of them."""
    words = []
    for axis in (Mode, Lane, Posture):
        values = {value for ask in asks for value in ask if isinstance(value, axis)}
        if len(values) == 1:
            words.append(values.pop().value)
    whole = 1
    for axis in (Mode, Lane, Posture):
        whole *= len({value for ask in asks for value in ask if isinstance(value, axis)})
    if whole != len(asks):
        return "; ".join(f"{a.mode} {a.lane} {a.posture}" for a in asks)
    return ", ".join(words) or "everywhere"


def _prompts(lanes: Lanes) -> dict[str, list[str]]:
    groups: dict[str, list[Ask]] = {}
    for ask in ASKS:
        groups.setdefault(lanes.render(ask, Places()).prompt, []).append(ask)
    return {text: [_where(asks)] for text, asks in groups.items()}


def _estate(what: Estate) -> Iterator[str]:
    yield (
        f"`~/{what.base}`"
        + (f", or where `{what.base_var}` points" if what.base_var else "")
        + ": read-only."
    )
    if what.moved:
        how = "read-only as well" if what.fixed else "writable, and gone at the end of the session"
        yield f"* A private folder of links stands in for it (`{what.base_var}`), {how}."
    for name in what.kept:
        yield f"* writable and kept: `{name}`"
    for grant in what.grants:
        yield f"* writable and kept: `~/{grant.home}/{grant.tail}`"
        for name in grant.sealed:
            yield f"  * in it read-only: `{name}`"
    for name in what.sealed:
        yield f"* read-only all the same: `{name}`"
    if what.lost:
        yield f"* What that costs: {what.lost}."
