"""Editing somebody else's JSON in place: exact texts in many styles."""

from __future__ import annotations

import json

import pytest

from ringfence.agents import jsonedit

PUT = [
    ("{}", ("a",), 1, '{\n  "a": 1\n}'),
    ("{ }", ("a",), 1, '{\n  "a": 1\n}'),
    ("{}\n", ("a", "b"), 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'),
    ('{"x": 1}', ("a",), 2, '{"x": 1, "a": 2}'),
    ('{"x":1}', ("a", "b"), [], '{"x":1, "a": {\n    "b": []\n  }}'),
    ('{\n  "x": 1\n}\n', ("a",), 2, '{\n  "x": 1,\n  "a": 2\n}\n'),
    ('{\n\t"x": 1\n}', ("a",), {"b": 1}, '{\n\t"x": 1,\n\t"a": {\n\t\t"b": 1\n\t}\n}'),
    ('{\n    "x": 1\n}', ("a",), 2, '{\n    "x": 1,\n    "a": 2\n}'),
    ('{\n  "a": 1\n}', ("a",), "é\n", '{\n  "a": "é\\n"\n}'),
    ('{"a": 1, "b": 2}', ("a",), 3, '{"a": 3, "b": 2}'),
    ('{"a": {"b": 1}}', ("a", "b"), 2, '{"a": {"b": 2}}'),
    ('{"a": 1, "a": 2}', ("a",), 3, '{"a": 1, "a": 3}'),
    ('{"\\u0061": 1}', ("a",), 2, '{"\\u0061": 2}'),
    ('{"a": "}", "b": "\\"]"}', ("c",), 1, '{"a": "}", "b": "\\"]", "c": 1}'),
]


@pytest.mark.parametrize(("text", "keys", "value", "expected"), PUT)
def test_put(text, keys, value, expected):
    assert jsonedit.put(text, keys, value) == expected
    json.loads(expected)


APPEND = [
    ("{}", ("a",), 1, '{\n  "a": [\n    1\n  ]\n}'),
    ('{"a": []}', ("a",), 1, '{"a": [\n    1\n  ]}'),
    ('{"a": [1]}', ("a",), 2, '{"a": [1, 2]}'),
    ('{\n  "a": [\n    1\n  ]\n}', ("a",), 2, '{\n  "a": [\n    1,\n    2\n  ]\n}'),
    ('{\n\t"a": {\n\t\t"b": [\n\t\t\t1\n\t\t]\n\t}\n}', ("a", "b"), 2, '{\n\t"a": {\n\t\t"b": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t}\n}'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "keys", "value", "expected"), APPEND)
def test_append(text, keys, value, expected):
    assert jsonedit.append(text, keys, value) == expected
    json.loads(expected)


DROP = [
    ('{"a": 1}', ("a",), None, "{}"),
    ('{"a": 1, "b": 2}', ("a",), None, '{"b": 2}'),
    ('{"a": 1, "b": 2}', ("b",), None, '{"a": 1}'),
    ('{"a": 1, "b": 2, "c": 3}', ("b",), None, '{"a": 1, "c": 3}'),
    ('{\n  "a": 1,\n  "b": 2\n}\n', ("a",), None, '{\n  "b": 2\n}\n'),
    ('{\n  "a": 1,\n  "b": 2\n}\n', ("b",), None, '{\n  "a": 1\n}\n'),
    ('{"a": [1, 2, 3]}', ("a",), 1, '{"a": [1, 3]}'),
    ('{"a": [1]}', ("a",), 0, '{"a": []}'),
    ('{"a": [1]}', ("a",), 5, '{"a": [1]}'),
    ('{"a": 1}', ("b",), None, '{"a": 1}'),
    ('{"a": 1}', ("b", "c"), None, '{"a": 1}'),
    ('{"a": 1}', ("b",), 0, '{"a": 1}'),
]


@pytest.mark.parametrize(("text", "keys", "index", "expected"), DROP)
def test_drop(text, keys, index, expected):
    assert jsonedit.drop(text, keys, index) == expected
    json.loads(expected)


BAD = {
    "": 0,
    "{": 1,
    '{"a": 1,}': 8,
    '{"a": 1} x': 9,
    '// settings\n{"a": 1}': 0,
    '{\n  // a comment\n  "a": 1\n}': 4,
    "{'a': 1}": 1,
    "\ufeff{}": 0,
}


@pytest.mark.parametrize(("text", "at"), BAD.items())
def test_what_is_no_json_is_refused_with_its_place(text, at):
    for edit in (
        lambda: jsonedit.put(text, ("a",), 1),
        lambda: jsonedit.append(text, ("a",), 1),
        lambda: jsonedit.drop(text, ("a",)),
    ):
        with pytest.raises(jsonedit.JsonTextError) as caught:
            edit()
        assert caught.value.at == at


def _nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def test_a_depth_that_real_files_have_is_no_trouble():
    text = _nested(100)
    assert jsonedit.drop(jsonedit.put(text, ("b",), 1), ("b",)) == text


@pytest.mark.parametrize("depth", [600, 200_000])
def test_a_depth_that_none_has_is_refused_in_words(depth):
    with pytest.raises(jsonedit.JsonTextError, match="nested too deeply"):
        jsonedit.parse(_nested(depth))
