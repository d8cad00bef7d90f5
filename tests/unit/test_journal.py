"""The decision log: private, one JSON line for each entry, never in the way."""

from __future__ import annotations

import json
import os

import pytest

from ringfence.model import Decision, Op, Rule, ToolCall, Verdict
from ringfence.pipelines import journal
from ringfence.pipelines.canaries import _CANARY as CANARY_FILE
from tests.unit.test_session import policy

DENIED = Decision(Verdict.DENY, "outside.write", "/x\udcff\n", Rule("r", "s", 1), 'why "x"', Op.WRITE, "next")


@pytest.fixture(name="made")
def _made(tmp_path):
    given = policy()
    return given._replace(folders=given.folders._replace(state=str(tmp_path / "deep" / "state")))


def _path(made) -> str:
    return os.path.join(made.folders.state, "decisions.jsonl")


def _lines(made) -> list[dict]:
    with open(_path(made), encoding="ascii") as file:
        return [json.loads(line) for line in file]


def test_an_entry_is_one_line_with_everything_that_decided(made):
    call = ToolCall("claude", "PreToolUse", "s", "/w", "Bash", "default", (), ("a\nb" + "x" * 5000,), True)
    journal.record(made, call, DENIED, "careful")
    (entry,) = _lines(made)
    assert entry.pop("time") > 0
    assert len(entry.pop("command")) == 2000
    assert entry == {
        "door": "hook", "agent": "claude", "session": "s", "tool": "Bash", "cwd": "/w", "verdict": "deny",
        "code": "outside.write", "op": "write", "path": "/x\udcff\n", "rule": "s:1 (r)", "message": 'why "x"',
        "next": "next", "warning": "careful",
    }  # fmt: skip


def test_folders_and_file_are_the_owners_alone(made):
    journal.record_command(made, "shell", "x", "/w", DENIED)
    assert os.stat(_path(made)).st_mode & 0o777 == 0o600
    assert os.stat(made.folders.state).st_mode & 0o777 == 0o700


def test_entries_are_added_at_the_end(made):
    for name in ("one", "two"):
        journal.record_command(made, "shell", name, "/w", DENIED)
    assert [entry["command"] for entry in _lines(made)] == ["one", "two"]


def test_a_link_in_its_place_is_not_followed(made, tmp_path):
    os.makedirs(made.folders.state)
    os.symlink(tmp_path / "victim", _path(made))
    journal.record_command(made, "shell", "x", "/w", DENIED)
    assert not os.path.exists(tmp_path / "victim")


def test_without_a_state_folder_nothing_is_written(made, tmp_path):
    journal.record_command(made._replace(folders=made.folders._replace(state="")), "shell", "x", "/w", DENIED)
    assert list(tmp_path.iterdir()) == []


def test_a_full_log_moves_aside_and_one_older_is_kept(made, monkeypatch):
    monkeypatch.setattr(journal, "_ROTATE", 600)
    for number in range(12):
        journal.record_command(made, "shell", str(number), "/w", DENIED)
        assert set(os.listdir(made.folders.state)) <= {"decisions.jsonl", "decisions.jsonl.1"}
        assert all(entry.stat().st_size < 1200 for entry in os.scandir(made.folders.state))
        assert journal.last_refusal(made)["command"] == str(number)
    assert os.path.exists(_path(made) + ".1")


def test_the_last_refusal_is_found_behind_allowed_calls_and_torn_lines(made):
    assert journal.last_refusal(made) is None
    journal.record_command(made, "shell", "refused", "/w", DENIED)
    journal.record_command(made, "shell", "allowed", "/w", DENIED._replace(verdict=Verdict.ALLOW))
    with open(_path(made), "a", encoding="ascii") as file:
        file.write('{"verdict": "deny", "comm')
    found = journal.last_refusal(made)
    assert found is not None
    assert found["command"] == "refused"
    os.rename(_path(made), _path(made) + ".1")
    assert journal.last_refusal(made) == found


def test_a_question_counts_as_a_refusal(made):
    journal.record_command(made, "shell", "asked", "/w", DENIED._replace(verdict=Verdict.ASK))
    assert journal.last_refusal(made)["verdict"] == "ask"


def test_what_an_install_tried_is_not_the_last_refusal(made):
    journal.record_command(made, "shell", "mine", "/w", DENIED)
    journal.append(made, (("session", journal.CANARY), ("verdict", "deny"), ("command", "eval x")))
    journal.append(made, (("path", f"/w/../{CANARY_FILE}"), ("verdict", "deny"), ("command", "pi")))
    assert journal.last_refusal(made)["command"] == "mine"
    journal.append(made, (("session", "s"), ("verdict", "deny"), ("command", f"cat {journal.CANARY}")))
    assert journal.last_refusal(made)["command"] == f"cat {journal.CANARY}"
