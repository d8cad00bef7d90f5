#!/usr/bin/env python3
"""Write docs/agents/*.md from the table of modes and lanes; `--check` only compares.

Exit codes: 0 written or current, 1 out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ringfence.agents import registry  # noqa: E402
from ringfence.agents.holes import HOLES  # noqa: E402
from ringfence.errors import UsageError  # noqa: E402
from ringfence.pipelines.rendering import lanes_of  # noqa: E402
from ringfence.render.lanes_docs import pages  # noqa: E402

FOLDER = ROOT / "docs" / "agents"


def table() -> dict:
    """Every agent that has modes and lanes."""
    found = {}
    for name, row in registry.ROWS.items():
        try:
            found[name] = lanes_of(row)
        except UsageError:
            continue
    return found


def main(words: list[str]) -> int:
    stale = []
    for name, text in pages(table(), HOLES).items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in words:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in words:
        print(f"docs/agents is out of date: {', '.join(stale)}; run scripts/gen_agents.py", file=sys.stderr)
        return 1
    print(f"docs/agents: {len(stale)} written" if stale else "docs/agents is current")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
