"""The tree is bash's own: what `bash --pretty-print` makes of a text must parse to the same words and redirections.

A guard may refuse a text; what is accepted must not move a word. bash re-prints without running anything.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter

import pytest
import shell_cases
from shell_rig import PARSE, needs_parser
from shell_texts import COMMANDS, TOKENS

from ringfence.shell import tree as t
from ringfence.shell.quoting import unescape

pytestmark = [needs_parser]

MUTANTS = 40  # a seed; ten seeds take about two seconds


def plain(node):
    """A part, word or redirection as comparable text; adjacent runs of one kind are joined."""
    if isinstance(node, t.Word):
        return ("word", *parts(node.parts))
    if isinstance(node, t.Redirect):
        op = ">&" if node.op == "<&" and plain(node.word)[1:] == (("lit", "-"),) else node.op
        fd = node.fd or ("0" if node.op[0] == "<" else "1" if node.op in (">", ">>", ">|", ">&") else "")
        heredoc = op.startswith("<<") and op != "<<<"
        body = repr(plain(node.body)).replace("\\t", "") if node.body is not None else ""
        return ("redirect", op, fd, "" if heredoc else plain(node.word), body)
    if isinstance(node, t.Lit):
        return ("lit", node.text)
    if isinstance(node, t.Double):
        return ("double", *parts(node.parts))
    if isinstance(node, t.Quoted):
        return ("quoted", node.text)
    if isinstance(node, t.Param):
        return ("param", node.name, node.op, node.indirect, node.length, *(plain(w) for w in node.nested))
    return (type(node).__name__,)


def parts(found):
    out = []
    for node in found:
        runs = [plain(node)]
        if isinstance(node, t.Lit):
            runs = [("quoted" if quoted else "lit", text) for text, quoted in unescape(node.text)]
        for run in runs:
            if run[0] in ("lit", "quoted") and out and out[-1][0] == run[0]:
                out[-1] = (run[0], out[-1][1] + run[1])
            else:
                out.append(run)
    return out


def gather(node, out):
    """Every command's words, every assignment and redirection, wherever it stands."""
    if isinstance(node, t.Simple):
        if node.words:
            out.append(("command", *(plain(w) for w in node.words)))
        out.extend(("assign", a.name, a.value and plain(a.value)) for a in node.assigns)
    if isinstance(node, t.Redirect):
        out.append(plain(node))
    if isinstance(node, tuple):
        for child in tuple(node):
            gather(child, out)
    return out


def mutants(seed):
    source = random.Random(seed)  # noqa: S311  # a seeded fuzzer, not a secret
    for _ in range(MUTANTS):
        text = source.choice(COMMANDS)
        for _ in range(source.randint(0, 4)):
            at = source.randint(0, len(text))
            change = source.randint(0, 2)
            if change == 0:
                text = text[:at] + source.choice(TOKENS) + text[at:]
            elif change == 1:
                text = text[:at] + text[at + source.randint(1, 6) :]
            else:
                text = text[:at] + text[at : at + 12] + text[at:]
        yield text


def printed(text):
    done = subprocess.run(
        ["bash", "--pretty-print", "-O", "extglob"], input=text.encode("utf-8", "surrogateescape") + b"\n",
        capture_output=True, check=False,
    )  # fmt: skip
    return None if done.returncode or done.stderr else done.stdout.decode("utf-8", "surrogateescape")


def compare(text):
    """None where there is nothing to compare, else the two readings' differences."""
    if any(c in text for c in "\0\r") or text.rstrip("\n").endswith("\\") or "|&" in text:
        return None  # a trailing backslash joins the newline that bash is fed; `|&` is re-printed as `2>&1 |`
    ours = PARSE(text, "bash")
    theirs_text = None if isinstance(ours, t.Refusal) else printed(text)
    theirs = None if theirs_text is None else PARSE(theirs_text, "bash")
    if theirs is None or isinstance(theirs, t.Refusal) or isinstance(ours, t.Refusal):
        return None
    a, b = Counter(map(repr, gather(ours.body, []))), Counter(map(repr, gather(theirs.body, [])))
    return (a - b, b - a)


@pytest.mark.parametrize("seed", range(10))
def test_mutants_are_read_as_bash_reads_them(seed):
    compared = 0
    for text in mutants(seed):
        found = compare(text)
        if found is None:
            continue
        compared += 1
        assert found == (Counter(), Counter()), f"{text!r}: only ours {found[0]}, only bash {found[1]}"
    assert compared > MUTANTS // 5


@pytest.mark.parametrize("seed", range(10))
def test_no_false_accept(seed):
    """What bash refuses is refused here too. A false accept is rare (one mutant in a thousand) and runs nothing."""
    for text in mutants(seed):
        if "\0" in text or isinstance(PARSE(text, "bash"), t.Refusal):
            continue
        said = subprocess.run(
            ["bash", "-O", "extglob", "-n"],
            input=text.encode("utf-8", "surrogateescape") + b"\n",
            stderr=subprocess.PIPE,
            check=False,
        )
        assert said.returncode == 0, f"{text!r} is accepted, and bash says {said.stderr!r}"


def test_the_comparison_sees_a_misparse():
    """The oracle is able to fail: one word of difference is found."""
    a, b = PARSE("echo a > x", "bash"), PARSE("echo a > y", "bash")
    assert Counter(map(repr, gather(a.body, []))) != Counter(map(repr, gather(b.body, [])))


def test_the_corpus_is_read_as_bash_reads_it():
    rows = [r["command"] for r in shell_cases.rows("bash-corpus.jsonl") if r["valid_bash"]][::4]
    differing = [text for text in rows if compare(text) not in (None, (Counter(), Counter()))]
    assert differing == []
