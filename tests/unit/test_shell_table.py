"""The command table: every example of its source, its generated form, and the interpreter's corners."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ringfence.shell.commands_data import NAMES
from ringfence.shell.slots import NoSubcommand, read_slots
from ringfence.shell.table import entry_of

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "src/ringfence/shell/commands.toml").read_text(encoding="utf-8"))
ROLES = frozenset(
    ("read", "write", "append", "create", "delete", "move", "meta", "exec", "dest", "write-into", "delete-under", "prefix",
     "sibling", "link-target", "cwd", "list", "remote-read", "remote-dest", "at-read", "mount", "maybe", "value", "none",
     "cmd", "code", "words", "assign", "module", "archive", "git-dir", "work-tree", "chroot", "git-config", "ssh-opt",
     "project-of", "remote-cmd", "container-cmd", "docker-output", "awk-include", "cmake-e", "flag", "unknown", "tests")
)  # fmt: skip


def targets(words, *, macos=False):
    entry = entry_of(words[0])
    slots = read_slots(entry, words[1:], macos=macos)
    if isinstance(slots, NoSubcommand):
        return [f"unknown_sub:{slots.verdict}"]
    found = []
    for role, word in slots.pairs:
        inner = entry_of(f"python -m {word}") if role == "module" else None
        if inner is not None:
            nested = read_slots(inner, list(slots.operands))
            found += [f"{r}:{w}" for r, w in nested.pairs] + list(nested.effects)
        else:
            found.append(f"{role}:{word}")
    found += ["cmd:" + " ".join(c) for c in slots.commands]
    return sorted({*found, *slots.effects})


@pytest.mark.parametrize("example", TABLE["example"], ids=[e["cmd"] for e in TABLE["example"]])
def test_example(example):
    got = targets(shlex.split(example["cmd"]), macos=example.get("bsd", False))
    want = [t for t in example["targets"] if not (t.startswith("git-config:") and "unknown_sub" in got[0])]
    assert got == sorted(want)


def test_there_are_as_many_examples_as_were_reviewed():
    assert len(TABLE["example"]) >= 301


def test_the_generated_module_is_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/gen_commands.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_role_of_the_source_is_known():
    def roles(entry):
        for slot in entry.get("args", []) + entry.get("one", []):
            yield slot.rstrip("?*+")
        for role in [*entry.get("opts", {}).values(), *entry.get("bsd", {}).values()]:
            yield from role.lstrip("?").split(" ")
        for rule in entry.get("when", []):
            yield from roles(rule)
        for sub in entry.get("sub", []):
            yield from roles(sub)

    unknown = {r for e in TABLE["cmd"] for r in roles(e) if r.split(":")[0] not in ROLES}
    assert unknown == set()


def test_names_are_many_and_unique():
    listed = [n for e in TABLE["cmd"] for n in e["names"]]
    assert len(listed) == len(set(listed)) == len(NAMES)
    assert len(listed) > 1000


ROWS = [
    ("cp -at d a", ["read:a", "write-into:d"]),  # a cluster that ends in a valued option
    ("cp --targ d a", ["read:a", "write-into:d"]),  # an abbreviated long option
    ("sort -uo out in", ["read:in", "write:out"]),
    ("sort -- -o", ["read:-o"]),
    ("chmod -x f", ["meta:f"]),
    ("chmod -R -x d", ["meta:d"]),
    ("rsync --backup --backup-dir=b s/ d/", ["remote-dest:d/", "remote-read:s/", "write-into:b"]),
    ("dd if=a of=b", ["read:a", "write:b"]),
    ("tar xf a -C d", ["cwd:d", "read:a", "write-into:."]),
    ("find -L d -name x", ["read:d"]),
    ("grep -r pat d", ["read:d"]),
]


@pytest.mark.parametrize(("command", "want"), ROWS, ids=[r[0] for r in ROWS])
def test_grammar(command, want):
    assert targets(shlex.split(command)) == want


def test_a_word_that_is_not_known_may_be_an_option():
    assert read_slots(entry_of("sort"), ["\0"]).doubt
    assert not read_slots(entry_of("sort"), ["--", "\0"]).doubt
    assert not read_slots(entry_of("wc"), ["\0"]).doubt
