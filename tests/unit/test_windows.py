"""Windows names, by text and on a fake disk. By reasoning from Microsoft's documentation, not by a real Windows."""

from __future__ import annotations

import stat
from types import SimpleNamespace

import pytest

from ringfence.model import Located, Unresolved
from ringfence.resolve.windows import absolute_windows, locate_windows
from tests.support.cases import FakeDisk

CWD = "C:\\root\\ws"
HOME = "C:\\Users\\me"


def absolute(raw, cwd=CWD, home=HOME):
    found = absolute_windows(raw, cwd, home)
    return found.code if isinstance(found, Unresolved) else found


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("a.txt", "C:\\root\\ws\\a.txt"),
        ("src/x\\y", "C:\\root\\ws\\src\\x\\y"),
        ("c:\\A\\b", "C:\\A\\b"),
        ("c:/A/./b/../c", "C:\\A\\c"),
        ("..", "C:\\root\\"),
        ("..\\..\\..\\..\\x", "C:\\x"),
        ("\\root\\x", "C:\\root\\x"),
        ("/x", "C:\\x"),
        ("src\\", "C:\\root\\ws\\src\\"),
        ("src\\.", "C:\\root\\ws\\src\\"),
        ("C:\\", "C:\\"),
        ("main \\m.txt", "C:\\root\\ws\\main\\m.txt"),
        ("a.txt...", "C:\\root\\ws\\a.txt"),
        ("a. . .", "C:\\root\\ws\\a"),
        (" a", "C:\\root\\ws\\ a"),
        (".git", "C:\\root\\ws\\.git"),
        ("..hidden", "C:\\root\\ws\\..hidden"),
        ("~", "C:\\Users\\me"),
        ("~\\x", "C:\\Users\\me\\x"),
        ("~/x/../y", "C:\\Users\\me\\y"),
        ("a~", "C:\\root\\ws\\a~"),
        ("%TEMP%\\x", "C:\\root\\ws\\%TEMP%\\x"),
        ("$env:x".replace(":", ""), "C:\\root\\ws\\$envx"),
        ("\\\\?\\C:\\root\\ws\\a", "C:\\root\\ws\\a"),
        ("//?/c:/root/ws/a", "C:\\root\\ws\\a"),
        ("prefix.NUL.json", "C:\\root\\ws\\prefix.NUL.json"),
        ("console", "C:\\root\\ws\\console"),
        ("COM", "C:\\root\\ws\\COM"),
        ("COM10", "C:\\root\\ws\\COM10"),
        ("nul-file", "C:\\root\\ws\\nul-file"),
        ("n" * 255, "C:\\root\\ws\\" + "n" * 255),
    ],
)
def test_absolute(raw, whole):
    assert absolute(raw) == whole


@pytest.mark.parametrize(
    "raw",
    [
        "\\\\server\\share\\x",
        "//server/share/x",
        "\\/server/share",
        "\\\\localhost\\C$\\root\\ws\\a",
        "\\\\127.0.0.1\\C$\\root\\ws\\a",
        "\\\\?\\UNC\\server\\share\\x",
        "\\\\.\\C:\\root\\ws\\a",
        "\\\\.\\NUL",
        "\\\\.\\PhysicalDrive0",
        "\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1\\x",
        "\\\\?\\Volume{0f0f0f0f-0000-0000-0000-000000000000}\\x",
        "\\\\?\\C:\\root\\ws\\..\\out\\x",
        "\\\\?\\C:\\root\\ws\\.\\x",
        "\\\\?\\C:\\root\\ws\\main ",
        "\\\\?\\C:\\root\\\\x",
        "\\\\?\\C:x",
    ],
)
def test_outside_every_drive_and_never_looked_at(raw):
    whole = absolute(raw)
    assert whole.startswith("\\\\")
    deaf = SimpleNamespace()  # any call on it fails
    site = locate_windows(whole, True, os_module=deaf)
    assert site == Located(whole, False, False, 0, 0, 0, False, "")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", "empty"),
        ("a\0b", "nul"),
        ("file:///C:/x", "uri"),
        ("https://x", "uri"),
        ("C:a", "drive-relative"),
        ("C:", "drive-relative"),
        ("C:..\\x", "drive-relative"),
        ("~me\\x", "user"),
        ("a:b", "drive-relative"),
        ("ab:c", "stream"),
        ("a.txt::$DATA", "stream"),
        ("src::$INDEX_ALLOCATION\\x", "stream"),
        ("C:\\a:b\\c", "stream"),
        ("x?", "name"),
        ("a*b", "name"),
        ("a|b", "name"),
        ('a"b', "name"),
        ("a<b", "name"),
        ("a\tb", "name"),
        ("a\x1fb", "name"),
        ("...", "name"),
        (".. \\x", "name"),
        (" \\x", "name"),
        ("\\??\\C:\\x", "name"),
        ("nul", "device"),
        ("NUL.txt", "device"),
        ("nul .txt", "device"),
        ("nul.", "device"),
        ("src\\con", "device"),
        ("con\\x", "device"),
        ("aux.c", "device"),
        ("prn.a.b", "device"),
        ("COM1", "device"),
        ("com0.log", "device"),
        ("COM\xb9", "device"),
        ("lpt\xb2.txt", "device"),
        ("LPT\xb3 .x", "device"),
        ("CONIN$", "device"),
        ("conout$.x", "device"),
        ("\\\\?\\C:\\root\\ws\\nul", "device"),
        ("\\\\?\\C:\\root\\a:b", "stream"),
        ("n" * 256, "too-long"),
        ("\U0001f600" * 128, "too-long"),
        ("a\\" * 17000, "too-long"),
    ],
)
def test_refused(raw, code):
    assert absolute(raw) == "invalid." + code


