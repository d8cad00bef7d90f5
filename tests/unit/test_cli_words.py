"""The command line: bad words, exit statuses, help, completion."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.support.product import PACKAGE, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

COMMANDS = [
    ("check",), ("explain",), ("policy",), ("policy", "show"), ("policy", "check"), ("policy", "schema"),
    ("policy", "trust"), ("doctor",), ("run",), ("shell",), ("hook",), ("install",), ("uninstall",), ("status",),
    ("completion",),
]  # fmt: skip
BOTH = "ringfence: --restrict-paths and --no-restrict-paths contradict each other\n  give one of them\n"


def test_the_list_above_is_every_command(product):
    text = product.run("--help").text
    listed = re.findall(r"^  ([a-z]+)  ", text.partition("Commands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert set(listed) == {words[0] for words in COMMANDS}
    text = product.run("policy", "--help").text
    listed = re.findall(r"^  ([a-z]+)  ", text.partition("Commands:\n")[2], re.MULTILINE)
    assert {("policy", name) for name in listed} == {words for words in COMMANDS if len(words) == 2}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(product, words):
        assert (other.returncode, other.stdout, other.stderr) == done
    assert done.status == 1
