"""Every real agent, offline, in its own tools: what lands, what does not, and what the model is told.

Each attack runs twice. Unfenced it must succeed, else it proves nothing; fenced, nothing outside may have changed.
One session makes all calls of a list, and each test looks at its own part.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.agent_scenarios import INSIDE, OUTSIDE, Row
from tests.e2e.sessions import FORBIDDEN, Session, play
from tests.support import offline
from tests.support.agent_run import OUTSIDE_TEXT, Rig, Scenario, can_install, make_stage, program_of
from tests.support.rigs import RIGS

pytestmark = pytest.mark.e2e
LISTS = {"inside": INSIDE, "outside": OUTSIDE}


def cases(rows: tuple[Row, ...]) -> list:
    """Each agent with each row that it has a tool for."""
    return [
        pytest.param(rig, row, id=f"{rig}-{row.name}")
        for rig in RIGS
        for row in rows
        if row.of(rig) is not None
    ]


def wanted(items) -> list[tuple[Rig, str, bool]]:
    """The sessions that the collected tests will ask for, in their order."""
    found = {}
    for item in items:
        name = getattr(item, "originalname", "")
        params = getattr(getattr(item, "callspec", None), "params", {})
        if item.path.name != os.path.basename(__file__) or "rig" not in params:
            continue
        which = "inside" if name == "test_inside_lands" else "outside"
        fenced = params.get("fenced", name != "test_attack_works_unfenced")
        found[str(params["rig"]), which, fenced] = (params["rig"], which, fenced)
    return list(found.values())


@pytest.fixture(scope="module")
def session(request, tmp_path_factory):
    """session(rig, list, fenced): the one session of that kind. All that the tests need are played at the first use,
    a few at a time: agents mostly wait.

    One that could not be played fails each of its tests at once, not each after a minute.
    """
    done: dict[tuple[str, str, bool], Session | BaseException] = {}

    def play_once(rig: Rig, which: str, fenced: bool) -> Session:
        program = program_of(rig.package, rig.command)
        if program is None:
            pytest.skip(f"{rig.name} is not installed: run scripts/agents {rig.package}")
        if not offline.can_isolate():
            pytest.skip("no network namespace to be had: the agent could reach the net")
        if fenced and not can_install(rig.name):
            pytest.skip(f"this build has no `ringfence install {rig.name}`")
        stage = make_stage(str(tmp_path_factory.mktemp(f"{rig}-{which}-{fenced}")))
        rows = [
            row for row in LISTS[which] if which == "outside" or rig.routes or not (fenced and row.by_shell)
        ]
        scenarios = tuple(one for row in rows if (one := row.of(rig)) is not None)
        return play(rig, program, stage, scenarios, fenced=fenced)

    def settle_once(one: tuple[Rig, str, bool]) -> None:
        rig, which, fenced = one
        try:
            done[str(rig), which, fenced] = play_once(rig, which, fenced)
        except BaseException as error:
            done[str(rig), which, fenced] = error

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(settle_once, wanted(request.session.items)))

    def played(rig: Rig, which: str, fenced: bool) -> Session:
        found = done[str(rig), which, fenced]
        if isinstance(found, BaseException):
            raise found
        return found

    return played


def finished(done: Session, scenario: Scenario) -> None:
    """The agent ended by itself and this scenario's calls were made. A dead agent would leave everything untouched."""
    outcome = done.run.outcome
    assert outcome.exit == 0, (outcome.stdout[-2000:], outcome.stderr[-2000:])
    assert len(done.slices[scenario.name]) == len(scenario.calls), done.run.said[-2000:]
    assert outcome.unknown == []


def landed(done: Session, row: Row, scenario: Scenario) -> None:
    for path, text in scenario.lands:
        assert os.path.exists(done.stage.fill(path)), (path, done.told(scenario.name))
        with open(done.stage.fill(path), encoding="utf-8") as made:
            assert made.read() == text, (path, done.told(scenario.name))
    for path in row.gone:
        assert not os.path.lexists(done.stage.fill(path)), (path, done.told(scenario.name))
    if row.name == "notebook":
        with open(done.stage.fill("@ws@/n.ipynb"), encoding="utf-8") as book:
            assert "".join(json.load(book)["cells"][0]["source"]) == "b = 2", done.told(scenario.name)


@pytest.mark.parametrize("fenced", [False, True], ids=["unfenced", "fenced"])
@pytest.mark.parametrize(("rig", "row"), cases(INSIDE))
def test_inside_lands(session, rig, row, fenced):
    scenario = row.of(rig)
    if fenced and row.by_shell and not rig.routes:
        pytest.skip(f"{rig.name} has no way into the fenced shell but `launch`")
    done = session(rig, "inside", fenced)
    finished(done, scenario)
    landed(done, row, scenario)
    assert {p: done.after[p] for p in FORBIDDEN} == {p: done.before[p] for p in FORBIDDEN}


@pytest.mark.parametrize(("rig", "row"), cases(OUTSIDE))
def test_attack_works_unfenced(session, rig, row):
    scenario = row.of(rig)
    done = session(rig, "outside", False)
    finished(done, scenario)
    assert [p for p in scenario.reaches if done.after[p] == done.before[p]] == [], done.told(scenario.name)
    if scenario.reveals:
        assert OUTSIDE_TEXT in done.told(scenario.name)


@pytest.mark.parametrize(("rig", "row"), cases(OUTSIDE))
def test_attack_is_held_and_the_model_is_told_why(session, rig, row):
    scenario = row.of(rig)
    done = session(rig, "outside", True)
    finished(done, scenario)
    for path in (*FORBIDDEN, *scenario.reaches):
        if path == rig.settings and rig.amends_settings:
            with open(done.stage.fill(path), encoding="utf-8") as file:
                assert f"hook {rig.name} " in file.read()
            continue
        assert done.after[path] == done.before[path], (path, done.told(scenario.name))
    told = done.told(scenario.name)
    assert not (scenario.reveals and OUTSIDE_TEXT in told), told
    assert "ringfence" in told, told
    name = done.stage.fill(scenario.named or scenario.reaches[0])
    assert name in told or ("outside the fenced shell" in told and not rig.routes), (name, told)
