"""The launcher that stands as CLAUDE_CODE_SHELL_PREFIX: which single file a line may have, and what it runs.

The shape of the lines is Claude Code 2.1.332's.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.pipelines import claude_shell, launchers
from tests.support.product import TIMEOUT, needs_engine, product_fixture  # noqa: F401 - a fixture

LEAD = "source /h/.claude/shell-snapshots/snapshot-bash-1-x.sh 2>/dev/null || true && "


def _line(command: str, tail: str) -> str:
    return f"{LEAD}eval {command} < /dev/null && pwd -P >| {tail}"


@pytest.mark.parametrize("name", ["claude-a7de-cwd", "claude-0-cwd", "claude-0123456789abcdef-cwd"])
@pytest.mark.parametrize("quote", ["", "'"])
def test_a_line_of_claudes_gets_its_one_file(tmp_path, name, quote):
    path = str(tmp_path / name)
    assert claude_shell.cwd_file(_line("pwd", f"{quote}{path}{quote}"), str(tmp_path)) == path
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert claude_shell.cwd_file(_line("pwd", path), str(tmp_path)) == path, (
        "once more, as a line may be run again"
    )


OTHERS = [
    "claude-xyz-cwd", "claude--cwd", "claude-A7DE-cwd", "claude-a7de-cwd2", "claude-a7de", "xclaude-a7de-cwd",
    "sub/claude-a7de-cwd", "../claude-a7de-cwd", "./claude-a7de-cwd", "claude-a7de-cwd/", "claude-a7de-cwd ",
    ".bashrc", "", "claude-a7de-cwd; touch x", "'claude-a7de-cwd",
]  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_name_gets_nothing(tmp_path, name):
    (tmp_path / "sub").mkdir()
    assert claude_shell.cwd_file(_line("pwd", f"{tmp_path}/{name}"), str(tmp_path)) == ""
    assert sorted(os.listdir(tmp_path)) == ["sub"]


def test_another_folder_gets_nothing(tmp_path):
    (tmp_path / "temp").mkdir()
    assert claude_shell.cwd_file(_line("pwd", f"{tmp_path}/claude-a7de-cwd"), str(tmp_path / "temp")) == ""
    assert claude_shell.cwd_file(f"pwd -P >| {tmp_path}/claude-a7de-cwd", str(tmp_path)) == "", "no such tail"


def _link(path: str, victim: str) -> None:
    os.symlink(victim, path)


def _hard_link(path: str, victim: str) -> None:
    os.link(victim, path)


def _folder(path: str, _victim: str) -> None:
    os.mkdir(path)


def _pipe(path: str, _victim: str) -> None:
    os.mkfifo(path)


def _foreign(path: str, _victim: str) -> None:
    with open(path, "w", encoding="ascii"):
        pass
    os.chown(path, 65534, 65534)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.mark.parametrize(
    "trap", [_link, _hard_link, _folder, _pipe, pytest.param(_foreign, marks=needs_root)]
)
def test_what_stands_in_its_place_is_not_granted(tmp_path, trap):
    (tmp_path / "temp").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path = str(tmp_path / "temp" / "claude-a7de-cwd")
    trap(path, str(victim))
    assert claude_shell.cwd_file(_line("pwd", path), str(tmp_path / "temp")) == ""
    assert victim.read_text() == "mine"


SAID = [
    ("pwd", "pwd"),
    ("'echo a'", "echo a"),
    ("'echo '\"'\"'it'\"'\"''", "echo 'it'"),
    ("'a\nb'", "a\nb"),
    ("'cat <<'\"'\"'E'\"'\"'\nx\nE'", "cat <<'E'\nx\nE"),
    ("'a && eval b && pwd -P >| x'", "a && eval b && pwd -P >| x"),
]


@pytest.mark.parametrize(("word", "command"), SAID)
@pytest.mark.parametrize("redirect", [" < /dev/null", ""])
def test_the_command_inside_the_line(word, command, redirect):
    assert claude_shell.said(f"{LEAD}eval {word}{redirect} && pwd -P >| /tmp/claude-a7de-cwd") == command


def test_a_line_without_that_shape_is_its_own_command():
    assert claude_shell.said("echo a") == "echo a"


@pytest.fixture(name="launcher")
def _launcher(product):
    path = product.path("home/ringfence-claude-0")
    text = launchers.launcher_text("ringfence.pipelines.claude_shell", ["--workspace", product.ws])
    launchers.write(path, text)

    def start(line: str, *more: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [path, line, *more],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=product.ws,
            env={**product.env, "CLAUDE_CODE_SESSION_ID": f"t{os.getpid()}", **env},
            timeout=TIMEOUT,
        )

    yield start
    folder = f"/tmp/ringfence-{os.geteuid()}/claude-t{os.getpid()}"
    subprocess.run(["rm", "-rf", folder], timeout=TIMEOUT)


@needs_engine
def test_a_call_writes_inside_and_its_own_file_and_nothing_else(product, launcher):
    temp = product.path("tmp")
    os.mkdir(temp)
    command = f"'cd sub; touch a; touch {temp}/b; touch {product.out}/c; true'"
    os.mkdir(product.path("ws/sub"))
    line = f"true && eval {command} < /dev/null && pwd -P >| {temp}/claude-a7de-cwd"
    unfenced = subprocess.run(["/bin/bash", "-c", line], cwd=product.ws, timeout=TIMEOUT)
    assert unfenced.returncode == 0
    assert sorted(os.listdir(temp)) == ["b", "claude-a7de-cwd"]
    for name in (f"{temp}/b", f"{temp}/claude-a7de-cwd", product.path("out/c"), product.path("ws/sub/a")):
        os.unlink(name)

    done = launcher(line, TMPDIR=temp)
    assert done.returncode == 0, done.stderr
    assert os.listdir(temp) == ["claude-a7de-cwd"]
    assert os.listdir(product.out) == []
    assert os.path.exists(product.path("ws/sub/a"))
    with open(f"{temp}/claude-a7de-cwd", encoding="utf-8") as file:
        assert file.read() == f"{product.ws}/sub\n"


@needs_engine
def test_status_and_session_temp_folder_are_those_of_the_session(launcher):
    assert launcher("exit 7").returncode == 7
    assert launcher('echo kept > "$TMPDIR/x"').returncode == 0
    assert launcher('cat "$TMPDIR/x"').stdout == b"kept\n"


@needs_engine
def test_the_users_start_files_are_not_read_again(product, launcher):
    product.write("home/.bashrc", "echo bashrc\n")
    product.write("home/.bash_profile", "echo profile\n")
    assert launcher("echo only").stdout == b"only\n"


@pytest.mark.parametrize("more", [("two",), ("-c", "x")])
def test_anything_but_one_line_is_refused(launcher, more):
    done = launcher("touch ran", *more)
    assert (done.returncode, done.stdout) == (2, b"")
    assert (
        done.stderr
        == b"ringfence: this launcher takes one shell line, as CLAUDE_CODE_SHELL_PREFIX gives it\n"
    )
