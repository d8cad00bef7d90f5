"""A sub-agent's calls, in the released agents: they come to the hook that the parent has, and meet the same fence."""

from __future__ import annotations

import base64
import os

import pytest

from tests.support import offline
from tests.support.agent_run import Rig, Scenario, can_install, make_stage, program_of, run_agent
from tests.support.rigs import CLAUDE, COPILOT, GEMINI, OPENCODE, QWEN
from tests.support.scripted import CHILD, CHILD_TASK, Call

pytestmark = pytest.mark.e2e
_D = {"description": "d", "prompt": CHILD_TASK}
# The call that starts one, and what one must say at its end.
STARTS = {
    CLAUDE.name: (Call("Agent", {**_D, "subagent_type": "general-purpose", "run_in_background": False}), ()),
    GEMINI.name: (
        Call("invoke_agent", {"agent_name": "generalist", "prompt": CHILD_TASK}),
        (Call("complete_task", {"result": {"response": "done"}}),),
    ),
    OPENCODE.name: (Call("task", {**_D, "subagent_type": "general"}), ()),
    COPILOT.name: (Call("task", {**_D, "agent_type": "general-purpose", "name": "n", "mode": "sync"}), ()),
    QWEN.name: (Call("agent", {**_D, "subagent_type": "general-purpose", "run_in_background": False}), ()),
}
_HIDDEN = base64.b64encode(b"echo x > ../outside/by-shell").decode()


def _calls(rig: Rig) -> tuple[Call, ...]:
    start, end = STARTS[rig.name]
    assert rig.write is not None
    own = [
        *rig.write("@ws@/child", "x\n"),
        *rig.write("@out@/by-tool", "x\n"),
        *rig.shell(f"echo {_HIDDEN} | base64 -d | sh; true"),
    ]
    return (start, *(Call(CHILD + call.tool, call.input) for call in (*own, *end)))


@pytest.mark.parametrize("fenced", [False, True], ids=["unfenced", "fenced"])
@pytest.mark.parametrize("rig", [CLAUDE, GEMINI, OPENCODE, COPILOT, QWEN], ids=str)
def test_a_childs_calls_meet_the_parents_fence(tmp_path, rig, fenced):
    program = program_of(rig.package, rig.command)
    if program is None:
        pytest.skip(f"{rig.name} is not installed: run scripts/agents {rig.package}")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    if fenced and not can_install(rig.name):
        pytest.skip(f"this build has no `ringfence install {rig.name}`")
    stage = make_stage(str(tmp_path))
    run = run_agent(rig, Scenario("child", _calls(rig)), stage, program, fenced=fenced, timeout=120.0)
    told = [str(request) for request in run.outcome.requests]
    assert any(CHILD_TASK in text and "by-tool" in text for text in told), run.outcome.stderr[-2000:]
    assert os.path.exists(stage.fill("@ws@/child")), run.outcome.stderr[-2000:]
    for path in ("@out@/by-tool", "@out@/by-shell"):
        assert os.path.lexists(stage.fill(path)) != fenced, path
