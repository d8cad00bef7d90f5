"""Patterns: how a text is taken apart, and that our matching is the decision's."""

from __future__ import annotations

import pytest

from ringfence.decide import Index, glob_reach
from ringfence.model import Access, Glob, Rule, ZoneKind
from ringfence.policy.globs import Pattern, matching_roots, part_matches, split
from tests.support.policy_rig import Rig

SPLIT = [
    ("a/b", ("a/b", False, ())),
    ("app/[slug]", ("app/[slug]", False, ())),
    ("**/.env", (".", True, (".env",))),
    ("./**/.env", (".", True, (".env",))),
    ("/**/.env", ("/", True, (".env",))),
    ("src/**/x/*.pem", ("src", True, ("x", "*.pem"))),
    ("~/src/*/target", ("~/src", False, ("*", "target"))),
    ("logs/*.log/", ("logs", False, ("*.log",))),
    ("logs/*.log/**", ("logs", False, ("*.log",))),
    ("logs/**", ("logs", False, ())),
    ("logs/**/", ("logs", False, ())),
    ("/*", ("/", False, ("*",))),
    ("a/*/**/b", ("a", False, ("*", "**", "b"))),
    ("a?b", (".", False, ("a?b",))),
]


@pytest.mark.parametrize(("text", "parts"), SPLIT)
def test_taking_apart(text, parts):
    assert split(text) == Pattern(*parts)


PARTS = [
    ("*", "", True), ("*", "a", True), ("?", "", False), ("?", "é", True), ("a*b", "ab", True), ("a*b", "acb", True),
    ("a*b", "abc", False), ("*.py", ".py", True), ("*a*a*", "xaxa", True), ("*a*a*", "xa", False), ("**", "x", True),
    ("settings*.json", "settings.local.json", True), ("x", "X", False),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "name", "matches"), PARTS)
def test_one_component(pattern, name, matches):
    assert part_matches(pattern, name) is matches


def test_matching_takes_no_time_to_speak_of():
    assert part_matches("*a" * 30 + "b", "a" * 5000) is False


GLOBS = [
    ("/ws", True, (".env",)), ("/ws", False, ("*", "b")), ("/ws", True, ("a", "b")), ("/ws", True, ("a", "**", "b")),
    ("/ws", False, ("**", "b")), ("/", True, ("x",)), ("/ws", True, ("*",)),
]  # fmt: skip
PATHS = [
    "/ws",
    "/ws/.env",
    "/ws/a/.env/x",
    "/ws/a/b",
    "/ws/a/b/c",
    "/ws/x/a/y/b/z/b",
    "/w",
    "/wsx/.env",
    "/x",
    "/a/x/y",
    "/",
]


@pytest.mark.parametrize(("base", "deep", "parts"), GLOBS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("exact", [False, True])
def test_our_matching_is_the_decisions(tmp_path, base, deep, parts, path, exact):
    glob = Glob(base, deep, parts, Access.NONE, ZoneKind.ZONE, Rule("zone", "x"), exact)
    reach = glob_reach(Index(Rig(tmp_path).policy()), glob, path)
    longest = max(map(len, matching_roots(glob, path)), default=-1)
    assert reach == longest
