"""Each way in which our hook can fail, driven for real in each agent: does the call that it should have refused run?

    python -m tests.e2e.failures > docs/agents/failures.md

needs what the other end-to-end tests need (scripts/agents, a network namespace, strace).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from tests.support.agent_run import (
    REPOSITORY,
    Rig,
    Scenario,
    Stage,
    drive,
    install_env,
    install_fence,
    make_stage,
    pinned,
    program_of,
    put,
    settle,
)
from tests.support.rigs import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, PI, QWEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.scripted import Call

RIGS = (CLAUDE, CODEX, GEMINI, OPENCODE, PI, QWEN, COPILOT)
POLICY = "@ws@/ringfence.toml"
# Our own words, not a path of ours in somebody else's message.
OURS = re.compile(r"ringfence (deny|refused)")
SITE_PACKAGES = sysconfig.get_path("purelib")


class Failure(NamedTuple):
    """`break_it` is called once ringfence is installed; `during` runs beside the session."""

    name: str
    what: str
    break_it: Callable[[Stage], None]
    during: Callable[[Stage, threading.Event], None] | None = None


class Outcome(NamedTuple):
    """`blocked`: nothing was written outside. `told`: whose words the model got; `made`: whether the call was made."""

    blocked: bool
    told: str
    made: bool


def interpreter(stage: Stage) -> str:
    """The Python that stands in everything that was installed: a name of its own, so that a test can take it away."""
    return os.path.join(stage.root, "python", "python3")


def _become(script: str) -> Callable[[Stage], None]:
    """The interpreter's place is taken by a shell script."""

    def change(stage: Stage) -> None:
        at = interpreter(stage)
        os.unlink(at)
        put(at, f"#!/bin/sh\n{script}\n")
        os.chmod(at, 0o755)

    return change


def _delete_policy(stage: Stage, over: threading.Event) -> None:
    """As soon as the session has made its first file."""
    while not over.is_set() and not os.path.exists(stage.fill("@ws@/first")):
        time.sleep(0.01)
    os.unlink(stage.fill(POLICY))


SLOW = (
    "exec strace -f -o /dev/null -e trace=openat -e inject=openat:delay_enter=8000000:when=12+ "
    f'{sys.executable} "$@"'
)
UNFENCED = Failure("not installed", "no hook at all: the write does land", lambda stage: None)
FAILURES = (
    UNFENCED,
    Failure("none", "the hook works", lambda stage: None),
    Failure(
        "broken policy",
        "`ringfence.toml` is no TOML any more",
        lambda stage: put(stage.fill(POLICY), "workspace = [\n"),
    ),
    Failure(
        "policy deleted", "`ringfence.toml` goes while the session runs", lambda stage: None, _delete_policy
    ),
    Failure("slow disk", "each file that the hook opens takes 8 seconds", _become(SLOW)),
    Failure("hook hangs", "the hook never answers and reads nothing", _become("exec sleep 300")),
    Failure("hook killed", "the hook is ended by SIGKILL", _become("kill -9 $$")),
    Failure("hook fails", "the hook ends with status 1 and no word", _become("exit 1")),
    Failure("garbage", "the hook says what is not its answer", _become("echo no opinion; exit 0")),
    Failure(
        "no interpreter", "the Python of the installed command is gone", lambda s: os.unlink(interpreter(s))
    ),
)


# What stays open: an agent takes foreign text, and silence, from a hook that ends well for "no opinion". Ours says
# neither by mistake, so it takes another program in the interpreter's place. A plugin of ours asks for a whole answer.
OPEN = frozenset(
    (
        *(("garbage", name) for name in ("claude", "codex", "gemini", "qwen", "copilot")),
        *((UNFENCED.name, rig.name) for rig in RIGS),
    )
)


def missing() -> str:
    """What this machine lacks to drive the matrix; "" if nothing."""
    gone = [rig.package for rig in RIGS if program_of(rig.package, rig.command) is None]
    if gone:
        return f"scripts/agents {' '.join(gone)}"
    return "" if shutil.which("strace") else "strace"


