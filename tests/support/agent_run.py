"""Scenarios for real agents: what the model asks for, what may land, what the model must be told.

A scenario is data and runs in two ways, without the fence and with it. Words in `@…@` name the stage's folders, so
that braces and dollars stay the shell's: @ws@ the workspace, @sib@ a sibling whose name starts like it, @out@ an
outside folder, @main@ a protected checkout below the workspace, @home@ and @tmp@ the agent's own.

How one agent is started, pointed at the scripted model and told to use its tools is a Rig (tests/support/rigs.py).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.offline import Job, Outcome, run_offline
from tests.support.scripted import Call, ScriptedModel, Told

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTSIDE_TEXT = "the-outside-text"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Stage(NamedTuple):
    """One run's folders, all below `root`."""

    root: str
    ws: str
    sib: str
    out: str
    main: str
    home: str
    tmp: str
    job: str
    uid: int | None = None

    def fill(self, text: str) -> str:
        """`text` with the @…@ words put in. Other @…@ (the model's references) stay."""
        for name in ("ws", "sib", "out", "main", "home", "tmp"):
            text = text.replace(f"@{name}@", getattr(self, name))
        return text


class Scenario(NamedTuple):
    """`reaches`: paths whose state changes when nothing holds the agent, and must not change when the fence does.
    `lands`: path and text that must stand there in both runs. `tree`: what exists before, `path/`, `path = text` or
    `path -> target`. `named`: the path that the refusal must name, the first of `reaches` if empty; `silent`: no
    refusal need be read (a job that fails after its call has ended). `reveals`: the text of the outside files reaches the model unfenced only.
    `needs`: programs without which the scenario says nothing."""

    name: str
    calls: tuple[Call, ...]
    reaches: tuple[str, ...] = ()
    lands: tuple[tuple[str, str], ...] = ()
    tree: tuple[str, ...] = ()
    named: str = ""
    silent: bool = False
    reveals: bool = False
    needs: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    watch: float = 0.0

    def __str__(self) -> str:
        return self.name


class Run(NamedTuple):
    """One finished run. `results`: one per call the model made. `context`: all else that the model was told.
    `offered`: the tools that the model was offered."""

    outcome: Outcome
    results: list[Told]
    context: str
    offered: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What the tools said, for a failing test's message."""
        return "\n".join(result.text for result in self.results)

    @property
    def told(self) -> str:
        return f"{self.said}\n{self.context}"


class Rig(NamedTuple):
    """One agent at one pin, with every permission of its own given: what is refused is refused by the fence alone.

    `name`: as ringfence calls the agent. `package`: as scripts/agents does. `command`: its program. `model`: the module of tests/support that
    speaks its protocol. `argv` follows the program; `files` are settings that stand before anything is installed.
    The tools: each takes what the scenario says and gives the calls of this agent; None where it has no such tool.
    """

    name: str
    package: str
    command: str
    model: str
    argv: tuple[str, ...]
    env: dict[str, str]
    files: dict[str, str]
    shell: Callable[[str], list[Call]]
    write: Callable[[str, str], list[Call]] | None
    edit: Callable[[str, str, str], list[Call]] | None
    read: Callable[[str], list[Call]] | None
    patch: Callable[[str], list[Call]] | None = None
    notebook: Callable[[str, str], list[Call]] | None = None
    background: Callable[[str], list[Call]] | None = None
    # Its own settings file in the workspace, which nothing it does may change.
    settings: str = ""
    # Whether `ringfence install` has to find the agent's program (it asks the agent to trust the hook).
    asks_program: bool = False
    # Whether it writes into that file by itself (a format version), so that only our entry in it can be looked at.
    amends_settings: bool = False
    # Whether its hook can put a command into the fenced shell; else only `launch` gives its commands a fence.
    routes: bool = True
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.name}-{self.variant}" if self.variant else self.name


def agents_cache() -> str:
    return os.path.abspath(os.environ.get("AGENTS_CACHE") or os.path.join(REPOSITORY, ".agents-cache"))


def pinned() -> dict[str, str]:
    """Version of each agent that scripts/agents can install."""
    script = os.path.join(REPOSITORY, "scripts", "agents")
    listed = subprocess.run(
        [sys.executable, script, "--list"], capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split("\t")[:2] for line in listed.splitlines())


