"""One session of a real agent that makes the calls of many scenarios, and what each of them left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.agent_run import Rig, Run, Scenario, Stage, drive, prepare, state

if TYPE_CHECKING:
    from tests.support.scripted import Told


class Session(NamedTuple):
    """A finished session. `before` and `after`: the state of every path that some scenario reaches for, and of all
    that none may change (`FORBIDDEN`)."""

    stage: Stage
    run: Run
    slices: dict[str, list[Told]]
    before: dict[str, dict[str, Any]]
    after: dict[str, dict[str, Any]]

    def told(self, name: str) -> str:
        return "\n".join(result.text for result in self.slices[name])


FORBIDDEN = ("@out@", "@sib@", "@main@")


def play(rig: Rig, program: str, stage: Stage, scenarios: tuple[Scenario, ...], *, fenced: bool) -> Session:
    """Run every scenario's calls in one session of the agent, in their order."""
    whole = Scenario(
        "session",
        tuple(call for one in scenarios for call in one.calls),
        tree=tuple(dict.fromkeys(line for one in scenarios for line in one.tree)),
    )
    prepare(rig, whole, stage, program, fenced=fenced)
    watched = (*FORBIDDEN, *(path for one in scenarios for path in one.reaches))
    before = {path: state(stage.fill(path)) for path in watched}
    run = drive(rig, whole, stage, program, timeout=180.0)
    after = {path: state(stage.fill(path)) for path in watched}
    slices: dict[str, list[Told]] = {}
    at = 0
    for one in scenarios:
        slices[one.name] = run.results[at : at + len(one.calls)]
        at += len(one.calls)
    return Session(stage, run, slices, before, after)
