"""How paths, decisions and tables look to a person."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.model import CommandDecision, Decision, Op, Rule, Verdict
from ringfence.render import words

DENIED = Decision(Verdict.DENY, "outside.write", "/x", Rule("r", "/p.toml", 3), "why", Op.DELETE, "hint")
ALLOWED = Decision(Verdict.ALLOW, "allow.workspace", "/w/a", Rule("w", "--workspace"), "fine", Op.WRITE)

SHOWN = [
    ("/plain/path", "/plain/path"),
    ("with blank", "with blank"),
    ("\u00e9\U0001f600", "\u00e9\U0001f600"),
    (" lead", "' lead'"),
    ("trail ", "'trail '"),
    ("a\nb", "'a\\nb'"),
    ("a\tb\\c", "'a\\tb\\\\c'"),
    ("\x1b[2J", "'\\x1b[2J'"),
    ("a\udcffb", "'a\\xffb'"),
    ("\u202e", "'\\u202e'"),
    ("\u200b", "'\\u200b'"),
    ("\x7f\x00", "'\\x7f\\x00'"),
    ("", "''"),
]


@pytest.mark.parametrize(("path", "expected"), SHOWN)
def test_a_path_that_cannot_fool_anybody(path, expected):
    assert words.shown(path) == expected


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_categories=()), max_size=10))
def test_nothing_that_is_shown_controls_a_terminal(path):
    shown = words.shown(path)
    assert shown.isprintable()
    shown.encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="a\\\n\tx1b\x1b\udc80 ", max_size=6),
    st.text(alphabet="a\\\n\tx1b\x1b\udc80 ", max_size=6),
)
def test_different_paths_look_different(one, other):
    if one != other:
        assert words.shown(one) != words.shown(other)


def test_a_decision_in_lines():
    assert list(words.decision_lines("x", DENIED)) == [
        "deny   x  ->  /x  [outside.write]",
        "       why:  why",
        "       rule: /p.toml:3 (r)",
        "       next: hint",
    ]
    assert list(words.decision_lines("/w/a", ALLOWED)) == ["allow  /w/a  [allow.workspace]"]
    assert list(words.decision_lines("x", DENIED._replace(path="", hint=""))) == [
        "deny   x  [outside.write]",
        "       why:  why",
        "       rule: /p.toml:3 (r)",
    ]


def test_a_decision_as_json():
    assert words.decision_json("x", DENIED) == {
        "asked": "x",
        "op": "delete",
        "verdict": "deny",
        "code": "outside.write",
        "path": "/x",
        "rule": {"id": "r", "source": "/p.toml", "line": 3},
        "message": "why",
        "hint": "hint",
    }
    assert words.decision_json("a", ALLOWED)["rule"]["line"] is None


def test_a_command_in_lines_and_as_json():
    made = CommandDecision(Verdict.DENY, "outside.write", (ALLOWED, DENIED), "why", "rm a\n/x")
    lines = list(words.command_lines(made))
    assert lines[0] == "deny   'rm a\\n/x'  [outside.write]"
    assert "  allow  /w/a  [allow.workspace]" in lines
    assert "  deny   /x  [outside.write]" in lines
    assert words.command_json(made)["uses"][1]["asked"] == "/x"


def test_paint_gets_every_word_it_should():
    seen = []

    def paint(text: str, style: str) -> str:
        seen.append((text, style))
        return f"<{text}>"

    (line,) = words.decision_lines("/w/a", ALLOWED, paint)
    assert line == "<allow>  /w/a  <[allow.workspace]>"
    assert [style for _, style in seen] == ["green", "dim"]


def test_columns():
    assert list(words.columns([("a", "b"), ("longer", "c d")], ("h", "i"))) == [
        "h       i",
        "a       b",
        "longer  c d",
    ]
    assert list(words.columns([], ("h", "i"))) == ["h  i"]
