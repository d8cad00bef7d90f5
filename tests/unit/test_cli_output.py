"""What stands on standard output: stable JSON, plain text on a pipe, colour on a terminal, nothing that fools one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import tomllib

import pytest

from tests.support.product import TIMEOUT, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

DECISION = {"asked", "op", "verdict", "code", "path", "rule", "message", "hint"}
RULE = {"id", "source", "line"}


def _json(product: Product, *words: str, status: int = 0) -> dict[str, object]:
    done = product.run(*words, "--json")
    assert done.status == status, done
    value = done.json
    assert value["version"] == 1
    assert done.out.isascii()
    return value


# --- keys, written down ------------------------------------------------------------------------------


def test_check(product):
    value = _json(product, "check", "--workspace", product.ws, "a", "/etc/x", status=1)
    assert set(value) == {"version", "restricted", "paths", "command"}
    assert value["restricted"] is True
    assert value["command"] is None
    inside, outside = value["paths"]
    assert set(inside) == set(outside) == DECISION
    assert set(inside["rule"]) == RULE
    assert inside == {
        "asked": "a",
        "op": "write",
        "verdict": "allow",
        "code": "allow.workspace",
        "path": f"{product.ws}/a",
        "rule": {"id": "workspace", "source": "--workspace", "line": None},
        "message": "inside the workspace",
        "hint": "",
    }
    assert outside["rule"] == {"id": "default", "source": "built in", "line": None}
    assert (outside["verdict"], outside["code"], outside["path"]) == ("deny", "outside.write", "/etc/x")
    assert outside["hint"] == 'a person may grant it: [[zone]] path = "/etc/x" access = "write"'


def test_check_of_a_command(product):
    value = _json(product, "check", "--workspace", product.ws, "--command", "cp a ../out/b", status=1)
    assert value["paths"] == []
    made = value["command"]
    assert set(made) == {"command", "verdict", "code", "message", "uses"}
    assert (made["command"], made["verdict"], made["code"]) == ("cp a ../out/b", "deny", "outside.write")
    assert {(use["op"], use["path"], use["verdict"]) for use in made["uses"]} >= {
        ("read", f"{product.ws}/a", "allow"),
        ("write", f"{product.out}/b", "deny"),
    }
    assert all(set(use) == DECISION for use in made["uses"])
    explained = _json(product, "explain", "--workspace", product.ws, "--command", "cp a ../out/b", status=1)
    assert set(explained) == {"version", "text", "command", "statements"}
    assert explained["command"] == made


def test_a_command_that_nobody_can_read_is_asked_about(product):
    value = _json(product, "check", "--workspace", product.ws, "--command", "$X a", status=1)
    assert value["command"]["verdict"] == "ask"
    assert value["command"]["code"].startswith("opaque.")


def test_explain(product):
    os.symlink(product.out, product.path("ws/link"))
    value = _json(product, "explain", "--workspace", product.ws, "link/x/y", status=1)
    assert set(value) == {
        "version", "asked", "op", "cwd", "home", "spelled", "links", "missing_from", "zones", "decision", "grant",
    }  # fmt: skip
    assert value["links"] == [{"link": f"{product.ws}/link", "target": product.out}]
    assert value["spelled"] == f"{product.ws}/link/x/y"
    assert value["missing_from"] == f"{product.out}/x"
    assert set(value["decision"]) == DECISION
    assert value["decision"]["path"] == f"{product.out}/x/y"
    for zone in value["zones"]:
        assert set(zone) == {"root", "access", "kind", "rule", "governs", "applies"}
    assert value["grant"] == f'[[zone]]\npath = "{product.out}/x/y"\naccess = "write"'


def test_explain_the_last_refusal(product):
    assert product.hook(product.payload("Write", {"file_path": "/etc/x"})).status == 0
    value = _json(product, "explain", "--last")
    assert set(value) == {"version", "entry"}
    assert set(value["entry"]) == {
        "time", "door", "agent", "session", "tool", "cwd", "verdict", "code", "op", "path", "rule", "message", "next",
    }  # fmt: skip
    assert value["entry"]["path"] == "/etc/x"
    text = product.run("explain", "--last").text
    assert "path     /etc/x\n" in text


def test_policy_show(product):
    value = _json(product, "policy", "show", "--workspace", product.ws)
    assert set(value) == {"version", "rows"}
    assert {frozenset(row) for row in value["rows"]} == {
        frozenset(("what", "name", "value", "source", "line"))
    }
    assert [row["value"] for row in value["rows"] if row["name"] == "temp"] == ["private"]


def test_policy_check(product):
    path = product.write("ws/ringfence.toml", '[[test]]\npath = "a"\nop = "write"\nexpect = "allow"\n')
    value = _json(product, "policy", "check", "--workspace", product.ws)
    assert set(value) == {"version", "files", "notes", "tests"}
    assert value["files"] == [path]
    (test,) = value["tests"]
    assert set(test) == {"path", "op", "expect", "passed", "place", "decision"}
    assert set(test["decision"]) == DECISION
    assert test["passed"] is True


def test_policy_trust(product):
    path = product.write("ws/ringfence.toml", 'workspace = ["."]\ntemp = "shared"\nminimum = "kernel"\n')
    lets_in = [{"line": 2, "entry": 'temp = "shared"'}]
    said = {"version": 1, "file": path, "trusted": True, "changed": True, "lets_in": lets_in}
    dry = _json(product, "policy", "trust", "--dry-run", path)
    assert dry == {**said, "trusted": False, "changed": False}
    assert _json(product, "policy", "trust", path) == said
    assert _json(product, "policy", "trust", path) == {**said, "changed": False}
    forgotten = _json(product, "policy", "trust", "--forget", path)
    assert forgotten == {**said, "trusted": False, "lets_in": []}
    assert _json(product, "policy", "trust", "--forget", path)["changed"] is False


def test_policy_trust_says_what_it_lets_in(product):
    text = '[[zone]]\npath = "../elsewhere"\naccess = "write"\n[[zone]]\npath = "**/.env"\naccess = "none"\n'
    path = product.write("ws/ringfence.toml", text)
    assert product.run("policy", "trust", "--dry-run", path).text == (
        f'{path}: nothing was changed\n  would let in  {path}:2  zone "../elsewhere" (write)\n'
    )
    assert f'  lets in  {path}:2  zone "../elsewhere" (write)\n' in product.run("policy", "trust", path).text
    path = product.write("ws/ringfence.toml", '[[zone]]\npath = "**/.env"\naccess = "none"\n')
    assert "  it widens nothing: " in product.run("policy", "trust", path).text


def test_policy_schema_is_a_json_schema(product):
    value = product.run("policy", "schema").json
    assert "$schema" in value
    assert {"workspace", "protect", "zone", "reads", "minimum"} <= set(value["properties"])


@needs_engine
def test_doctor(product):
    value = _json(product, "doctor", "--workspace", product.ws)
    assert set(value) == {
        "version", "capabilities", "restricted", "workspace", "engine", "detail", "rules", "short", "proofs",
        "hard_linked", "notes", "not_fenced",
    }  # fmt: skip
    assert set(value["capabilities"]) == {
        "system",
        "landlock",
        "seccomp",
        "userns",
        "mount_api",
        "overlay",
        "layer",
        "parser",
    }
    for rule in value["rules"]:
        assert set(rule) == {"rule", "source", "line", "subject", "strength", "why", "boundary"}
        assert rule["strength"] in ("kernel", "hook", "after the fact", "not here")
    assert value["proofs"]
    for proof in value["proofs"]:
        assert set(proof) == {
            "rule", "attempt", "subject", "unfenced", "held", "errno", "strength", "outcome",
        }  # fmt: skip
        assert proof["outcome"] in ("held", "open, as said", "LANDED", "proves nothing")
    assert next(p for p in value["proofs"] if p["rule"] == "boundary")["outcome"] == "held"
    assert value["not_fenced"] == ["network", "environment secrets", "CPU and memory"]


def test_status(product):
    value = _json(product, "status", "claude", "--workspace", product.ws, status=1)
    assert set(value) == {"version", "agent", "scope", "settings", "changed", "workspace", "checks", "holes"}


def test_doctor_lists_files_with_another_name(product):
    product.write("out/f", "x")
    os.link(product.path("out/f"), product.path("ws/f"))
    done = product.run("doctor", "--workspace", product.ws, "--json")
    assert done.json["hard_linked"] == [f"{product.ws}/f"]


# --- colour and terminals -----------------------------------------------------------------------------


def _on_a_terminal(product: Product, *words: str, **env: str) -> bytes:
    """Standard output of a command that stands on a pseudo-terminal."""
    mine, theirs = pty.openpty()
    try:
        started = subprocess.Popen(
            product.words(*words),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            cwd=product.ws,
            env={**product.env, "TERM": "xterm-256color", **env},
        )
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(mine, 65536)
            except OSError:  # EIO: the last holder of the other side is gone
                break
            if not part:
                break
            parts.append(part)
        started.wait(TIMEOUT)
        return b"".join(parts)
    finally:
        os.close(mine)


VIEWS = [("check", "a", "/etc/x"), ("explain", "/etc/x"), ("policy", "check"), ("status", "claude")]


@pytest.mark.parametrize("words", VIEWS[:2] + VIEWS[3:], ids=" ".join)
def test_a_terminal_gets_colour_and_no_color_takes_it_away(product, words):
    words = (words[0], "--workspace", product.ws, *words[1:])
    assert b"\x1b[" in _on_a_terminal(product, *words)
    plain = _on_a_terminal(product, *words, NO_COLOR="1")
    assert b"\x1b" not in plain
    assert plain.replace(b"\r\n", b"\n") == product.run(*words).out
    assert b"\x1b" not in _on_a_terminal(product, *words, TERM="dumb")


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_a_pipe_gets_no_escape_code(product, words):
    done = product.run(
        *words, *(("--workspace", product.ws)), env={"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    )
    assert done.out
    assert b"\x1b" not in done.out + done.err


# --- pipes that close, texts that fool ---------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("check", "--json", "a"), ("policy", "show"), ("policy", "schema"), ("--help",), ("completion", "bash")],
)
def test_a_closed_pipe_ends_quietly(product, words):
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            product.words(*words),
            stdin=subprocess.DEVNULL,
            stdout=writes,
            stderr=subprocess.PIPE,
            cwd=product.ws,
            env=product.env,
            timeout=TIMEOUT,
        )
    finally:
        os.close(writes)
    assert done.stderr == b""
    assert done.returncode == 1


ODD = {
    "a newline": (b"a\nallow  b", "'a\\nallow  b'"),
    "an escape code": (b"a\x1b[2Jb", "'a\\x1b[2Jb'"),
    "no UTF-8": (b"a\xff", "'a\\xff'"),
    "blanks around": (b" a ", "' a '"),
    "a tab": (b"a\tb", "'a\\tb'"),
    "text from the right": ("a\u202eb".encode(), "'a\\u202eb'"),
    "plain UTF-8": ("\u00e9".encode(), "\u00e9"),
    "an empty one": (b"", "''"),
}


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("name", ODD)
def test_a_path_cannot_fool_a_terminal_or_a_log(product, name, locale):
    raw, shown = ODD[name]
    done = product.run("check", "--workspace", product.ws, "--", raw, env={"LANG": locale, "LC_ALL": locale})
    first = done.text.split("\n")[0]
    assert f"  {shown}  " in first
    assert "\x1b" not in done.text
    if done.status == 0:
        assert len(done.text.split("\n")) == 2
    done.out.decode("utf-8")  # whole UTF-8


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_json_keeps_odd_bytes(product, locale):
    done = product.run(
        "check",
        "--workspace",
        product.ws,
        "--json",
        "--",
        b"a\xff\n",
        "\u00e9",
        env={"LANG": locale, "LC_ALL": locale},
    )
    one, two = json.loads(done.out)["paths"]
    assert one["asked"].encode("utf-8", "surrogateescape") == b"a\xff\n"
    assert two["path"] == f"{product.ws}/\u00e9"


def test_a_name_in_the_policys_way_is_escaped_in_messages_too(product):
    done = product.run("check", "--workspace", product.ws, "--", b"../out/\x1b[2Jx")
    assert done.status == 1
    assert b"\x1b" not in done.out


def test_a_name_in_an_explanation_is_escaped(product):
    os.symlink(b"../out/\x1b[2J\nx", product.path("ws/link").encode())
    done = product.run("explain", "--workspace", product.ws, "link/\x1b[31m")
    assert done.status == 1
    assert b"\x1b" not in done.out


@pytest.mark.parametrize("name", ['a"b', "a\\b"])
def test_the_grant_is_toml_that_means_this_path(product, name):
    value = _json(product, "explain", "--workspace", product.ws, f"../out/{name}", status=1)
    assert tomllib.loads(value["grant"])["zone"] == [{"path": f"{product.out}/{name}", "access": "write"}]


def test_the_grant_allows_what_was_refused(product):
    value = _json(product, "explain", "--workspace", product.ws, "../out/a", status=1)
    product.write("home/.config/ringfence/ringfence.toml", value["grant"] + "\n")
    assert product.run("check", "--workspace", product.ws, "../out/a").status == 0
    assert product.run("check", "--workspace", product.ws, "../out/b").status == 1


def test_notes_go_to_stderr_in_both_modes(product):
    product.write("ws/ringfence.toml", 'temp = "shared"\n')
    for more in ((), ("--json",)):
        done = product.run("check", "--workspace", product.ws, "a", *more)
        assert done.status == 0
        assert done.complaint.startswith("note: ")
        assert "note: " not in done.text


def test_without_a_workspace_a_check_says_that_nothing_is_fenced(product):
    done = product.run("check", "/etc/x", cwd=product.out)
    assert done.status == 0
    assert done.complaint == "note: no workspace is named, so nothing is fenced; give --workspace DIR\n"


def test_a_refusal_in_words(product):
    done = product.run("check", "--workspace", product.ws, "--op", "delete", ".", "../out/a")
    assert done.status == 1
    assert done.text == (
        f"deny   .  ->  {product.ws}  [root.holds]\n"
        f"       why:  deleting {product.ws} would take away {product.ws}, which the policy names\n"
        "       rule: --workspace (workspace)\n"
        "       next: delete or move single files below it instead\n"
        f"deny   ../out/a  ->  {product.out}/a  [outside.write]\n"
        f"       why:  deleting {product.out}/a: it lies outside the workspace {product.ws}\n"
        "       rule: built in (default)\n"
        f'       next: a person may grant it: [[zone]] path = "{product.out}/a" access = "write"\n'
    )


# --- standard output that takes nothing --------------------------------------------------------------


def _onto(product: Product, redirection: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *product.words(*words)],
        capture_output=True,
        env=product.env,
        cwd=product.ws,
        timeout=TIMEOUT,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--workspace", ".", "a"),
        ("check", "--workspace", ".", "a", "--json"),
        ("audit", "--workspace", ".", "--format", "lines", "list"),
        ("audit", "--workspace", ".", "--format", "lines", "--output", "junit", "list"),
        ("render", "claude"),
        ("completion", "bash"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_full_disk_is_no_bug_of_ours_and_said(product, words):
    with open(f"{product.ws}/list", "w", encoding="ascii") as file:
        file.write("/etc/x\n")
    done = _onto(product, ">/dev/full", *words)
    assert done.returncode == 2, done
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("path", "status"), [("a", 0), ("/etc/x", 1)])
def test_a_closed_stdout_leaves_the_verdict_in_the_status(product, path, status):
    done = _onto(product, ">&-", "check", "--workspace", ".", path)
    assert (done.returncode, done.stderr) == (status, b"")


def test_no_layer_is_said(product):
    done = product.run("review", "list")
    assert (done.status, done.out) == (0, b"")
    assert "no session has a layer" in done.complaint


@pytest.mark.parametrize("where", ["sub", "gone/x", "sub/", "file/x"])
def test_a_diff_that_cannot_be_exported_is_said_before_anything_runs(product, where):
    os.makedirs(f"{product.ws}/sub")
    with open(f"{product.ws}/file", "w", encoding="ascii"):
        pass
    done = product.run("try", "--workspace", product.ws, "--export", where, "--", "sh", "-c", "echo ran >&2")
    assert done.status == 2, done
    assert f"--export {where}: " in done.complaint
    assert "ran\n" not in done.complaint


def test_no_summary_in_the_list_of_commands_is_cut_off(product):
    listed = product.run("--help", env={"COLUMNS": "80"}).text.partition("Commands:")[2]
    assert "  doctor " in listed
    assert "..." not in listed


def test_a_policy_file_that_is_not_there_names_none_that_is_not_there_either(product):
    done = product.run("check", "--policy", "gone.toml", "a")
    assert done.status == 2
    assert "holds none (no *.toml)" in done.complaint


@pytest.mark.parametrize(
    "words",
    [
        ("check", "a"),
        ("run", "--", "true"),
        ("shell", "-c", "true"),
        ("try", "--", "true"),
        ("doctor",),
        ("audit", "list"),
        ("install", "claude"),
        ("launch", "claude"),
    ],
    ids=lambda words: words[0],
)
def test_a_removed_current_folder_is_said(product, words):
    gone = product.path("gone")
    os.mkdir(gone)
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    command, *rest = words
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", gone, *product.words(command, "--workspace", product.ws, *rest)],
        capture_output=True,
        env=product.env,
        timeout=TIMEOUT,
    )
    assert done.returncode == 2, done
    assert b"the current folder cannot be named" in done.stderr
    assert b"bug" not in done.stderr


def test_a_workspace_that_no_settings_file_can_name_is_left_alone(product):
    odd = os.fsencode(product.path("odd")) + b"\xff"
    os.mkdir(odd)
    done = product.run("install", "claude", "--workspace", odd)
    assert done.status == 2, done
    assert "is not UTF-8 text" in done.complaint
    assert os.listdir(odd) == []
