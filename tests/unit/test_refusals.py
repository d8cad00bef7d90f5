"""Refusals for programs (`--refusals`), and failures that the fence causes without refusing a path."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess

import pytest

from ringfence.pipelines import sideeffects
from tests.support import users
from tests.support.product import TIMEOUT, Product, needs_engine, needs_mounts, product_fixture  # noqa: F401 - a fixture

pytestmark = needs_engine
UNREAD = 'read -r p < target; touch "$p"'


def run(product, line, *options, fds=(), env=None, engine="auto"):
    """A shell whose stderr is a file, as an agent's is; its status and what stood there."""
    path = product.path("said")
    with open(path, "wb") as file:
        done = subprocess.run(
            product.words("shell", "--engine", engine, "--workspace", product.ws, *options, "-c", line),
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=product.ws, pass_fds=fds,
            env={**product.env, **(env or {})}, timeout=TIMEOUT, **product.popen,
        )  # fmt: skip
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return done.returncode, file.read()


def lines(path):
    with open(path, encoding="ascii") as file:
        return [json.loads(line) for line in file]


# --- the lines ------------------------------------------------------------------------------------------


def test_a_refusal_of_the_kernel_is_one_line_in_the_file(product):
    product.write("ws/target", f"{product.out}/a\n")
    told = product.path("told")
    assert run(product, UNREAD, "--refusals", told)[0] == 1
    (entry,) = lines(told)
    assert entry["path"] == f"{product.out}/a"
    assert (entry["version"], entry["code"], entry["certain"], entry["ran"]) == (
        1,
        "outside.write",
        True,
        True,
    )
    assert entry["rule"] == {"id": "default", "source": "built in", "line": None}
    assert entry["next"]
    assert entry["command"] == UNREAD
    assert set(entry) == {
        "version", "path", "op", "code", "message", "rule", "next", "certain", "ran", "command", "cwd",
    }  # fmt: skip
    assert stat.S_IMODE(os.stat(told).st_mode) == 0o600


def test_a_refusal_of_the_text_too_and_lines_are_added(product):
    told = product.write("told", "")
    for _ in range(2):
        assert run(product, f"touch {product.out}/a", "--refusals", told)[0] == 1
    assert [entry["ran"] for entry in lines(told)] == [False, False]


def test_a_descriptor_is_written_and_never_reaches_the_program(product):
    product.write("ws/target", f"{product.out}/a\n")
    reading, writing = os.pipe()
    try:
        line = f"{UNREAD}; {{ : >&{writing}; }} 2>/dev/null && touch reached; exit 1"
        run(product, line, "--refusals", str(writing), fds=(writing,))
    finally:
        os.close(writing)
    with open(reading, encoding="ascii") as told:
        (entry,) = map(json.loads, told)
    assert entry["path"] == f"{product.out}/a"
    assert not os.path.exists(product.path("ws/reached"))


def test_run_has_it_too(product):
    told = product.path("told")
    done = product.run(
        "run", "--workspace", product.ws, "--refusals", told, "--", "touch", f"{product.out}/a"
    )
    assert done.status == 1
    (entry,) = lines(told)
    assert entry["certain"] is False, "stderr is a pipe: nothing can be read back"


def test_an_ordinary_failure_writes_no_line(product):
    told = product.path("told")
    for line in ("cat nothing-here", "echo 'Permission denied' >&2; false", "chmod 0 f; cat f; exit 1"):
        product.write("ws/f", "x")
        assert run(product, line, "--refusals", told)[0] != 0
        os.chmod(product.path("ws/f"), 0o600)
    assert lines(told) == []


@pytest.mark.parametrize("where", ["0", "2", "/nowhere/x", "99", "99999999999999999999"])
def test_where_nothing_can_be_written_nothing_is_run(product, where):
    status, said = run(product, "touch ran", "--refusals", where)
    assert status == 2
    assert f"--refusals {where}: " in said
    assert not os.path.exists(product.path("ws/ran"))


# --- helpers ----------------------------------------------------------------------------------------------


@pytest.fixture(name="engine_socket")
def _engine_socket(product):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(product.path("run/docker.sock"))
        os.chmod(product.path("run/docker.sock"), 0o777)
        server.listen()
        yield product.path("run/docker.sock")


ASK = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect(sys.argv[1])\nexcept OSError as e: sys.exit(f'Cannot connect to the daemon at unix://{sys.argv[1]}: {e}')"


