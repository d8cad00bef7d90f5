"""Readers of lists, JSON, envelopes and archives: tables of input and records."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import tarfile
import zipfile

import pytest

from ringfence.model import Op
from ringfence.proposals import CallProposal, CommandProposal, LoggedDecision, Malformed, PathProposal
from ringfence.readers import archive, lines, listing
from ringfence.readers.envelope import read_envelope
from ringfence.readers.formats import FORMATS, detect
from ringfence.readers.jsonlines import read_document, read_jsonlines
from ringfence.readers.options import Options
from ringfence.readers.quoted import QuoteError, take_quoted, unescape

OPTIONS = Options()


def uses(records):
    """(line, op, path) of each path, ("!", line) of each malformed record."""
    return [
        ("!", r.line) if isinstance(r, Malformed) else (r.line, r.op.value, r.path)
        for r in records
        if isinstance(r, Malformed | PathProposal)
    ]


def split(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


# --- lists ---------------------------------------------------------------------------------------------


def test_lines():
    data = b"a\n\n b \r\n\xff\xfe\n..\nlast"
    found = list(lines.read_lines("x", [data], OPTIONS))
    assert uses(found) == [
        (1, "write", "a"),
        (3, "write", " b "),
        (4, "write", "\udcff\udcfe"),
        (5, "write", ".."),
        (6, "write", "last"),
    ]


def test_nul_keeps_every_byte():
    found = list(lines.read_nul("x", [b"a\nb\0\0c\r\0"], Options(op=Op.DELETE)))
    assert uses(found) == [(1, "delete", "a\nb"), (2, "delete", ""), (3, "delete", "c\r")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_do_not_show(size):
    data = b"one\ntwo\n\nthree\xc3\xa4\nfour"
    assert list(lines.read_lines("x", split(data, size), OPTIONS)) == list(
        lines.read_lines("x", [data], OPTIONS)
    )


def test_a_line_without_end_is_skipped_and_told():
    data = b"a\n" + b"x" * 200_000 + b"\nb\n"
    assert uses(lines.read_lines("x", split(data, 4096), OPTIONS)) == [
        (1, "write", "a"),
        ("!", 2),
        (3, "write", "b"),
    ]
    assert uses(lines.read_lines("x", split(b"a\n" + b"x" * 200_000, 4096), OPTIONS))[-1] == ("!", 2)


# --- JSON ----------------------------------------------------------------------------------------------

ROWS = [
    ('{"path": "a"}', [PathProposal("x", 1, Op.WRITE, "a")]),
    ('{"path": ""}', [PathProposal("x", 1, Op.WRITE, "")]),
    ('{"path": "a", "op": "delete", "cwd": "/w", "agent": "me"}', [PathProposal("x", 1, Op.DELETE, "a", "/w", "me")]),
    ('{"paths": ["a", "b"], "op": "read"}', [PathProposal("x", 1, Op.READ, "a"), PathProposal("x", 1, Op.READ, "b")]),
    ('{"command": "ls", "shell": "zsh"}', [CommandProposal("x", 1, "ls", "", "zsh")]),
    ('{"path": "a", "command": "ls"}', [PathProposal("x", 1, Op.WRITE, "a"), CommandProposal("x", 1, "ls")]),
    (
        '{"door": "hook", "verdict": "deny", "code": "outside.write", "op": "write", "path": "/e"}',
        [LoggedDecision("x", 1, "deny", "outside.write", Op.WRITE, "/e")],
    ),
    ('{"tool_name": "Write", "tool_input": {}, "tool_use_id": "t1"}', "call"),
    ('{"agent": "pi", "event": {"toolName": "bash"}}', "call"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), ROWS, ids=range(len(ROWS)))
def test_json_rows(text, wanted):
    found = list(read_jsonlines("x", [text.encode()], OPTIONS))
    if wanted == "call":
        assert [type(f) for f in found] == [CallProposal]
        assert found[0].payload == json.loads(text)
    else:
        assert found == wanted


BAD = [
    "{", "nonsense", "[1]", "3", '"a"', "{}", '{"path": 3}', '{"path": null}', '{"op": "write"}',
    '{"path": "a", "op": "eat"}', '{"path": "a", "op": 3}', '{"paths": "a"}', '{"paths": [1]}', '{"command": ["ls"]}',
    '{"command": "ls", "shell": "fish"}', '{"path": "a", "cwd": 1}', '{"verdict": "maybe", "path": "a"}',
    '{"verdict": "deny"}', '{"path": "a", "agent": {}}', "[" * 100_000, '{"a":' * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_json_rows_are_told_and_the_next_is_read(text):
    data = f'{text}\n{{"path": "after"}}\n'.encode()
    found = list(read_jsonlines("x", [data], OPTIONS))
    assert uses(found) == [("!", 1), (2, "write", "after")]


def test_documents():
    assert uses(read_document("x", [b'[{"path": "a"}, 3,\n {"path": "b"}]'], OPTIONS)) == [
        (1, "write", "a"),
        ("!", 2),
        (3, "write", "b"),
    ]
    assert uses(read_document("x", [b'{"path":\n"a"}'], OPTIONS)) == [(1, "write", "a")]
    assert uses(read_document("x", [b'{"path":'], OPTIONS)) == [("!", 0)]


# --- envelopes -----------------------------------------------------------------------------------------

PATCH = b"""apply_patch <<'EOF'
*** Begin Patch
*** Add File: new.py
+*** Delete File: not-a-header
*** Update File: old.py
*** Move to: ../moved.py
@@
-x
+y
 *** Add File: blank before
