"""What a start under the mounts engine may load beside our own modules."""

import os
import subprocess
import sys

import ringfence
from tests.unit.test_enforce_imports import CHEAP

SOURCE = os.path.dirname(os.path.dirname(ringfence.__file__))
USE = """
import posix, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from ringfence.enforce import launch, mounts
from ringfence.kernel import probe
from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind
here = probe.capabilities(("landlock", "seccomp"))
zone = Zone(posix.getcwd(), Access.WRITE, ZoneKind.WORKSPACE, Rule("w", "test"))
wanted = Confinement((zone,), ("/dev/null",), (), (), (), "anywhere")
standing = mounts.Standing(posix.getcwd(), {"HOME": "/nonexistent"})
def confine():
    try:
        return mounts.confine_self(wanted, standing, here)
    finally:
        print(*sorted(set(sys.modules) - before), flush=True)
launch.launch(launch.Program(["true"], posix.environ), confine)
"""


def test_the_mounts_engine_loads_our_modules_and_next_to_nothing(tmp_path):
    # Where namespaces are closed the engine fails, and has loaded what it needs by then.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", USE, SOURCE], cwd=tmp_path, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "ringfence.enforce.mounts" in loaded, done.stderr
    assert {name for name in loaded if name.split(".")[0] != "ringfence"} <= CHEAP
