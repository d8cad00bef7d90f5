"""Which names are one name, per flavour."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.resolve.folding import FOLDS, fold_darwin, fold_none, fold_windows, surely_darwin


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/Users/Me", "/users/me"),
        ("/caf\xe9", "/cafe\u0301"),
        ("/CAF\xc9", "/cafe\u0301"),
        ("/stra\xdfe", "/STRASSE"),
        ("/\ufb01le", "/file"),
        ("/\ufb03", "/FFI"),
        ("/\u017frc", "/SRC"),
        ("/\u212a", "/k"),
        ("/\u1e9e", "/ss"),
        ("/\u03a3\u03c3\u03c2", "/\u03c3\u03c3\u03c3"),
        ("/System/Volumes/Data/Users/me", "/Users/me"),
        ("/system/volumes/DATA", "/"),
        ("/a\u0323\u0307", "/a\u0307\u0323"),
        ("/\u03b1\u0345\u0301", "/\u03b1\u0301\u0345"),  # iota below: form first, then case
    ],
)
def test_one_name_on_macos(one, other):
    assert fold_darwin(one) == fold_darwin(other)
    assert surely_darwin(one) == surely_darwin(other)


@pytest.mark.parametrize(
    "ignored", ["\u200c", "\u200d", "\u200e", "\u202a", "\u2060", "\u206a", "\ufeff", "\xad"]
)
def test_code_points_that_show_as_nothing(ignored):
    """Merged for protection; kept apart where a fold is to grant something."""
    assert fold_darwin(f"/.g{ignored}it") == "/.git"
    assert surely_darwin(f"/.g{ignored}it") != "/.git"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a", "/b"),
        ("/main", "/main2"),
        ("/\u2025", "/.."),
        ("/a\uff0fb", "/a/b"),
        ("/\u2024", "/."),
        ("/System/Volumes/Database", "/base"),
        ("/e", "/\xe9"),
    ],
)
def test_two_names_on_macos(one, other):
    assert fold_darwin(one) != fold_darwin(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C:\\Root\\WS", "c:/root/ws"),
        ("C:\\\xc9", "C:\\\xe9"),
        ("C:\\a\\", "C:\\a"),
        ("C:\\", "c:"),
        ("\\\\Server\\Share", "//server/share"),
    ],
)
def test_one_name_on_windows(one, other):
    assert fold_windows(one) == fold_windows(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C:\\stra\xdfe", "C:\\strasse"),
        ("C:\\\ufb01le", "C:\\file"),
        ("C:\\\xe9", "C:\\e\u0301"),
        ("C:\\ma\u200cin", "C:\\main"),
    ],
)
def test_two_names_on_windows(one, other):
    """NTFS maps single units of text and knows no Unicode form."""
    assert fold_windows(one) != fold_windows(other)


def test_linux_folds_nothing():
    assert fold_none("/A\xe9\udcff") == "/A\xe9\udcff"
    assert FOLDS["linux"] is fold_none


PATHS = st.text(st.characters(exclude_characters="\0"), max_size=30).map("/".__add__)


@given(PATHS)
def test_folding_twice_is_folding_once(path):
    for fold in FOLDS.values():
        assert fold(fold(path)) == fold(path)


@given(PATHS)
def test_no_fold_makes_or_hides_a_component(path):
    """A fold that made a slash or a `..` out of something else would move a path."""
    for flavour, fold in FOLDS.items():
        before = path.replace("\\", "/") if flavour == "windows" else path
        before = before.lower()
        if before.startswith("/system/volumes/data"):
            continue
        kept = fold(path)
        if flavour == "windows":
            before, kept = before.rstrip("/"), kept.rstrip("/")
        assert kept.count("/") == before.count("/")
        assert [part == ".." for part in kept.split("/")].count(True) >= before.split("/").count("..")


@given(PATHS)
def test_case_and_form_never_matter_on_macos(path):
    for variant in (unicodedata.normalize("NFC", path), unicodedata.normalize("NFD", path)):
        assert fold_darwin(variant) == fold_darwin(path)
    assert fold_darwin(path.casefold()) == fold_darwin(path)
