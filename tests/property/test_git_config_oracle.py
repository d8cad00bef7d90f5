"""The reader of `.git/config` against git itself: what git would read as a key must never hide from the vet."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringfence.policy.git_config import forbidden, harmless, parse

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PIECES = [
    "[core]", "[user]", '[remote "o"]', '[a "b\\"c"]', "[sec.Sub]", "[user ", '"x"]', "\n", "\n", "\n", "\r\n", "\t",
    "name = x", "fsmonitor = ./x", "url=y", "flag", "n-1 = a b ", "= z", '"q', '"q r"', "\\", "\\\n", "\\n", "\\z",
    "# c", "; c", " # \\", "#", ";", " ", "x", "\u00e9", "1bad = 2", "\x00",
]  # fmt: skip


def by_git(folder, text):
    path = os.path.join(folder, "config")
    with open(path, "wb") as file:
        file.write(text)
    env = {"PATH": os.environ["PATH"], "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "config", "--file", path, "--null", "--list"],
        capture_output=True,
        env=env,
        check=False,
        cwd=folder,
    )
    if done.returncode:
        return None
    found = {}
    for item in done.stdout.split(b"\0")[:-1]:
        key, newline, value = item.partition(b"\n")
        text = value if newline else b"true"
        found.setdefault(key.decode("utf-8", "surrogateescape"), []).append(
            text.decode("utf-8", "surrogateescape")
        )
    return {key: tuple(values) for key, values in found.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("git-config"))


@settings(max_examples=250, deadline=None)
@example(parts=["[user]", "\n", "name = x", " # \\", "\n", "[core]", "\n", "fsmonitor = ./x", "\n"])
@example(parts=["[core]", " ", "fsmonitor = ./x", "\n"])
@example(parts=["[user]", "\n", "name = x", "\\\n", "[core]", "\n", "flag"])
@given(parts=st.lists(st.sampled_from(PIECES), max_size=14))
def test_the_reader_sees_what_git_sees(folder, parts):
    text = "".join(parts).encode()
    told, ours = by_git(folder, text), parse(text)
    if b"\0" in text:
        return  # git stops at a NUL in places; every such text is another file than before, and judged by its keys
    if told is None:
        assert ours is None, text
    elif ours is not None:  # refusing more than git does is put back: never a hole
        assert ours == told, text


@settings(max_examples=120, deadline=None)
@given(parts=st.lists(st.sampled_from([p for p in PIECES if p != "\x00"]), max_size=14))
def test_the_harmless_rest_holds_no_key_that_names_code(folder, parts):
    values = parse("".join(parts).encode())
    if values is None:
        return
    rest = by_git(folder, harmless(values))
    assert rest is not None
    assert forbidden({}, rest) == ()