@needs_mounts
def test_a_client_of_a_hidden_socket_is_told_the_grant_and_the_grant_works(product, engine_socket):
    product.write("ws/ask.py", ASK)
    line = f"python3 ask.py {engine_socket}"
    told = product.path("told")
    status, said = run(product, line, "--refusals", told, env={"DOCKER_HOST": f"unix://{engine_socket}"})
    assert status != 0
    assert (
        f"ringfence: refused by the fence [fence.helper]: {engine_socket} is hidden from fenced programs"
        in said
    )
    assert 'unguard = ["helper-docker"]' in said
    (entry,) = lines(told)
    assert (entry["code"], entry["rule"]["id"]) == ("fence.helper", "helper-docker")
    product.write("home/.config/ringfence/ringfence.toml", 'unguard = ["helper-docker"]\n')
    assert run(product, line, env={"DOCKER_HOST": f"unix://{engine_socket}"}) == (0, "")


@needs_mounts
@pytest.mark.skipif(not shutil.which("docker"), reason="docker's client is not installed")
def test_the_docker_client_itself(product, engine_socket):
    env = {"DOCKER_HOST": f"unix://{engine_socket}", "DOCKER_CONFIG": product.ws}
    status, said = run(product, "docker ps", env=env)
    assert status != 0
    assert 'unguard = ["helper-docker"]' in said


@needs_mounts
def test_a_helper_that_is_not_there_is_nobodys_refusal(product):
    product.write("ws/ask.py", ASK)
    path = product.path("run/docker.sock")
    status, said = run(product, f"python3 ask.py {path}", env={"DOCKER_HOST": f"unix://{path}"})
    assert status != 0
    assert "ringfence:" not in said


def test_a_folder_for_sockets_without_one_hides_nobody(product):
    os.mkdir(product.path("run/docker"))
    env = {"XDG_RUNTIME_DIR": product.path("run"), "HOME": product.home, "PATH": "/usr/bin"}

    def asked():
        line = f"Cannot connect to the daemon at unix://{product.path('run')}/docker/d.sock"
        return [each.path for each in sideeffects.causes(line, ["docker"], env, "mounts", ())]

    assert asked() == []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(product.path("run/docker/d.sock"))
        assert asked() == [product.path("run/docker")]
        assert sideeffects.causes("connect", ["docker"], env, "mounts", ("docker",)) == []


def test_talk_of_connections_is_no_refusal(product, engine_socket):
    for line in (
        "echo 'cannot connect to example.org: Connection refused' >&2; false",
        "echo connect; exit 4",
    ):
        status, said = run(product, line, env={"DOCKER_HOST": f"unix://{engine_socket}"})
        assert status != 0
        assert "ringfence:" not in said


# --- setuid programs and owners ---------------------------------------------------------------------------


@pytest.fixture(name="theirs")
def _theirs():
    if users.names() != ["root", "user"]:
        pytest.skip("needs root and a second account")
    with users.someone("user") as who, users.open_folder(who) as base:
        theirs = Product(base, f"{who.checkout}/src/ringfence/start.py", who.python, who.popen())
        for folder, _, _ in os.walk(base):
            os.chown(folder, who.uid, who.gid)
        yield theirs


@pytest.mark.parametrize("engine", ["landlock", pytest.param("mounts", marks=needs_mounts)])
def test_a_setuid_program_is_refused_with_the_reason(theirs, engine):
    """sudo as people install it: a program with the bit, which says that it lacks the power."""
    folder = theirs.path("bin")
    os.mkdir(folder)
    shutil.copy(shutil.which("bash"), f"{folder}/sudo-shell")
    script = 'test $EUID = 0 || { echo "sudo: effective user ID is not 0, is it on a nosuid file system?" >&2; exit 1; }'
    os.rename(f"{folder}/sudo-shell", f"{folder}/sudo")
    os.chmod(f"{folder}/sudo", 0o4755)
    env = {"PATH": f"{folder}:{theirs.env['PATH']}"}
    line = f"sudo -p -c '{script}'"
    alone = subprocess.run([f"{folder}/sudo", "-p", "-c", script], capture_output=True, **theirs.popen)
    if alone.returncode:
        pytest.skip("setuid bits are off on this mount")
    status, said = run(theirs, line, env=env, engine=engine)
    assert status == 1
    assert f"[fence.setuid]: {folder}/sudo is a setuid program" in said
    assert (
        "ringfence" not in run(theirs, "echo 'sudo: no new privileges' >&2; false", env=env, engine=engine)[1]
    )


@needs_mounts
def test_a_file_of_root_that_ssh_will_not_trust_is_explained(theirs):
    os.chown(theirs.write("ws/x", ""), theirs.popen["user"], -1)
    line = "stat -c %u /etc/hostname | grep -qx 65534 && echo 'Bad owner or permissions on /etc/hostname' >&2; exit 255"
    status, said = run(theirs, line)
    assert status == 255
    assert "[fence.owner]: /etc/hostname belongs to user 0" in said
    assert "ssh -F" in said
    mine = 'echo "Bad owner or permissions on $PWD/x" >&2; exit 255'
    assert "ringfence:" not in run(theirs, mine)[1]
