"""tests/corpus/shell.jsonl: verdicts that were checked by running the commands; and the same commands, wrapped."""

from __future__ import annotations

import os
import shlex

import pytest
import shell_cases
from shell_rig import PARSE, needs_parser, verdict

from ringfence.pipelines.fence import Fence
from ringfence.shell.tree import Refusal

pytestmark = [needs_parser]

ROWS = shell_cases.rows()
WANTED = {"allow": "allow", "deny": "deny", "unknown": "ask"}
SOFT_SHARE = 0.03  # deny rows that may be answered `ask`, because an engine would hold them


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """One tree for all rows with the same setup: judging changes nothing on disk."""
    built = {}

    def get(row):
        key = shell_cases.tree_key(row)
        if key not in built:
            root = str(tmp_path_factory.mktemp("case"))
            shell_cases.build(row["setup"], root)
            built[key] = root
        return built[key]

    return get


@pytest.mark.parametrize("row", ROWS, ids=[r["id"] for r in ROWS])
def test_verdict(row, trees):
    got = verdict(row, trees(row))
    assert str(got.verdict) == WANTED[row["expect"]], f"{row['command']!r}: {got.code} {got.message}"
    if row["expect"] == "unknown":
        assert got.code.startswith("opaque.")


WRAPPERS = {
    "bash -c": lambda c: "bash -c " + shlex.quote(c),
    "env": lambda c: "env A=1 bash -c " + shlex.quote(c),
    "xargs": lambda c: "echo x | xargs -I{} bash -c " + shlex.quote(c),
    "function": lambda c: "wrapped() {\n" + c + "\n}\nwrapped",
    "subshell": lambda c: "(\n" + c + "\n)",
    "substitution": lambda c: ': "$(\n' + c + '\n)"',
    "redirected group": lambda c: "{\n" + c + "\n} 2>/dev/null",
    "if": lambda c: "if true; then\n" + c + "\nfi",
    "eval": lambda c: "eval " + shlex.quote(c),
    "timeout": lambda c: "timeout 5 bash -c " + shlex.quote(c),
    "for": lambda c: "for _one in 1; do\n" + c + "\ndone",
    "and-or": lambda c: "true && {\n" + c + "\n} || false",
    "heredoc": lambda c: "bash <<'WRAPPED_END'\n" + c + "\nWRAPPED_END",
}
# Nine thousand verdicts take half a minute: by default each wrapper and spelling sees every fourth row, another
# fourth each. RINGFENCE_FULL=1 runs them all.
STEP = 1 if os.environ.get("RINGFENCE_FULL") else 4
BASH_ROWS = [r for r in ROWS if r.get("shell", "bash") == "bash"]


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped(name, trees):
    """A wrapper changes no verdict: none allows what is due to be refused, none refuses what is due to pass."""
    wrong, soft, denies = [], 0, 0
    for row in BASH_ROWS[list(WRAPPERS).index(name) % STEP :: STEP]:
        if name == "xargs" and "{}" in row["command"]:
            continue  # xargs would replace those
        got = verdict(row, trees(row), WRAPPERS[name](row["command"]))
        want = WANTED[row["expect"]]
        denies += want == "deny"
        if str(got.verdict) == want:
            continue
        if want == "deny" and str(got.verdict) == "ask":
            soft += 1
            continue
        wrong.append((row["id"], str(got.verdict), got.code, got.message))
    assert wrong == []
    assert soft <= denies * SOFT_SHARE


