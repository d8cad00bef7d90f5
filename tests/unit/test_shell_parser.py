"""The parser behind its limits, the lowering and the guards."""

from __future__ import annotations

import os
import stat
import subprocess
import time

import pytest
from shell_rig import PARSE, PROGRAM, needs_parser

from ringfence.kernel.local_disk import MAX_READ, LocalDisk
from ringfence.kernel.parser_process import MAX_TEXT, run_parser
from ringfence.pipelines.command import find_parser
from ringfence.shell.lower import lower
from ringfence.shell.parsing import decode_json, read_script
from ringfence.shell.tree import Refusal, Script

GUARDED = [
    ("echo x >&2x", "opaque.guard-descriptor"),
    ("cat <&-rm x", "opaque.guard-descriptor"),
    ("echo x >&-word", "opaque.guard-descriptor"),
    ("let x=1>f", "opaque.guard-let"),
    ("coproc cmd > f", "opaque.guard-coproc"),
    ("export A[ a > b ]=x", "opaque.guard-subscript"),
    ("declare a[1>d]=x", "opaque.guard-subscript"),
    ("echo \1", "opaque.guard-control"),
    ("echo $'\\001'", "opaque.guard-control"),
    ("echo @($(touch x)|b)", "opaque.guard-extglob"),
    ("echo a\0b", "invalid.nul"),
    ("echo (", "opaque.syntax"),
    ("if x", "opaque.syntax"),
    ("echo 'x", "opaque.syntax"),
]


@needs_parser
@pytest.mark.parametrize(("text", "code"), GUARDED, ids=[repr(g[0]) for g in GUARDED])
def test_guard(text, code):
    got = PARSE(text, "bash")
    assert isinstance(got, Refusal)
    assert got.code == code


@needs_parser
@pytest.mark.parametrize(
    "text", ["echo x >&2", "echo x >&-", "cat <&3-", "exec 3>&1", "let 'x = 5 > 3'", "let x=1+2"]
)
def test_guards_leave_the_ordinary_alone(text):
    assert isinstance(PARSE(text, "bash"), Script)


@needs_parser
def test_a_comment_ends_at_its_newline_even_after_a_backslash(tmp_path):
    """bash runs the second line; shfmt reads it as more of the first."""
    text = "echo x # c\\\ntouch made"
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "made").exists(), "the attack does not work on this bash"
    script = PARSE(text, "bash")
    assert isinstance(script, Script)
    assert len(script.body) == 2


@needs_parser
def test_a_carriage_return_is_part_of_a_word():
    script = PARSE("cd src\r\ntouch n\r\n", "bash")
    assert isinstance(script, Script)
    assert script.body[0].cmd.words[1].parts[0].text == "src\r"
    assert script.body[1].cmd.words[1].parts[0].text == "n\r"


@needs_parser
@pytest.mark.parametrize("text", ["x" * (MAX_TEXT + 1), "$(" * 100 + "a" + ")" * 100, "(" * 3000])
def test_limits_are_refusals(text):
    assert isinstance(PARSE(text, "bash"), Refusal)


@needs_parser
def test_large_ordinary_texts_are_read():
    heredoc = "cat <<'E'\n" + "line of text\n" * 10_000 + "E"
    assert isinstance(PARSE(heredoc, "bash"), Script)
    assert isinstance(PARSE("; ".join(["true"] * 500), "bash"), Script)
    assert isinstance(PARSE(" && ".join(["true"] * 150), "bash"), Script)


def program(tmp_path, body):
    path = tmp_path / "parser"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_parser_that_hangs_is_killed(tmp_path):
    before = time.monotonic()
    answer = run_parser(program(tmp_path, "exec sleep 60"), "bash", b"ls", seconds=0.2)
    assert answer.code == "opaque.parser-limit"
    assert time.monotonic() - before < 30


def test_a_parser_that_floods_is_killed(tmp_path):
    answer = run_parser(
        program(tmp_path, "exec yes 0123456789012345678901234567890123456789"), "bash", b"ls", seconds=5
    )
    assert answer.code == "opaque.parser-limit"


def test_a_parser_that_does_not_read_still_answers(tmp_path):
    answer = run_parser(program(tmp_path, "echo no; exit 3"), "bash", b"x" * MAX_TEXT)
    assert (answer.ok, answer.code) == (False, "opaque.syntax")


