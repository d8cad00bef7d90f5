"""What `install` writes into Claude Code's settings, as text to text."""

from __future__ import annotations

import json

import pytest

from ringfence.agents import claude_settings as cs
from ringfence.errors import FenceError

WIRING = cs.Wiring(
    "/py",
    ("-I", "-S", "/x/ringfence/start.py", "hook", "claude", "--workspace", "/w"),
    "/s/ringfence-claude-1",
)
PLAIN = WIRING._replace(launcher="")

GROUP = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "/bin/true"}]}'
# name -> the text, fragments of it that must stand unchanged in whatever is written
STYLES = {
    "two blanks": ('{\n  "model": "x",\n  "permissions": {\n    "allow": ["Bash(ls)"]\n  }\n}\n', ['"allow": ["Bash(ls)"]']),
    "four blanks": ('{\n    "model": "x"\n}\n', ['    "model": "x"']),
    "tabs": ('{\n\t"model": "x",\n\t"a": [\n\t\t1\n\t]\n}\n', ['\t"a": [\n\t\t1\n\t]']),
    "one line": ('{"model":"x","n":1.50,"e":1E2}', ['"model":"x","n":1.50,"e":1E2']),
    "one line with blanks": ('{ "model" : "x" }\n', ['"model" : "x"']),
    "no newline at the end": ('{\n  "model": "x"\n}', ['"model": "x"']),
    "CRLF": ('{\r\n  "model": "x",\r\n  "b": 2\r\n}\r\n', ['"model": "x",\r\n  "b": 2']),
    "odd blanks": ('\n\n{\n\n  "a":   1 ,\n\n\n  "b": [ ]\n\n}\n\n\n', ['"a":   1 ,\n\n\n  "b": [ ]']),
    "escapes": ('{\n  "a": "\\u00e9\\/\\n", "b": "\u00e9"\n}\n', ['"a": "\\u00e9\\/\\n", "b": "\u00e9"']),
    "someone's hooks": ('{\n  "hooks": {\n    "PreToolUse": [\n      ' + GROUP + '\n    ],\n    "Stop": [' + GROUP + "]\n  }\n}\n", [GROUP, '"Stop": [' + GROUP + "]"]),
    "someone's environment": ('{\n  "env": {\n    "FOO": "1"\n  }\n}\n', ['"FOO": "1"']),
    "someone's hooks on one line": ('{"hooks":{"PreToolUse":[' + GROUP + "]}}", [GROUP]),
    "duplicate keys": ('{"model": "x", "model": "y", "env": {"A": "1"}}', ['"model": "x", "model": "y"', '"A": "1"']),
}  # fmt: skip


def _events(text: str) -> dict[str, int]:
    """event -> how many of its handlers are ours."""
    found = {}
    for event, groups in json.loads(text).get("hooks", {}).items():
        found[event] = sum(cs.is_ours(h) for g in groups for h in g["hooks"])
    return found


ALL = {"PreToolUse": 1, "PermissionRequest": 1, "PreSkillShellCommand": 1, "SessionStart": 1, "SessionEnd": 1}


def test_what_is_written_into_nothing():
    value = json.loads(cs.install_text("f", None, WIRING))
    assert value["env"] == {"CLAUDE_CODE_SHELL_PREFIX": "/s/ringfence-claude-1"}
    assert set(value) == {"hooks", "env"}
    assert set(value["hooks"]) == set(ALL)
    assert value["hooks"]["PreToolUse"] == [
        {
            "matcher": "*",
            "hooks": [
                {
                    "type": "command",
                    "command": "/py",
                    "args": [*WIRING.args, "--event", "PreToolUse"],
                    "timeout": 20,
                    "onFailure": "block",
                }
            ],
        }
    ]
    for event, (group,) in value["hooks"].items():
        (handler,) = group["hooks"]
        assert handler["args"][-2:] == ["--event", event]
        assert ("onFailure" in handler) == (event in cs.JUDGED)
        assert ("matcher" in group) == (event in ("PreToolUse", "PermissionRequest"))


@pytest.mark.parametrize("text", [None, "", "\n", " \t\n"])
def test_an_empty_file_is_like_none(text):
    assert cs.install_text("f", text, WIRING) == cs.install_text("f", None, WIRING)


@pytest.mark.parametrize("wiring", [WIRING, PLAIN], ids=["with a launcher", "without"])
@pytest.mark.parametrize("name", STYLES)
def test_entries_of_others_stay_byte_for_byte(name, wiring):
    text, fragments = STYLES[name]
    new = cs.install_text("f", text, wiring)
    for fragment in fragments:
        assert fragment in text, "the row itself is wrong"
        assert fragment in new
    assert {k: v for k, v in _events(new).items() if v} == ALL
    assert ("CLAUDE_CODE_SHELL_PREFIX" in json.loads(new).get("env", {})) == bool(wiring.launcher)
    # What is left after taking ours out again means the same as before, and others' entries still have their bytes.
    again = cs.uninstall_text("f", new)
    assert json.loads(again) == json.loads(text)
    for fragment in fragments:
        assert fragment in again


@pytest.mark.parametrize("name", STYLES)
def test_installing_twice_is_installing_once(name):
    once = cs.install_text("f", STYLES[name][0], WIRING)
    assert cs.install_text("f", once, WIRING) == once


