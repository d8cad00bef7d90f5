"""docs/escapes.md says what the tests show, and nothing else."""

import ast
import os

from tests.kernel.mounts_rows import ATTACKS, ELSEWHERE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = "| id | origin | where stopped | test | what remains |"
ROWS_TEST = "test_mounts_attacks.py::test_attack"


def expected():
    """The table, as the document must hold it."""
    rows = [(row.id, row.origin, row.where, ROWS_TEST, row.remains) for row in ATTACKS]
    rows += [(row.id, row.origin, row.where, row.test, row.remains) for row in ELSEWHERE]
    return [
        HEAD,
        "|---|---|---|---|---|",
        *(f"| {a} | {b} | {c} | `{d}` | {e or '-'} |" for a, b, c, d, e in rows),
    ]


def test_the_document_holds_exactly_the_rows_that_are_tested():
    with open(os.path.join(ROOT, "docs", "escapes.md")) as document:
        lines = [line for line in document.read().splitlines() if line.startswith("|")]
    assert lines == expected(), "write this table into docs/escapes.md:\n" + "\n".join(expected())


def test_every_test_that_is_named_exists():
    for row in ELSEWHERE:
        file, function = row.test.split("::")
        with open(os.path.join(ROOT, "tests", "kernel", file)) as source:
            names = {
                node.name for node in ast.walk(ast.parse(source.read())) if isinstance(node, ast.FunctionDef)
            }
        assert function in names, row.test


def test_ids_are_unique():
    names = [row.id for row in (*ATTACKS, *ELSEWHERE)]
    assert len(set(names)) == len(names)
