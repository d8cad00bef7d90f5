"""What a fenced start may load. Each of the forbidden ones costs one to thirteen milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import ringfence
from ringfence.kernel import probe

SOURCE = os.path.dirname(os.path.dirname(ringfence.__file__))
CHEAP = {"__future__", "errno", "marshal", "posix", "_collections", "_signal", "_ctypes"}
"""Built into the interpreter, or a small extension module that has no smaller door."""

USE = """
import posix, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from ringfence.enforce import landlock, launch
from ringfence.enforce.plan import plan
from ringfence.kernel import probe
from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind
here = probe.capabilities(("landlock", "seccomp"))
zone = Zone(posix.getcwd(), Access.WRITE, ZoneKind.WORKSPACE, Rule("w", "test"))
planned = plan(Confinement((zone,), (), (), (), (), "anywhere"), here)
def confine():
    report = landlock.confine_self(planned)
    print(*sorted(set(sys.modules) - before), flush=True)
    return report
outcome = launch.launch(launch.Program(["true"], posix.environ), confine)
assert outcome == launch.Finished(0), launch.explain(outcome)
"""


@pytest.mark.skipif(not probe.landlock_abi()[0], reason=probe.landlock_abi()[1])
def test_a_fenced_start_loads_our_modules_and_next_to_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", USE, SOURCE], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    foreign = {name for name in loaded if name.split(".")[0] != "ringfence"}
    assert foreign <= CHEAP
    assert {"ringfence.enforce.launch", "ringfence.enforce.landlock", "_ctypes"} <= loaded