def test_what_stands_around():
    assert absolute("~\\x", home=None) == "invalid.home"
    assert absolute("~\\x", home="") == "invalid.home"
    assert absolute("~\\x", home="relative") == "invalid.home"
    assert absolute("~\\x", home="D:/h") == "D:\\h\\x"
    assert absolute("x", cwd="relative") == "invalid.cwd"
    assert absolute("x", cwd="C:/a/b/") == "C:\\a\\b\\x"
    assert absolute("x", cwd="\\\\server\\share") == "\\\\server\\share\\x"
    assert absolute("\\x", cwd="D:\\a") == "D:\\x"


# --- on a disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def disk():
    made = FakeDisk("windows")
    made.os.makedirs("C:\\root\\ws\\src")
    made.os.makedirs("C:\\root\\out\\deep")
    made.fs.create_file("C:\\root\\ws\\a.txt")
    made.os.makedirs("D:\\data")
    return made


def where(disk, path, follow=True, **more):
    site = locate_windows(path, follow, os_module=disk, **more)
    return site.code if isinstance(site, Unresolved) else site.path


def test_plain(disk):
    st = disk.lstat("C:\\root\\ws\\a.txt")
    site = locate_windows("C:\\root\\ws\\a.txt", True, os_module=disk)
    assert site == Located("C:\\root\\ws\\a.txt", True, False, 1, st.st_dev, st.st_ino, False, "")
    assert locate_windows("C:\\root\\ws", True, os_module=disk).is_dir
    assert locate_windows("C:\\", True, os_module=disk).path == "C:\\"
    assert where(disk, "C:\\root\\ws\\new\\x") == "C:\\root\\ws\\new\\x"
    assert where(disk, "C:\\root\\ws\\a.txt\\x") == "invalid.not-a-directory"
    assert where(disk, "C:\\root\\ws\\a.txt\\") == "invalid.not-a-directory"


def test_links(disk):
    disk.os.symlink("..\\out", "C:\\root\\ws\\l")
    disk.os.symlink("C:\\root\\out\\new.txt", "C:\\root\\ws\\dangling")
    disk.os.symlink("loop", "C:\\root\\ws\\loop")
    assert where(disk, "C:\\root\\ws\\l\\x") == "C:\\root\\out\\x"
    assert where(disk, "C:\\root\\ws\\l") == "C:\\root\\out"
    assert where(disk, "C:\\root\\ws\\l", follow=False) == "C:\\root\\ws\\l"
    assert where(disk, "C:\\root\\ws\\l\\", follow=False) == "C:\\root\\out"
    assert where(disk, "C:\\root\\ws\\dangling") == "C:\\root\\out\\new.txt"
    assert where(disk, "C:\\root\\ws\\loop") == "invalid.loop"
    assert where(disk, "C:\\root\\ws\\loop", follow=False) == "C:\\root\\ws\\loop"


def test_links_that_leave_the_drive_are_not_followed_there(disk):
    disk.os.symlink("\\\\server\\share\\x", "C:\\root\\ws\\share")
    disk.os.symlink("D:\\data", "C:\\root\\ws\\d")
    assert where(disk, "C:\\root\\ws\\share") == "\\\\server\\share\\x"
    assert where(disk, "C:\\root\\ws\\d\\x", drives=("C:", "D:")) == "D:\\data\\x"
    only_c = locate_windows("C:\\root\\ws\\d", True, drives=("C:",), os_module=disk)
    assert (only_c.path, only_c.exists) == ("D:\\data", False)
    assert not locate_windows("D:\\data", True, drives=("C:",), os_module=SimpleNamespace()).exists
    assert locate_windows("D:\\data", True, os_module=disk).exists


