"""More commands with their verdicts: one short line each, over two fixed trees, by the public fence.

shell-more.jsonl: `tree`, `command`, `expect` (allow, deny, unknown), perhaps `shell`. `@` is the temporary root.
"""

from __future__ import annotations

import json

import pytest
import shell_cases
from shell_rig import needs_parser

from ringfence.pipelines.fence import Fence

pytestmark = [needs_parser]

TREES = json.loads((shell_cases.CORPUS / "shell-more-trees.json").read_text(encoding="utf-8"))
ROWS = shell_cases.rows("shell-more.jsonl")
WANTED = {"allow": "allow", "deny": "deny", "unknown": "ask"}


@pytest.fixture(scope="module")
def fences(tmp_path_factory):
    made = {}
    for name, tree in TREES.items():
        root = str(tmp_path_factory.mktemp(name))
        shell_cases.build(tree["setup"], root)
        fence = Fence(
            workspace=shell_cases.place(root, tree["workspace"]),
            protect=[shell_cases.place(root, p) for p in tree["protected"]],
            reads="anywhere",
            temp="none",
            home=f"{root}/home",
            env={},
        )
        made[name] = (root, fence, shell_cases.place(root, tree["workspace"]))
    return made


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{r['command'][:40]}" for i, r in enumerate(ROWS)])
def test_verdict(row, fences):
    root, fence, cwd = fences[row["tree"]]
    got = fence.check_command(shell_cases.fill(row["command"], root), cwd=cwd, shell=row.get("shell", "bash"))
    assert str(got.verdict) == WANTED[row["expect"]], f"{got.code} {got.message}"


def test_every_row_is_there_once():
    keys = [(r["tree"], r["command"], r.get("shell")) for r in ROWS]
    assert len(keys) == len(set(keys)) > 900
