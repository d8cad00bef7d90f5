"""Which refusal a fenced command met: only one that the policy refuses, that the output speaks of, and that this user
could have done without the fence. No engine here: the test writes what a program would have said.
"""

from __future__ import annotations

import os

import pytest

from ringfence.model import EnforcementReport
from ringfence.pipelines import denials
from ringfence.pipelines.fence import Fence


@pytest.fixture(name="stage")
def _stage(tmp_path, monkeypatch):
    return Stage(tmp_path, monkeypatch)


class Stage:
    """A workspace, a folder outside, and a file that stands as the command's stderr."""

    def __init__(self, base, monkeypatch) -> None:
        self.base = os.path.realpath(base)
        for name in ("home", "ws", "out"):
            os.makedirs(f"{self.base}/{name}")
        self.fence = Fence(
            workspace=f"{self.base}/ws", cwd=f"{self.base}/ws", env={"HOME": f"{self.base}/home"}
        )
        self.said: list[str] = []
        monkeypatch.setattr("ringfence.pipelines.say.complain", self.said.append)
        self._output: bytes | None = None
        monkeypatch.setattr(denials, "_end_of", lambda _fd: 0)
        monkeypatch.setattr(denials, "_since", lambda _fd, _start: self._output)

    def after(
        self, command: str, output: str | None, *, status: int = 1, engine: str = "mounts", signal: int = 0
    ) -> list[str]:
        """The paths that are named, shortened: `@` stands for the test's folder."""
        self.said.clear()
        self._output = (
            None if output is None else output.replace("@", self.base).encode("utf-8", "surrogateescape")
        )
        watch = denials.Watch(
            self.fence, command.replace("@", self.base), f"{self.base}/ws", {"HOME": f"{self.base}/home"}
        )
        watch.told(EnforcementReport(engine, "", ()))
        watch.explain(signal or status << 8)
        lines = [line.replace(self.base, "@") for line in self.said if "next:" not in line]
        return [line.partition("]: ")[2].partition(":")[0] for line in lines]


