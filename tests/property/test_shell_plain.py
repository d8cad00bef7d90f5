"""The short cut for plain commands gives the parser's own tree, or none.

Every text that `plain_script` takes is given to the parser too, in every dialect: same tree, same offsets. A text that
the parser refuses must not be taken.
"""

from __future__ import annotations

import shell_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_rig import PROGRAM, needs_parser
from shell_texts import COMMANDS

from ringfence.kernel.parser_process import run_parser
from ringfence.shell.parsing import read_script
from ringfence.shell.plain import plain_script
from ringfence.shell.tree import Refusal

pytestmark = [needs_parser]

DIALECTS = ("bash", "zsh", "sh", "ksh")
HEADS = (
    *"ls cat time let coproc repeat foreach noglob nocorrect declare export if then in function select until".split(),
    *"end esac done builtin command exec eval test [ [[ ]] ! . - -x 1 2 a=b a+=b = =ls == @test a@b a:b a,b %1 +x".split(),
)
TAILS = (
    *"a=b =ls = == -x --y=z @x x@y 1 2 in then do done fi esac ) [ ] . .. / a/b %1 +x ^x : , A=B'c' 'a b' ''".split(),
    *('"a b"', '""', "'a'b", "a'b'", '"a\'b"', "'a\"b'", '"$x"', "'$x'", '"a!b"', "'a!b'", '"a\\b"', '"`x`"'),
    *(
        '"*"',
        "'{a,b}'",
        '"~"',
        "'#c'",
        '"a;b"',
        "'a|b'",
        "#c",
        "*",
        "~",
        "{a,b}",
        "a{",
        "a~b",
        "é",
        "\t",
        "\n",
    ),
)


def _by_the_parser(text, dialect):
    def exchange(source, read_as):
        answer = run_parser(PROGRAM, read_as, source)
        return answer.ok, answer.json, answer.code, answer.detail

    return read_script(text, dialect, exchange, short_cut=False)


def _agree(text):
    made = plain_script(text)
    if made is None:
        return False
    for dialect in DIALECTS:
        parsed = _by_the_parser(text, dialect)
        assert not isinstance(parsed, Refusal), (dialect, text, parsed)
        assert made == parsed, (dialect, text)
    return True


def test_every_text_of_ours():
    texts = {*COMMANDS, *(row["command"] for row in shell_cases.rows("shell-more.jsonl"))}
    taken = sum(_agree(text) for text in sorted(texts))
    assert taken > 100


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(HEADS), st.lists(st.sampled_from(TAILS), max_size=4), st.sampled_from(("", " ", "  ")))
def test_words_at_the_border(head, tail, blank):
    _agree(blank + " ".join((head, *tail)) + blank)


@settings(max_examples=300, deadline=None)
@given(st.text("abc1=-_./:@%,+ '\"#*~;|&<>(){}?^", max_size=12))
def test_any_text_of_these_characters(text):
    _agree(text)


def test_the_comparison_can_fail():
    """What the short cut leaves to the parser is another tree there, so taking it would be seen."""
    for text in ("a=b", "export a", "ls;ls", "! ls", "time ls"):
        assert plain_script(text) is None
        assert _by_the_parser(text, "bash") != plain_script(
            text.replace(";", " ").replace("! ", "").replace("time ", "")
        )
