"""Program text in other languages, git's vocabulary, and what agents wrap around a command."""

from __future__ import annotations

import pytest
from shell_rig import PARSE, needs_parser

from ringfence.model import Op, Surroundings
from ringfence.pipelines.command import LocalDisk
from ringfence.shell.gitwords import config_value, key_kind, may_store
from ringfence.shell.patchtext import patched_names
from ringfence.shell.reading import read
from ringfence.shell.unwrap import unwrap, unwrap_words

WRITTEN = [
    ("sed 's/a/b/w out' f", {"out"}),
    ("sed -n '/x/w out' f", {"out"}),
    ("sed -e p -e 'W out' f", {"out"}),
    ("sed '1e touch out' f", {"out"}),
    ("sed 's#w x#w y#' f", set()),
    ("sed 's/[/]w/x/;s/a/b/' f", set()),
    ("sed '/a/,/b/{s/x/y/;w out\n}' f", {"out"}),
    ("sed 'a w out' f", set()),
    ("sed 'y/abc/wxy/' f", set()),
    ("sed '$!N;s/\\n/ /' f", set()),
    ("sed -i.bak s/a/b/ d/f", {"d/f", "d/f.bak"}),
    ("sed -i'b/*.old' s/a/b/ f", {"f", "b/f.old"}),
    ("awk '{print > \"out\"}' f", {"out"}),
    ("awk '{print $1, $2 >> \"out\"}' f", {"out"}),
    ("awk '$1 > 5' f", set()),
    ("awk '{if ($1 > $2) print}' f", set()),
    ("awk '{print ($1 > $2)}' f", set()),
    ("awk '/>/ {print}' f", set()),
    ("awk '{print | \"tee out\"}' f", {"out"}),
    ("awk 'BEGIN {system(\"touch out\")}'", {"out"}),
    ("awk -v o=out '{print > o}' f", {"out"}),
    ('awk \'{printf "%s", $1 > "a" "b"}\' f', {"ab"}),
    ("awk 'BEGIN{printf \"x\" > ARGV[1]}' out", {"out"}),
    ("awk -i inplace '{print}' f", {"f"}),
    ('perl -e \'unlink "a", "b"\'', {"a", "b"}),
    ("perl -e 'open(F, \">out\")'", {"out"}),
    ('perl -e \'open my $f, ">>", "out"\'', {"out"}),
    ("perl -pe 's/a/b/'", set()),
    ('node -e \'require("fs").writeFileSync("out", "")\'', {"out"}),
    ('node -e \'const f = require("node:fs"); f.rmSync("out"); f.readFileSync("x")\'', {"out"}),
    ("node -e 'console.log([1].map(a => a > 2))'", set()),
    ('python3 -c \'open("out", "w")\'', {"out"}),
    ("python3 -c 'open(\"in\")'", set()),
    ("python3 -c 'open(\"out\", mode)'", {"out"}),
    ('python3 -c \'from pathlib import Path as P; (P("d") / "out").write_text("")\'', {"d/out"}),
    ('python3 -c \'p = "out"; open(p, "a")\'', {"out"}),
    ('python3 -c \'import os.path; open(os.path.join("d", "out"), "w")\'', {"d/out"}),
    ('python3 -c \'import subprocess as s; s.run(["touch", "out"])\'', {"out"}),
    ('python3 -c \'import os; os.chdir("d"); open("out", "w")\'', {"out"}),
    ('python3 -c \'print("a".replace("b", "c"))\'', set()),
    ("sqlite3 db '.output out' 'select 1'", {"db", "out"}),
    ("sqlite3 db \"attach 'out' as o\"", {"db", "out"}),
    ("vim -es -c 'w out' -c q f", {"f", "out"}),
]


def reading(command, cwd="/w"):
    return read(command, parse=PARSE, dialect="bash", at=Surroundings(cwd, "/h"), env={}, disk=LocalDisk())


@needs_parser
@pytest.mark.parametrize(("command", "names"), WRITTEN, ids=[w[0] for w in WRITTEN])
def test_what_a_program_text_writes(command, names):
    got = reading(command)
    assert not got.unknowns
    assert {u.path for u in got.uses if u.op is not Op.READ} == names


