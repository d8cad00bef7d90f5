"""`ringfence launch` around real agents, offline: each mode and lane, what lands and what does not.

Every outside or forbidden change is also made by the same agent without the fence, or by a plain shell: a call that could
not have changed anything proves nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from ringfence.agents import registry
from tests.support import agent_run, offline, rigs
from tests.support.agent_run import Scenario, put, state
from tests.support.offline import Job

pytestmark = pytest.mark.e2e

START = os.path.join(agent_run.REPOSITORY, "src", "ringfence", "start.py")
_RIGS = (rigs.CLAUDE, rigs.CODEX, rigs.GEMINI, rigs.OPENCODE, rigs.PI, rigs.QWEN, rigs.COPILOT)
RIGS = {rig.name: rig for rig in _RIGS}
SHELLS = {
    "claude": {"Bash", "PowerShell", "Monitor", "REPL"},
    "codex": {"exec_command", "write_stdin", "shell", "local_shell"},
    "gemini": {"run_shell_command"},
    "opencode": {"bash"},
    "pi": {"bash", "powershell"},
    "qwen": {"run_shell_command"},
    "copilot": {"bash", "read_bash", "stop_bash", "write_bash", "powershell"},
}
EDITS = {
    "claude": {"Edit", "Write", "NotebookEdit"},
    "codex": set(),  # no flag removes apply_patch; hook and engine hold it
    "gemini": {"write_file", "replace"},
    "opencode": {"edit", "write", "apply_patch"},
    "pi": {"edit", "write"},
    "qwen": set(),  # excluding one would refuse redirections too; hook and engine hold them
    "copilot": {"edit", "create", "apply_patch"},
}
# Without the agent's own permission flags, which the table gives.
ARGS = {
    "claude": ("-p", "go"),
    "codex": rigs.CODEX.argv,
    "gemini": tuple(w for w in rigs.GEMINI.argv if w not in ("--approval-mode", "yolo")),
    "opencode": rigs.OPENCODE.argv,
    "pi": tuple(w for w in rigs.PI.argv if w != "--approve"),
    "qwen": tuple(w for w in rigs.QWEN.argv if w not in ("--approval-mode", "yolo")),
    "copilot": tuple(w for w in rigs.COPILOT.argv if w != "--allow-all-tools"),
}


@pytest.fixture(params=RIGS)
def rig(request):
    made = RIGS[request.param]
    if made.name not in registry.ROWS:
        pytest.skip(f"this build does not know {made.name}")
    if agent_run.program_of(made.package, made.command) is None:
        pytest.skip(f"{made.name} is not installed: run scripts/agents {made.package}")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    return made


@pytest.fixture
def stage(tmp_path):
    """E2E_UID: as root, run everything as this user instead, outside pytest's own folder, which he may not enter."""
    uid = os.environ.get("E2E_UID")
    if uid is None:
        yield _stage(str(tmp_path), None)
        return
    with tempfile.TemporaryDirectory(prefix="ringfence-e2e-") as root:
        os.chmod(root, 0o755)
        yield _stage(root, int(uid))


