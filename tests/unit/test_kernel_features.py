"""docs/kernel-features.md names tests; they exist, and every feature that can be missing has a row."""

from __future__ import annotations

import ast
import os
import re

import pytest

from ringfence.kernel import landlock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows():
    with open(os.path.join(ROOT, "docs", "kernel-features.md"), encoding="utf-8") as file:
        table = [line for line in file if line.startswith("|")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[2:]]


def names_in(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_row_is_complete_and_its_tests_exist(row):
    assert len(row) == 5
    assert all(row)
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[4])
    assert named
    assert [f"{path}::{name}" for path, name in named if name not in names_in(path)] == []


@pytest.mark.parametrize("abi", landlock.FIRST_KERNEL)
def test_each_abi_has_a_row_with_its_kernel(abi):
    assert [row for row in rows() if f"ABI {abi}" in row[0] and row[1] == landlock.FIRST_KERNEL[abi]]
