"""Which changes of `.git/config` everyday git makes, and which can name code. Parsed values are git's own."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringfence.policy.git_config import forbidden, may_write, parse

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

TEXTS = {
    "nothing": b"",
    "a section": b"[core]\n\tbare = false\n",
    "on one line": b"[core] bare = false\n",
    "upper case": b"[CORE]\n\tBare = TRUE\n",
    "a subsection": b'[remote "Or Igin"]\n\turl = x\n',
    "the old form": b"[branch.Main]\n\tmerge = x\n",
    "quotes and escapes": b'[user]\n\tname = "a # b" c\\t\\"d\\" ; comment\n',
    "a continued line": b"[user]\n\tname = a \\\n  b\n",
    "an escaped backslash at the end": b"[user]\n\tname = a\\\\\n\temail = b\n",
    "no value": b"[core]\n\tbare\n",
    "an empty value": b"[user]\n\tname =\n",
    "two values": b'[remote "o"]\n\tfetch = a\n\tfetch = b\n',
    "comments": b"# c\n; d\n[user] # e\n\tname = x # f\n",
    "CRLF": b"[user]\r\n\tname = x\r\n",
    "escapes in a subsection": b'[remote "a\\"b\\\\c"]\n\turl = x\n',
    "blanks inside": b"[user]\n\tname =   a  b   \n",
    "an equals sign in the value": b"[alias]\n\tx = a=b\n",
    "a section twice": b"[user]\n\tname = a\n[core]\n\tbare = true\n[user]\n\temail = b\n",
}  # fmt: skip
REFUSED = {
    "an open section": b"[user\n",
    "an open quote": b'[user]\n\tname = "x\n',
    "an unknown escape": b"[user]\n\tname = a\\qb\n",
    "a key with a blank": b"[user]\n\tfull name = x\n",
    "a key with an underscore": b"[user]\n\ta_b = x\n",
}


def _by_git(path: str, content: bytes) -> dict[str, tuple[str, ...]] | None:
    with open(path, "wb") as file:
        file.write(content)
    done = subprocess.run(
        ["git", "config", "--no-includes", "-f", path, "--list", "-z"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
        timeout=60,
    )
    if done.returncode:
        return None
    found: dict[str, list[str]] = {}
    for entry in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, newline, value = entry.partition("\n")
        found.setdefault(key, []).append(value if newline else "true")
    return {key: tuple(values) for key, values in found.items()}


@needs_git
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_read_is_what_git_reads(tmp_path, name):
    expected = _by_git(str(tmp_path / "config"), TEXTS[name])
    assert expected is not None, "the row itself is wrong"
    assert parse(TEXTS[name]) == expected


@needs_git
@pytest.mark.parametrize("name", REFUSED)
def test_what_git_refuses_is_refused(tmp_path, name):
    assert _by_git(str(tmp_path / "config"), REFUSED[name]) is None, "the row itself is wrong"
    assert parse(REFUSED[name]) is None


# Read by git and refused here: the stricter reading, for texts that git itself never writes.
ODD = {"no section": b"name = x\n"}


@needs_git
@pytest.mark.parametrize("name", ODD)
def test_what_git_never_writes_is_refused(tmp_path, name):
    assert _by_git(str(tmp_path / "config"), ODD[name]) is not None, "the row itself is wrong"
    assert parse(ODD[name]) is None


_LINES = st.lists(
    st.sampled_from(
        [
            "[user]", "[core]", '[remote "a"]', '[remote "A b"]', "[branch.x]", "name = x", "Name=y", "bare",
            "url = ext::sh", 'name = "a;b" c', "name = a \\", "  b", "# c", "; d", "", "x = a\\nb", "fsmonitor = e",
        ]
    ),
    max_size=8,
)  # fmt: skip


@needs_git
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_LINES)
def test_no_mixture_of_lines_is_read_otherwise_than_git_reads_it(tmp_path, lines):
    content = ("\n".join(lines) + "\n").encode()
    expected = _by_git(str(tmp_path / "config"), content)
    made = parse(content)
    # Blanks at the end of a value are the one thing that git's versions differ in.
    if made is not None and expected is not None:
        assert {key: [value.rstrip() for value in values] for key, values in made.items()} == {
            key: [value.rstrip() for value in values] for key, values in expected.items()
        }


HARMLESS = [
    ("user.name", "x"),
    ("user.email", "x"),
    ("branch.main.remote", "origin"),
    ("branch.a.b/c.merge", "refs/heads/x"),
    ("remote.origin.url", "https://x.invalid/y"),
    ("remote.origin.url", "git@x.invalid:y"),
    ("remote.origin.fetch", "+refs/*:refs/*"),
    ("remote.origin.pushurl", "ssh://x.invalid/y"),
    ("core.bare", "false"),
    ("core.autocrlf", "true"),
    ("init.defaultbranch", "x"),
    ("color.ui", "x"),
    ("extensions.objectformat", "sha256"),
]
CODE = [
    ("core.fsmonitor", "./x"),
    ("core.hookspath", "x"),
    ("core.editor", "x"),
    ("core.pager", "x"),
    ("core.sshcommand", "x"),
    ("core.gitproxy", "x"),
    ("core.askpass", "x"),
    ("core.attributesfile", "x"),
    ("core.excludesfile", "x"),
    ("core.worktree", "/"),
    ("core.alternaterefscommand", "x"),
    ("alias.x", "!sh"),
    ("filter.x.clean", "x"),
    ("diff.x.textconv", "x"),
    ("diff.external", "x"),
    ("merge.x.driver", "x"),
    ("credential.helper", "x"),
    ("credential.x.helper", "x"),
    ("gpg.program", "x"),
    ("gpg.ssh.program", "x"),
    ("user.signingkey", "x"),
    ("include.path", "x"),
    ("includeif.gitdir:x.path", "x"),
    ("pager.log", "x"),
    ("sequence.editor", "x"),
    ("interactive.difffilter", "x"),
    ("remote.x.uploadpack", "x"),
    ("remote.x.receivepack", "x"),
    ("remote.x.vcs", "x"),
    ("remote.x.proxy", "x"),
    ("remote.x.url", "ext::sh -c x"),
    ("remote.x.pushurl", "ext::sh -c x"),
    ("remote.x.url", "-oProxyCommand=x"),
    ("remote.url", "x"),
    ("submodule.x.update", "!x"),
    ("submodule.x.url", "ext::sh"),
    ("url.ext::sh.insteadof", "https://"),
    ("protocol.ext.allow", "always"),
    ("extensions.worktreeconfig", "true"),
    ("uploadpack.packobjectshook", "x"),
    ("difftool.x.cmd", "x"),
    ("mergetool.x.cmd", "x"),
    ("man.x.cmd", "x"),
    ("browser.x.cmd", "x"),
    ("trailer.x.command", "x"),
    ("sendemail.smtpserver", "/x"),
    ("push.recursesubmodulescommand", "x"),
    ("tar.x.command", "x"),
    ("guitool.x.cmd", "x"),
    ("unknown.key", "x"),
    ("core", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), HARMLESS)
def test_a_key_of_everyday_git(key, value):
    assert may_write(key, value)


@pytest.mark.parametrize(("key", "value"), CODE)
def test_a_key_that_can_name_code(key, value):
    assert not may_write(key, value)


def test_only_what_changed_counts():
    planted = {"core.fsmonitor": ("./x",)}
    assert forbidden(planted, planted) == ()
    assert forbidden(planted, {**planted, "user.name": ("a",)}) == ()
    assert forbidden({}, planted) == ("core.fsmonitor",)
    assert forbidden(planted, {}) == ("core.fsmonitor",)
    assert forbidden(planted, {"core.fsmonitor": ("./y",)}) == ("core.fsmonitor",)
    assert forbidden({}, {"remote.o.url": ("https://x", "ext::sh")}) == ("remote.o.url",)
    assert forbidden({"a.b": ("1",)}, {"c.d": ("2",)}) == ("a.b", "c.d")
