"""The table of control sockets."""

import pytest

from ringfence.enforce.control_sockets import (
    DOORS,
    KEPT_IN_RUNTIME,
    control_paths,
    named_sockets,
    shown_in_runtime,
)
from ringfence.model import HELPERS
from ringfence.policy.reference import HELPER_OPENS


def paths(names=(), keep=(), home="/home/u", runtime="/run/user/7"):
    listing = dict(names)
    return control_paths(runtime, home, 7, names_in=lambda folder: listing.get(folder, ()), keep=keep)


def test_placeholders_are_filled():
    found = paths()
    assert {"/run/docker.sock", "/run/user/7/bus", "/home/u/.docker/run/docker.sock", "/tmp/tmux-7"} <= set(
        found
    )
    assert not any("{" in path for path in found)


def test_without_a_home_or_runtime_folder_their_rows_are_left_out():
    found = paths(home="", runtime="")
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

    control_paths("/run/user/7", "/home/u", 7, names_in=names_in)
    assert len(asked) == len(set(asked))


VALUES = {
    "unix:path=/r/bus,guid=1": "/r/bus",
    "unix:///r/docker.sock": "/r/docker.sock",
    "unix:/r/kitty": "/r/kitty",
    "/tmp/tmux-7/default,123,0": "/tmp/tmux-7/default",
}


@pytest.mark.parametrize(("value", "path"), VALUES.items())
@pytest.mark.parametrize("name", ["DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "KITTY_LISTEN_ON"])
def test_a_socket_named_by_the_environment_is_found(name, value, path):
    assert named_sockets({name: value}) == (path,)


@pytest.mark.parametrize(
    "value", ["tcp://localhost:2375", "unix:abstract=/tmp/x,guid=1", "unix:@kitty", "", "relative"]
)
def test_an_address_without_a_path_names_none(value):
    assert named_sockets({"DOCKER_HOST": value, "DBUS_SESSION_BUS_ADDRESS": value}) == ()


@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
def test_each_door_can_be_kept_open(door):
    names = {"/tmp": ("dbus-1", "nvim.1"), "/run/user/7": ("codex1", "foot-1")}
    gone = set(paths(names)) - set(paths(names, keep=(door.name,)))
    assert gone
    others = [other for other in DOORS if other is not door]
    assert not gone & {path for other in others for path in other.paths}
    assert named_sockets(dict.fromkeys(door.variables, "/s"), keep=(door.name,)) == ()


def test_an_unknown_door_is_an_error_that_names_the_known():
    with pytest.raises(ValueError, match=r"no control socket is called dokcer; known are .*docker"):
        paths(keep=("dokcer",))


def test_names_are_unique_and_every_row_says_what_it_opens():
    assert len({door.name for door in DOORS}) == len(DOORS)
    assert all(door.opens and door.paths for door in DOORS)


def shown(keep=(), names=()):
    return shown_in_runtime("/run/user/7", 7, names_in=lambda folder: names, keep=keep)


def test_of_the_runtime_folder_only_signing_and_sound_are_seen():
    assert shown() == tuple(f"/run/user/7/{name}" for name in KEPT_IN_RUNTIME)
    hidden = {path for door in DOORS for path in door.paths if path.startswith("{run}/")}
    assert not {f"{{run}}/{name}" for name in KEPT_IN_RUNTIME} & hidden


def test_a_kept_door_is_seen_in_the_runtime_folder():
    assert "/run/user/7/bus" in shown(("session-bus",))
    assert "/run/user/7/nvim.1.0" in shown(("editors",), ("nvim.1.0", "bus"))
    with pytest.raises(ValueError, match="session-bos"):
        shown(("session-bos",))


def test_the_policy_knows_the_kinds_by_the_same_names():
    assert tuple(door.name for door in DOORS) == HELPERS
    assert {door.name: door.opens for door in DOORS} == HELPER_OPENS
