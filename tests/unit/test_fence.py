"""The library's own face: words in, one decision out, nothing ambient where it was told what stands around."""

from __future__ import annotations

import os
import pathlib
import threading

import pytest

from ringfence.errors import PolicyError, UsageError
from ringfence.model import Access, Op, Verdict
from ringfence.pipelines.fence import Fence


@pytest.fixture(name="tree")
def _tree(tmp_path):
    for name in ("home", "ws/sub", "out", "main"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ws" / "a").write_text("x")
    (tmp_path / "out" / "a").write_text("x")
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "ws" / "dangling").symlink_to(tmp_path / "out" / "none")
    return pathlib.Path(os.path.realpath(tmp_path))


def _fence(tree, **more) -> Fence:
    env = {"HOME": str(tree / "home")}
    return Fence(workspace=tree / "ws", cwd=tree / "ws", env=env, **more)


ROWS = [
    ("a", Op.WRITE, "allow.workspace"),
    ("a", Op.READ, "allow.workspace"),
    ("new/deep/x", Op.CREATE, "allow.workspace"),
    ("../out/a", Op.WRITE, "outside.write"),
    ("../out/a", Op.READ, "outside.read"),
    ("link/a", Op.WRITE, "outside.write"),
    ("dangling", Op.CREATE, "outside.write"),
    ("link", Op.DELETE, "allow.workspace"),
    ("link/", Op.DELETE, "outside.write"),
    ("dangling", Op.RENAME, "allow.workspace"),
    ("sub/../../out/a", Op.WRITE, "outside.write"),
    ("none/../../out/a", Op.WRITE, "outside.write"),
    ("none/../a", Op.WRITE, "allow.workspace"),
    ("a/../b", Op.WRITE, "invalid.not-a-directory"),
    ("", Op.READ, "invalid.empty"),
    ("a\0b", Op.READ, "invalid.nul"),
    ("~/x", Op.WRITE, "outside.write"),
    ("~no-such-user-here/x", Op.READ, "invalid.user"),
    (".", Op.DELETE, "root.holds"),
    ("..", Op.RENAME, "root.holds"),
    (".git/hooks/x", Op.CREATE, "guard.git-hooks"),
    ("/dev/null", Op.WRITE, "allow.sink"),
    ("/proc/self/cwd/a", Op.WRITE, "magic.procfs"),
    ("/proc/self/cwd/a", Op.READ, "magic.procfs"),
    ("x" * 5000, Op.WRITE, "invalid.too-long"),
]


@pytest.mark.parametrize(("path", "op", "code"), ROWS)
def test_a_decision(tree, path, op, code):
    decision = _fence(tree).check(path, op)
    assert decision.code == code
    assert (decision.verdict is Verdict.ALLOW) == code.startswith("allow.")
    assert decision.op is op


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_paths_of_every_kind(tree, kind):
    fence = _fence(tree)
    assert fence.check(kind(str(tree / "ws" / "a"))).verdict is Verdict.ALLOW
    assert fence.check(kind("a"), cwd=kind(str(tree / "ws"))).path == str(tree / "ws" / "a")
    assert fence.check(kind("a"), cwd=kind(str(tree / "out"))).verdict is Verdict.DENY


def test_bytes_that_are_no_text_survive(tree):
    decision = _fence(tree).check(b"\xff", Op.CREATE)
    assert decision.path == str(tree / "ws") + "/\udcff"


def test_a_cwd_with_a_nul_is_a_refusal_and_no_exception(tree):
    assert _fence(tree).check("a", cwd="/\0").code == "invalid.nul"


@pytest.mark.parametrize("given", ["one", "several", "bytes", "tuple"])
def test_one_workspace_or_several(tree, given):
    roots = {
        "one": str(tree / "ws"),
        "several": [tree / "ws", str(tree / "out")],
        "bytes": os.fsencode(tree / "ws"),
        "tuple": (tree / "ws",),
    }[given]
    fence = Fence(workspace=roots, env={"HOME": str(tree / "home")}, cwd="/")
    assert fence.policy.workspace == (
        (str(tree / "ws"), str(tree / "out")) if given == "several" else (str(tree / "ws"),)
    )


def test_a_protected_checkout_below_and_beside(tree):
    fence = _fence(tree, protect=[tree / "ws" / "sub", tree / "main"])
    assert fence.check("sub/x").code == "protected.checkout"
    assert fence.check(tree / "main" / "x").code == "protected.checkout"
    assert fence.check("sub/x", Op.READ).verdict is Verdict.ALLOW


def test_reads_anywhere(tree):
    fence = _fence(tree, reads="anywhere")
    assert fence.check("../out/a", Op.READ).verdict is Verdict.ALLOW
    assert fence.check("../out/a", Op.WRITE).verdict is Verdict.DENY


def test_without_a_workspace_nothing_is_fenced(tree):
    fence = Fence(env={"HOME": str(tree / "home")}, cwd=tree)
    assert fence.check("/etc/x").code == "allow.unfenced"
    assert not fence.holds_anything()
    assert Fence(protect=tree / "main", env={"HOME": str(tree / "home")}, cwd=tree).holds_anything()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"workspace": "/no/such/folder"}, PolicyError),
        ({"reads": "everywhere"}, (UsageError, PolicyError)),
        ({"temp": "mine"}, (UsageError, PolicyError)),
        ({"workspace": ""}, (UsageError, PolicyError)),
    ],
)
def test_words_that_make_no_sense(tree, words, error):
    with pytest.raises(error):
        Fence(**{"workspace": tree / "ws", "env": {"HOME": str(tree / "home")}, "cwd": tree, **words})


