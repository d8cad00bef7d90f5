"""Laws of every reader: whatever the bytes, no exception, only records, numbers in order, blocks do not show; and a
sound input with damage in it still gives every record before the damage."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringfence.proposals import CallProposal, CommandProposal, LoggedDecision, Malformed, PathProposal
from ringfence.readers.formats import FORMATS, detect
from ringfence.readers.options import Options
from ringfence.readers.tree_listing import Listed, read_tree
from tests.unit.test_reader_diff import TABLE
from tests.unit.test_readers import BSD, MEMBERS, PATCH, UNZIP, ZIPINFO, tar_of, zip_of

DATA = Path(__file__).parents[1] / "data" / "transcripts"
RECORDS = (PathProposal, CommandProposal, CallProposal, LoggedDecision, Malformed)
BLOCKS = [name for name, row in FORMATS.items() if row.takes == "blocks"]
FILES = [name for name, row in FORMATS.items() if row.takes == "file"]
SEEDS = {
    "lines": b"a\nb\r\n\xff\n",
    "nul": b"a\0b\nc\0",
    "jsonl": b'{"path": "a"}\n{"command": "ls"}\n{"tool_name": "x", "tool_input": {}}\n',
    "json": b'[{"path": "a"}, {"verdict": "deny", "path": "x"}]',
    "diff": "".join(text for text, _ in TABLE.values()).encode(),
    "apply-patch": PATCH,
    "tar-list": BSD + b"lrwxrwxrwx r/r 0 2026-12-01 01:00 a -> b\n",
    "zip-list": ZIPINFO + UNZIP,
    "claude": (DATA / "claude.jsonl").read_bytes(),
    "codex": (DATA / "codex-code.jsonl").read_bytes(),
    "gemini": (DATA / "gemini.jsonl").read_bytes(),
    "gemini-json": b'{"sessionId": "s", "messages": [{"type": "gemini", "toolCalls": [{"name": "x", "args": {}}]}]}',
    "opencode-json": b'{"info": {"id": "s"}, "messages": [{"info": {}, "parts": [{"type": "tool", "state": {}}]}]}',
    "pi": (DATA / "pi.jsonl").read_bytes(),
    "tar": tar_of(MEMBERS),
    "zip": zip_of([("a", 0, "x"), ("l", 0o120777, "/etc")]),
}
MARKS = [b"\n", b"\0", b'"', b"{", b"}", b"[", b"\\", b"--- ", b"+++ ", b"@@ ", b"*** ", b"diff --git ", b" -> ", b"\xff",
         b"null", b"120000", b"\r", b"9" * 30, b'"toolCalls": 3', b'"content": {}', b"\xed\xa0\x80"]  # fmt: skip


@st.composite
def damaged(draw, name):
    """A seed with pieces cut out, doubled, and put in."""
    data = SEEDS[name]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 60)))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            data = data[:at] + data[end:]
        elif kind == 1:
            data = data[:at] + draw(st.sampled_from(MARKS)) + data[at:]
        elif kind == 2:
            data = data[:end] + data[at:]
        else:
            data = data[:at]
    return data


def lawful(name, records):
    last = 0
    for record in records:
        assert isinstance(record, RECORDS), record
        assert record.source == "x"
        assert isinstance(record.line, int)
        if name != "diff" and record.line:  # a diff's file is told when it ends
            assert record.line >= last, record
            last = record.line


@pytest.mark.parametrize("name", BLOCKS)
def test_streams(name):
    @settings(max_examples=60, deadline=None)
    @example(data=SEEDS[name], size=7)
    @given(data=st.one_of(damaged(name), st.binary(max_size=300)), size=st.sampled_from([1, 3, 17, 500]))
    def law(data, size):
        whole = list(FORMATS[name].read("x", [data], Options()))
        lawful(name, whole)
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        assert list(FORMATS[name].read("x", parts, Options())) == whole
        assert detect(data) in FORMATS

    law()


@pytest.mark.parametrize("name", FILES)
def test_archives(name):
    @settings(max_examples=60, deadline=None)
    @example(data=SEEDS[name])
    @given(data=st.one_of(damaged(name), st.binary(max_size=300)))
    def law(data):
        found = list(FORMATS[name].read("x", io.BytesIO(data), Options()))
        lawful(name, found)
        assert found or name == "zip"
        if data and data != SEEDS[name] and not data.startswith(SEEDS[name][:1]):
            assert isinstance(found[-1], Malformed)

    law()


@settings(max_examples=100, deadline=None)
@given(data=st.one_of(damaged("tar-list"), damaged("lines"), st.binary(max_size=200)))
def test_tree_listings(data):
    for item in read_tree("x", [data]):
        assert isinstance(item, Listed | Malformed)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.one_of(
            st.fixed_dictionaries({"path": st.text(max_size=20)}),
            st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                         lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)),
            st.dictionaries(st.sampled_from(["path", "paths", "op", "cwd", "command", "verdict", "agent", "event", "args"]),
                            st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)),
        ),
        max_size=8,
    )
)  # fmt: skip
def test_json_values(rows):
    """Each line gives at least one record, and none of another line's."""
    data = "\n".join(json.dumps(row) for row in rows).encode()
    found = list(FORMATS["jsonl"].read("x", [data], Options()))
    wanted = {n for n, row in enumerate(rows, 1) if row != {"paths": []}}
    assert {record.line for record in found} == wanted
