"""`audit --tree`: each kind of finding on a tree that has it, none on a tree that has not, and what `--fix` does."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from ringfence.pipelines.tree_git import is_hook
from ringfence.pipelines.tree_names import colliding, is_odd
from ringfence.pipelines.tree_words import WORDS
from tests.support.product import HAS_MOUNTS, product_fixture  # noqa: F401 - a fixture

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.schema.json").read_text())
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def main(product):
    os.mkdir(product.path("main"))
    product.write("main/kept", "kept")
    return product.path("main")


def tree(product, *more):
    words = ("audit", "--tree", "--workspace", product.ws, "--protect", product.path("main"), "--json", *more)
    done = product.run(*words)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert rows, done
    assert rows[-1]["type"] == "tree-summary"
    return done.status, rows[:-1], rows[-1]


def codes(product, *more):
    return [(row["code"], os.path.relpath(row["path"], product.ws)) for row in tree(product, *more)[1]]


def git(folder, *words):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", folder, *words], env=env, check=True, capture_output=True)


# --- nothing to say ------------------------------------------------------------------------------------


@needs_git
def test_an_ordinary_checkout_has_nothing_to_say(product, main):
    git(product.ws, "init", "-q")
    git(product.ws, "config", "user.email", "a@b")
    git(product.ws, "remote", "add", "origin", "https://example.org/x.git")
    product.write("ws/src/a.py", "x")
    product.write("ws/.claude/settings.json", "{}")
    os.symlink("src", product.path("ws/inside"))
    os.link(product.path("ws/src/a.py"), product.path("ws/src/b.py"))  # both names inside: an ordinary file
    status, found, last = tree(product)
    assert found == []
    assert status == 0
    assert last["roots"] == [product.ws]
    assert last["entries"] > 10


def test_it_needs_a_workspace(product):
    assert product.run("audit", "--tree").status == 2


# --- each kind -----------------------------------------------------------------------------------------


def plant_hard_outside(product):
    product.write("out/f", "x")
    os.link(product.path("out/f"), product.path("ws/hard"))


def plant_hard_protected(product):
    os.link(product.path("main/kept"), product.path("ws/hard"))


def plant_link_out(product):
    os.symlink("../out", product.path("ws/l"))


def plant_link_protected(product):
    os.symlink("../main/kept", product.path("ws/l"))


def plant_loop(product):
    os.symlink("l", product.path("ws/l"))


def plant_setuid(product):
    product.write("ws/f", "x")
    os.chmod(product.path("ws/f"), 0o4755)


def plant_setgid(product):
    product.write("ws/f", "x")
    os.chmod(product.path("ws/f"), 0o2755)


def plant_socket(product):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(product.path("ws/s"))


def plant_fifo(product):
    os.mkfifo(product.path("ws/p"))


def plant_case(product):
    product.write("ws/README", "")
    product.write("ws/readme", "")


def plant_unicode(product):
    product.write("ws/caf\u00e9", "")
    product.write("ws/cafe\u0301", "")


def plant_control(product):
    product.write("ws/a\nb", "")


def plant_bidi(product):
    product.write("ws/a\u202eb", "")


def plant_hook(product):
    product.write("ws/.git/hooks/pre-commit", "#!/bin/sh\n")
    os.chmod(product.path("ws/.git/hooks/pre-commit"), 0o755)


def plant_others_write(product):
    product.write("ws/.claude/settings.json", "{}")
    os.chmod(product.path("ws/.claude/settings.json"), 0o646)


KINDS = {
    "hard-outside": (plant_hard_outside, ("tree.hardlink", "hard"), "error"),
    "hard-protected": (plant_hard_protected, ("tree.hardlink", "hard"), "error"),
    "link-out": (plant_link_out, ("tree.link-out", "l"), "warning"),
    "link-protected": (plant_link_protected, ("tree.link-protected", "l"), "error"),
    "link-loop": (plant_loop, ("tree.link-broken", "l"), "warning"),
    "setuid": (plant_setuid, ("tree.setuid", "f"), "error"),
    "setgid": (plant_setgid, ("tree.setuid", "f"), "error"),
    "socket": (plant_socket, ("tree.socket", "s"), "warning"),
    "fifo": (plant_fifo, ("tree.fifo", "p"), "note"),
    "case": (plant_case, ("tree.case", "README"), "warning"),
    "unicode": (plant_unicode, ("tree.case", "cafe\u0301"), "warning"),
    "control": (plant_control, ("tree.name", "a\nb"), "warning"),
    "bidi": (plant_bidi, ("tree.name", "a\u202eb"), "warning"),
    "hook": (plant_hook, ("tree.hook", ".git/hooks/pre-commit"), "warning"),
    "others-write": (plant_others_write, ("tree.others-write", ".claude/settings.json"), "error"),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_found_with_its_words(product, main, name):
    plant, wanted, severity = KINDS[name]
    assert tree(product)[1] == []
    plant(product)
    status, found, last = tree(product)
    assert [(f["code"], os.path.relpath(f["path"], product.ws)) for f in found] == [wanted]
    (row,) = found
    assert (row["severity"], row["why"], row["next"]) == (severity, *WORDS[wanted[0]][1:])
    assert status == (severity != "note")
    assert last[severity + "s"] == 1
    assert not row["mended"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device node")
def test_a_device(product, main):
    os.mknod(product.path("ws/dev"), 0o600 | stat.S_IFBLK, os.makedev(250, 250))
    assert codes(product) == [("tree.device", "dev")]


@pytest.mark.skipif(os.access("/etc/passwd", os.W_OK), reason="this user may write everywhere")
def test_a_link_into_what_nobody_here_can_write_is_a_note(product, main):
    os.symlink("/etc/passwd", product.path("ws/l"))
    _, found, _ = tree(product)
    assert [(f["code"], f["severity"]) for f in found] == [("tree.link-out", "note")]


def test_a_guard_that_the_policy_switches_off(product, main):
    product.write("ws/.claude/settings.json", "{}")
    product.write("p.toml", f'workspace = ["{product.ws}"]\nprotect = ["{main}"]\nunguard = ["claude"]\n')
    assert tree(product)[1] == []
    done = product.run("audit", "--tree", "--policy", product.path("p.toml"), "--json")
    rows = [json.loads(line) for line in done.out.splitlines()][:-1]
    assert [(r["code"], r["path"]) for r in rows] == [
        ("tree.unguarded", product.path("ws/.claude/settings.json"))
    ]


@needs_git
@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("core.hooksPath", "/tmp/x", "tree.git-config"),
        ("core.fsmonitor", "/tmp/x", "tree.git-config"),
        ("core.fsmonitor", "true", None),
        ("filter.x.clean", "sh", "tree.git-config"),
        ("filter.x.process", "sh", "tree.git-config"),
        ("diff.x.textconv", "sh", "tree.git-config"),
        ("alias.x", "!sh", "tree.git-config"),
        ("remote.x.uploadpack", "sh", "tree.git-config"),
        ("include.path", "/tmp/x", "tree.git-config"),
        ("core.sshCommand", "sh", "tree.git-config"),
        ("credential.helper", "!sh", "tree.git-config"),
        ("some.odd", "1", "tree.git-config-key"),
        ("user.name", "me", None),
    ],
)
def test_keys_that_name_programs(product, main, key, value, code):
    git(product.ws, "init", "-q")
    git(product.ws, "config", key, value)
    wanted = [] if code is None else [(code, ".git/config")]
    assert codes(product) == wanted


@needs_git
def test_configs_of_submodules_bare_repositories_and_nested_ones(product, main):
    for place in ("ws/.git/modules/sub", "ws/bare.git", "ws/deep/nested/.git"):
        os.makedirs(product.path(place))
        product.write(f"{place}/HEAD", "ref: refs/heads/main\n")
        product.write(f"{place}/config", '[core]\n\thooksPath = "/x"\n')
    found = codes(product)
    assert sorted(found) == sorted(
        ("tree.git-config", f"{place.removeprefix('ws/')}/config")
        for place in ("ws/.git/modules/sub", "ws/bare.git", "ws/deep/nested/.git")
    )


@needs_git
def test_a_config_that_git_refuses(product, main):
    git(product.ws, "init", "-q")
    product.write("ws/.git/config", "[core\n")
    assert codes(product) == [("tree.git-config-broken", ".git/config")]


@needs_git
def test_objects_of_a_local_clone_are_one_note(product, main):
    git(product.out, "init", "-q")
    product.write("out/a", "x")
    git(product.out, "add", "a")
    git(product.out, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1")
    os.rmdir(product.ws)
    git(product.base, "clone", "-q", product.out, product.ws)
    _, found, _ = tree(product)
    assert [(f["code"], f["severity"]) for f in found if f["code"] != "tree.git-config-key"] == [
        ("tree.hardlink-objects", "note")
    ]


_MOUNTED = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
source, target, flags = sys.argv[1].encode(), sys.argv[2].encode(), int(sys.argv[3])
if os.geteuid():
    uid, gid = os.geteuid(), os.getegid()
    assert libc.unshare(0x10020000) == 0
    open("/proc/self/setgroups", "w").write("deny")
    open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
    open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
else:
    assert libc.unshare(0x20000) == 0
assert libc.mount(None, b"/", None, 0x44000, None) == 0
assert libc.mount(source, target, None, 0x1000, None) == 0
if flags:
    assert libc.mount(None, target, None, 0x1000 | 32 | 1, None) == 0
os.execv(sys.argv[4], sys.argv[4:])
"""


