"""The table of mounts and what leads out of a writable tree."""

import pytest

from ringfence.enforce.mounts_mark import stands_inside
from ringfence.enforce.mounts_plan import is_below
from ringfence.enforce.mounts_table import Mounted, any_below, parse, showing_outside

TABLE = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 254:0 /srv/a\040b /mnt/with\040blank\134slash rw - ext4 /dev/vda rw
short line
"""


def test_parse_undoes_escapes_and_skips_what_it_cannot_read():
    assert parse(TABLE) == (
        Mounted("0:21", "/", "/proc"),
        Mounted("254:0", "/", "/"),
        Mounted("254:0", "/srv/a b", "/mnt/with blank\\slash"),
    )


def test_the_kernel_s_own_table_is_read_whole():
    with open("/proc/self/mountinfo", "rb") as table:
        text = table.read()
    assert len(parse(text)) == text.count(b"\n")


ROOT = Mounted("8:1", "/", "/")
CASES = {
    "no mount inside": ([ROOT], []),
    "the root itself is a mount": ([ROOT, Mounted("8:1", "/srv/w", "/w")], []),
    "a volume seen nowhere else": ([ROOT, Mounted("0:9", "/", "/w/tmp")], []),
    "a container's volume": (
        [Mounted("0:1", "/", "/"), Mounted("8:1", "/v/w", "/w"), Mounted("8:1", "/v/n", "/w/n")],
        [],
    ),
    "the outside, bound inside": ([ROOT, Mounted("8:1", "/etc", "/w/etc")], ["/w/etc"]),
    "the whole disk, bound inside": ([ROOT, Mounted("8:1", "/", "/w/all")], ["/w/all"]),
    "a protected part of the workspace": ([ROOT, Mounted("8:1", "/w/p", "/w/q")], ["/w/q"]),
    "another part of the workspace": ([ROOT, Mounted("8:1", "/w/a", "/w/b")], []),
    "more than what is seen elsewhere": (
        [Mounted("0:1", "/", "/"), Mounted("8:1", "/d/x", "/x"), Mounted("8:1", "/d", "/w/d")],
        ["/w/d"],
    ),
    "a prefix that is no parent": ([Mounted("8:1", "/et", "/x"), Mounted("8:1", "/etc", "/w/etc")], []),
    "a deeper one of the same": (
        [ROOT, Mounted("0:9", "/", "/w/v"), Mounted("8:1", "/home", "/w/v/h")],
        ["/w/v/h"],
    ),
}


@pytest.mark.parametrize(("mounts", "leading"), CASES.values(), ids=CASES)
def test_showing_outside(mounts, leading):
    def writable(path):
        return is_below(path, "/w") and not is_below(path, "/w/p")

    assert list(showing_outside(mounts, ["/w"], writable)) == leading


@pytest.mark.parametrize(
    ("root", "below"),
    [
        ("/mnt", True),
        ("/mnt/with blank\\slash", False),
        ("/mn", False),
        ("/proc", False),
        ("/", True),
        ("/mnt/with", False),
    ],
)
def test_any_below(root, below):
    assert any_below(TABLE, [root]) is below


@pytest.mark.parametrize("name", ["a b", "a\\b", "a#b", "a\tb", "\u00e9", "\udcff"])
def test_any_below_writes_names_as_the_kernel_does(name):
    raw = name.encode("utf-8", "surrogateescape")
    for char in b"\\ \t":
        raw = raw.replace(bytes((char,)), b"\\%03o" % char)
    assert any_below(b"9 1 8:1 / /" + raw + b"/x rw - ext4 d rw\n", ["/" + name])


def test_stands_inside_looks_for_the_store():
    inside = TABLE + b"86 60 0:40 / /dev/shm rw - tmpfs ringfence rw\n"
    assert stands_inside(inside, "ringfence")
    assert not stands_inside(TABLE, "ringfence")
    assert not stands_inside(b"9 1 8:1 / /ringfence rw - ext4 tmpfs rw\n", "ringfence")