@functools.cache
def program_of(package: str, command: str) -> str | None:
    """The pinned agent's program, or None where `scripts/agents PACKAGE` has not been run."""
    at = os.path.join(agents_cache(), f"{package}-{pinned()[package]}", "node_modules", ".bin", command)
    return at if os.path.exists(at) else None


def node_folder() -> list[str]:
    """Where scripts/agents put a Node, if the machine's own was too old; the agents' scripts look for it on PATH."""
    found = [name for name in os.listdir(agents_cache()) if name.startswith("node-")]
    return [os.path.join(agents_cache(), name, "node_modules", ".bin") for name in found]


def make_stage(root: str, uid: int | None = None) -> Stage:
    """An empty stage below `root` (existing, empty). The workspace's name is the beginning of its sibling's."""
    at = {
        "ws": "app",
        "sib": "app-old",
        "out": "outside",
        "main": "app/vendor/main",
        "home": "home",
        "tmp": "tmp",
        "job": "job",
    }
    stage = Stage(root, **{name: os.path.join(root, rel) for name, rel in at.items()}, uid=uid)
    for folder in (stage.ws, stage.sib, stage.out, stage.main, stage.home, stage.tmp, stage.job):
        os.makedirs(folder)
    for folder in (stage.sib, stage.out, stage.main):
        put(os.path.join(folder, "kept.txt"), f"{OUTSIDE_TEXT}\n")
    put(os.path.join(stage.home, ".bashrc"), "# kept\n")
    return stage