@pytest.mark.skipif(not HAS_MOUNTS, reason="no mount namespace to be had")
@pytest.mark.parametrize(("read_only", "code"), [(0, "tree.mount-out"), (1, "tree.mount")])
def test_a_bind_mount_of_a_place_outside(product, main, read_only, code):
    os.mkdir(product.path("ws/m"))
    words = product.words("audit", "--tree", "--workspace", product.ws, "--protect", main, "--json")
    done = subprocess.run(
        [product.python, "-c", _MOUNTED, product.out, product.path("ws/m"), str(read_only), *words],
        env=product.env,
        cwd=product.ws,
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()][:-1]
    assert [(r["code"], r["path"]) for r in rows] == [(code, product.path("ws/m"))], done.stderr
    assert "bind mount" in rows[0]["what"]


# --- mending -------------------------------------------------------------------------------------------


def test_fix_mends_what_loses_nothing_and_only_when_asked(product, main):
    for plant in (plant_hard_outside, plant_setuid, plant_others_write, plant_link_out):
        plant(product)
    os.chmod(product.path("ws/hard"), 0o640)
    os.utime(product.path("ws/hard"), ns=(10**18, 10**18))
    tree(product)
    assert os.stat(product.path("ws/f")).st_mode & stat.S_ISUID, "nothing is mended unless asked for"
    status, found, last = tree(product, "--fix")
    assert {f["code"]: f["mended"] for f in found} == {
        "tree.hardlink": True,
        "tree.setuid": True,
        "tree.others-write": True,
        "tree.link-out": False,
    }
    assert (status, last["mended"]) == (1, 3)
    hard = os.stat(product.path("ws/hard"))
    assert (hard.st_nlink, stat.S_IMODE(hard.st_mode), hard.st_mtime_ns) == (1, 0o640, 10**18)
    assert Path(product.path("ws/hard")).read_text() == "x"
    assert Path(product.path("out/f")).read_text() == "x"
    assert stat.S_IMODE(os.stat(product.path("ws/f")).st_mode) == 0o755
    assert stat.S_IMODE(os.stat(product.path("ws/.claude/settings.json")).st_mode) == 0o644
    assert os.path.islink(product.path("ws/l"))
    assert codes(product) == [("tree.link-out", "l")]
    assert sorted(os.listdir(product.ws)) == [".claude", "f", "hard", "l"], "no file of ours is left"


