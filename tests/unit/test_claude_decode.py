"""Claude's payloads to calls and verdicts to answers, without a process around them."""

from __future__ import annotations

import json

import pytest

from ringfence.agents import claude, claude_tools
from ringfence.agents.fields import ONE, SOME
from ringfence.agents.strings import MAX_DEPTH, TooMuchError, path_strings
from ringfence.errors import WireError
from ringfence.model import Access, Reply, ToolCall, Verdict


def _decode(tool: str, given: object, **more: object) -> ToolCall:
    payload = {
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "session_id": "s",
        "cwd": "/w",
        "tool_name": tool,
        "tool_input": given,
    }
    return claude.decode({**payload, **more}, lambda path: path == "/etc")


def _uses(tool: str, given: object) -> list[tuple[str, str]]:
    return [(str(use.op), use.path) for use in _decode(tool, given).uses]


GLOBS = [
    ({"pattern": "*"}, ["."]),
    ({"pattern": "src/*.py"}, ["src"]),
    ({"pattern": "*", "path": "d"}, ["d"]),
    ({"pattern": "a/b", "path": "d"}, ["d", "d/a/b"]),
    ({"pattern": "/x/*"}, ["/x"]),
    ({"pattern": "/x/*", "path": "d"}, ["d", "/x"]),
    ({"pattern": "/*"}, ["/"]),
    ({"pattern": "~/x/*"}, ["~/x"]),
    ({"pattern": "../*"}, [".."]),
    ({"pattern": "../x", "path": "d"}, ["d", "d/../x"]),
    ({"pattern": "*/../../x/*"}, ["*/../.."]),
    ({"pattern": "{a,b}/../../x"}, ["{a,b}/../.."]),
    ({"pattern": "[ab]/x/../../../y"}, ["[ab]/x/../../.."]),
    ({"pattern": "?/..", "path": "d"}, ["d", "d/?/.."]),
    ({"pattern": "", "path": ""}, ["."]),
]


@pytest.mark.parametrize(("given", "paths"), GLOBS)
def test_where_a_search_goes(given, paths):
    assert _uses("Glob", given) == [("read", path) for path in paths]


@pytest.mark.parametrize("tool", claude_tools.PATHS)
def test_every_field_of_every_tool(tool):
    fields = claude_tools.PATHS[tool]
    given = {field: f"/p/{field}" for field, _, _ in fields}
    assert _uses(tool, given) == [(str(op), f"/p/{field}") for field, op, _ in fields]
    for field, _, kind in fields:
        less = {key: value for key, value in given.items() if key != field}
        if kind in (ONE, SOME):
            for wrong in (
                less,
                {**less, field: None},
                {**less, field: 1},
                {**less, field: [1]},
                {**less, field: []},
            ):
                with pytest.raises(WireError, match=field):
                    _decode(tool, wrong)
        else:
            assert len(_uses(tool, less)) == len(fields) - 1


def test_the_tables_do_not_contradict_each_other():
    tables = [
        set(claude_tools.PATHS),
        set(claude_tools.COMMANDS),
        set(claude_tools.CODE),
        set(claude_tools.NO_PATHS),
        set(claude_tools.READERS),
        {"Glob"},
    ]
    assert sum(map(len, tables)) == len(set().union(*tables))


@pytest.mark.parametrize("tool", claude_tools.COMMANDS)
def test_a_command_is_kept_as_it_is(tool):
    call = _decode(tool, {"command": " a\n\0b "})
    assert (call.commands, call.uses, call.understood) == ((" a\n\0b ",), (), True)


@pytest.mark.parametrize("tool", claude_tools.CODE)
def test_code_is_not_understood(tool):
    assert _decode(tool, {"anything": 1}).understood is False


@pytest.mark.parametrize("tool", claude_tools.READERS)
def test_readers_read(tool):
    assert _uses(tool, {"path": "/x"}) == [("read", "/x")]


STRINGS = [
    ({"path": "a"}, ["a"]),
    ({"filePath": "a b"}, ["a b"]),
    ({"output-dir": "a"}, ["a"]),
    ({"PATH": "/x"}, ["/x"]),
    ({"paths": ["a", {"deeper": ["b"]}]}, ["a"]),
    ({"x": {"path": {"y": "/etc/z"}}}, ["/etc/z"]),
    ({"text": "prose with a/slash"}, []),
    ({"text": "/etc/passwd"}, ["/etc/passwd"]),
    ({"text": "/users/42"}, []),
    ({"text": "/etc"}, ["/etc"]),
    ({"text": "//etc//x"}, ["//etc//x"]),
    ({"text": "~/x"}, ["~/x"]),
    ({"text": "~"}, ["~"]),
    ({"text": ".."}, [".."]),
    ({"text": "./x"}, ["./x"]),
    ({"text": "a/../b"}, ["a/../b"]),
    ({"text": "a/.."}, ["a/.."]),
    ({"text": "file:///x%20y"}, ["/x y"]),
    ({"text": "file://localhost/x"}, ["/x"]),
    ({"text": "file://host/x"}, ["//host/x"]),
    ({"text": "file:///%2e%2e/%zz"}, ["/../%zz"]),
    ({"text": "file:///%ff"}, ["/\udcff"]),
    ({"path": "https://x.invalid/a"}, []),
    ({"path": ""}, []),
    ({"path": 1, "file": None, "dir": True}, []),
    ({"content": "line\n/etc/passwd"}, []),
    ({"path": "/two\nlines"}, ["/two\nlines"]),
]


