"""The transcripts of real, fenced sessions, audited afterwards, name exactly the calls that the hook refused live.

What was refused live stands in the decision log, which the hook wrote then. The audit sees only the transcript.
"""

from __future__ import annotations

import json
import os

import pytest

from tests.e2e.agent_scenarios import INSIDE, OUTSIDE
from tests.e2e.sessions import play
from tests.support import offline
from tests.support.agent_run import can_install, make_stage, program_of, ringfence
from tests.support.rigs import RIGS

pytestmark = pytest.mark.e2e
WHERE = {
    "claude": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
    "opencode": ".local/share/opencode/opencode.db",
    "pi": ".pi/agent/sessions",
}
READ = [rig for rig in RIGS if rig.name in WHERE]


def logged(home: str) -> list[dict]:
    """What the hook refused, in order; the canaries of `install` are none of the agent's calls."""
    path = os.path.join(home, ".local/state/ringfence/decisions.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        row
        for row in rows
        if row["door"] == "hook" and row["verdict"] == "deny" and "canary" not in json.dumps(row)
    ]


@pytest.mark.parametrize("rig", READ, ids=str)
def test_the_transcript_names_what_was_refused_live(rig, tmp_path):
    program = program_of(rig.package, rig.command)
    if program is None:
        pytest.skip(f"{rig.name} is not installed: run scripts/agents {rig.package}")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    if not can_install(rig.name):
        pytest.skip(f"this build has no `ringfence install {rig.name}`")
    stage = make_stage(str(tmp_path))
    rows = [row for row in (*INSIDE, *OUTSIDE) if rig.routes or not row.by_shell or row in OUTSIDE]
    scenarios = tuple(one for row in rows if (one := row.of(rig)) is not None)
    done = play(rig, program, stage, scenarios, fenced=True)
    assert done.run.outcome.exit == 0, done.run.outcome.stderr[-2000:]
    words = ["audit", "--json", "--all", "--workspace", stage.ws, "--protect", stage.main]
    asked = ringfence([*words, os.path.join(stage.home, WHERE[rig.name])], stage)
    assert asked.returncode == 1, asked.stderr
    lines = [json.loads(line) for line in asked.stdout.splitlines()]
    findings = [line for line in lines if line["type"] == "finding"]
    assert [f for f in findings if f["kind"] == "malformed"] == []
    live = [(row["tool"], row["code"], row.get("path", "")) for row in logged(stage.home)]
    audited = [(f["tool"], f["code"], f["path"]) for f in findings if f["verdict"] == "deny"]
    assert live, "nothing was refused live, so the comparison says nothing"
    assert audited == live
    assert any(f["verdict"] == "allow" for f in findings), "what was allowed live is allowed here too"
