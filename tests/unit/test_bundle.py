"""The bundle of compiled code is a shortcut and nothing else: it changes no answer, and is believed only if nobody
but us or root could have written it.

Each test works on a copy of the package, started as the hook is.
"""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys

import pytest

from ringfence.bundle import Bundle
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


def _head(path: str) -> tuple:
    """What stands at the beginning: the version, modules, groups, compiled modules of the interpreter."""
    with open(path, "rb") as file:
        file.read(8)
        return marshal.load(file)  # noqa: S302 - written by the process under test


def _table(path: str) -> dict[str, object]:
    return _head(path)[1]


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


# The first call writes the modules, the second what came along with which, the third has all of it.
CALLS = pytest.mark.parametrize("calls", [1, 2, 3])


@CALLS
def test_a_changed_source_counts_at_once(calls, copy):
    for _ in range(calls):
        assert _ask(copy).startswith("ringfence deny")
    _mark(copy, "RINGFENCE")
    assert _ask(copy).startswith("RINGFENCE deny")
    assert _ask(copy).startswith("RINGFENCE deny")


@CALLS
def test_a_source_that_went_back_in_time_counts_too(calls, copy):
    for _ in range(calls):
        _ask(copy)
    path = os.path.join(_package(copy), "pipelines", "say.py")
    _mark(copy, "RINGFENCE")
    os.utime(path, ns=(0, 0))
    assert _ask(copy).startswith("RINGFENCE deny")


@CALLS
def test_a_source_that_is_gone_is_gone(calls, copy):
    for _ in range(calls):
        _ask(copy)
    os.unlink(os.path.join(_package(copy), "pipelines", "say.py"))
    done = copy.hook(ASK)
    assert done.status != 0
    assert done.out == b""


def test_what_comes_along_with_an_import_is_loaded_at_once(copy):
    """The twin of the poisoned file below: here only the group is changed, and the answer shows that it was used."""
    for _ in range(2):
        assert _ask(copy).startswith("ringfence deny")
    _, table, groups, _ = _head(_bundle(copy))
    members, begin, end = groups["ringfence.pipelines.hook"]
    assert "ringfence.pipelines.say" in members
    assert members[-1] == "ringfence.pipelines.hook"
    assert set(members) <= set(table)
    with open(_bundle(copy), "r+b") as file:
        start = int.from_bytes(file.read(8), "little")
        file.seek(start + begin)
        block = file.read(end - begin)
        file.seek(start + begin)
        file.write(block.replace(b"ringfence ", b"TOGETHER! "))
    loaders = _loaders(copy)
    assert {loaders[name] for name in table.keys() & loaders.keys()} == {"Bundle"}
    assert _ask(copy).startswith("TOGETHER! deny")


def test_a_group_may_meet_modules_that_are_there_already(copy):
    for _ in range(2):
        whole = _ask(copy)
    script = (
        "import sys\n"
        f"sys.path.insert(0, {os.path.dirname(_package(copy))!r})\n"
        "import ringfence.doors as d, ringfence.pipelines.say as early\n"
        "from ringfence.bundle import install\n"
        "install(d.__file__.rpartition('/')[0])\n"
        f"d.main(['hook', 'claude', '--workspace', {copy.ws!r}])\n"
        "import ringfence.pipelines\n"
        "assert ringfence.pipelines.say is sys.modules['ringfence.pipelines.say'] is early\n"
    )
    words = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run(
        words, input=json.dumps(ASK).encode(), capture_output=True, env=copy.env, timeout=TIMEOUT, check=True
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"] == whole


def test_modules_look_as_if_imported_the_ordinary_way(copy):
    for _ in range(2):
        _ask(copy)
    script = (
        "import sys\n"
        f"sys.path.insert(0, {os.path.dirname(_package(copy))!r})\n"
        "import ringfence.doors as d\n"
        "from ringfence.bundle import install\n"
        "if sys.argv[1] == 'bundle': install(d.__file__.rpartition('/')[0])\n"
        "import ringfence.pipelines.hook\n"
        "for n, m in sorted(sys.modules.items()):\n"
        "    if n.startswith('ringfence.pipelines'):\n"
        "        print(n, m.__name__, m.__package__, m.__file__, getattr(m, '__path__', ''), m.__spec__.name,\n"
        "              m.__spec__.origin, m.__spec__.parent, m.__spec__.has_location)\n"
    )
    seen = [
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, how],
            capture_output=True,
            env=copy.env,
            timeout=TIMEOUT,
            check=True,
        ).stdout
        for how in ("bundle", "ordinary")
    ]
    assert seen[0] == seen[1] != b""


