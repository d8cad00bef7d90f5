"""What reading a command costs: a warm process on the corpus, the parser's share, and what importing the reader adds.

Run: `PYTHONPATH=src python benchmarks/bench_shell.py`. Prints milliseconds and ratios to a bare interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ringfence.kernel.parser_process import run_parser
from ringfence.model import Decision, Rule, Surroundings, Verdict
from ringfence.pipelines.command import LocalDisk, decide, find_parser, parser_with
from ringfence.shell.reading import read

CORPUS = Path(__file__).parent.parent / "tests/corpus/bash-corpus.jsonl"
ALLOWED = Decision(Verdict.ALLOW, "allow", "", Rule("bench", "bench"), "")


def quantiles(times):
    times.sort()
    return times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3


def one(text, parse, root):
    reading = read(text, parse=parse, dialect="bash", at=Surroundings(root, root), env={}, disk=LocalDisk())
    return decide(text, reading, lambda *_a, **_k: ALLOWED, lambda *_a: None)


def best(argv, count=15):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2] * 1e3


def main():
    program = find_parser(sys.prefix, os.path.dirname(sys.executable))
    commands = [row["command"] for row in map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())]
    with tempfile.TemporaryDirectory() as root:
        one("ls", parser_with(program), root)
        whole = []
        for text in commands:
            parse = parser_with(program)  # a fresh memory: every text is parsed
            start = time.perf_counter()
            one(text, parse, root)
            whole.append(time.perf_counter() - start)
        parser = []
        for text in commands:
            start = time.perf_counter()
            run_parser(program, "bash", text.encode("utf-8", "surrogateescape"))
            parser.append(time.perf_counter() - start)
        shared = parser_with(program)
        for text in commands:
            shared(text, "bash")
        warm = []
        for text in commands:
            start = time.perf_counter()
            one(text, shared, root)
            warm.append(time.perf_counter() - start)
        print(f"{len(commands)} commands")
        print("read and judge, parser included: p50 {:.2f} ms, p99 {:.2f} ms".format(*quantiles(whole)))
        print("the parser's process alone:      p50 {:.2f} ms, p99 {:.2f} ms".format(*quantiles(parser)))
        print("with the tree remembered:        p50 {:.2f} ms, p99 {:.2f} ms".format(*quantiles(warm)))
        source = str(Path(__file__).parent.parent / "src")
        bare = best([sys.executable, "-I", "-S", "-c", "pass"])
        load = f"import sys; sys.path.insert(0, {source!r}); "
        imported = best([sys.executable, "-I", "-S", "-c", load + "import ringfence.pipelines.command"])
        judged = best(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                load
                + "import ringfence.pipelines.command as c; from ringfence.model import *; "
                + "c.judge_text('git status && ls > x', lambda *a, **k: Decision(Verdict.ALLOW, '', '', Rule('', '')"
                + f", ''), cwd={root!r}, home=None, env={{}}, shell='bash', parser={program!r})",
            ]
        )
        print(
            f"whole process: bare {bare:.1f} ms, imported {imported / bare:.2f} x, one verdict {judged / bare:.2f} x"
        )


if __name__ == "__main__":
    main()
