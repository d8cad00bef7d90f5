"""Laws of the JSON editor: what an edit means, and that it touches nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.agents import jsonedit

KEYS = st.sampled_from(["a", "b", "hooks", "env", "é", '"', "a b"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from([1.5, -0.0])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def texts(draw):
    """A JSON object in a random style, with blanks in odd places."""
    value = draw(OBJECTS)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", " ", "\n"])) + text + draw(st.sampled_from(["", "\n", " \t\n"])), value


def _sources(text: str) -> dict[str, str]:
    """Each top-level member's value as it stands in the text."""
    _, root = jsonedit.parse(text)
    return {key: text[node.start : node.end] for key, _, node in root.members}


@settings(max_examples=100, deadline=None)
@given(texts())
def test_the_places_are_those_of_the_values(made):
    text, value = made
    _, root = jsonedit.parse(text)
    assert json.loads(text[root.start : root.end]) == value
    assert {key: json.loads(source) for key, source in _sources(text).items()} == value


@settings(max_examples=100, deadline=None)
@given(texts(), KEYS, VALUES)
def test_put_sets_one_member_and_leaves_the_bytes_of_all_others(made, key, new):
    text, value = made
    after = jsonedit.put(text, (key,), new)
    assert json.loads(after) == {**value, key: new}
    before = _sources(text)
    left = _sources(after)
    assert {k: v for k, v in left.items() if k != key} == {k: v for k, v in before.items() if k != key}


@settings(max_examples=100, deadline=None)
@given(texts(), VALUES)
def test_a_member_that_was_added_and_dropped_again_leaves_the_same_bytes(made, new):
    text, value = made
    again = jsonedit.drop(jsonedit.put(text, ("new key",), new), ("new key",))
    if value:
        assert again == text
    else:
        assert json.loads(again) == {}


@settings(max_examples=100, deadline=None)
@given(texts(), KEYS)
def test_drop_takes_one_member_and_leaves_the_bytes_of_all_others(made, key):
    text, value = made
    after = jsonedit.drop(text, (key,))
    assert json.loads(after) == {k: v for k, v in value.items() if k != key}
    assert _sources(after) == {k: v for k, v in _sources(text).items() if k != key}
    if key not in value:
        assert after == text


@settings(max_examples=100, deadline=None)
@given(texts(), st.lists(VALUES, max_size=4), VALUES, st.data())
def test_an_item_that_was_appended_and_dropped_again_leaves_the_same_bytes(made, items, new, data):
    text, value = made
    text = jsonedit.put(text, ("list",), items)
    longer = jsonedit.append(text, ("list",), new)
    assert json.loads(longer) == {**value, "list": [*items, new]}
    if items:
        assert jsonedit.drop(longer, ("list",), len(items)) == text
        index = data.draw(st.integers(0, len(items) - 1))
        rest = [*items, new]
        del rest[index]
        assert json.loads(jsonedit.drop(longer, ("list",), index))["list"] == rest


@settings(max_examples=100, deadline=None)
@given(texts(), VALUES)
def test_objects_on_the_way_are_made(made, new):
    text, value = made
    after = jsonedit.put(text, ("x", "y", "z"), new)
    assert json.loads(after) == {**value, "x": {"y": {"z": new}}}


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]",:ab1 \n\\tfn-.eE', max_size=30))
def test_any_text_is_either_json_for_both_or_refused_in_words(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(jsonedit.JsonTextError) as caught:
            jsonedit.parse(text)
        assert 0 <= caught.value.at <= len(text)
    else:
        value, node = jsonedit.parse(text)
        assert value == expected
        assert json.loads(text[node.start : node.end]) == expected
