"""`fence.check` in a warm process, against os.path.realpath on the same path in the same run.

    python benchmarks/bench_check.py

Prints ratios of medians of interleaved rounds; no figure here fails anything, machines are noisy. The growth curves
show what does and does not depend on size: the number of zones (flat), the depth of the path (linear, as the kernel).
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time

from ringfence import Fence, Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 41
CALLS = 400


def measure(*tasks: Callable[[], object]) -> list[float]:
    """Median microseconds of one call of each task, the tasks taking turns."""
    found: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for place, task in zip(found, tasks, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                task()
            place.append((time.perf_counter() - start) / CALLS * 1e6)
    return [statistics.median(place) for place in found]


def row(name: str, ours: float, theirs: float, limit: str = "") -> None:
    print(f"{name:44} {ours:8.2f} µs {theirs:8.2f} µs  {ours / theirs:5.2f} x  {limit}")


def main() -> None:
    with tempfile.TemporaryDirectory() as temp:
        base = os.path.realpath(temp)
        ws = f"{base}/ws"
        os.makedirs(ws)
        print(f"{'one check':44} {'fence':>11} {'realpath':>11}  {'ratio':>7}")
        fence = Fence(ws, home=base, env={}, temp="none", cwd=ws)
        depth = ws.count("/")
        deep = ws + "".join(f"/d{i}" for i in range(60))
        os.makedirs(deep)
        for total in (2, 4, 7, 15, 30, 60):
            names = [f"d{i}" for i in range(max(total - depth - 1, 0))]
            path = "/".join([ws, *names, "file"])
            with open(path, "w", encoding="utf-8"):
                pass
            ours, theirs = measure(
                lambda p=path: fence.check(p, Op.WRITE), lambda p=path: os.path.realpath(p)
            )
            limit = "limit 0.50 x" if path.count("/") == 7 else ""
            row(f"existing file, depth {path.count('/')}", ours, theirs, limit)
        path = f"{ws}/d0/d1/missing/new.txt"
        row("missing file and folder", *measure(lambda: fence.check(path), lambda: os.path.realpath(path)))
        os.symlink("d0/d1", f"{ws}/link")
        linked = f"{ws}/link/file"
        with open(linked, "w", encoding="utf-8"):
            pass
        row("through a link", *measure(lambda: fence.check(linked), lambda: os.path.realpath(linked)))
        outside = f"{base}/outside"
        row("refused, outside", *measure(lambda: fence.check(outside), lambda: os.path.realpath(outside)))

        print(f"\n{'zones in the policy (flat is right)':44} {'fence':>11} {'realpath':>11}")
        inside = f"{ws}/d0/file"
        with open(inside, "w", encoding="utf-8"):
            pass
        for count in (1, 10, 100, 1000):
            roots = [f"{base}/z/{i}" for i in range(count)]
            many = Fence(ws, protect=roots, home=base, env={}, temp="none", cwd=ws)
            row(f"{count} zones", *measure(lambda f=many: f.check(inside), lambda: os.path.realpath(inside)))


if __name__ == "__main__":
    main()