def _stage(root, uid):
    made = agent_run.make_stage(root, uid)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    put(f"{made.ws}/code.py", "VALUE = 1\n")
    put(f"{made.ws}/old.txt", "old\n")
    put(f"{made.ws}/test_code.py", SUITE)
    put(f"{made.ws}/.gitignore", "vendor/\n")
    env = {"HOME": made.home, "PATH": agent_run.SYSTEM_PATH, "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=made.ws, env=env, check=True)
    agent_run.plant(made, ())  # hands everything to the stage's user
    return made


SUITE = """import os, tempfile, unittest


class Suite(unittest.TestCase):
    def test_value(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "code.py")) as file:
            self.assertEqual(file.read(), "VALUE = 1\\n")

    def test_with_output_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "out.txt"), "w") as out:
                out.write("built")
            self.assertEqual(os.listdir(folder), ["out.txt"])
"""


def launched(rig, stage, words, calls):
    """The agent run by `ringfence launch`, as an unattended session: there is no terminal."""
    if not all(os.path.exists(stage.fill(path)) for path in rig.files):
        agent_run.settle(rig, stage)
    program = agent_run.program_of(rig.package, rig.command)
    env = agent_run.agent_env(rig, stage)
    env.pop("PYTHONPATH")
    env.pop("IS_SANDBOX", None)  # that is launch's to say
    env["PATH"] = f"{os.path.dirname(program)}{os.pathsep}{env['PATH']}"
    fence = ["--workspace", stage.ws, "--protect", stage.main]
    argv = [sys.executable, "-I", "-S", START, "launch", rig.name, *fence, *words, "--"]
    argv += [stage.fill(word) for word in ARGS[rig.name]]
    script = [
        [call.tool, {key: agent_run._filled(stage, given) for key, given in call.input.items()}]
        for call in calls
    ]
    job = Job(argv, env, stage.ws, script, model=rig.model, timeout=120, uid=stage.uid)
    outcome = offline.run_offline(job, stage.job)
    model = agent_run.model_of(rig)
    turns = [request for request in outcome.requests if model.offered(request)]
    last = turns[-1] if turns else {}
    run = agent_run.Run(outcome, model.results(last), model.context(last), tuple(model.offered(last)))
    assert outcome.exit == 0, (outcome.stdout[-2000:], outcome.stderr[-4000:])
    assert len(run.results) == len(script), (run.said, outcome.stderr[-2000:])
    return run, repr(outcome.requests)


def free(rig, stage, calls):
    """The same calls by the same agent with nothing around it."""
    program = agent_run.program_of(rig.package, rig.command)
    return agent_run.run_agent(rig, Scenario("free", tuple(calls)), stage, program, timeout=120)


def writes(rig, path, text):
    """A file tool's write, whatever the agent has for it."""
    if rig.write is not None:
        return rig.write(path, text)
    return rig.patch(f"*** Begin Patch\n*** Add File: {path}\n+{text.rstrip()}\n*** End Patch\n")


def leaves_nothing(stage):
    """No session of ours is left on the disk, and no file of the person's own was written."""
    sessions = os.path.join(stage.home, ".local/state/ringfence/sessions")
    assert not os.path.isdir(sessions) or os.listdir(sessions) == []


def settings_of(rig, stage):
    return {path: state(stage.fill(path)) for path in (*rig.files, "@home@/.bashrc")}


OUTSIDE = [
    # What the text does not tell: the engine alone can hold it.
    'P=@out@; python3 -c \'import sys; open(sys.argv[1], "w").write("x")\' "$P"/by-program',
    "printf 'all:\\n\\ttouch @out@/by-make\\n' > Makefile; make",
]


def test_power_works_inside_and_never_outside(rig, stage):
    inside = 'python3 -c \'open("by-program", "w").write("x")\'; echo made > "$TMPDIR"/t && cat "$TMPDIR"/t'
    calls = [*rig.shell(inside), *writes(rig, f"{stage.ws}/by-tool", "x\n")]
    outside = [call for command in OUTSIDE for call in rig.shell(command)]
    outside += [*writes(rig, f"{stage.out}/by-tool", "x\n"), *writes(rig, f"{stage.sib}/by-tool", "x\n")]
    agent_run.settle(rig, stage)
    mine = settings_of(rig, stage)
    before = {place: state(place) for place in (stage.out, stage.sib, stage.main)}
    run, requests = launched(rig, stage, [], [*calls, *outside])
    assert os.path.exists(f"{stage.ws}/by-program"), run.said
    assert os.path.exists(f"{stage.ws}/by-tool"), run.said
    assert "made" in run.results[0].text
    assert {place: state(place) for place in before} == before, run.said
    assert settings_of(rig, stage) == mine
    assert SHELLS[rig.name] & set(run.offered)
    assert "local commands are available for the active workspace" in requests
    assert "this session is unattended" in run.outcome.stderr
    leaves_nothing(stage)

    free(rig, stage, outside)
    for path in (
        f"{stage.out}/by-program",
        f"{stage.out}/by-make",
        f"{stage.out}/by-tool",
        f"{stage.sib}/by-tool",
    ):
        assert os.path.exists(path), f"unfenced, {path} is not written either: the test shows nothing"


def test_safe_has_no_shell(rig, stage):
    calls = [
        *rig.shell("echo x > by-shell"),
        *writes(rig, f"{stage.ws}/by-tool", "x\n"),
        *writes(rig, f"{stage.out}/by-tool", "x\n"),
    ]
    run, requests = launched(rig, stage, ["--mode", "safe"], calls)
    assert not SHELLS[rig.name] & set(run.offered)
    assert not os.path.exists(f"{stage.ws}/by-shell"), run.said
    assert os.path.exists(f"{stage.ws}/by-tool"), run.said
    assert not os.path.exists(f"{stage.out}/by-tool"), run.said
    assert "Do not use, offer or advertise a shell" in requests
    assert "local commands are available" not in requests
    leaves_nothing(stage)


WAYS = {
    "redirect": "echo x > new.txt",
    "append": "echo x >> code.py",
    "tee": "echo x | tee code.py",
    "in place": "sed -i s/1/2/ code.py",
    "interpreter": 'python3 -c \'open("code.py", "w")\'',
    "delete": "rm -f old.txt",
    "rename": "mv old.txt elsewhere.txt",
    "link": "ln -s code.py link.py",
    "hard link": "ln code.py second.py",
    "folder": "mkdir made",
    "mode": "chmod 777 code.py",
    "time": "touch -d 2001-01-01 code.py",
    "commit": "git -c user.name=t -c user.email=t@t commit --allow-empty -qm two",
    "branch": "git branch other",
    "by name": 'D=$(pwd); sh -c "echo x > $D/absolute.txt"',
    "in the background": "(sleep 0.2; echo x > late.txt) & wait",
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_changes_a_tree_that_nothing_holds(way, stage):
    """The attacks of the next test work: a plain shell, no agent, no fence."""
    before = state(stage.ws)
    subprocess.run(
        ["/bin/bash", "-c", WAYS[way]],
        cwd=stage.ws,
        env={"HOME": stage.home, "PATH": agent_run.SYSTEM_PATH},
        user=stage.uid,
        check=True,
    )
    assert state(stage.ws) != before


def test_a_reviewer_runs_the_suite_and_changes_nothing(rig, stage):
    agent_run.settle(rig, stage)  # some of its files stand in the workspace
    before = state(stage.ws)
    suite = rig.shell("python3 -m unittest -v test_code 2>&1; echo status $?")
    ways = [call for command in WAYS.values() for call in rig.shell(command)]
    tools = [*writes(rig, f"{stage.ws}/by-tool", "x\n")]
    if rig.edit is not None:
        tools += rig.edit(f"{stage.ws}/code.py", "VALUE = 1", "VALUE = 2")
    if rig.patch is not None:
        change = "*** Begin Patch\n*** Update File: code.py\n@@\n-VALUE = 1\n+VALUE = 2\n*** End Patch\n"
        tools += rig.patch(change)
    assert len(WAYS) + len(tools) >= 10
    run, requests = launched(rig, stage, ["--lane", "reviewer"], [*suite, *ways, *tools])
    assert "status 0" in run.results[0].text, run.results[0].text
    assert "Ran 2 tests" in run.results[0].text
    assert state(stage.ws) == before, run.said
    assert not EDITS[rig.name] & set(run.offered)
    assert SHELLS[rig.name] & set(run.offered)
    assert "You review and change nothing" in requests
    leaves_nothing(stage)


def test_the_edits_of_the_reviewer_land_without_the_lane(rig, stage):
    calls = [*writes(rig, f"{stage.ws}/by-tool", "x\n")]
    if rig.edit is not None:
        calls += rig.edit(f"{stage.ws}/code.py", "VALUE = 1", "VALUE = 2")
    run = free(rig, stage, calls)
    assert os.path.exists(f"{stage.ws}/by-tool"), run.said
    if rig.edit is not None:
        with open(f"{stage.ws}/code.py", encoding="utf-8") as file:
            assert file.read() == "VALUE = 2\n", run.said


def test_an_agent_that_is_not_there(stage):
    done = agent_run.ringfence(["launch", "claude", "--workspace", stage.ws, "--", "-p", "go"], stage)
    if shutil.which("claude", path=agent_run.SYSTEM_PATH):
        pytest.skip("this machine has a claude of its own")
    assert done.returncode == 2
    assert "claude is not on PATH" in done.stderr
