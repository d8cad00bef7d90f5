"""A million proposed paths: `python benchmarks/bench_audit.py [LINES]`. Ratios and microseconds from one run.

Half of the paths exist, a tenth lies outside, some run through links. The baseline is a loop that only reads and strips
the same file; each part takes turns with it. Three sizes show the growth, and the peak of memory of a child of its own.
JSON Lines and commands are measured apart. Times are the process's own (user and system), so that what else runs on the
machine counts little; the parser of commands is a program of its own, so commands are timed by the clock.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ringfence import Fence
from ringfence.pipelines.audit import judge
from ringfence.pipelines.inputs import find, read
from ringfence.pipelines.tally import Tally
from ringfence.readers.options import Options

LIMIT = 5.0  # microseconds a path beyond reading it
MEMORY = 20.0  # MB above the peak of 10,000 lines


def plant(base: str) -> tuple[str, list[str]]:
    ws = base + "/ws"
    folders = [f"{ws}/d{i}/e{j}/f/g" for i in range(40) for j in range(10)]
    for folder in folders:
        os.makedirs(folder)
        for number in range(50):
            Path(f"{folder}/file{number}.py").touch()
    os.symlink(f"{ws}/d0", f"{ws}/link")
    return ws, folders


def paths(ws: str, folders: list[str], count: int):
    chance = random.Random(7)  # noqa: S311 - the same paths each time
    for number in range(count):
        kind, folder = chance.random(), chance.choice(folders)
        if kind < 0.5:
            yield f"{folder}/file{chance.randrange(50)}.py"
        elif kind < 0.6:
            yield f"/etc/x{number % 100}/y{number}"
        elif kind < 0.65:
            yield f"{ws}/link/e{number % 10}/f/g/file{number % 50}.py"
        else:
            yield f"{folder}/new{number}.py"


def only_read(path: str) -> float:
    start = time.process_time()
    size = 0
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            size += len(line.rstrip("\n"))
    return time.process_time() - start


def audited(path: str, fence: Fence, named: str) -> tuple[float, int]:
    start = time.process_time()
    tally = Tally()
    add = tally.add
    for finding in judge(read(find([path]), Options(), named, print, lambda _size: None), fence):
        add(finding.decision)
    return time.process_time() - start, tally.summary().denied


def peak(ws: str, path: str) -> float:
    """MB at most of a whole `ringfence audit` in a process of its own."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    words = [
        sys.executable,
        "-m",
        "ringfence",
        "audit",
        "--workspace",
        ws,
        "--format",
        "lines",
        "--json",
        path,
    ]
    env = {**os.environ, "HOME": os.path.dirname(ws)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env=env
    )
    return int(done.stdout) / 1024


def main(most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.realpath(folder)
        ws, folders = plant(base)
        fence = Fence(ws, home=base, env={}, temp="none", cwd=ws)
        sizes = [10_000, most // 10, most]
        first = 0.0
        for size in sizes:
            name = f"{base}/{size}.txt"
            Path(name).write_text("".join(f"{path}\n" for path in paths(ws, folders, size)))
            best_read = best = float("inf")
            denied = 0
            for _ in range(3 if size > 100_000 else 5):  # taking turns, the best of each
                best_read = min(best_read, only_read(name))
                took, denied = audited(name, fence, "lines")
                best = min(best, took)
            beyond = (best - best_read) / size * 1e6
            memory = peak(ws, name)
            first = first or memory
            print(
                f"lines     {size:>9,}  reading {best_read / size * 1e6:5.2f} us  audit {best / size * 1e6:5.2f} us  "
                f"beyond reading {beyond:5.2f} us a path (limit {LIMIT})  ratio {best / best_read:5.1f}  "
                f"peak {memory:6.1f} MB (+{memory - first:.1f}, limit {MEMORY})  {denied:,} refused"
            )
        one_by_one(fence, ws, folders)
        other_kinds(base, fence, ws, folders, most // 10)


def one_by_one(fence: Fence, ws: str, folders: list[str]) -> None:
    asked = list(paths(ws, folders, 20_000))
    start = time.process_time()
    for path in asked:
        fence.check(path)
    print(f"check, one by one: {(time.process_time() - start) / len(asked) * 1e6:.1f} us a path")


def other_kinds(base: str, fence: Fence, ws: str, folders: list[str], size: int) -> None:
    def loop(path: str) -> str:
        return json.dumps({"command": f"for i in a b; do cat x | tee {path}; done"}) + "\n"

    rows = {
        "json": (
            "".join(json.dumps({"path": p, "op": "write"}) + "\n" for p in paths(ws, folders, size)),
            size,
        ),
        "command": (
            "".join(json.dumps({"command": f"cp a.txt {p}"}) + "\n" for p in paths(ws, folders, 2000)),
            2000,
        ),
        "pipeline": ("".join(map(loop, paths(ws, folders, 500))), 500),
    }
    for name, (text, count) in rows.items():
        path = f"{base}/{name}.jsonl"
        Path(path).write_text(text)
        reading = min(only_read(path) for _ in range(3))
        start = time.perf_counter()
        took, denied = audited(path, fence, "jsonl")
        if name != "json":
            took = time.perf_counter() - start
        print(
            f"{name:9} {count:>9,}  audit {took / count * 1e6:8.1f} us a record  ratio to reading "
            f"{took / reading:8.1f}  {denied:,} refused"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
