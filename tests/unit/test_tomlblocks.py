"""Tables taken out of a TOML text: only those, and every other byte stays."""

from __future__ import annotations

import tomllib

import pytest

from ringfence.agents.tomlblocks import drop_empty, drop_tables

STATE = ("hooks", "state")
OURS = '[hooks.state."/w/.codex/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\nenabled = true\n'
TEXTS = {
    "alone": ("[hooks.state]\n\n" + OURS, ""),
    "at the end": (
        '# mine\nmodel = "x"   # keep\n\n[hooks.state]\n\n' + OURS,
        '# mine\nmodel = "x"   # keep\n',
    ),
    "in the middle": ("a = 1\n\n" + OURS + "\n[z]\nb = 2\n", "a = 1\n\n[z]\nb = 2\n"),
    "beside another's": (
        "[hooks.state]\n\n" + OURS + '\n[hooks.state."/other:0"]\ntrusted_hash = "x"\n',
        '[hooks.state]\n\n[hooks.state."/other:0"]\ntrusted_hash = "x"\n',
    ),
    "a header inside a string": ('a = """\n' + OURS + '"""\n', 'a = """\n' + OURS + '"""\n'),
    "a header inside an array": ("a = [\n[1],\n]\n[b]\nc = 1\n", "a = [\n[1],\n]\n[b]\nc = 1\n"),
    "nothing of ours": ("[hooks.state]\n[projects.x]\n", "[projects.x]\n"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_left(name):
    text, left = TEXTS[name]
    tomllib.loads(text)
    made = drop_tables(text, lambda keys: keys[:2] == STATE and len(keys) == 3 and keys[2].startswith("/w/"))
    made = drop_empty(made, STATE)
    assert made == left
    tomllib.loads(made)
