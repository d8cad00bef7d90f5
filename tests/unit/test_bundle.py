"""The bundle of compiled code is a shortcut and nothing else: it changes no answer, and is believed only if nobody
but us or root could have written it.

Each test works on a copy of the package, started as the hook is.
"""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.product import PACKAGE, TIMEOUT, Product

NAME = f"hot-{sys.implementation.cache_tag}.bundle"
ASK = {
    "hook_event_name": "PreToolUse",
    "cwd": "/",
    "tool_name": "Write",
    "tool_input": {"file_path": "/etc/x"},
}


@pytest.fixture(name="copy")
def _copy(tmp_path):
    package = str(tmp_path / "lib" / "ringfence")
    # With the compiled files that are there: they save each test from compiling everything anew.
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hot-*"))
    return Product(tmp_path, os.path.join(package, "start.py"))


def _package(copy: Product) -> str:
    return os.path.dirname(copy.start)


def _bundle(copy: Product) -> str:
    return os.path.join(_package(copy), "__pycache__", NAME)


def _ask(copy: Product) -> str:
    done = copy.hook(ASK)
    assert done.status == 0, done
    return done.json["hookSpecificOutput"]["permissionDecisionReason"]


def _mark(copy: Product, text: str) -> None:
    """Change a hot module so that its answer shows which version ran; the size stays the same."""
    path = os.path.join(_package(copy), "pipelines", "say.py")
    with open(path, encoding="utf-8") as file:
        source = file.read()
    lead = 'text = f"'
    at = source.index(lead) + len(lead)
    assert len(text) == len("ringfence")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source[:at] + text + source[at + len(text) :])


def _table(path: str) -> dict[str, object]:
    with open(path, "rb") as file:
        _, table, _ = marshal.load(file)  # noqa: S302 - written by the process under test
    return table


def _loaders(copy: Product) -> dict[str, str]:
    """module of ours -> the name of its loader's type, in a process that answers a hook's call."""
    script = (
        "import sys, gc\n"
        f"sys.path.insert(0, {os.path.dirname(_package(copy))!r})\n"
        "import ringfence.doors as d\n"
        "from ringfence.bundle import install\n"
        "install(d.__file__.rpartition('/')[0])\n"
        f"d.main(['hook', 'claude', '--workspace', {copy.ws!r}])\n"
        "sys.stdout.write('\\n')\n"
        "for n, m in sorted(sys.modules.items()):\n"
        "    if n.startswith('ringfence.'): print(n, type(m.__spec__.loader).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        input=b'{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"Write","tool_input":{"file_path":"/etc/x"}}',
        capture_output=True,
        env=copy.env,
        timeout=TIMEOUT,
        check=True,
    )
    lines = done.stdout.decode().split("\n")[1:]
    return dict(line.split(" ") for line in lines if line)


def test_the_first_call_writes_it_and_the_next_one_uses_it(copy):
    assert not os.path.exists(_bundle(copy))
    first = _ask(copy)
    assert os.stat(_bundle(copy)).st_mode & 0o022 == 0
    known = set(_table(_bundle(copy)))
    assert "ringfence.pipelines.hook" in known
    assert "ringfence.decide" in known
    loaders = _loaders(copy)
    assert {loaders[name] for name in known & set(loaders)} == {"Bundle"}
    assert _ask(copy) == first


def test_a_changed_source_counts_at_once(copy):
    assert _ask(copy).startswith("ringfence deny")
    _mark(copy, "RINGFENCE")
    assert _ask(copy).startswith("RINGFENCE deny")
    assert _ask(copy).startswith("RINGFENCE deny")


def test_a_source_that_went_back_in_time_counts_too(copy):
    _ask(copy)
    path = os.path.join(_package(copy), "pipelines", "say.py")
    _mark(copy, "RINGFENCE")
    os.utime(path, ns=(0, 0))
    assert _ask(copy).startswith("RINGFENCE deny")


def test_a_source_that_is_gone_is_gone(copy):
    _ask(copy)
    os.unlink(os.path.join(_package(copy), "pipelines", "say.py"))
    done = copy.hook(ASK)
    assert done.status != 0
    assert done.out == b""