*** Delete File: gone
*** End of File
*** End Patch
EOF
"""


def test_envelope():
    assert uses(read_envelope("x", [PATCH], OPTIONS)) == [
        (3, "create", "new.py"),
        (5, "write", "old.py"),
        (6, "rename", "old.py"),
        (6, "create", "../moved.py"),
        (10, "create", "blank before"),
        (11, "delete", "gone"),
    ]


def test_envelopes_as_the_widest_reader_takes_them():
    text = b"***begin patch\n***Add File:a\n+x\n  ***  UPDATE FILE : b \n***Move to:../c\n***End Patch\n"
    assert detect(text) == "apply-patch"
    assert uses(read_envelope("x", [text], OPTIONS)) == [
        (2, "create", "a"),
        (4, "write", "b"),
        (5, "rename", "b"),
        (5, "create", "../c"),
    ]


@pytest.mark.parametrize("name", ["a", "src/b c", "../d"])
def test_envelopes_and_the_decoder_of_the_agents_name_the_same(name):
    from ringfence.agents.patches import patch_uses

    text = f"*** Begin Patch\n*** Add File: {name}\n+x\n*** Update File: u\n*** Move to: {name}2\n*** Delete File: {name}3\n*** End Patch\n"
    ours = {r.path for r in read_envelope("x", [text.encode()], OPTIONS)}
    assert ours == {use.path for use in patch_uses("codex", "apply_patch", text)}


def test_a_byte_order_mark_is_no_part_of_a_name():
    data = b"\xef\xbb\xbf/etc/x\n\xef\xbb\xbfb\n"
    for size in (1, 2, 100):
        assert uses(lines.read_lines("x", split(data, size), OPTIONS)) == [
            (1, "write", "/etc/x"),
            (2, "write", "\ufeffb"),
        ]
    assert uses(read_jsonlines("x", [b'\xef\xbb\xbf{"path": "a"}'], OPTIONS)) == [(1, "write", "a")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"*** Begin Patch\n*** Add File: a\n", [(2, "create", "a"), ("!", 3)]),
        (b"*** Add File: a\n", [(1, "create", "a"), ("!", 1)]),
        (b"*** Begin Patch\n*** Fold File: a\n*** End Patch\n", [("!", 2)]),
        (b"*** Begin Patch\n*** Move to: b\n*** End Patch\n", [(2, "create", "b"), ("!", 2)]),
        (b"*** End Patch\n", [("!", 1)]),
    ],
)
def test_broken_envelopes(text, wanted):
    found = uses(read_envelope("x", [text], OPTIONS))
    assert [f if f[0] != "!" else "!" for f in found] == [w if w[0] != "!" else "!" for w in wanted]


# --- archives and their listings -----------------------------------------------------------------------


def tar_of(members):
    """A tar as bytes: (name, kind, target)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as made:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = target
            info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
            made.addfile(info)
    return out.getvalue()


