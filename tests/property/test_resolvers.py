"""Laws: both backends give one answer on any tree, and what the kernel opens is what they name."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringfence.errors import PolicyError
from ringfence.model import Located, Op, Unresolved, Verdict
from ringfence.pipelines.fence import Fence
from ringfence.resolve.descriptor import locate
from ringfence.resolve.names import lexical_normal
from ringfence.resolve.walk import locate_walk
from tests.support.cases import raw, wipe

# Few names, so that paths meet what a tree holds; long and odd ones now and then.
NAMES = st.sampled_from(["a", "a", "b", "b", "c", "d\udcff"])
STEPS = st.one_of(
    NAMES, NAMES, st.sampled_from(["..", "..", "..", ".", "", "missing", "x" * 255, "y" * 256, "n\n"])
)
ENDS = st.sampled_from(["", "", "", "/", "/.", "/..", "//", "/./"])
TEXTS = st.builds(lambda parts, end: "/".join(parts) + end, st.lists(STEPS, min_size=1, max_size=7), ENDS)


def trees():
    """Entries in the order they are made: (folder index, name, what), `what` being None, "" or a link's text."""
    what = st.one_of(st.none(), st.none(), st.just(""), TEXTS, TEXTS, TEXTS.map("@/".__add__))
    return st.lists(st.tuples(st.integers(0, 9), NAMES, what), max_size=12)


