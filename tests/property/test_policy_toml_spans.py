"""The scanner finds exactly the structure that tomllib finds, for generated documents in every notation."""

from __future__ import annotations

import string
import tomllib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringfence.policy.toml_spans import spans

# A busy machine is no reason to fail: nothing here is about time.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

BARE = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=4)
TRICKY = st.text(st.sampled_from("ab.=[]{}#,'\" \\é"), max_size=6)
BLANK = st.sampled_from(["", " ", "\t", "  "])
GAP = st.sampled_from(["", " ", "\n", " # ] } = [x]\n", "\n\n\t"])


def basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def long_basic(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"', '\\"') + '\n\\\n  x"""'


KEY = st.one_of(BARE, TRICKY.map(basic), TRICKY.filter(lambda t: "'" not in t).map(lambda t: f"'{t}'"))
SCALAR = st.one_of(
    TRICKY.map(basic),
    TRICKY.map(long_basic),
    TRICKY.filter(lambda t: "'" not in t).map(lambda t: f"'{t}'"),
    TRICKY.filter(lambda t: "'''" not in t and not t.endswith("'")).map(lambda t: f"'''\n{t}'''"),
    st.sampled_from(["1", "0xdead_beef", "1e3", "true", "1979-05-27", "1979-05-27 07:32:00Z", "inf"]),
)


@st.composite
def arrays(draw, inner):
    items = draw(st.lists(inner, max_size=3))
    text = "["
    for number, item in enumerate(items):
        comma = "," if number < len(items) - 1 or draw(st.booleans()) else ""
        text += draw(GAP) + item + draw(GAP) + comma
    return text + draw(GAP) + "]"


@st.composite
def inline_tables(draw, inner):
    keys = draw(st.lists(BARE, max_size=3, unique=True))
    return (
        "{"
        + ",".join(
            draw(BLANK) + key + draw(BLANK) + "=" + draw(BLANK) + draw(inner) + draw(BLANK) for key in keys
        )
        + "}"
    )


VALUE = st.recursive(SCALAR, lambda inner: arrays(inner) | inline_tables(inner), max_leaves=6)


@st.composite
def documents(draw):
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["pair", "pair", "dotted", "table", "tables", "comment"]))
        dotted = f"{draw(BLANK)}.{draw(BLANK)}".join(draw(st.lists(KEY, min_size=1, max_size=3)))
        if kind == "comment":
            lines.append("# " + draw(TRICKY))
        elif kind == "table":
            lines.append(f"[{dotted}]")
        elif kind == "tables":
            lines.append(f"[[{draw(BLANK)}{dotted}{draw(BLANK)}]]")
        else:
            key = dotted if kind == "dotted" else draw(KEY)
            lines.append(f"{draw(BLANK)}{key}{draw(BLANK)}={draw(BLANK)}{draw(VALUE)}{draw(BLANK)}")
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n".join(lines).replace("\n", ending) + draw(st.sampled_from(["", ending]))


def structure(value, path=()):
    """Every key path of a parsed document, array elements by index."""
    found = {path} if path else set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found |= structure(inner, (*path, key))
    return found


@CALM
@given(documents())
def test_the_scanner_sees_what_tomllib_sees(text):
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # names that collide: nothing to compare
    assert set(spans(text)) == structure(data)


@CALM
@given(documents())
def test_every_place_is_where_the_key_begins(text):
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = text.replace("\r\n", "\n").split("\n")
    for path, (line, column) in spans(text).items():
        rest = lines[line - 1][column - 1 :]
        if isinstance(path[-1], str) and not rest.startswith(("'", '"')):
            assert rest.startswith(path[-1])
        else:
            assert rest[0] not in " \t,=#"
