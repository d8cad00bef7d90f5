"""The programs that `install` and `shell --install-as` write: run as an agent would run them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ringfence.errors import NotEnforcedError, UsageError
from ringfence.pipelines import launchers
from ringfence.policy.asked import Flags
from tests.support.product import PACKAGE, START, TIMEOUT

ECHO = """
def run(flags, words):
    import sys
    sys.stdout.write(repr((flags, words, sys.flags.isolated, sys.flags.no_site)))
    sys.stdout.flush()
    return 7
"""


@pytest.fixture(name="launcher")
def _launcher(tmp_path, monkeypatch):
    """A launcher of a module that says what it was given; the package is a link beside that module."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "ringfence").symlink_to(PACKAGE)
    (lib / "echoes.py").write_text(ECHO)
    monkeypatch.setattr(launchers, "package_folder", lambda: str(lib))

    def make(path: str, flags: list[str], python: str | None = None) -> str:
        launchers.write(path, launchers.launcher_text("echoes", flags, python))
        return path

    return make


def _start(path: str, *words: str) -> tuple[int, object]:
    done = subprocess.run([path, *words], capture_output=True, env={"PATH": "/bin"}, timeout=TIMEOUT)
    assert done.stderr == b""
    return done.returncode, eval(done.stdout)  # noqa: S307 - the repr that ECHO wrote


FLAGS = ["--workspace", "/a b/it's \"é\n\\", "--protect", "\udcff"]


@pytest.mark.parametrize("name", ["plain", "with blank", 'it\'s "odd"', "\u00e9"])
def test_the_flags_are_inside_and_the_words_arrive(launcher, tmp_path, name):
    path = launcher(str(tmp_path / "made" / name), FLAGS)
    words = ["", "a b", "--workspace", "new\nline"]
    assert _start(path, *words) == (7, (FLAGS, words, 1, 1))
    assert os.stat(path).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("folder", ["a b", "x" * 200 + "/" + "y" * 100, "it's"])
def test_an_interpreter_that_the_kernels_first_line_cannot_name(launcher, tmp_path, folder):
    python = tmp_path / folder / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    path = launcher(str(tmp_path / "made"), FLAGS, str(python))
    assert _start(path, "a b", "'") == (7, (FLAGS, ["a b", "'"], 1, 1))


def test_the_first_line_starts_the_interpreter_itself(launcher, tmp_path):
    path = launcher(str(tmp_path / "made"), [])
    with open(path, encoding="utf-8") as file:
        assert file.readline() == f"#!{sys.executable} -IS\n"


def test_a_new_text_takes_the_old_ones_place_in_one_step(tmp_path):
    path = str(tmp_path / "made")
    launchers.write(path, "one")
    os.chmod(path, 0o777)
    with open(path, encoding="utf-8") as held:
        launchers.write(path, "two")
        assert held.read() == "one"
    with open(path, encoding="utf-8") as file:
        assert file.read() == "two"
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert os.listdir(tmp_path) == ["made"]


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotEnforcedError, match="cannot write the launcher"):
        launchers.write(str(tmp_path / "file" / "made"), "x")


def test_claudes_launcher_is_one_word_for_claude():
    path = launchers.claude_path("/h/state dir", "/w")
    assert path.startswith("/h/state dir/launch/ringfence-claude-")
    assert launchers.claude_path("/h", "/w") != launchers.claude_path("/h", "/x")
    with pytest.raises(NotEnforcedError, match="takes for an argument"):
        launchers.claude_path("/h/a -b", "/w")


def test_the_words_of_the_hook():
    program, words = launchers.hook_words("claude", Flags(("/w",), ("/p",), "/f"), "/l")
    assert program == sys.executable
    assert words == (
        "-I", "-S", START, "hook", "claude", "--workspace", "/w", "--protect", "/p", "--policy", "/f",
        "--launcher", "/l",
    )  # fmt: skip
    assert "--launcher" not in launchers.hook_words("claude", Flags(), "")[1]


def test_paths_are_made_absolute_before_they_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/h")
    base = os.getcwd()
    made = launchers.absolute_flags(Flags(("w", "~/x", "/a/../b"), ("p",), "f"))
    assert made == Flags((f"{base}/w", "/h/x", "/b"), (f"{base}/p",), f"{base}/f")


def test_only_our_own_program_is_replaced(tmp_path):
    path = str(tmp_path / "shell")
    one, two = str(tmp_path / "w"), str(tmp_path / "x")
    os.mkdir(one)
    os.mkdir(two)
    launchers.write_shell(path, Flags((one,)), "")
    launchers.write_shell(path, Flags((two,)), "/bin/bash")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert f"'{two}'" in text
    with pytest.raises(UsageError, match="could replace it"):
        launchers.write_shell(f"{two}/shell", Flags((two,)), "")
    assert "'--shell', '/bin/bash'" in text
    with open(path, "w", encoding="utf-8") as file:
        file.write("mine")
    with pytest.raises(UsageError, match="exists and is not ours"):
        launchers.write_shell(path, Flags(), "")
    os.unlink(path)
    os.symlink(tmp_path / "nowhere", path)
    with pytest.raises((UsageError, OSError)):
        launchers.write_shell(path, Flags(), "")
    assert os.readlink(path) == str(tmp_path / "nowhere")
