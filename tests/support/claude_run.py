"""Scenarios for the real Claude Code: what the model asks for, what may land, what the model must be told.

A scenario is data and runs in two ways, without the fence and with it. Words in `@…@` name the stage's folders, so
that braces and dollars stay the shell's: @ws@ the workspace, @sib@ a sibling whose name starts like it, @out@ an
outside folder, @main@ a protected checkout below the workspace, @home@ and @tmp@ the agent's own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from typing import Any, NamedTuple

from tests.support.fake_anthropic import Call, Told, tool_results, user_text
from tests.support.offline import Job, Outcome, run_offline

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
    """One finished run. `results`: one per call the model made. `context`: all else that the model was told."""

    outcome: Outcome
    results: list[Told]
    context: str

    @property
    def said(self) -> str:
        """What the tools said, for a failing test's message."""
        return "\n".join(result.text for result in self.results)

    @property
    def told(self) -> str:
        return f"{self.said}\n{self.context}"


def bash(command: str, **more: Any) -> Call:
    return Call("Bash", {"command": command, **more})


def write(path: str, content: str = "written\n") -> Call:
    return Call("Write", {"file_path": path, "content": content})


def read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def edit(path: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new})


def claude_program() -> str | None:
    """The pinned Claude Code, or None where `scripts/agents claude-code` has not been run."""
    script = os.path.join(REPOSITORY, "scripts", "agents")
    listed = subprocess.run(
        [sys.executable, script, "--list"], capture_output=True, text=True, check=True
    ).stdout
    version = dict(line.split("\t")[:2] for line in listed.splitlines())["claude-code"]
    cache = os.environ.get("AGENTS_CACHE") or os.path.join(REPOSITORY, ".agents-cache")
    program = os.path.join(cache, f"claude-code-{version}", "node_modules", ".bin", "claude")
    return os.path.abspath(program) if os.path.exists(program) else None


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
        _put(os.path.join(folder, "kept.txt"), f"{OUTSIDE_TEXT}\n")
    _put(os.path.join(stage.home, ".bashrc"), "# kept\n")
    return stage


def _put(path: str, text: str) -> None:
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
            _put(path, text.replace("\\n", "\n").replace("\\t", "\t"))
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


def install_fence(workspace: str, protect: str, home: str, *, uid: int | None = None) -> None:
    """Wire ringfence into Claude Code's project settings, as a user would. Raises RuntimeError with what it said."""
    command = [sys.executable, "-m", "ringfence", "install", "claude", "--scope", "project"]
    done = subprocess.run(
        [*command, "--workspace", workspace, "--protect", protect],
        env=_product_env(home),
        cwd=workspace,
        user=uid,
        group=uid,
        extra_groups=[] if uid is not None else None,
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        raise RuntimeError(f"ringfence install exits {done.returncode}: {done.stdout}{done.stderr}")


def can_install() -> bool:
    """Whether the product under test has its installer."""
    asked = [sys.executable, "-m", "ringfence", "install", "--help"]
    return (
        subprocess.run(asked, env=_product_env("/nonexistent"), capture_output=True, check=False).returncode
        == 0
    )


def _product_env(home: str) -> dict[str, str]:
    path = os.pathsep.join((os.path.dirname(sys.executable), SYSTEM_PATH))
    return {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "PYTHONPATH": os.path.join(REPOSITORY, "src")}


def run_claude(
    scenario: Scenario,
    stage: Stage,
    program: str,
    *,
    fenced: bool = False,
    cwd: str | None = None,
    options: tuple[str, ...] = (),
    timeout: float = 60.0,
) -> Run:
    """Plant the scenario's tree, fence if asked, and let the real agent work through its calls.

    Claude Code 2.1.332 in print mode with every permission given: what is refused is refused by the fence alone.
    """
    plant(stage, scenario.tree)
    if fenced:
        install_fence(stage.ws, stage.main, stage.home, uid=stage.uid)
    env = {
        **_product_env(stage.home),
        "PATH": SYSTEM_PATH,  # what the installer wires must not lean on the caller's PATH
        "TMPDIR": stage.tmp,
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # without it bypassPermissions is refused to root
        **dict(scenario.env),
    }
    script = [[call.tool, {k: _filled(stage, v) for k, v in call.input.items()}] for call in scenario.calls]
    argv = [program, "-p", "go", "--permission-mode", "bypassPermissions", *options]
    job = Job(argv, env, cwd or stage.ws, script, timeout=timeout, uid=stage.uid, watch=scenario.watch)
    outcome = run_offline(job, stage.job)
    turns = [request for request in outcome.requests if request.get("tools")]
    last = turns[-1] if turns else {}
    return Run(outcome, tool_results(last), user_text(last))


def _filled(stage: Stage, value: Any) -> Any:
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
