"""The harness itself: it isolates, it ends what it started, and its model answers by what was asked."""

from __future__ import annotations

import json
import os
import sys
import urllib.request

import pytest

from tests.support.fake_anthropic import FakeAnthropic
from tests.support.offline import Job, can_isolate, run_offline
from tests.support.scripted import LAST_WORD, Call

isolated = pytest.mark.skipif(not can_isolate(), reason="no network namespace to be had")
ENV = {"PATH": "/usr/bin:/bin", "URL": "{url}"}


def job(command: str, tmp_path, **more) -> Job:
    return Job(["/bin/sh", "-c", command], ENV, str(tmp_path), [], **more)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@isolated
def test_only_loopback_is_there_and_the_model_is_on_it(tmp_path):
    code = (
        "import os, socket, urllib.request as r\n"
        "print([n for _, n in socket.if_nameindex()])\n"
        "print(r.urlopen(r.Request(os.environ['URL'], method='HEAD')).status)\n"
        "try: socket.create_connection(('192.0.2.1', 9), 2)\n"
        "except OSError as error: print(error.errno)\n"
    )
    outcome = run_offline(Job([sys.executable, "-I", "-c", code], ENV, str(tmp_path), []), str(tmp_path))
    assert outcome.stdout.split("\n")[:3] == ["['lo']", "200", "101"]  # ENETUNREACH


@isolated
def test_what_outlives_the_program_is_named_and_ended(tmp_path):
    command = "(setsid tail -f /dev/null >/dev/null 2>&1 & echo $! > pid); exit 3"
    outcome = run_offline(job(command, tmp_path), str(tmp_path))
    assert outcome.exit == 3
    ((pid, line),) = outcome.outlived
    assert "tail" in line
    assert not alive(pid)


@isolated
def test_a_program_past_its_time_is_ended_with_its_children(tmp_path):
    command = "tail -f /dev/null & echo $!; setsid tail -f /dev/null & echo $!; wait"
    outcome = run_offline(job(command, tmp_path, timeout=0.5), str(tmp_path))
    assert outcome.exit is None
    pids = [int(word) for word in outcome.stdout.split()]
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


@isolated
def test_orphans_are_reaped_while_the_program_runs(tmp_path):
    command = "pid=$(sh -c 'true & echo $!'); for i in $(seq 100); do kill -0 $pid || exit 0; sleep 0.05; done; exit 9"
    assert run_offline(job(command, tmp_path), str(tmp_path)).exit == 0


@isolated
def test_nothing_of_the_caller_is_handed_down(tmp_path, monkeypatch):
    monkeypatch.setenv("CALLERS_SECRET", "1")
    outcome = run_offline(job("env; ls /proc/self/fd | wc -l; cat", tmp_path, stdin="typed"), str(tmp_path))
    assert "CALLERS_SECRET" not in outcome.stdout
    assert outcome.stdout.endswith("4\ntyped")  # 0, 1, 2 and the one `ls` opened


@isolated
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_as_another_user(tmp_path):
    outcome = run_offline(Job(["/usr/bin/id", "-u"], ENV, "/", [], uid=65534), str(tmp_path))
    assert outcome.stdout == "65534\n"


def ask(server: FakeAnthropic, messages: list, *, tools: bool = True) -> dict:
    body = {"messages": messages, **({"tools": [{"name": "Bash"}]} if tools else {})}
    request = urllib.request.Request(f"{server.url}/v1/messages?beta=true", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def result(text: str) -> dict:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}


def test_the_model_answers_by_the_number_of_results():
    script = [
        Call("Bash", {"command": "one"}),
        Call("Read", {"file_path": "@result0:to (\\S+)@", "limit": 2}),
    ]
    with FakeAnthropic(script) as server:
        first = ask(server, [{"role": "user", "content": "go"}])["content"][0]
        again = ask(server, [{"role": "user", "content": "go"}])["content"][0]
        second = ask(server, [result("saved to /x/y here")])["content"][0]
        last = ask(server, [result("a"), result("b")])
        title = ask(server, [{"role": "user", "content": "name this"}], tools=False)
    assert first["input"] == again["input"] == {"command": "one"}
    assert second["input"] == {"file_path": "/x/y", "limit": 2}
    assert (last["content"][0]["text"], last["stop_reason"]) == (LAST_WORD, "end_turn")
    assert title["content"][0]["text"] == LAST_WORD
    assert len(server.requests) == 5
