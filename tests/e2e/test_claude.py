"""The real Claude Code, offline: what lands, what does not, and what the model is told.

Every attack runs twice. Unfenced it must succeed, else it proves nothing; fenced, nothing outside may have changed.
"""

from __future__ import annotations

import re

import pytest

from tests.e2e.claude_scenarios import COMMANDS, FILE_TOOLS, INSIDE
from tests.support.claude_run import (
    OUTSIDE_TEXT,
    Run,
    Scenario,
    Stage,
    missing_programs,
    plant,
    run_claude,
    state,
)

pytestmark = pytest.mark.e2e
ATTACKS = (*FILE_TOOLS, *COMMANDS)


def ready(scenario: Scenario) -> None:
    if missing := missing_programs(scenario):
        pytest.skip(f"needs {', '.join(missing)}")


def finished(run: Run, scenario: Scenario) -> None:
    """The agent ended by itself and made every call. A dead agent would leave everything untouched."""
    assert run.outcome.exit == 0, (run.outcome.stdout, run.outcome.stderr)
    assert len(run.results) == len(scenario.calls), run.said
    assert run.outcome.unknown == []


def landed(stage: Stage, scenario: Scenario, run: Run) -> None:
    for path, text in scenario.lands:
        with open(stage.fill(path), encoding="utf-8") as made:
            assert made.read() == text, (path, run.said)


def forbidden(stage: Stage) -> dict[str, tuple]:
    """All that no scenario may change: outside, the sibling, the protected checkout."""
    return {**state(stage.out), **state(stage.sib), **state(stage.main)}


def reached(stage: Stage, scenario: Scenario) -> dict[str, dict[str, tuple]]:
    return {path: state(stage.fill(path)) for path in scenario.reaches}


@pytest.mark.parametrize("scenario", INSIDE, ids=str)
def test_inside_lands_unfenced(claude, stage, scenario):
    ready(scenario)
    run = run_claude(scenario, stage, claude)
    finished(run, scenario)
    landed(stage, scenario, run)


@pytest.mark.usefixtures("installer")
@pytest.mark.parametrize("scenario", INSIDE, ids=str)
def test_inside_lands_fenced(claude, stage, scenario):
    ready(scenario)
    plant(stage, scenario.tree)
    before = forbidden(stage)
    run = run_claude(scenario._replace(tree=()), stage, claude, fenced=True)
    finished(run, scenario)
    landed(stage, scenario, run)
    assert not any(result.is_error for result in run.results), run.said
    assert forbidden(stage) == before


@pytest.mark.parametrize("scenario", ATTACKS, ids=str)
def test_attack_works_unfenced(claude, stage, scenario):
    ready(scenario)
    plant(stage, scenario.tree)
    before = reached(stage, scenario)
    run = run_claude(scenario._replace(tree=()), stage, claude)
    finished(run, scenario)
    after = reached(stage, scenario)
    assert [path for path in scenario.reaches if after[path] == before[path]] == [], run.said
    if scenario.reveals:
        revealed = OUTSIDE_TEXT in run.told
        assert revealed, run.said


@pytest.mark.usefixtures("installer")
@pytest.mark.parametrize("scenario", ATTACKS, ids=str)
def test_attack_is_held(claude, stage, scenario):
    ready(scenario)
    plant(stage, scenario.tree)
    before, touched = forbidden(stage), reached(stage, scenario)
    run = run_claude(scenario._replace(tree=()), stage, claude, fenced=True)
    finished(run, scenario)
    assert forbidden(stage) == before, run.said
    assert reached(stage, scenario) == touched, run.said
    revealed = OUTSIDE_TEXT in run.told
    assert not (scenario.reveals and revealed), run.said
    if scenario.silent:
        return
    name = stage.fill(scenario.named or scenario.reaches[0])
    told = name in run.told and "ringfence" in run.told
    assert told, (name, run.said)
    # What Claude itself wraps around a command is not the command's doing, and must not be named as refused.
    assert "shell-snapshots" not in run.said
    assert not re.search(r"refused.*claude-[0-9a-f]{4}-cwd", run.said) or "forged" in scenario.name, run.said