def test_no_parser_is_a_refusal_and_path_is_never_asked(tmp_path):
    assert run_parser("", "bash", b"ls").code == "opaque.no-parser"
    assert run_parser("shfmt", "bash", b"ls").code == "opaque.no-parser"
    assert run_parser(str(tmp_path / "absent"), "bash", b"ls").code == "opaque.no-parser"


def test_the_child_inherits_no_descriptor_and_no_environment(tmp_path):
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, False)
    script = program(
        tmp_path, f"[ -e /proc/self/fd/{leak} ] && echo leaked\nenv | grep -v -e PWD -e SHLVL -e _=; exit 1"
    )
    answer = run_parser(script, "bash", b"")
    os.close(leak)
    assert (answer.ok, answer.detail) == (False, "")


@needs_parser
def test_find_parser_asks_the_given_folders_only(tmp_path):
    os.makedirs(tmp_path / "bin")
    os.symlink(PROGRAM, tmp_path / "bin" / "shfmt")
    assert find_parser(str(tmp_path)) == str(tmp_path / "bin" / "shfmt")


DRIFT = [
    {"Type": "File", "Stmts": [{"Pos": {"Offset": 0}, "End": {"Offset": 2}, "Novel": 1}]},
    {"Type": "File", "Stmts": [{"Pos": {"Offset": 0}, "End": {"Offset": 2}, "Cmd": {"Type": "NewCmd", "Pos": {"Offset": 0}}}]},
    {"Type": "File", "Stmts": [{"Pos": {"Offset": 0}, "End": {"Offset": 2}, "Cmd": {}}]},
    {"Type": "File", "Stmts": [{}]},
    {"Type": "File", "Stmts": [
        {"Pos": {"Offset": 0}, "End": {"Offset": 2}, "Redirs": [
            {"Pos": {"Offset": 0}, "End": {"Offset": 2}, "Op": ">>", "OpPos": {"Offset": 0},
             "Word": {"Pos": {"Offset": 1}, "End": {"Offset": 2}, "Parts": []}}]}]},
]  # fmt: skip


@pytest.mark.parametrize("root", DRIFT, ids=range(len(DRIFT)))
def test_an_unknown_shape_is_refused(root):
    got = lower(root, "ab", b"ab")
    assert isinstance(got, Refusal)
    assert got.code == "opaque.parser-drift"


def test_an_answer_that_is_no_json_is_refused():
    assert isinstance(read_script("ls | cat", "bash", lambda _s, _d: (True, "not json", "", "")), Refusal)
    assert isinstance(read_script("ls | cat", "bash", lambda _s, _d: (True, "[" * 100_000, "", "")), Refusal)


def test_json_by_the_c_scanner():
    assert decode_json('\n {"a": [1, -2.5, "x\\u00e9", null, true]}') == {
        "a": [1, -2.5, "x\u00e9", None, True]
    }
    with pytest.raises(ValueError, match="JSON"):
        decode_json("nope")


def test_the_disk_answers_without_raising(tmp_path):
    disk = LocalDisk()
    root = str(tmp_path)
    (tmp_path / "f").write_text("text")
    (tmp_path / "big").write_bytes(b"x" * (MAX_READ + 1))
    os.mkfifo(tmp_path / "pipe")
    os.symlink("f", tmp_path / "link")
    os.symlink("loop", tmp_path / "loop")
    assert disk.read_text(f"{root}/f") == disk.read_text(f"{root}/link") == "text"
    assert disk.read_text(f"{root}/big") is None
    assert disk.read_text(f"{root}/pipe") is None  # and does not wait for a writer
    assert disk.readlink(f"{root}/link") == "f"
    assert disk.readlink(f"{root}/f") is None
    assert disk.names(root) == ("big", "f", "link", "loop", "pipe")
    assert disk.physical(f"{root}/link") == os.path.realpath(f"{root}/f")
    assert disk.exists(f"{root}/loop")
    assert disk.is_file(f"{root}/link")
    for odd in (f"{root}/loop", f"{root}/absent", "/a\0b", "/" + "x" * 5000, "\ud800"):
        assert not disk.is_dir(odd)
        assert not disk.is_file(odd)
        assert disk.names(odd) is None
        assert disk.physical(odd) is None
        assert disk.read_text(odd) is None