def test_a_compiled_module_is_taken_from_this_interpreters_path_only(tmp_path):
    bundle = Bundle(PACKAGE)
    (tmp_path / "_json.so").write_bytes(b"")
    bundle.libraries = {"_json": str(tmp_path / "_json.so")}
    assert bundle.find_spec("_json") is None  # another interpreter's
    sys.path.append(str(tmp_path))
    try:
        assert bundle.find_spec("_json").origin == str(tmp_path / "_json.so")
        (tmp_path / "_json.so").unlink()
        assert bundle.find_spec("_json") is None
    finally:
        sys.path.remove(str(tmp_path))
    assert bundle.find_spec("_other") is None


def _file(head: object, length: int | None = None) -> bytes:
    body = marshal.dumps(head)
    return (len(body) + 8 if length is None else length).to_bytes(8, "little") + body


GOOD = (2, sys.hexversion, 0)  # what a file without any code has for its version


@CALLS
def test_a_source_that_nobody_asks_for_any_more_stops_nothing(calls, copy):
    """An upgrade moves modules: what the old place was is forgotten, and the file is written all the same."""
    package = _package(copy)
    extra = os.path.join(package, "pipelines", "extra.py")
    with open(extra, "w", encoding="utf-8") as file:
        file.write("word = 'deny'\n")
    say = os.path.join(package, "pipelines", "say.py")
    with open(say, encoding="utf-8") as file:
        source = file.read()
    with open(say, "w", encoding="utf-8") as file:
        file.write(source + "\nimport ringfence.pipelines.extra\n")
    for _ in range(calls):
        _ask(copy)
    assert "ringfence.pipelines.extra" in _table(_bundle(copy))
    with open(say, "w", encoding="utf-8") as file:
        file.write(source)
    os.unlink(extra)
    for _ in range(3):
        _ask(copy)
    _, table, groups, _ = _head(_bundle(copy))
    assert "ringfence.pipelines.extra" not in table
    assert table["ringfence.pipelines.say"][3] == len(source.encode())
    assert "ringfence.pipelines.say" in groups["ringfence.pipelines.hook"][0]


GARBAGE = {
    "empty": b"",
    "noise": b"\x00\xff" * 500,
    "text": b"hello",
    "a word alone": (1000).to_bytes(8, "little"),
    "another value": _file([1, 2, 3]),
    "another shape": _file((GOOD, {}, {}, {}, 4)),
    "a head that is too long": _file((GOOD, {}, {}, {}), 1 << 62),
    "a head that is cut": _file((GOOD, {}, {}, {}), 12),
    "another format": _file(((0, 0, 0), {}, {}, {})),
    "an old interpreter's": _file(
        ((2, 1, 0), {"ringfence.decide": ("decide.py", False, 0, 0, 0, 0)}, {}, {})
    ),
    "a table that is none": _file((GOOD, [], {}, {})),
    "groups that are none": _file((GOOD, {}, None, {})),
    "a table of nonsense": _file((GOOD, {"ringfence.decide": 7}, {}, {})),
    "entries of nonsense": _file((GOOD, {"ringfence.decide": (1, 2, 3, 4, 5, 6)}, {}, {})),
    "a group of nonsense": _file((GOOD, {}, {"ringfence.pipelines.hook": 7}, {})),
    "a group of strangers": _file((GOOD, {}, {"ringfence.pipelines.hook": (("a", "b"), 0, 0)}, {})),
    "a compiled module that is nowhere": _file((GOOD, {}, {}, {"_json": "/nowhere/_json.so"})),
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


def test_a_group_written_down_by_one_door_serves_another(copy):
    """What the first door had loaded already is missing in the group: modules and the packages above them."""
    words = ("shell", "--workspace", copy.ws, "-c", "echo $((6 * 7))")
    for _ in range(2):
        _ask(copy)
        before = copy.run(*words)
    _, table, groups, libraries = _head(_bundle(copy))
    members, begin, end = groups["ringfence.pipelines.shell"]
    assert "ringfence.policy" in members
    with open(_bundle(copy), "rb") as file:
        start = int.from_bytes(file.read(8), "little")
        file.seek(start)
        blocks = file.read()
    codes = marshal.loads(blocks[begin:end])  # noqa: S302 - written by the process under test
    fewer = [n for n, name in enumerate(members) if name not in {"ringfence.policy", "ringfence.model"}]
    more = marshal.dumps(tuple(codes[n] for n in fewer))
    groups["ringfence.pipelines.shell"] = (
        tuple(members[n] for n in fewer),
        len(blocks),
        len(blocks) + len(more),
    )
    version = (2, sys.hexversion, len(blocks) + len(more))
    with open(_bundle(copy), "wb") as file:
        file.write(_file((version, table, groups, libraries)) + blocks + more)
    assert copy.run(*words) == before
    assert before.out == b"42\n"
