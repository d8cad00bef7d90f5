"""One policy file: what is taken, and the exact message for what is not."""

from __future__ import annotations

import pytest

from ringfence.errors import PolicyError
from ringfence.policy.read import MAX_BYTES, read
from ringfence.policy.texts import Layer

FILE = "/ws/ringfence.toml"


def take(text, *, layer=Layer.PROJECT, home="/home/dev"):
    content = text if isinstance(text, bytes) else text.encode()
    return read(content, FILE, "/ws", home, layer, False)


def test_everything_at_once():
    out = take(
        'workspace = [".", "sub"]\n'
        'protect = ["../main", "~/keep"]\n'
        'reads = "anywhere"\n'
        "strict = true\n"
        'unguard = ["husky"]\n'
        "[[zone]]\n"
        'path = "~/.cache/pip"\n'
        'access = "write"\n'
        "[[zone]]\n"
        'access = "none"\n'
        'path = "src/**/secret/*.pem"\n'
        "[[test]]\n"
        'path = "x"\n'
        'op = "write"\n'
        'expect = "deny"\n'
        'cwd = "sub"\n'
    )
    assert [(t.text, t.spelled, t.place.line) for t in out.workspace] == [
        (".", "/ws/.", 1),
        ("sub", "/ws/sub", 1),
    ]
    assert [t.spelled for t in out.protect] == ["/ws/../main", "/home/dev/keep"]
    assert [(w.key, w.value, str(w.place)) for w in out.words] == [
        ("reads", "anywhere", f"{FILE}:3"),
        ("strict", "true", f"{FILE}:4"),
    ]
    assert [(guard, place.column) for guard, place in out.unguard] == [("husky", 12)]
    cache, secret = out.zones
    assert (cache.path.spelled, cache.access, cache.parts, cache.place.line) == (
        "/home/dev/.cache/pip",
        "write",
        (),
        7,
    )
    assert (secret.path.spelled, secret.deep, secret.parts, secret.place.line) == (
        "/ws/src",
        True,
        ("secret", "*.pem"),
        11,
    )
    (test,) = out.tests
    assert (test.path, test.op, test.expect, test.cwd, test.place.line) == (
        "x",
        "write",
        "deny",
        "/ws/sub",
        13,
    )