def test_everything_mended_is_a_good_end(product, main):
    plant_setuid(product)
    assert tree(product, "--fix")[0] == 0
    assert tree(product)[0] == 0


# --- what comes out ------------------------------------------------------------------------------------


def test_sarif_junit_and_text(product, main):
    for plant in (plant_link_out, plant_control, plant_fifo, plant_setuid):
        plant(product)
    words = ("audit", "--tree", "--workspace", product.ws, "--protect", main, "--output")
    sarif = product.run(*words, "sarif").json
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(sarif)
    wanted = [row["code"] for row in tree(product)[1]]
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == wanted
    (suite,) = ET.fromstring(product.run(*words, "junit").out)  # noqa: S314 - our own output
    assert [case.get("classname") for case in suite.findall("testcase")][:-1] == wanted
    assert len(suite.findall("testcase/failure")) == 3
    text = product.run(*words, "text").text
    assert "'" + product.path("ws/a") + r"\nb'" in text
    assert "1 errors, 2 warnings, 1 notes" in text


def test_the_order_is_stable(product, main):
    for name in ("b", "a", "c/z", "c/a", "B", "A"):
        product.write(f"ws/{name}", "x")
        os.chmod(product.path(f"ws/{name}"), 0o4755)
    assert tree(product)[1] == tree(product)[1]
    assert [p for c, p in codes(product) if c == "tree.setuid"] == ["A", "B", "a", "b", "c/a", "c/z"]


# --- tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["plain", "with blank inside", "\u00e4\u00f6", ".hidden", "a-b", "\u65e5\u672c"]
)
def test_names_that_are_fine(name):
    assert is_odd(name) == ""


@pytest.mark.parametrize(
    "name",
    ["a\tb", "a\x7f", "\x1b[31m", "a\u200bb", "a\u2066b", "a\u2028b", "a\udcff", " a", "a ", "-rf", "a\x85b"],
)
def test_names_that_are_not(name):
    assert is_odd(name)


def test_colliding():
    assert list(colliding(["a", "B", "b", "A", "c"])) == [["a", "A"], ["B", "b"]]
    assert list(colliding(["ß", "SS"])) == [["ß", "SS"]]
    assert list(colliding(["a", "b"])) == []


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/w/.git/hooks/pre-commit", True),
        ("/w/.git/hooks/pre-commit.sample", False),
        ("/w/.git/modules/x/hooks/post-merge", True),
        ("/w/.git/hooks/d/x", False),
        ("/w/src/hooks/x", False),
    ],
)
def test_is_hook(path, wanted):
    assert is_hook(path) is wanted
