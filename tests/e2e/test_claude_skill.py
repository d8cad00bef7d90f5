"""Shell lines inside a skill never reach PreToolUse: the prefix wraps them, and the kernel holds them."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.claude_run import Run, Scenario, Stage, run_claude
from tests.support.scripted import Call

pytestmark = pytest.mark.e2e

SKILL = """---
name: notes
description: notes
allowed-tools: Bash(*)
---
line: !`{line}`
"""
# The path stands in a file: no reading of the text can tell where this writes.
LINE = 'printf hi > in.txt; read -r p < target.txt; echo x > "$p"'


def drive(stage: Stage, program: str, line: str, fenced: bool) -> Run:
    folder = os.path.join(stage.ws, ".claude", "skills", "notes")
    os.makedirs(folder)
    with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as file:
        file.write(SKILL.format(line=line))
    with open(os.path.join(stage.ws, "target.txt"), "w", encoding="utf-8") as file:
        file.write(f"{stage.out}/skill\n")
    run = run_claude(Scenario("skill", (Call("Skill", {"skill": "notes"}),)), stage, program, fenced=fenced)
    assert run.outcome.exit == 0, run.said
    assert os.path.exists(os.path.join(stage.ws, "in.txt")) or "blocked by hook" in json.dumps(
        run.outcome.requests
    )
    return run


def test_a_line_lands_anywhere_unfenced(claude, stage):
    drive(stage, claude, LINE, fenced=False)
    assert os.path.exists(f"{stage.out}/skill")


@pytest.mark.usefixtures("installer")
def test_a_line_is_held_by_the_kernel(claude, stage):
    run = drive(stage, claude, LINE, fenced=True)
    assert not os.path.exists(f"{stage.out}/skill")
    assert os.path.exists(os.path.join(stage.ws, "in.txt"))  # it ran, and inside it may write
    assert "refused by the fence" in json.dumps(run.outcome.requests)


@pytest.mark.usefixtures("installer")
def test_a_line_whose_text_tells_is_refused_before_it_runs(claude, stage):
    run = drive(stage, claude, f"printf hi > in.txt; echo x > {stage.out}/skill", fenced=True)
    assert not os.path.exists(f"{stage.out}/skill")
    assert not os.path.exists(os.path.join(stage.ws, "in.txt"))
    assert "blocked by hook: ringfence deny [outside.write]" in json.dumps(run.outcome.requests)