def _calls(rig: Rig) -> list[Call]:
    """Some writes inside, in which the policy can be deleted, then the one outside."""

    def write(path: str) -> list[Call]:
        if rig.write:
            return rig.write(path, "x\n")
        assert rig.patch
        return rig.patch(f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n")

    inside = [call for name in ("first", "second", "third") for call in write(f"@ws@/{name}")]
    return [*inside, *write("@out@/landed.txt")]


def outcome(rig: Rig, failure: Failure) -> Outcome:
    """One session of the agent with a hook that fails so."""
    program = program_of(rig.package, rig.command)
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="failure-") as root:
        stage = make_stage(root)
        settle(rig, stage)
        put(stage.fill(POLICY), 'reads = "workspace"\n')
        os.makedirs(os.path.dirname(interpreter(stage)))
        os.symlink(sys.executable, interpreter(stage))
        paths = os.pathsep.join((os.path.join(REPOSITORY, "src"), SITE_PACKAGES))
        env = {**install_env(rig, stage, program), "PYTHONPATH": paths}
        if failure is not UNFENCED:
            install_fence(rig.name, stage, env=env, more=("--trust",), python=interpreter(stage))
        failure.break_it(stage)
        over = threading.Event()
        beside = threading.Thread(target=failure.during or (lambda *_: None), args=(stage, over))
        beside.start()
        calls = _calls(rig)
        try:
            # Only the last call in the failures that hit every call: each of them may take the agent's whole patience.
            only = tuple(calls if failure.during or failure.name == "none" else calls[-1:])
            run = drive(rig, Scenario("failure", only), stage, program, timeout=150.0)
        finally:
            over.set()
            beside.join()
        said = run.results[-1].text if run.results else ""
        blocked = not os.path.exists(stage.fill("@out@/landed.txt"))
        return Outcome(
            blocked, "ringfence" if OURS.search(said) else "the agent", len(run.results) == len(only)
        )


def matrix() -> dict[tuple[str, str], Outcome]:
    """Every failure in every agent; eight at a time, since most of it is waiting."""
    pairs = [(rig, failure) for failure in FAILURES for rig in RIGS]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda pair: outcome(*pair), pairs))
    return {(failure.name, rig.name): one for (rig, failure), one in zip(pairs, found, strict=True)}


def table(found: dict[tuple[str, str], Outcome]) -> str:
    """docs/agents/failures.md."""
    versions = pinned()
    lines = [
        "# When the hook fails",
        "",
        "Generated by `python -m tests.e2e.failures` from real sessions, and held to them by `tests/e2e/test_failures.py`: each agent",
        "was made to write outside the workspace while our hook failed in the way that the row says. **blocked**: nothing was",
        "written. Behind it stands whose words the model got. **RAN**: the write landed. Commands that were already inside the",
        "fenced shell do not depend on any of this: the kernel holds them.",
        "",
        "| failure | " + " | ".join(f"{rig.name} {versions[rig.package]}" for rig in RIGS) + " |",
        "|---|" + "---|" * len(RIGS),
    ]
    for failure in FAILURES:
        cells = [_cell(found[failure.name, rig.name]) for rig in RIGS]
        lines.append(f"| {failure.name}: {failure.what} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *NOTES])


def _cell(one: Outcome) -> str:
    if not one.made:
        return "not tried: the agent did not make the call"
    return f"blocked ({one.told})" if one.blocked else "**RAN**"


NOTES = (
    'What closes it: Claude Code by `onFailure: "block"` (since 2.1.295); Codex, Gemini CLI and Qwen Code by the shell line that',
    "stands in their hooks file, which turns every failure into exit status 2 with a word on stderr and ends a hook that hangs",
    "after 12 seconds (where the machine has `timeout`); Copilot CLI blocks on any failure and gets the same limit; OpenCode and",
    "Pi by the generated plugin, which has a limit of its own and takes nothing but a whole answer for an allow.",
    "",
    'What stays open: these agents take foreign text, and silence, from a hook that ends with status 0 for "no opinion". Ours',
    "says neither by mistake: it takes another program in the interpreter's place, and whoever can put it there is outside.",
    "",
    "What no hook can close: an agent that does not call it. Hooks that are switched off, not trusted (Codex, Gemini CLI, Pi,",
    "Copilot's print mode), left out by a flag (`--bare`, `--pure`, `-ne`, …), or a plugin that cannot be loaded: `ringfence",
    "status AGENT` looks for these and says so. A hook that not even SIGKILL ends (a dead disk) outlives the limit; then the",
    "agent's own timeout counts, which runs the tool in Codex, Gemini CLI, Qwen Code and Copilot CLI. `ringfence launch` puts",
    "the whole agent into the fence and depends on no hook.",
    "",
)


if __name__ == "__main__":
    sys.stdout.write(table(matrix()))
