"""Whatever the bytes: a policy file is understood or refused by a PolicyError, never half taken."""

from __future__ import annotations

import json
import tomllib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringfence import jsonscan
from ringfence.errors import PolicyError
from ringfence.policy.read import read
from ringfence.policy.schema import KEYS, TABLES
from ringfence.policy.texts import Layer

# A busy machine is no reason to fail: nothing here is about time.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = [key.name for key in KEYS] + [field.name for fields in TABLES.values() for field in fields]
WORDS = sorted(
    {value for key in KEYS for value in key.values} | {"read", "**/.env", "~/x", "../a", "$X", "a*", ""}
)
SCALARS = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=5), st.booleans(), st.integers(), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


def toml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def take(content: bytes):
    try:
        return read(content, "/f.toml", "/ws", "/home", Layer.USER, True)
    except PolicyError as error:
        refused = error
    assert refused.source == "/f.toml"
    assert refused.message
    return refused


@CALM
@given(st.binary(max_size=200))
def test_any_bytes(content):
    take(content)


@CALM
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
def test_any_document(data):
    text = "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in data.items())
    try:
        known = tomllib.loads(text)
    except ValueError:
        return
    out = take(text.encode())
    if isinstance(out, PolicyError):
        assert out.line >= 1
        assert out.column >= 1
        return
    assert {word.key: word.value for word in out.words} == {
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in known.items()
        if isinstance(value, str | bool)
    }
    assert len(out.zones) == len(known.get("zone", ()))
    assert len(out.protect) == len(known.get("protect", ()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@CALM
@given(JSON)
def test_json_round_trips_as_the_json_package_does_it(value):
    assert jsonscan.dumps(value) == json.dumps(value, separators=(",", ":"))
    assert jsonscan.loads(json.dumps(value)) == value


@CALM
@given(st.text(st.sampled_from('[]{},:"\\ntru019.eE-+ \n'), max_size=12))
def test_any_text_is_read_or_refused_as_the_json_package_does_it(text):
    try:
        wanted = json.loads(text)
    except ValueError:
        wanted = ValueError
    try:
        found = jsonscan.loads(text)
    except ValueError:
        found = ValueError
    assert found == wanted
