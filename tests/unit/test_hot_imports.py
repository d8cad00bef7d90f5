"""What each hot door may load on its way to an ordinary success (docs/adr/0006). A literal list for each.

Foreign modules are those that the bare interpreter (`-I -S -c pass`) has not loaded already.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ringfence.agents import registry
from tests.support import dialects
from tests.support.product import HAS_MOUNTS, PACKAGE, TIMEOUT, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

# Small or built into the interpreter: `_ctypes` is the one that costs (a millisecond), and only doors that call the
# kernel pay it.
FOREIGN = {
    "hook": {"_collections", "_json", "_stat", "gc", "marshal"},
    "run": {"_collections", "_ctypes", "_json", "_stat", "errno", "gc", "marshal"},
    # `select` waits for the parser's answer; `itertools` comes with the command table.
    "shell": {
        "_collections",
        "_ctypes",
        "_json",
        "_stat",
        "errno",
        "gc",
        "itertools",
        "marshal",
        "select",
    },
}
COMMON = {
    "", "bundle", "decide", "doors", "errors", "jsonscan", "model", "records",
    "pipelines", "pipelines.compose", "pipelines.fence", "pipelines.say", "pipelines.session", "pipelines.words",
    "policy", "policy.asked", "policy.folders", "policy.frozen", "policy.paths", "policy.snapshot",
    "resolve", "resolve.descriptor", "resolve.spell",
}  # fmt: skip
ENGINE = {
    "enforce", "enforce.control_sockets", "enforce.landlock", "enforce.launch", "enforce.mounts",
    "enforce.mounts_mark",
    "enforce.mounts_apply", "enforce.mounts_devices", "enforce.mounts_plan", "enforce.mounts_report",
    "enforce.mounts_store", "enforce.mounts_system", "enforce.mounts_table", "enforce.mounts_trees", "enforce.plan",
    "enforce.report",
    "kernel", "kernel.descriptors", "kernel.execute", "kernel.landlock", "kernel.libc", "kernel.mounts",
    "kernel.namespaces", "kernel.privileges", "kernel.probe", "kernel.seccomp", "kernel.signals", "kernel.spawn",
    "pipelines.aftermath", "pipelines.beneath", "pipelines.git_vet", "pipelines.pending", "pipelines.placing", "pipelines.repositories", "kernel.local_disk",
    "shell.notes", "pipelines.confine", "pipelines.denials", "pipelines.run",
}  # fmt: skip
# For the plainest command, which needs no parser; others add the readers of their own programs.
READING = {
    "pipelines.command", "pipelines.shell",
    "shell", "shell.assigning", "shell.braces", "shell.builtins", "shell.calls", "shell.commands_data", "shell.directories",
    "shell.effects", "shell.globs", "shell.output", "shell.params", "shell.parsing", "shell.plain", "shell.programs",
    "shell.quoting", "shell.reading", "shell.redirects", "shell.slots", "shell.state", "shell.suspicion", "shell.table", "shell.tree", "shell.walk",
    "shell.words",
}  # fmt: skip
OURS = {
    "hook": COMMON
    | {"agents", "agents.fields", "agents.registry", "agents.strings", "pipelines.hook", "pipelines.judging"},
    "run": COMMON | ENGINE,
    "shell": COMMON | ENGINE | READING,
}


# Of all dialects, only the named agent's own is loaded.
DIALECTS = {
    "claude": {"agents.claude", "agents.claude_tools"},
    "codex": {"agents.codex", "agents.patches"},
    "gemini": {"agents.gemini"},
    "opencode": {"agents.opencode", "agents.patches", "agents.shim"},
    "pi": {"agents.pi", "agents.shim"},
    "cursor": {"agents.cursor", "agents.patches"},
    "copilot": {"agents.copilot", "agents.patches"},
    "qwen": {"agents.qwen"},
    "amp": {"agents.amp", "agents.patches", "agents.statuses"},
    "cline": {"agents.cline", "agents.patches"},
    "droid": {"agents.droid", "agents.patches"},
    "goose": {"agents.goose"},
    "kiro": {"agents.kiro", "agents.statuses"},
    "vscode": {"agents.vscode", "agents.patches"},
    "windsurf": {"agents.windsurf", "agents.statuses"},
}


# As start.py does it, and a list of all modules at the very end. The bundle loads most of them without a word to the
# import system, so `-X importtime` would not see them.
LISTED = """
import posix, sys
sys.path.insert(0, sys.argv[1])
from ringfence import doors
def leave(status):
    posix.write(2, "\\n".join(sys.modules).encode())
    posix._exit(status)
