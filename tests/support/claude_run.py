"""Claude Code's own names for what tests/support/agent_run.py does for every agent."""

from __future__ import annotations

from typing import Any

from tests.support.agent_run import (
    OUTSIDE_TEXT,
    REPOSITORY,
    Run,
    Scenario,
    Stage,
    can_install,
    make_stage,
    missing_programs,
    normal,
    plant,
    program_of,
    run_agent,
    state,
)
from tests.support.rigs import CLAUDE
from tests.support.scripted import Call

__all__ = [
    "OUTSIDE_TEXT",
    "REPOSITORY",
    "Call",
    "Run",
    "Scenario",
    "Stage",
    "bash",
    "can_install",
    "claude_program",
    "edit",
    "make_stage",
    "missing_programs",
    "normal",
    "plant",
    "read",
    "run_claude",
    "state",
    "write",
]


def bash(command: str, **more: Any) -> Call:
    return Call("Bash", {"command": command, **more})


def write(path: str, content: str = "written\n") -> Call:
    return Call("Write", {"file_path": path, "content": content})


def read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def edit(path: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new})


def claude_program() -> str | None:
    """The pinned Claude Code, or None where `scripts/agents claude-code` has not been run."""
    return program_of("claude-code", "claude")


def run_claude(scenario: Scenario, stage: Stage, program: str, **more: Any) -> Run:
    """Claude Code 2.1.332 in print mode."""
    return run_agent(CLAUDE, scenario, stage, program, **more)
