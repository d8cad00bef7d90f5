"""The API: what `judge` takes and gives, what travels between processes, trees that are not here, and replay."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle

import pytest

from ringfence import Fence, Op, Verdict
from ringfence.audit import (
    CallProposal,
    CommandProposal,
    LoggedDecision,
    Malformed,
    PathProposal,
    judge,
    judged,
    records,
)
from ringfence.pipelines.calls import inner_text
from tests.support.product import product_fixture  # noqa: F401 - a fixture


@pytest.fixture
def ws(tmp_path):
    (tmp_path / "ws").mkdir()
    return os.path.realpath(tmp_path / "ws")


@pytest.fixture
def fence(ws):
    return Fence(ws, env={}, temp="none", cwd=ws)


def call(tool, given, **more):
    payload = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "permission_mode": "default",
               "transcript_path": "/t", "tool_name": tool, "tool_input": given, **more}  # fmt: skip
    return CallProposal("x", 1, "claude", payload, more.get("tool_use_id", ""))


def test_records_take_texts_mappings_and_records():
    things = ["a", {"path": "b", "op": "read"}, PathProposal("y", 9, Op.READ, "c"), 3, {"command": "ls"}]
    found = list(records(things))
    assert found == [
        PathProposal("<records>", 1, Op.WRITE, "a"),
        PathProposal("<records>", 2, Op.READ, "b"),
        PathProposal("y", 9, Op.READ, "c"),
        Malformed("<records>", 4, "not an object but a number"),
        CommandProposal("<records>", 5, "ls"),
    ]


def test_judge_is_lazy_and_keeps_order(fence):
    def endless():
        while True:
            yield from records(["a", "../b"])

    found = judge(endless(), fence)
    assert [next(found).decision.verdict.value for _ in range(4)] == ["allow", "deny", "allow", "deny"]


def test_a_finding_for_each_kind(fence, ws):
    rows = [
        PathProposal("x", 1, Op.WRITE, "../q"),
        CommandProposal("x", 2, "cp a ../b"),
        call("Write", {"file_path": f"{ws}/a"}, cwd=ws),
        call("Write", {"file_path": "../a"}, cwd=ws),
        call("Bash", {"command": "$X"}, cwd=ws),
        call("Bash", {"command": "touch ../z"}, cwd=ws),
        LoggedDecision("x", 3, "allow", "", Op.WRITE, "../logged"),
        Malformed("x", 4, "no reason"),
    ]
    found = list(judge(rows, fence))
    assert [f.decision.verdict.value for f in found] == [
        "deny", "deny", "allow", "deny", "ask", "deny", "deny", "deny",
    ]  # fmt: skip
    assert found[-1].decision.code == "invalid.record"
    assert found[1].uses
    assert [f.record for f in found] == rows


@pytest.mark.parametrize(
    "record",
    [
        call("Write", {}),
        call("Write", {"file_path": 3}),
        call("Write", "text"),
        CallProposal("x", 1, "nobody", {"tool_name": "x"}),
        CallProposal("x", 1, "", {"tool_name": "x"}),
        CallProposal("x", 1, "claude", {"hook_event_name": "PostToolUse", "tool_input": {}, "cwd": "/w"}),
        call("Write", {"file_path": "a"}, cwd="relative"),
    ],
)
def test_calls_that_no_decoder_takes_are_malformed(fence, record):
    (found,) = judge([record], fence)
    assert isinstance(found.record, Malformed)
    assert (found.decision.verdict, found.decision.code) == (Verdict.DENY, "invalid.record")
    assert (found.record.source, found.record.line) == (record.source, record.line)


def test_a_payload_tells_whose_it_is(fence, ws):
    """Without a name, the decoders are asked in turn; each of the shared samples finds its own."""
    rows = [
        {"agent": "pi", "cwd": ws, "mode": "print", "event": {"type": "tool_call", "toolName": "write", "toolCallId": "1", "input": {"path": "../q"}}},
        {"agent": "opencode", "cwd": ws, "session": "s", "call": "c", "tool": "write", "args": {"filePath": "../q"}},
        {"session_id": "s", "transcript_path": "/t", "cwd": ws, "hook_event_name": "BeforeTool", "timestamp": "t", "tool_name": "write_file", "tool_input": {"file_path": "../q"}},
        {"session_id": "s", "turn_id": "t", "transcript_path": None, "cwd": ws, "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": "touch ../q"}, "tool_use_id": "u"},
    ]  # fmt: skip
    found = list(judge(records(rows), fence))
    assert [f.decision.code for f in found] == ["outside.write"] * 4, found


def test_a_repeated_call_counts_once(fence, ws):
    one = call("Write", {"file_path": "a"}, cwd=ws, tool_use_id="t1")
    again = one._replace(
        source="fork", payload={**one.payload, "session_id": "other", "transcript_path": "/u"}
    )
    moved = call("Write", {"file_path": "a"}, cwd="/elsewhere", tool_use_id="t1")
    unnamed = call("Write", {"file_path": "a"}, cwd=ws)
    found = list(judge([one, again, moved, unnamed, unnamed], fence))
    assert [f.record for f in found] == [one, moved, unnamed, unnamed]


def test_inner_text():
    lead = "/usr/bin/python3 -I -S /opt/ringfence/start.py shell --workspace /w"
    assert inner_text(f"{lead} -c 'touch x'") == "touch x"
    assert inner_text(f"{lead} -c 'echo '\"'\"'q'\"'\"''") == "echo 'q'"
    for line in (
        f"rm -r /; {lead} -c 'true'", f"{lead} -c 'true'; rm", f"{lead} -c 'a' 'b'", f"$({lead}) -c 'true'",
        "python -I -S /tmp/x.py shell -c 'true'", f"{lead.replace('start.py', 'start.py.evil')} -c 'true'",
    ):  # fmt: skip
        assert inner_text(line) == line


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


# --- between processes ---------------------------------------------------------------------------------


def test_everything_travels(fence, ws):
    again = through_pickle(fence)
    assert again.policy == fence.policy
    rows = [*records(["a", "../b", {"command": "touch ../c"}]), call("Write", {"file_path": "../d"}, cwd=ws)]
    assert through_pickle(rows) == rows
    findings = judged(rows, fence)
    assert through_pickle(findings) == findings
    assert judged(rows, again) == findings


def test_partitions_in_other_processes_give_the_same(fence):
    rows = list(records([f"d{n % 7}/x{n}" if n % 3 else f"../o{n}" for n in range(300)]))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(judged, [(rows[:150], fence), (rows[150:], fence)])
    assert parts[0] + parts[1] == judged(rows, fence)


# --- a tree that is not here ---------------------------------------------------------------------------


FIND = "d\t1\t2\t.\t\nd\t2\t2\tsrc\t\nf\t3\t1\tsrc/a\t\nl\t4\t1\tout\t../x\nf\t5\t2\thl\t\nf\t6\t2\th1\t\nf\t6\t2\th2\t\n"
TAR = """drwxr-xr-x r/r 0 2026-12-01 01:00 ./
-rw-r--r-- r/r 0 2026-12-01 01:00 ./src/a
lrwxrwxrwx r/r 0 2026-12-01 01:00 ./out -> ../x
-rw-r--r-- r/r 0 2026-12-01 01:00 ./h1
hrw-r--r-- r/r 0 2026-12-01 01:00 ./h2 link to ./h1
"""
NAMES = "src/\nsrc/a\nout -> ../x\nh1\n"
ASKED = ["src/a", "src/new", "out/z", "h1", "../q", "src/no/../../../z", "src/a/x", "out"]
CODES = ["allow.workspace", "allow.workspace", "outside.write", "allow.workspace", "outside.write", "outside.write",
         "invalid.not-a-directory", "outside.write"]  # fmt: skip


@pytest.mark.parametrize("listing", [FIND, TAR, NAMES], ids=["find", "tar", "names"])
def test_as_of(product, listing):
    product.write("listing", listing)
    done = product.run(
        *("audit", "--workspace", "/nowhere/app", "--as-of", product.path("listing"), "--json", "--all"),
        *("--format", "lines"),
        stdin="\n".join(ASKED).encode(),
    )
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["code"] for row in rows[:-1]] == CODES, done.complaint
    assert "listing" in rows[-1]["weaker"]
    assert "WEAKER" in done.complaint


def test_as_of_knows_hard_links(product):
    product.write("listing", FIND)
    words = ("audit", "--workspace", "/nowhere/app", "--as-of", product.path("listing"), "--json", "--all")
    done = product.run(*words, "--format", "lines", stdin=b"hl\nh1\n")
    codes = [json.loads(line)["code"] for line in done.out.splitlines()[:-1]]
    assert codes == ["hardlink.outside", "allow.workspace"]


def test_a_listing_that_cannot_be_read_whole_is_not_used(product):
    product.write("listing", "d\t1\t2\t.\t\nnonsense\n")
    done = product.run(
        "audit", "--workspace", "/nowhere/app", "--as-of", product.path("listing"), stdin=b"a\n"
    )
    assert done.status == 2
    assert "line 2" in done.complaint


def test_lexical_and_its_marks(product):
    words = ("audit", "--workspace", "/nowhere/app", "--protect", "/nowhere/app/main", "--lexical")
    for output in ("text", "jsonl", "sarif", "junit"):
        done = product.run(*words, "--output", output, "--format", "lines", stdin=b"a\nmain/x\n../y\n")
        assert done.status == 1
        assert "by the text of each path alone" in done.text, output
    done = product.run(*words, "--json", "--all", stdin=b'{"path": "a"}\n{"command": "cp a main/b"}\n')
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["code"] for row in rows[:-1]] == ["allow.workspace", "protected.checkout"]


def test_the_real_disk_is_not_asked(product):
    """A link that is here and not in the listing does not count, nor one that is in the listing and not here."""
    os.symlink("/etc", product.path("ws/here"))
    product.write("listing", "there -> /etc\n")
    done = product.run(
        *("audit", "--workspace", product.ws, "--as-of", product.path("listing"), "--json", "--all"),
        *("--format", "lines"),
        stdin=b"here/x\nthere/x\n",
    )
    assert [json.loads(line)["verdict"] for line in done.out.splitlines()[:-1]] == ["allow", "deny"]


# --- replay --------------------------------------------------------------------------------------------


def replayed(product, *words, **more):
    done = product.run("replay", "--workspace", product.ws, *words, "--json", **more)
    return done, [json.loads(line) for line in done.out.splitlines()]


def test_replay_of_records_under_another_policy(product):
    product.write("new.toml", f'workspace = ["{product.out}"]\n')
    product.write("r.jsonl", '{"path": "a"}\n{"path": "../out/x"}\n{"path": "/etc/x"}\n{broken\n')
    done, rows = replayed(product, "--under-workspace", product.out, product.path("r.jsonl"))
    assert done.status == 1
    changes = [(r["record"], r["kind"], r["before"]["verdict"], r["after"]["verdict"]) for r in rows[:-1]]
    assert changes == [
        (1, "lost", "allow", "deny"),
        (2, "gained", "deny", "allow"),
        (4, "malformed", "deny", "deny"),
    ]
    last = rows[-1]
    assert (last["lost"], last["gained"], last["same"], last["malformed"]) == (1, 1, 1, 1)


def test_replay_of_the_decision_log(product):
    for path in ("../out/x", "/etc/x"):
        product.hook(product.payload("Write", {"file_path": path}))
    done, rows = replayed(product, "--under-workspace", product.out, "--all")
    assert [(r["kind"], r["recorded"], r["before"]["code"], r["after"]["verdict"]) for r in rows[:-1]] == [
        ("gained", True, "outside.write", "allow"),
        ("same", True, "outside.write", "deny"),
    ]
    assert done.status == 1


def test_replay_under_a_policy_file_that_closes_more(product):
    product.write(
        "new.toml", f'workspace = ["{product.ws}"]\n[[zone]]\npath = "{product.ws}/keep"\naccess = "read"\n'
    )
    product.write("r.jsonl", '{"path": "keep/a"}\n{"path": "b"}\n')
    _, rows = replayed(product, "--under", product.path("new.toml"), product.path("r.jsonl"))
    assert [(r["kind"], r["after"]["code"]) for r in rows[:-1]] == [("lost", "zone.read-only")]
    same, _ = replayed(product, "--under-workspace", product.ws, product.path("r.jsonl"))
    assert same.status == 0


def test_replay_needs_something_to_try_and_something_to_replay(product):
    assert product.run("replay", "--workspace", product.ws).status == 2
    assert product.run("replay", "--workspace", product.ws, "--under-workspace", product.out).status == 2