UNREAD = [
    'sed "s/a/$X/" f', "sed e f", "sed 's/a/&/e' f", "sed -f absent f", "sed 's/a/b/Q' f", "awk '{print > $1}' f",
    "awk '{print > \"a\" NR}' f", "awk '{system($0)}' f", "awk '{print | $1}' f", "awk '{\"cmd\" $1 | getline}' f", "awk -f x f",
    "awk '@load \"x\"' f", 'awk "$X" f', "perl -e 'unlink $x'", "perl -e '`touch out`'", "perl -e 'open F, $ARGV[0]'",
    "perl -MFile::Path -e 'rmtree(\"x\")'", "perl -pe 's/a/system(1)/e'", "ruby -e 'File.delete(\"x\")'", "ruby -e '`ls`'",
    "node -e 'eval(\"1\")'", "node -e 'require(\"fs\")[\"rmSync\"](\"x\")'", "node -e 'require(\"f\" + \"s\")'",
    "node -e 'import(\"fs\")'", "node -e 'process.binding(\"fs\")'", "node -e 'require(\"fs\").rmSync(x)'",
    "node -e 'const {rmSync} = require(\"fs\"); rmSync(\"x\")'", "python3 -c 'exec(\"1\")'", "python3 -c 'import x'",
    "python3 -c '__import__(\"os\")'", "python3 -c 'f = open; f(\"x\", \"w\")'", "python3 -c 'import os; os.remove(v)'",
    "python3 -c 'import os; getattr(os, \"remove\")(\"x\")'", "python3 -c 'from os import *'",
    "python3 -c '().__class__.__base__.__subclasses__()'", "python3 -c 'import os; o = os; o.remove(\"x\")'",
    "python3 -c 'import sys; sys.modules[\"os\"].remove(\"x\")'", "python3 -c 'if'", "python3 -c 'import pathlib; pathlib.Path(v).unlink()'",
    "python3 -c 'import shutil; shutil.unpack_archive(\"x\")'", "python3 -c 'import subprocess; subprocess.run(v)'",
    "php -r 'unlink(\"x\");'", "sqlite3 db '.read x'", "sqlite3 db \"select writefile('x', 1)\"", "psql -c '\\! ls'",
    "make --eval '$(shell touch x)'", "vim -c 'source x' f",
]  # fmt: skip


@needs_parser
@pytest.mark.parametrize("command", UNREAD)
def test_what_cannot_be_read_is_said(command):
    assert reading(command).unknowns


def test_configuration_keys():
    assert key_kind("user.name") == key_kind("branch.x.merge") == key_kind("remote.o.url") == "harmless"
    assert key_kind("core.pager") == key_kind("alias.x") == key_kind("filter.lfs.clean") == "code"
    assert (
        key_kind("remote.o.uploadpack")
        == key_kind("credential.helper")
        == key_kind("diff.x.textconv")
        == "code"
    )
    assert key_kind("core.hooksPath") == key_kind("include.path") == key_kind("url.x.insteadOf") == "danger"
    assert may_store("user.email")
    assert may_store("remote.origin.pushurl")
    assert not any(
        map(may_store, ("remote.o.uploadpack", "core.hooksPath", "core.worktree", "alias.x", "core.editor"))
    )


def test_values_of_a_configuration_file():
    text = '[core]\n\tworktree = ../x ; no comment here\n[remote "Origin"]\n  url=/a\n  url = "/b"\n[REMOTE "other"] url = /c\n'
    assert config_value(text, "remote.Origin.url") == ["/a", "/b"]
    assert config_value(text, "remote.other.url") == ["/c"]
    assert config_value(text, "remote.origin.url") == []


def test_names_in_a_patch():
    text = "--- a/x/y\t2020\n+++ b/x/z\n@@ -1 +1 @@\n-a\n+b\n"
    assert patched_names(text, 1) == ["x/y", "x/z"]
    assert patched_names(text, 0) == ["a/x/y", "b/x/z"]
    assert patched_names("no patch", 1) is None
    assert patched_names('--- "a/\\303"\n', 1) is None


LINE = "source /s/snapshot-bash-1.sh 2>/dev/null || true && eval {} < /dev/null && pwd -P >| /tmp/claude-ab12-cwd"


def test_claude_lines_are_taken_apart():
    got = unwrap(LINE.format("'git commit -m '\"'\"'x'\"'\"''"), "claude-code")
    assert got is not None
    assert (got.command, got.state_file, got.dialect) == ("git commit -m 'x'", "/tmp/claude-ab12-cwd", "bash")
    assert (
        unwrap(
            LINE.format("'ls'").replace("-bash-", "-zsh-").replace("/s/", "/shell-snapshots/"), "claude-code"
        ).dialect
        == "zsh"
    )


@pytest.mark.parametrize(
    "line",
    [
        "ls",
        LINE.format("'ls'; rm x"),
        LINE.format('"$x"'),
        LINE.format("'ls' extra"),
        LINE.format("'ls'") + "; rm x",
        LINE.format("'ls'").replace("/tmp/claude-ab12-cwd", "/tmp/$x"),
        "x; eval 'ls' && pwd -P >| /tmp/c",
    ],
)
def test_what_only_resembles_a_wrapped_line_is_left_alone(line):
    assert unwrap(line, "claude-code") is None


def test_login_shells():
    assert unwrap("bash -lc 'ls > x'", "codex").command == "ls > x"
    assert unwrap("/bin/zsh -c 'ls'", "codex").dialect == "zsh"
    assert unwrap("bash -lc 'ls'; rm x", "codex") is None
    assert unwrap('bash -lc "$x"', "codex") is None
    assert unwrap_words(["bash", "-lc", "ls"]).command == "ls"
    assert unwrap_words(["python", "-c", "ls"]) is None
