"""What is looked at after a fenced command: files that appeared where a guard stands, keys that name code.

No engine here: the test makes the changes itself, between the two looks.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.pipelines import pending
from ringfence.pipelines.aftermath import Watch
from ringfence.pipelines.placing import confinement, placed
from tests.support.policy_rig import Rig

CONFIG = "[core]\n\tbare = false\n"


@pytest.fixture(name="rig")
def _rig(tmp_path):
    return Rig(tmp_path)


def _watch(rig: Rig, **given) -> Watch:
    policy = rig.policy(workspace=(rig.path("ws"),), **given)
    return Watch(policy, confinement(policy), placed)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _moved(line: str) -> str:
    return line.partition("it was moved to ")[2].partition(" after the command ended")[0]


@pytest.mark.parametrize("name", [".mcp.json", ".codex/hooks.json", ".git/commondir", "ringfence.toml"])
def test_a_guarded_file_that_appeared_is_moved_and_kept(rig, name):
    rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    rig.write(f"ws/{name}", "evil")
    (line,) = watch.after()
    assert "did not exist before and is guarded (" in line
    assert not os.path.exists(rig.path(f"ws/{name}"))
    whole = _moved(line)
    assert whole.startswith(rig.folders.state + "/moved/")
    if os.path.isdir(whole):
        whole = os.path.join(whole, os.path.basename(name))
    assert _read(whole) == "evil"
    assert watch.after() == []


def test_a_link_that_appeared_is_moved_as_a_link(rig):
    watch = _watch(rig)
    target = rig.write("main/file", "x")
    os.symlink(target, rig.path("ws/.mcp.json"))
    (line,) = watch.after()
    assert not os.path.lexists(rig.path("ws/.mcp.json"))
    assert os.readlink(_moved(line)) == target
    assert _read(target) == "x"


def test_what_stood_there_before_and_what_nobody_guards_stays(rig):
    rig.write("ws/.mcp.json", "mine")
    watch = _watch(rig)
    rig.write("ws/.mcp.json", "changed by somebody else")
    rig.write("ws/src/a.py", "x")
    assert watch.after() == []
    assert _read(rig.path("ws/.mcp.json")) == "changed by somebody else"
    assert os.path.exists(rig.path("ws/src/a.py"))


def test_an_unguarded_name_may_appear(rig):
    rig.user('unguard = ["claude"]\n')
    watch = _watch(rig)
    rig.write("ws/.mcp.json", "mine")
    assert watch.after() == []
    assert os.path.exists(rig.path("ws/.mcp.json"))


def test_a_name_that_a_pattern_of_the_policy_covers(rig):
    rig.user(f'[[zone]]\npath = "{rig.path("ws")}/keys/*.pem"\naccess = "read"\n')
    rig.write("ws/keys/old.pem", "x")
    watch = _watch(rig)
    rig.write("ws/keys/new.pem", "y")
    rig.write("ws/keys/new.txt", "z")
    lines = watch.after()
    assert [os.path.basename(_moved(line)) for line in lines] == ["new.pem"]
    assert sorted(os.listdir(rig.path("ws/keys"))) == ["new.txt", "old.pem"]


def test_a_new_repository_keeps_what_git_makes_and_loses_hooks(rig):
    watch = _watch(rig)
    rig.write("ws/.git/config", CONFIG)
    for name in ("HEAD", "hooks/pre-commit.sample", "hooks/pre-commit", "info/exclude"):
        rig.write(f"ws/.git/{name}", "x")
    (line,) = watch.after()
    assert _moved(line).endswith("/ws/.git/hooks/pre-commit")
    assert sorted(os.listdir(rig.path("ws/.git"))) == ["HEAD", "config", "hooks", "info"]
    assert os.listdir(rig.path("ws/.git/hooks")) == ["pre-commit.sample"]


def test_what_cannot_be_moved_is_said_loudly(rig):
    watch = _watch(rig)
    rig.write("ws/.mcp.json", "evil")
    rig.write("home/.local/state/ringfence/moved", "a file where a folder should be")
    (line,) = watch.after()
    assert line.startswith(
        f"{rig.path('ws/.mcp.json')} was made, which the policy guards (claude), and could NOT be moved"
    )
    assert os.path.exists(rig.path("ws/.mcp.json"))


# --- .git/config -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "after",
    [
        CONFIG + "[user]\n\tname = a\n",
        CONFIG + '[remote "o"]\n\turl = https://x.invalid/\n[branch "m"]\n\tremote = o\n',
        CONFIG,
        "[core]\n\tbare = true\n",
        CONFIG + "# a comment\n",
    ],
)
def test_everyday_changes_stay(rig, after):
    path = rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    rig.write("ws/.git/config", after)
    assert watch.after() == []
    assert _read(path) == after


@pytest.mark.parametrize(
    ("after", "keys"),
    [
        (CONFIG + "[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
        (CONFIG + "[alias]\n\tx = !x\n[core]\n\thooksPath = x\n", "alias.x, core.hookspath"),
        (CONFIG + '[remote "o"]\n\turl = ext::sh -c x\n', "remote.o.url"),
        (CONFIG + "[include]\n\tpath = x\n", "include.path"),
        (CONFIG + "[user\n", "the file itself"),
        (CONFIG + "\0\n", "the file itself"),
    ],
)
def test_a_key_that_can_name_code_is_put_back(rig, after, keys):
    path = rig.write("ws/.git/config", CONFIG)
    os.chmod(path, 0o640)
    watch = _watch(rig)
    rig.write("ws/.git/config", after)
    os.chmod(path, 0o640)
    (line,) = watch.after()
    assert line.startswith(
        f"{path}: {keys} changed, which can name code that git runs: the whole file was put back"
    )
    assert _read(path) == CONFIG
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert os.listdir(os.path.dirname(path)) == ["config"]


def _gone(path: str) -> None:
    os.unlink(path)


def _linked(path: str) -> None:
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)


@pytest.mark.parametrize("change", [_gone, _linked])
def test_a_file_that_was_taken_away_or_replaced_is_put_back(rig, change):
    path = rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    change(path)
    (line,) = watch.after()
    assert "the file itself changed" in line
    assert not os.path.islink(path)
    assert _read(path) == CONFIG


def test_a_key_that_named_code_before_is_nobodys_business(rig):
    planted = CONFIG + "[core]\n\tfsmonitor = ./mine\n"
    path = rig.write("ws/.git/config", planted)
    watch = _watch(rig)
    rig.write("ws/.git/config", planted + "[user]\n\tname = a\n")
    assert watch.after() == []
    rig.write("ws/.git/config", CONFIG)
    (line,) = watch.after()
    assert "core.fsmonitor changed" in line
    assert _read(path) == planted


@pytest.mark.parametrize("word", ["open", "guard"])
def test_other_words_of_the_policy_look_at_nothing(rig, word):
    rig.user(f'git_config = "{word}"\n')
    rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    rig.write("ws/.git/config", CONFIG + "[core]\n\tfsmonitor = ./x\n")
    assert watch.after() == []


PADDING = "".join(f'[branch "b{i}"]\n\tremote = origin\n' for i in range(50_000))


def test_padding_hides_nothing(rig):
    path = rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    lead = CONFIG + PADDING[:500_000].rpartition("[")[0]
    lead += "#" * ((1 << 20) - len(lead) - 1) + "\n"
    rig.write("ws/.git/config", lead + "[core]\n\tfsmonitor = ./x\n")
    assert len(watch.after()) == 1
    assert _read(path) == CONFIG


def test_a_large_config_is_put_back_whole(rig):
    path = rig.write("ws/.git/config", CONFIG + PADDING)
    watch = _watch(rig)
    rig.write("ws/.git/config", CONFIG + PADDING + "[core]\n\tfsmonitor = ./x\n")
    assert len(watch.after()) == 1
    assert _read(path) == CONFIG + PADDING


# --- a tree that the agent rearranged: we are unfenced, and must not be led anywhere ------------------------


@pytest.mark.parametrize("name", [".claude", ".vscode", ".github", ".pi"])
def test_a_planted_link_leads_nowhere(rig, name):
    """The link is what appeared, and what is moved; what it points at stays where it is."""
    for child in ("settings.json", "hooks/x", "tasks.json", "skills/y"):
        rig.write(f"main/agent/{child}", "mine")
    watch = _watch(rig)
    os.symlink(rig.path("main/agent"), rig.path(f"ws/{name}"))
    lines = watch.after()
    assert all(os.path.islink(_moved(line)) for line in lines)
    assert len(lines) == 1
    assert not os.path.lexists(rig.path(f"ws/{name}"))
    for child in ("settings.json", "hooks/x", "tasks.json", "skills/y"):
        assert _read(rig.path(f"main/agent/{child}")) == "mine"


def test_a_link_of_the_owners_is_not_followed_or_moved(rig):
    rig.write("main/agent/other", "mine")
    os.symlink(rig.path("main/agent"), rig.path("ws/.pi"))
    watch = _watch(rig)
    rig.write("main/agent/settings.json", "by the owner, meanwhile")
    watch.after()
    assert os.path.islink(rig.path("ws/.pi"))
    assert os.path.exists(rig.path("main/agent/settings.json"))


def test_a_swapped_git_folder_is_never_written_through(rig):
    rig.write("ws/.git/config", CONFIG)
    rig.write("main/.git/config", "theirs")
    watch = _watch(rig)
    os.rename(rig.path("ws/.git"), rig.path("ws/x"))
    os.symlink(rig.path("main/.git"), rig.path("ws/.git"))
    (line,) = watch.after()
    assert "no longer the folder that stood there" in line
    assert _read(rig.path("main/.git/config")) == "theirs"
    assert not os.path.lexists(rig.path("ws/.git"))
    assert _read(rig.path("ws/x/config")) == CONFIG


def test_a_new_repository_may_not_be_somebody_elses(rig):
    rig.write("main/.git/hooks/pre-commit", "theirs")
    watch = _watch(rig)
    os.symlink(rig.path("main/.git"), rig.path("ws/.git"))
    (line,) = watch.after()
    assert "git-pointer" in line
    assert _read(rig.path("main/.git/hooks/pre-commit")) == "theirs"


def test_a_new_repository_names_no_code(rig):
    watch = _watch(rig)
    rig.write("ws/.git/config", CONFIG + '[core]\n\tfsmonitor = ./x\n[user]\n\tname = a "b\n')
    rig.write("ws/.git/info/attributes", "* filter=x")
    assert len(watch.after()) == 2
    assert "fsmonitor" not in _read(rig.path("ws/.git/config"))
    assert not os.path.exists(rig.path("ws/.git/info/attributes"))


def test_a_config_that_became_a_folder_is_put_back(rig):
    path = rig.write("ws/.git/config", CONFIG)
    watch = _watch(rig)
    os.unlink(path)
    rig.write("ws/.git/config/a", "x")
    (line,) = watch.after()
    assert "put back" in line
    assert _read(path) == CONFIG


def test_what_a_background_job_changed_between_two_commands_is_said(rig):
    path = rig.write("ws/.git/config", CONFIG)
    first = _watch(rig)
    first.begin()
    assert first.after() == []
    rig.write("ws/.git/config", CONFIG + "[core]\n\tfsmonitor = ./x\n")
    watch = _watch(rig)
    watch.begin()
    (line,) = watch.after()
    assert "core.fsmonitor changed since the last fenced command ended" in line
    assert "fsmonitor" in _read(path)  # it may have been the owner: said, not put back
    assert _watch(rig).after() == []


# --- a watcher that was killed ---------------------------------------------------------------------------


def test_the_next_command_looks_in_the_place_of_a_watcher_that_is_gone(rig, monkeypatch):
    path = rig.write("ws/.git/config", CONFIG)
    policy = rig.policy(workspace=(rig.path("ws"),))
    wanted = confinement(policy)
    watch = Watch(policy, wanted, placed)
    watch.begin()
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(pending, "getpid", lambda: gone.pid)
    pending.begin(policy, watch)
    monkeypatch.undo()
    rig.write("ws/.mcp.json", "evil")
    rig.write("ws/.git/config", CONFIG + "[core]\n\tfsmonitor = ./x\n")
    lines = pending.recover(policy, wanted)
    assert len(lines) == 2
    assert all("whose watcher was killed" in line for line in lines)
    assert not os.path.exists(rig.path("ws/.mcp.json"))
    assert _read(path) == CONFIG
    assert pending.recover(policy, wanted) == []


def test_a_killed_command_of_another_workspace_keeps_its_record_for_the_next_one_there(rig, monkeypatch):
    rig.write("other/.git/config", CONFIG)
    theirs, mine = rig.policy(workspace=(rig.path("other"),)), rig.policy(workspace=(rig.path("ws"),))
    watch = Watch(theirs, confinement(theirs), placed)
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(pending, "getpid", lambda: gone.pid)
    pending.begin(theirs, watch)
    monkeypatch.undo()
    rig.write("other/.mcp.json", "evil")
    assert pending.recover(mine, confinement(mine)) == []
    (line,) = pending.recover(theirs, confinement(theirs))
    assert "other/.mcp.json" in line
    assert not os.path.exists(rig.path("other/.mcp.json"))


def test_a_record_that_was_being_written_is_swept_once_its_writer_is_gone(rig):
    policy = rig.policy(workspace=(rig.path("ws"),))
    folder = f"{policy.folders.state}/pending"
    gone = subprocess.Popen(["true"])
    gone.wait()
    os.makedirs(folder)
    for name in (f"{gone.pid}.new", f"{os.getppid()}.new"):
        open(f"{folder}/{name}", "w").close()
    assert pending.recover(policy, confinement(policy)) == []
    assert os.listdir(folder) == [f"{os.getppid()}.new"]


def test_a_watcher_that_lives_is_left_alone(rig, monkeypatch):
    policy = rig.policy(workspace=(rig.path("ws"),))
    wanted = confinement(policy)
    watch = Watch(policy, wanted, placed)
    monkeypatch.setattr(pending, "getpid", os.getppid)
    pending.begin(policy, watch)
    monkeypatch.undo()
    rig.write("ws/.mcp.json", "mine")
    assert pending.recover(policy, wanted) == []
    assert pending.others_run(policy)


@pytest.mark.parametrize(
    "layout",
    [
        ("ws/.bare/config", "ws/.bare/HEAD", "ws/.git=gitdir: ./.bare"),
        ("ws/.git/config", "ws/.git/modules/s/config"),
        ("ws/config", "ws/HEAD", "ws/objects/x"),
    ],
)
def test_every_repository_of_a_workspace_is_vetted(rig, layout):
    for item in layout:
        name, _, text = item.partition("=")
        rig.write(name, text or CONFIG)
    target = next(name for name in reversed(layout) if name.endswith("config"))
    watch = _watch(rig)
    rig.write(target, CONFIG + "[core]\n\tfsmonitor = ./x\n")
    (line,) = watch.after()
    assert "core.fsmonitor changed" in line
    assert _read(rig.path(target)) == CONFIG


def test_a_push_to_a_repository_of_the_agents_is_code(rig):
    path = rig.write("ws/.git/config", CONFIG)
    rig.write("ws/evil/hooks/pre-receive", "x")
    for url in ("./evil", rig.path("ws/evil"), f"file://{rig.path('ws/evil')}"):
        watch = _watch(rig)
        rig.write("ws/.git/config", CONFIG + f'[remote "o"]\n\tpushurl = {url}\n')
        (line,) = watch.after()
        assert "remote.o.pushurl" in line
        assert _read(path) == CONFIG
    watch = _watch(rig)
    rig.write("ws/.git/config", CONFIG + f'[remote "o"]\n\turl = {rig.path("main")}\n')
    assert watch.after() == []
