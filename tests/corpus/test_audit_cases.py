"""The path corpus through `audit` as JSON Lines: each verdict is the one that `check` gives, one by one."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from ringfence.audit import judge
from ringfence.model import Op
from ringfence.pipelines.fence import Fence
from ringfence.readers.jsonlines import read_jsonlines
from ringfence.readers.options import Options
from tests.support import cases

REAL = [case for case in cases.load() if case.platform in ("posix", "linux")]
HAS_GIT = shutil.which("git") is not None


@pytest.mark.parametrize("case", REAL, ids=[case.id for case in REAL])
def test_audit_is_check_one_by_one(case, tmp_path):
    if {"git", "worktree"} & cases.needs(case) and not HAS_GIT:
        pytest.skip("git is not installed")
    root = os.path.realpath(tmp_path) + "/r"
    os.mkdir(root)
    try:
        cases.build(case, root)
        fence = Fence(
            cases.below(case.workspace, root),
            [cases.below(field, root) for field in case.protected],
            reads="anywhere",
            temp="none",
            env={} if case.home is None else {"HOME": case.home and cases.below(case.home, root)},
            cwd=root,
        )
        path, cwd = cases.put(case.path, root), cases.below(case.cwd, root)
        # Beside the row itself, every other use of the same path: the folder is known by then.
        ops = [case.op, *(op.value for op in Op), case.op]
        rows = [json.dumps({"path": path, "op": op, "cwd": cwd}) for op in ops]
        found = list(judge(read_jsonlines("x", ["\n".join(rows).encode()], Options()), fence))
        assert [f.decision for f in found] == [fence.check(path, Op(op), cwd=cwd) for op in ops]
        assert [f.record.line for f in found] == list(range(1, len(ops) + 1))
    finally:
        cases.wipe(root)
