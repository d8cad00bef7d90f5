"""Any JSON, and any bytes, through the payload decoder: a call or a refusal, never another exception, and no path that
a tool's field named is lost on the way.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringfence.agents import claude, claude_tools
from ringfence.agents.fields import ONE
from ringfence.agents.strings import path_strings
from ringfence.errors import WireError
from ringfence.jsonscan import dumps, loads
from ringfence.model import ToolCall, Verdict

KEYS = st.one_of(
    st.sampled_from(
        [
            "hook_event_name",
            "session_id",
            "cwd",
            "tool_name",
            "tool_input",
            "permission_mode",
            "path",
            "command",
        ]
    ),
    st.text(max_size=6),
)
TEXT = st.text(alphabet=st.characters(blacklist_categories=()), max_size=12)
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
TOOLS = st.one_of(
    st.sampled_from([*claude_tools.PATHS, *claude_tools.COMMANDS, *claude_tools.CODE, *claude_tools.READERS, "Glob", "WebFetch"]),
    st.sampled_from(["mcp__a__b", "Tomorrow", ""]),
    TEXT,
)  # fmt: skip
FIELDS = st.sampled_from(
    sorted(
        {field for fields in claude_tools.PATHS.values() for field, _, _ in fields}
        | {"pattern", "command", "code", "x"}
    )
)
INPUTS = st.one_of(JSON, st.dictionaries(FIELDS, JSON, max_size=4))
PAYLOADS = st.builds(
    lambda base, more: {**base, **more},
    st.fixed_dictionaries(
        {
            "hook_event_name": st.sampled_from(
                [*sorted(claude.EVENTS), "SessionStart", "PostToolUse", "Tomorrow"]
            ),
            "cwd": st.sampled_from(["/", "/w", "w", ""]),
            "permission_mode": st.just("default"),
            "tool_name": TOOLS,
            "tool_input": INPUTS,
        }
    ),
    st.dictionaries(KEYS, JSON, max_size=2),
)


def _decoded(payload: object) -> ToolCall | WireError:
    try:
        return claude.decode(payload, _exists)
    except WireError as error:
        return error


def _exists(path: str) -> bool:
    return len(path) % 2 == 0


@settings(max_examples=200, deadline=None)
@given(st.one_of(JSON, PAYLOADS))
def test_any_value_is_a_call_or_a_refusal_in_words(payload):
    call = _decoded(payload)
    if isinstance(call, WireError):
        assert call.message
        assert json.loads(claude.refuse("PreToolUse", str(call)).stdout)
        return
    assert isinstance(call, ToolCall)
    assert call.event
    if call.event in claude.EVENTS:
        assert call.cwd.startswith("/")
        assert call.tool
    assert all(isinstance(use.path, str) for use in call.uses)
    assert all(isinstance(text, str) for text in call.commands)


@settings(max_examples=200, deadline=None)
@given(PAYLOADS)
def test_a_path_that_a_required_field_names_is_never_lost(payload):
    call = _decoded(payload)
    if isinstance(call, WireError) or call.event not in claude.EVENTS or call.tool not in claude_tools.PATHS:
        return
    fields = claude_tools.PATHS[call.tool]
    given_input = payload["tool_input"]
    named = {use.path for use in call.uses}
    for field, _, kind in fields:
        value = given_input.get(field)
        if isinstance(value, str) and (value or kind == ONE):
            assert value in named
        elif kind == ONE:
            raise AssertionError(f"{field} was {value!r} and nothing was said")
        elif isinstance(value, list):
            assert set(value) <= named


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
@example(b'{"a')
@example(b"\xff")
@example(b"[" * 5000)
def test_any_bytes_are_a_value_or_a_value_error(raw):
    try:
        value = loads(raw.decode("utf-8"))
    except ValueError:
        with pytest.raises((ValueError, RecursionError)):
            json.loads(raw.decode("utf-8"))
    else:
        assert json.dumps(value) == json.dumps(json.loads(raw))


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_what_is_written_reads_back(value):
    assert json.loads(dumps(value)) == value
    assert loads(dumps(value)) == value


@settings(max_examples=150, deadline=None)
@given(TEXT, st.sampled_from(sorted(claude.EVENTS)), st.sampled_from(list(Verdict)), TEXT)
def test_every_answer_is_empty_or_one_object(reason, event, verdict, warning):
    call = ToolCall("claude", event, "", "/", "Bash", "", (), (), True)
    text = claude.encode(call, verdict, reason, warning=warning).stdout
    assert text.isascii()
    if text:
        value = json.loads(text)
        assert set(value) <= {"hookSpecificOutput", "systemMessage"}
    if verdict is Verdict.DENY:
        assert '"deny"' in text


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.just("path"), st.sampled_from(["filePath", "target_file", "output_dir", "uri", "cwd"])), TEXT
)
def test_a_short_text_under_a_key_that_names_a_path_is_always_judged(key, text):
    found = [path for _, path in path_strings({key: text}, _exists)]
    if text and "://" not in text and text.count("\n") < 4:
        assert found == [text]
