"""Whole processes against a bare interpreter: `pytest benchmarks --benchmark-only`.

Every command is the one that `ringfence install` writes or a user types; the first calls (which compile the policy and
write the caches) are warm-up. bubblewrap is shown beside, if it is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

START = str(Path(__file__).resolve().parent.parent / "src" / "ringfence" / "start.py")
PYTHON = [sys.executable, "-I", "-S"]
ROUNDS = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    base = tmp_path_factory.mktemp("bench")
    (base / "home").mkdir()
    workspace = base / "ws"
    workspace.mkdir()
    (workspace / "a.txt").write_text("x")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RINGFENCE_", "XDG_", "CLAUDE"))}
    return str(workspace), {**kept, "HOME": str(base / "home")}


def payload(workspace, tool, given):
    return json.dumps(
        {
            "session_id": "bench-session",
            "transcript_path": "",
            "cwd": workspace,
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": "t",
        }
    ).encode()


def timed(benchmark, group, argv, env, stdin=b""):
    def call():
        done = subprocess.run(argv, input=stdin, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    benchmark.group = group
    benchmark.pedantic(call, rounds=ROUNDS, warmup_rounds=3)


PROCESS = "whole process"
COMMANDS = {
    "bare python -I -S -c pass": lambda _: (["-c", "pass"], b""),
    "hook, file tool": lambda ws: (
        [START, "hook", "claude", "--workspace", ws],
        payload(ws, "Edit", {"file_path": f"{ws}/a.txt", "old_string": "a", "new_string": "b"}),
    ),
    "hook, shell tool (text read)": lambda ws: (
        [START, "hook", "claude", "--workspace", ws, "--launcher", "/nonexistent"],
        payload(ws, "Bash", {"command": "make -j2 > build.log 2>&1 && tail -3 build.log"}),
    ),
    "run -- true, landlock": lambda ws: (
        [START, "run", "--engine", "landlock", "--workspace", ws, "--", "true"],
        b"",
    ),
    "run -- true, mounts": lambda ws: (
        [START, "run", "--engine", "mounts", "--workspace", ws, "--", "true"],
        b"",
    ),
    "try -- true": lambda ws: ([START, "try", "--workspace", ws, "--", "true"], b""),
    "shell -c : (text read too), landlock": lambda ws: (
        [START, "shell", "--engine", "landlock", "--workspace", ws, "-c", ":"],
        b"",
    ),
    "shell -c : (text read too), mounts": lambda ws: (
        [START, "shell", "--engine", "mounts", "--workspace", ws, "-c", ":"],
        b"",
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_process(benchmark, place, name):
    workspace, env = place
    words, stdin = COMMANDS[name](workspace)
    benchmark.name = name
    timed(benchmark, PROCESS, [*PYTHON, *words], env, stdin)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap(benchmark, place):
    workspace, env = place
    benchmark.name = "bubblewrap alone"
    argv = ["bwrap", "--ro-bind", "/", "/", "--bind", workspace, workspace, "--dev", "/dev", "true"]
    timed(benchmark, PROCESS, argv, env)
