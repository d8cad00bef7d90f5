"""JSON without the json package gives the same answers as with it."""

from __future__ import annotations

import json
import math

import pytest

from ringfence import jsonscan

TEXTS = [
    "null", "true", "0", "-1.5e3", '"x"', '"\\u00e9\\ud83d\\ude00"', '"\\ud800"', "[]", "{}", ' [1, {"a": [2]}] \n',
    '{"a": 1, "a": 2}', "123456789012345678901234567890", "1e400", "-0", "NaN", "-Infinity",
]  # fmt: skip
BAD = [
    "",
    " ",
    "nul",
    "[1,]",
    '{"a"}',
    "{'a': 1}",
    '"\n"',
    '"\\x"',
    "1 2",
    "[",
    '{"a": 1,}',
    "\ufeff1",
    "[1]]",
    "+1",
    ".5",
    "01",
]
VALUES = [
    None,
    True,
    0,
    -1.5,
    1e300,
    'é\ud800\n"\\',
    [],
    {},
    [1, [2, {"a": None}]],
    {"b": 1, "a": [True]},
    (1, 2),
    {1: 2},
    "x",
]


@pytest.fixture(params=["core", "fallback"], autouse=True)
def backend(request, monkeypatch):
    if request.param == "fallback":
        monkeypatch.setattr(jsonscan, "_scan", None)


@pytest.mark.parametrize("text", TEXTS)
def test_reading(text):
    mine, theirs = jsonscan.loads(text), json.loads(text)
    assert mine == theirs or (math.isnan(mine) and math.isnan(theirs))
    assert type(mine) is type(theirs)


@pytest.mark.parametrize("text", BAD)
def test_reading_what_is_no_json(text):
    with pytest.raises(ValueError):
        json.loads(text)
    with pytest.raises(ValueError):
        jsonscan.loads(text)


def test_reading_bytes():
    assert jsonscan.loads('{"é": 1}'.encode()) == {"é": 1}
    with pytest.raises(ValueError):
        jsonscan.loads(b'"\xff"')


def test_nesting_too_deep_is_a_value_error():
    with pytest.raises(ValueError):
        jsonscan.loads("[" * 100_000)


@pytest.mark.parametrize("value", VALUES)
def test_writing(value):
    assert jsonscan.dumps(value) == json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (math.nan, ValueError),
        (math.inf, ValueError),
        (object(), TypeError),
        ({(): 1}, TypeError),
        (b"x", TypeError),
    ],
)
def test_writing_what_has_no_json(value, error):
    with pytest.raises(error):
        jsonscan.dumps(value)


def test_writing_a_circle():
    circle: list = []
    circle.append(circle)
    with pytest.raises(ValueError):
        jsonscan.dumps(circle)
