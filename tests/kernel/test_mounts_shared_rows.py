"""The rows that every engine replays (tests/kernel/attacks.py), behind the mounts engine."""

import json
import os
import shutil

import pytest

from ringfence.enforce import report
from tests.kernel.attacks import ATTACKS, EVERYDAY
from tests.kernel.conftest import build_workspace, missing
from tests.kernel.mounts_world import needs_landlock, needs_mounts
from tests.kernel.test_attacks import attempt, check_reported, check_unfenced, words
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
    # That it works without a fence is shown by tests/kernel/test_attacks.py; what only Landlock leaves open, here.
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    told = f"{base}/ws/report" if row.open_in else None
    escaped, done = attempt(row, who, base, MountsFence(base, script, report=told))
    assert done.returncode != 3, done.stderr
    if row.open_rule("mounts"):
        assert escaped, f"it is held after all: {done.stdout}{done.stderr}"
        with open(told, "rb") as file:
            rules = report.decode(file.read()).rules
        check_reported(row, "mounts", [(r.rule.id, r.subject, str(r.strength), r.why) for r in rules])
        return
    assert not escaped, done.stdout + done.stderr
    if row.open_in:
        build_workspace(base, who)
        check_unfenced(row, who, base)


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
