"""Expansion: braces, tilde, parameters, splitting, globs. bash itself is the oracle where it can be."""

from __future__ import annotations

import os
import subprocess

import pytest
from shell_rig import PARSE, needs_parser

from ringfence.model import Surroundings
from ringfence.pipelines.command import LocalDisk
from ringfence.shell import globs, params
from ringfence.shell.quoting import ansi_c
from ringfence.shell.reading import read
from ringfence.shell.state import UNKNOWN

pytestmark = [needs_parser]

# Each makes words; bash prints them, the reading must write exactly those names.
EXPANSIONS = [
    "a b", "'a b' c", '"a b"c', "a\\ b", "a''b", '""', "$'x\\ty'", "$'\\x41\\102'", '$"x"', "{a,b}c", "{1..4}", "{01..03}",
    "{a..e..2}", "{5..1..2}", "{a,{b,c}}", "a{b}c", "{a", "{a,b}{c,d}", '{a,"b c"}', "x{,y}", "$V", '"$V"', "$V$V", "${V}x",
    "$W", '"$W"', "x$W", "${V:-z}", "${N:-z}", "${E:-z}", "${E-z}", "${V:+z}", "${N:+z}", "${V#a}", "${P##*/}", "${P%/*}",
    "${P%%/*}", "${P#*/}", "${P/src/dst}", "${P//a/b}", "${P/#src/x}", "${P/%txt/x}", "${V^^}", "${V^}", "${A[1]}",
    '"${A[@]}"', "${A[@]}", "${A[*]}", '"${A[*]}"', '"$@"', "$@", "$1", "${2}", "x${A[0]}y", "*.glob", "'*'.glob", "?.glob",
    "[ab].glob", "[!a].glob", "x*y", "dir/*", "*/in", "~/t", "~", "'~'/t", "x=~/t", "$(echo q r)", '"$(echo q r)"',
    "`echo q`", '"$(printf %s z)"', "${!R}", "a${N}b", "$E", '"$E"', "$E$V", "$G", '"$G"', "${V}{1,2}", "{$V,x}",
]  # fmt: skip
PRELUDE = (
    "V=abc W='p q' E= P=src/a.txt A=(one 'two three') R=V G='*.glob'; unset N; set -- 'first arg' second; "
)


@pytest.mark.parametrize("words", EXPANSIONS)
def test_the_words_are_those_of_bash(words, tmp_path):
    root = str(tmp_path)
    for name in ("a.glob", "b.glob", "dir/in", "dir/out"):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8"):
            pass
    shell = subprocess.run(
        ["bash", "-c", PRELUDE + f"printf '%s\\0' {words}"], cwd=root, check=True, stdout=subprocess.PIPE,
        env={"HOME": "/home/me", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    expected = [w for w in shell.stdout.decode().split("\0")[:-1] if w]
    reading = read(
        PRELUDE + f"mkdir -- {words}",
        parse=PARSE,
        dialect="bash",
        at=Surroundings(root, "/home/me"),
        env={},
        disk=LocalDisk(),
    )
    assert not reading.unknowns
    got = [u.path.removeprefix("./") if u.path.startswith("./~") else u.path for u in reading.uses]
    assert got == list(dict.fromkeys(expected))


UNKNOWNS = [
    "$Q",
    '"$Q"',
    "x/$Q",
    "${Q:-z}",
    "${V@P}",
    "${!Q}",
    "$(date)",
    "`cat f`",
    "${Q%/*}",
    "$0",
    "${V:1}",
    "$-",
]


@pytest.mark.parametrize("words", UNKNOWNS)
def test_what_is_not_known_is_said(words, tmp_path):
    reading = read(
        PRELUDE + f"touch {words}",
        parse=PARSE,
        dialect="bash",
        at=Surroundings(str(tmp_path), None),
        env={},
        disk=LocalDisk(),
    )
    assert reading.unknowns


PATTERNS = [
    "", "a", "*", "a*", "*a", "*a*", "?", "??", "[ab]", "[!ab]", "[a-c]x", "a**b", "\\*", "[]]", "[!]]", "[[:digit:]]",
    "@(a|b)", "+(ab)", "*(a)b", "!(a)", "?(a)b", "@(a|@(b|c))", "[a", "a\\", "*.@(c|h)",
]  # fmt: skip
TEXTS = ["", "a", "b", "ab", "ba", "aab", "abab", "c", "cx", "*", "]", "1", "x.c", "x.h", "[a", "a\\"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_in_bash(pattern):
    script = 'shopt -s extglob; for t in "${@:2}"; do [[ $t == $1 ]] && echo y || echo n; done'
    shell = subprocess.run(["bash", "-c", script, "_", pattern, *TEXTS], check=True, stdout=subprocess.PIPE)
    assert [globs.match(pattern, t) for t in TEXTS] == [line == "y" for line in shell.stdout.decode().split()]


def test_a_pattern_that_runs_away_is_stopped():
    with pytest.raises(globs.TooWideError):
        globs.match("*a" * 40 + "*(*a|*b)" * 4 + "c", "a" * 5000)


def test_ansi_c_text():
    assert ansi_c("\\x2e\\056/\\u00e9\\n\\cA\\q") == "../\u00e9\n\x01\\q"
    assert ansi_c("\\xff") == "\udcff"
    assert ansi_c("a\\0b") == "a"


def test_trimming_what_is_not_known_stays_unknown():
    assert params.trim(UNKNOWN, "%", "*") == UNKNOWN
    assert params.replace("abc", "/", UNKNOWN, "x") == UNKNOWN
