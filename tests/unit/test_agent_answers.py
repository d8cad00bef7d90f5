"""The hook as a whole process for every agent: its own payload in, an answer that it obeys out, closed whatever breaks."""

from __future__ import annotations

import base64
import json
import os
import subprocess

import pytest

from ringfence.agents import registry
from ringfence.errors import WireError
from ringfence.model import Lane, Mode, Verdict
from tests.support import dialects
from tests.support.product import Done, Product, needs_engine, needs_mounts, product_fixture  # noqa: F401 - a fixture

AGENTS = list(registry.ROWS)


def _ask(product: Product, agent: str, payload: object, *words: str, **more):
    return dialects.ask(product, agent, payload, *words, **more)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_tool_inside_runs_and_outside_does_not(product, agent):
    product.write("ws/a", "x")
    product.write("out/a", "x")
    os.symlink(product.out, product.path("ws/link"))
    for path in ("a", f"{product.ws}/new"):
        for make in (dialects.read, dialects.write):
            assert dialects.runs(agent, _ask(product, agent, make(agent, product.ws, path)))
    for path in (
        "../out/a",
        f"{product.out}/a",
        "link/a",
        f"{product.ws}-sibling/a",
        "sub/../../out/a",
        "~/x",
    ):
        done = _ask(product, agent, dialects.write(agent, product.ws, path))
        assert not dialects.runs(agent, done), path
        assert "ringfence deny [outside.write]" in dialects.reason(agent, done), path
    done = _ask(product, agent, dialects.read(agent, product.ws, "../out/a"))
    assert "ringfence deny [outside.read]" in dialects.reason(agent, done)
    assert done.status == (2 if agent in dialects.STATUSES else 0)


@pytest.mark.parametrize("agent", AGENTS)
def test_relative_paths_start_from_the_call_and_the_policy_does_not(product, agent):
    product.write("ws/sub/x", "x")
    inside = dialects.write(agent, product.path("ws/sub"), "../new")
    assert dialects.runs(agent, _ask(product, agent, inside))
    outside = dialects.write(agent, product.out, "new")
    assert not dialects.runs(agent, _ask(product, agent, outside))


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_commands_text_tells_is_denied(product, agent):
    done = _ask(product, agent, dialects.shell(agent, product.ws, "make; touch /etc/x"))
    assert not dialects.runs(agent, done)
    assert "[outside.write]: writing /etc/x" in dialects.reason(agent, done)


@needs_engine
@pytest.mark.parametrize("agent", dialects.REWRITES)
def test_a_command_is_replaced_by_one_in_the_fence_and_its_other_fields_stay(product, agent):
    product.write("ws/hidden", base64.b64encode(b"printf x > ../out/a").decode())
    command = "echo 'it' > a; eval \"$(base64 -d < hidden)\"; pwd"
    call = dialects.shell(agent, product.ws, command)
    dialects.given_of(agent, call)["timeout"] = 5
    done = _ask(product, agent, call)
    changed = dialects.rewritten(agent, done)
    assert set(changed) == {"command", "timeout"}
    assert changed["timeout"] == 5
    os.makedirs(product.path("elsewhere"))
    ran = subprocess.run(
        ["/bin/bash", "-c", changed["command"]],
        cwd=product.ws,
        env=product.env,
        capture_output=True,
        timeout=60,
    )
    with open(product.path("ws/a"), encoding="utf-8") as file:
        assert file.read() == "it\n"
    assert not os.path.exists(product.path("out/a"))
    assert ran.stdout.decode().strip() == product.ws
    unfenced = subprocess.run(
        ["/bin/bash", "-c", command], cwd=product.ws, env=product.env, capture_output=True
    )
    assert unfenced.returncode == 0
    assert os.path.exists(product.path("out/a")), (
        "the attack does not work without the fence, so it proves nothing"
    )


