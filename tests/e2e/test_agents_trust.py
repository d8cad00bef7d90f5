"""Where the agents read our entries: both scopes bite, and without the trust that `install` speaks of, none does.

The second half keeps the first honest: a check of ours that said "trusted" for nothing would show here.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.e2e.agent_scenarios import OUTSIDE
from tests.support import offline
from tests.support.agent_run import (
    Rig,
    Run,
    Stage,
    can_install,
    drive,
    install_env,
    make_stage,
    program_of,
    ringfence,
    settle,
)
from tests.support.rigs import CODEX, COPILOT, GEMINI, OPENCODE, PI, QWEN

pytestmark = pytest.mark.e2e
ALL = (CODEX, GEMINI, OPENCODE, PI, QWEN, COPILOT)


@pytest.fixture
def stage(tmp_path) -> Stage:
    return make_stage(str(tmp_path))


def program(rig: Rig) -> str:
    found = program_of(rig.package, rig.command)
    if found is None:
        pytest.skip(f"{rig.name} is not installed: run scripts/agents {rig.package}")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    if not can_install(rig.name):
        pytest.skip(f"this build has no `ringfence install {rig.name}`")
    return found


def without(rig: Rig, *names: str) -> Rig:
    return rig._replace(env={name: value for name, value in rig.env.items() if name not in names})


def attack(rig: Rig, stage: Stage) -> Run:
    """One write outside, by the agent's own tool."""
    name = "tool-outside" if rig.write else "patch-add"
    scenario = next(row for row in OUTSIDE if row.name == name).of(rig)
    assert scenario is not None
    run = drive(rig, scenario, stage, program(rig))
    assert len(run.results) == 1, run.outcome.stderr[-1000:]
    return run


def landed(stage: Stage) -> list[str]:
    return [name for name in os.listdir(stage.out) if name != "kept.txt"]


@pytest.mark.parametrize("rig", ALL, ids=str)
def test_the_user_scope_holds_and_status_agrees(stage, rig):
    env = install_env(rig, stage, program(rig))
    settle(rig, stage)
    words = ["--workspace", stage.ws, "--scope", "user"]
    done = ringfence(["install", rig.name, *words, "--trust"], stage, env)
    assert done.returncode == 0, done
    run = attack(rig, stage)
    assert landed(stage) == [], run.said
    assert "ringfence" in run.said
    assert ringfence(["status", rig.name, *words], stage, env).returncode == 0
    assert ringfence(["uninstall", rig.name, *words], stage, env).returncode == 0
    run = attack(rig, stage)
    assert landed(stage) != [], run.said


# (agent, what its environment lacks, whether `install` finds its program)
UNTRUSTED = [
    pytest.param(CODEX._replace(asks_program=False), "codex cannot be run", id="codex-cannot-be-asked"),
    pytest.param(PI, "the project is trusted", id="pi"),
    pytest.param(without(COPILOT, "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"), "skips", id="copilot"),
]


@pytest.mark.parametrize(("rig", "why"), UNTRUSTED)
def test_without_trust_the_agent_skips_it_and_install_says_so(stage, rig, why):
    env = install_env(rig, stage, program(rig))
    settle(rig, stage)
    done = ringfence(["install", rig.name, "--workspace", stage.ws], stage, env)
    assert done.returncode == 1, done
    assert "FAIL" in done.stdout
    assert why in done.stdout or rig.name == "copilot"
    run = attack(rig, stage)
    assert landed(stage) != [], run.said


def test_codex_is_told_by_its_own_server_and_a_changed_hook_is_not_trusted(stage):
    env = install_env(CODEX, stage, program(CODEX))
    settle(CODEX, stage)
    config = stage.fill("@home@/.codex/config.toml")
    with open(config, encoding="utf-8") as file:
        before = file.read()
    words = ["--workspace", stage.ws]
    assert ringfence(["install", "codex", *words], stage, env).returncode == 0
    with open(config, encoding="utf-8") as file:
        assert file.read().startswith(before)
    hooks = stage.fill("@ws@/.codex/hooks.json")
    with open(hooks, encoding="utf-8") as file:
        text = file.read()
    with open(hooks, "w", encoding="utf-8") as file:
        file.write(text.replace('"timeout": 20', '"timeout": 21'))
    done = ringfence(["status", "codex", *words], stage, env)
    assert done.returncode == 1
    assert "Codex skips it on" in done.stdout
    with open(hooks, "w", encoding="utf-8") as file:
        file.write(text)
    assert ringfence(["uninstall", "codex", *words], stage, env).returncode == 0
    with open(config, encoding="utf-8") as file:
        assert file.read() == before


def test_gemini_does_not_start_where_it_trusts_nobody_and_runs_the_hook_where_trust_is_skipped(stage):
    rig = without(GEMINI, "GEMINI_CLI_TRUST_WORKSPACE")
    env = install_env(rig, stage, program(rig))
    settle(rig, stage)
    done = ringfence(["install", "gemini", "--workspace", stage.ws, "--scope", "user"], stage, env)
    assert done.returncode == 1, done
    assert "runs no hooks in a folder" in done.stdout
    scenario = next(row for row in OUTSIDE if row.name == "tool-outside").of(rig)
    assert scenario is not None
    run = drive(rig, scenario, stage, program(rig))
    assert run.outcome.exit != 0
    assert run.results == []
    run = drive(rig._replace(argv=(*rig.argv, "--skip-trust")), scenario, stage, program(rig))
    assert "ringfence deny" in run.said
    assert landed(stage) == []


def test_copilot_below_a_repository_reads_that_ones_hooks_and_install_says_so(stage):
    env = install_env(COPILOT, stage, program(COPILOT))
    settle(COPILOT, stage)
    shutil.rmtree(stage.fill("@ws@/.git"))
    os.mkdir(os.path.join(stage.root, ".git"))
    done = ringfence(["install", "copilot", "--workspace", stage.ws], stage, env)
    assert done.returncode == 1, done
    assert f"reads the hooks of {stage.root}" in done.stdout
    run = attack(COPILOT, stage)
    assert landed(stage) != [], run.said
