"""The guards, asked through the real decision; each is also shown to matter: without it the write is allowed."""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.model import Audience, Op, ZoneKind
from ringfence.policy.guards import FILES_ONLY, GUARD_IDS, GUARDS, HELPER_IDS, PLACED, TEXT_ONLY, Hold
from tests.support.policy_rig import Rig, ask, verdict


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def sample(pattern: str) -> str:
    return pattern.replace("**", "x/y").replace("*", "z").replace("?", "q")


ROWS = [(guard.id, pattern) for guard in GUARDS for pattern in guard.patterns if guard.id not in FILES_ONLY]


@pytest.mark.parametrize(("guard", "pattern"), ROWS)
@pytest.mark.parametrize("depth", ["", "packages/a/"])
def test_a_guard_is_read_only_at_any_depth_and_can_be_switched_off(rig, guard, pattern, depth):
    path = rig.path(f"ws/{depth}{sample(pattern)}")
    policy = rig.policy(workspace=(".",))
    decision = ask(policy, Op.CREATE, path)
    assert (decision.verdict.value, decision.code) == ("deny", f"guard.{guard}")
    assert verdict(policy, Op.WRITE, f"{path}/deeper") == "deny"
    assert verdict(policy, Op.READ, path) == "allow"
    rig.user(f'unguard = ["{guard}"]')
    assert verdict(rig.policy(workspace=(".",)), Op.CREATE, path) == "allow"


EVERYDAY = [
    ".git/index",
    ".git/HEAD",
    ".git/refs/heads/main",
    ".git/refs/heads/hooks",
    ".git/info/exclude",
    ".git/COMMIT_EDITMSG",
    ".git/modules/lib/HEAD",
    ".git/worktrees/x/HEAD",
    ".github/workflows/ci.yml",
    ".claude/worktrees/x/a.py",
    ".claude/CLAUDE.md",
    ".opencode/plans/a.md",
    ".kiro/specs/a.md",
    ".vscode/extensions.json",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    "CLAUDE.md",
    "AGENTS.md",
    "hooks/a.py",
    "config",
    "modules/vpc/config",
    "src/settings.json",
    "ringfence.toml.md",
]


@pytest.mark.parametrize("path", EVERYDAY)
def test_everyday_files_are_not_guarded(rig, path):
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path(f"ws/{path}")) == "allow"


def test_a_git_folder_cannot_be_taken_away_but_its_pointer_file_is_only_itself_guarded(rig):
    os.makedirs(rig.path("ws/.git/hooks"))
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.RENAME, rig.path("ws/.git")) == "deny"
    assert verdict(policy, Op.DELETE, rig.path("ws/.git")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("ws/.git/index")) == "allow"
    rig.write("ws/sub/.git", "gitdir: ../.git/modules/sub\n")
    assert ask(policy, Op.WRITE, rig.path("ws/sub/.git")).code == "guard.git-pointer"
    rig.user('unguard = ["git-pointer"]')
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path("ws/sub/.git")) == "allow"


def test_what_the_pointer_guard_stops_really_runs_code(rig):
    """The attack, unfenced: a replaced .git file makes git run a program of the writer's choice."""
    os.makedirs(rig.path("ws/evil"))
    git = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": rig.path("home"), "PATH": os.environ["PATH"]}
    subprocess.run(["git", "init", "-q", rig.path("ws/evil")], check=True, env=git)
    rig.write("ws/evil/.git/config", f"[core]\n\tfsmonitor = touch {rig.path('ran')}; false\n")
    rig.write("ws/sub/.git", "gitdir: ../evil/.git\n")
    subprocess.run(["git", "-C", rig.path("ws/sub"), "status"], check=False, env=git, capture_output=True)
    assert os.path.exists(rig.path("ran"))


