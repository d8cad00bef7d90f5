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
from tests.support.product import HAS_MOUNTS, TIMEOUT, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

# Small or built into the interpreter: `_ctypes` is the one that costs (a millisecond), and only doors that call the
# kernel pay it. `__future__` is read once for the bundle's own module.
FOREIGN = {
    "hook": {"__future__", "_collections", "_json", "_stat", "gc", "marshal"},
    "run": {"__future__", "_collections", "_ctypes", "_json", "_stat", "errno", "gc", "marshal"},
    # `select` waits for the parser's answer; `itertools` comes with the command table.
    "shell": {
        "__future__",
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
    "kernel.namespaces", "kernel.privileges", "kernel.probe", "kernel.seccomp", "kernel.signals",
    "pipelines.aftermath", "pipelines.beneath", "pipelines.git_vet", "pipelines.pending", "pipelines.placing", "pipelines.repositories", "kernel.local_disk",
    "shell.notes", "pipelines.confine", "pipelines.denials", "pipelines.run",
}  # fmt: skip
# For the plainest command, which needs no parser; others add the readers of their own programs.
READING = {
    "pipelines.command", "pipelines.shell",
    "shell", "shell.braces", "shell.builtins", "shell.calls", "shell.commands_data", "shell.directories",
    "shell.effects", "shell.globs", "shell.output", "shell.params", "shell.parsing", "shell.plain", "shell.programs",
    "shell.quoting", "shell.reading", "shell.slots", "shell.state", "shell.table", "shell.tree", "shell.walk",
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
}


def _loaded(words: list, stdin: bytes, product: Product, *, quiet: bool = True) -> set[str]:
    """Every module that the process itself loads, by `-X importtime`; what it starts does not count."""
    done = subprocess.run(
        [words[0], "-X", "importtime", *words[1:]],
        input=stdin,
        capture_output=True,
        cwd=product.ws,
        env=product.env,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"" or not quiet
    lines = [line.split(b"|") for line in done.stderr.splitlines()]
    assert all(len(parts) == 3 for parts in lines), done.stderr
    return {parts[2].strip().decode() for parts in lines} - {"imported package"}


@pytest.fixture(name="bare", scope="module")
def _bare(tmp_path_factory):
    return _loaded([sys.executable, "-I", "-S", "-c", "pass"], b"", Product(tmp_path_factory.mktemp("bare")))


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
    words = product.words("hook", "claude", "--workspace", product.ws)
    _loaded(words, raw, product)  # the first call compiles the policy and keeps it
    ours, foreign = _split(_loaded(words, raw, product), bare)
    assert foreign <= FOREIGN["hook"]
    assert ours <= OURS["hook"] | DIALECTS["claude"] | {"resolve.walk", "resolve.names"}
    assert {"pipelines.hook", "agents.claude", "policy.snapshot"} <= ours


def test_each_agent_has_its_list():
    assert set(DIALECTS) == set(registry.ROWS)


@pytest.mark.parametrize("agent", DIALECTS)
def test_the_hook_of_each_agent_loads_its_own_module_alone(product, bare, agent):
    product.write("ws/a", "x")
    raw = json.dumps(dialects.write(agent, product.ws, "a")).encode()
    words = product.words("hook", agent, "--workspace", product.ws)
    _loaded(words, raw, product, quiet=False)
    ours, foreign = _split(_loaded(words, raw, product, quiet=False), bare)
    assert foreign <= FOREIGN["hook"]
    assert ours <= OURS["hook"] | DIALECTS[agent] | {"resolve.walk", "resolve.names"}
    assert DIALECTS[agent] <= ours


@needs_engine
@pytest.mark.parametrize("door", ["run", "shell"])
def test_a_fenced_program(product, bare, door):
    tail = ["--", "/bin/true"] if door == "run" else ["-c", ":"]
    words = product.words(door, "--workspace", product.ws, *tail)
    _loaded(words, b"", product)
    ours, foreign = _split(_loaded(words, b"", product), bare)
    assert foreign <= FOREIGN[door]
    assert ours <= OURS[door]
    assert {"pipelines.run", "enforce.launch"} <= ours
    assert ("enforce.mounts" in ours) == HAS_MOUNTS


def test_the_help_of_a_door_is_not_hot_and_shows_that_the_look_works(product, bare):
    done = subprocess.run(
        product.words("hook", "--help"), capture_output=True, cwd=product.ws, env=product.env, timeout=TIMEOUT
    )
    assert done.returncode == 0
    words = product.words("-c", "pass")
    script = "import json, re, enum, typing"
    loaded = _loaded([words[0], "-I", "-S", "-c", script], b"", product)
    _, foreign = _split(loaded, bare)
    assert {"json", "re", "enum", "typing", "functools", "collections"} <= foreign