doors.leave = leave
doors.enter(sys.argv[2:])
"""
BARE = "import posix, sys; posix.write(2, '\\n'.join(sys.modules).encode())"


def _listed(argv: list, stdin: bytes, product: Product, *, quiet: bool = True) -> set[str]:
    """Every module that the process itself loads; what it starts does not count."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", *argv],
        input=stdin,
        capture_output=True,
        cwd=product.ws,
        env=product.env,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"" or not quiet
    return set(done.stderr.decode().split("\n"))


def _loaded(words: list, stdin: bytes, product: Product, *, quiet: bool = True) -> set[str]:
    """Those of a door, when policy and bundle have been compiled and kept: the bundle is whole after two calls."""
    for _ in range(3):
        found = _listed([LISTED, os.path.dirname(PACKAGE), *words], stdin, product, quiet=quiet)
    return found


@pytest.fixture(name="bare", scope="module")
def _bare(tmp_path_factory):
    return _listed([BARE], b"", Product(tmp_path_factory.mktemp("bare")))


def _split(loaded: set[str], bare: set[str]) -> tuple[set[str], set[str]]:
    ours = {
        name.removeprefix("ringfence").removeprefix(".")
        for name in loaded
        if name.split(".")[0] == "ringfence"
    }
    return ours, {name for name in loaded - bare if name.split(".")[0] != "ringfence"}


HOOK_CALLS = {
    "a write": ("Write", {"file_path": "a", "content": ""}),
    "a read through a link": ("Read", {"file_path": "link"}),
    "a new file": ("Write", {"file_path": "x/y/../z", "content": ""}),
    "a tool of a server": ("mcp__fs__read", {"path": "a"}),
    "a search": ("Glob", {"pattern": "**/*.py"}),
    "no path": ("WebFetch", {"url": "https://x.invalid/"}),
}


@pytest.mark.parametrize("name", HOOK_CALLS)
def test_the_hook(product, bare, name):
    product.write("ws/a", "x")
    os.symlink("a", product.path("ws/link"))
    tool, given = HOOK_CALLS[name]
    raw = json.dumps(product.payload(tool, given)).encode()
    ours, foreign = _split(_loaded(["hook", "claude", "--workspace", product.ws], raw, product), bare)
    assert foreign <= FOREIGN["hook"]
    assert ours <= OURS["hook"] | DIALECTS["claude"] | {"resolve.walk", "resolve.names"}
    assert {"pipelines.hook", "agents.claude", "policy.snapshot"} <= ours


def test_each_agent_has_its_list():
    assert set(DIALECTS) == set(registry.ROWS)


@pytest.mark.parametrize("agent", DIALECTS)
def test_the_hook_of_each_agent_loads_its_own_module_alone(product, bare, agent):
    product.write("ws/a", "x")
    raw, env, _ = dialects.sent(agent, dialects.write(agent, product.ws, "a"))
    product.env = {**product.env, **env}
    words = ["hook", agent, "--workspace", product.ws]
    ours, foreign = _split(_loaded(words, raw, product, quiet=False), bare)
    assert foreign <= FOREIGN["hook"]
    assert ours <= OURS["hook"] | DIALECTS[agent] | {"resolve.walk", "resolve.names"}
    assert DIALECTS[agent] <= ours


@needs_engine
@pytest.mark.parametrize("door", ["run", "shell"])
def test_a_fenced_program(product, bare, door):
    tail = ["--", "/bin/true"] if door == "run" else ["-c", ":"]
    ours, foreign = _split(_loaded([door, "--workspace", product.ws, *tail], b"", product), bare)
    assert foreign <= FOREIGN[door]
    assert ours <= OURS[door]
    assert {"pipelines.run", "enforce.launch"} <= ours
    assert ("enforce.mounts" in ours) == HAS_MOUNTS


def test_the_help_of_a_door_is_not_hot_and_shows_that_the_look_works(product, bare):
    done = subprocess.run(
        product.words("hook", "--help"), capture_output=True, cwd=product.ws, env=product.env, timeout=TIMEOUT
    )
    assert done.returncode == 0
    _, foreign = _split(_listed(["import json, re, enum, typing; " + BARE], b"", product), bare)
    assert {"json", "re", "enum", "typing", "functools", "collections"} <= foreign
