"""The one call helper, through both of its doors, and its tables against the system's own headers."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import pytest

from ringfence.errors import KernelCallError
from ringfence.kernel import libc

linux = pytest.mark.skipif(
    not hasattr(os, "uname") or libc.machine() not in libc._OLD, reason="no table for this machine"
)


@pytest.fixture(params=["raw", "official"])
def door(request, monkeypatch):
    monkeypatch.setattr(
        libc, "_door", {"raw": libc.raw_door, "official": libc.official_door}[request.param]()
    )


@linux
@pytest.mark.usefixtures("door")
class TestBothDoors:
    def test_result(self):
        assert libc.call("prctl", 3, 0, 0, 0, 0, doing="reading dumpable") in (0, 1, 2)

    def test_errno_belongs_to_this_call(self):
        for expected, size in ((errno.EINVAL, 7), (errno.E2BIG, 4097), (errno.EINVAL, 7)):
            with pytest.raises(KernelCallError) as failed:
                libc.call("openat2", -100, b"/", bytes(size), size, doing="x")
            assert (failed.value.errno, failed.value.call, failed.value.doing) == (expected, "openat2", "x")

    def test_an_old_errno_means_nothing_after_a_success(self):
        with pytest.raises(KernelCallError):
            libc.call("setns", -1, 0, doing="x")
        assert libc.call("prctl", 3, 0, 0, 0, 0, doing="x") >= 0

    def test_whole_words_are_passed(self):
        """An int cut to 32 bits would be a valid flag 0 here; as a whole word it is refused."""
        how = (os.O_PATH | 1 << 40).to_bytes(8, sys.byteorder) + bytes(16)
        with pytest.raises(KernelCallError) as failed:
            libc.call("openat2", -100, b"/", how, 24, doing="x")
        assert failed.value.errno == errno.EINVAL
        with pytest.raises(KernelCallError) as failed:
            libc.call("prctl", 38, 1 << 32 | 1, 0, 0, 0, doing="x")  # NO_NEW_PRIVS takes exactly 1
        assert failed.value.errno == errno.EINVAL

    def test_the_kernel_writes_into_a_buffer(self):
        name = libc.buffer(16)
        libc.call("prctl", 16, name, 0, 0, 0, doing="reading our name")
        with open("/proc/self/comm", "rb") as comm:
            assert name.raw.rstrip(b"\0") == comm.read().strip()

    def test_a_buffer_holds_what_it_was_given(self):
        assert libc.buffer(b"a\0b").raw == b"a\0b"
        assert libc.buffer(3).raw == bytes(3)
        assert libc.address(libc.buffer(1)) > 0

    def test_text_is_our_bug(self):
        with pytest.raises(TypeError, match="encode"):
            libc.call("openat2", -100, "/", None, 0, doing="x")

    def test_paths_are_bytes(self, tmp_path):
        made = os.fsencode(tmp_path) + b"/\xff"
        how = (
            (os.O_CREAT | os.O_WRONLY).to_bytes(8, sys.byteorder)
            + (0o600).to_bytes(8, sys.byteorder)
            + bytes(8)
        )
        os.close(libc.call("openat2", -100, made, how, 24, doing="x"))
        assert os.path.exists(made)


@linux
def test_the_cheap_door_is_the_one_in_use():
    """Falling back silently would cost every start two milliseconds."""
    text = "import sys; from ringfence.kernel import libc; libc.call('prctl', 3, 0, 0, 0, 0, doing=''); print('ctypes' in sys.modules)"
    source = os.path.dirname(os.path.dirname(os.path.dirname(libc.__file__)))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {source!r}); {text}"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n", done.stderr


@linux
def test_the_fallback_is_taken_when_the_cheap_door_is_shut(monkeypatch):
    def shut():
        raise AttributeError("CFuncPtr")

    monkeypatch.setattr(libc, "_door", None)
    monkeypatch.setattr(libc, "raw_door", shut)
    assert libc.call("prctl", 3, 0, 0, 0, 0, doing="x") >= 0


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_a_call_is_an_error_with_a_reason_not_a_crash(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(libc, "_numbers", {})
    monkeypatch.setattr(libc, "_door", None)
    for attempt in (lambda: libc.call("prctl", doing="x"), lambda: libc.syscall("prctl", 1, doing="x")):
        with pytest.raises(KernelCallError) as failed:
            attempt()
        assert failed.value.errno == errno.ENOSYS


def test_a_32_bit_interpreter_has_no_numbers(monkeypatch):
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    monkeypatch.setattr(libc, "_numbers", {})
    with pytest.raises(KernelCallError):
        libc.number("prctl")


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_against_the_system_headers(machine):
    header = next((path for path in HEADERS[machine] if os.path.exists(path)), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed")
    with open(header, encoding="utf-8") as file:
        known = {
            name: int(number)
            for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", file.read())
        }
    assert len(known) > 250
    ours = {name: libc.number_on(machine, name) for name in (*libc._UNIFIED, *libc._OLD_NAMES)}
    differing = {name: number for name, number in ours.items() if known.get(name, number) != number}
    assert not differing
    assert set(ours) <= set(known)


def test_every_table_has_every_old_name_once():
    for numbers in libc._OLD.values():
        assert len(numbers) == len(libc._OLD_NAMES) == len(set(numbers))