def test_nothing_ambient_counts_where_the_environment_is_given(tree, monkeypatch):
    monkeypatch.setenv("RINGFENCE_WORKSPACE", "/no/such/folder")
    monkeypatch.setenv("HOME", str(tree / "ws"))
    monkeypatch.chdir(tree / "out")
    fence = _fence(tree)
    assert fence.check("a").path == str(tree / "ws" / "a")
    assert fence.check("~/x").path == str(tree / "home" / "x")


@pytest.mark.parametrize("words", [{"home": None}, {"env": {}}, {"env": {"HOME": ""}}])
def test_without_a_home_a_tilde_means_nothing(tree, words):
    fence = Fence(**{"workspace": tree / "ws", "cwd": tree, "env": {"HOME": str(tree / "home")}, **words})
    assert fence.check("~/x").code.startswith("invalid.")


def test_home_can_be_given_apart_from_the_environment(tree):
    fence = Fence(workspace=tree / "ws", cwd=tree, home=str(tree / "ws"), env={"HOME": "/elsewhere"})
    assert fence.check("~/x").verdict is Verdict.ALLOW


def test_the_files_are_read_where_that_is_asked_for(tree):
    (tree / "ws" / "ringfence.toml").write_text('workspace = ["."]\n')
    env = {"HOME": str(tree / "home")}
    assert Fence.load(tree / "ws" / "sub", env=env).check(tree / "out" / "a").verdict is Verdict.DENY
    assert Fence(env=env, cwd=tree / "ws").check(tree / "out" / "a").verdict is Verdict.ALLOW
    (tree / "ws" / "ringfence.toml").write_text("workspace = [\n")
    with pytest.raises(PolicyError) as caught:
        Fence.load(tree / "ws", env=env)
    assert str(caught.value).startswith(f"{tree}/ws/ringfence.toml:")


def test_a_hard_link_out_of_the_fence_is_a_write_out_of_the_fence(tree):
    os.link(tree / "out" / "a", tree / "ws" / "hard")
    os.link(tree / "ws" / "a", tree / "ws" / "twin")
    fence = _fence(tree)
    assert fence.check("hard").code == "hardlink.outside"
    assert fence.check("hard", Op.READ).verdict is Verdict.ALLOW
    assert fence.check("hard", Op.DELETE).verdict is Verdict.ALLOW
    assert fence.check("twin").verdict is Verdict.ALLOW
    # Behind a folder that is not there, the kernel's way leads to a new file, and a program that folds `..` in the
    # text reaches the linked one.
    (tree / "ws" / "sub" / "deep").mkdir()
    os.symlink("sub/deep", tree / "ws" / "inner")
    assert fence.check("inner/none/../../hard").code == "hardlink.outside"
    assert fence.check("inner/none/../../twin").verdict is Verdict.ALLOW


def test_the_quick_way_and_the_whole_walk_agree(tree):
    fence = _fence(tree, protect=tree / "ws" / "sub")
    (tree / "ws" / "sub" / "f").write_text("x")
    for name in ("ws/a", "ws/sub/f", "out/a", "ws/link/a", "ws/./a", "ws//a", "ws/sub/../a", "ws/sub"):
        for op in (Op.READ, Op.WRITE, Op.CREATE, Op.METADATA, Op.LINK):
            whole = str(tree / name.split("/", 1)[0]) + "/" + name.split("/", 1)[1]
            quick = fence.check(whole, op)
            slow = fence._full(whole, op)
            assert quick[:4] == slow[:4], (name, op)
            assert quick.op is slow.op


def test_one_fence_for_many_threads(tree):
    fence = _fence(tree)
    wrong = []

    def ask() -> None:
        for _ in range(50):
            if (
                fence.check("a").verdict is not Verdict.ALLOW
                or fence.check("link/a").verdict is not Verdict.DENY
            ):
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_command(tree):
    fence = _fence(tree)
    assert fence.check_command("touch b").verdict is Verdict.ALLOW
    denied = fence.check_command("cp a ../out/b")
    assert (denied.verdict, denied.code) == (Verdict.DENY, "outside.write")
    asked = fence.check_command("$X")
    assert asked.verdict is Verdict.ASK
    assert asked.code.startswith("opaque.")
    assert fence.check_command("touch b", cwd=tree / "out").verdict is Verdict.DENY
    assert fence.check_command("").verdict is Verdict.ALLOW


def test_nothing_judged_is_refused(tree):
    assert _fence(tree).worst([]).code == "invalid.nothing"


def test_temp_is_the_callers_choice(tree):
    assert _fence(tree).policy.temp == "private"
    assert _fence(tree, temp="none").policy.temp == "none"


def test_our_own_folders_are_ours(tree):
    fence = Fence(workspace=tree, cwd=tree, env={"HOME": str(tree / "home")})
    assert fence.check("home/.config/ringfence/ringfence.toml").code == "guard.own-config"
    assert fence.check("home/.local/state/ringfence/trusted/x").code == "guard.own"
    assert fence.check("home/.config/ringfence", Op.RENAME).code == "root.holds"
    assert all(zone.access is not Access.WRITE for zone in fence.policy.zones if str(zone.kind) == "own")


def test_an_attribute_that_there_is_not_is_missed_as_ever(tmp_path):
    fence = Fence(str(tmp_path), home=None, env={})
    with pytest.raises(AttributeError, match="'Fence' object has no attribute 'nothing'"):
        fence.nothing
    assert not hasattr(fence, "_nothing")
    assert fence.index is fence.index


def test_threads_that_ask_first_get_the_same_answer(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    for _ in range(20):
        fence = Fence(str(tmp_path), home=None, env={})
        with ThreadPoolExecutor(8) as pool:
            codes = set(pool.map(lambda n, f=fence: f.check(f"{tmp_path}/{n % 2}").code, range(16)))
        assert codes == {"allow.workspace"}
