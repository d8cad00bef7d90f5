"""Transcripts that real agents wrote (see tests/data/transcripts/README.md), and what is broken in them by hand."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ringfence import Fence
from ringfence.audit import judge
from ringfence.proposals import CallProposal, CommandProposal, Malformed, tool_of
from ringfence.readers.claude_transcript import read_claude
from ringfence.readers.codex_transcript import read_codex
from ringfence.readers.formats import detect
from ringfence.readers.gemini_transcript import read_gemini, read_gemini_document
from ringfence.readers.jsliteral import literal_calls
from ringfence.readers.opencode_transcript import read_opencode_database, read_opencode_export
from ringfence.readers.options import Options
from ringfence.readers.pi_transcript import read_pi

DATA = Path(__file__).parents[1] / "data" / "transcripts"
READERS = {
    "claude": read_claude,
    "codex": read_codex,
    "codex-code": read_codex,
    "gemini": read_gemini,
    "pi": read_pi,
}
SHELL = ["echo hi > inside.txt", "echo hi > ../outside/out.txt", "cd .. && cat outside/kept.txt"]
PATCH = "*** Begin Patch\n*** Add File: p.txt\n+x\n*** Add File: /home/dev/outside/p.txt\n+x\n*** End Patch\n"
FILES = [("w", "/home/dev/app/w.txt"), ("w", "/home/dev/outside/w.txt")]


def raw(name):
    return (DATA / f"{name}.jsonl").read_bytes()


def calls(records):
    return [tool_of(r) for r in records if isinstance(r, CallProposal)]


def told(tools, shell, write, more):
    return [(tools[0], text) for text in shell] + [(write, path) for _, path in FILES] + more


WANTED = {
    "claude": told(
        ["Bash"], SHELL, "Write",
        [("Read", FILES[0][1]), ("Edit", FILES[0][1]), ("Read", "/home/dev/outside/kept.txt")],
    ),
    "codex": [("Bash", text) for text in SHELL] + [("apply_patch", PATCH)],
    "codex-code": [("Bash", text) for text in SHELL] + [("apply_patch", PATCH)],
    "gemini": told(
        ["run_shell_command"], SHELL, "write_file",
        [("replace", FILES[0][1]), ("read_file", "/home/dev/outside/kept.txt")],
    ),
    "pi": told(["bash"], SHELL, "write", [("edit", FILES[0][1]), ("read", "/home/dev/outside/kept.txt")]),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_every_call_once_and_in_order(name):
    found = list(READERS[name]("x", [raw(name)], Options()))
    assert calls(found) == WANTED[name]
    assert not [r for r in found if isinstance(r, Malformed)]
    for record in found:
        place = record.payload.get("cwd")
        assert place == "/home/dev/app"
        assert record.agent == name.partition("-")[0]
        assert record.call


@pytest.mark.parametrize("name", READERS)
def test_told_by_its_beginning(name):
    assert detect(raw(name)[:65536]) == name.partition("-")[0]


@pytest.mark.parametrize("name", READERS)
def test_blocks_do_not_show(name):
    data = raw(name)
    whole = list(READERS[name]("x", [data], Options()))
    parts = [data[at : at + 101] for at in range(0, len(data), 101)]
    assert list(READERS[name]("x", parts, Options())) == whole


@pytest.mark.parametrize("name", READERS)
def test_a_last_line_that_is_cut_short(name):
    """As a killed agent leaves it: everything before is read, the rest is told with its line."""
    data = raw(name).rstrip(b"\n")
    lines = data.split(b"\n")
    last_call = max(n for n, line in enumerate(lines) if any(w[0].encode() in line for w in WANTED[name]))
    cut = b"\n".join(lines[:last_call]) + b"\n" + lines[last_call][:-20]
    found = list(READERS[name]("x", [cut], Options()))
    assert isinstance(found[-1], Malformed)
    assert found[-1].line == last_call + 1
    assert "cut short" in found[-1].why
    assert calls(found) == WANTED[name][: len(found) - 1]


@pytest.mark.parametrize("name", READERS)
def test_a_broken_line_stops_nothing(name):
    lines = raw(name).split(b"\n")
    broken = [b"{broken", b"[3]", *lines]
    found = list(READERS[name]("x", [b"\n".join(broken)], Options()))
    assert [r.line for r in found if isinstance(r, Malformed)] == [1, 2]
    assert calls(found) == WANTED[name]


def test_claude_sub_agents_and_moved_folders():
    rows = [
        {"type": "user", "cwd": "/one", "sessionId": "s", "permissionMode": "plan"},
        {
            "type": "assistant",
            "cwd": "/two",
            "sessionId": "s",
            "isSidechain": True,
            "message": {
                "content": [{"type": "text"}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
            },
        },
        {"type": "assistant", "message": {"content": "text"}},
        {"type": "assistant", "message": None},
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    (found,) = read_claude("x", [data], Options(path="/t.jsonl"))
    assert found.payload["cwd"] == "/two"
    assert found.payload["permission_mode"] == "plan"
    assert found.payload["transcript_path"] == "/t.jsonl"
    assert found.note == "by a sub-agent"


def test_claude_resumed_and_forked(tmp_path):
    """One session, gone on with in its file (--continue), then forked into a second file that repeats the first."""
    resumed, forked = raw("claude-resumed"), raw("claude-forked")
    first = [("Bash", "touch one"), ("Write", "/home/dev/outside/two"), ("Bash", "touch ../outside/three")]
    assert calls(read_claude("resumed", [resumed], Options())) == first
    assert calls(read_claude("forked", [forked], Options())) == [*first, ("Bash", "touch four")]
    fence = Fence(tmp_path, env={}, cwd=tmp_path)
    both = [*read_claude("resumed", [resumed], Options()), *read_claude("forked", [forked], Options())]
    found = list(judge(both, fence))
    assert [(f.record.source, tool_of(f.record)) for f in found] == [
        *(("resumed", row) for row in first),
        ("forked", ("Bash", "touch four")),
    ]


def test_gemini_document():
    messages = [{"type": "user", "content": "I'm currently working in the directory: /p\nx"}]
    messages += [{"type": "gemini", "toolCalls": [{"id": "1", "name": "read_file", "args": {"path": "a"}}]}]
    data = json.dumps({"sessionId": "s", "projectHash": "h", "messages": messages}).encode()
    assert detect(data) == "gemini-json"
    assert detect(json.dumps(json.loads(data), indent=1).encode()) == "gemini-json"
    (found,) = read_gemini_document("x", [data], Options())
    assert (found.line, found.payload["cwd"], found.payload["session_id"]) == (2, "/p", "s")
    assert isinstance(next(read_gemini_document("x", [b"{"], Options())), Malformed)


def codex(*items):
    rows = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}]
    rows += [{"type": kind, "payload": payload} for kind, payload in items]
    return list(read_codex("x", ["\n".join(map(json.dumps, rows)).encode()], Options()))


def call(name, arguments, call="c"):
    return (
        "response_item",
        {"type": "function_call", "name": name, "call_id": call, "arguments": json.dumps(arguments)},
    )


def test_codex_folders_shells_and_typed_text():
    found = codex(
        call("exec_command", {"cmd": "a", "workdir": "sub"}),
        call("shell", {"command": ["bash", "-lc", "b c"], "workdir": "/abs"}, "d"),
        call("shell", {"command": ["git", "log x"]}, "e"),
        call("write_stdin", {"session_id": 1, "chars": "rm -r x\n"}, "f"),
        call("write_stdin", {"session_id": 1, "chars": ""}, "g"),
        call("update_plan", {"plan": []}, "h"),
        call("view_image", {"path": "/etc/x.png"}, "i"),
    )
    assert [
        (type(r).__name__, *(tool_of(r) if isinstance(r, CallProposal) else (r.command,))) for r in found
    ] == [
        ("CallProposal", "Bash", "a"),
        ("CallProposal", "Bash", "b c"),
        ("CallProposal", "Bash", "git 'log x'"),
        ("CommandProposal", "rm -r x\n"),
        ("CallProposal", "view_image", "/etc/x.png"),
    ]
    assert [r.payload["cwd"] for r in found[:3]] == ["/w/sub", "/abs", "/w"]
    assert isinstance(found[3], CommandProposal)


@pytest.mark.parametrize(
    "item",
    [
        ("response_item", {"type": "function_call", "name": "exec_command", "arguments": "{"}),
        ("response_item", {"type": "function_call", "name": "exec_command", "arguments": "[]"}),
        ("response_item", {"type": "function_call", "name": "exec_command", "arguments": "{}"}),
        ("response_item", {"type": "custom_tool_call", "name": "exec", "input": "const t = tools; t.exec_command(x)"}),
        ("response_item", {"type": "custom_tool_call", "name": "exec", "input": "run(everything)"}),
        ("response_item", {"type": "custom_tool_call", "name": "exec", "input": "tools.exec_command({cmd: x})"}),
    ],
)  # fmt: skip
def test_codex_calls_that_cannot_be_read_are_told(item):
    found = codex(item, call("exec_command", {"cmd": "after"}, "z"))
    assert [type(r) for r in found] == [Malformed, CallProposal]


def test_codex_script_whose_calls_stand_only_in_what_ran():
    """A loop runs its call three times: once told by the text, twice by the rows of what ran."""
    ran = {"type": "CommandExecution", "command": ["/bin/bash", "-lc", "echo"], "cwd": "file:///w"}
    found = codex(
        ("response_item", {"type": "custom_tool_call", "name": "exec", "call_id": "c",
                           "input": "for (;;) await tools.exec_command({cmd: 'echo'})"}),
        *[("event_msg", {"type": "item_completed", "item": {**ran, "id": f"exec-{n}"}}) for n in range(3)],
    )  # fmt: skip
    assert [tool_of(r) for r in found] == [("Bash", "echo")] * 3


# --- literals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tools.a({})", ([("a", {})], True)),
        ("await tools.a({cmd: 'x', n: 1, 'q r': [true, null,], \"z\": -2.5,})",
         ([("a", {"cmd": "x", "n": 1.0, "q r": [True, None], "z": -2.5})], True)),
        ("tools.a(`x\ny`); tools.b()", ([("a", "x\ny"), ("b", None)], True)),
        (r"tools.a('\n\x41\u0042\u{43}\q\'')", ([("a", "\nABCq'")], True)),
        ("mytools.a(x); toolset; tools.b(1)", ([("b", 1.0)], True)),
        ("tools.a(`${x}`)", ([], False)),
        ("tools.a('x' + y)", ([], False)),
        ("tools['a']('x')", ([], False)),
        ("const {a} = tools", ([], False)),
        ("tools.a('x'); tools.b(y)", ([("a", "x")], False)),
        ("nothing", ([], False)),
        ("tools.a(" + "[" * 500, ([], False)),
        ("tools.a({'a' 1})", ([], False)),
        ("tools.a('open", ([], False)),
    ],
)  # fmt: skip
def test_literals(text, wanted):
    assert literal_calls(text) == wanted


# --- OpenCode ------------------------------------------------------------------------------------------


def database(tmp_path, name):
    """The rows that OpenCode 1.18.33 wrote, in tables with the columns that are read."""
    path = tmp_path / "opencode.db"
    tables = json.loads((DATA / f"{name}-rows.json").read_text())
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT)")
    base.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
    base.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
    for table, rows in tables.items():
        for row in rows:
            base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
    base.commit()
    return path, base


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("opencode", [("write", p) for _, p in FILES] + [("read", FILES[0][1]), ("edit", FILES[0][1])]),
        ("opencode-patch", []),
    ],
)
def test_opencode_database(tmp_path, name, last):
    path, base = database(tmp_path, name)
    base.close()
    found = list(read_opencode_database("x", str(path), Options()))
    wanted = [("bash", text) for text in SHELL] + last + [("read", "/home/dev/outside/kept.txt")]
    wanted += [("apply_patch", PATCH)] if name == "opencode-patch" else []
    assert calls(found) == wanted
    assert {r.payload["cwd"] for r in found} == {"/home/dev/app"}


def test_opencode_database_with_a_broken_row_and_a_sub_agent(tmp_path):
    path, base = database(tmp_path, "opencode")
    base.execute("UPDATE part SET data = '{' WHERE rowid = 3")
    base.execute("UPDATE session SET parent_id = 'ses_parent'")
    base.commit()
    base.close()
    found = list(read_opencode_database("x", str(path), Options()))
    assert [r.line for r in found if isinstance(r, Malformed)] == [3]
    assert {r.note for r in found if isinstance(r, CallProposal)} == {"by a sub-agent"}


def test_what_is_no_such_database(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"junk" * 100)
    assert [type(r) for r in read_opencode_database("x", str(path), Options())] == [Malformed]
    assert [type(r) for r in read_opencode_database("x", str(tmp_path / "none"), Options())] == [Malformed]
    sqlite3.connect(tmp_path / "other.db").close()
    assert [type(r) for r in read_opencode_database("x", str(tmp_path / "other.db"), Options())] == [
        Malformed
    ]


def test_opencode_export():
    part = {"type": "tool", "callID": "c", "tool": "write", "state": {"input": {"filePath": "a"}}}
    value = {
        "info": {"id": "ses", "directory": "/w"},
        "messages": [{"info": {}, "parts": [{"type": "text"}, part]}],
    }
    text = json.dumps(value)
    assert detect(text.encode()) == "opencode-json"
    assert detect(json.dumps(value, indent=2).encode()) == "opencode-json"
    (found,) = read_opencode_export("x", [b"Exporting session: ses\n" + text.encode()], Options())
    assert found.payload == {
        "agent": "opencode", "cwd": "/w", "session": "ses", "call": "c", "tool": "write", "args": {"filePath": "a"},
    }  # fmt: skip
