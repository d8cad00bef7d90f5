"""A linked worktree beyond the table: fences in fences, killed watchers, jobs left behind, whose ref is whose."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.kernel.mounts_world import needs_mounts
from tests.kernel.test_git_table import Place
from tests.support.users import open_folder

pytestmark = needs_mounts
COMMIT = "echo {0} > {0}; git add {0} && git commit -qm {0}"


@pytest.fixture(name="place", scope="module")
def _place(who):
    with open_folder(who) as base:
        yield Place(who, base, "linked")


@pytest.fixture(autouse=True)
def _fresh(place):
    place.fresh()


def _layers(place):
    folder = f"{place.base}/home/.local/state/ringfence/git-layers"
    return os.listdir(folder) if os.path.isdir(folder) else []


def _tip(place, ref="HEAD"):
    return place.sh(f"git log -1 --format=%s {ref}").stdout.strip()


def test_a_fence_in_a_fence(place):
    start = f"{place.who.python} -I -S {place.who.checkout}/src/ringfence/start.py"
    done = place.fenced(f"{start} run --workspace $W -- sh -c '{COMMIT.format('deep')}'", "auto")
    assert done.returncode == 0, done.stderr
    assert (_tip(place), _layers(place)) == ("deep", [])
    assert place.sh("git fsck && git status --short -uno | (! grep .)").returncode == 0


def test_a_commit_whose_watcher_was_killed_is_taken_over_by_the_next_start(place):
    done = place.fenced(COMMIT.format("kept") + "; kill -9 $PPID; sleep 5", "auto")
    assert done.returncode == -signal.SIGKILL
    assert _tip(place) == "first"
    assert len(_layers(place)) == 1
    assert place.fenced("true", "auto").returncode == 0
    assert (_tip(place), _layers(place)) == ("kept", [])
    assert place.sh("git fsck").returncode == 0


def test_a_commit_of_a_job_is_taken_over_by_a_later_start(place):
    job = f"(while ! test -e go; do sleep 0.05; done; {COMMIT.format('job')}; : > done) >/dev/null 2>&1 &"
    assert place.fenced(COMMIT.format("first-call") + "; " + job, "auto").returncode == 0
    assert _tip(place) == "first-call"
    assert len(_layers(place)) == 1, "the job still uses it"
    place.sh(": > go")
    for _ in range(200):
        if os.path.exists(f"{place.x}/ws/done"):
            break
        time.sleep(0.05)
    assert _tip(place) == "first-call"
    for _ in range(200):
        assert place.fenced("true", "auto").returncode == 0
        if not _layers(place):
            break
        time.sleep(0.05)
    assert (_tip(place), _layers(place)) == ("job", [])
    assert place.sh("git fsck").returncode == 0


def test_its_own_branch_may_be_rewound_and_a_foreign_one_only_gone_forward(place):
    done = place.fenced("git commit -q --amend -m amended", "auto")
    assert (_tip(place), done.stderr) == ("amended", "")
    place.fenced("git switch -q loose", "auto")
    done = place.fenced("git commit -q --allow-empty -m forward", "auto")
    assert (_tip(place, "loose"), done.stderr) == ("forward", "")
    done = place.fenced("git commit -q --amend --allow-empty -m rewound", "auto")
    assert _tip(place, "loose") == "forward"
    assert "not by going forward" in done.stderr
    kept = place.sh("git for-each-ref --format='%(contents:subject)' refs/ringfence/kept").stdout.strip()
    assert kept == "rewound"


def test_a_ref_that_its_owner_moved_meanwhile_is_not_moved_back(place):
    meanwhile = "touch here; while ! test -e go; do sleep 0.05; done; "
    import threading

    def owner():
        while not os.path.exists(f"{place.x}/ws/here"):
            time.sleep(0.02)
        place.sh("git -C $B/main update-ref refs/heads/wt $(git commit-tree -m owner HEAD^{tree}); touch go")

    thread = threading.Thread(target=owner)
    thread.start()
    done = place.fenced(
        "old=$(git rev-parse HEAD); " + meanwhile + "git commit -q --allow-empty -m mine", "auto"
    )
    thread.join()
    assert _tip(place, "wt") == "owner" or "mine" in place.sh("git log --format=%s wt").stdout
    if _tip(place, "wt") == "owner":
        assert "not by going forward" in done.stderr


def test_what_the_owner_does_with_the_worktrees_branch_later_is_his(place):
    """A branch that was not its own stays so, whatever HEAD says at the next start."""
    place.fenced("git symbolic-ref HEAD refs/heads/loose", "auto")
    done = place.fenced("git update-ref refs/heads/loose $(git commit-tree -m x HEAD^{tree})", "auto")
    assert _tip(place, "loose") == "first"
    assert "not taken over" in done.stderr


def test_the_stash_is_refused_with_the_reason_and_nothing_is_lost(place):
    start = [place.who.python, "-I", "-S", f"{place.who.checkout}/src/ringfence/start.py"]
    done = place.sh(" ".join([*start, "shell", "--workspace", "$W", "-c", "'echo z > a; git stash'"]))
    assert done.returncode == 1
    assert "one stack with the main checkout's" in done.stderr
    done = place.fenced("echo z > a; git stash", "auto")
    assert done.returncode != 0
    assert "one stack with the main checkout's" in done.stderr
    assert place.sh("cat a").stdout == "z\n"
    # Also for who clears the lock away, or tries to.
    done = place.fenced("rm -rf $C/refs/stash.lock; echo z > a; git stash", "auto")
    assert done.returncode != 0
    assert place.sh("cat a").stdout == "z\n"


def test_a_guarded_file_that_is_tracked_is_never_silently_apart(place):
    done = place.fenced("git switch -q --detach upstream", "auto")
    assert place.sh("cat .mcp.json").stdout == "old\n"
    assert "git commit -a` would take the change back" in done.stderr
    assert f"git -C {place.x}/ws restore -- .mcp.json" in done.stderr
    assert (
        place.sh(f"git -C {place.x}/ws restore -- .mcp.json && git status --short | (! grep .)").returncode
        == 0
    )
    done = place.fenced("echo b > b; git add b; git commit -qm b", "auto")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("git switch -q --detach upstream", True),
        ("cd . && git merge -q upstream", True),
        ("git rebase upstream", True),
        ("git reset -q --hard upstream; true", True),
        ("git checkout -q --detach upstream", True),
        ("git switch -q other", False),
        ("git merge -q -m m ahead", False),
        ("git switch -q -c mine upstream~1", False),
        ("git checkout -q upstream -- a", False),
    ],
)
def test_a_command_that_would_change_a_guarded_tracked_file_does_not_start(place, text, refused):
    start = f"{place.who.python} -I -S {place.who.checkout}/src/ringfence/start.py"
    before = place.sh("git rev-parse HEAD; git symbolic-ref -q HEAD; git status --short").stdout
    done = place.sh(f"{start} shell --workspace $W -c '{text}'")
    if refused:
        assert done.returncode == 1
        assert "would change .mcp.json, which git tracks and the policy guards" in done.stderr
        assert place.sh("git rev-parse HEAD; git symbolic-ref -q HEAD; git status --short").stdout == before
    else:
        assert done.returncode == 0, done.stderr
