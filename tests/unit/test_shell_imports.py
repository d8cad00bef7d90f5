"""What judging a command loads: each of the forbidden modules costs one to thirteen milliseconds at every call."""

from __future__ import annotations

import os
import subprocess
import sys

from shell_rig import PROGRAM, needs_parser

import ringfence

SOURCE = os.path.dirname(os.path.dirname(ringfence.__file__))
FORBIDDEN = {
    "enum", "typing", "dataclasses", "re", "json", "collections", "functools", "contextlib", "subprocess", "pathlib", "inspect",
    "click", "os", "abc", "stat", "ctypes", "tomllib", "importlib.metadata", "ast", "shlex", "fnmatch", "glob",
}  # fmt: skip
USE = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from ringfence.model import Decision, Rule, Verdict
from ringfence.pipelines.command import judge_text
fine = Decision(Verdict.ALLOW, "allow", "", Rule("r", "test"), "")
for text in sys.argv[3:]:
    got = judge_text(text, lambda *a, **k: fine, cwd="/", home=None, env={}, shell="bash", parser=sys.argv[2])
    assert got.verdict is Verdict.ALLOW, (text, got)
print(*sorted(set(sys.modules) - before))
"""
TEXTS = (
    "git status && ls > x",
    "find . -name 'x*' | xargs -n1 sed -i s/a/b/",
    "for f in a b; do cp $f $f.bak; done",
    "make && npm test",
    "env A=1 bash -c 'tar xf a.tar'",
)


@needs_parser
def test_judging_loads_next_to_nothing():
    texts = [t for t in TEXTS if "xargs" not in t]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", USE, SOURCE, PROGRAM, *texts],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert loaded & FORBIDDEN == set()
    assert {m for m in loaded if not m.startswith("ringfence")} <= {
        "__future__", "_json", "errno", "select", "_collections", "posix", "time", "_stat", "itertools"
    }  # fmt: skip


def test_the_room_is_pure():
    """No module of the room opens files, starts programs or knows the kernel room."""
    folder = os.path.join(SOURCE, "ringfence", "shell")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as text:
            lines = [line.strip() for line in text]
        for line in lines:
            if line.startswith(("import ", "from ")):
                module = line.split()[1]
                assert module.split(".")[0] not in ("os", "posix", "subprocess", "pathlib", "shutil", "io"), (
                    name,
                    line,
                )
                if module.startswith("ringfence"):
                    assert module.startswith(("ringfence.shell", "ringfence.model", "ringfence.records")), (
                        name,
                        line,
                    )
            assert not line.startswith("open("), name
