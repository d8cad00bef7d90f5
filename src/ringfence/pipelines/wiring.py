"""Our hook in a session's transient files: the settings module that `install` uses writes the entry."""

from __future__ import annotations

import json
from typing import Any

from ringfence.agents import jsonedit
from ringfence.agents.wiring import Site, Wiring, read_text
from ringfence.errors import FenceError, NotEnforcedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ringfence.agents.registry import Row
    from ringfence.agents.settings import Settings


def settings_of(row: Row) -> Settings:
    """The agent's cold settings module. Raises NotEnforcedError where this build has none."""
    name = f"ringfence.agents.{row.module}_settings"
    try:
        made: Settings = __import__(name, fromlist=("NAME",))
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise NotEnforcedError(f"nothing was run: this build cannot wire the hook of {row.title}") from None
    return made


def wired(row: Row, path: str, text: str, call: Wiring) -> str:
    """`text` with our hook in it."""
    return settings_of(row).install_text(path, text or None, call)


def merged(path: str, text: str) -> str:
    """The user's own file at `path`, other bytes as they are, with the values of the JSON object `text` put into it;
    lists are added to. Raises FenceError for a file that is no JSON object."""
    new = read_text(path)
    if new is None or not new.strip():
        return text
    try:
        old, _ = jsonedit.parse(new, comments=True)
    except jsonedit.JsonTextError as error:
        raise FenceError(f"{path} is not JSON: {error}", "mend it first; nothing was run") from None
    if not isinstance(old, dict):
        raise FenceError(f"{path} is no JSON object", "mend it first; nothing was run")
    for way, value in _leaves(json.loads(text)):
        new = jsonedit.put(new, way, _joined(old, way, value), comments=True)
    return new


def _leaves(value: dict[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*way, key))
        else:
            yield (*way, key), inner


def _joined(old: Any, way: tuple[str, ...], value: Any) -> Any:
    if not isinstance(value, list):
        return value
    for key in way:
        old = old.get(key) if isinstance(old, dict) else None
    had = [old] if isinstance(old, str) else old if isinstance(old, list) else []
    return [*had, *(item for item in value if item not in had)]


def refuse_off_switches(row: Row, workspace: str, env: Mapping[str, str]) -> None:
    """Raises NotEnforcedError if a settings file that the session will read, or its environment, turns hooks off.

    `env` is what the agent will see, with the session's own settings folder in it.
    """
    settings = settings_of(row)
    home = env.get("HOME", "")
    found = list(settings.off_switches(Site("user", workspace, home, env)))
    for path in settings.layers(workspace, home, env):
        if settings.inspect(path).disabled:
            found.append(f"{path} turns hooks off")
    if found:
        raise NotEnforcedError(
            f"nothing was run: {row.title} would run no hook of ours: {'; '.join(found)}",
            "take that switch out first",
        )


def trust(row: Row, workspace: str, env: Mapping[str, str]) -> None:
    """Have the agent trust exactly our hook, where it skips others in silence; `env` names the session's own settings
    folder. Raises NotEnforcedError if it does not."""
    for check in settings_of(row).trust(Site("user", workspace, env.get("HOME", ""), env), False):
        if not check.ok:
            raise NotEnforcedError(f"nothing was run: {row.title} does not trust our hook: {check.detail}")
