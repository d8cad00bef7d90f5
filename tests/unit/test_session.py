"""Folders and variables that a session owns."""

from __future__ import annotations

import os

import pytest

from ringfence.errors import NotEnforcedError, UsageError
from ringfence.model import Access, Folders, Policy, Rule, Strength, Verdict, Zone, ZoneKind
from ringfence.pipelines import session
from ringfence.resolve.descriptor import locate

FOLDERS = Folders("/h/.config/r", "/h/.local/state/r", "/h/.cache/r", "/run/r")


def policy(**changes) -> Policy:
    made = Policy(
        ("/w",), True, (Zone("/w", Access.WRITE, ZoneKind.WORKSPACE, Rule("workspace", "x")),), (), "workspace",
        "anywhere", Verdict.ASK, Verdict.DENY, Strength.KERNEL, False, "private", "private", "vet", FOLDERS,
        Rule("default", "built in"),
    )  # fmt: skip
    return made._replace(**changes)


@pytest.mark.parametrize(
    ("agent", "given", "name"),
    [
        ("claude", "787cb510-fe88-4174-a", "claude-787cb510-fe88-4174"),
        ("claude", "../../etc", "claude-______etc"),
        ("claude", "a/b\n\u00e9", "claude-a_b__"),
        ("claude", "", f"call-{os.getpid()}"),
        ("", "", f"call-{os.getpid()}"),
    ],
)
def test_a_session_has_a_name_that_is_one_folder(agent, given, name):
    assert session.session_name(agent, given) == name
    assert "/" not in name


@pytest.mark.parametrize("name", ["a", "build-1", "A_b", "x" * 40])
def test_a_name_that_a_person_may_give(name):
    assert session.named(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/a", "a b", "a\n", "\u00e9", "x" * 41, "call-1", "-c"]
)
def test_a_name_that_nobody_may_give(name):
    with pytest.raises(UsageError):
        session.named(name)


def test_a_socket_below_a_session_folder_has_a_name_short_enough():
    folder = session.temp_folder(session.session_name("claude", "0" * 36))
    assert len(f"{folder}/tmp.XXXXXXXXXX/".encode()) < 107 - 32


def _zones(made: Policy) -> list[tuple[str, str, str]]:
    return [(zone.root, str(zone.access), str(zone.kind)) for zone in made.zones[1:]]


def test_the_zones_of_a_session():
    base = f"/tmp/ringfence-{os.geteuid()}"
    cache = session.cache_folder(policy())
    assert cache.startswith("/h/.cache/r/work/w-")
    own = (base, "read", "own")
    assert _zones(session.with_session(policy(), "s")) == [
        own,
        (f"{base}/s", "write", "temp"),
        (cache, "write", "cache"),
    ]
    shared = session.with_session(policy(temp="shared", caches="shared"), "s")
    assert _zones(shared) == [own, *((root, "write", "temp") for root in ("/tmp", "/var/tmp", "/dev/shm"))]
    assert _zones(session.with_session(policy(temp="none", caches="none"), "s")) == [own]
    assert session.with_session(policy(restricted=False), "s").zones == policy().zones


def test_the_variables_of_a_session():
    made = session.environment(policy(), "s")
    folder = session.temp_folder("s")
    assert made["TMPDIR"] == made["TMP"] == made["TEMP"] == folder
    cache = session.cache_folder(policy())
    assert {name: made[name] for name in session.CACHE_VARIABLES} == {
        name: f"{cache}/{part}" for name, part in session.CACHE_VARIABLES.items()
    }
    assert len(set(session.CACHE_VARIABLES.values())) == len(session.CACHE_VARIABLES)
    assert made["MAVEN_ARGS"] == f"-Dmaven.repo.local={cache}/maven"
    assert session.environment(policy(temp="none", caches="shared"), "s") == {}
    assert session.environment(policy(restricted=False), "s") == {}


def test_two_workspaces_have_two_caches():
    one = session.cache_folder(policy())
    assert session.cache_folder(policy(workspace=("/x/w",))) != one
    assert session.cache_folder(policy(workspace=("/w", "/y"))) == one


def test_a_digest_is_stable():
    # Folders of earlier releases are found again only while this holds.
    assert f"{session.digest(''):016x}" == "cbf29ce484222325"
    assert f"{session.digest('a'):016x}" == "af63dc4c8601ec8c"
    assert session.digest("\udcff") == session.digest("\udcff") != session.digest("\u00ff")


# --- folders in a place that others can write ---------------------------------------------------------