SPELLINGS = {
    "quoted": lambda c, d: c.replace(f"../{d}", f'"../{d}"'),
    "pieces": lambda c, d: c.replace(f"../{d}", f"'.'./{d[:2]}''{d[2:]}"),
    "$HOME": lambda c, d: c.replace(f" ../{d}", f" $HOME/../{d}"),
    "${HOME}": lambda c, d: c.replace(f" ../{d}", f' "${{HOME}}"/../{d}'),
    "tilde": lambda c, d: c.replace(f" ../{d}", f" ~/../{d}"),
    "variable": lambda c, d: f"V=../{d}; " + c.replace(f"../{d}", "$V"),
    "$PWD": lambda c, d: c.replace(f" ../{d}", f" $PWD/../{d}"),
    "~+": lambda c, d: c.replace(f" ../{d}", f" ~+/../{d}"),
    "backslash": lambda c, d: c.replace(f"../{d}", f".\\./\\{d}"),
    "ansi": lambda c, d: c.replace(f"../{d}", f"$'\\056./{d}'"),
    "glob": lambda c, d: c.replace(f"../{d}", f"../{d[:3]}*"),
    "dots": lambda c, d: c.replace(f" ../{d}", f" ./src/../.././{d}"),
    "link": lambda c, d: f"ln -s ../{d} zz; " + c.replace(f"../{d}/", "zz/"),
    "substitution": lambda c, d: f"D=$(dirname ../{d}/x); " + c.replace(f"../{d}", "$D"),
}
PLAIN = [r for r in BASH_ROWS if r["expect"] == "deny" and not any(c in r["command"] for c in "\"'`$\\<{")]


@pytest.mark.parametrize("name", SPELLINGS)
def test_spelled(name, trees):
    """The outside path in another spelling is refused as before."""
    seen, wrong = 0, []
    for row in PLAIN[list(SPELLINGS).index(name) % STEP :: STEP]:
        for folder in ("outside", "main"):
            command = SPELLINGS[name](row["command"], folder)
            if f"/../{folder}" in row["command"] or f"..=../{folder}" in row["command"]:
                continue  # a longer path around it: replacing its end would name another place
            if name == "link" and f"../{folder}/" not in row["command"]:
                continue
            if command == row["command"] or f"../{folder}" not in row["command"]:
                continue
            seen += 1
            got = verdict(row, trees(row), command)
            if str(got.verdict) != "deny":
                wrong.append((row["id"], command, str(got.verdict), got.message))
    assert wrong == []
    assert seen >= 20 // STEP


CORPUS = shell_cases.rows("bash-corpus.jsonl")
# What bash accepts and the parser does not, or a guard refuses on purpose: fails closed, and is pinned here so
# that a new parser version may only shorten the list.
REJECTED = {
    "let x=1>2", "cat <<$X\nhi\n$X", "coproc rm x", "coproc NAME { cat; }", "coproc cat", "coproc x { rm y; }",
    "coproc (ls) > x", "echo ${x>y}", "echo ${ echo funsub; }", "time ! rm x", "cmd &!", "[[ a b",
    "echo a 2>\\\n&1", 'print -l ${(f)"$(ls)"}', "((echo a); (echo b))",
}  # fmt: skip


@pytest.mark.parametrize("row", CORPUS, ids=range(len(CORPUS)))
def test_the_parser_accepts_what_bash_accepts(row):
    """`valid_with_extglob`: the parser always reads extended globs, as a shell with `shopt -s extglob` does."""
    accepted = not isinstance(PARSE(row["command"], "bash"), Refusal)
    valid = row["valid_bash"] or row.get("valid_with_extglob", False)
    if not valid:
        assert not accepted, "a false accept: the tree of an invalid text means nothing"
    elif row["command"] in REJECTED:
        assert not accepted, "accepted now: take it off the list"
    else:
        assert accepted


@pytest.mark.parametrize("row", ROWS, ids=[r["id"] for r in ROWS])
def test_verdict_by_the_fence(row, trees):
    """The same through the public fence: its zones, guards and resolver instead of the double."""
    root = trees(row)
    home = shell_cases.place(root, row["home"]) if row["home"] else row["home"]
    fence = Fence(
        workspace=shell_cases.place(root, row["workspace"]),
        protect=[shell_cases.place(root, p) for p in row["protected"]],
        reads="anywhere",
        temp="none",
        home=home,
        env={k: shell_cases.fill(v, root) for k, v in row.get("env", {}).items()},
    )
    command = shell_cases.fill(row["command"], root)
    got = fence.check_command(
        command, cwd=shell_cases.place(root, row["cwd"]), shell=row.get("shell", "bash")
    )
    assert str(got.verdict) == WANTED[row["expect"]], f"{row['command']!r}: {got.code} {got.message}"
