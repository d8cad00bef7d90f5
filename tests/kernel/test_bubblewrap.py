"""Where only bubblewrap may make namespaces it makes the mounts; where not even it may, Landlock holds and says the loss.

The closed system is a filter that refuses our own way in, unshare(2) of a user and a mount namespace at once. bubblewrap
comes in by clone(2): as one that an AppArmor profile lets through by name. With pivot_root refused it fails as well.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.enforce import bubblewrap
from tests.support import users
from tests.support.product import HAS_MOUNTS, HERE, TIMEOUT, Product

pytestmark = [
    pytest.mark.skipif(not HAS_MOUNTS, reason=str(HERE.why_not)),
    pytest.mark.skipif(
        "user" not in users.names(), reason="needs root and a second account: root is not fenced so"
    ),
]
needs_bwrap = pytest.mark.skipif(not bubblewrap.find(), reason="bubblewrap is not installed")
needs_landlock = pytest.mark.skipif(not HERE.landlock, reason=dict(HERE.why_not).get("landlock", ""))


CLOSED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ringfence.kernel import landlock, seccomp
more = tuple(seccomp.Refusal(name, 1) for name in sys.argv[2].split(",") if name)
landlock.no_new_privs()
seccomp.install((seccomp.Refusal("unshare", 1, 0, (0x10020000,)), *more))
os.execvp(sys.argv[3], sys.argv[3:])
"""


@pytest.fixture(name="closed")
def _closed():
    """The product on a system where a user's unshare(2) is refused."""
    with users.someone("user") as who, users.open_folder(who) as base:
        product = Product(base, f"{who.checkout}/src/ringfence/start.py", who.python, who.popen())
        product.hidden = [who.python, "-I", "-c", CLOSED, f"{who.checkout}/src", ""]
        for name, text in (
            ("ws/.git/hooks/pre-commit", "original"), ("ws/.env", "secret"), ("ws/main/code", "original"), ("out/f", "original"),
            ("ws/.claude/settings.json", "{}"), ("home/.config/ringfence/ringfence.toml", '[[zone]]\npath = "**/.env"\naccess = "none"\n'),
        ):  # fmt: skip
            product.write(name, text)
        subprocess.run(["git", "init", "-q", product.ws], check=True)
        subprocess.run(["chown", "-R", f"{who.uid}:{who.gid}", base], check=True)
        yield product


def run(product, text, *options, door="run"):
    flags = ["--workspace", product.ws, *options]
    rest = ["--", "bash", "-c", text] if door == "run" else ["-c", text]
    words = [*product.hidden, *product.words(door, *flags, *rest)]
    return subprocess.run(
        words, cwd=product.ws, env=product.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIMEOUT, check=False, **product.popen,
    )  # fmt: skip


ATTACKS = {
    "write outside": ("echo evil > ../out/f", "out/f"),
    "hook": ("echo evil > .git/hooks/pre-commit", "ws/.git/hooks/pre-commit"),
    "git away": ("mv .git old; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit", "ws/.git/hooks/pre-commit"),
    "settings": ("echo evil > e; mv -f e .claude/settings.json", "ws/.claude/settings.json"),
    "protected": ("echo evil > main/code; mv main m2", "ws/main/code"),
    "shadow": ("find /dev/.ringfence; echo evil > /dev/.ringfence/0/.git/hooks/pre-commit", "ws/.git/hooks/pre-commit"),
    "undo": ("umount -l .git/hooks; mount -o remount,bind,rw .git/hooks; echo evil > .git/hooks/pre-commit", "ws/.git/hooks/pre-commit"),
    "nested": ("unshare -rm sh -c 'umount .git/hooks; echo evil > .git/hooks/pre-commit'", "ws/.git/hooks/pre-commit"),
}  # fmt: skip


