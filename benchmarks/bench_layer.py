"""What the throwaway layer costs: whole processes, a large file read through it, a session's call, an attempt heard.

Run: `python benchmarks/bench_layer.py [GIGABYTES]` (default 5, from the page cache where it fits). Prints medians and
ratios within one run, the runs interleaved.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START = str(Path(__file__).resolve().parent.parent / "src" / "ringfence" / "start.py")
PYTHON = [sys.executable, "-I", "-S"]


def interleaved(commands, rounds, **more):
    times = {name: [] for name in commands}
    for count in range(rounds + 2):
        for name, argv in commands.items():
            begin = time.perf_counter()
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
            if count >= 2:
                times[name].append(time.perf_counter() - begin)
    return {name: sorted(found)[len(found) // 2] for name, found in times.items()}


def show(title, found, base, limits=None):
    print(title)
    for name, seconds in found.items():
        limit = f"  limit {limits[name]:.1f} x" if limits and name in limits else ""
        print(f"  {name:42} {seconds * 1e3:10.2f} ms  {seconds / found[base]:6.2f} x{limit}")


def main():
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with tempfile.TemporaryDirectory() as base:
        workspace = f"{base}/ws"
        os.makedirs(f"{base}/home")
        os.mkdir(workspace)
        env = {**os.environ, "HOME": f"{base}/home"}
        here = {"cwd": workspace, "env": env}
        rf = [*PYTHON, START]
        fenced = ["--workspace", workspace]
        reviewer = [*rf, "shell", "--lane", "reviewer", "--session", "bench", *fenced, "-c", ":"]
        commands = {
            "bare python -I -S -c pass": [*PYTHON, "-c", "pass"],
            "run -- true": [*rf, "run", *fenced, "--", "true"],
            "try -- true": [*rf, "try", *fenced, "--", "true"],
            "try --no-attempts -- true": [*rf, "try", "--no-attempts", *fenced, "--", "true"],
            "shell -c :": [*rf, "shell", *fenced, "-c", ":"],
            "shell --lane reviewer -c : (joined)": reviewer,
        }
        found = interleaved(commands, 30, **here)
        show("whole processes", found, "bare python -I -S -c pass", {"try -- true": 3.0})

        writes = "import os\nfor n in range(20000): os.close(os.open('f', os.O_WRONLY | os.O_CREAT))"
        commands = {
            "20,000 opens for writing, run": [*rf, "run", *fenced, "--", *PYTHON, "-c", writes],
            "the same, try": [*rf, "try", *fenced, "--", *PYTHON, "-c", writes],
            "the same, try --no-attempts": [
                *rf,
                "try",
                "--no-attempts",
                *fenced,
                "--",
                *PYTHON,
                "-c",
                writes,
            ],
        }
        found = interleaved(commands, 3, **here)
        show("attempts", found, "20,000 opens for writing, run")
        first, second = found["the same, try"], found["the same, try --no-attempts"]
        print(f"  one call heard: {(first - second) / 20000 * 1e6:.1f} us")

        block = os.urandom(1 << 24)
        with open(f"{workspace}/large", "wb") as file:
            file.writelines(block for _ in range(int(size * 64)))
        read = ["dd", "if=large", "of=/dev/null", "bs=1M"]
        commands = {
            "plain": read,
            "run": [*rf, "run", *fenced, "--", *read],
            "try": [*rf, "try", *fenced, "--", *read],
        }
        found = interleaved(commands, 3, **here)
        show(f"reading {size:g} GB", found, "plain", {"try": 1.1})

        holder = subprocess.run([*rf, "review", "drop"], **here, capture_output=True, text=True, check=False)
        print(holder.stdout.strip())


if __name__ == "__main__":
    main()
