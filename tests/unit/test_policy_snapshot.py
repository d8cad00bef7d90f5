"""A snapshot is used only while everything that shaped the policy looks the same, and only if it is ours."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from ringfence.model import Access, Zone
from ringfence.policy import snapshot, trust
from ringfence.policy.frozen import from_plain, to_plain
from ringfence.policy.guards import GUARDS, PLACED
from ringfence.policy.load import load
from ringfence.policy.schema import KEYS, defaults
from tests.support.policy_rig import Rig, resolve

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def keep(rig, **given):
    """Load and store; returns the sources and the folder of snapshots."""
    sources = rig.sources(**given)
    assert snapshot.store(sources, load(sources, resolve))
    assert snapshot.load(sources, resolve) == load(sources, resolve).policy
    return sources


def kept(rig):
    folder = f"{rig.folders.cache}/policy"
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def test_the_tables_cannot_change_behind_a_snapshots_back():
    """If this fails, put the computed value into snapshot.TABLES."""
    tables = repr((GUARDS, PLACED, [tuple(key) for key in KEYS], defaults("linux"), defaults("darwin")))
    assert hashlib.sha256(tables.encode()).hexdigest()[:16] == snapshot.TABLES


def test_modes_and_content(rig):
    keep(rig, workspace=(".",))
    (path,) = kept(rig)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_a_policy_survives_being_frozen(rig):
    rig.user('[[zone]]\npath = "**/.env"\naccess = "none"\n[[zone]]\npath = "~/x"\naccess = "write"\n')
    policy = rig.policy(workspace=(".",), settings=(("temp", "shared"), ("strict", "true")))
    again = from_plain(to_plain(policy))
    assert again == policy
    assert again.zones[0].access is Access.WRITE
    assert type(again.zones[0]) is Zone


# --- staleness -------------------------------------------------------------------------------------------

PROJECT = 'opaque = "deny"\n'


def edit(name, text):
    return lambda rig: rig.write(name, text)


def replaced_in_place_with_the_same_size_and_times(rig):
    path = rig.path("ws/ringfence.toml")
    before = os.stat(path)
    rig.write("ws/ringfence.toml", PROJECT.replace("deny", "ask "))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def relinked(rig):
    os.rename(rig.path("link"), rig.path("gone"))
    os.symlink("main", rig.path("link"))


CHANGES = {
    "project file edited": edit("ws/ringfence.toml", 'opaque = "ask"\n'),
    "project file, same size and times": replaced_in_place_with_the_same_size_and_times,
    "project file removed": lambda rig: os.unlink(rig.path("ws/ringfence.toml")),
    "project file becomes a folder": lambda rig: (
        os.unlink(rig.path("ws/ringfence.toml")),
        os.mkdir(rig.path("ws/ringfence.toml")),
    ),
    "project file becomes a pipe": lambda rig: (
        os.unlink(rig.path("ws/ringfence.toml")),
        os.mkfifo(rig.path("ws/ringfence.toml")),
    ),
    "user file appears": edit("home/.config/ringfence/ringfence.toml", ""),
    "site file appears": edit("site/ringfence.toml", ""),
    "project file is trusted": lambda rig: trust.trust(
        rig.folders.state, rig.path("ws/ringfence.toml"), PROJECT.encode()
    ),
    "git config appears": edit("ws/.git/config", "[core]\n\thooksPath = x\n"),
    "a root leads elsewhere": relinked,
    "a guarded name becomes a link": lambda rig: os.symlink("x", rig.path("ws/.claude")),
    "the workspace is gone": lambda rig: os.rename(rig.path("ws"), rig.path("moved")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_that_matters_makes_it_stale(rig, change):
    rig.project(PROJECT)
    os.makedirs(rig.path("ws/.git"))
    os.makedirs(rig.path("real"))
    os.symlink("real", rig.path("link"))
    sources = keep(rig, workspace=(rig.path("ws"),), protect=(rig.path("link"),))
    CHANGES[change](rig)
    assert snapshot.load(sources, resolve) is None


def test_a_worktree_that_another_branch_joins_makes_it_stale(rig):
    env = {"PATH": os.environ["PATH"], "HOME": rig.path("home"), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words):
        subprocess.run(["git", "-C", rig.path("main"), *words], check=True, env=env, capture_output=True)

    git("init", "-q", "-b", "trunk", ".")
    git("commit", "-q", "--allow-empty", "-m", "one")
    git("worktree", "add", "-q", rig.path("tree"), "-b", "b")
    sources = keep(rig, cwd="tree", workspace=(".",))
    git("worktree", "add", "-q", rig.path("third"), "-b", "c")
    assert snapshot.load(sources, resolve) is None


def test_what_does_not_matter_leaves_it_fresh(rig):
    rig.project(PROJECT)
    sources = keep(rig, workspace=(rig.path("ws"),), protect=(rig.path("later"),))
    os.utime(rig.path("ws/ringfence.toml"))
    rig.write("ws/src/a.py", "x")
    os.makedirs(rig.path("later"))
    assert snapshot.load(sources, resolve) is not None
    assert snapshot.load(sources._replace(cwd="/"), resolve) is not None
    assert snapshot.load(sources._replace(env={"PATH": "/x", "LANG": "C"}), resolve) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"workspace": ("../main",)},
        {"workspace": (".",), "protect": ("x",)},
        {"workspace": (".",), "no_restrict": True},
        {"workspace": (".",), "env": {"RINGFENCE_READS": "anywhere"}},
        {"workspace": (".",), "env": {"TMPDIR": "/x"}},
        {"workspace": (".",), "cwd": "main"},
        {"workspace": (".",), "home": "main"},
        {"workspace": (".",), "home": None},
        {"workspace": (".",), "system": "darwin"},
        {"workspace": (".",), "files": False},
        {"workspace": (".",), "installation": ("/usr",)},
        {"workspace": (".",), "settings": (("reads", "anywhere"),)},
        {},
    ],
)
def test_other_circumstances_have_other_keys(rig, other):
    keep(rig, workspace=(".",))
    assert snapshot.load(rig.sources(**other), resolve) is None
    assert snapshot.key_text(rig.sources(**other)) != snapshot.key_text(rig.sources(workspace=(".",)))


def test_another_key_under_the_same_name_is_not_taken(rig, monkeypatch):
    monkeypatch.setattr(snapshot, "_name", lambda key: "same.json")
    keep(rig, workspace=(".",))
    assert snapshot.load(rig.sources(workspace=("../main",)), resolve) is None
    other = keep(rig, workspace=("../main",))
    assert len(kept(rig)) == 1
    assert snapshot.load(other, resolve).workspace == (rig.path("main"),)


@pytest.mark.parametrize("path", ["bad \udc80 name", "ключ", 'quote" \\ '])
def test_odd_names_survive(rig, path):
    os.makedirs(os.fsencode(rig.path("ws")) + b"/" + path.encode("utf-8", "surrogateescape"))
    sources = keep(rig, workspace=(rig.path("ws"),), protect=(rig.path("ws/") + path,))
    assert snapshot.load(sources, resolve).zones[1].root.endswith(path)


# --- who may be believed ---------------------------------------------------------------------------------


def test_a_forged_snapshot_would_widen_the_fence(rig):
    """The attack, unfenced: whoever can write the file decides. The checks below are what keeps others out."""
    sources = keep(rig, workspace=(".",))
    (path,) = kept(rig)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(
            text.replace('["git-hooks","built in",0]', '["nothing","built in",0]').replace(
                ",true,", ",false,", 1
            )
        )
    forged = snapshot.load(sources, resolve)
    assert forged is not None
    assert "git-hooks" not in {glob.rule.id for glob in forged.globs}


def strange_mode(path):
    os.chmod(path, os.stat(path).st_mode | 0o020)


def strange_owner(path):
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("which", ["file", "folder", "cache"])
@pytest.mark.parametrize(
    "spoil",
    [
        strange_mode,
        pytest.param(
            strange_owner, marks=pytest.mark.skipif(not IS_ROOT, reason="needs the right to give files away")
        ),
    ],
)
def test_what_others_could_write_is_not_believed(rig, which, spoil):
    sources = keep(rig, workspace=(".",))
    (path,) = kept(rig)
    target = {"file": path, "folder": os.path.dirname(path), "cache": rig.folders.cache}[which]
    spoil(target)
    assert snapshot.load(sources, resolve) is None
    if which != "file":
        assert snapshot.store(sources, load(sources, resolve)) is False


@pytest.mark.parametrize("which", ["file", "folder"])
def test_links_are_not_believed(rig, which):
    sources = keep(rig, workspace=(".",))
    (path,) = kept(rig)
    target = path if which == "file" else os.path.dirname(path)
    os.rename(target, rig.path("moved"))
    os.symlink(rig.path("moved"), target)
    assert snapshot.load(sources, resolve) is None


def test_nothing_is_kept_or_believed_below_a_writable_root(rig):
    sources = rig.sources(workspace=(rig.path("home"),))
    assert snapshot.store(sources, load(sources, resolve)) is False
    rig.user('workspace = ["~"]')
    sources = rig.sources(cwd="main")
    assert snapshot.store(sources, load(sources, resolve)) is False
    assert not os.path.exists(rig.folders.cache)


@pytest.mark.parametrize("given", [{"workspace": ("~",)}, {"env": {"RINGFENCE_WORKSPACE": "~"}}])
def test_a_planted_snapshot_below_a_named_workspace_is_not_even_read(rig, given, monkeypatch):
    sources = rig.sources(**given)
    monkeypatch.setattr(snapshot, "below", lambda path, root: False)  # a writer without scruples
    assert snapshot.store(sources, load(sources, resolve)) is True
    assert snapshot.load(sources, resolve) is not None
    monkeypatch.undo()
    assert snapshot.load(sources, resolve) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"[1,2,3,4]", b"\xff", b"[" * 200_000, b'["k",[],[],[]]', b'["k"'],
)
def test_rubbish_is_no_snapshot(rig, content):
    sources = keep(rig, workspace=(".",))
    (path,) = kept(rig)
    key = snapshot.dumps(snapshot.key_text(sources)).encode()
    with open(path, "wb") as file:
        file.write(content.replace(b'"k"', key))
    assert snapshot.load(sources, resolve) is None


def test_no_cache_folder_no_snapshot(rig):
    sources = rig.sources(workspace=(".",))
    sources = sources._replace(folders=sources.folders._replace(cache=""))
    assert snapshot.load(sources, resolve) is None
    assert snapshot.store(sources, load(sources, resolve)) is False


# --- many at once ----------------------------------------------------------------------------------------


def test_the_folder_stays_small(rig, monkeypatch):
    monkeypatch.setattr(snapshot, "MAX_KEPT", 8)
    for number in range(20):
        os.makedirs(rig.path(f"ws/{number}"))
        keep(rig, workspace=(str(number),))
    assert len(kept(rig)) <= 8


def test_writers_and_readers_at_once_never_see_half_a_snapshot(rig):
    sources = rig.sources(workspace=(".",))
    loaded = load(sources, resolve)
    assert snapshot.store(sources, loaded)
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            good = True
            for _ in range(40):
                if number % 2:
                    good &= snapshot.store(sources, loaded)
                else:
                    good &= snapshot.load(sources, resolve) == loaded.policy
            os._exit(0 if good else 1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0, 0]
    assert len(kept(rig)) == 1


def test_a_full_disk_costs_nothing_but_time(rig, monkeypatch):
    sources = rig.sources(workspace=(".",))
    real = snapshot.system_calls.write
    calls = []

    class Full:
        def __getattr__(self, name):
            return getattr(sys.modules["posix"], name)

        def write(self, handle, data):
            calls.append(len(data))
            if len(calls) > 1:
                raise OSError(28, "No space left on device")
            return real(handle, data[:10])

    monkeypatch.setattr(snapshot, "system_calls", Full())
    assert snapshot.store(sources, load(sources, resolve)) is False
    assert len(calls) == 2
    assert kept(rig) == []


# --- what the hook pays for ------------------------------------------------------------------------------

HEAVY = (
    "enum",
    "typing",
    "dataclasses",
    "re",
    "json",
    "collections",
    "functools",
    "contextlib",
    "subprocess",
    "pathlib",
    "inspect",
    "tomllib",
    "os",
    "difflib",
    "hashlib",
    "platformdirs",
)


def test_the_hot_modules_import_nothing_heavy():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import ringfence.policy.snapshot, ringfence.policy.texts,"
        " ringfence.policy.folders; print(*sys.modules)"
    )
    source = os.path.dirname(os.path.dirname(os.path.dirname(snapshot.__file__)))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, source], check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()) & set(HEAVY) == set()
    assert "ringfence.policy.load" not in done.stdout
