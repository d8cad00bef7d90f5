"""The table of control sockets."""

import pytest

from ringfence.enforce.control_sockets import DOORS, KEPT_IN_RUNTIME, control_paths


def paths(environ=None, names=(), keep=(), runtime="/run/user/7", home="/home/u"):
    listing = dict(names)
    return control_paths(runtime, home, 7, environ or {}, names_in=lambda folder: listing.get(folder, ()), keep=keep)


def test_placeholders_are_filled():
    found = paths()
    assert {"/run/docker.sock", "/run/user/7/bus", "/home/u/.docker/run/docker.sock", "/tmp/tmux-7"} <= set(found)
    assert not any("{" in path for path in found)


def test_without_a_home_or_runtime_folder_their_rows_are_left_out():
    found = paths(runtime="", home="")
    assert found
    assert all(path.startswith(("/run/", "/tmp/", "/var/", "/nix/")) for path in found)


def test_patterns_match_one_component():
    names = {"/tmp": ("dbus-x1", "other", "nvim.u"), "/home/u/.colima": ("default", "work")}
    found = set(paths(names=names))
    assert {"/tmp/dbus-x1", "/tmp/nvim.u", "/home/u/.colima/default/docker.sock"} <= found
    assert "/tmp/other" not in found
    assert not any("*" in path for path in found)


def test_a_folder_is_listed_once():
    asked = []

    def names_in(folder):
        asked.append(folder)
        return ()

    control_paths("/run/user/7", "/home/u", 7, {}, names_in=names_in)
    assert len(asked) == len(set(asked))


VALUES = {
    "unix:path=/r/bus,guid=1": "/r/bus",
    "unix:///r/docker.sock": "/r/docker.sock",
    "unix:/r/kitty": "/r/kitty",
    "/tmp/tmux-7/default,123,0": "/tmp/tmux-7/default",
}


@pytest.mark.parametrize(("value", "path"), VALUES.items())
def test_a_socket_named_by_the_environment_is_found(value, path):
    for name in ("DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "KITTY_LISTEN_ON"):
        assert path in paths({name: value})


@pytest.mark.parametrize("value", ["tcp://localhost:2375", "unix:abstract=/tmp/x,guid=1", "unix:@kitty", "", "relative"])
def test_an_address_without_a_path_hides_nothing(value):
    assert paths({"DOCKER_HOST": value, "DBUS_SESSION_BUS_ADDRESS": value}) == paths()


@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
def test_each_door_can_be_kept_open(door):
    every = set(paths({name: f"/env/{name}" for name in door.variables}))
    kept = set(paths({name: f"/env/{name}" for name in door.variables}, keep=(door.name,)))
    assert kept < every or all("*" in path for path in door.paths)
    assert not any(path.startswith("/env/") for path in kept)


def test_an_unknown_door_is_an_error_that_names_the_known():
    with pytest.raises(ValueError, match="no control socket is called dokcer; known are .*docker"):
        paths(keep=("dokcer",))


def test_names_are_unique_and_every_row_says_what_it_opens():
    assert len({door.name for door in DOORS}) == len(DOORS)
    assert all(door.opens and door.paths for door in DOORS)


def test_what_is_kept_in_the_runtime_folder_is_in_no_row():
    hidden = {path.rpartition("/")[2] for path in paths()}
    assert not hidden & set(KEPT_IN_RUNTIME)
