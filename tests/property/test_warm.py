"""Law: a batch's fence, which remembers folders, answers what the fence itself answers, whatever the tree.

Cold and warm: every question is asked three times, so that the second and third meet what the first one left.
"""

from __future__ import annotations

import contextlib
import os
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringfence.errors import PolicyError
from ringfence.model import Access, Glob, Op, Rule, Verdict, ZoneKind
from ringfence.pipelines import warm
from ringfence.pipelines.fence import Fence
from ringfence.pipelines.warm import WarmFence
from tests.property.test_resolvers import ENDS, TEXTS, plant, trees
from tests.support.cases import raw, wipe

GUARDED = st.sampled_from(
    ["p", "p/x", ".git/hooks/x", ".git", "a/.git/config", ".claude/settings.json", "b/x.env", "secret-1/k"]
)
OUTSIDE = st.sampled_from(["/etc/passwd", "/dev/null", "/proc/self/cwd/x", "/proc/1/root", "/", "/dev/x/y"])
ODD = st.sampled_from(
    ["", "~", "~/x", "~root/x", "~nobody-here/x", "file:///etc/x", "http://h/p", "a://b/c/d", "x\0y", "a\0/b",
     "d\udcff/e", "l\ud800/x", "n" * 300 + "/x", "x/" + "n" * 256, ("y" * 200 + "/") * 25 + "z", "ä" * 130]
)  # fmt: skip
ASKED = st.one_of(TEXTS, TEXTS, TEXTS, GUARDED, OUTSIDE, ODD, st.builds("{}{}".format, GUARDED, ENDS))
LINKS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return os.path.realpath(tmp_path_factory.mktemp("w"))


def fence(root, protected, reads, wild):
    made = Fence(root + "/a", protected, reads=reads, home=root + "/b", env={}, temp="none", cwd=root + "/a")
    if not wild:
        return made
    rule = Rule("wild", "test")
    globs = (
        Glob(root + "/a", True, ("*.env",), Access.NONE, ZoneKind.ZONE, rule),
        Glob(root + "/a", True, ("secret-*", "?"), Access.READ, ZoneKind.ZONE, rule),
    )
    return made.with_policy(made.policy._replace(globs=made.policy.globs + globs))


@settings(max_examples=150, deadline=None)
@example(tree=[(0, "b", None), (1, "c", "")], hard=[("a/x", "b/c")], protected=True, reads="workspace", wild=False,
         asked=["x", "../b/c", "./x", "p", "p/x"])  # fmt: skip
@example(tree=[(1, "b", "@/b"), (0, "b", None)], hard=[], protected=False, reads="workspace", wild=True,
         asked=["b/x", "b/x", "b/missing/../y", "b"])  # fmt: skip
@given(
    tree=trees(),
    hard=LINKS,
    protected=st.booleans(),
    reads=st.sampled_from(["workspace", "anywhere"]),
    wild=st.booleans(),
    asked=st.lists(ASKED, min_size=1, max_size=8),
)
def test_warm_and_plain_agree(base, tree, hard, protected, reads, wild, asked):
    root = tempfile.mkdtemp(dir=base)
    try:
        os.mkdir(root + "/a")
        plant(root, [(0, "b", None), *tree])
        for name, source in hard:
            with contextlib.suppress(OSError, ValueError):
                os.link(raw(f"{root}/{source}"), raw(f"{root}/{name}"), follow_symlinks=False)
        try:
            plain = fence(root, [root + "/b", root + "/a/p"] if protected else [], reads, wild)
        except PolicyError:
            return
        batch = WarmFence.over(plain)
        for turn in range(3):
            for text in asked:
                for where in (None, root, root + "/missing", "relative"):
                    for op in Op:
                        wanted = plain.check(text, op, cwd=where)
                        assert batch.check(text, op, cwd=where) == wanted, (turn, text, where, op)
                        absolute = f"{root}/{text}"
                        assert batch.check(absolute, op) == plain.check(absolute, op), (turn, absolute, op)
    finally:
        wipe(root)


def test_a_folder_that_was_listed_agrees_too(tmp_path):
    """Past the sixteenth missing name a folder is listed: what it holds then must be judged as before."""
    ws = tmp_path / "ws"
    ws.mkdir()
    (ws / "file").write_text("x")
    (ws / "folder").mkdir()
    (ws / "link").symlink_to("/etc")
    (tmp_path / "other").write_text("x")
    os.link(tmp_path / "other", ws / "hard")
    os.mkfifo(ws / "pipe")
    plain = Fence(ws, env={}, temp="none", cwd=ws)
    batch = WarmFence.over(plain)
    for number in range(warm._LIST_AFTER * 2):
        assert batch.check(f"{ws}/missing-{number}").verdict is Verdict.ALLOW
    assert batch._absolute[str(ws)].names is not None
    for name in ("file", "folder", "link", "hard", "pipe", "missing", "link/x", "folder/x"):
        for op in Op:
            assert batch.check(f"{ws}/{name}", op) == plain.check(f"{ws}/{name}", op), (name, op)


def test_memory_is_bounded_and_answers_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(warm, "_MOST_FOLDERS", 4)
    ws = tmp_path / "ws"
    ws.mkdir()
    plain = Fence(ws, env={}, temp="none", cwd=ws)
    batch = WarmFence.over(plain)
    for number in range(50):
        for text in (f"{ws}/d{number}/x", f"d{number}/y", f"../d{number}/z"):
            assert batch.check(text) == plain.check(text)
        assert batch.check("x", cwd=f"/d{number}") == plain.check("x", cwd=f"/d{number}")
        assert len(batch._absolute) + len(batch._relative) <= 5


def test_what_one_batch_means(tmp_path):
    """Written down, not wished for: inside one batch a folder counts as it stood; the next batch looks anew."""
    ws = tmp_path / "ws"
    (ws / "d").mkdir(parents=True)
    plain = Fence(ws, env={}, temp="none", cwd=ws)
    batch = WarmFence.over(plain)
    assert batch.check("d/new").verdict is Verdict.ALLOW
    (ws / "d").rmdir()
    (ws / "d").symlink_to("/etc")
    assert batch.check("d/new").verdict is Verdict.ALLOW  # still the folder that the batch met
    assert plain.check("d/new").verdict is Verdict.DENY
    assert WarmFence.over(plain).check("d/new").verdict is Verdict.DENY
