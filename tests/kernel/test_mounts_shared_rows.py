"""The rows that every engine replays (tests/kernel/attacks.py), behind the mounts engine."""

import json
import os
import shutil

import pytest

from tests.kernel.attacks import ATTACKS, EVERYDAY
from tests.kernel.conftest import build_workspace, missing
from tests.kernel.mounts_world import needs_landlock, needs_mounts
from tests.kernel.test_attacks import attempt, words
from tests.support.children import plain_environment, run
from tests.support.users import open_folder

pytestmark = needs_mounts
HERE = os.path.dirname(os.path.abspath(__file__))


class MountsFence:
    """What tests.support.children.run wants of a fence: the command line behind it."""

    def __init__(self, base, script, **more):
        self.spec = {"zones": [[f"{base}/ws", "workspace"]], "cwd": f"{base}/ws", **more}
        self.script = script

    def command(self, who, argv):
        # -I keeps the environment of the test out, so the sources are named here.
        text = (
            "import runpy, sys; sys.path.insert(0, sys.argv[1]); script = sys.argv[2]; del sys.argv[1:3]; "
            "runpy.run_path(script, run_name='__main__')"
        )
        return [
            who.python,
            "-I",
            "-c",
            text,
            f"{who.checkout}/src",
            self.script,
            json.dumps(self.spec),
            *argv,
        ]


@pytest.fixture(scope="module")
def script():
    with open_folder() as folder:
        shutil.copy(os.path.join(HERE, "mounts_run.py"), folder)
        yield f"{folder}/mounts_run.py"


@needs_landlock
@pytest.mark.parametrize("row", ATTACKS, ids=[row.id for row in ATTACKS])
def test_attack_fails_behind_mounts(row, who, base, script):
    # That it works without a fence is shown by tests/kernel/test_attacks.py.
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    escaped, done = attempt(row, who, base, MountsFence(base, script))
    assert not escaped, done.stdout + done.stderr
    assert done.returncode != 3, done.stderr
    build_workspace(base, who)


@pytest.mark.parametrize("row", EVERYDAY, ids=[row.id for row in EVERYDAY])
@pytest.mark.parametrize("wait", [True, False])
def test_everyday_work_goes_on_behind_mounts(row, wait, who, base, script):
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    env = plain_environment(base, WS=f"{base}/ws", OUT=f"{base}/out")
    # Output into a file, as agents do it: programs reopen it by name.
    with open(f"{base}/ws/output", "w+", encoding="utf-8") as output:
        os.chown(output.name, who.uid, who.gid)
        fence = MountsFence(base, script, wait=wait)
        done = run(who, words(row, who), fence, cwd=f"{base}/ws", env=env, stdout=output, stderr=output)
        output.seek(0)
        assert done.returncode == 0, output.read()
