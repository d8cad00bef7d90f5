"""docs/escapes.md says what the tests show, and nothing else."""

import ast
import os

from scripts import gen_escapes

from tests.kernel.attacks import ATTACKS as SHARED
from tests.kernel.mounts_rows import ATTACKS, ELSEWHERE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_the_document_holds_exactly_the_rows_that_are_tested():
    with open(gen_escapes.DOCUMENT, encoding="utf-8") as document:
        text = document.read()
    assert gen_escapes.written(text) == text, "run python scripts/gen_escapes.py"


def test_a_row_is_open_in_an_engine_only_by_name_and_never_for_content_in_mounts():
    """What the mounts leave open is a short list that is read by people; a new one is a decision, not a slip."""
    assert [row.id for row in SHARED if row.open_rule("mounts")] == ["letter-file", "unknown-helper"]
    for row in SHARED:
        assert set(dict(row.open_in)) <= {"landlock", "mounts"}, row.id
        assert row.open_rule("landlock") in {"", "-", "engine.metadata", "engine.helpers"}, row.id


def test_every_test_that_is_named_exists():
    for row in ELSEWHERE:
        file, function = row.test.split("::")
        with open(os.path.join(ROOT, "tests", "kernel", file)) as source:
            names = {
                node.name for node in ast.walk(ast.parse(source.read())) if isinstance(node, ast.FunctionDef)
            }
        assert function in names, row.test


def test_ids_are_unique():
    for rows in ((*ATTACKS, *ELSEWHERE), SHARED):
        names = [row.id for row in rows]
        assert len(set(names)) == len(names)
