"""Layouts that real git made, and the lies that look like them."""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.model import Op
from ringfence.policy.evidence import Evidence
from ringfence.policy.git_layout import GitKind, config_value, inspect_git
from tests.support.policy_rig import Rig, resolve, verdict


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    git(rig, "main", "init", "-q", "-b", "trunk", ".")
    git(rig, "main", "commit", "-q", "--allow-empty", "-m", "one")
    return rig


def git(rig, where, *words):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": rig.path("home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    words = ("-c", "protocol.file.allow=always", *words)
    done = subprocess.run(
        ["git", "-C", rig.path(where), *words], env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def look(rig, where):
    return inspect_git(rig.path(where), Evidence(), resolve)


def test_no_repository(rig):
    assert look(rig, "ws").kind is GitKind.NONE


def test_an_ordinary_checkout(rig):
    layout = look(rig, "main")
    assert (layout.kind, layout.git_dir, layout.common_dir) == (
        GitKind.CHECKOUT,
        rig.path("main/.git"),
        rig.path("main/.git"),
    )


@pytest.mark.parametrize("relative", [False, True])
def test_a_linked_worktree_knows_its_repository_and_the_others_branches(rig, relative):
    git(rig, "main", "worktree", "add", "-q", rig.path("ws/tree"), "-b", "feature/x")
    git(rig, "main", "worktree", "add", "-q", rig.path("other"), "-b", "other")
    if relative:  # what git 2.48 writes with worktree.useRelativePaths
        rig.write("ws/tree/.git", "gitdir: ../../main/.git/worktrees/tree\n")
        rig.write("main/.git/worktrees/tree/gitdir", "../../../../ws/tree/.git\n")
    assert git(rig, "ws/tree", "branch", "--show-current") == "feature/x"
    layout = look(rig, "ws/tree")
    assert layout.kind is GitKind.WORKTREE
    assert layout.git_dir == rig.path("main/.git/worktrees/tree")
    assert layout.common_dir == rig.path("main/.git")
    assert layout.branch == "refs/heads/feature/x"
    assert layout.other_branches == ("refs/heads/other", "refs/heads/trunk")


def test_a_worktree_of_a_bare_repository_has_no_main_branch_to_respect(rig):
    git(rig, ".", "clone", "-q", "--bare", rig.path("main"), rig.path("bare.git"))
    git(rig, "bare.git", "worktree", "add", "-q", rig.path("tree"), "-b", "b")
    layout = look(rig, "tree")
    assert (layout.kind, layout.branch, layout.other_branches) == (GitKind.WORKTREE, "refs/heads/b", ())


def test_a_detached_worktree_has_no_branch(rig):
    git(rig, "main", "worktree", "add", "-q", "--detach", rig.path("tree"))
    assert look(rig, "tree").branch == ""


def test_a_submodule(rig):
    git(rig, ".", "clone", "-q", rig.path("main"), rig.path("super"))
    git(rig, "super", "submodule", "--quiet", "add", rig.path("main"), "lib/sub")
    layout = look(rig, "super/lib/sub")
    assert (layout.kind, layout.git_dir) == (GitKind.SUBMODULE, rig.path("super/.git/modules/lib/sub"))


def test_worktrees_beside_a_bare_folder(rig):
    git(rig, ".", "clone", "-q", "--bare", rig.path("main"), rig.path("ws/.bare"))
    rig.write("ws/.git", "gitdir: ./.bare\n")
    git(rig, "ws", "worktree", "add", "-q", rig.path("ws/tree"), "-b", "b")
    layout = look(rig, "ws")
    assert (layout.kind, layout.git_dir) == (GitKind.BARE, rig.path("ws/.bare"))
    assert look(rig, "ws/tree").kind is GitKind.WORKTREE
    policy = rig.policy(workspace=(".",))
    for name in (
        ".bare/hooks/pre-commit",
        ".bare/config",
        ".bare/worktrees/tree/commondir",
        "tree/.git",
        ".git",
    ):
        assert verdict(policy, Op.WRITE, rig.path(f"ws/{name}")) == "deny"
    for name in (
        ".bare/HEAD",
        ".bare/refs/heads/hooks",
        ".bare/worktrees/tree/index",
        "tree/a.py",
        "tree/config",
    ):
        assert verdict(policy, Op.WRITE, rig.path(f"ws/{name}")) == "allow"


def test_a_workspace_that_is_a_bare_repository(rig):
    git(rig, ".", "clone", "-q", "--bare", rig.path("main"), rig.path("b.git"))
    assert look(rig, "b.git").kind is GitKind.BARE
    policy = rig.policy(cwd="b.git", workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path("b.git/hooks/update")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("b.git/refs/heads/x")) == "allow"
    # Unfenced twin: the same names in a folder that is no repository are ordinary.
    assert (
        verdict(
            rig.policy(cwd="home", workspace=(rig.path("main"),)), Op.WRITE, rig.path("main/hooks/update")
        )
        == "allow"
    )


def test_what_a_disbelieved_pointer_names_is_guarded_all_the_same(tree):
    git(
        tree,
        ".",
        "clone",
        "-q",
        "--separate-git-dir",
        tree.path("tree/store"),
        tree.path("main"),
        tree.path("ws/c"),
    )
    tree.write("tree/.git", "gitdir: store\n")
    assert "store does not name this workspace" in broken(tree)
    policy = tree.policy(cwd="tree", workspace=(".",))
    assert verdict(policy, Op.WRITE, tree.path("tree/store/hooks/pre-commit")) == "deny"


# --- lies ------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(rig):
    git(rig, "main", "worktree", "add", "-q", rig.path("tree"), "-b", "b")
    assert look(rig, "tree").kind is GitKind.WORKTREE
    return rig


def broken(rig, where="tree"):
    layout = look(rig, where)
    assert layout.kind is GitKind.BROKEN
    assert (layout.git_dir, layout.common_dir, layout.other_branches) == ("", "", ())
    return rig.short(layout.problem)


@pytest.mark.parametrize("text", ["", "gitdir:\n", "nothing\n", "gitdir: \0x\n", "gitdir: " + "x" * 5000])
def test_a_pointer_that_points_nowhere(tree, text):
    tree.write("tree/.git", text)
    assert broken(tree) == "@/tree/.git holds no gitdir line"


def test_a_pointer_to_a_missing_folder(tree):
    tree.write("tree/.git", "gitdir: /nowhere\n")
    assert broken(tree) == "@/tree/.git names /nowhere, which is no folder"


def test_a_pointer_to_somebody_elses_worktree(tree):
    git(tree, "main", "worktree", "add", "-q", tree.path("other"), "-b", "other")
    tree.write("tree/.git", f"gitdir: {tree.path('main/.git/worktrees/other')}\n")
    # git itself believes the text: this is what asking both ways is for.
    assert git(tree, "tree", "branch", "--show-current") == "other"
    assert broken(tree) == "@/main/.git/worktrees/other/gitdir points at @/other/.git, not at this workspace"


def test_a_common_directory_that_does_not_own_the_worktree(tree):
    tree.write("main/.git/worktrees/tree/commondir", "../../../../elsewhere\n")
    os.makedirs(tree.path("elsewhere"))
    assert (
        broken(tree) == "@/main/.git/worktrees/tree is not below worktrees/ of the common directory it names"
    )


def test_a_pointer_to_a_plain_repository(tree):
    tree.write("tree/.git", f"gitdir: {tree.path('main/.git')}\n")
    assert broken(tree) == "@/main/.git does not name this workspace as its working tree"


def test_a_planted_commondir(tree):
    tree.write("main/.git/commondir", "/elsewhere\n")
    assert broken(tree, "main") == "@/main/.git holds a commondir file, which no ordinary checkout has"


def test_a_fifo_does_not_hang(tree):
    os.unlink(tree.path("tree/.git"))
    os.mkfifo(tree.path("tree/.git"))
    assert broken(tree) == "@/tree/.git: cannot be read: not a regular file"


def test_a_broken_layout_is_a_note_of_the_policy(tree):
    tree.write("tree/.git", "nothing\n")
    policy = tree.policy(cwd="tree", workspace=(".",))
    assert [tree.short(note) for note in policy.notes] == ["@/tree: @/tree/.git holds no gitdir line"]


# --- config ----------------------------------------------------------------------------------------------

VALUES = [
    ("[core]\n\thooksPath = a\n", "a"),
    ("[CORE]\nHOOKSPATH=a\n", "a"),
    ("[core] hookspath = a\n", "a"),
    ("[core]\nhookspath = a # c\n", "a"),
    ("[core]\nhookspath = a ; c\n", "a"),
    ('[core]\nhookspath = "a # b"\n', "a # b"),
    ('[core]\nhookspath = "a\\"b" c\n', 'a"b c'),
    ("[core]\nhookspath = a\\\nb\n", "ab"),
    ("[core]\nhookspath = a\\\\b\n", "a\\b"),
    ("[core]\nhookspath = a\n[other]\nhookspath = b\n", "a"),
    ("[core]\nhookspath = a\n[core]\nhookspath = b\n", "b"),
    ('[core "sub"]\nhookspath = a\n', ""),
    ("[core]\nhookspath\n", "true"),
    ("# [core]\nhookspath = a\n", ""),
    ("[core]\n# hookspath = a\n", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_config_values_as_git_reads_them(rig, text, value):
    path = rig.write("config", text)
    done = subprocess.run(
        ["git", "config", "-f", path, "--get", "core.hookspath"], capture_output=True, text=True
    )
    git_says = done.stdout.rstrip("\n")
    assert config_value(text.encode(), "core", "hookspath") == value
    assert git_says == ("" if value == "true" else value)
