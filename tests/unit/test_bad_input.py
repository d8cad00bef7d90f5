"""Whatever the hook is given, the answer blocks, in Claude's dialect, and the exit status is never 1.

The rows are payloads, policies, surroundings and our own faults that no healthy call has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from ringfence.agents import registry
from tests.support.product import PACKAGE, START, TIMEOUT, Done, Product, blocks, product_fixture  # noqa: F401 - a fixture

_DEEP = 100_000
_GOOD = {
    "session_id": "s",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Write",
    "tool_input": {"file_path": "/x", "content": ""},
}


def _with(**more: object) -> bytes:
    return json.dumps({**_GOOD, **more}).encode()


def _without(key: str) -> bytes:
    return json.dumps({k: v for k, v in _GOOD.items() if k != key}).encode()


def _input(tool: str, given: object) -> bytes:
    return _with(tool_name=tool, tool_input=given)


_PREFIX = "ringfence refused this call, because it could not judge it: "
_INVALID = "ringfence deny [invalid."

# name -> payload, the beginning of the reason
PAYLOADS = {
    "nothing": (b"", _PREFIX + "the hook's payload is not JSON: no JSON value at character 0"),
    "blanks": (b" \n\t", _PREFIX + "the hook's payload is not JSON: no JSON value at character 3"),
    "words": (b"hello", _PREFIX + "the hook's payload is not JSON: no JSON value at character 0"),
    "half": (json.dumps(_GOOD).encode()[:-1], _PREFIX + "the hook's payload is not JSON: "),
    "two": (json.dumps(_GOOD).encode() * 2, _PREFIX + "the hook's payload is not JSON: more text after"),
    "not UTF-8": (_with(tool_name="W\x00").replace(b"\\u0000", b"\xff"), _PREFIX + "the hook's payload is not JSON: "),
    "UTF-16": (json.dumps(_GOOD).encode("utf-16"), _PREFIX + "the hook's payload is not JSON: "),
    "byte order mark": (b"\xef\xbb\xbf" + json.dumps(_GOOD).encode(), _PREFIX + "the hook's payload is not JSON: "),
    "NUL bytes": (b"\0" * 64, _PREFIX + "the hook's payload is not JSON: "),
    "a raw control character": (_with(cwd="/\n").replace(b"\\n", b"\n"), _PREFIX + "the hook's payload is not JSON: "),
    "a list": (b"[]", _PREFIX + "the hook's payload is not a JSON object"),
    "a list of calls": (b"[" + json.dumps(_GOOD).encode() + b"]", _PREFIX + "the hook's payload is not a JSON object"),
    "a text": (b'"PreToolUse"', _PREFIX + "the hook's payload is not a JSON object"),
    "null": (b"null", _PREFIX + "the hook's payload is not a JSON object"),
    "a number": (b"1e999", _PREFIX + "the hook's payload is not a JSON object"),
    "deep lists": (b"[" * _DEEP + b"]" * _DEEP, _PREFIX + "the hook's payload is not JSON: JSON that nests too deeply"),
    "deep objects": (b'{"a":' * _DEEP + b"1" + b"}" * _DEEP, _PREFIX + "the hook's payload is not JSON: JSON that nests"),
    "empty object": (b"{}", _PREFIX + "the hook's payload has no usable `hook_event_name`"),
    "no event": (_without("hook_event_name"), _PREFIX + "the hook's payload has no usable `hook_event_name`"),
    "no cwd": (_without("cwd"), _PREFIX + "the hook's payload has no usable `cwd`"),
    "no tool": (_without("tool_name"), _PREFIX + "the hook's payload has no usable `tool_name`"),
    "no input": (_without("tool_input"), _PREFIX + "the `tool_input` of Write is not a JSON object"),
    "event of a wrong type": (_with(hook_event_name=1), _PREFIX + "the hook's payload has no usable `hook_event_name`"),
    "event empty": (_with(hook_event_name=""), _PREFIX + "the hook's payload has no usable `hook_event_name`"),
    "session of a wrong type": (_with(session_id=[]), _PREFIX + "the hook's payload has no usable `session_id`"),
    "mode of a wrong type": (_with(permission_mode=0), _PREFIX + "the hook's payload has no usable `permission_mode`"),
    "cwd of a wrong type": (_with(cwd=["/"]), _PREFIX + "the hook's payload has no usable `cwd`"),
    "cwd empty": (_with(cwd=""), _PREFIX + "the hook's payload has no usable `cwd`"),
    "cwd relative": (_with(cwd="ws"), _PREFIX + "the hook's `cwd` is not an absolute path: 'ws'"),
    "cwd with a NUL": (_with(cwd="/\0", tool_input={"file_path": "x"}), "ringfence "),
    "tool of a wrong type": (_with(tool_name={"Write": 1}), _PREFIX + "the hook's payload has no usable `tool_name`"),
    "tool empty": (_with(tool_name=""), _PREFIX + "the hook's payload has no usable `tool_name`"),
    "input a list": (_with(tool_input=[]), _PREFIX + "the `tool_input` of Write is not a JSON object"),
    "input a text": (_with(tool_input="/x"), _PREFIX + "the `tool_input` of Write is not a JSON object"),
    "input null": (_with(tool_input=None), _PREFIX + "the `tool_input` of Write is not a JSON object"),
    "path missing": (_input("Write", {"content": ""}), _PREFIX + "the `file_path` of Write is not a path"),
    "path null": (_input("Write", {"file_path": None}), _PREFIX + "the `file_path` of Write is not a path"),
    "path a number": (_input("Write", {"file_path": 7}), _PREFIX + "the `file_path` of Write is not a path"),
    "path an object": (_input("Read", {"file_path": {"a": 1}}), _PREFIX + "the `file_path` of Read is not a path"),
    "path a list with a number": (_input("Edit", {"file_path": ["/x", 1]}), _PREFIX + "the `file_path` of Edit is not a"),
    "path an empty list": (_input("Write", {"file_path": []}), ""),
    "path under another name": (_input("Write", {"filePath": "/x"}), _PREFIX + "the `file_path` of Write is not a path"),
    "path empty": (_input("Write", {"file_path": ""}), _INVALID),
    "path a blank": (_input("Write", {"file_path": " /"}), "ringfence deny ["),
    "path with a NUL": (_input("Write", {"file_path": "/x\0y"}), "ringfence deny [invalid.nul]"),
    "path with half a surrogate": (_input("Write", {"file_path": "/\ud800"}), _INVALID),
    "path of a megabyte": (_input("Write", {"file_path": "/" + "x" * (1 << 20)}), _INVALID),
    "path of many dots": (_input("Write", {"file_path": "/" + "../" * (1 << 18)}), "ringfence deny ["),
    "path a URL": (_input("Read", {"file_path": "file:///etc/passwd"}), _INVALID),
    "path of nobody's home": (_input("Read", {"file_path": "~no-such-user-here/x"}), _INVALID),
    "Glob without a pattern": (_input("Glob", {"path": "/"}), _PREFIX + "the `pattern` or `path` of Glob is not a text"),
    "Glob with a list": (_input("Glob", {"pattern": ["*"]}), _PREFIX + "the `pattern` or `path` of Glob is not a text"),
    "Glob in a number": (_input("Glob", {"pattern": "*", "path": 1}), _PREFIX + "the `pattern` or `path` of Glob is not"),
    "Bash without a command": (_input("Bash", {}), _PREFIX + "the `command` of Bash is not a text"),
    "Bash with a list": (_input("Bash", {"command": ["rm", "-rf", "/"]}), _PREFIX + "the `command` of Bash is not a text"),
    "Monitor with a number": (_input("Monitor", {"command": 1}), _PREFIX + "the `command` of Monitor is not a text"),
    "MCP nested too deeply": (_input("mcp__a__b", {"a": json.loads("[" * 50 + "]" * 50)}), _PREFIX + "the input of mcp__a__b"),
    "MCP with too many values": (_input("mcp__a__b", {"a": ["x"] * 20_000}), _PREFIX + "the input of mcp__a__b"),
    "MCP with a NUL in a path": (_input("mcp__a__b", {"path": "/x\0"}), "ringfence deny [invalid.nul]"),
    "MCP with a long path": (_input("mcp__a__b", {"path": "/" + "x/" * 5000}), _INVALID),
    "MCP with a path in a key": (_input("mcp__a__b", {"file": {"path": "/etc/x"}}), "ringfence deny [outside.write]"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_that_cannot_be_judged_is_refused_in_words(product, name):
    raw, start = PAYLOADS[name]
    done = product.hook(raw)
    assert done.status == 0
    assert blocks(done).startswith(start)


@pytest.mark.parametrize("name", ["nothing", "two", "a list", "path missing", "deep objects", "no event"])
@pytest.mark.parametrize("event", ["PermissionRequest", "PreSkillShellCommand"])
def test_the_answer_has_the_shape_of_the_event_that_the_installed_words_name(product, name, event):
    raw = PAYLOADS[name][0].replace(b"PreToolUse", event.encode())
    assert blocks(product.hook(raw, "--workspace", product.ws, "--event", event), event)


def test_the_reason_is_also_said_on_stderr(product):
    done = product.hook(b"[]x")
    assert done.complaint.startswith(_PREFIX + "the hook's payload is not JSON")


def test_a_reason_stays_below_what_claude_cuts_off(product):
    long = "/" + "\u00e9/" * 2000
    reason = blocks(product.hook(_with(tool_input={"file_path": long, "content": ""})))
    assert len(reason) < 10_000


def test_a_file_of_a_megabyte_is_no_trouble(product):
    call = product.payload("Write", {"file_path": "a", "content": "\u00e9\n" * (1 << 19)})
    assert product.hook(call) == (0, b"", b"")


# --- the words of the hook itself --------------------------------------------------------------------

NO_AGENT = {
    "nothing": (),
    "an agent we do not know": ("tomorrow",),
    "an option first": ("--workspace", "/", "claude"),
}


@pytest.mark.parametrize("name", NO_AGENT)
def test_without_a_known_agent_the_exit_status_blocks(product, name):
    done = product.run("hook", *NO_AGENT[name], stdin=_with())
    assert done.status == 2
    assert done.out == b""
    known = ", ".join(registry.ROWS)
    assert done.complaint == _PREFIX + f"name the agent whose hook this is, one of: {known}\n"


WORDS = {
    "an unknown option": (("--workspce", "/"), "unknown option --workspce\n  did you mean --workspace?"),
    "an option without its value": (("--workspace",), "--workspace needs a value"),
    "a word too many": (("more",), "unexpected word 'more' after the hook's options"),
    "both switches": (
        ("--restrict-paths", "--no-restrict-paths"),
        "--restrict-paths and --no-restrict-paths contradict each other\n  give one of them",
    ),
    "a retired spelling": (
        ("--allow-all-tools",),
        "--allow-all-tools is no longer an option\n  the fence is the boundary: name it with --workspace",
    ),
    "a deadline that is none": (
        ("--deadline", "soon"),
        "--deadline takes seconds above 0 and up to 600, not 'soon'",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_that_make_no_sense_are_a_denial(product, name):
    words, said = WORDS[name]
    assert blocks(product.run("hook", "claude", *words, stdin=_with())) == _PREFIX + said


@pytest.mark.parametrize("name", ["an unknown option", "both switches", "a retired spelling"])
def test_words_that_make_no_sense_deny_a_permission_request_too(product, name):
    words, said = WORDS[name]
    raw = _with(hook_event_name="PermissionRequest")
    done = product.run("hook", "claude", "--event", "PermissionRequest", *words, stdin=raw)
    assert blocks(done, "PermissionRequest") == _PREFIX + said


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e300", "601", ""])
def test_a_deadline_that_never_comes_is_refused(product, seconds):
    done = product.hook(_with(), "--deadline", seconds, "--workspace", product.ws)
    assert blocks(done) == _PREFIX + f"--deadline takes seconds above 0 and up to 600, not {seconds!r}"


# --- policies that cannot be taken at their word ------------------------------------------------------

POLICIES = {
    "not TOML": "workspace = [",
    "an unknown key": 'wrkspace = ["."]\n',
    "a wrong type": "reads = 1\n",
    "a wrong word": 'reads = "everywhere"\n',
    "not UTF-8": b"\xff\xfe",
    "a NUL": 'workspace = ["\\u0000"]\n',
}  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
def test_a_broken_policy_blocks_what_a_whole_one_would_allow(product, name):
    inside = product.payload("Write", {"file_path": "a", "content": ""})
    assert product.hook(inside) == (0, b"", b"")
    product.write("ws/ringfence.toml", POLICIES[name])
    reason = blocks(product.hook(inside))
    assert f"{product.ws}/ringfence.toml" in reason


def test_a_policy_that_another_user_could_write_blocks(product):
    path = product.write("home/.config/ringfence/ringfence.toml", 'reads = "anywhere"\n')
    inside = product.payload("Write", {"file_path": "a", "content": ""})
    os.chmod(path, 0o666)
    assert path in blocks(product.hook(inside))
    os.chmod(path, 0o644)
    assert product.hook(inside) == (0, b"", b"")


@pytest.mark.parametrize("where", ["ws/ringfence.toml", "home/.config/ringfence/ringfence.toml"])
def test_a_policy_that_is_a_pipe_does_not_hang_the_agent(product, where):
    os.makedirs(os.path.dirname(product.path(where)), exist_ok=True)
    os.mkfifo(product.path(where))
    call = product.payload("Write", {"file_path": "a", "content": ""})
    assert blocks(product.hook(call, "--workspace", product.ws, "--deadline", "0.5"))


@pytest.mark.parametrize("flag", ["--workspace", "--policy"])
def test_what_a_flag_names_must_be_there(product, flag):
    words = ("--workspace", product.ws) if flag == "--policy" else ()
    call = product.payload("Write", {"file_path": "a", "content": ""})
    assert product.path("nowhere") in blocks(product.hook(call, *words, flag, product.path("nowhere")))


def test_a_misspelt_variable_blocks(product):
    call = product.payload("Write", {"file_path": "a", "content": ""})
    assert "RINGFENCE_WORKSPCE" in blocks(product.hook(call, env={"RINGFENCE_WORKSPCE": product.ws}))


# --- surroundings that are not what they should be ----------------------------------------------------


def _start(product: Product, *words: str, **more: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        product.words("hook", "claude", "--workspace", product.ws, *words),
        cwd=product.ws,
        env=product.env,
        stderr=subprocess.PIPE,
        **more,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("sent", [b"", b'{"hook_event_name":"PreToolUse"'])
def test_a_payload_that_never_ends_is_refused_in_time(product, event, sent):
    reads, writes = os.pipe()
    try:
        os.write(writes, sent)
        started = _start(product, "--deadline", "0.3", "--event", event, stdin=reads, stdout=subprocess.PIPE)
        out, err = started.communicate(timeout=TIMEOUT)
    finally:
        os.close(reads)
        os.close(writes)
    reason = blocks(Done(started.returncode, out, err), event)
    assert reason.startswith("ringfence refused this call: it could not be judged within 0.3 seconds")


@pytest.mark.parametrize("fd", [0, 1, 2])
def test_a_closed_stream_never_becomes_exit_status_1(product, fd):
    def close() -> None:
        os.close(fd)

    done = subprocess.run(
        product.words("hook", "claude", "--workspace", product.ws),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=product.ws,
        env=product.env,
        preexec_fn=close,
        timeout=TIMEOUT,
    )
    assert done.returncode in (0, 2)
    assert done.returncode == 2 or json.loads(done.stdout)


def test_a_removed_working_directory_blocks(product):
    gone = product.path("gone")
    os.mkdir(gone)
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    raw = json.dumps(product.payload("Write", {"file_path": "a", "content": ""})).encode()
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", gone, *product.words("hook", "claude", "--workspace", product.ws)],
        input=raw,
        capture_output=True,
        env=product.env,
        timeout=TIMEOUT,
    )
    assert not os.path.exists(gone)
    assert blocks(Done(done.returncode, done.stdout, done.stderr))


def test_without_a_home_a_tilde_is_refused_and_the_rest_is_judged(product):
    env = {"HOME": ""}
    inside = product.payload("Write", {"file_path": "a", "content": ""})
    assert product.hook(inside, env=env) == (0, b"", b"")
    for path in ("~/x", "/etc/x"):
        assert blocks(product.hook(product.payload("Write", {"file_path": path, "content": ""}), env=env))


def test_a_log_that_cannot_be_written_changes_no_verdict(product):
    os.makedirs(os.path.join(product.state, "decisions.jsonl"))
    outside = product.payload("Write", {"file_path": "/etc/x", "content": ""})
    assert "[outside.write]" in blocks(product.hook(outside))
    inside = product.payload("Write", {"file_path": "a", "content": ""})
    assert product.hook(inside).out == b""


# --- our own faults -----------------------------------------------------------------------------------

FAULTS = {
    "a bug in the decision": ("decide.py", "\ndef judge(*_):\n    return 1 // 0\n"),
    "a bug in the resolver": ("resolve/descriptor.py", "\ndef locate(*_):\n    raise RuntimeError('boom')\n"),
    "a bug in the agent's module": ("agents/claude.py", "\ndef decode(*_):\n    return None.event\n"),
    "a bug in the answer": ("agents/claude.py", "\ndef encode(*_, **__):\n    raise KeyError('x')\n"),
    "a bug in the scanner": ("jsonscan.py", "\ndef loads(_):\n    raise MemoryError\n"),
    "a bug in the words": ("pipelines/words.py", "\ndef take_flags(*_, **__):\n    raise IndexError\n"),
    "an exit in the middle": ("pipelines/compose.py", "\ndef hook_fence(*_):\n    raise SystemExit(1)\n"),
    "an interrupt": ("pipelines/compose.py", "\ndef hook_fence(*_):\n    raise KeyboardInterrupt\n"),
    "a module that does not parse": ("pipelines/compose.py", "\n(\n"),
    "a module that is empty": ("decide.py", None),
    "a hook that does not parse": ("pipelines/hook.py", "\n(\n"),
    "a shared module that does not parse": ("errors.py", "\n(\n"),
}


@pytest.fixture(name="broken")
def _broken(tmp_path):
    def make(name: str) -> Product:
        package = str(tmp_path / "lib" / "ringfence")
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hot-*"))
        relative, text = FAULTS[name]
        path = os.path.join(package, relative)
        with open(path, "w" if text is None else "a", encoding="utf-8") as file:
            file.write(text or "")
        return Product(tmp_path, os.path.join(package, os.path.basename(START)))

    return make


@pytest.mark.parametrize("name", FAULTS)
def test_our_own_fault_blocks(broken, name):
    product = broken(name)
    # A path outside, so that the whole line is walked; an ordinary answer would be a denial by the policy.
    for path in ("/etc/x", "a"):
        done = product.hook(product.payload("Write", {"file_path": path, "content": ""}))
        assert done.status in (0, 2), done
        if path == "a" and name in ("a bug in the decision", "a bug in the answer"):
            continue  # a plain new file inside may be answered without the part that is broken
        assert "[outside.write]" not in blocks(done)


@pytest.mark.parametrize(
    "name", ["a bug in the resolver", "a module that is empty", "a bug in the agent's module"]
)
def test_our_own_fault_denies_a_permission_request_too(broken, name):
    product = broken(name)
    call = product.payload("Write", {"file_path": "/etc/x", "content": ""}, "PermissionRequest")
    done = product.hook(call, "--workspace", product.ws, "--event", "PermissionRequest")
    assert blocks(done, "PermissionRequest")
