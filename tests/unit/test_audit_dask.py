"""The Dask example of docs/audit.md, as it stands there, on two workers of this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "audit.md"
HAS_DASK = importlib.util.find_spec("distributed") is not None
if not HAS_DASK:  # loud: the example would stand untested
    warnings.warn(
        "dask.distributed is not installed: the Dask example of docs/audit.md is NOT tested", stacklevel=1
    )

_RUN = """
import sys
import example
from dask.distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        assert len(cluster.workers) == 2
        for path in example.refused(cluster.scheduler_address, sys.argv[1], sys.argv[2:]):
            print(path)
"""


@pytest.mark.skipif(not HAS_DASK, reason="dask.distributed is not installed: pip install 'ringfence[dev]'")
def test_the_example_on_two_workers(tmp_path):
    (example,) = re.findall(r"two workers\. -->\n```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    (tmp_path / "run.py").write_text(_RUN)
    ws = tmp_path / "ws"
    (ws / "d").mkdir(parents=True)
    (ws / "link").symlink_to("/etc")
    files = []
    for number in range(4):
        files.append(tmp_path / f"paths-{number}.txt")
        files[-1].write_text(f"{ws}/d/a{number}\n{ws}/../out{number}\n{ws}/link/x{number}\n{ws}/d\n")
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": f"{DOCS.parents[1] / 'src'}{os.pathsep}{tmp_path}",
    }
    done = subprocess.run(
        [sys.executable, "run.py", str(ws), *map(str, files)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = [f"{ws}/../out{n}" for n in range(4)] + [f"{ws}/link/x{n}" for n in range(4)]
    assert done.stdout.split() == sorted(wanted)