MEMBERS = [
    ("d", tarfile.DIRTYPE, ""),
    ("d/a b", tarfile.REGTYPE, ""),
    ("/abs", tarfile.REGTYPE, ""),
    ("../up", tarfile.REGTYPE, ""),
    ("l", tarfile.SYMTYPE, "/etc"),
    ("l/passwd", tarfile.REGTYPE, ""),
    ("d/rel", tarfile.SYMTYPE, "../../out"),
    ("d/rel/x", tarfile.REGTYPE, ""),
    ("h", tarfile.LNKTYPE, "/etc/shadow"),
    ("h", tarfile.REGTYPE, ""),
]
WANTED = [
    (1, "create", "d"),
    (2, "create", "d/a b"),
    (3, "create", "/abs"),
    (4, "create", "../up"),
    (5, "rename", "l"),
    (6, "create", "l/passwd"),
    (6, "create", "/etc/passwd"),
    (7, "rename", "d/rel"),
    (8, "create", "d/rel/x"),
    (8, "create", "d/../../out/x"),
    (9, "create", "h"),
    (9, "link", "/etc/shadow"),
    (10, "create", "h"),
    (10, "create", "/etc/shadow"),
]


def test_tar():
    assert uses(archive.read_tar("x", io.BytesIO(tar_of(MEMBERS)), OPTIONS)) == WANTED


