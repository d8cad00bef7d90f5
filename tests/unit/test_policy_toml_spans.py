from __future__ import annotations

import tomllib

import pytest

from ringfence.policy.toml_spans import spans

TEXT = '''\
# a comment = "not a key"
workspace = [".", # why
    "../two",
]
reads = "any # where"
"quoted key".'other'.bare = 1
long = """
workspace = ["not me"]
""\\" still """
raw = \'\'\'
[[zone]]\'\'\'
inline = { path = "x", "access" = ["a", {deep = 1}] }

[[zone]]
path = "a\\"]b"
access = "none"
[[zone]]
  access = "read"
  path = "b"
[zone.inner]
x = 1979-05-27 07:32:00Z
[[zone.many]]
y = 1
[[zone.many]]
y = 2
[a.b.c]
d.e = "é\\u00e9" ; '''

EXPECTED = {
    ("workspace",): (2, 1),
    ("workspace", 0): (2, 14),
    ("workspace", 1): (3, 5),
    ("reads",): (5, 1),
    ("quoted key",): (6, 1),
    ("quoted key", "other"): (6, 14),
    ("quoted key", "other", "bare"): (6, 22),
    ("long",): (7, 1),
    ("raw",): (10, 1),
    ("inline",): (12, 1),
    ("inline", "path"): (12, 12),
    ("inline", "access"): (12, 24),
    ("inline", "access", 0): (12, 36),
    ("inline", "access", 1): (12, 41),
    ("inline", "access", 1, "deep"): (12, 42),
    ("zone",): (14, 3),
    ("zone", 0): (14, 1),
    ("zone", 0, "path"): (15, 1),
    ("zone", 0, "access"): (16, 1),
    ("zone", 1): (17, 1),
    ("zone", 1, "access"): (18, 3),
    ("zone", 1, "path"): (19, 3),
    ("zone", 1, "inner"): (20, 7),
    ("zone", 1, "inner", "x"): (21, 1),
    ("zone", 1, "many"): (22, 8),
    ("zone", 1, "many", 0): (22, 1),
    ("zone", 1, "many", 0, "y"): (23, 1),
    ("zone", 1, "many", 1): (24, 1),
    ("zone", 1, "many", 1, "y"): (25, 1),
    ("a",): (26, 2),
    ("a", "b"): (26, 4),
    ("a", "b", "c"): (26, 6),
    ("a", "b", "c", "d"): (27, 1),
    ("a", "b", "c", "d", "e"): (27, 3),
}


def test_every_key_and_element_is_found_where_it_stands():
    text = TEXT.replace(" ; ", "")
    tomllib.loads(text)
    assert dict(spans(text)) == EXPECTED


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_do_not_move_anything(ending):
    text = 'a = 1\nb = """x\ny"""\nc = 2\n'.replace("\n", ending)
    assert dict(spans(text)) == {("a",): (1, 1), ("b",): (2, 1), ("c",): (4, 1)}


def test_columns_count_characters():
    assert spans('a = ["é", "b"]')["a", 1] == (1, 11)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment", "a = 1", 'a = """"x"""""', "a = ''''x'''''"]
)
def test_ends_of_texts(text):
    tomllib.loads(text)
    assert len(spans(text)) == text.count("=")