def entry(mode, ino, tag=0):
    return SimpleNamespace(st_mode=mode, st_ino=ino, st_dev=1, st_nlink=1, st_reparse_tag=tag)


def volume(entries, links=(), listing=None):
    """A disk made of lstat answers, for what pyfakefs does not know: reparse tags and 8.3 names."""

    def lstat(path):
        try:
            return entries[path.upper()]
        except KeyError:
            raise FileNotFoundError(2, "no such file") from None

    return SimpleNamespace(
        lstat=lstat,
        readlink=lambda path: dict(links)[path.upper()],
        listdir=lambda path: (listing or {}).get(path.rstrip("\\").upper(), []),
    )


FOLDER = stat.S_IFDIR | 0o777


def test_a_junction_is_a_link_although_lstat_says_folder():
    disk = volume(
        {"C:\\WS": entry(FOLDER, 1), "C:\\WS\\J": entry(FOLDER, 2, 0xA0000003), "C:\\MAIN": entry(FOLDER, 3)},
        {"C:\\WS\\J": "\\\\?\\C:\\main"},
    )
    assert where(disk, "C:\\ws\\j\\x") == "C:\\main\\x"
    assert where(disk, "C:\\ws\\j", follow=False) == "C:\\ws\\j"


def test_a_mounted_volume_is_outside():
    disk = volume(
        {"C:\\WS": entry(FOLDER, 1), "C:\\WS\\J": entry(FOLDER, 2, 0xA0000003)},
        {"C:\\WS\\J": "\\\\?\\Volume{0f0f0f0f-0000-0000-0000-000000000000}\\"},
    )
    assert where(disk, "C:\\ws\\j\\x").startswith("\\\\?\\Volume{")


def test_an_unknown_link_is_refused_and_a_cloud_file_is_not():
    disk = volume({"C:\\A": entry(FOLDER, 1, 0xA000001D), "C:\\B": entry(FOLDER, 2, 0x9000001A)})
    assert where(disk, "C:\\a\\x") == "invalid.reparse-point"
    assert where(disk, "C:\\b") == "C:\\b"


SHORT = {"C:": ["Program Files", "longprotected", "LONGER~1"], "C:\\LONGPROTECTED": []}


def test_a_short_name_is_expanded_by_the_volume():
    disk = volume(
        {
            "C:\\LONGPR~1": entry(FOLDER, 7),
            "C:\\LONGPROTECTED": entry(FOLDER, 7),
            "C:\\PROGRA~1": entry(FOLDER, 8),
            "C:\\PROGRAM FILES": entry(FOLDER, 8),
            "C:\\LONGER~1": entry(FOLDER, 9),
            "C:\\STRAY~1": entry(FOLDER, 10),
        },
        listing=SHORT,
    )
    assert where(disk, "C:\\LONGPR~1\\x") == "C:\\longprotected\\x"
    assert where(disk, "C:\\progra~1\\x") == "C:\\Program Files\\x"
    assert where(disk, "C:\\longer~1\\x") == "C:\\LONGER~1\\x"  # its real name
    assert where(disk, "C:\\STRAY~1") == "invalid.short-name"


@pytest.mark.parametrize(
    ("name", "listed", "folded"),
    [
        ("LONGPR~1", ["longprotected", "other"], "longprotected"),
        ("LO1A2B~1", ["longprotected"], "longprotected"),
        ("report~1.txt", ["report of may.txt"], "report of may.txt"),
        ("report~1.txt", ["report of may.md"], ""),
        ("notes~1", ["other"], ""),
        ("notes~old", ["notesandmore"], ""),
        ("averylongname~1", ["averylongname"], ""),
        ("a~1", ["a b c"], "a b c"),
    ],
)
def test_a_missing_short_name_has_a_second_reading(name, listed, folded):
    disk = volume({}, listing={"C:": listed})
    site = locate_windows(f"C:\\{name}\\x", True, os_module=disk)
    assert site.path == f"C:\\{name}\\x"
    assert site.folded == (folded and f"C:\\{folded}\\x")


def test_two_candidates_for_a_short_name_are_refused():
    disk = volume({}, listing={"C:": ["longprotected", "longprefix"]})
    assert where(disk, "C:\\LONGPR~1") == "invalid.short-name"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PermissionError(13, "denied"), "no-access"),
        (NotADirectoryError(20, "no folder"), "not-a-directory"),
        (OSError(22, "odd"), "unreadable"),
    ],
)
def test_errors_are_refusals(error, code):
    def broken(path):
        raise error

    assert where(SimpleNamespace(lstat=broken), "C:\\x") == "invalid." + code
