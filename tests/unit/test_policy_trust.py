"""Trust is for these bytes at this path, kept where only the owner could have put it."""

from __future__ import annotations

import os

import pytest

from ringfence.errors import PolicyError
from ringfence.policy import trust
from ringfence.policy.evidence import Evidence
from ringfence.policy.ownership import stranger, stranger_above

IS_ROOT = os.geteuid() == 0
GIVES_AWAY = pytest.mark.skipif(not IS_ROOT, reason="needs the right to give files away")
PATH = "/ws/ringfence.toml"


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "new" / "state")


def believed(state, path=PATH, content=b"x"):
    return trust.is_trusted(state, path, content, Evidence())


def test_accepting_and_taking_back(state):
    assert not believed(state)
    mark = trust.trust(state, PATH, b"x")
    assert believed(state)
    assert os.stat(mark).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(mark)).st_mode & 0o777 == 0o700
    assert trust.trust(state, PATH, b"x") == mark
    assert os.listdir(os.path.dirname(mark)) == [os.path.basename(mark)]
    assert trust.distrust(state, PATH, b"x")
    assert not trust.distrust(state, PATH, b"x")
    assert not believed(state)


@pytest.mark.parametrize(
    ("path", "content"),
    [(PATH, b"x "), (PATH, b""), ("/ws2/ringfence.toml", b"x"), (PATH + "x", b""), (PATH[:-1], b"lx")],
)
def test_nothing_else_is_trusted(state, path, content):
    trust.trust(state, PATH, b"x")
    assert not believed(state, path, content)


def test_path_and_content_cannot_run_into_each_other(state):
    trust.trust(state, "/a", b"bc")
    assert not believed(state, "/ab", b"c")


def test_a_mark_with_another_text_is_not_believed(state):
    mark = trust.trust(state, PATH, b"x")
    with open(mark, "w") as file:
        file.write("/elsewhere\n")
    assert not believed(state)


@GIVES_AWAY
@pytest.mark.parametrize("which", ["mark", "folder"])
def test_a_mark_that_somebody_else_made_stops_everything(state, which):
    mark = trust.trust(state, PATH, b"x")
    os.chown(mark if which == "mark" else os.path.dirname(mark), 12345, -1)
    with pytest.raises(PolicyError) as caught:
        believed(state)
    assert "cannot be believed: it belongs to user 12345" in str(caught.value)


@pytest.mark.parametrize("which", ["mark", "folder"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_mark_that_others_may_write_stops_everything(state, which, bits):
    mark = trust.trust(state, PATH, b"x")
    target = mark if which == "mark" else os.path.dirname(mark)
    os.chmod(target, os.stat(target).st_mode | bits)
    with pytest.raises(PolicyError) as caught:
        believed(state)
    assert "cannot be believed" in str(caught.value)


# --- ownership -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "why"),
    [(0o600, ""), (0o644, ""), (0o646, "everybody may write it"), (0o666, "everybody may write it")],
)
def test_who_else_could_have_written(tmp_path, mode, why):
    path = tmp_path / "f"
    path.touch()
    path.chmod(mode)
    assert stranger(os.stat(path), os.getuid()) == why


def test_a_group_counts_unless_it_is_the_owners_alone(tmp_path, monkeypatch):
    import grp
    import pwd

    path = tmp_path / "f"
    path.touch()
    path.chmod(0o664)
    facts = os.stat(path)
    me = pwd.getpwuid(os.getuid())
    group = grp.getgrgid(facts.st_gid)

    def described(name, members):
        monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((name, "x", gid, members)))
        monkeypatch.setattr(
            pwd, "getpwuid", lambda uid: pwd.struct_passwd((me.pw_name, "x", uid, group.gr_gid, "", "/", "/"))
        )
        return stranger(facts, os.getuid())

    assert described(me.pw_name, []) == ""
    assert described(me.pw_name, [me.pw_name]) == ""
    assert described(me.pw_name, ["somebody"]) == f"group {facts.st_gid} may write it"
    assert described("staff", []) == f"group {facts.st_gid} may write it"


@GIVES_AWAY
def test_roots_files_are_believed_and_other_users_are_not(tmp_path):
    path = tmp_path / "f"
    path.touch()
    assert stranger(os.stat(path), 12345) == ""
    os.chown(path, 12346, -1)
    assert stranger(os.stat(path), 12345) == "it belongs to user 12346"
    assert stranger(os.stat(path), 12346) == ""


def test_a_folder_above_that_others_may_write_counts(tmp_path):
    path = tmp_path / "a" / "b" / "f"
    path.parent.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "a", tmp_path / "a" / "b"):
        folder.chmod(0o755)
    assert stranger_above(str(path), os.getuid()) == ""
    (tmp_path / "a").chmod(0o777)
    assert stranger_above(str(path), os.getuid()) == f"of the folder {tmp_path / 'a'}: everybody may write it"
    (tmp_path / "a").chmod(0o1777)
    assert stranger_above(str(path), os.getuid()) == ""


def test_files_without_posix_owners_are_nobodys(tmp_path):
    path = tmp_path / "f"
    path.touch()
    path.chmod(0o666)
    assert stranger(os.stat(path), None) == ""
    assert stranger_above(str(path), None) == ""
