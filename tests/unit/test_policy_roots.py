"""Where roots really lie: missing ones, links on the way, two spellings of one place."""

from __future__ import annotations

import os

import pytest

from ringfence.errors import PolicyError
from ringfence.model import Access, Op, ZoneKind
from ringfence.policy.roots import links_on_the_way
from tests.support.policy_rig import Rig, verdict


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def message(rig, **given):
    with pytest.raises(PolicyError) as caught:
        rig.load(**given)
    return rig.short(caught.value)


def test_a_missing_workspace_names_its_nearest_sibling(rig):
    os.makedirs(rig.path("ws/package"))
    rig.project('workspace = [\n  "pakage"]')
    assert message(rig) == (
        '@/ws/ringfence.toml:2:3: workspace "pakage" does not exist\n  did you mean @/ws/package?'
    )
    assert message(rig, workspace=("zzz",)) == (
        '--workspace: workspace "zzz" does not exist\n  create it, or correct the name; it would lie in @/ws'
    )
    assert message(rig, workspace=("no/such/one",)) == (
        '--workspace: workspace "no/such/one" does not exist\n  the part that exists is @/ws'
    )


def test_a_workspace_must_be_a_folder(rig):
    rig.write("ws/file", "")
    assert (
        message(rig, workspace=("file",))
        == '--workspace: workspace "file" is not a folder\n  name the folder: @/ws'
    )


def test_a_workspace_that_cannot_be_resolved(rig):
    os.symlink("loop", rig.path("ws/loop"))
    assert message(rig, workspace=("loop",)).startswith('--workspace: workspace "loop" cannot be resolved: ')


def test_the_root_of_the_machine_is_a_workspace_if_asked_for(rig):
    policy = rig.policy(workspace=("/",))
    assert policy.workspace == ("/",)
    assert verdict(policy, Op.WRITE, "/etc/x") == "allow"
    assert verdict(policy, Op.WRITE, rig.path("home/.config/ringfence/ringfence.toml")) == "deny"


def test_a_missing_protect_root_is_judged_by_its_name(rig):
    policy = rig.policy(workspace=(".",), protect=("later",))
    assert verdict(policy, Op.WRITE, rig.path("ws/later/x")) == "deny"
    assert verdict(policy, Op.CREATE, rig.path("ws/later")) == "deny"
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path("ws/later/x")) == "allow"


@pytest.mark.parametrize("root", ["/proc/self/cwd", "/proc/self/cwd/x", "/proc", "/dev/fd/0"])
def test_no_rule_may_lie_in_proc(rig, root):
    why = f'"{root}" lies in /proc, which means something else to every process'
    assert message(rig, workspace=(".",), protect=(root,)) == f"--protect: protect {why}"
    rig.user(f'[[zone]]\npath = "{root}"\naccess = "write"\n')
    assert f"zone {why}" in message(rig, workspace=(".",))


def test_roots_are_physical_and_known_by_both_names(rig):
    os.symlink(rig.path("ws"), rig.path("alias"))
    policy = rig.policy(cwd=".", workspace=("alias",))
    assert policy.workspace == (rig.path("ws"),)
    assert verdict(policy, Op.WRITE, rig.path("alias/x")) == "allow"


# --- links -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["../main", "@/main", "inner/../../main"])
def test_a_grant_may_not_run_through_a_link_that_an_agent_can_move(rig, target):
    os.makedirs(rig.path("ws/inner"))
    os.symlink(target.replace("@", rig.base), rig.path("ws/out"))
    rig.user(f'[[zone]]\npath = "{rig.path("ws/out")}"\naccess = "write"\n')
    assert message(rig, workspace=(".",)) == (
        '@/home/.config/ringfence/ringfence.toml:2:1: zone "@/ws/out" runs through the link @/ws/out, which lies in'
        " @/ws and leads out of it: an agent could point it elsewhere\n  name the folder itself: @/main"
    )
    # Unfenced twin: what the link leads to is whatever the agent made of it since.
    os.unlink(rig.path("ws/out"))
    os.symlink("/", rig.path("ws/out"))
    rig.user("")
    assert os.path.isdir(rig.path("ws/out/etc"))


def test_a_second_workspace_behind_a_link_in_the_first(rig):
    os.symlink("../main", rig.path("ws/out"))
    assert 'workspace "out" runs through the link @/ws/out' in message(rig, workspace=(".", "out"))


def test_a_link_behind_a_link_counts_too(rig):
    os.symlink("../main", rig.path("ws/second"))
    os.symlink(rig.path("ws/second"), rig.path("first"))
    rig.user(f'[[zone]]\npath = "{rig.path("first")}"\naccess = "write"\n')
    assert "runs through the link @/ws/second" in message(rig, workspace=(".",))