@pytest.mark.parametrize(("word", "answer"), [("guard", "deny"), ("vet", "deny"), ("open", "allow")])
def test_git_config_is_refused_to_text_doors_unless_open(rig, word, answer):
    rig.user(f'git_config = "{word}"')
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path("ws/.git/config")) == answer


@pytest.mark.parametrize(("word", "audience"), [("guard", Audience.ALL), ("vet", Audience.TEXT)])
def test_git_config_is_held_against_programs_only_if_asked(rig, word, audience):
    rig.user(f'git_config = "{word}"')
    globs = rig.policy(workspace=(".",)).globs
    assert {glob.audience for glob in globs if glob.rule.id == "git-config"} == {audience}
    mine = {"git-config", "git-modules-config"}
    assert {glob.rule.id for glob in globs if glob.audience is Audience.TEXT} - mine == TEXT_ONLY - mine


def test_guards_stand_in_write_zones_too(rig):
    rig.user(f'[[zone]]\npath = "{rig.path("main")}"\naccess = "write"\n')
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path("main/a")) == "allow"
    assert verdict(policy, Op.WRITE, rig.path("main/.git/hooks/pre-commit")) == "deny"


def test_one_pattern_for_nested_writable_trees(rig):
    os.makedirs(rig.path("ws/inner"))
    policy = rig.policy(workspace=(".", "inner"))
    assert {glob.base for glob in policy.globs} == {rig.path("ws")}


# --- placed guards ---------------------------------------------------------------------------------------


def test_own_folders_are_never_writable_even_inside_a_workspace(rig):
    policy = rig.policy(workspace=(rig.path("home"),))
    for folder in rig.folders:
        assert verdict(policy, Op.CREATE, f"{folder}/x") == "deny"
        assert verdict(policy, Op.READ, f"{folder}/x") == "allow"
    assert verdict(policy, Op.WRITE, rig.path("home/x")) == "allow"
    assert verdict(policy, Op.DELETE, rig.path("home/.config")) == "deny"


@pytest.mark.parametrize(
    "name",
    [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".codex/config.toml",
        ".gitconfig",
        ".config/git/config",
    ],
)
def test_the_users_settings_are_guarded_where_a_workspace_holds_the_home(rig, name):
    path = rig.path(f"home/{name}")
    assert ask(rig.policy(workspace=(rig.path("home"),)), Op.CREATE, path).verdict.value == "deny"
    rig.user('unguard = ["user-settings", "claude", "codex"]')
    assert verdict(rig.policy(workspace=(rig.path("home"),)), Op.CREATE, path) == "allow"
    rig.user("")
    assert not any(zone.rule.id == "user-settings" for zone in rig.policy(workspace=(".",)).zones)


def test_settings_behind_a_link_are_guarded_at_both_ends(rig):
    os.makedirs(rig.path("home/dotfiles/codex"))
    os.symlink("dotfiles/codex", rig.path("home/.codex"))
    policy = rig.policy(workspace=(rig.path("home"),))
    assert verdict(policy, Op.WRITE, rig.path("home/dotfiles/codex/config.toml")) == "deny"
    assert verdict(policy, Op.DELETE, rig.path("home/.codex")) == "deny"


def test_an_installation_inside_the_workspace_is_guarded_and_said(rig):
    os.makedirs(rig.path("ws/.venv/lib"))
    policy = rig.policy(workspace=(".",), installation=(rig.path("ws/.venv"), "/usr"))
    assert ask(policy, Op.WRITE, rig.path("ws/.venv/lib/x.py")).code == "guard.own-installation"
    assert policy.notes == (
        (
            "ringfence runs from inside a writable tree, so agents cannot change that installation; install it elsewhere"
            ' (pipx, uv tool), or write unguard = ["own-installation"]'
        ),
    )
    rig.user('unguard = ["own-installation"]')
    policy = rig.policy(workspace=(".",), installation=(rig.path("ws/.venv"),))
    assert policy.notes == ()
    assert verdict(policy, Op.WRITE, rig.path("ws/.venv/lib/x.py")) == "allow"


