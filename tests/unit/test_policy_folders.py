"""Our folders are platformdirs' folders, computed without it."""

from __future__ import annotations

import os

import platformdirs
import platformdirs.macos
import platformdirs.unix
import pytest

from ringfence.policy.folders import places

XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS")

ENVIRONMENTS = [
    {},
    {"XDG_CONFIG_HOME": "/c"},
    {"XDG_CONFIG_HOME": "/c/"},
    {"XDG_CONFIG_HOME": "relative"},
    {"XDG_CONFIG_HOME": "  "},
    {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"},
    {"XDG_RUNTIME_DIR": "/run/user/77"},
    {"XDG_CONFIG_DIRS": "/etc/a:/etc/b"},
    {"XDG_CONFIG_DIRS": "/etc/a/"},
]


@pytest.fixture
def clean(monkeypatch):
    for name in XDG:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/dev")
    return monkeypatch


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_linux_folders_are_those_of_platformdirs(clean, env):
    for name, value in env.items():
        clean.setenv(name, value)
    theirs = platformdirs.unix.Unix("ringfence")
    ours = places("linux", env, "/home/dev", os.getuid(), lambda path: False)
    assert os.path.normpath(ours.folders.config) == os.path.normpath(theirs.user_config_dir)
    assert os.path.normpath(ours.folders.state) == os.path.normpath(theirs.user_state_dir)
    assert os.path.normpath(ours.folders.cache) == os.path.normpath(theirs.user_cache_dir)
    assert os.path.normpath(ours.site) == os.path.normpath(theirs.site_config_dir)
    if "XDG_RUNTIME_DIR" in env:
        assert ours.folders.runtime == theirs.user_runtime_dir


def test_mac_folders_are_those_of_platformdirs(clean):
    theirs = platformdirs.macos.MacOS("ringfence")
    ours = places("darwin", {}, "/home/dev", 501, lambda path: True)
    assert ours.folders.config == theirs.user_config_dir
    assert ours.folders.state == theirs.user_state_dir
    assert ours.folders.cache == theirs.user_cache_dir
    assert ours.folders.runtime == theirs.user_runtime_dir
    assert ours.site == theirs.site_config_dir.split(":")[0]


def test_the_runtime_folder_is_never_a_guessable_name_in_tmp():
    def runtime(env, usable):
        return places("linux", env, "/home/dev", 7, lambda path: path in usable).folders.runtime

    assert runtime({}, {"/run/user/7"}) == "/run/user/7/ringfence"
    assert runtime({}, set()) == "/home/dev/.local/state/ringfence/run"
    assert runtime({"XDG_RUNTIME_DIR": "relative"}, set()) == "/home/dev/.local/state/ringfence/run"


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_no_home_no_folders_unless_all_are_named(home):
    assert places("linux", {}, home, 7, lambda path: True) is None
    assert places("linux", {"XDG_CONFIG_HOME": "/c"}, home, 7, lambda path: True) is None
    assert places("darwin", {}, home, 7, lambda path: True) is None
    named = {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"}
    assert places("linux", named, home, 7, lambda path: True).folders.cache == "/k/ringfence"
