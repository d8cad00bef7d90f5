"""Killed at every step: whatever we were putting right when SIGKILL came, the next start finishes, and nothing of ours
stays in the user's tree.

No hook in the product: a profile function in a child counts the calls that change a disk (by C function) and kills the
child before the k-th, for every k until one run ends by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from ringfence.pipelines import pending
from ringfence.pipelines.aftermath import Watch
from ringfence.pipelines.git_layer import finish, prepare, recover
from ringfence.pipelines.git_refs import value
from ringfence.pipelines.placing import confinement, placed
from tests.support.policy_rig import Rig

_MOST = 400  # steps; more is a loop
_CHANGING = frozenset(
    ("open", "write", "rename", "replace", "unlink", "mkdir", "rmdir", "link", "chmod", "fork_exec", "remove")
)
CONFIG = "[core]\n\tbare = false\n"


def _cut(work, steps: int) -> bool:
    """Run `work` in a child that dies before its `steps`-th change; whether it ended by itself."""
    child = os.fork()
    if child == 0:
        left = steps

        def count(_frame, event, called):
            nonlocal left
            if event == "c_call" and getattr(called, "__name__", "") in _CHANGING:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.setprofile(count)
            work()
            code = 0
        finally:
            sys.setprofile(None)
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"the child failed: {status}"
    return status == 0


@contextlib.contextmanager
def _uncounted():
    count = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(count)


def _each_step(begin, work, check) -> int:
    """`begin`, then `work` cut off at step k, then `check`, for every k; how many steps there were."""
    for steps in range(_MOST):
        begin()
        done = _cut(work, steps)
        check(steps)
        if done:
            return steps
    raise AssertionError("it never ends")


def _tree(top: str) -> dict[str, str]:
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found[os.path.relpath(os.path.join(folder, name), top)] = file.read()
    return found


def _wipe(rig: Rig) -> None:
    subprocess.run(["rm", "-rf", rig.path("ws"), rig.folders.state], check=True)
    os.makedirs(rig.path("ws"))
    os.makedirs(rig.folders.state)


PLANTED = {
    "a guarded file": {".mcp.json": "evil"},
    "several, in folders": {".codex/hooks.json": "evil", ".claude/hooks/x": "evil", ".git/commondir": "evil"},
    "a key in config": {".git/config": CONFIG + "[core]\n\tfsmonitor = ./x\n"},
    "all at once": {
        ".mcp.json": "evil",
        ".git/config": CONFIG + "[alias]\n\tst = !x\n",
        ".git/rebase-merge/git-rebase-todo": "exec evil\npick 1\n",
    },
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
def test_a_revert_that_is_cut_off_is_finished_by_the_next_start(tmp_path, planted):
    rig = Rig(tmp_path)
    kept = {"src/a": "mine", ".git/config": CONFIG, ".git/HEAD": "ref: refs/heads/main\n"}

    def begin() -> None:
        _wipe(rig)
        for name, text in kept.items():
            rig.write(f"ws/{name}", text)

    def work() -> None:
        with _uncounted():
            policy = rig.policy(workspace=(rig.path("ws"),))
        watch = Watch(policy, confinement(policy), placed)
        watch.begin()
        pending.begin(policy, watch)
        with _uncounted():  # what the fenced command does
            for name, text in planted.items():
                rig.write(f"ws/{name}", text)
        watch.after()
        pending.end(policy)

    def check(steps: int) -> None:
        policy = rig.policy(workspace=(rig.path("ws"),))
        journal = os.path.join(rig.folders.state, "pending")
        began = os.path.isdir(journal) and any(name.isdigit() for name in os.listdir(journal))
        ended = steps and not began and os.path.isdir(os.path.join(rig.folders.state, "moved"))
        pending.recover(policy, confinement(policy))
        tree = _tree(rig.path("ws"))
        if not began and not ended:
            # Cut off before the record stood, so no program had been started; or after all was done.
            tree = {name: text for name, text in tree.items() if name in kept or name not in planted}
        text = tree.pop(".git/rebase-merge/git-rebase-todo", "")
        assert not text.startswith("exec"), steps
        assert tree == kept, steps

    assert _each_step(begin, work, check) > 8


def _git(rig: Rig, where: str, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": rig.path("home"), "GIT_CONFIG_NOSYSTEM": "1"}
    names = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *names, *words], cwd=rig.path(where), env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_taking_over_that_is_cut_off_is_finished_by_the_next_start(tmp_path):
    """The layer is filled by hand as an overlay would be: new objects and refs as files in `upper`."""
    rig = Rig(tmp_path)

    _git(rig, "main", "init", "-q")
    _git(rig, "main", "commit", "-q", "--allow-empty", "-m", "first")
    os.rmdir(rig.path("ws"))
    _git(rig, "main", "worktree", "add", "-q", "-b", "wt", rig.path("ws"))
    _git(rig, ".", "clone", "-q", rig.path("main"), rig.path("other"))
    _git(rig, "other", "commit", "-q", "--allow-empty", "-m", "second")
    for name in ("main", "ws"):
        subprocess.run(["cp", "-a", rig.path(name), rig.path(f"{name}.template")], check=True)
    first, tip = _git(rig, "main", "rev-parse", "main"), _git(rig, "other", "rev-parse", "HEAD")

    def begin() -> None:
        for name in ("main", "ws"):
            subprocess.run(["rm", "-rf", rig.path(name), rig.folders.state], check=True)
            subprocess.run(["cp", "-a", rig.path(f"{name}.template"), rig.path(name)], check=True)
        os.makedirs(rig.folders.state)

    def work() -> None:
        with _uncounted():
            policy = rig.policy(workspace=(rig.path("ws"),))
        (layer,) = prepare(policy)
        upper = f"{layer.folder}/upper"
        with _uncounted():
            subprocess.run(["cp", "-r", rig.path("other/.git/objects"), upper], check=True)
            for name in ("wt", "fresh", "main"):
                rig.write(f"{upper}/refs/heads/{name}", f"{tip}\n")
        finish(policy, (layer,), (rig.path("ws"),), os.environ["PATH"])

    def check(steps: int) -> None:
        policy = rig.policy(workspace=(rig.path("ws"),))
        for _ in range(2):  # the second start finds nothing to do
            recover(policy, (rig.path("ws"),), os.environ["PATH"])
        layers = os.path.join(rig.folders.state, "git-layers")
        assert not os.path.isdir(layers) or os.listdir(layers) == [], steps
        common = os.open(rig.path("main/.git"), os.O_RDONLY)
        try:
            assert value(common, "refs/heads/main") == first
            assert value(common, "refs/heads/wt") in (first, tip)
            assert value(common, "refs/heads/fresh") in ("", tip)
            if value(common, "refs/heads/fresh"):
                assert value(common, "refs/heads/wt") == tip, "all or nothing of one transaction"
        finally:
            os.close(common)
        _git(rig, "main", "fsck", "--strict")
        assert sorted(os.listdir(rig.path("ws"))) == [".git"]

    assert _each_step(begin, work, check) > 20
