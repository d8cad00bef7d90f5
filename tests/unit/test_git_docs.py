"""docs/git.md says what the rows say, and nothing else."""

from __future__ import annotations

import os

from tests.support.git_rows import LAYOUTS, table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_the_table_is_that_of_the_rows():
    with open(os.path.join(ROOT, "docs", "git.md"), encoding="utf-8") as document:
        text = document.read()
    assert "\n".join(table()) in text, "write this into docs/git.md:\n" + "\n".join(table())
    for name, what in LAYOUTS.items():
        assert f"* **{name}**: {what}\n" in text
