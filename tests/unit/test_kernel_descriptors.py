"""Which inherited descriptors lead outside; tests/kernel/test_landlock_engine.py shows it on a real fence."""

from __future__ import annotations

import os
import posix

import pytest

descriptors = pytest.importorskip("ringfence.kernel.descriptors")


@pytest.fixture
def opened():
    numbers = []

    def opener(path, flags):
        number = os.open(path, flags, 0o600)
        os.set_inheritable(number, True)
        numbers.append(number)
        return number

    yield opener
    for number in numbers:
        os.close(number)


def among(found, number):
    return [leak.what for leak in found if leak.descriptor == number]


@pytest.mark.parametrize(
    ("name", "writable", "read_only", "inside"),
    [
        ("/w/a", ("/w",), (), True),
        ("/w", ("/w",), (), True),
        ("/wa", ("/w",), (), False),
        ("/a", ("/",), (), True),
        ("/w/g/x", ("/w",), ("/w/g",), False),
        ("/w/g/x", ("/w", "/w/g"), ("/w/g",), False),  # a tie is the stricter's
        ("/w/g/t/x", ("/w", "/w/g/t"), ("/w/g",), True),
        ("/x", (), (), False),
    ],
)
def test_the_longest_root_decides(name, writable, read_only, inside):
    assert descriptors._inside(name, writable, read_only) == inside


def test_a_writable_file_is_a_leak_unless_it_lies_inside(tmp_path, opened):
    number = opened(tmp_path / "f", os.O_CREAT | os.O_WRONLY)
    root = os.fspath(tmp_path.resolve())
    assert among(descriptors.leaks((), ()), number)
    assert not among(descriptors.leaks((root,), ()), number)
    assert among(descriptors.leaks((root,), (f"{root}/f",)), number)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY])
def test_what_is_not_inherited_is_no_leak(flags, tmp_path, opened):
    number = opened(tmp_path, flags)
    assert among(descriptors.leaks((), ()), number)
    os.set_inheritable(number, False)
    assert not among(descriptors.leaks((), ()), number)


def test_standard_descriptors_are_never_leaks(monkeypatch):
    monkeypatch.setattr(posix, "listdir", lambda _: ["0", "1", "2"])
    monkeypatch.setattr(descriptors, "_judge", lambda *_: "a leak")
    assert descriptors.leaks((), ()) == ()


def test_without_proc_every_inherited_descriptor_is_a_leak(tmp_path, opened, monkeypatch):
    number = opened(os.devnull, os.O_WRONLY)
    assert not among(descriptors.leaks((), ()), number)

    def refuse(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(posix, "listdir", refuse)
    assert among(descriptors.leaks((), ()), number)


@pytest.mark.parametrize(
    ("flags", "reopenable"),
    [
        (os.O_WRONLY, True),
        (os.O_RDWR, True),
        (os.O_WRONLY | os.O_APPEND, True),
        (os.O_RDONLY, False),
        (os.O_PATH, False),
    ],
)
def test_only_a_writable_file_may_be_reopened(flags, reopenable, tmp_path, opened):
    (tmp_path / "f").touch()
    assert descriptors.reopenable(opened(tmp_path / "f", flags)) == reopenable


def test_other_things_may_not_be_reopened(tmp_path, opened):
    assert not descriptors.reopenable(opened(tmp_path, os.O_RDONLY))
    assert not descriptors.reopenable(opened(os.devnull, os.O_RDWR))
    number = opened(os.devnull, os.O_RDWR)
    os.close(os.dup(number))
    assert not descriptors.reopenable(10**6)


def test_closing_tells_what_it_closed(tmp_path):
    number = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(number, True)
    known = descriptors.leaks((), ())
    others = {leak.descriptor for leak in known} - {number}
    if others:
        os.close(number)
        pytest.skip("this test run itself was handed descriptors that would be closed")
    assert [leak.descriptor for leak in descriptors.close_leaks((), ())] == [number]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
