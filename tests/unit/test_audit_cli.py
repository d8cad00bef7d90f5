"""`ringfence audit` as its users start it: what comes out, in which order, and how it ends."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from tests.support.product import TIMEOUT, product_fixture  # noqa: F401 - a fixture
from tests.unit.test_readers import MEMBERS, tar_of

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.schema.json").read_text())


def lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def mixed(product):
    """Inputs of many kinds, some of them broken."""
    product.write("in/list", "inside\n../out/x\n/etc/passwd\n")
    product.write("in/a.jsonl", '{"path": "a"}\nbroken\n{"command": "cp a ../out/b"}\n{"command": "$X y"}\n')
    product.write("in/b.diff", "--- a/x\n+++ b/../../q\n@@ -1 +1 @@\n-a\n+b\n")
    product.write("in/c.tar.gz", gzip.compress(tar_of(MEMBERS)))
    product.write("in/d/odd.jsonl", '{"path": "a\\u0001\\n<&>\\"\\ud800"}\n')
    return product


def words(product, *more):
    return ("audit", "--workspace", product.ws, *more)


# --- exit codes and totals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "counts"),
    [
        (b"a\nb\n", 0, (2, 2, 0, 0, 0)),
        (b"a\n../x\n", 1, (2, 1, 0, 1, 0)),
        (b'{"path": "a"}\n{"path": 3}\n', 1, (1, 1, 0, 0, 1)),
        (b'{"command": "$X"}\n', 1, (1, 0, 1, 0, 0)),
        (b"", 0, (0, 0, 0, 0, 0)),
    ],
)
def test_exit_status_and_summary(product, text, status, counts):
    done = product.run(*words(product, "--json"), stdin=text)
    assert done.status == status, done
    last = lines(done)[-1]
    names = ("judged", "allowed", "asked", "denied", "malformed")
    assert tuple(last[name] for name in names) == counts
    assert last["complete"] is True
    assert last["weaker"] == ""
    assert sum(total["records"] for total in last["totals"]) == counts[0] + counts[4]


@pytest.mark.parametrize(
    "more",
    [
        ("--format", "nope"),
        ("no-such-file",),
        ("--as-of", "x", "--lexical"),
        ("--fix",),
        ("--tree", "a"),
        ("--op", "eat"),
        ("--output", "pdf"),
        ("--as-of", "no-such-listing"),
        ("--strip", "-1"),
    ],
)
def test_usage_errors(product, more):
    done = product.run(*words(product, *more))
    assert done.status == 2, done
    assert done.out == b""
    assert done.complaint


def test_formats_are_listed(product):
    done = product.run("audit", "--formats")
    assert done.status == 0
    assert re.search(r"^apply-patch ", done.text, re.MULTILINE)


# --- findings ------------------------------------------------------------------------------------------

FIELDS = {
    "type",
    "kind",
    "source",
    "record",
    "asked",
    "op",
    "verdict",
    "code",
    "path",
    "rule",
    "message",
    "hint",
}


def test_fields_of_a_finding(product):
    done = product.run(*words(product, "--json"), stdin=b"../out/x\n")
    found, last = lines(done)
    assert set(found) == FIELDS | {"agent", "cwd", "note"}
    assert (found["kind"], found["source"], found["record"]) == ("path", "<stdin>", 1)
    assert (found["verdict"], found["code"], found["path"]) == ("deny", "outside.write", f"{product.out}/x")
    assert last["type"] == "summary"
    assert last["version"] == 1
    assert done.out.isascii()


def test_several_inputs_keep_their_order(mixed):
    done = mixed.run(*words(mixed, "--json", "--all", mixed.path("in/list"), mixed.path("in")))
    found = lines(done)[:-1]
    places = [(os.path.relpath(f["source"], mixed.base), f["record"]) for f in found]
    assert places[:3] == [("in/list", 1), ("in/list", 2), ("in/list", 3)]
    assert places[3:] == sorted(places[3:], key=lambda place: place[0].count("/"))
    assert [p for p, _ in places[3:]] == sorted((p for p, _ in places[3:]), key=lambda p: (p.count("/"), p))
    assert lines(done)[-1]["skipped"] == 1, "a list in a folder is not told by its beginning"
    assert "list" in done.complaint
    assert done == mixed.run(*words(mixed, "--json", "--all", mixed.path("in/list"), mixed.path("in")))


def test_malformed_records_have_file_and_line(mixed):
    done = mixed.run(*words(mixed, mixed.path("in/a.jsonl")))
    assert done.status == 1
    assert f"{mixed.path('in/a.jsonl')}:2: malformed: not JSON" in done.text
    assert "1 more could not be read" in done.text


def test_text_has_totals_by_code_and_rule(mixed):
    done = mixed.run(*words(mixed, mixed.path("in/list")))
    assert re.search(r"^deny +outside\.write +2 +built in \(default\)$", done.text, re.MULTILINE), done.text
    assert re.search(r"^allow +allow\.workspace +1 +--workspace \(workspace\)$", done.text, re.MULTILINE)
    assert "judged 3 records: 1 allowed, 0 to be asked, 2 refused" in done.text
    assert "\x1b" not in done.text
    assert done.complaint == ""


def test_every_verdict_is_that_of_check(mixed):
    asked = ["inside", "../out/x", "/etc/passwd", "~/x", ".git/hooks/x", "a/../../b", "http://x/y"]
    audited = mixed.run(
        *words(mixed, "--json", "--all", "--format", "lines"), stdin="\n".join(asked).encode()
    )
    checked = mixed.run("check", "--workspace", mixed.ws, "--json", "--", *asked)
    keep = ("asked", "op", "verdict", "code", "path", "rule", "message", "hint")
    assert [{k: f[k] for k in keep} for f in lines(audited)[:-1]] == checked.json["paths"]


# --- SARIF and JUnit -----------------------------------------------------------------------------------


def test_sarif_is_valid_by_its_schema(mixed):
    done = mixed.run(*words(mixed, "--output", "sarif", "--all", mixed.path("in/list"), mixed.path("in")))
    value = done.json
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(value)
    (run,) = value["runs"]
    json_lines = lines(mixed.run(*words(mixed, "--json", "--all", mixed.path("in/list"), mixed.path("in"))))
    assert [r["ruleId"] for r in run["results"]] == [f["code"] for f in json_lines[:-1]]
    assert {r["ruleId"] for r in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    refused = [r for r in run["results"] if r["level"] != "none"]
    assert refused
    assert all(r["kind"] == "fail" for r in refused)
    first = run["results"][1]["locations"][0]["physicalLocation"]
    assert first["artifactLocation"]["uri"].startswith("file:///")
    assert first["region"] == {"startLine": 2}


def test_sarif_of_nothing_is_valid(product):
    done = product.run(*words(product, "--output", "sarif"), stdin=b"")
    jsonschema.Draft4Validator(SCHEMA).validate(done.json)
    assert done.json["runs"][0]["results"] == []
    assert done.status == 0


def test_junit(mixed):
    done = mixed.run(*words(mixed, "--output", "junit", mixed.path("in/list"), mixed.path("in")))
    root = ET.fromstring(done.out)  # noqa: S314 - our own output
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("errors")) == len(suite.findall("testcase/error")) == 1
    summary = lines(mixed.run(*words(mixed, "--json", mixed.path("in/list"), mixed.path("in"))))[-1]
    assert len(suite.findall("testcase/failure")) == summary["denied"] + summary["asked"]
    assert len(cases) == summary["denied"] + summary["asked"] + summary["malformed"] + 1


# --- how it ends ---------------------------------------------------------------------------------------


def started(product, *more, **popen):
    return subprocess.Popen(product.words(*words(product, *more)), env=product.env, cwd=product.ws, **popen)


@pytest.mark.parametrize("count", [20, 3000], ids=["while-it-waits", "while-it-writes"])
@pytest.mark.parametrize("output", ["text", "jsonl", "sarif", "junit"])
def test_an_interrupt_ends_it_with_what_was_judged(product, output, count):
    with started(
        product,
        "--output",
        output,
        "--format",
        "lines",
        # A background job of a shell ignores it, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        child.stdin.write(b"../out/x\n" * count)  # less than a pipe holds; 3000 findings are more
        child.stdin.flush()
        time.sleep(4)  # by then it waits for more, or for a reader
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=TIMEOUT)
        finally:
            child.kill()
    assert child.returncode == 130, err
    assert b"Traceback" not in err
    if output == "jsonl":
        rows = [json.loads(line) for line in out.splitlines()]
        assert rows[-1]["complete"] is False
        assert rows[-1]["denied"] == len(rows) - 1 > 0
    elif output == "sarif":
        value = json.loads(out)
        jsonschema.Draft4Validator(SCHEMA).validate(value)
        assert value["runs"][0]["invocations"][0]["executionSuccessful"] is False
    elif output == "junit":
        assert ET.fromstring(out)[0].findall("testcase/failure[@type='interrupted']")  # noqa: S314 - same
    else:
        assert b"interrupted, the rest was not judged" in out


def test_a_closed_pipe_ends_it_quietly(product):
    product.write("list", "../out/x\n" * 50_000)
    with started(
        product, "--format", "lines", product.path("list"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(TIMEOUT) == 1
        assert child.stderr.read() == b""


def test_a_bar_on_a_terminal_and_silence_in_a_pipe(product):
    product.write("list", "a\n" * 200_000)
    ours, theirs = pty.openpty()
    env = {**product.env, "TERM": "xterm"}
    done = subprocess.Popen(
        product.words(*words(product, "--format", "lines", "--json", product.path("list"))),
        env=env,
        cwd=product.ws,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    out = done.stdout.read()
    done.stdout.close()
    assert done.wait(TIMEOUT) == 0
    os.close(ours)
    assert re.search(rb"judged +[\d,]+", shown), shown[-300:]
    assert re.search(rb"[\d,]+/s", shown)
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["summary"]
    quiet = product.run(*words(product, "--format", "lines", product.path("list")))
    assert quiet.err == b""


def test_a_file_that_cannot_be_opened_is_a_record_and_stops_nothing(product):
    product.write("list", "a\n")
    os.mkfifo(product.path("ws/pipe"))
    product.write("ws/d/x.jsonl", '{"path": "../q"}\n')
    done = product.run(*words(product, "--json", product.path("ws")))
    assert lines(done)[-1]["skipped"] == 1
    assert lines(done)[-1]["denied"] == 1
