"""`fence.check` against os.path.realpath on the same path: `pytest benchmarks --benchmark-only`.

benchmarks/bench_check.py takes turns between the two and shows the growth curves.
"""

from __future__ import annotations

import os

import pytest

from ringfence import Fence, Op


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    base = tmp_path_factory.mktemp("check").resolve()
    names = ["d"] * max(6 - str(base).count("/"), 0)
    folder = base.joinpath(*names)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "file"
    path.write_text("x")
    return str(base), str(path)


def test_realpath(benchmark, tree):
    benchmark.group, benchmark.name = "one check", "realpath"
    benchmark(os.path.realpath, tree[1])


def test_check(benchmark, tree):
    base, path = tree
    fence = Fence(base, home=base, env={}, temp="none", cwd=base)
    depth = path.count("/")
    benchmark.group, benchmark.name = "one check", f"check existing file, depth {depth}"
    decision = benchmark(fence.check, path, Op.WRITE)
    assert decision.code == "allow.workspace"
