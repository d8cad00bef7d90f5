"""What ringfence takes for granted about Claude Code, seen on the real binary. A new pin that breaks a line here
breaks a promise of ours: each test names the promise that leans on it.

`recorder.py` stands in for our programs: as the shell prefix it writes down how it was called and becomes the shell,
as a hook it writes down its payload and answers with what a file says.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from tests.support.claude_run import Call, Run, Scenario, Stage, bash, run_claude, write

pytestmark = pytest.mark.e2e

TAIL = re.compile(r" && pwd -P >\| (\S+/claude-[0-9a-f]{4}-cwd)")
RECORDER = """
import json, os, stat, sys

def describe(fd):
    info = os.fstat(fd)
    return {"file": stat.S_ISREG(info.st_mode), "same": [info.st_dev, info.st_ino], "path": os.readlink(f"/proc/self/fd/{fd}")}

at = os.path.dirname(os.path.abspath(__file__))
if sys.argv[1:2] == ["hook"]:
    payload = json.load(sys.stdin)
    with open(f"{at}/hooks", "a") as out:
        out.write(json.dumps({"payload": payload, "env": dict(os.environ)}) + "\\n")
    with open(f"{at}/answers") as given:
        answer = json.load(given).get(payload["hook_event_name"], {})
    print(answer.get("out", ""), end="")
    print(answer.get("err", ""), end="", file=sys.stderr)
    sys.exit(answer.get("exit", 0))
seen = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "fds": [describe(fd) for fd in (0, 1, 2)]}
seen["leads"] = os.getpid() == os.getpgid(0) == os.getsid(0)
with open(f"{at}/lines", "a") as out:
    out.write(json.dumps(seen) + "\\n")