@pytest.mark.parametrize("cut", [600, 1500, 2600])
def test_a_tar_that_is_cut_short(cut):
    import gzip

    whole = gzip.compress(tar_of(MEMBERS))
    found = uses(archive.read_tar("x", io.BytesIO(whole[: len(whole) // 2]), OPTIONS))
    assert found[-1][0] == "!"
    found = uses(archive.read_tar("x", io.BytesIO(tar_of(MEMBERS)[:cut] + b"garbage" * 300), OPTIONS))
    assert found[-1][0] == "!"
    assert found[:-1] == WANTED[: len(found) - 1]


def test_tar_listings_say_the_same(tmp_path):
    """What GNU tar prints about the archive is read to the same records. Its own view of names: `d/` for a folder."""
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(MEMBERS))
    done = subprocess.run(
        ["tar", "-tvPf", path],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
    )
    assert detect(done.stdout) == "tar-list"
    assert uses(listing.read_tar_listing("x", [done.stdout], OPTIONS)) == WANTED


def test_odd_names_in_tar_listings(tmp_path):
    names = ["tab\there", "new\nline", "back\\slash", "\udcff\udcfe", "ä", "q\"uote'"]
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of([(name, tarfile.REGTYPE, "") for name in names]))
    for locale in ("C", "C.UTF-8"):
        env = {"LC_ALL": locale, "PATH": os.environ["PATH"]}
        done = subprocess.run(["tar", "-tvf", path], capture_output=True, check=True, env=env)
        found = [r.path for r in listing.read_tar_listing("x", [done.stdout], Options(path="a.tar"))]
        assert found == names


BSD = b"""-rw-r--r--  0 root   root        5 Dec  1 01:00 a b
lrwxr-xr-x  0 root   root        0 Jan  1  2024 l -> /etc
hrw-r--r--  0 root   root        0 Dec  1 01:00 h link to a b
-rw-r--r--  0 root   root        0 Dec  1 01:00 l/x
"""


def test_bsd_listing():
    assert uses(listing.read_tar_listing("x", [BSD], OPTIONS)) == [
        (1, "create", "a b"),
        (2, "rename", "l"),
        (3, "create", "h"),
        (3, "link", "a b"),
        (4, "create", "l/x"),
        (4, "create", "/etc/x"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "lrwxrwxrwx r/r 0 2026-12-01 01:00 a -> b -> c",
        "lrwxrwxrwx r/r 0 2026-12-01 01:00 a",
        "hrw-r--r-- r/r 0 2026-12-01 01:00 a",
        "?rw-r--r-- r/r 0 2026-12-01 01:00 a",
        "-rw-r--r-- r/r 0 2026-12-01 01:00 a\\q",
        "something else",
    ],
)
def test_listing_lines_that_cannot_be_read(line):
    after = "\n-rw-r--r-- r/r 0 2026-12-01 01:00 after\n"
    assert uses(listing.read_tar_listing("x", [(line + after).encode()], OPTIONS)) == [
        ("!", 1),
        (2, "create", "after"),
    ]


def zip_of(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, mode, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            made.writestr(info, content)
    return out.getvalue()


def test_zip():
    data = zip_of(
        [
            ("d/", stat.S_IFDIR | 0o755, ""),
            ("d/ä", stat.S_IFREG | 0o644, "x"),
            ("/abs", stat.S_IFREG, ""),
            ("../up", stat.S_IFREG, ""),
            ("l", stat.S_IFLNK | 0o777, "/etc"),
            ("l/passwd", stat.S_IFREG, ""),
            ("win\\..\\..\\x", stat.S_IFREG, ""),
            ("big", stat.S_IFLNK | 0o777, "y" * 10_000),
        ]
    )
    assert uses(archive.read_zip("x", io.BytesIO(data), OPTIONS)) == [
        (1, "create", "d"),
        (2, "create", "d/ä"),
        (3, "create", "/abs"),
        (4, "create", "../up"),
        (5, "rename", "l"),
        (6, "create", "l/passwd"),
        (6, "create", "/etc/passwd"),
        (7, "create", "win\\..\\..\\x"),
        (7, "create", "win/../../x"),
        ("!", 8),
    ]
    assert uses(archive.read_zip("x", io.BytesIO(data[:-30]), OPTIONS)) == [("!", 1)]


ZIPINFO = b"""Archive:  x.zip
Zip file size: 300 bytes, number of entries: 2
-rw-r--r--  3.0 unx        5 tx stor 26-Dec-01 01:00 a b.txt
lrwxrwxrwx  3.0 unx        4 bx stor 26-Dec-01 01:00 l
2 files, 9 bytes uncompressed, 9 bytes compressed:  0.0%
"""
UNZIP = b"""Archive:  x.zip
  Length      Date    Time    Name
---------  ---------- -----   ----
        5  2026-12-01 01:00   a b.txt
        0  2026-12-01 01:00   d/
---------                     -------
        5                     2 files
"""


def test_zip_listings():
    assert detect(ZIPINFO) == detect(UNZIP) == "zip-list"
    assert uses(listing.read_zip_listing("x", [ZIPINFO], OPTIONS)) == [(3, "create", "a b.txt"), ("!", 4)]
    assert uses(listing.read_zip_listing("x", [UNZIP], OPTIONS)) == [
        (4, "create", "a b.txt"),
        (5, "create", "d"),
    ]


# --- names with escapes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        (r"a\tb", "a\tb"),
        (r"\303\244", "ä"),
        (r"\377", "\udcff"),
        (r"q\"\\", 'q"\\'),
        (r"\n\a\b\v\f\r", "\n\a\b\v\f\r"),
    ],
)
def test_unescape(text, wanted):
    assert unescape(text) == wanted


@pytest.mark.parametrize("text", [r"\q", "\\", r"\8", r"\777"])
def test_unknown_escapes(text):
    with pytest.raises(QuoteError):
        unescape(text)


def test_take_quoted():
    assert take_quoted(r'"a\"b" rest') == ('a"b', " rest")
    with pytest.raises(QuoteError):
        take_quoted('"open')


# --- telling them apart --------------------------------------------------------------------------------

HEADS = {
    "lines": [b"", b"a\nb\n", b"src/x.py", b"-rw weird", b"--- a\nb\n", b"# comment\n"],
    "nul": [b"a\0b\0"],
    "jsonl": [
        b'{"path": "a"}\n',
        b'{"command": "ls"}\n{"path": "b"}',
        b'{"hook_event_name": "PreToolUse"}',
        b'{"time": 1, "door": "hook", "verdict": "deny", "path": "/x"}\n',
        b'{"unknown": 1}\n',
        b"{not json",
    ],
    "json": [b'{\n "path": "a"\n}\n', b'[{"path": "a"}]', b'[\n{"path": "a"}]'],
    "diff": [
        b"diff --git a/x b/x\n",
        b"From 1234 Mon\nSubject: x\n\n---\n x | 1 +\n\ndiff --git a/x b/x\n",
        b"--- a\n+++ b\n@@ -1 +1 @@\n",
        b"*** a\n--- b\n***************\n*** 1 ****\n",
        b"some words\n\n--- a/x\n+++ b/x\n",
    ],
    "apply-patch": [PATCH, b"*** Begin Patch\n"],
    "tar-list": [BSD, b"drwxr-xr-x root/root 0 2026-12-01 01:00 d/\n"],
    "zip-list": [ZIPINFO, UNZIP],
    "tar": [b"\x1f\x8b\x08rest", b"\0" * 257 + b"ustar\0", b"BZh9", b"\xfd7zXZ\x00"],
    "zip": [zip_of([("a", 0, "")]), zip_of([])],
    "opencode": [b"SQLite format 3\x00"],
}


@pytest.mark.parametrize(("name", "head"), [(n, h) for n, heads in HEADS.items() for h in heads])
def test_detect(name, head):
    assert detect(head) == name
    assert name in FORMATS