def put(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def plant(stage: Stage, tree: tuple[str, ...]) -> None:
    """Make what a scenario needs beforehand, then hand everything to the stage's user."""
    for line in tree:
        entry = stage.fill(line)
        if " -> " in entry:
            link, target = entry.split(" -> ", 1)
            os.symlink(target, link)
        elif " = " in entry:
            path, text = entry.split(" = ", 1)
            put(path, text.replace("\\n", "\n").replace("\\t", "\t"))
        else:
            os.makedirs(entry, exist_ok=True)
    if stage.uid is not None:
        for folder, _, names in os.walk(stage.root):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(path, stage.uid, stage.uid, follow_symlinks=False)


def state(path: str) -> dict[str, tuple[Any, ...]]:
    """What stands at and below `path`, so that any change shows: kind, mode, owner, link count, text, and for files
    the time of change. Empty where there is nothing."""
    seen: dict[str, tuple[Any, ...]] = {}
    todo = [path]
    while todo:
        here = todo.pop()
        try:
            info = os.lstat(here)
        except FileNotFoundError:
            continue
        facts: tuple[Any, ...] = (stat.filemode(info.st_mode), info.st_uid, info.st_gid)
        if stat.S_ISLNK(info.st_mode):
            facts += (os.readlink(here),)
        elif stat.S_ISDIR(info.st_mode):
            todo += [os.path.join(here, name) for name in os.listdir(here)]
        else:
            with open(here, "rb") as text:
                facts += (hashlib.sha256(text.read()).hexdigest(), info.st_nlink, info.st_mtime_ns)
        seen[here] = facts
    return seen


def product_env(home: str) -> dict[str, str]:
    path = os.pathsep.join((os.path.dirname(sys.executable), SYSTEM_PATH))
    return {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "PYTHONPATH": os.path.join(REPOSITORY, "src")}


def ringfence(
    words: list[str], stage: Stage, env: dict[str, str] | None = None, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """The product's own command as the stage's user runs it, in the workspace."""
    return subprocess.run(
        [python, "-m", "ringfence", *words],
        env={**product_env(stage.home), **(env or {})},
        cwd=stage.ws,
        user=stage.uid,
        group=stage.uid,
        extra_groups=[] if stage.uid is not None else None,
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def install_fence(
    agent: str,
    stage: Stage,
    *,
    env: dict[str, str] | None = None,
    scope: str = "project",
    more: tuple[str, ...] = (),
    python: str = sys.executable,
) -> None:
    """Wire ringfence into the agent's settings, as a user would. Raises RuntimeError with what it said."""
    words = ["install", agent, "--scope", scope, "--workspace", stage.ws, "--protect", stage.main, *more]
    done = ringfence(words, stage, env, python)
    if done.returncode != 0:
        raise RuntimeError(f"ringfence install exits {done.returncode}: {done.stdout}{done.stderr}")


def can_install(agent: str = "claude") -> bool:
    """Whether the product under test has an installer for this agent."""
    asked = [sys.executable, "-m", "ringfence", "install", "--help"]
    done = subprocess.run(asked, env=product_env("/nonexistent"), capture_output=True, text=True, check=False)
    return done.returncode == 0 and agent in "".join(
        done.stdout.split()
    )  # the usage line is wrapped within words


def agent_env(rig: Rig, stage: Stage) -> dict[str, str]:
    return {
        **product_env(stage.home),
        # What the installer wires must not lean on the caller's PATH.
        "PATH": os.pathsep.join((*node_folder(), SYSTEM_PATH)),
        "TMPDIR": stage.tmp,
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        **{name: stage.fill(value) for name, value in rig.env.items()},
    }


def settle(rig: Rig, stage: Stage) -> None:
    """The person's own settings, without which the agent would not find the scripted model."""
    for path, text in rig.files.items():
        put(stage.fill(path), stage.fill(text))
    plant(stage, ())


def prepare(rig: Rig, scenario: Scenario, stage: Stage, program: str, *, fenced: bool = False) -> None:
    """Plant the scenario's tree, settle the agent, fence it if asked."""
    plant(stage, scenario.tree)
    settle(rig, stage)
    if fenced:
        install_fence(rig.name, stage, env=install_env(rig, stage, program), more=("--trust",))


def install_env(rig: Rig, stage: Stage, program: str) -> dict[str, str]:
    """What the installer gets of the agent's own environment."""
    env = agent_env(rig, stage)
    own = {name: env[name] for name in rig.env}
    if rig.asks_program:
        own["PATH"] = f"{os.path.dirname(program)}{os.pathsep}{env['PATH']}"
    return own


def drive(
    rig: Rig,
    scenario: Scenario,
    stage: Stage,
    program: str,
    *,
    cwd: str | None = None,
    options: tuple[str, ...] = (),
    timeout: float = 60.0,
) -> Run:
    """Let the real agent work through the scenario's calls, on a stage that has been prepared."""
    env = {**agent_env(rig, stage), **dict(scenario.env)}
    script = [[call.tool, _filled(stage, call.input)] for call in scenario.calls]
    job = Job(
        [program, *map(stage.fill, rig.argv), *options],
        env,
        cwd or stage.ws,
        script,
        model=rig.model,
        timeout=timeout,
        uid=stage.uid,
        watch=scenario.watch,
    )
    outcome = run_offline(job, stage.job)
    model = model_of(rig)
    turns = [request for request in outcome.requests if model.offered(request)]
    last = turns[-1] if turns else {}
    return Run(outcome, model.results(last), model.context(last), tuple(model.offered(last)))


def run_agent(
    rig: Rig, scenario: Scenario, stage: Stage, program: str, *, fenced: bool = False, **more: Any
) -> Run:
    """`prepare`, then `drive`."""
    prepare(rig, scenario, stage, program, fenced=fenced)
    return drive(rig, scenario, stage, program, **more)


def model_of(rig: Rig) -> type[ScriptedModel]:
    """The class behind the rig's protocol."""
    module = importlib.import_module(f"tests.support.{rig.model}")
    (found,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ScriptedModel) and value is not ScriptedModel
    )
    return found


def _filled(stage: Stage, value: Any) -> Any:
    if isinstance(value, list):
        return [_filled(stage, item) for item in value]
    if isinstance(value, dict):
        return {name: _filled(stage, item) for name, item in value.items()}
    return stage.fill(value) if isinstance(value, str) else value


def missing_programs(scenario: Scenario) -> list[str]:
    return [name for name in scenario.needs if shutil.which(name, path=SYSTEM_PATH) is None]


def normal(stage: Stage, text: str) -> str:
    """`text` without what differs from run to run: the stage's place, task and session ids, sizes of a second."""
    for name in ("main", "ws", "sib", "out", "home", "tmp", "root"):
        text = text.replace(getattr(stage, name), f"@{name}@")
    slug = re.sub(r"[^A-Za-z0-9]", "-", stage.ws)
    text = text.replace(slug, "@slug@")
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "@session@", text)
    text = re.sub(r"\bb[0-9a-z]{8}\b", "@task@", text)
    return re.sub(r"(line \d+: +)\d+ (?=[A-Z])", r"\1@pid@ ", text)