os.execv("/bin/bash", ["/bin/bash", "--norc", "-c", sys.argv[-1]])
"""


class Record:
    """The recorder of one stage: what it wrote down."""

    def __init__(self, stage: Stage) -> None:
        self.folder = os.path.join(stage.root, "recorder folder")
        os.mkdir(self.folder)
        self.program = os.path.join(self.folder, "recorder.py")
        with open(self.program, "w", encoding="utf-8") as out:
            out.write(f"#!/usr/bin/python3\n{RECORDER}")
        os.chmod(self.program, 0o755)
        self.answer({})

    def answer(self, answers: dict[str, dict[str, Any]]) -> None:
        with open(os.path.join(self.folder, "answers"), "w", encoding="utf-8") as out:
            json.dump(answers, out)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as rows:
            return [json.loads(row) for row in rows]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """How the prefix was called for the Bash tool."""
        return [row for row in self._rows("lines") if TAIL.search(row["argv"][-1])]

    @property
    def others(self) -> list[dict[str, Any]]:
        return [row for row in self._rows("lines") if not TAIL.search(row["argv"][-1])]

    @property
    def hooks(self) -> list[dict[str, Any]]:
        return self._rows("hooks")

    def settings(self, *events: str, prefix: str | None = None, **more: Any) -> dict[str, Any]:
        command = {"type": "command", "command": self.program, "args": ["hook"], "timeout": 20, **more}
        wired = {event: [{"hooks": [command]}] for event in events}
        return {
            "env": {"CLAUDE_CODE_SHELL_PREFIX": self.program if prefix is None else prefix},
            "hooks": wired,
        }


@pytest.fixture
def record(stage) -> Record:
    return Record(stage)


def go(stage: Stage, claude: str, settings: dict[str, Any], *calls: Call, **more: Any) -> Run:
    """A run with these project settings, in which every call was made."""
    folder = os.path.join(stage.ws, ".claude")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "settings.json"), "w", encoding="utf-8") as out:
        json.dump(settings, out)
    run = run_claude(Scenario("contract", calls), stage, claude, **more)
    assert run.outcome.exit == 0, run.outcome.stderr
    assert len(run.results) == len(calls)
    return run


def output(event: str, **more: Any) -> dict[str, dict[str, str]]:
    return {event: {"out": json.dumps({"hookSpecificOutput": {"hookEventName": event, **more}})}}


def test_the_prefix_gets_one_line_that_ends_in_the_folder_file(claude, stage, record):
    commands = ("echo a", "pwd", "cat <<'E'\nit's\nE", "echo b &\nwait", "true # note")
    go(stage, claude, record.settings(), *(bash(command) for command in commands))
    assert len(record.lines) == len(commands)
    files = set()
    for row in record.lines:
        assert len(row["argv"]) == 2
        tail = TAIL.search(row["argv"][1])
        assert tail is not None
        assert tail.end() == len(row["argv"][1])
        assert os.path.dirname(tail[1]) == stage.tmp
        files.add(tail[1])
    assert len(files) == len(commands)  # a fresh name each time


def test_the_prefix_runs_in_a_session_of_its_own_with_one_file_for_both_streams(claude, stage, record):
    run = go(stage, claude, record.settings("PreToolUse"), bash("mkdir s; cd s"), bash("echo a"))
    first, second = record.lines
    assert first["leads"]
    assert [first["cwd"], second["cwd"]] == [stage.ws, os.path.join(stage.ws, "s")]
    assert first["fds"][1]["file"]
    assert first["fds"][1]["same"] == first["fds"][2]["same"]
    assert re.fullmatch(re.escape(stage.tmp) + r"/claude-\d+/.*/tasks/\w+\.output", first["fds"][1]["path"])
    assert first["env"]["CLAUDE_CODE_SESSION_ID"] == record.hooks[0]["payload"]["session_id"]
    assert "CLAUDE_PROJECT_DIR" not in first["env"]
    assert run.results[1].text == "a"


def test_the_hook_sees_the_prefix_and_the_folder(claude, stage, record):
    """The hook refuses commands where the prefix is not in force."""
    go(stage, claude, record.settings("PreToolUse"), bash("echo a"))
    (hook,) = record.hooks
    assert hook["env"]["CLAUDE_CODE_SHELL_PREFIX"] == record.program
    assert hook["payload"]["cwd"] == stage.ws
    assert hook["payload"]["permission_mode"] == "bypassPermissions"
    assert hook["payload"]["tool_input"] == {"command": "echo a"}


def test_a_missing_prefix_program_runs_nothing(claude, stage, record):
    run = go(stage, claude, record.settings(prefix="/nonexistent/x"), bash("touch ran"))
    assert run.results[0].is_error
    assert not os.path.exists(os.path.join(stage.ws, "ran"))


def test_the_prefix_may_hold_blanks_but_two_dashes_break_it(claude, stage, record):
    """So `install` writes a path without arguments, and refuses one with ` -` in it."""
    assert " " in record.program
    whole = go(stage, claude, record.settings(prefix=f"{record.program} -a x --b y"), bash("echo a"))
    assert whole.results[0].is_error
    assert record.lines == []
    go(stage, claude, record.settings(prefix=f"{record.program} -a"), bash("echo a"))
    assert [len(row["argv"]) for row in record.lines] == [3]


def test_the_prefix_also_wraps_shell_form_hooks(claude, stage, record):
    settings = record.settings()
    settings["hooks"]["SessionStart"] = [{"hooks": [{"type": "command", "command": "true  'my hook'"}]}]
    go(stage, claude, settings, bash("echo a"))
    (other,) = record.others
    assert other["argv"][1:] == ["true  'my hook'"]
    assert other["env"]["CLAUDE_PROJECT_DIR"] == stage.ws


def test_project_settings_hold_only_where_claude_starts_beside_them(claude, stage, record):
    """`install --scope project` says so."""
    below = os.path.join(stage.ws, "below")
    os.mkdir(below)
    go(stage, claude, record.settings("PreToolUse"), bash("echo a"), cwd=below)
    assert (record.lines, record.hooks) == ([], [])


def test_denial_reaches_the_model_word_for_word(claude, stage, record):
    reason = "no: ž «q» \"d\" 'q'\nsecond <b>&amp; `t` $x"
    record.answer(output("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason))
    run = go(stage, claude, record.settings("PreToolUse"), bash("touch ran"), write("@ws@/w"))
    assert [(r.text, r.is_error) for r in run.results] == [
        (f"PreToolUse:Bash hook error: {reason}", True),
        (f"PreToolUse:Write hook error: {reason}", True),
    ]
    assert os.listdir(stage.ws) == [".claude", "vendor"] or sorted(os.listdir(stage.ws)) == [
        ".claude",
        "vendor",
    ]


def test_silence_is_no_opinion(claude, stage, record):
    run = go(stage, claude, record.settings("PreToolUse"), bash("echo a"))
    assert run.results[0].text == "a"


def test_a_rewrite_needs_no_decision_and_meets_the_prefix(claude, stage, record):
    record.answer(output("PreToolUse", updatedInput={"command": "echo other"}))
    run = go(stage, claude, record.settings("PreToolUse", "PostToolUse"), bash("echo a"))
    assert run.results[0].text == "other"
    assert "echo other" in record.lines[0]["argv"][1]
    assert record.hooks[-1]["payload"]["tool_input"] == {"command": "echo other"}


def test_a_broken_hook_blocks_with_on_failure(claude, stage, record):
    record.answer({"PreToolUse": {"exit": 1, "err": "broken"}})
    run = go(stage, claude, record.settings("PreToolUse", onFailure="block"), bash("touch ran"))
    assert run.results[0].is_error
    assert "broken" in run.results[0].text
    assert not os.path.exists(os.path.join(stage.ws, "ran"))


def test_a_broken_hook_lets_the_call_run_without_it(claude, stage, record):
    """Why `onFailure` is written into every entry."""
    record.answer({"PreToolUse": {"exit": 1, "err": "broken"}})
    go(stage, claude, record.settings("PreToolUse"), bash("touch ran"))
    assert os.path.exists(os.path.join(stage.ws, "ran"))


def test_the_start_of_a_session_cannot_be_refused(claude, stage, record):
    record.answer({"SessionStart": {"exit": 2, "err": "no"}})
    go(stage, claude, record.settings("SessionStart", onFailure="block"), bash("touch ran"))
    assert os.path.exists(os.path.join(stage.ws, "ran"))


def test_start_and_end_of_a_session_name_it(claude, stage, record):
    """The session's folders are made and removed by these."""
    go(stage, claude, record.settings("SessionStart", "SessionEnd"), bash("echo a"))
    start, end = (row["payload"] for row in record.hooks)
    assert (start["hook_event_name"], start["source"]) == ("SessionStart", "startup")
    assert (end["hook_event_name"], end["reason"]) == ("SessionEnd", "other")
    assert start["session_id"] == end["session_id"] == record.lines[0]["env"]["CLAUDE_CODE_SESSION_ID"]
    assert start["transcript_path"].startswith(os.path.join(stage.home, ".claude", "projects"))


def test_a_failed_command_is_told_to_a_hook_and_its_word_to_the_model(claude, stage, record):
    record.answer(output("PostToolUseFailure", additionalContext="from the fence"))
    run = go(stage, claude, record.settings("PostToolUseFailure"), bash("echo o; echo e >&2; exit 4"))
    assert record.hooks[0]["payload"]["error"] == "Exit code 4\no\ne"
    assert "from the fence" in run.context


def test_the_recorder_is_told_apart_from_a_failing_one(claude, stage, record):
    """The tests above would pass with a recorder that never ran; this one would not."""
    run = go(stage, claude, record.settings("PreToolUse"), bash("echo $((6 * 7))"))
    assert run.results[0].text == "42"
    assert len(record.lines) == len(record.hooks) == 1