def plant(root, tree):
    folders = [root]
    for where, name, what in tree:
        path = folders[where % len(folders)] + "/" + name
        try:
            if what is None:
                os.mkdir(raw(path))
                folders.append(path)
            elif what == "":
                os.close(os.open(raw(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            else:
                os.symlink(raw(what.replace("@/", root + "/")), raw(path))
        except OSError:  # a name taken or too long, an empty target: the tree is as good without
            continue


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return os.path.realpath(tmp_path_factory.mktemp("r"))


def alike(site):
    """The two name the door of procfs differently, and only the walk knows it by its whole name."""
    return site._replace(magic=bool(site.magic)) if isinstance(site, Located) else site


@settings(max_examples=200, deadline=None)
@example(tree=[(0, "a", None), (1, "b", None), (0, "c", "a/b")], asked=[("c/missing/../../x", True)])
@example(tree=[(0, "a", "missing/../b")], asked=[("a", True), ("a/../a", False)])
@given(tree=trees(), asked=st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=6))
def test_backends_agree(base, tree, asked):
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        for text, follow in asked:
            path = root + "/" + text
            assert alike(locate_walk(path, follow)) == alike(locate(path, follow)), path
    finally:
        wipe(root)


@pytest.mark.parametrize(
    "text",
    [
        "@/top/etc",
        "@/here/x",
        "@/l/new/../../here/x",  # only the folded reading takes the door
        "@/here/new/../../x",
        "/proc/self/root/etc",
        "/proc/thread-self/root/x",
        "/proc/self/fd/999",
        "/proc/../etc",
        "/proc/cpuinfo",
        "/dev/fd/999",
        "/dev/null",
        "/dev/null/",
    ],
)
def test_backends_agree_on_doors(base, text):
    root = tempfile.mkdtemp(dir=base)
    try:
        os.makedirs(root + "/out/deep")
        os.symlink("out/deep", root + "/l")
        os.symlink("/proc/self/root", root + "/top")
        os.symlink("/proc/self/cwd", root + "/here")
        path = text.replace("@", root)
        assert alike(locate_walk(path, follow_leaf=True)) == alike(locate(path, follow_leaf=True))
    finally:
        wipe(root)


@settings(max_examples=150, deadline=None)
@given(tree=trees(), text=TEXTS)
def test_named_as_the_kernel_opens_it(base, tree, text):
    """Where the kernel opens something, the walk names that object; where it says no, so does the walk, or the
    object is missing. Independent of our other backend."""
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        path = root + "/" + text
        site = locate_walk(path, follow_leaf=True)
        try:
            fd = os.open(raw(path), os.O_PATH)
        except FileNotFoundError:
            dots = ".." in text or any(".." in what for _, _, what in tree if what)
            assert isinstance(site, Unresolved) or not site.exists or dots  # dots: behind a missing folder
            return
        except OSError:
            assert isinstance(site, Unresolved)
            return
        try:
            assert isinstance(site, Located)
            assert os.readlink(b"/proc/self/fd/%d" % fd) == raw(site.path)
            st_ = os.fstat(fd)
            assert (st_.st_dev, st_.st_ino) == (site.dev, site.ino)
            assert site.folded == ""
        finally:
            os.close(fd)
    finally:
        wipe(root)


@settings(max_examples=150, deadline=None)
@given(tree=trees(), text=TEXTS)
def test_a_physical_path_resolves_to_itself(base, tree, text):
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        site = locate_walk(root + "/" + text, follow_leaf=True)
        if isinstance(site, Located):
            assert locate_walk(site.path, follow_leaf=True) == site._replace(folded="")
    finally:
        wipe(root)


@given(text=TEXTS)
def test_lexical_normal_is_normal(text):
    once = lexical_normal("/" + text)
    assert lexical_normal(once) == once
    assert ".." not in once.split("/")
    assert once.rstrip("/") == os.path.normpath("/" + text).replace("//", "/").rstrip("/")


# --- the fence ------------------------------------------------------------------------------------------------

ROOTS = st.sampled_from(["", "a", "a/b", "b", "b/a", "c", "missing", "a/missing", "c/a"])
OPS = st.sampled_from([op for op in Op if op is not Op.READ])
ASKED = st.lists(st.tuples(TEXTS, OPS), min_size=1, max_size=8)
SEVERITY = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


def fence(root, workspaces, protected):
    return Fence(
        [f"{root}/{name}" for name in workspaces],
        [f"{root}/{name}" for name in protected],
        reads="anywhere",
        temp="none",
        home=None,
        env={},
        cwd=root,
    )


def standing(root, names):
    """A workspace must exist and be a folder; a protected root need not."""
    return [name for name in names if os.path.isdir(f"{root}/{name}")] or [""]


@settings(max_examples=80, deadline=None)
@given(
    tree=trees(),
    workspaces=st.lists(ROOTS, min_size=1, max_size=2),
    protected=st.lists(ROOTS, max_size=2),
    more=ROOTS,
    asked=ASKED,
)
def test_one_more_protected_root_never_widens(base, tree, workspaces, protected, more, asked):
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        workspaces = standing(root, workspaces)
        try:
            before, after = fence(root, workspaces, protected), fence(root, workspaces, [*protected, more])
        except PolicyError:  # a root that is a loop, or a file used as a folder
            return
        for text, op in asked:
            path = f"{root}/{text}"
            was, now = before.check(path, op), after.check(path, op)
            assert SEVERITY[now.verdict] >= SEVERITY[was.verdict], (path, op, was, now)
    finally:
        wipe(root)


@settings(max_examples=80, deadline=None)
@given(
    tree=trees(),
    workspaces=st.lists(ROOTS, min_size=1, max_size=3),
    protected=st.lists(ROOTS, min_size=1, max_size=3),
    asked=ASKED,
)
def test_the_order_of_roots_never_matters(base, tree, workspaces, protected, asked):
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        workspaces = standing(root, workspaces)
        try:
            one, other = fence(root, workspaces, protected), fence(root, workspaces[::-1], protected[::-1])
        except PolicyError:
            return
        for text, op in asked:
            path = f"{root}/{text}"
            assert one.check(path, op)[:3] == other.check(path, op)[:3], (path, op)
    finally:
        wipe(root)


@settings(max_examples=80, deadline=None)
@example(
    tree=[(0, "a", ""), (0, "b", None), (1, "a", "")],
    workspace="",
    protected=["b"],
    texts=["a", "b/a", "./a"],
)
@given(
    tree=trees(), workspace=ROOTS, protected=st.lists(ROOTS, max_size=2), texts=st.lists(TEXTS, min_size=1)
)
def test_the_quick_answer_is_the_whole_answer(base, tree, workspace, protected, texts):
    root = tempfile.mkdtemp(dir=base)
    try:
        plant(root, tree)
        try:
            one = fence(root, standing(root, [workspace]), protected)
        except PolicyError:
            return
        for text in texts:
            for op in (Op.READ, Op.WRITE, Op.CREATE, Op.METADATA, Op.LINK):
                whole = f"{root}/{text}"
                quick = one._quick(whole, op)
                # All but the wording: verdict, code, path and rule.
                assert quick is None or quick[:4] == one._full(whole, op)[:4]
    finally:
        wipe(root)
