"""The diff reader: tables, and its law against git itself."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from ringfence.model import Op
from ringfence.proposals import Malformed
from ringfence.readers.diff import read_diff
from ringfence.readers.options import Options

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return [
        ("!", r.line) if isinstance(r, Malformed) else (r.op.value, r.path)
        for r in read_diff("x", [data], Options(**options))
    ]


HUNK = "@@ -1 +1 @@\n-a\n+b\n"
TABLE = {
    "git-edit": (f"diff --git a/d/x b/d/x\nindex 1..2 100644\n--- a/d/x\n+++ b/d/x\n{HUNK}", [("write", "d/x")]),
    "git-new": (
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
        [("create", "x")],
    ),
    "git-new-empty": ("diff --git a/x y b/x y\nnew file mode 100644\nindex 0..0\n", [("create", "x y")]),
    "git-delete": (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        [("delete", "x")],
    ),
    "git-rename": (
        "diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z\n",
        [("rename", "x"), ("create", "y z")],
    ),
    "git-rename-out": (
        "diff --git a/x b/../y\nrename from x\nrename to ../y\n",
        [("rename", "x"), ("create", "../y")],
    ),
    "git-copy": ("diff --git a/x b/y\ncopy from x\ncopy to y\n", [("read", "x"), ("create", "y")]),
    "git-mode": ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", [("metadata", "x")]),
    "git-mode-and-edit": (
        f"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n{HUNK}",
        [("write", "x"), ("metadata", "x")],
    ),
    "git-binary": (
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 2\nJcmZRm0001b0C@la\n\nliteral 0\nHcmV?d00001\n\n",
        [("write", "x")],
    ),
    "git-binary-plain": ("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", [("write", "x")]),
    "git-quoted": (
        'diff --git "a/\\303\\244\\n" "b/\\303\\244\\n"\nindex 1..2\n--- "a/\\303\\244\\n"\n+++ "b/\\303\\244\\n"\n' + HUNK,
        [("write", "ä\n")],
    ),
    "git-no-prefix": (f"diff --git src/x src/x\nindex 1..2\n--- src/x\n+++ src/x\n{HUNK}", [("write", "src/x")]),
    "git-mnemonic": (f"diff --git i/x w/x\nindex 1..2\n--- i/x\n+++ w/x\n{HUNK}", [("write", "x")]),
    "git-link": (
        "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../out\n"
        "\\ No newline at end of file\ndiff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+a\n",
        [("rename", "l"), ("create", "l/x"), ("create", "../out/x")],
    ),
    "git-combined": ("diff --cc d/x\nindex 1,2..3\n--- a/d/x\n+++ b/d/x\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n", [("write", "d/x")]),
    "headers-disagree": (f"diff --git a/x b/x\n--- a/x\n+++ b/../../etc/y\n{HUNK}", [("write", "x"), ("write", "../../etc/y")]),
    "plain": (f"--- a/x\t2026-12-01\n+++ b/x\t2026-12-01\n{HUNK}", [("write", "x")]),
    "plain-no-prefix": (f"--- src/x\n+++ src/x\n{HUNK}", [("write", "src/x")]),
    "plain-new": ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", [("create", "x")]),
    "plain-two-names": (f"--- x.orig\n+++ x\n{HUNK}", [("write", "x.orig"), ("write", "x")]),
    "absolute": (f"--- /etc/x\n+++ /etc/x\n{HUNK}", [("write", "/etc/x")]),
    "svn": (f"Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n{HUNK}", [("write", "x")]),
    "header-in-a-hunk": (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n---- y\n-+++ z\n+-- ../evil\n+++ w\n c\n",
        [("write", "x")],
    ),
    "two-files": (f"--- a/x\n+++ b/x\n{HUNK}--- a/y\n+++ b/y\n{HUNK}", [("write", "x"), ("write", "y")]),
    "two-hunks": (f"--- a/x\n+++ b/x\n{HUNK}{HUNK}", [("write", "x")]),
    "mail": (
        f"From 1 Mon Sep 17\nSubject: --- not +++ a header\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n{HUNK}-- \n2.39\n",
        [("write", "x")],
    ),
    "context": ("*** a/x\tMon\n--- b/x\tMon\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", [("write", "x")]),
    "crlf": ("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", [("write", "x")]),
    "nothing": ("hello\nworld\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_table(name):
    text, wanted = TABLE[name]
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+b\n", ["!", "x"]),
        (f"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\nindex 1..2\n--- a/y\n+++ b/y\n{HUNK}", ["!", "x", "y"]),
        (f"{HUNK}", ["!"]),
        (f"--- a/x\n+++ b/x\n@@ -q +1 @@\n{HUNK}", ["!", "x"]),
        ('diff --git "a/x b/x\nindex 1..2\n', ["!"]),
        ('diff --git a/x b/x\nrename from "q\nrename to y\n', ["!"]),
        ("diff --git a b c d\nindex 1..2\n", ["!"]),
    ],
)  # fmt: skip
def test_broken(text, wanted):
    assert sorted("!" if f[0] == "!" else f[1] for f in read(text)) == sorted(wanted)


def test_strip():
    assert read(f"--- a/b/x\n+++ a/b/x\n{HUNK}", strip=2) == [("write", "x")]
    assert read(f"--- a/b/x\n+++ a/b/x\n{HUNK}", strip=0) == [("write", "a/b/x")]
    assert read(f"--- x\n+++ x\n{HUNK}", strip=3) == [("!", 1)]


def test_blocks_do_not_show():
    data = "".join(text for text, _ in TABLE.values()).encode()
    whole = list(read_diff("x", [data], Options()))
    for size in (1, 7, 100):
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        assert list(read_diff("x", parts, Options())) == whole


# --- what git applies ----------------------------------------------------------------------------------

ENV = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent", "LC_ALL": "C",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@e", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@e",
}  # fmt: skip
NAMES = [
    "a",
    "b c",
    "d/e",
    "d/f\tg",
    "ä",
    'q"r',
    "back\\slash",
    "d/deep/x",
    "n\nl",
    "--- z",
    "trailing ",
    "\udcff",
]


def git(folder, *words, check=True, **more):
    env = {**ENV, "PATH": os.environ["PATH"]}
    return subprocess.run(
        ["git", "-C", folder, *words], env=env, check=check, capture_output=True, **more
    ).stdout


def state(folder):
    """name -> (kind and mode, content), without `.git`."""
    found = {}
    for at, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*names, *[f for f in folders if os.path.islink(os.path.join(at, f))]]:
            path = os.path.join(at, name)
            mode = os.lstat(path).st_mode & 0o170100
            text = os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
            found[os.path.relpath(path, os.fsencode(folder)).decode("utf-8", "surrogateescape")] = (
                mode,
                text,
            )
    return found


def edit(folder, chance):
    """One random change; the tree stays small."""
    name = chance.choice(NAMES)
    path = os.fsencode(os.path.join(folder, name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    kind = chance.choice(["text", "text", "text", "binary", "delete", "mode", "rename", "link", "empty"])
    if os.path.isdir(path):
        return
    if kind == "delete" and os.path.lexists(path):
        os.unlink(path)
    elif kind == "mode" and os.path.isfile(path) and not os.path.islink(path):
        os.chmod(path, os.stat(path).st_mode ^ 0o100)
    elif kind == "rename" and os.path.lexists(path):
        other = os.fsencode(os.path.join(folder, chance.choice(NAMES)))
        os.makedirs(os.path.dirname(other), exist_ok=True)
        if not os.path.lexists(other):
            os.rename(path, other)
    elif kind == "link":
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(chance.choice(["a", "../x", "/etc/x"]), path)
    elif kind in ("text", "binary", "empty") and not os.path.islink(path):
        lines = [
            f"{chance.choice(['--- a', '+++ b', 'x', '@@ -1 +1 @@', 'diff --git a/q b/q'])}\n"
            for _ in range(9)
        ]
        text = "".join(lines).encode() if kind == "text" else b"\0\1" + bytes([chance.randrange(256)]) * 9
        with open(path, "wb") as file:
            file.write(b"" if kind == "empty" else text)


def changed(before, after):
    """What a patch between two states does: every path that appears, changes or goes."""
    return {name for name in {**before, **after} if before.get(name) != after.get(name)}


@needs_git
def test_two_hundred_random_edits_name_what_git_applies(tmp_path):
    """Each step's diff is applied by git to a twin of the tree. What changes there is what the reader named, and a name
    that git created, deleted or wrote has that very operation."""
    chance = random.Random(20261201)  # noqa: S311 - edits, not secrets
    work, twin = str(tmp_path / "work"), str(tmp_path / "twin")
    for folder in (work, twin):
        os.mkdir(folder)
        git(folder, "init", "-q")
    done = 0
    for round_ in range(1000):
        if done >= 200:
            break
        for _ in range(chance.randrange(1, 4)):
            edit(work, chance)
        git(work, "add", "-A")
        style = chance.choice([["-M"], ["--no-renames"], ["-M", "-C"], ["-U0"], ["-M", "--full-index"]])
        patch = git(work, "diff", "--cached", "--binary", *style)
        git(work, "commit", "-q", "--allow-empty", "-m", str(round_))
        if not patch:
            continue
        before = state(twin)
        git(twin, "apply", "--unidiff-zero", "-", input=patch)
        after = state(twin)
        git(twin, "add", "-A")
        records = list(read_diff("x", [patch], Options()))
        assert not [r for r in records if isinstance(r, Malformed)], patch
        named = {r.path for r in records if r.op is not Op.READ and not r.note}
        assert named == changed(before, after), patch.decode("utf-8", "replace")
        for record in records:
            was, now = record.path in before, record.path in after
            if record.op is Op.DELETE:
                assert was, record
            elif record.op is Op.CREATE:
                assert now, record
            elif record.op in (Op.WRITE, Op.METADATA):
                assert was, record
                assert now, record
        done += 1
    assert done >= 200