@pytest.mark.parametrize(("given", "paths"), STRINGS)
def test_strings_that_look_like_paths(given, paths):
    assert [path for _, path in path_strings(given, lambda top: top == "/etc")] == paths


def test_more_than_any_real_call_holds_is_refused():
    deep: object = "x"
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    for given in (deep, ["x"] * 10_001):
        with pytest.raises(TooMuchError):
            list(path_strings(given, lambda _: False))
        with pytest.raises(WireError):
            _decode("mcp__a__b", {"a": given})


def test_other_events_carry_no_call():
    made = claude.decode({"hook_event_name": "SessionStart", "session_id": "s"}, lambda _: False)
    assert made == ToolCall("claude", "SessionStart", "s", "", "", "", (), (), True)


# --- answers -----------------------------------------------------------------------------------------

CALL = ToolCall("claude", "PreToolUse", "s", "/w", "Bash", "", (), ("x",), True)


@pytest.mark.parametrize(
    "reason", ["plain", 'quotes " \\ and \n lines', "\u00e9\U0001f600", "\udcff", "x" * 20_000, ""]
)
@pytest.mark.parametrize("event", sorted(claude.EVENTS))
def test_a_denial_is_one_ascii_object_that_reads_back(event, reason):
    text = claude.encode(CALL._replace(event=event), Verdict.DENY, reason).stdout
    assert text.isascii()
    assert "\n" not in text
    said = json.loads(text)["hookSpecificOutput"]
    assert said["hookEventName"] == event
    given = said["decision"]["message"] if event == "PermissionRequest" else said["permissionDecisionReason"]
    assert given == reason[:9000]


def test_an_allow_is_silence_whatever_the_reason():
    for event in claude.EVENTS:
        assert claude.encode(CALL._replace(event=event), Verdict.ALLOW, "reason") == Reply("")


def test_a_warning_and_a_verdict_share_one_object():
    said = claude.encode(CALL, Verdict.DENY, "r", warning="w")
    assert set(json.loads(said.stdout)) == {"hookSpecificOutput", "systemMessage"}
    assert (said.stderr, said.status) == ("w", 0)
    assert json.loads(claude.encode(CALL, Verdict.ALLOW, "", warning="w").stdout) == {"systemMessage": "w"}


def test_a_rewritten_command_decides_nothing():
    payload = {"tool_input": {"command": "y", "timeout": 5}}
    value = json.loads(claude.encode(CALL, Verdict.ALLOW, "", command="x", payload=payload).stdout)
    assert value == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "x", "timeout": 5}}
    }
    assert "updatedInput" not in claude.encode(CALL, Verdict.DENY, "r", command="x", payload=payload).stdout


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest", "PreSkillShellCommand", "Unknown", ""])
def test_our_own_failure_has_a_shape_that_blocks(event):
    reply = claude.refuse(event, "why")
    assert (reply.stderr, reply.status) == ("why", 0)
    said = json.loads(reply.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == (event if event in claude.EVENTS else "PreToolUse")


# --- scratch -----------------------------------------------------------------------------------------

SESSION = "11111111-2222-3333-4444-555555555555"


def _scratch(transcript: object, session: object = SESSION, **env: str) -> tuple[tuple[str, Access], ...]:
    return claude.scratch({"session_id": session, "transcript_path": transcript}, {"HOME": "/h", **env}, 7)


def test_claudes_own_folders():
    good = f"/h/.claude/projects/-w/{SESSION}.jsonl"
    assert _scratch(good) == (
        ("/tmp", f"/claude-7/-w/{SESSION}", Access.WRITE),
        ("/h/.claude", f"/projects/-w/{SESSION}", Access.READ),
        ("/h/.claude", "/projects/-w/memory", Access.WRITE),
        ("/h/.claude", "/plans", Access.WRITE),
    )
    assert _scratch(good, TMPDIR="/t/")[0][:2] == ("/t", f"/claude-7/-w/{SESSION}")
    assert _scratch(good, TMPDIR="/t", CLAUDE_CODE_TMPDIR="/c")[0][:2] == ("/c", f"/claude-7/-w/{SESSION}")
    moved = _scratch(f"/c/projects/-w/{SESSION}.jsonl", CLAUDE_CONFIG_DIR="/c")
    assert moved[3] == ("/c", "/plans", Access.WRITE)
    assert _scratch(good, CLAUDE_CONFIG_DIR="/c") == ()


@pytest.mark.parametrize(
    ("transcript", "session"),
    [
        (None, SESSION),
        (1, SESSION),
        ("", SESSION),
        (f"/h/.claude/projects/a/b/{SESSION}.jsonl", SESSION),
        (f"/h/.claude/projects/../{SESSION}.jsonl", SESSION),
        (f"/h/.claude/projects/{SESSION}.jsonl", SESSION),
        ("/h/.claude/projects/-w/other.jsonl", SESSION),
        ("/h/.claude/projects/-w/../../x.jsonl", "../../x"),
        ("/h/.claude/projects/-w/..jsonl", "."),
        ("/h/.claude/projects/-w/.jsonl", ""),
        (f"/elsewhere/projects/-w/{SESSION}.jsonl", SESSION),
        (f"/h/.claude/projects/-w/{SESSION}.jsonl", None),
    ],
)
def test_any_other_shape_grants_nothing(transcript, session):
    assert _scratch(transcript, session) == ()
