"""Prints, after the run, each benchmark's ratio to its group's baseline (the one whose name starts with `bare` or
`realpath`), with the limit it is meant to stay below. Ratios within one run; nothing here fails on a slow machine."""

from __future__ import annotations

LIMITS = {
    "check existing file, depth 7": 0.5,
    "hook, file tool": 1.6,
    "hook, shell tool (text read)": 3.0,
    "run -- true, landlock": 2.2,
    "run -- true, mounts": 2.2,
    "try -- true": 3.0,
    "shell -c : (text read too), landlock": 2.8,
}


def pytest_terminal_summary(terminalreporter, config):
    session = getattr(config, "_benchmarksession", None)
    if session is None or not session.benchmarks:
        return
    groups: dict[str, list] = {}
    for bench in session.benchmarks:
        groups.setdefault(bench.group, []).append(bench)
    write = terminalreporter.write_line
    for group, benches in groups.items():
        base = next((b for b in benches if b.name.startswith(("bare", "realpath"))), None)
        if base is None:
            continue
        write(f"\n{group}: ratio to `{base.name}` (medians, one run)")
        for bench in benches:
            ratio = bench.stats.median / base.stats.median
            best = bench.stats.min / base.stats.min
            limit = f"limit {LIMITS[bench.name]:.1f} x" if bench.name in LIMITS else ""
            write(
                f"  {bench.name:40} {bench.stats.median * 1e6:12.1f} us  {ratio:6.2f} x  (min {best:.2f} x)  {limit}"
            )
