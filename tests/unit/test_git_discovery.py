"""Which repository a git command is read to work on: a folder `.git` counts for git, and for us, only with a HEAD."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from ringfence import Fence, Verdict


@pytest.fixture
def fence(tmp_path):
    base = os.path.realpath(tmp_path)
    for name in ("above/ws", "home"):
        os.makedirs(f"{base}/{name}")
    return Fence(workspace=f"{base}/above/ws", cwd=f"{base}/above/ws", env={"HOME": f"{base}/home"})


def above(fence) -> str:
    return os.path.dirname(fence.policy.workspace[0])


def test_an_empty_folder_of_that_name_above_is_no_repository(fence):
    os.mkdir(f"{above(fence)}/.git")
    assert fence.check_command("git add f", cwd=fence.policy.workspace[0]).verdict is Verdict.ALLOW


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_git_agrees(fence):
    os.mkdir(f"{above(fence)}/.git")
    asked = ["git", "-C", fence.policy.workspace[0], "rev-parse", "--git-dir"]
    env = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": os.path.dirname(above(fence))}
    assert subprocess.run(asked, env=env, capture_output=True, check=False).returncode != 0
    subprocess.run(["git", "init", "-q", above(fence)], env=env, check=True)
    assert subprocess.run(asked, env=env, capture_output=True, check=False).returncode == 0


def test_a_repository_above_is_one_and_lies_outside(fence):
    os.makedirs(f"{above(fence)}/.git")
    with open(f"{above(fence)}/.git/HEAD", "w", encoding="ascii") as file:
        file.write("ref: refs/heads/main\n")
    assert fence.check_command("git add f", cwd=fence.policy.workspace[0]).verdict is Verdict.DENY
