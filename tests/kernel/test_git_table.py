"""The table of git commands, layouts and attacks (tests/support/git_rows.py), behind both engines and as both users."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.kernel.conftest import needs_landlock
from tests.kernel.mounts_world import needs_mounts
from tests.support import git_rows
from tests.support.git_rows import PARTLY, REFUSED, REPORTED, WORKS
from tests.support.users import open_folder

ENGINES = [pytest.param("mounts", marks=needs_mounts), pytest.param("landlock", marks=needs_landlock)]


class Place:
    """One layout, as `who` owns it, put back as it was before each row."""

    def __init__(self, who, base, layout):
        self.who, self.base, self.layout = who, base, layout
        self.x = f"{base}/x"
        os.mkdir(self.x)
        os.chown(self.x, who.uid, who.gid)
        done = self.sh(git_rows.BUILD[layout], cwd=self.x)
        assert done.returncode == 0, done.stderr
        subprocess.run(["cp", "-a", self.x, f"{base}/template"], check=True)
        ask = "git rev-parse --path-format=absolute --git-dir --git-common-dir"
        self.git_dir, self.common = self.sh(ask).stdout.split()

    @property
    def env(self):
        return {
            "B": self.x, "W": f"{self.x}/ws", "G": getattr(self, "git_dir", ""), "C": getattr(self, "common", ""),
            "HOME": f"{self.base}/home", "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": f"{self.x}/gitconfig",
        }  # fmt: skip

    def fresh(self):
        shutil.rmtree(self.x)
        shutil.rmtree(f"{self.base}/home", ignore_errors=True)
        subprocess.run(["cp", "-a", f"{self.base}/template", self.x], check=True)
        os.mkdir(f"{self.base}/home")
        os.chown(f"{self.base}/home", self.who.uid, self.who.gid)

    def sh(self, text, cwd=None):
        return subprocess.run(
            ["sh", "-c", text], cwd=cwd or f"{self.x}/ws", env=self.env, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60, **self.who.popen(),
        )  # fmt: skip

    def fenced(self, text, engine):
        start = f"{self.who.checkout}/src/ringfence/start.py"
        words = [
            self.who.python,
            "-I",
            "-S",
            start,
            "run",
            "--workspace",
            f"{self.x}/ws",
            "--engine",
            engine,
            "--",
        ]
        return subprocess.run(
            [*words, "sh", "-c", text], cwd=f"{self.x}/ws", env=self.env, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60, **self.who.popen(),
        )  # fmt: skip


@pytest.fixture(name="place", scope="module", params=git_rows.LAYOUTS)
def _place(request, who):
    with open_folder(who) as base:
        yield Place(who, base, request.param)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row", git_rows.COMMANDS, ids=[row.id for row in git_rows.COMMANDS])
def test_everyday_work(place, row, engine):
    due = row.but.get(place.layout, WORKS)
    if engine == "landlock":
        if place.layout in ("linked", "bare"):
            due = WORKS if row.id == "status" else REFUSED
        elif due == REPORTED:
            due = WORKS  # Landlock alone does not hold the file, so git changes it
    place.fresh()
    before = place.sh("git for-each-ref; git status --short -uno; cat $C/config").stdout
    done = [place.fenced(text, engine) for text in row.commands]
    complaints = "".join(each.stderr for each in done)
    if due == WORKS:
        assert [each.returncode for each in done] == [0] * len(done), complaints
        assert "not taken over" not in complaints
        checked = place.sh(row.check)
        assert checked.returncode == 0, complaints + checked.stderr
    elif due == PARTLY:
        assert "could not write config" in complaints
        assert place.sh(row.check).returncode == 0, complaints
    elif due == REPORTED:
        assert "after the fact" in complaints
    else:
        assert done[-1].returncode != 0, complaints
        after = place.sh("git for-each-ref; git status --short -uno; cat $C/config").stdout
        assert len(done) > 1 or after == before, complaints


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_can_name_code_do_not_survive(place, engine):
    if place.layout != "plain":
        pytest.skip("one layout is enough: the others end in the same look")
    for key in git_rows.KEYS:
        ask = f"cd / && git config -f $W/.git/config '{key}'"
        place.fresh()
        place.sh(f"git config '{key}' ./x")
        assert place.sh(ask).stdout == "./x\n", f"{key}: unfenced, it is not written"
        place.fresh()
        done = place.fenced(f"git config '{key}' ./x", engine)
        assert place.sh(ask).stdout == "", (key, done.stderr)
        assert "put back" in done.stderr


@pytest.mark.parametrize("row", git_rows.ATTACKS, ids=[row.id for row in git_rows.ATTACKS])
def test_attack(place, row):
    if place.layout not in row.layouts:
        pytest.skip(f"no such thing in this layout: {place.layout}")
    place.fresh()
    assert place.sh(row.landed).returncode != 0, "it is there before"
    done = place.sh(row.command)
    assert place.sh(row.landed).returncode == 0, f"unfenced, it does not work: {done.stderr}"
    for engine in ("mounts", "landlock"):
        place.fresh()
        done = place.fenced(row.command, engine)
        landed = place.sh(row.landed).returncode == 0
        assert landed == (engine == "landlock" and place.layout in row.landlock), (engine, done.stderr)
        assert not os.path.exists(f"{place.base}/home/.local/state/ringfence/git-layers") or not os.listdir(
            f"{place.base}/home/.local/state/ringfence/git-layers"
        )