MALFORMED = [
    # keys
    ("reeds = 1", ':1:1: unknown key "reeds"; did you mean "reads"?'),
    (
        "zzz = 1",
        (
            ':1:1: unknown key "zzz"; one of: workspace, protect, reads, shell_reads, opaque, unattended, minimum,'
            " strict, temp, caches, git_config, unguard, zone, test"
        ),
    ),
    ('\n  "work space" = []', ':2:3: unknown key "work space"; did you mean "workspace"?'),
    ('[zones]\npath = "x"', ':1:2: unknown key "zones"; did you mean "zone"?'),
    ('workspace.a = "x"', ":1:1: workspace takes an array of paths, not a table"),
    # types
    ('workspace = "."', ':1:1: workspace takes an array of paths, not text\n  write workspace = ["."]'),
    ("protect = [1]", ":1:12: protect takes an array of paths; this one is a number"),
    ('protect = ["a", ["b"]]', ":1:17: protect takes an array of paths; this one is an array"),
    ("protect = true", ":1:1: protect takes an array of paths, not true or false"),
    ("protect = 1979-05-27", ":1:1: protect takes an array of paths, not a date or time"),
    ("workspace = []", ":1:1: workspace names no tree\n  name at least one tree, or leave the key out"),
    ("reads = true", ':1:1: reads takes "workspace", "anywhere", not true or false'),
    ('strict = "yes"', ":1:1: strict takes true or false, not text"),
    ("strict = 1", ":1:1: strict takes true or false, not a number"),
    ('zone = "x"', ":1:1: zone is an array of tables\n  write [[zone]]"),
    ('[zone]\npath = "x"', ":1:2: zone is an array of tables\n  write [[zone]]"),
    ("zone = [1]", ":1:1: zone is an array of tables\n  write [[zone]]"),
    # words
    ('reads = "anywere"', ':1:1: reads = "anywere" is not known; did you mean "anywhere"?'),
    ('reads = "Anywhere"', ':1:1: reads = "Anywhere" is not known; did you mean "anywhere"?'),
    ('opaque = "maybe"', ':1:1: opaque = "maybe" is not known; one of: deny, ask, allow'),
    ('unattended = "ask"', ':1:1: unattended = "ask" is not known; one of: deny, allow'),
    ('minimum = "kernal"', ':1:1: minimum = "kernal" is not known; did you mean "kernel"?'),
    ('temp = "open"', ':1:1: temp = "open" is not known; one of: none, private, shared'),
    ('unguard = ["git_hooks"]', ':1:12: unknown guard "git_hooks"; did you mean "git-hooks"?'),
    ('unguard = "husky"', ':1:1: unguard takes an array of guard ids, not text\n  write unguard = ["husky"]'),
    # tables
    ('[[zone]]\npath = "x"', ':1:1: [[zone]] needs "access": what the zone grants below its root'),
    (
        '[[zone]]\naccess = "read"',
        ':1:1: [[zone]] needs "path": a path, or a pattern: `**/` any depth, `*` and `?` within a component',
    ),
    ('[[zone]]\npath = "x"\naccess = "wrte"', ':3:1: access = "wrte" is not known; did you mean "write"?'),
    ('[[zone]]\npath = "x"\nacces = "read"', ':3:1: unknown key "acces" in [[zone]]; did you mean "access"?'),
    ('[[zone]]\npath = ["x"]\naccess = "read"', ":2:1: path in [[zone]] takes text, not an array"),
    (
        'zone = [{path = "x", access = "all"}]',
        ':1:22: access = "all" is not known; one of: none, read, write',
    ),
    (
        '[[test]]\npath = "x"\nop = "execute"\nexpect = "deny"',
        ':3:1: op = "execute" is not known; did you mean "delete"?',
    ),
    (
        '[[test]]\npath = "x"\nop = "read"\nexpect = "no"',
        ':4:1: expect = "no" is not known; one of: deny, ask, allow',
    ),
    # paths
    ('protect = [""]', ':1:12: the path is empty\n  write "." for the folder itself'),
    ('protect = ["a\\u0000b"]', ":1:12: the path holds a NUL or a line break"),
    (
        'protect = ["$HOME/x"]',
        ':1:12: variables are not expanded: "$HOME/x"\n  write "~/..." or the whole path',
    ),
    ('protect = ["file:///x"]', ':1:12: this is a URL, not a path: "file:///x"'),
    ('protect = ["https://x/y"]', ':1:12: this is a URL, not a path: "https://x/y"'),
    ('protect = [" x"]', ':1:12: the path begins or ends with a blank: " x"'),
    (
        'protect = ["~root/x"]',
        (
            ':1:12: only your own home can be written with a tilde: "~root/x"\n  write "~/..." for your own home,'
            ' the whole path for another, "./~..." for a name with a tilde'
        ),
    ),
    (
        'protect = ["**/x"]',
        ':1:12: protect takes no patterns: "**/x"\n  name the tree itself, or write the pattern as a [[zone]]',
    ),
    (
        'workspace = ["pkg/*"]',
        ':1:14: workspace takes no patterns: "pkg/*"\n  name the tree itself, or write the pattern as a [[zone]]',
    ),
    # patterns
    (
        '[[zone]]\npath = "a/x**/b"\naccess = "none"',
        ':2:1: "**" must stand alone between slashes: "a/x**/b"\n  write "src/**/x.pem"',
    ),
    (
        '[[zone]]\npath = "**/a/**/b/**/c"\naccess = "none"',
        ':2:1: "**" stands more than 2 times in "**/a/**/b/**/c"',
    ),
    ('[[zone]]\npath = "*/../b"\naccess = "none"', ':2:1: ".." may not follow a wildcard: "*/../b"'),
    (
        '[[zone]]\npath = "**"\naccess = "none"',
        ':2:1: "**" names a whole tree\n  write the tree itself, "." or "/"',
    ),
    (
        '[[zone]]\npath = ".env.{a,b}"\naccess = "none"',
        ':2:1: braces are not expanded: ".env.{a,b}"\n  write one [[zone]] for each',
    ),
    (
        '[[zone]]\npath = "*.[ch]"\naccess = "none"',
        ':2:1: a pattern has no [...] sets: "*.[ch]"\n  write one [[zone]] for each',
    ),
    (
        '[[zone]]\npath = "' + "*/" * 17 + 'x"\naccess = "none"',
        ':2:1: more than 16 components after the first wildcard: "' + "*/" * 17 + 'x"',
    ),
    # doubles
    (
        'workspace = [".", "./"]',
        ':1:19: "./" stands here as workspace and in line 1 as workspace\n  keep one of the two',
    ),
    (
        'workspace = ["a"]\nprotect = ["./a"]',
        ':2:12: "./a" stands here as protect and in line 1 as workspace\n  keep one of the two',
    ),
    (
        '[[zone]]\npath = "a"\naccess = "none"\n[[zone]]\npath = "a/"\naccess = "write"',
        (
            ':5:1: "a/" stands here as [[zone]] with access "write" and in line 2 as [[zone]] with access "none"'
            "\n  keep one of the two"
        ),
    ),
    (
        '[[zone]]\npath = "**/a"\naccess = "none"\n[[zone]]\npath = "**/a"\naccess = "none"',
        (
            ':5:1: "**/a" stands here as [[zone]] with access "none" and in line 2 as [[zone]] with access "none"'
            "\n  keep one of the two"
        ),
    ),
    # not TOML, not text
    ("reads = ", ":1:9: not valid TOML: Invalid value"),
    ('a = 1\nreads = "x', ":2:11: not valid TOML: Unterminated string"),
    ('reads = "a"\nreads = "b"', ":2:12: not valid TOML: Cannot overwrite a value"),
    ("x = 1979-02-30", ":1:5: not valid TOML: Invalid date or datetime"),
    ("\ufeffreads = 1", ":1:1: the file begins with a byte order mark\n  save it as UTF-8 without one"),
    (b'# \xc3\xa9\nreads = "\xff"', ":2:10: byte 0xff is not UTF-8\n  save the file as UTF-8"),
    ("x = " + "[" * 100_000, ": arrays or tables nest too deeply"),
    (b"#" * (MAX_BYTES + 1), f": the file is larger than {MAX_BYTES} bytes"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_file_is_an_exact_message(text, message):
    with pytest.raises(PolicyError) as caught:
        take(text)
    assert str(caught.value) == FILE + message
    assert caught.value.exit_code == 2


def test_a_tilde_needs_a_home():
    with pytest.raises(PolicyError) as caught:
        take('protect = ["~/x"]', home=None)
    assert str(caught.value) == f'{FILE}:1:12: "~/x" needs a home folder and HOME is not set to one'


def test_a_leading_double_star_means_here_in_a_project_and_anywhere_in_a_users_file():
    text = '[[zone]]\npath = "**/.env"\naccess = "none"\n'
    assert take(text).zones[0].path.spelled == "/ws/."
    assert take(text, layer=Layer.USER).zones[0].path.spelled == "/."
    assert take(text.replace("**/", "./**/"), layer=Layer.USER).zones[0].path.spelled == "/ws/."


def test_a_users_pattern_may_not_grant_writing_anywhere():
    text = '[[zone]]\npath = "**/target"\naccess = "write"\n'
    assert take(text).zones[0].access == "write"
    with pytest.raises(PolicyError) as caught:
        take(text, layer=Layer.USER)
    assert str(caught.value) == (
        f'{FILE}:2:1: "**/target" would grant writing anywhere on the machine\n'
        '  begin the pattern with the tree it is for, as in "~/src/**/target"'
    )


def test_characters_that_only_look_special_are_ordinary():
    out = take('protect = ["app/[slug]", "a{b}", "x$y", "a b", "./~x", "./$HOME"]')
    assert [text.spelled for text in out.protect] == [
        "/ws/app/[slug]",
        "/ws/a{b}",
        "/ws/x$y",
        "/ws/a b",
        "/ws/./~x",
        "/ws/./$HOME",
    ]


def test_an_empty_file_says_nothing():
    out = take("")
    assert (out.workspace, out.protect, out.zones, out.words, out.unguard, out.tests) == ((),) * 6