@pytest.mark.parametrize("agent", dialects.REWRITES)
def test_a_rewritten_command_that_comes_back_is_not_rewritten_again(product, agent):
    changed = dialects.rewritten(
        agent, _ask(product, agent, dialects.shell(agent, product.ws, "echo 'x' > a"))
    )
    again = _ask(product, agent, dialects.shell(agent, product.ws, changed["command"]))
    assert dialects.runs(agent, again)
    assert dialects.rewritten(agent, again) is None
    worse = dialects.shell(agent, product.ws, changed["command"] + "; true")
    done = _ask(product, agent, worse)
    assert not dialects.runs(agent, done) or dialects.rewritten(agent, done) is not None


@needs_engine
def test_the_replaced_command_keeps_the_fence_where_the_folder_and_the_policy_file_change(product):
    """The flags are pinned: a command that runs elsewhere, or after the policy file is gone, is fenced as judged."""
    product.write("ws/ringfence.toml", "")
    product.write("ws/hidden", base64.b64encode(b"printf x > a").decode())
    call = dialects.shell("codex", product.ws, f'eval "$(base64 -d < {product.ws}/hidden)"')
    words = ("--restrict-paths",)
    changed = dialects.rewritten("codex", _ask(product, "codex", call, *words))
    os.remove(product.path("ws/ringfence.toml"))
    ran = subprocess.run(
        ["/bin/bash", "-c", changed["command"]],
        cwd=product.out,
        env=product.env,
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode != 0
    assert not os.path.exists(product.path("out/a"))


def test_qwen_cannot_be_rewritten_so_the_text_alone_never_allows(product):
    call = dialects.shell("qwen", product.ws, "true")
    done = _ask(product, "qwen", call)
    assert not dialects.runs("qwen", done)
    assert "[opaque.no-engine]" in dialects.reason("qwen", done)
    product.write("home/.config/ringfence/ringfence.toml", 'minimum = "hook"\n')
    assert dialects.runs("qwen", _ask(product, "qwen", call))
    assert not dialects.runs(
        "qwen", _ask(product, "qwen", dialects.shell("qwen", product.ws, "touch /etc/x"))
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_launch_has_put_the_agent_itself_inside(product, agent):
    """`--fenced` alone is a word; it counts only where a fence is really around the hook."""
    call = dialects.shell(agent, product.ws, "make")
    words = ("--workspace", product.ws, "--fenced")
    inside = _ask(product, agent, call, *words, env={"RINGFENCE_FENCE": "x"})
    assert dialects.runs(agent, inside)
    # Its own folders are writable in that fence, so a command still gets the narrower shell where there is a way to it.
    assert (dialects.rewritten(agent, inside) is not None) == (agent in dialects.REWRITES)
    bare = _ask(product, agent, call, *words)
    assert not dialects.runs(agent, bare) or dialects.rewritten(agent, bare) is not None
    outside = dialects.shell(agent, product.ws, "touch /etc/x")
    assert not dialects.runs(agent, _ask(product, agent, outside, *words, env={"RINGFENCE_FENCE": "x"}))


# --- mode, lane, posture ------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_safe_mode_has_no_shell_and_keeps_its_edits(product, agent):
    words = ("--workspace", product.ws, "--mode", "safe")
    done = _ask(product, agent, dialects.shell(agent, product.ws, "true"), *words)
    assert not dialects.runs(agent, done)
    assert "ringfence deny [deny.mode]" in dialects.reason(agent, done)
    assert dialects.runs(agent, _ask(product, agent, dialects.write(agent, product.ws, "a"), *words))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_reviewer_edits_nothing_and_reads(product, agent):
    product.write("ws/a", "x")
    words = ("--workspace", product.ws, "--lane", "reviewer")
    done = _ask(product, agent, dialects.write(agent, product.ws, "a"), *words)
    assert not dialects.runs(agent, done)
    assert "ringfence deny [deny.lane]" in dialects.reason(agent, done)
    assert dialects.runs(agent, _ask(product, agent, dialects.read(agent, product.ws, "a"), *words))
    unfenced = ("--no-restrict-paths", "--lane", "reviewer")
    assert not dialects.runs(agent, _ask(product, agent, dialects.write(agent, product.ws, "a"), *unfenced))


@pytest.mark.parametrize("agent", dialects.REWRITES)
def test_a_reviewers_command_carries_its_lane(product, agent):
    words = ("--workspace", product.ws, "--lane", "reviewer")
    done = _ask(product, agent, dialects.shell(agent, product.ws, "make"), *words)
    assert " --lane reviewer " in dialects.rewritten(agent, done)["command"]


@needs_mounts
@pytest.mark.parametrize("agent", ["codex", "pi"])
@pytest.mark.parametrize("lane", ["full", "reviewer"])
def test_what_a_reviewers_command_writes_does_not_land(product, agent, lane):
    words = ("--workspace", product.ws, "--lane", lane)
    call = dialects.shell(agent, product.ws, "echo x > a; cat a")
    changed = dialects.rewritten(agent, _ask(product, agent, call, *words))
    ran = subprocess.run(
        ["/bin/bash", "-c", changed["command"]],
        cwd=product.ws,
        env=product.env,
        capture_output=True,
        timeout=60,
    )
    assert os.path.exists(product.path("ws/a")) == (lane == "full"), ran


@pytest.mark.parametrize("agent", ["claude", "qwen"])
def test_a_reviewers_command_never_runs_on_its_text_alone(product, agent):
    product.write("home/.config/ringfence/ringfence.toml", 'minimum = "hook"\n')
    words = ("--workspace", product.ws, "--lane", "reviewer")
    assert dialects.runs(agent, _ask(product, agent, dialects.shell(agent, product.ws, "true")))
    assert not dialects.runs(agent, _ask(product, agent, dialects.shell(agent, product.ws, "true"), *words))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("option", "known"), [("--mode", Mode), ("--lane", Lane), ("--posture", ("attended", "unattended"))]
)
def test_an_unknown_mode_or_lane_is_an_error_and_never_the_wider_one(product, agent, option, known):
    assert {str(word) for word in known}
    for word in ("", "POWER", "full,reviewer", "none"):
        done = _ask(
            product, agent, dialects.read(agent, product.ws, "a"), "--workspace", product.ws, option, word
        )
        assert not dialects.runs(agent, done)
        assert f"{option} takes one of" in dialects.reason(agent, done)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("word", ["--allow-all-tools", "--allow-all-tools-reason=x"])
def test_retired_words_fail(product, agent, word):
    done = _ask(product, agent, dialects.read(agent, product.ws, "a"), "--workspace", product.ws, word)
    assert not dialects.runs(agent, done)


# Where a command is left to a question: nothing leads it into the fenced shell, and the agent can ask.
@pytest.mark.parametrize("agent", ["claude", "pi", "copilot", "qwen", "vscode"])
def test_a_question_is_asked_only_where_somebody_can_answer(product, agent):
    call = dialects.shell(agent, product.ws, "true")
    if agent in dialects.REWRITES:
        call = dialects.payload(agent, product.ws, "powershell", {"command": "ls"})
    words = ("--workspace", product.ws, "--posture")
    asked = _ask(product, agent, call, *words, "attended")
    assert not dialects.runs(agent, asked)
    alone = _ask(product, agent, call, *words, "unattended")
    assert "nobody is there to ask" in dialects.reason(agent, alone)
    assert b'"ask"' in asked.out
    assert b'"ask"' not in alone.out


def test_copilot_approves_the_fenced_command_only_where_nobody_attends(product):
    call = dialects.shell("copilot", product.ws, "make")
    for posture, approved in (("attended", False), ("unattended", True)):
        done = _ask(product, "copilot", call, "--workspace", product.ws, "--posture", posture)
        assert dialects.rewritten("copilot", done)
        assert ("permissionDecision" in done.json) == approved
    unfenced = _ask(product, "copilot", call, "--no-restrict-paths", "--posture", "unattended")
    assert unfenced.out == b""  # nothing is rewritten, so nothing is approved


def test_amp_is_told_to_ask_only_where_the_words_say_that_somebody_attends(product):
    call = dialects.shell("amp", product.ws, "true")
    words = ("--workspace", product.ws)
    assert _ask(product, "amp", call, *words, "--posture", "attended").status == 1
    for more in ((), ("--posture", "unattended")):
        done = _ask(product, "amp", call, *words, *more)
        assert done.status == 2
        assert "nobody is there to ask" in done.complaint
    broken = _ask(product, "amp", b"{", *words, "--posture", "attended")
    assert broken.status == 2


@pytest.mark.parametrize(
    "agent", ["codex", "opencode", "cursor", "amp", "cline", "droid", "goose", "kiro", "windsurf"]
)
def test_a_question_to_an_agent_that_cannot_ask_is_a_refusal_that_says_so(agent):
    dialect = registry.dialect(registry.ROWS[agent])
    call = dialect.decode(dialects.shell(agent, "/w", "ls"), lambda _: False)
    reply = dialect.encode(call, Verdict.ASK, "why")
    done = Done(reply.status, reply.stdout.encode(), reply.stderr.encode())
    assert not dialects.runs(agent, done)
    assert dialects.reason(agent, done).startswith("why ")
    assert "so this is a refusal" in dialects.reason(agent, done)


# --- the predicate ------------------------------------------------------------------------------------

APPROVING = {"claude": "bypassPermissions", "codex": "bypassPermissions", "qwen": "yolo", "pi": None}


@pytest.mark.parametrize("agent", APPROVING)
def test_a_run_that_approves_itself_without_a_fence_is_warned(product, agent):
    more = {} if APPROVING[agent] is None else {"permission_mode": APPROVING[agent]}
    call = dialects.write(agent, product.ws, f"{product.out}/a", **more)
    done = _ask(product, agent, call, "--no-restrict-paths")
    assert dialects.runs(agent, done)
    assert "NO FENCE" in done.complaint
    assert "NO FENCE" in done.text
    assert f"ringfence install {agent} --workspace DIR" in done.complaint
    (entry,) = product.log()
    assert "NO FENCE" in entry["warning"]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_installed_words_say_unattended_where_the_payload_cannot(product, agent):
    call = dialects.write(agent, product.ws, f"{product.out}/a")
    done = _ask(product, agent, call, "--no-restrict-paths", "--posture", "unattended")
    assert dialects.runs(agent, done)
    assert "NO FENCE" in done.complaint


# --- closed whatever breaks ---------------------------------------------------------------------------

_DEEP = 100_000


def _bad(agent: str, ws: str) -> dict[str, bytes]:
    good = json.dumps(dialects.write(agent, ws, "a")).encode()
    big = json.dumps(
        dialects.payload(agent, ws, dialects.NATIVE[agent][0][0], {"content": "x" * 10_000_000})
    ).encode()
    return {
        "nothing": b"",
        "blanks": b" \n",
        "words": b"hello",
        "half": good[: len(good) // 2],
        "all but a byte": good[:-1],
        "twice": good * 2,
        "a list": b"[" + good + b"]",
        "null": b"null",
        "a number": b"17",
        "a text": json.dumps(good.decode()).encode(),
        "ten megabytes": big,
        "ten megabytes of nothing": b" " * 10_000_000,
        "ten megabytes in a call": json.dumps(
            {**dialects.write(agent, ws, "a"), "filler": "x" * 10_000_000}
        ).encode(),
        "deep lists": b"[" * _DEEP,
        "deep closed lists": b"[" * _DEEP + b"]" * _DEEP,
        "deep objects": b'{"a":' * _DEEP + b"1" + b"}" * _DEEP,
        "deep input": good.replace(b'"x"', b"[" * _DEEP + b"]" * _DEEP),
        "not UTF-8": good.replace(b'"a"', b'"\xff"') + b"\xff",
        "UTF-16": good.decode().encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + good,
        "NUL bytes": b"\0" * 64,
        "another agent's": json.dumps(
            dialects.write("codex" if agent != "codex" else "gemini", ws, "a")
        ).encode(),
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_a_payload_that_cannot_be_judged_blocks(product, agent):
    for name, raw in _bad(agent, product.ws).items():
        done = _ask(product, agent, raw)
        if (agent, name) == ("cline", "another agent's"):
            # Nobody's JSON for a foreign payload; the script that is wired by hand makes a `cancel` of it
            # (test_by_hand.py), for Cline itself reads no exit status.
            assert (done.status, done.out) == (2, b"")
            continue
        assert not dialects.runs(agent, done), name
        assert done.status in (0, 2), name
        assert done.err.strip(), name
        assert dialects.reason(agent, done).startswith("ringfence refused this call"), name
        assert b"Traceback" not in done.err, name
    assert dialects.runs(agent, _ask(product, agent, dialects.write(agent, product.ws, "a")))


WRONG = (None, True, 17, 1.5, [], {}, [[]], {"a": 1}, "")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_field_of_another_type_blocks(product, agent):
    """Each field that the decision rests on, each with values that it never has."""
    tool, field = dialects.NATIVE[agent][0]
    ways = {
        "opencode": ("cwd", "tool", "args"),
        "pi": ("cwd", "event"),
        "copilot": ("cwd", "toolName", "toolArgs"),
        "amp": ("cwd", "env", "stdin"),
        "cline": ("hookName", "tool_call"),
        "goose": ("working_dir", "tool_name", "tool_input"),
        "windsurf": ("agent_action_name", "tool_info"),
    }
    tops = ways.get(agent, ("cwd", "tool_name", "tool_input"))
    good = dialects.write(agent, product.ws, "a")
    dialect = registry.dialect(registry.ROWS[agent])
    for wrong in WRONG:
        for top in tops:
            if agent == "cursor" and top == "cwd" and wrong in (None, ""):
                continue  # it often says none; the workspace root stands for it
            with pytest.raises(WireError):
                dialect.decode({**good, top: wrong}, lambda _: False)
        if wrong == "" and agent != "codex":
            continue  # an empty path is a path; the decision refuses it
        call = dialects.payload(agent, product.ws, tool, {field: wrong})
        with pytest.raises(WireError):
            dialect.decode(call, lambda _: False)
    done = _ask(product, agent, dialects.payload(agent, product.ws, tool, {field: 17}))
    assert not dialects.runs(agent, done)
    done = _ask(product, agent, dialects.payload(agent, product.ws, tool, {}))
    assert not dialects.runs(agent, done)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_policy_that_is_missing_or_broken_blocks(product, agent):
    call = dialects.write(agent, product.ws, "a")
    words = ("--workspace", product.ws, "--policy", product.path("none.toml"))
    assert not dialects.runs(agent, _ask(product, agent, call, *words))
    assert not dialects.runs(agent, _ask(product, agent, call, "--workspace", product.path("none")))
    product.write("ws/ringfence.toml", "workspace = 1\n")
    assert not dialects.runs(agent, _ask(product, agent, call))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_payload_that_never_ends_is_refused_in_time(product, agent):
    child = subprocess.Popen(
        product.words("hook", agent, "--workspace", product.ws, "--deadline", "0.3"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=product.ws,
        env=product.env,
    )
    try:
        child.wait(timeout=60)
        done = Done(child.returncode, child.stdout.read(), child.stderr.read())
    finally:
        child.kill()
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()
    assert not dialects.runs(agent, done)
    assert "could not be judged within 0.3 seconds" in dialects.reason(agent, done)


@pytest.mark.parametrize("agent", ["", "nobody", "Claude", "claude_settings", "../claude", "codex\n", "-"])
def test_an_unknown_agent_gets_no_stdout_one_line_and_status_2(product, agent):
    done = _ask(product, agent, dialects.write("claude", product.ws, "a"))
    assert (done.status, done.out) == (2, b"")
    assert len(done.complaint.strip().splitlines()) >= 1
    assert "name the agent" in done.complaint