@pytest.mark.parametrize("name", STYLES)
def test_a_newer_wiring_takes_the_place_of_the_older(name):
    older = cs.install_text(
        "f", STYLES[name][0], WIRING._replace(args=("/old/ringfence/start.py", "hook", "claude"))
    )
    newer = cs.install_text("f", older, WIRING)
    assert "/old/" not in newer
    assert {k: v for k, v in _events(newer).items() if v} == ALL


@pytest.mark.parametrize("name", STYLES)
def test_taking_out_what_is_not_there_changes_nothing(name):
    text, _ = STYLES[name]
    assert cs.uninstall_text("f", text) == text


EMPTIES = ['{"hooks": {}}', '{"hooks": {"Stop": []}}', '{"env": {}}', "{}", '{"env": {}, "hooks": {}}']


@pytest.mark.parametrize("text", EMPTIES)
def test_empty_lists_and_objects_of_others_stay_as_well(text):
    assert cs.uninstall_text("f", text) == text


OURS = {"type": "command", "command": "/p/ringfence", "args": ["hook", "claude"]}


@pytest.mark.parametrize(
    ("handler", "ours"),
    [
        (OURS, True),
        ({**OURS, "command": "ringfence"}, True),
        ({**OURS, "command": "/py", "args": ["-I", "-S", "/old/place/ringfence/start.py", "hook", "claude", "--workspace", "/w"]}, True),
        ({**OURS, "args": ["hook", "codex"]}, False),
        ({**OURS, "args": ["check", "claude"]}, False),
        ({**OURS, "args": ["claude", "hook"]}, False),
        ({**OURS, "command": "/p/notringfence"}, False),
        ({**OURS, "command": "/p/ringfence-wrapper"}, False),
        ({"type": "command", "command": "ringfence hook claude"}, False),
        ({"type": "command", "command": "ringfence", "args": "hook claude"}, False),
        ("ringfence hook claude", False),
        (None, False),
        ([], False),
    ],
)  # fmt: skip
def test_whose_a_handler_is(handler, ours):
    assert cs.is_ours(handler) is ours


def test_a_group_that_holds_ours_beside_anothers_is_not_taken_apart():
    text = json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [OURS, {"type": "command", "command": "x"}]}]}}
    )
    for edit in (lambda: cs.uninstall_text("/f", text), lambda: cs.install_text("/f", text, WIRING)):
        with pytest.raises(
            FenceError, match=r"/f: hooks.PreToolUse\[0\] holds our handler beside somebody else's"
        ):
            edit()


BAD = {
    "a comment": ('{\n  // mine\n  "a": 1\n}', "/f:2: not JSON: "),
    "a trailing comma": ('{"a": 1,}', "/f:1: not JSON: "),
    "cut off": ('{"a": \n', "/f:2: not JSON: "),
    "a byte order mark": ("\ufeff{}", "/f:1: not JSON: "),
    "a list": ("[]", "/f: the settings are not a JSON object"),
    "hooks a list": ('{"hooks": []}', "/f: `hooks` is not an object of lists"),
    "an event an object": ('{"hooks": {"Stop": {}}}', "/f: `hooks` is not an object of lists"),
    "env a list": ('{"env": []}', "/f: `env` is not an object"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_with_its_place(name):
    text, start = BAD[name]
    for edit in (lambda: cs.install_text("/f", text, WIRING), lambda: cs.uninstall_text("/f", text)):
        with pytest.raises(FenceError) as caught:
            edit()
        assert caught.value.message.startswith(start)
        assert caught.value.hint == "mend the file first; nothing was changed"


def test_inspect_says_what_stands_there(tmp_path):
    path = str(tmp_path / "settings.json")
    assert cs.inspect(path) == cs.Found(path, False, (), None, "", False)
    with open(path, "w", encoding="utf-8") as file:
        file.write(cs.install_text(path, '{"disableAllHooks": true}', WIRING))
    found = cs.inspect(path)
    assert set(found.hooks) == set(ALL)
    assert found.disabled
    assert found.prefix == "/s/ringfence-claude-1"
    assert found.wiring == cs.Wiring("/py", (*WIRING.args, "--event", "PreToolUse"), found.prefix)
    with open(path, "w", encoding="utf-8") as file:
        file.write("{,}")
    assert cs.inspect(path).problem.startswith(f"{path}:1: not JSON")


def test_a_file_that_is_no_text_is_refused_with_its_place(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FenceError, match="is not UTF-8 text: invalid start byte at byte 7"):
        cs.read_text(str(path))


def test_line_ends_are_read_as_they_are(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b"{\r\n}\r\n")
    assert cs.read_text(str(path)) == "{\r\n}\r\n"


def test_where_the_files_lie():
    assert cs.settings_path("user", "/w", "/h") == "/h/.claude/settings.json"
    assert cs.settings_path("project", "/w", "/h") == "/w/.claude/settings.local.json"
    assert set(cs.layers("/w", "/h")) == {
        "/h/.claude/settings.json",
        "/w/.claude/settings.json",
        "/w/.claude/settings.local.json",
        "/etc/claude-code/managed-settings.json",
    }