GARBAGE = {
    "empty": b"",
    "noise": b"\x00\xff" * 500,
    "text": b"hello",
    "another value": marshal.dumps([1, 2, 3]),
    "another shape": marshal.dumps((1, {}, 3, 4)),
    "another format": marshal.dumps(((0, 0), {}, 0)),
    "an old interpreter's": marshal.dumps(
        ((1, 1), {"ringfence.decide": ("decide.py", False, 0, 0, 0, 0)}, 0)
    ),
    "a table that is none": marshal.dumps(((1, sys.hexversion), [], 0)),
    "a table of nonsense": marshal.dumps(((1, sys.hexversion), {"ringfence.decide": 7}, 0)),
    "entries of nonsense": marshal.dumps(((1, sys.hexversion), {"ringfence.decide": (1, 2, 3, 4, 5, 6)}, 0)),
    "a header without its end": marshal.dumps(((1, sys.hexversion), {}, None)),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_a_corrupt_file_means_the_ordinary_import(copy, name):
    whole = _ask(copy)
    with open(_bundle(copy), "wb") as file:
        file.write(GARBAGE[name])
    assert _ask(copy) == whole


def test_a_file_cut_short_means_the_ordinary_import(copy):
    whole = _ask(copy)
    size = os.path.getsize(_bundle(copy))
    for keep in (size - 1, size // 2, 5000, 100, 1):
        os.truncate(_bundle(copy), keep)
        assert _ask(copy) == whole, keep


def _poison(copy: Product) -> None:
    """A bundle whose `say` module answers differently, true to its source's time and size."""
    path = _bundle(copy)
    with open(path, "rb") as file:
        data = file.read()
    # A constant of the compiled code, same length: the only trace is in the answer.
    assert b"\xda" in data
    assert data.count(b"ringfence ") >= 1
    with open(path, "wb") as file:
        file.write(data.replace(b"ringfence ", b"POISONED! "))


def test_a_file_of_ours_is_believed_so_the_attacks_below_mean_something(copy):
    _ask(copy)
    _poison(copy)
    assert _ask(copy).startswith("POISONED! deny")


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646])
def test_a_file_that_others_may_write_is_not_believed(copy, mode):
    _ask(copy)
    _poison(copy)
    os.chmod(_bundle(copy), mode)
    assert _ask(copy).startswith("ringfence deny")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_is_not_believed(copy, mode):
    _ask(copy)
    _poison(copy)
    os.chmod(os.path.dirname(_bundle(copy)), mode)
    assert _ask(copy).startswith("ringfence deny")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_a_stranger_is_not_believed(copy, what):
    _ask(copy)
    _poison(copy)
    path = _bundle(copy)
    os.chown(path if what == "file" else os.path.dirname(path), 65534, 65534)
    assert _ask(copy).startswith("ringfence deny")


def test_a_link_in_its_place_is_not_believed(copy):
    _ask(copy)
    _poison(copy)
    path = _bundle(copy)
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)
    assert _ask(copy).startswith("ringfence deny")


def test_a_folder_that_cannot_be_written_costs_only_time(copy):
    os.makedirs(os.path.join(_package(copy), "__pycache__"), exist_ok=True)
    blocker = os.path.join(_package(copy), "__pycache__", NAME)
    os.mkdir(blocker)
    assert _ask(copy).startswith("ringfence deny")
    assert os.path.isdir(blocker)
    assert not [n for n in os.listdir(os.path.dirname(blocker)) if n.startswith(NAME + ".")]


def test_many_first_calls_at_once_leave_one_whole_file(copy):
    raw = (
        b'{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"Write","tool_input":{"file_path":"/etc/x"}}'
    )
    started = [
        subprocess.Popen(
            copy.words("hook", "claude", "--workspace", copy.ws),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=copy.env,
            cwd=copy.ws,
        )
        for _ in range(6)
    ]
    answers = {one.communicate(raw, timeout=TIMEOUT)[0] for one in started}
    assert len(answers) == 1
    folder = os.path.dirname(_bundle(copy))
    assert [n for n in os.listdir(folder) if n.startswith("hot-")] == [NAME]
    assert "ringfence.decide" in _table(_bundle(copy))
    assert _ask(copy).startswith("ringfence deny")


def test_it_answers_for_our_own_modules_only(copy):
    _ask(copy)
    assert all(name.startswith("ringfence.") for name in _table(_bundle(copy)))


def test_a_cold_command_neither_needs_it_nor_is_changed_by_it(copy):
    words = ("check", "--workspace", copy.ws, "--json", "/etc/x")
    before = copy.run(*words)
    _ask(copy)
    assert copy.run(*words) == before
    assert before.status == 1
