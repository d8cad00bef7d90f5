"""Any JSON through every agent's decoder: a call or a refusal in words; a path that a tool names is never lost; and
every answer means to the agent what the verdict says.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.agents import registry
from ringfence.errors import WireError
from ringfence.model import ToolCall, Verdict
from tests.support import dialects
from tests.support.product import Done

AGENTS = list(registry.ROWS)
KEYS = st.one_of(
    st.sampled_from(
        ["hook_event_name", "session_id", "cwd", "tool_name", "tool_input", "toolName", "toolArgs", "args", "tool",
         "event", "agent", "mode", "permission_mode", "turn_id", "model", "timestamp", "path", "file_path", "filePath",
         "command", "pattern", "paths", "input", "name", "arguments", "type", "workdir", "dir_path", "directory",
         "agent_action_name", "tool_info", "hookName", "tool_call", "preToolUse", "parameters", "working_dir", "stdin", "env",
         "hookEventName", "operations", "commands", "files", "replacements", "patterns", "changes"]
    ),
    st.text(max_size=5),
)  # fmt: skip
TEXT = st.text(alphabet=st.characters(blacklist_categories=()), max_size=12)
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=10,
)
WORDS = [
    "PreToolUse", "PermissionRequest", "BeforeTool", "preToolUse", "tool_call", "Write", "Edit", "Bash", "read",
    "write_file", "apply_patch", "glob", "grep", "tool_call", "sql", "MCP:x", "mcp__a__b", "read_many_files", "/", "..",
    "pre_write_code", "pre_mcp_tool_use", "run_commands", "read_files", "fs_read", "multi_replace_string_in_file", "Glob",
    "GenerateImage", "read_image", "web_fetch", "grep_search",
]  # fmt: skip


def _exists(path: str) -> bool:
    return len(path) % 2 == 0


def _decoded(agent: str, payload: object) -> ToolCall | WireError:
    try:
        return registry.dialect(registry.ROWS[agent]).decode(payload, _exists)
    except WireError as error:
        return error


def _holds(call: ToolCall | WireError) -> None:
    if isinstance(call, WireError):
        assert call.message
        return
    dialect = registry.dialect(registry.ROWS[call.agent])
    if call.event in dialect.EVENTS:
        assert call.cwd.startswith("/")
        assert call.tool
    else:
        assert not call.uses
        assert not call.commands
    assert all(isinstance(use.path, str) for use in call.uses)
    assert all(isinstance(text, str) for text in call.commands)


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=80, deadline=None)
@given(
    payload=JSON, more=st.dictionaries(KEYS, JSON, max_size=3), tool=st.one_of(st.sampled_from(WORDS), TEXT)
)
def test_any_value_is_a_call_or_a_refusal_in_words(agent, payload, more, tool):
    _holds(_decoded(agent, payload))
    _holds(_decoded(agent, {**dialects.payload(agent, "/w", tool, payload), **more}))
    _holds(_decoded(agent, dialects.payload(agent, "/w", tool, more)))


def _places(value: object, at: tuple = ()):
    """Every way from the top to a member."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*at, key)
            yield from _places(item, (*at, key))


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_damaged_call_is_refused_or_still_names_its_path(agent, data):
    """One or two members of an outside write dropped, retyped or renamed: never a call that has lost the path."""
    call = dialects.write(agent, "/w", "/etc/x")
    for _ in range(data.draw(st.integers(1, 2))):
        places = list(_places(call))
        way = data.draw(st.sampled_from(places))
        call = copy.deepcopy(call)
        holder = call
        for key in way[:-1]:
            holder = holder[key]
        how = data.draw(st.sampled_from(["drop", "retype", "rename"]))
        was = holder.pop(way[-1])
        if how == "retype":
            holder[way[-1]] = data.draw(JSON)
        elif how == "rename":
            holder[data.draw(KEYS)] = was
    made = _decoded(agent, call)
    _holds(made)
    if isinstance(made, WireError):
        return
    dialect = registry.dialect(registry.ROWS[agent])
    text = json.dumps(call)
    if "/etc/x" not in text:
        return  # the path itself was what changed
    if made.event not in dialect.EVENTS:
        inputs = {"tool_input", "toolArgs", "args"} | INPUTS.get(agent, set())
        assert not inputs & set(call) or made.event in dialect.AFTER_EVENTS, call
        return
    named = [use.path for use in made.uses]
    kept = dialects.NATIVE[agent][0][0] == made.tool
    assert not kept or any("/etc/x" in path for path in named), call


INPUTS = {"amp": {"stdin"}, "cline": {"tool_call", "preToolUse"}, "windsurf": {"tool_info"}}
REASONS = st.one_of(TEXT, st.just("x" * 20_000), st.just(""))


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=60, deadline=None)
@given(
    reason=REASONS,
    warning=REASONS,
    verdict=st.sampled_from(list(Verdict)),
    command=st.one_of(st.just(""), TEXT),
)
def test_an_answer_means_what_the_verdict_says(agent, reason, warning, verdict, command):
    dialect = registry.dialect(registry.ROWS[agent])
    payload = dialects.shell(agent, "/w", "ls")
    call = dialect.decode(payload, _exists)
    asked = command if dialect.route(call, "", {}) == "rewrite" else ""
    reply = dialect.encode(call, verdict, reason, command=asked, warning=warning, payload=payload)
    done = Done(reply.status, reply.stdout.encode("ascii"), reply.stderr.encode("utf-8", "replace"))
    assert dialects.runs(agent, done) == (verdict is Verdict.ALLOW)
    assert not reply.stdout or isinstance(json.loads(reply.stdout), dict)
    changed = dialects.rewritten(agent, done)
    if verdict is Verdict.ALLOW and asked:
        assert changed is not None
        assert changed["command"] == asked
    else:
        assert changed is None
    if verdict is not Verdict.ALLOW and reason:
        assert dialects.reason(agent, done).startswith(reason[:9000])


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=40, deadline=None)
@given(event=st.one_of(st.just(""), TEXT), reason=REASONS)
def test_our_own_failure_always_blocks(agent, event, reason):
    reply = registry.dialect(registry.ROWS[agent]).refuse(event, reason)
    done = Done(reply.status, reply.stdout.encode("ascii"), reply.stderr.encode("utf-8", "replace"))
    assert not dialects.runs(agent, done)
