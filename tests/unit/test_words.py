"""The fence's flags, read by hand at the hot doors and by click elsewhere: one list, one meaning."""

from __future__ import annotations

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.cli.options import fence_options, refuse_retired
from ringfence.errors import EXIT_USAGE, UsageError
from ringfence.pipelines.words import RETIRED, SWITCHES, VALUED, flag_words, take_flags
from ringfence.policy.asked import Flags

EXTRA = {"--engine": True, "--report": False}

READ = [
    ([], Flags(), {}, []),
    (["prog", "--workspace", "x"], Flags(), {}, ["prog", "--workspace", "x"]),
    (["--workspace", "a", "--workspace=b", "--", "--protect"], Flags(("a", "b")), {}, ["--protect"]),
    (["--protect", "a", "--policy", "f", "x"], Flags((), ("a",), "f"), {}, ["x"]),
    (["--policy", "f", "--policy", "g"], Flags(policy="g"), {}, []),
    (["--restrict-paths", "x"], Flags(restrict=True), {"--restrict-paths": "1"}, ["x"]),
    (["--no-restrict-paths"], Flags(no_restrict=True), {"--no-restrict-paths": "1"}, []),
    (["--engine", "mounts", "--report", "x", "--report"], Flags(), {"--engine": "mounts", "--report": "1"}, ["x", "--report"]),
    (["--engine=a=b"], Flags(), {"--engine": "a=b"}, []),
    (["--workspace", "--protect"], Flags(("--protect",)), {}, []),
    (["--workspace", ""], Flags(("",)), {}, []),
    (["-"], Flags(), {}, ["-"]),
    (["--"], Flags(), {}, []),
    (["--", "--"], Flags(), {}, ["--"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "flags", "found", "rest"), READ)
def test_reading(words, flags, found, rest):
    assert take_flags(words, EXTRA) == (flags, found, rest)


BAD = [
    (["--workspce", "x"], "unknown option --workspce", "did you mean --workspace?"),
    (["--zzzzzz"], "unknown option --zzzzzz", "known here: --engine, --no-restrict-paths, --policy, --protect, --report, --restrict-paths, --workspace"),
    (["-c", "x"], "unknown option -c", None),
    (["--workspace"], "--workspace needs a value", ""),
    (["--engine"], "--engine needs a value", ""),
    (["--restrict-paths=1"], "--restrict-paths takes no value", ""),
    (["--report=1"], "--report takes no value", ""),
    (["--restrict-paths", "--no-restrict-paths"], "--restrict-paths and --no-restrict-paths contradict each other", "give one of them"),
    (["--allow-all-tools"], "--allow-all-tools is no longer an option", "the fence is the boundary: name it with --workspace"),
    (["--allow-all-tools=x"], "--allow-all-tools is no longer an option", "the fence is the boundary: name it with --workspace"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message", "hint"), BAD)
def test_misreading(words, message, hint):
    with pytest.raises(UsageError) as caught:
        take_flags(words, EXTRA)
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint
    assert caught.value.exit_code == EXIT_USAGE


def test_a_short_option_can_belong_to_another_program():
    words = ["--workspace", "w", "-c", "--protect"]
    assert take_flags(words, EXTRA, short_ends=True) == (Flags(("w",)), {}, ["-c", "--protect"])


_PATH = st.text(min_size=0, max_size=8)
_FLAGS = st.builds(
    Flags,
    st.lists(_PATH, max_size=3).map(tuple),
    st.lists(_PATH, max_size=3).map(tuple),
    st.one_of(st.none(), _PATH),
    st.just(value=False),
    st.booleans(),
    st.just(()),
)


@settings(max_examples=200, deadline=None)
@given(_FLAGS, st.lists(st.text(max_size=5), max_size=3))
def test_written_words_are_read_back(flags, rest):
    made, _, left = take_flags([*flag_words(flags), "--", *rest], {})
    assert made == flags
    assert left == rest


def test_click_and_the_hot_doors_know_the_same_flags():
    @click.command()
    @fence_options
    def command(flags):
        return flags

    names = {name for param in command.params for name in param.opts}
    assert names == set(VALUED) | set(SWITCHES)
    for param in command.params:
        (name,) = param.opts
        assert param.help == {**VALUED, **SWITCHES}[name]
        assert param.is_flag == (name in SWITCHES)
    words = ["--workspace", "a", "--workspace=b", "--protect", "c", "--policy", "f", "--restrict-paths"]
    assert command.main(words, standalone_mode=False) == take_flags(words, {})[0]


@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_spelling_fails_fast_but_not_behind_the_dashes(word):
    with pytest.raises(UsageError):
        refuse_retired(["run", word])
    with pytest.raises(UsageError):
        refuse_retired(["run", word + "=x"])
    refuse_retired(["run", "--", word])
    refuse_retired(["run", word + "x"])
