"""Commands that hide what they write: each works in a real bash, and none is allowed by its text."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from shell_rig import needs_parser

from ringfence.pipelines.fence import Fence

BASH = shutil.which("bash")
pytestmark = [needs_parser, pytest.mark.skipif(BASH is None, reason="the attacks are run in bash")]

CODE = "'a[$(touch ../outside/y)]'"
ATTACKS = [
    f"x={CODE}; (( x ))",
    f"x={CODE}; [[ x -eq 0 ]]",
    f"[[ {CODE} -eq 0 ]]",
    f"read x <<< {CODE}; echo $(( x ))",
    f"f() {{ (( $1 )); }}; f {CODE}",
    f"for x in {CODE}; do echo $(( x )); done",
    f"set -- {CODE}; echo $(( $1 ))",
    f"declare -i y; y={CODE}",
    f"x={CODE}; y=abc; echo ${{y:x:1}}",
    f"x={CODE}; y=(1 2); echo ${{y[x]}}",
    f"x={CODE}; y[x]=1",
    f"x={CODE}; echo ${{!x}}",
    f"env x={CODE} bash -c '(( x ))'",
    f"mapfile -t x <<< {CODE}; (( x ))",
    "compgen -W '$(touch ../outside/y)'",
    "compgen -C 'touch ../outside/y' x",
    "p=a.txt; trap 'p=../outside/y' DEBUG; :; touch $p",
    "p=a.txt; trap 'p=../outside/y' ERR; false; touch $p",
    "PWD=../outside; touch ~+/y",
    "set -o history; HISTFILE=../outside/y; echo hi; history -w",
    "perl <<< 'open(F, \">../outside/y\")'",
]


@pytest.mark.parametrize("command", ATTACKS)
def test_it_works_unfenced_and_is_not_allowed(command, tmp_path):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "a.txt").touch()
    (tmp_path / "outside").mkdir()
    fence = Fence(
        workspace=str(workspace), reads="anywhere", temp="none", home=str(tmp_path / "home"), env={}
    )
    got = fence.check_command(command, cwd=str(workspace))
    assert str(got.verdict) in ("deny", "ask"), got.message
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run(
        [BASH, "-c", command], cwd=workspace, env=env, capture_output=True, check=False, timeout=20
    )
    assert (tmp_path / "outside" / "y").exists(), "the attack does not work: the row proves nothing"


@pytest.mark.parametrize(
    "command",
    [
        "x=5; (( x > 3 )) && touch y",
        "i=0; while (( i < n )); do (( i++ )); done",
        "trap 'echo failed; exit 1' ERR; touch y",
        "ed -s a.txt <<< $'s/a/b/\\nw'",
        "CC=clang make",
        "export HISTFILE=/dev/null; history | tail",
    ],
)
def test_the_everyday_neighbours_pass(command, tmp_path):
    fence = Fence(workspace=str(tmp_path), reads="anywhere", temp="none", home=str(tmp_path), env={})
    assert str(fence.check_command(command, cwd=str(tmp_path)).verdict) == "allow"
