"""Write the tables of docs/escapes.md from the attack rows that the kernel tests replay, or check them (--check)."""

from __future__ import annotations

import errno
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(ROOT, "docs", "escapes.md")
ROWS_TEST = "test_mounts_attacks.py::test_attack"
BEGIN, END = "<!-- {} begin: written by scripts/gen_escapes.py -->", "<!-- {} end -->"


def shared_table() -> list[str]:
    """Every row of tests/kernel/attacks.py: whom it works for without a fence, and what each engine makes of it."""
    from tests.kernel.attacks import ATTACKS

    lines = ["| id | what | without a fence | landlock | mounts |", "|---|---|---|---|---|"]
    for row in ATTACKS:
        what = row.what.replace("|", "\\|")
        lines.append(
            f"| {row.id} | {what} | {_unfenced(row)} | {_held(row, 'landlock')} | {_held(row, 'mounts')} |"
        )
    return lines


def _unfenced(row) -> str:
    if "user" in row.needs:
        return "works for a user"
    refused = {who: errno.errorcode[row.errno_of(who)] for who in ("root", "user") if row.errno_of(who)}
    if not refused:
        return "works"
    if len(refused) == 2:
        return "n/a where " + ", ".join(sorted(set(refused.values())))
    return f"works for root; user: n/a, {refused['user']}"


def _held(row, engine: str) -> str:
    rule = row.open_rule(engine)
    if rule:
        return "**open**" if rule == "-" else f"**open**, reported as `{rule}`"
    if engine == "landlock" and row.since > 1:
        return f"refused from ABI {row.since}"
    return "refused"


def mounts_table() -> list[str]:
    """Every row of tests/kernel/mounts_rows.py: guards, masks, and the ways to undo the mounts."""
    from tests.kernel.mounts_rows import ATTACKS, ELSEWHERE

    rows = [(row.id, row.origin, row.where, ROWS_TEST, row.remains) for row in ATTACKS]
    rows += [(row.id, row.origin, row.where, row.test, row.remains) for row in ELSEWHERE]
    return [
        "| id | origin | where stopped | test | what remains |",
        "|---|---|---|---|---|",
        *(f"| {a} | {b} | {c} | `{d}` | {e or '-'} |" for a, b, c, d, e in rows),
    ]


def written(text: str) -> str:
    """The document with both tables as they must be. ValueError if a marker is missing."""
    for name, table in (("shared", shared_table()), ("mounts", mounts_table())):
        begin, end = BEGIN.format(name), END.format(name)
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"docs/escapes.md has no {begin} … {end}")
        text = "\n".join([head + begin, *table, end + tail])
    return text


def main(words: list[str]) -> int:
    sys.path[:0] = [ROOT, os.path.join(ROOT, "src")]
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    new = written(text)
    if "--check" in words:
        if new != text:
            print("docs/escapes.md is not what the rows say: python scripts/gen_escapes.py", file=sys.stderr)
        return int(new != text)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