RO = "Read-only file system"
NAMED = [
    ("touch @/out/a", f"touch: cannot touch '@/out/a': {RO}", ["writing @/out/a"]),
    ("touch ../out/a", f"touch: cannot touch '../out/a': {RO}", ["writing @/out/a"]),
    ("x", f"bash: line 1: @/out/a: {RO}", ["writing @/out/a"]),
    ("x", f"cp: cannot create regular file \u2018@/out/b\u2019: {RO}", ["writing @/out/b"]),
    ("x", f"OSError: [Errno 30] {RO}: '@/out/a'", ["writing @/out/a"]),
    ("x", "Error: EROFS: read-only file system, open '@/out/a'", ["writing @/out/a"]),
    ("x", f"mkdir: cannot create directory '@/out/a': {RO}\nmkdir: cannot create directory '@/out/b': {RO}", ["writing @/out/b", "writing @/out/a"]),
    ("cd @/out; touch a", f"touch: cannot touch 'a': {RO}", ["writing @/out/a"]),
    ("x", f"sh: 1: cannot create .git/hooks/x: {RO}", ["writing @/ws/.git/hooks/x"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "expected"), NAMED)
def test_what_the_output_names(stage, command, output, expected):
    assert stage.after(command, output) == expected
    assert all("refused by the fence [" in line for line in stage.said if "next:" not in line)


def test_a_quoted_name_with_a_blank_is_named_whole_and_once(stage):
    output = f"cp: cannot create regular file '@/out/b c': {RO}"
    assert stage.after("x", output) == ["writing @/out/b c"]


QUIET = [
    ("x", "cat: '@/out/a': No such file or directory"),
    ("x", "touch: cannot touch '@/out/a': Permission denied"),  # under mounts the system's own word
    ("x", f"touch: cannot touch '@/ws/a': {RO}"),  # the policy allows it: not our refusal
    ("touch @/out/a", "everything is fine"),
    ("touch @/out/a", ""),
    ("x", f"it says '{RO}' and names nothing"),
]


@pytest.mark.parametrize(("command", "output"), QUIET)
def test_what_is_no_refusal_of_ours(stage, command, output):
    assert stage.after(command, output) == []


def test_under_landlock_the_kernel_says_it_otherwise(stage):
    output = "touch: cannot touch '@/out/a': Permission denied"
    assert stage.after("x", output, engine="landlock") == ["writing @/out/a"]
    assert stage.after("x", output.replace("@/out/a", "@/ws/a"), engine="landlock") == []
    assert stage.after("x", output, engine="landlock", status=126) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write it anyway")
def test_what_this_user_may_not_do_anyway_is_not_ours(stage):
    assert stage.after("x", f"touch: cannot touch '/etc/x': {RO}") == []


@pytest.mark.parametrize("engine", ["none", "something else"])
def test_without_an_engine_nothing_was_refused(stage, engine):
    assert stage.after("touch @/out/a", f"touch: cannot touch '@/out/a': {RO}", engine=engine) == []


def test_without_output_only_a_text_that_writes_is_a_candidate(stage):
    assert stage.after("touch @/out/a", None) == ["writing @/out/a"]
    assert "if it failed for this reason, that was the fence [" in stage.said[0]
    assert stage.after("cat @/out/a", None) == []
    assert stage.after("touch @/out/a", None, status=0) == []
    assert stage.after("touch @/out/a", None, status=127) == []
    assert stage.after("touch @/out/a", None, signal=9) == []
    assert stage.after("touch a", None) == []


def test_without_output_a_text_that_does_not_tell_gets_one_line_on_what_holds(stage):
    hidden = 'read -r p < target; echo x > "$p"'
    stage.after(hidden, None)
    (line,) = stage.said
    assert "if it failed because a file could not be written, that was the fence" in line
    assert f"{stage.base}/ws" in line
    stage.after(hidden, None, status=0)
    assert stage.said == []
    stage.after("grep x f", None)  # a text that tells, and that only reads
    assert stage.said == []


def test_at_most_three_are_named(stage):
    output = "\n".join(f"touch: cannot touch '@/out/{i}': {RO}" for i in range(9))
    assert len(stage.after("x", output)) == 3


def test_each_is_named_once(stage):
    line = f"touch: cannot touch '@/out/a': {RO}"
    assert stage.after("touch @/out/a", f"{line}\n{line}\n{line}") == ["writing @/out/a"]


def test_without_a_fence_nothing_is_said(tmp_path, monkeypatch):
    stage = Stage(tmp_path, monkeypatch)
    stage.fence = Fence(cwd=stage.base, env={"HOME": f"{stage.base}/home"})
    assert stage.after("x", f"touch: cannot touch '/out/a': {RO}") == []


def test_an_output_of_many_megabytes_is_looked_at_from_its_end(tmp_path):
    path = tmp_path / "said"
    path.write_bytes(b"before\n" + b"x" * 200_000 + b"\nlast line")
    with open(path, "rb") as file:
        found = denials._since(file.fileno(), 7)
    assert found is not None
    assert len(found) == 64 * 1024
    assert found.endswith(b"\nlast line")


def test_only_what_came_after_the_start_counts(tmp_path):
    path = tmp_path / "said"
    path.write_bytes(b"old")
    with open(path, "ab") as file:
        start = denials._end_of(file.fileno())
        file.write(b"new")
        file.flush()
        assert denials._since(file.fileno(), start) == b"new"
        file.truncate(0)  # `> /dev/stderr` cuts it
        file.write(b"c")
        file.flush()
        assert denials._since(file.fileno(), start) == b"c"


def test_a_pipe_cannot_be_read_back():
    reads, writes = os.pipe()
    try:
        assert denials._end_of(writes) == -1
        assert denials._since(writes, -1) is None
    finally:
        os.close(reads)
        os.close(writes)
