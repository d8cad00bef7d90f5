"""Laws of the command reader: it never falls over, and a literal outside write is never allowed, however it is hidden."""

from __future__ import annotations

import os
import shlex

import pytest
from fence_double import FenceDouble
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell_rig import PARSE, needs_parser
from shell_texts import COMMANDS, TOKENS

from ringfence.pipelines.command import LocalDisk, judge

pytestmark = [needs_parser]

MODEST = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = str(tmp_path_factory.mktemp("law"))
    for folder in ("ws/src", "ws/sub/deep", "outside", "home"):
        os.makedirs(os.path.join(root, folder))
    for name in ("ws/a.txt", "ws/b.txt", "outside/o.txt"):
        with open(os.path.join(root, name), "w", encoding="utf-8") as out:
            out.write("x\n")
    os.symlink("../outside", os.path.join(root, "ws/link"))
    return root


def ask(tree, text, dialect="bash"):
    fence = FenceDouble(f"{tree}/ws", home=f"{tree}/home", sweep=tree)
    return judge(
        text, check=fence.check, below=fence.below, cwd=f"{tree}/ws", home=f"{tree}/home", env={}, dialect=dialect,
        parse=PARSE, disk=LocalDisk(),
    )  # fmt: skip


@st.composite
def mutants(draw):
    """A known command with tokens put in, taken out or doubled."""
    text = draw(st.sampled_from(COMMANDS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(("insert", "delete", "copy")))
        if change == "insert":
            text = text[:at] + draw(st.sampled_from(TOKENS)) + text[at:]
        elif change == "delete":
            text = text[:at] + text[at + draw(st.integers(1, 6)) :]
        else:
            text = text[:at] + text[at : at + 12] + text[at:]
    return text


@MODEST
@given(text=mutants(), dialect=st.sampled_from(("bash", "zsh", "sh")))
def test_judging_a_mutant_never_raises(tree, text, dialect):
    assert str(ask(tree, text, dialect).verdict) in ("allow", "ask", "deny")


@MODEST
@given(text=st.text(max_size=60))
def test_judging_any_text_never_raises(tree, text):
    assert str(ask(tree, text).verdict) in ("allow", "ask", "deny")


OUTSIDE = (
    "../outside/n",
    "$PWD/../outside/n",
    "link/n",
    "../outside/./n",
    "./../outside//n",
    "~/n",
    "$HOME/n",
    "/n-outside",
)
WRITES = (
    "touch {}", "echo x > {}", "echo x >> {}", ": > {}", "> {}", "cp a.txt {}", "mv b.txt {}", "tee {} < a.txt", "mkdir {}",
    "dd if=a.txt of={}", "sort -o {} a.txt", "ln -s a.txt {}", "install a.txt {}", "truncate -s0 {}", "sed -n 'w {}' a.txt",
    "cat <<E > {}\nx\nE", "cat > {} <<< x", "echo x | tee a.txt {}", "echo x &> {}", "curl -o {} file:///etc/hostname",
)  # fmt: skip


NESTS = (
    lambda c: f"true; {c}",
    lambda c: f"true && {c}",
    lambda c: f"false || {c}",
    lambda c: f"(\n{c}\n)",
    lambda c: f"{{ {c}\n}}",
    lambda c: f"if true; then\n{c}\nfi",
    lambda c: f"if false; then :; else\n{c}\nfi",
    lambda c: f"for i in 1 2; do\n{c}\ndone",
    lambda c: f"while true; do\n{c}\nbreak; done",
    lambda c: f"case x in *)\n{c}\n;; esac",
    lambda c: f"f() {{\n{c}\n}}; f",
    lambda c: f"f() {{\n{c}\n}}; g() {{ f; }}; g",
    lambda c: f': "$(\n{c}\n)"',
    lambda c: f": ${{unset_one:-$(\n{c}\n)}}",
    lambda c: f"cat <(\n{c}\n)",
    lambda c: f"echo x | {{\n{c}\n}}",
    lambda c: f"{{\n{c}\n}} | cat",
    lambda c: f"{{\n{c}\n}} &",
    lambda c: f'[ -n "$(\n{c}\n)" ]',
    lambda c: f"eval {shlex.quote(c)}",
    lambda c: f"bash -c {shlex.quote(c)}",
    lambda c: f"env X=1 sh -c {shlex.quote(c)}",
    lambda c: f"trap {shlex.quote(c)} EXIT",
    lambda c: f"bash <<'NESTED'\n{c}\nNESTED",
    lambda c: f"echo {shlex.quote(c)} | bash",
    lambda c: f"cat > s.sh <<'SCRIPT'\n{c}\nSCRIPT\nbash s.sh",
    lambda c: f'x={shlex.quote(c)}; eval "$x"',
    lambda c: f"set -e; {c}",
    lambda c: f"! {{ {c}\n}}",
    lambda c: f"time {{ {c}\n}}",
    lambda c: f"find . -name a.txt -exec bash -c {shlex.quote(c)} \\;",
    lambda c: f"xargs -n1 bash -c {shlex.quote(c)} <<< x",
    lambda c: f"echo '# harmless' # a comment\n{c}",
    lambda c: f"cat <<'TEXT'\n> nothing\nTEXT\n{c}",
)


@settings(MODEST, max_examples=400)
@given(
    write=st.sampled_from(WRITES),
    target=st.sampled_from(OUTSIDE),
    nests=st.lists(st.sampled_from(NESTS), max_size=3),
)
def test_a_literal_outside_write_is_never_allowed(tree, write, target, nests):
    if "'w {}'" in write and target[0] in "$~":
        return  # single quotes: not the outside path
    text = write.format(target)
    for nest in nests:
        text = nest(text)
    got = ask(tree, text)
    assert str(got.verdict) != "allow", text