def test_a_policy_under_another_name_is_guarded(rig):
    rig.write("ws/fence/p.toml", "")
    policy = rig.policy(workspace=(".",), policy="fence/p.toml")
    assert ask(policy, Op.WRITE, rig.path("ws/fence/p.toml")).code == "guard.own-policy"
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path("ws/fence/p.toml")) == "allow"


@pytest.mark.parametrize(
    ("value", "path", "answer"),
    [
        (".githooks", "ws/.githooks/pre-commit", "deny"),
        (".husky/_", "ws/.husky/_/pre-commit", "deny"),
        ("../outside", "ws/x", "allow"),
        ("~/hooks", "ws/x", "allow"),
    ],
)
def test_the_folder_that_core_hookspath_names_is_guarded(rig, value, path, answer):
    rig.write("ws/.git/config", f"[core]\n\thooksPath = {value}\n")
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.CREATE, rig.path(path)) == answer
    placed = [zone.root for zone in policy.zones if zone.kind is ZoneKind.GUARD]
    assert placed == ([rig.path("ws/.githooks")] if value == ".githooks" else [])


# --- guarded names that are links ---


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        (".claude", "tools/claude", "tools/claude/settings.local.json"),
        (".claude", "tools/claude", "tools/claude/agents/a.md"),
        (".git/hooks", "../githooks", "githooks/pre-commit"),
        (".codex", "tools/codex", "tools/codex/config.toml"),
        (".mcp.json", "tools/mcp.json", "tools/mcp.json"),
        ("ringfence.toml", "tools/fence.toml", "tools/fence.toml"),
        (".git", "repo", "repo/hooks/pre-commit"),
    ],
)
def test_a_guard_stands_where_its_link_leads(rig, link, target, path):
    os.makedirs(os.path.dirname(rig.path(f"ws/{path}")), exist_ok=True)
    if path.endswith(("fence.toml", "mcp.json")):
        rig.write(f"ws/{path}")
    os.makedirs(os.path.dirname(rig.path(f"ws/{link}")), exist_ok=True)
    # Unfenced twin: as long as nothing links to it, it is an ordinary file.
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path(f"ws/{path}")) == "allow"
    os.symlink(target, rig.path(f"ws/{link}"))
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path(f"ws/{path}")) == "deny"
    assert any("runs through a link" in note for note in policy.notes)


def test_a_repository_behind_a_link_stays_usable(rig):
    os.makedirs(rig.path("ws/repo/hooks"))
    os.symlink("repo", rig.path("ws/.git"))
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path("ws/repo/index")) == "allow"
    assert verdict(policy, Op.WRITE, rig.path("ws/repo/config")) == "deny"
    held = {zone.root: zone.audience for zone in policy.zones if zone.kind is ZoneKind.GUARD}
    assert held[rig.path("ws/repo/hooks")] is Audience.ALL
    assert (
        held[rig.path("ws/repo/config")] is Audience.TEXT
    )  # git writes it, and no engine can tell git apart


def test_a_link_out_of_the_workspace_needs_no_guard(rig):
    os.symlink(rig.path("main"), rig.path("ws/.claude"))
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path("main/settings.json")) == "deny"
    assert policy.notes == ()


# --- the table -------------------------------------------------------------------------------------------


def test_the_table_is_consistent():
    assert len(set(GUARD_IDS)) == len(GUARDS) + len(PLACED) + len(HELPER_IDS)
    assert {"git-config", "git-modules-config", "git-rebase", "git-worktrees", "husky"} == TEXT_ONLY
    assert set(FILES_ONLY) <= set(GUARD_IDS)
    for guard in GUARDS:
        assert guard.why
        assert guard.patterns
        assert guard.hold in Hold
        for pattern in guard.patterns:
            assert not pattern.startswith("/")
            assert not any(part in ("", ".", "..") for part in pattern.split("/"))
