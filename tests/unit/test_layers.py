"""Where a layer lies, sizes, records, and reading back: what needs no kernel."""

from __future__ import annotations

import os

import pytest

from ringfence.errors import UsageError
from ringfence.model import Change, ChangeKind, Entry, Folders, Verdict
from ringfence.pipelines import layers
from ringfence.pipelines.fence import Fence
from ringfence.pipelines.layer_judge import Judge
from ringfence.pipelines.layer_tree import remove_tree
from ringfence.pipelines.session import with_session
from ringfence.render import changes as render

GIB = 1 << 30


@pytest.mark.parametrize(
    ("wanted", "size", "available", "kernel", "on", "bytes_"),
    [
        ("auto", 0, 8 * GIB, "6.18.1-x", "memory", 4 * GIB),
        ("auto", 0, 8 * GIB, "6.5.0", "disk", 10 * GIB),  # tmpfs keeps no user attributes before 6.6
        ("auto", 0, GIB // 4, "6.18.1", "disk", 10 * GIB),
        ("auto", 6 * GIB, 8 * GIB, "6.18.1", "disk", 6 * GIB),  # more than half of the memory was asked for
        ("auto", GIB, 8 * GIB, "6.18.1", "memory", GIB),
        ("memory", 0, GIB // 4, "6.18.1", "memory", GIB // 8),
        ("disk", 0, 8 * GIB, "6.18.1", "disk", 10 * GIB),
        ("auto", 0, 8 * GIB, "strange", "disk", 10 * GIB),
    ],
)
def test_where_a_layer_lies(wanted, size, available, kernel, on, bytes_):
    found = layers.choose(wanted, size, available, 20 * GIB, kernel)
    assert (found.on, found.size) == (on, bytes_)
    assert found.why


def test_a_misspelt_place_is_an_error():
    with pytest.raises(UsageError):
        layers.choose("ram", 0, GIB, GIB, "6.18")


@pytest.mark.parametrize(
    ("text", "size"), [("512M", 512 << 20), ("2GiB", 2 << 30), ("1048576", 1 << 20), ("7k", 7168)]
)
def test_sizes(text, size):
    assert layers.read_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "12Q", "-1", "0", "1.5G", "2GG"])
def test_no_sizes(text):
    with pytest.raises(UsageError):
        layers.read_size(text)


def test_a_record_survives_and_a_foreign_folder_is_not_removed(tmp_path):
    folders = Folders(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    innocent = tmp_path / "innocent"
    innocent.mkdir()
    kept = layers.Kept(
        "try-999999999", 999999999, "1", "mnt:[1]", "ringfence-layer-x", str(innocent), {"number": 5}
    )
    layers.keep(folders, kept)
    found = layers.find(folders, kept.name)
    assert found._replace(data={}) == kept._replace(data={})
    assert found.data["number"] == 5
    assert not layers.lives(found)
    layers.sweep(folders)
    assert layers.names(folders) == []
    assert innocent.is_dir()


def test_a_record_that_was_cut_short_is_cleaned_up(tmp_path):
    folders = Folders("", str(tmp_path), str(tmp_path / "cache"), "")
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "r.1").write_text('{"owner": 1')
    layers.sweep(folders)
    assert layers.names(folders) == []


def test_a_record_whose_writer_was_killed_is_cleaned_up_and_a_living_ones_is_not(tmp_path):
    folders = Folders("", str(tmp_path), str(tmp_path / "cache"), "")
    (tmp_path / "layers").mkdir()
    gone, being_written = "try-5.999999999.new", f"try-5.{os.getpid()}.new"
    for name in (gone, being_written):
        (tmp_path / "layers" / name).write_text("{")
    assert layers.names(folders) == []
    layers.sweep(folders)
    assert os.listdir(tmp_path / "layers") == [being_written]


def test_our_own_process_lives(tmp_path):
    folders = Folders("", str(tmp_path), str(tmp_path / "cache"), "")
    kept = layers.of_process(folders, layers.Medium("memory", 1, ""))
    layers.keep(folders, kept)
    assert layers.lives(layers.find(folders, kept.name))
    layers.sweep(folders)
    assert layers.names(folders) == [kept.name]


def test_removing_a_tree_that_is_deep_and_closed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "f").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    here = os.dup(at)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.symlink(outside, "link", dir_fd=here)
    os.close(here)
    os.mkdir("closed", 0o000, dir_fd=at)
    remove_tree("top", os.open(tmp_path, os.O_RDONLY))
    os.close(at)
    assert not top.exists()
    assert (outside / "f").read_text() == "x"
    assert outside.stat().st_mode & 0o777 == 0o750


# ---- verdicts


def entry(kind="file", links=1, mode=0o644):
    return Entry(kind, 3, mode, 0, 0, 1, 1, 1, 1, links)


def judged(tmp_path, *changes):
    workspace = tmp_path / "ws"
    workspace.mkdir(exist_ok=True)
    policy = with_session(Fence(str(workspace), env={"HOME": str(tmp_path)}).policy, "s")
    return Judge(policy).all(Change(kind, f"{workspace}/{way}", *rest) for kind, way, *rest in changes)


def test_programs_rules_count_and_texts_do_not(tmp_path):
    made = judged(
        tmp_path,
        (ChangeKind.CHANGED, ".git/config", entry(), entry(), ("content",)),
        (ChangeKind.CREATED, ".git/hooks/pre-commit", None, entry()),
        (ChangeKind.CREATED, "src/a.py", None, entry()),
        (ChangeKind.CREATED, ".claude/settings.json", None, entry()),
    )
    assert [one.decision.verdict for one in made] == [
        Verdict.ALLOW,
        Verdict.DENY,
        Verdict.ALLOW,
        Verdict.DENY,
    ]


def test_templates_of_a_repository_made_just_now(tmp_path):
    made = judged(
        tmp_path,
        (ChangeKind.CREATED, "new/.git", None, entry("folder")),
        (ChangeKind.CREATED, "new/.git/hooks", None, entry("folder")),
        (ChangeKind.CREATED, "new/.git/hooks/pre-push.sample", None, entry()),
        (ChangeKind.CREATED, "new/.git/hooks/pre-push", None, entry()),
    )
    assert [one.decision.verdict for one in made] == [Verdict.ALLOW] * 3 + [Verdict.DENY]


def test_a_file_with_other_names_is_never_applied(tmp_path):
    made = judged(
        tmp_path,
        (ChangeKind.CHANGED, "a", entry(links=2), entry(), ("content",)),
        (ChangeKind.DELETED, "b", entry(links=2), None),
    )
    assert [one.decision.code for one in made] == ["layer.other-names", "allow.workspace"]


def test_a_rename_is_as_bad_as_its_worse_half(tmp_path):
    (one,) = judged(tmp_path, (ChangeKind.RENAMED, ".git/hooks/x", entry(), entry(), ()))
    assert one.decision.verdict is Verdict.DENY
    workspace = str(tmp_path / "ws")
    change = Change(ChangeKind.RENAMED, f"{workspace}/x", entry(), entry(), (), f"{workspace}/.git/hooks/x")
    policy = with_session(Fence(workspace, env={"HOME": str(tmp_path)}).policy, "s")
    assert Judge(policy).one(change).verdict is Verdict.DENY


def test_names_cannot_fool_a_terminal(tmp_path):
    made = judged(tmp_path, (ChangeKind.CREATED, "a\x1b[2Jb", None, entry()))
    assert "\x1b" not in "\n".join(render.lines(made, lambda path: path))