@needs_bwrap
@pytest.mark.parametrize("name", ATTACKS)
def test_the_mounts_hold(closed, name):
    how, target = ATTACKS[name]
    with open(closed.path(target), encoding="utf-8") as file:
        before = file.read()
    done = run(closed, f"touch ran; {how}", "--protect", f"{closed.ws}/main")
    assert os.path.exists(closed.path("ws/ran")), done
    assert "Landlock alone" not in done.stderr
    with open(closed.path(target), encoding="utf-8") as file:
        assert file.read() == before, done
    assert (
        sorted(os.listdir(closed.ws)) == [".claude", ".env", ".git", "main", "ran"] or name == "settings"
    ), done


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "shadow"])
def test_each_attack_works_without_a_fence(closed, name):
    """All but the one on the hidden copies, which only the fence makes."""
    how, target = ATTACKS[name]
    subprocess.run(["bash", "-c", how], cwd=closed.ws, env=closed.env, capture_output=True, **closed.popen)
    try:
        with open(closed.path(target), encoding="utf-8") as file:
            assert file.read() == "evil\n"
    except FileNotFoundError:
        assert name == "protected"


@needs_bwrap
def test_a_mask_hides_and_git_works(closed):
    done = run(
        closed,
        "cat .env; git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x && git log --oneline",
    )
    assert "secret" not in done.stdout
    assert done.stdout.endswith(" x\n"), done


@needs_bwrap
def test_the_report_says_who_made_the_mounts_and_what_is_lost(closed):
    done = run(closed, "true", "--report")
    assert f"held by mounts: mounts made by {bubblewrap.find()}, without Landlock on top" in done.stderr
    assert "kernel: git-hooks: " in done.stderr
    assert "not here: engine.abstract-sockets: " in done.stderr
    assert "signals sent to ringfence end the program" in done.stderr


@needs_bwrap
@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_exit_status_passes_through(closed, code):
    assert run(closed, f"exit {code}").returncode == code


@needs_landlock
def test_where_not_even_bubblewrap_may_landlock_takes_over_and_the_loss_is_said(closed):
    closed.hidden[-1] = "pivot_root"
    done = run(closed, "touch ran; echo evil > ../out/f", "--report")
    assert os.path.exists(closed.path("ws/ran")), done
    with open(closed.path("out/f"), encoding="utf-8") as file:
        assert file.read() == "original"
    assert "held by Landlock alone" in done.stderr
    assert "hook: git-hooks: " in done.stderr
    assert "Landlock cannot take back a part of a tree that it grants" in done.stderr
    assert "bubblewrap" in done.stderr
    refused = run(closed, "touch again", "--protect", f"{closed.ws}/main")
    assert refused.returncode == 3, refused
    assert not os.path.exists(closed.path("ws/again"))


def test_a_bwrap_of_somebody_else_is_never_taken(tmp_path, monkeypatch):
    mine = tmp_path / "bwrap"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o777)
    monkeypatch.setattr(bubblewrap, "PROGRAMS", (str(mine),))
    assert bubblewrap.find() == ""
    mine.chmod(0o755)
    assert bubblewrap.find() == str(mine)  # of root, who runs this test
    os.chown(mine, 12, 12)
    assert bubblewrap.find() == ""


@needs_bwrap
def test_the_repository_of_a_linked_worktree_stays_closed(closed):
    """The mounts engine shows a private layer there. Without one it must not become writable instead."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*", "-C", closed.ws]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True, **closed.popen)
    subprocess.run([*git, "worktree", "add", "-q", closed.path("wt")], check=True, **closed.popen)
    with open(closed.path("ws/.git/HEAD"), encoding="utf-8") as file:
        before = file.read()
    closed.ws = closed.path("wt")
    done = run(closed, "touch ran; echo evil > ../ws/.git/HEAD; touch ../ws/.git/refs/heads/evil", "--report")
    assert os.path.exists(closed.path("wt/ran")), done
    assert "mounts made by" in done.stderr
    with open(closed.path("ws/.git/HEAD"), encoding="utf-8") as file:
        assert file.read() == before
    assert not os.path.exists(closed.path("ws/.git/refs/heads/evil"))
