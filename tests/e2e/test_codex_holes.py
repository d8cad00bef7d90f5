"""What Codex does beside its hook: text typed into a running shell, which no hook sees, and patches that a shell line
wraps, which it applies in its own process. Each also runs without the fence, where it lands."""

from __future__ import annotations

import os

import pytest

from tests.support import offline
from tests.support.agent_run import Scenario, can_install, make_stage, program_of, run_agent, state
from tests.support.rigs import CODEX
from tests.support.scripted import Call

pytestmark = pytest.mark.e2e


def _typed(text: str) -> list[Call]:
    number = "@number0:session ID (\\d+)@"
    return [
        Call("exec_command", {"cmd": "bash --norc", "tty": True, "yield_time_ms": 1500}),
        Call("write_stdin", {"session_id": number, "chars": f"{text}\nexit\n", "yield_time_ms": 3000}),
    ]


def _wrapped(path: str, before: str = "") -> list[Call]:
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"
    return [
        Call("exec_command", {"cmd": f"{before}apply_patch <<'EOF'\n{patch}\nEOF\n", "yield_time_ms": 5000})
    ]


SCENARIOS = [
    Scenario("typed", tuple(_typed("echo x > typed; echo x > @out@/typed")), ("@out@/typed",), (("@ws@/typed", "x\n"),)),
    Scenario("wrapped-inside", tuple(_wrapped("wrapped")), (), (("@ws@/wrapped", "x\n"),)),
    Scenario("wrapped-in-a-folder", tuple(_wrapped("wrapped", "cd sub && ")), (), (("@ws@/sub/wrapped", "x\n"),), ("sub/",)),
    Scenario("wrapped-outside", tuple(_wrapped("@out@/wrapped")), ("@out@/wrapped",)),
    Scenario("wrapped-outside-by-folder", tuple(_wrapped("wrapped", "cd @out@ && ")), ("@out@/wrapped",)),
]  # fmt: skip


@pytest.mark.parametrize("fenced", [False, True], ids=["unfenced", "fenced"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_what_codex_does_beside_its_hook(tmp_path, scenario, fenced):
    program = program_of(CODEX.package, CODEX.command)
    if program is None:
        pytest.skip("Codex is not installed: run scripts/agents codex")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    if fenced and not can_install("codex"):
        pytest.skip("this build has no `ringfence install codex`")
    stage = make_stage(str(tmp_path))
    before = {path: state(stage.fill(path)) for path in scenario.reaches}
    run = run_agent(CODEX, scenario, stage, program, fenced=fenced)
    assert len(run.results) == len(scenario.calls), run.outcome.stderr[-2000:]
    for path, text in scenario.lands:
        assert os.path.exists(stage.fill(path)), run.said
        with open(stage.fill(path), encoding="utf-8") as file:
            assert file.read() == text
    for path in scenario.reaches:
        assert (state(stage.fill(path)) == before[path]) == fenced, run.said