def test_private_folders_are_made_with_their_parents(tmp_path):
    base = str(tmp_path / "base")
    session.make_private(f"{base}/a/b", base)
    for folder in (base, f"{base}/a", f"{base}/a/b"):
        assert os.stat(folder).st_mode & 0o777 == 0o700
    session.make_private(f"{base}/a/b", base)


def _link(path: str) -> None:
    os.symlink("/", path)


def _file(path: str) -> None:
    with open(path, "w", encoding="ascii"):
        pass


def _open_to_all(path: str) -> None:
    os.mkdir(path)
    os.chmod(path, 0o777)


def _open_to_group(path: str) -> None:
    os.mkdir(path)
    os.chmod(path, 0o770)


def _foreign(path: str) -> None:
    os.mkdir(path, 0o700)
    os.chown(path, 65534, 65534)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


@pytest.mark.parametrize(
    "trap", [_link, _file, _open_to_all, _open_to_group, pytest.param(_foreign, marks=needs_root)]
)
@pytest.mark.parametrize("where", ["base", "base/a"])
def test_what_somebody_else_put_there_is_refused(tmp_path, trap, where):
    base = str(tmp_path / "base")
    if where != "base":
        os.mkdir(base, 0o700)
    trap(str(tmp_path / where))
    with pytest.raises(NotEnforcedError, match="is not a private folder of this user"):
        session.make_private(f"{base}/a", base)


# --- ends ---------------------------------------------------------------------------------------------


@pytest.fixture(name="base")
def _base(tmp_path, monkeypatch):
    base = str(tmp_path / "base")
    os.mkdir(base)
    monkeypatch.setattr(session, "temp_base", lambda uid=None: base)
    return base


def test_the_end_removes_everything_and_follows_no_link(base, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    os.makedirs(f"{base}/s/deep")
    os.symlink(kept, f"{base}/s/deep/link")
    session.end("s")
    assert os.listdir(base) == []
    assert (kept / "file").read_text() == "x"
    session.end("s")


def test_only_a_calls_own_folder_ends_with_it(base):
    os.mkdir(f"{base}/claude-x")
    os.mkdir(f"{base}/call-1")
    session.end_call("claude-x")
    session.end_call("call-1")
    assert os.listdir(base) == ["claude-x"]


def test_the_sweep_takes_what_is_dead_or_old_and_nothing_else(base, tmp_path):
    gone = next(pid for pid in range(4_000_000, 4_194_303) if not os.path.exists(f"/proc/{pid}"))
    for name in (f"call-{gone}", f"call-{os.getpid()}", "claude-new", "claude-old", "claude-mine"):
        os.makedirs(f"{base}/{name}/x")
    for name in ("claude-old", "claude-mine"):
        os.utime(f"{base}/{name}", (0, 0))
    os.symlink(tmp_path, f"{base}/claude-link")
    session.sweep(keep="claude-mine")
    assert sorted(os.listdir(base)) == [f"call-{os.getpid()}", "claude-link", "claude-mine", "claude-new"]


def test_a_sweep_without_a_folder_is_nothing(base):
    os.rmdir(base)
    session.sweep(keep="")


# --- the agent's own folders ---------------------------------------------------------------------------


def test_a_scratch_folder_is_granted_only_where_it_leads_nowhere_else(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "guarded" / "in").mkdir(parents=True)
    os.symlink(tmp_path / "guarded", tmp_path / "link")
    base = os.path.realpath(tmp_path)
    made = policy(
        zones=(
            Zone(f"{base}/ws", Access.WRITE, ZoneKind.WORKSPACE, Rule("w", "x")),
            Zone(f"{base}/guarded/in", Access.READ, ZoneKind.PROTECT, Rule("p", "x")),
        )
    )

    def granted(path: str, start: str = "/") -> list[str]:
        way = path if start == "/" else path.removeprefix(start)
        found = session.with_scratch(made, ((start, way, Access.WRITE),), lambda text: locate(text, True))
        return [zone.root for zone in found.zones[2:]]

    assert granted(f"{base}/plain/x") == [f"{base}/plain/x"]
    # The base may be known by a link; the way from there may not run through one.
    os.symlink(tmp_path / "plain", tmp_path / "home")
    assert granted(f"{base}/home/x", f"{base}/home") == [f"{base}/plain/x"]
    os.symlink(tmp_path / "guarded", tmp_path / "plain" / "planted")
    assert granted(f"{base}/plain/planted/x", f"{base}/plain") == []
    assert granted(f"{base}/guarded") == []
    assert granted(f"{base}/guarded/in/x") == []
    assert granted(f"{base}/link") == []
    assert granted(f"{base}/ws/x") == []
    assert granted(base) == []
    assert granted("/proc/self/cwd") == []
