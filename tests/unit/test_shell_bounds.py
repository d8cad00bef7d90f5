"""Texts made to run away: each is answered, and the walk's own limits are what ends it.

No clock is asserted; a text that escaped its limits would take minutes and stop the run.
"""

from __future__ import annotations

import pytest
from shell_rig import PARSE, needs_parser

from ringfence.model import Surroundings
from ringfence.pipelines.command import LocalDisk
from ringfence.shell.reading import read

pytestmark = [needs_parser]

TEXTS = {
    "loops in loops": "for a in 1 2 3; do " * 8 + "touch $a; " + "done; " * 8,
    "growing loops": "while true; do " * 10 + "x=$x/a; cd $x; touch y; " + "done; " * 10,
    "braces": "touch " + "{a,b}" * 30,
    "alternatives": "; ".join(f"if x; then v{i}=a; else v{i}=b; fi" for i in range(40))
    + "; touch "
    + "$v0/$v1" * 20,
    "doubling functions": " ".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }};" for i in range(40)) + " f0",
    "recursion": "f() { f; f; f; }; f",
    "patterns": "x=" + "a" * 4000 + "; echo ${x##*a*a*a*a*a*b} ${x%%*a*a*b*} ${x//a*a*b/c}",
    "extended globs": "x=" + "a" * 500 + "; echo ${x##+(a|*(a|+(a)))b}",
    "eval of itself": 'x=\'eval "$x"; eval "$x"\'; eval "$x"',
    "links in circles": "ln -s a b; ln -s b a; touch a/x",
    "a chain of links": "; ".join(f"ln -s l{i} l{i + 1}" for i in range(200)) + "; touch l200/x",
    "wide globs": "rm " + "f* " * 100,
    "traps of traps": "trap \"trap 'touch x' EXIT\" EXIT; " * 50,
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A folder of more names than a glob may have."""
    folder = tmp_path_factory.mktemp("crowded")
    for index in range(2500):
        (folder / f"f{index}").touch()
    return str(folder)


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_answered(name, crowded):
    at = Surroundings(crowded, None)
    reading = read(TEXTS[name], parse=PARSE, dialect="bash", at=at, env={}, disk=LocalDisk())
    assert reading.uses or reading.unknowns or reading.commands


def test_a_lone_surrogate_is_refused():
    reading = read(
        "echo \ud800 > x", parse=PARSE, dialect="bash", at=Surroundings("/", None), env={}, disk=LocalDisk()
    )
    assert [u.code for u in reading.unknowns] == ["invalid.encoding"]
