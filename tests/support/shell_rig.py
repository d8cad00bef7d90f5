"""One parser for all shell tests, and the verdict on a corpus row."""

from __future__ import annotations

import sys

import pytest
import shell_cases
from fence_double import FenceDouble

from ringfence.pipelines.command import LocalDisk, find_parser, judge, parser_with

PROGRAM = find_parser(sys.prefix, sys.executable.rpartition("/")[0])
PARSE = parser_with(PROGRAM)
needs_parser = pytest.mark.skipif(not PROGRAM, reason="needs shfmt (the shfmt-py wheel)")


def verdict(row, root, command=None):
    home = row["home"]
    if home:
        home = shell_cases.place(root, home)
    place = shell_cases.place
    fence = FenceDouble(
        place(root, row["workspace"]), [place(root, p) for p in row["protected"]], home=home, sweep=root
    )
    return judge(
        shell_cases.fill(row["command"] if command is None else command, root),
        check=fence.check,
        below=fence.below,
        cwd=place(root, row["cwd"]),
        home=home,
        env={k: shell_cases.fill(v, root) for k, v in row.get("env", {}).items()},
        dialect=row.get("shell", "bash"),
        parse=PARSE,
        disk=LocalDisk(),
    )