def test_links_that_stay_inside_or_lie_outside_are_fine(rig):
    os.makedirs(rig.path("ws/real"))
    os.symlink("real", rig.path("ws/inside"))
    os.symlink("main", rig.path("door"))
    rig.user(
        f'[[zone]]\npath = "{rig.path("ws/inside")}"\naccess = "write"\n[[zone]]\npath = "{rig.path("door")}"\naccess = "write"\n'
    )
    assert verdict(rig.policy(workspace=(".",)), Op.WRITE, rig.path("main/x")) == "allow"


def test_a_rule_that_takes_away_holds_the_link_in_place(rig):
    os.symlink("../main", rig.path("ws/main"))
    policy = rig.policy(workspace=(".",), protect=("main",))
    roots = [rig.short(zone.root) for zone in policy.zones if zone.kind is ZoneKind.PROTECT]
    assert roots == ["@/main", "@/ws/main"]
    assert verdict(policy, Op.DELETE, rig.path("ws/main")) == "deny"
    assert verdict(policy, Op.RENAME, rig.path("ws/main")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("ws/main/x")) == "deny"
    # Unfenced twin: without the rule the link could be moved.
    assert verdict(rig.policy(workspace=(".",)), Op.DELETE, rig.path("ws/main")) == "allow"


def test_two_spellings_of_one_place_with_different_access(rig):
    os.symlink("main", rig.path("alias"))
    rig.user(
        f'[[zone]]\npath = "{rig.path("main")}"\naccess = "none"\n[[zone]]\npath = "{rig.path("alias")}"\naccess = "write"\n'
    )
    assert message(rig) == (
        '@/home/.config/ringfence/ringfence.toml:5:1: "@/alias" (write) and "@/main" (none, line 2) are the same'
        " place: @/main\n  keep one of the two"
    )


def test_a_write_zone_may_not_mean_two_places(rig):
    os.makedirs(rig.path("main/deep"))
    os.symlink("main/deep", rig.path("link"))
    rig.user(f'[[zone]]\npath = "{rig.path("link/missing/../../x")}"\naccess = "write"\n')
    assert 'climbs with ".." out of a folder that does not exist' in message(rig)
    rig.user(f'[[zone]]\npath = "{rig.path("link/missing/../../x")}"\naccess = "none"\n')
    policy = rig.policy(workspace=(rig.path("."),))
    assert verdict(policy, Op.READ, rig.path("main/x")) == "deny"
    assert verdict(policy, Op.READ, rig.path("x")) == "deny"


def test_a_file_can_be_a_zone(rig):
    rig.write("main/log")
    rig.user(f'[[zone]]\npath = "{rig.path("main/log")}"\naccess = "write"\n')
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.WRITE, rig.path("main/log")) == "allow"
    assert verdict(policy, Op.WRITE, rig.path("main/log2")) == "deny"


def test_every_followed_link_is_listed_in_order(tmp_path):
    base = os.path.realpath(tmp_path)
    os.makedirs(f"{base}/d/e")
    os.symlink("d", f"{base}/a")
    os.symlink("../a/e", f"{base}/d/f")
    assert links_on_the_way(f"{base}/a/f/../missing") == [f"{base}/a", f"{base}/d/f", f"{base}/a"]
    os.symlink("loop", f"{base}/loop")
    assert len(links_on_the_way(f"{base}/loop")) == 41


# --- temp ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "granted"), [("private", False), ("none", False), ("shared", True)])
def test_the_systems_temp_folder_is_granted_only_if_shared(rig, word, granted):
    policy = rig.policy(workspace=(".",), settings=(("temp", word),))
    temp = [zone.root for zone in policy.zones if zone.kind is ZoneKind.TEMP]
    assert ("/tmp" in temp) is granted or any(rig.base.startswith(root) for root in ("/tmp", "/var/tmp"))


def test_a_shared_temp_that_holds_our_own_folders_or_the_home_is_left_out(rig):
    os.makedirs(rig.path("scratch"))
    for tmpdir, granted in (
        ("scratch", True),
        ("home", False),
        ("home/.config", False),
        (".", False),
        ("nowhere", False),
    ):
        policy = rig.policy(
            workspace=(".",), settings=(("temp", "shared"),), env={"TMPDIR": rig.path(tmpdir)}
        )
        roots = [
            zone.root for zone in policy.zones if zone.kind is ZoneKind.TEMP and zone.access is Access.WRITE
        ]
        assert (rig.path(tmpdir) in roots) is granted
