"""The command line: bad words, exit statuses, help, completion."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.support.product import PACKAGE, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

COMMANDS = [
    ("check",), ("explain",), ("policy",), ("policy", "show"), ("policy", "check"), ("policy", "schema"),
    ("policy", "trust"), ("doctor",), ("run",), ("shell",), ("hook",), ("install",), ("uninstall",), ("status",),
    ("render",), ("launch",), ("completion",), ("audit",), ("replay",),
    ("try",), ("review",), ("review", "list"), ("review", "diff"), ("review", "drop"),
]  # fmt: skip
BOTH = "ringfence: --restrict-paths and --no-restrict-paths contradict each other\n  give one of them\n"


def test_the_list_above_is_every_command(product):
    text = product.run("--help").text
    listed = re.findall(r"^  ([a-z]+)  ", text.partition("Commands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert set(listed) == {words[0] for words in COMMANDS}
    for group in ("policy", "review"):
        text = product.run(group, "--help").text
        listed = re.findall(r"^  ([a-z]+)  ", text.partition("Commands:\n")[2], re.MULTILINE)
        assert {(group, name) for name in listed} == {w for w in COMMANDS if len(w) == 2 and w[0] == group}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(product, words):
    done = product.run(*words, "--help")
    assert done.status == 0
    assert done.err == b""
    assert f"Usage: ringfence {' '.join(words)}" in done.text
    # A group shows its members' examples.
    assert re.search(rf"Examples?:\n +(.*\| )?ringfence {' '.join(words)}( |\n)", done.text)
    assert "\x1b" not in done.text


def test_the_short_word_for_help(product):
    assert product.run("check", "-h") == product.run("check", "--help")


def test_the_first_help_lists_exit_statuses_and_examples(product):
    done = product.run("--help")
    assert done.status == 0
    for code in (
        "0 all allowed",
        "1 something refused",
        "2 usage or policy error",
        "3 the fence is not strong",
        "70 a bug",
    ):
        assert code in " ".join(done.text.split())
    assert "ringfence install claude --workspace ." in done.text


def test_the_version(product):
    done = product.run("--version")
    assert (done.status, done.text) == (0, "ringfence, version 0.1.0\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(product, shell):
    done = product.run("completion", shell)
    assert done.status == 0
    assert "_RINGFENCE_COMPLETE" in done.text
    assert done.err == b""


def test_bash_completes(product):
    env = {"_RINGFENCE_COMPLETE": "bash_complete", "COMP_WORDS": "ringfence ch", "COMP_CWORD": "1"}
    done = product.run(env=env)
    assert "plain,check" in done.text


BAD = {
    "both switches, check": (("check", "--restrict-paths", "--no-restrict-paths", "a"), BOTH),
    "both switches, explain": (("explain", "--restrict-paths", "--no-restrict-paths", "a"), BOTH),
    "both switches, doctor": (("doctor", "--no-restrict-paths", "--restrict-paths"), BOTH),
    "both switches, policy show": (("policy", "show", "--restrict-paths", "--no-restrict-paths"), BOTH),
    "both switches, install": (("install", "claude", "--restrict-paths", "--no-restrict-paths"), BOTH),
    "a retired spelling": (
        ("check", "--allow-all-tools", "a"),
        "ringfence: --allow-all-tools is no longer an option\n  the fence is the boundary: name it with --workspace\n",
    ),
    "a retired spelling with a value": (
        ("check", "--allow-all-tools-reason=because", "a"),
        "ringfence: --allow-all-tools-reason is no longer an option\n"
        "  the fence is the boundary: name it with --workspace\n",
    ),
    "nothing to check": (("check",), "ringfence: nothing to check\n  name paths, or give --command TEXT\n"),
    "paths and a command": (
        ("check", "--command", "ls", "a"),
        "ringfence: paths and --command do not go together\n  ask one of them at a time\n",
    ),
    "nothing to explain": (
        ("explain",),
        "ringfence: name one thing to explain: PATH, --command TEXT or --last\n",
    ),
    "two things to explain": (
        ("explain", "--last", "a"),
        "ringfence: name one thing to explain: PATH, --command TEXT or --last\n",
    ),
    "trust of nothing": (
        ("policy", "trust", "nowhere.toml"),
        "ringfence: there is no file {ws}/nowhere.toml\n  name a ringfence.toml, or the folder that holds one\n",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_words_that_make_no_sense_are_a_usage_error(product, name):
    words, said = BAD[name]
    done = product.run(*words)
    assert (done.status, done.out) == (2, b"")
    assert done.complaint == said.replace("{ws}", product.ws)


UNKNOWN = {
    "an unknown command": (("chek", "a"), "check"),
    "an unknown option": (("check", "--workspce", ".", "a"), "--workspace"),
    "an unknown option of doctor": (("doctor", "--engin", "auto"), "--engine"),
    "an unknown operation": (("check", "--op", "wirte", "a"), "write"),
    "an unknown engine": (("doctor", "--engine", "mount"), "mounts"),
    "an unknown agent": (("install", "claud"), "claude"),
    "an unknown shell": (("completion", "bsh"), "bash"),
    "a missing value": (("check", "--workspace"), "--workspace"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_misspelling_is_answered_with_the_right_spelling(product, name):
    words, near = UNKNOWN[name]
    done = product.run(*words)
    assert (done.status, done.out) == (2, b"")
    assert near in done.complaint


# --- what a flag or a variable names ------------------------------------------------------------------


@pytest.mark.parametrize("command", ["check", "explain", "run", "shell"])
def test_a_missing_workspace_names_its_nearest_neighbour(product, command):
    os.makedirs(product.path("project"))
    tail = {"check": ["a"], "explain": ["a"], "run": ["--", "true"], "shell": ["-c", "true"]}[command]
    done = product.run(command, "--workspace", product.path("projct"), *tail)
    assert (done.status, done.out) == (2, b"")
    first, *more = done.complaint.splitlines()
    assert product.path("projct") in first
    assert "does not exist" in first
    assert any(product.path("project") in line for line in more), done.complaint


@pytest.mark.parametrize("command", ["check", "policy show", "run", "shell", "doctor"])
def test_an_unknown_variable_of_ours_is_an_error_everywhere(product, command):
    tail = {"check": ["a"], "run": ["--", "true"], "shell": ["-c", "true"]}.get(command, [])
    done = product.run(*command.split(), *tail, env={"RINGFENCE_WORKSPCE": product.ws})
    assert (done.status, done.out) == (2, b"")
    assert "RINGFENCE_WORKSPCE" in done.complaint
    assert "RINGFENCE_WORKSPACE" in done.complaint


def test_the_mark_of_our_own_fence_is_no_unknown_variable(product):
    assert product.run("check", "--workspace", product.ws, "a", env={"RINGFENCE_FENCE": "call-1"}).status == 0


@pytest.mark.parametrize("flag", ["--workspace", "--policy"])
@pytest.mark.parametrize("value", ["", "$HOME/x", "~nobody/x", "file:///x"])
def test_a_path_that_means_something_else_than_its_writer_thinks(product, flag, value):
    done = product.run("check", flag, value, "a")
    assert (done.status, done.out) == (2, b"")
    assert done.complaint.startswith("ringfence: ")


def test_a_policy_error_says_file_line_column_and_the_nearest_key(product):
    path = product.write("ws/ringfence.toml", 'reads = "workspace"\nunattendd = "deny"\n')
    done = product.run("check", "--workspace", product.ws, "a")
    assert (done.status, done.out) == (2, b"")
    assert done.complaint.startswith(f"ringfence: {path}:2:1: ")
    assert "unattended" in done.complaint


# --- exit statuses ------------------------------------------------------------------------------------

STATUS = {
    "all allowed": (("check", "--workspace", "{ws}", "a", "b/c"), 0),
    "one refused": (("check", "--workspace", "{ws}", "a", "../out/a"), 1),
    "a harmless command": (("check", "--workspace", "{ws}", "--command", "ls"), 0),
    "one asked about": (("check", "--workspace", "{ws}", "--command", "$X"), 1),
    "explained and allowed": (("explain", "--workspace", "{ws}", "a"), 0),
    "explained and refused": (("explain", "--workspace", "{ws}", "/etc/x"), 1),
    "a command explained": (("explain", "--workspace", "{ws}", "--command", "$X"), 1),
    "no refusal to explain": (("explain", "--last"), 1),
    "a policy shown": (("policy", "show"), 0),
    "a policy without tests": (("policy", "check"), 0),
    "the schema": (("policy", "schema"), 0),
    "nothing installed": (("status", "claude", "--workspace", "{ws}"), 1),
    "nothing to uninstall": (("uninstall", "claude", "--workspace", "{ws}"), 0),
    "doctor without a fence": (("doctor",), 3),
    "no words at all": ((), 2),
}


@pytest.mark.parametrize("name", STATUS)
def test_the_exit_status(product, name):
    words, status = STATUS[name]
    done = product.run(*[word.replace("{ws}", product.ws) for word in words])
    assert done.status == status, done


@needs_engine
def test_doctor_proves_that_the_fence_bites(product):
    done = product.run("doctor", "--workspace", product.ws)
    assert done.status == 0, done
    assert re.search(r"^  held +boundary +write ", done.text, re.MULTILINE)
    assert "not fenced by ringfence: network, environment secrets, CPU and memory" in done.text


def test_tests_in_a_policy_decide_its_check(product):
    text = '[[test]]\npath = "a"\nop = "write"\nexpect = "{}"\n'
    product.write("ws/ringfence.toml", text.format("allow"))
    assert product.run("policy", "check", "--workspace", product.ws).status == 0
    product.write("ws/ringfence.toml", text.format("deny"))
    done = product.run("policy", "check", "--workspace", product.ws)
    assert done.status == 1
    assert "FAIL" in done.text


def test_a_bug_of_ours_has_its_own_exit_status(tmp_path):
    import shutil

    package = str(tmp_path / "lib" / "ringfence")
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hot-*"))
    with open(os.path.join(package, "decide.py"), "a", encoding="utf-8") as file:
        file.write("\ndef judge(*_):\n    return 1 // 0\n")
    broken = Product(tmp_path, os.path.join(package, "start.py"))
    done = broken.run("check", "--workspace", broken.ws, "/etc/x")
    assert (done.status, done.out) == (70, b"")
    assert done.complaint.startswith("ringfence: this is a bug of ringfence; please report what follows\n")
    assert "ZeroDivisionError" in done.complaint
    with open(os.path.join(package, "enforce/launch.py"), "a", encoding="utf-8") as file:
        file.write("\ndef launch(*_, **_more):\n    return 1 // 0\n")
    done = broken.run("run", "--workspace", broken.ws, "--", "touch", "ran")
    assert (done.status, done.out) == (70, b"")
    assert (
        done.complaint
        == "ringfence: a bug of ringfence, nothing was run: ZeroDivisionError: integer division or modulo by zero\n"
    )
    assert not os.path.exists(broken.path("ws/ran"))
    with open(os.path.join(package, "pipelines/aftermath.py"), "a", encoding="utf-8") as file:
        file.write("\nfrom ringfence.model import gone\n")
    for words in (("run", "--workspace", broken.ws, "--", "touch", "ran"), ("shell", "-c", "touch ran")):
        done = broken.run(*words)
        assert (done.status, done.out) == (70, b"")
        assert done.complaint.startswith(
            "ringfence: nothing was run, because ringfence itself is broken: ImportError("
        )
        assert not os.path.exists(broken.path("ws/ran"))


@pytest.mark.parametrize("way", ["module", "start"])
def test_both_ways_in_say_the_same(product, way):
    import sys

    words = ("check", "--workspace", product.ws, "a", "/etc/x")
    done = product.run(*words)
    if way == "module":
        env = {**product.env, "PYTHONPATH": os.path.dirname(PACKAGE)}
        other = subprocess.run(
            [sys.executable, "-m", "ringfence", *words],
            capture_output=True,
            cwd=product.ws,
            env=env,
            timeout=60,
        )
        assert (other.returncode, other.stdout, other.stderr) == done
    assert done.status == 1
