"""The portable walk: limits, permissions, doors, the null device, odd bytes, both readings of `..`."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest

from ringfence.model import Located, Unresolved
from ringfence.resolve.names import lexical_normal
from ringfence.resolve.walk import locate_walk
from tests.support.cases import raw, wipe

SRC = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules[Located.__module__].__file__)))


@pytest.fixture
def root(tmp_path):
    path = os.path.realpath(tmp_path) + "/r"
    os.mkdir(path)
    yield path
    wipe(path)


def code(path, follow=True, **more):
    site = locate_walk(path, follow, **more)
    return site.code if isinstance(site, Unresolved) else site.path


def errno_of(path):
    """The kernel's own word on a path."""
    try:
        os.close(os.open(raw(path), os.O_PATH))
    except OSError as error:
        return error.errno
    return 0


def test_every_field(root):
    os.mkdir(root + "/d")
    with open(root + "/d/f", "w"):
        pass
    os.link(root + "/d/f", root + "/g")
    os.symlink("d/f", root + "/l")
    st = os.stat(root + "/g")
    assert locate_walk(root + "/l", True) == Located(
        root + "/d/f", True, False, 2, st.st_dev, st.st_ino, False, ""
    )
    link = os.lstat(root + "/l")
    assert locate_walk(root + "/l", False) == Located(
        root + "/l", True, False, 0, link.st_dev, link.st_ino, False, ""
    )
    folder = os.stat(root + "/d")
    assert locate_walk(root + "/d", True) == Located(
        root + "/d", True, True, 0, folder.st_dev, folder.st_ino, False, ""
    )
    assert locate_walk(root + "/n/m", True) == Located(root + "/n/m", False, False, 0, 0, 0, False, "")


@pytest.mark.parametrize("text", ["/", "//", "/.", "/..", "/../..", "///./"])
def test_the_top(text):
    top = os.stat("/")
    assert locate_walk(text, True) == Located("/", True, True, 0, top.st_dev, top.st_ino, False, "")


def test_a_link_to_the_top_is_the_top(root):
    os.symlink("/", root + "/l")
    assert locate_walk(root + "/l", True) == locate_walk("/", True)


@pytest.mark.parametrize("end", ["/", "/.", "//", "/./"])
def test_an_end_that_means_a_folder_follows_the_leaf(root, end):
    os.mkdir(root + "/d")
    os.symlink("d", root + "/l")
    assert code(root + "/l", follow=False) == root + "/l"
    assert code(root + "/l" + end, follow=False) == root + "/d"


@pytest.mark.parametrize("text", ["f/x", "f/", "f/.", "f/..", "f/../f", "l/", "l/x", "to-slash"])
def test_a_file_is_no_folder(root, text):
    with open(root + "/f", "w"):
        pass
    os.symlink("f", root + "/l")
    os.symlink("f/", root + "/to-slash")
    assert errno_of(f"{root}/{text}") == 20
    assert code(f"{root}/{text}") == "invalid.not-a-directory"


def test_forty_links_and_not_one_more(root):
    with open(root + "/end", "w"):
        pass
    os.symlink("end", root + "/40")
    for number in range(40):
        os.symlink(str(number + 1), f"{root}/{number}")
    assert errno_of(root + "/1") == 0
    assert code(root + "/1") == root + "/end"
    assert errno_of(root + "/0") == 40
    assert code(root + "/0") == "invalid.loop"


def test_a_dangling_chain_counts_too(root):
    os.symlink("nowhere/x", root + "/40")
    for number in range(40):
        os.symlink(str(number + 1), f"{root}/{number}")
    assert code(root + "/1") == root + "/nowhere/x"
    assert code(root + "/0") == "invalid.loop"


def test_component_length_is_counted_in_bytes(root):
    assert code(f"{root}/{'n' * 255}") == f"{root}/{'n' * 255}"
    assert code(f"{root}/{'n' * 256}") == "invalid.too-long"
    assert code(f"{root}/{chr(0xE9) * 127}n") == f"{root}/{chr(0xE9) * 127}n"
    assert code(f"{root}/{chr(0xE9) * 128}") == "invalid.too-long"
    assert code(f"{root}/missing/{'n' * 256}") == "invalid.too-long"
    assert code(f"{root}/missing/{'n' * 256}/../x") == "invalid.too-long"


def test_path_length(root):
    long = root + "/x" * ((4095 - len(root)) // 2)
    long += "/" * (4095 - len(long))
    assert len(long) == 4095
    assert code(long) == long.rstrip("/")
    assert code(long + "/") == "invalid.too-long"


def deep(root, name_len, depth):
    """Folders below `root`, each with a link to the next: a short text leads past any name length."""
    name = "d" * name_len
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.symlink(name, "s", dir_fd=here)
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    return here


def test_names_past_path_max_are_walked_on(root):
    """Shown to fool the standard library: CVE-2025-4517."""
    os.mkdir(root + "/ws")
    os.mkdir(root + "/out")
    here = deep(root + "/ws", 250, 40)  # 10,000 bytes of name behind 80 bytes of text
    os.symlink(root + "/out", "up", dir_fd=here)
    os.close(here)
    # Only the first 39 short links: the last link of all is the fortieth.
    text = root + "/ws" + "/s" * 39 + "/" + "d" * 250 + "/up/f"
    assert code(text) == root + "/out/f"
    os.close(os.open(text, os.O_WRONLY | os.O_CREAT))
    assert os.listdir(root + "/out") == ["f"]
    assert os.path.realpath(text) != root + "/out/f"
    # Every descriptor is given back.
    before = os.listdir("/proc/self/fd")
    locate_walk(text, True)
    assert os.listdir("/proc/self/fd") == before


def test_a_result_past_path_max_is_refused(root):
    os.close(deep(root, 250, 20))
    assert code(root + "/s" * 20) == "invalid.too-long"
    assert code(root + "/s" * 20 + "/missing") == "invalid.too-long"
    assert code(root + "/s" * 10).startswith(root)


def test_without_calls_by_descriptor_a_long_name_is_refused(root):
    os.close(deep(root, 250, 20))
    plain = SimpleNamespace(lstat=os.lstat, readlink=os.readlink, stat=os.stat, supports_dir_fd=frozenset())
    assert code(root + "/s" * 20 + "/..", os_module=plain) == "invalid.too-long"
    assert code(root + "/s" * 3, os_module=plain) == root + ("/" + "d" * 250) * 3


# --- `..` behind what does not exist --------------------------------------------------------------------------


@pytest.fixture
def away(root):
    """ws/l leads to out/deep, so `l/..` is out for the kernel and ws for a text."""
    os.makedirs(root + "/ws")
    os.makedirs(root + "/out/deep")
    os.symlink(root + "/out/deep", root + "/ws/l")
    os.symlink(root + "/out", root + "/ws/o")
    return root


def test_two_readings(away):
    site = locate_walk(away + "/ws/l/new/../../f", True)
    assert (site.path, site.folded) == (away + "/out/f", away + "/ws/f")
    # What the kernel makes of it once the folder is there:
    os.mkdir(away + "/out/deep/new")
    os.close(os.open(away + "/ws/l/new/../../f", os.O_WRONLY | os.O_CREAT))
    assert os.path.exists(away + "/out/f")
    assert not os.path.exists(away + "/ws/f")
    assert locate_walk(away + "/ws/l/new/../../f", True).folded == ""


def test_both_readings_follow_links(away):
    site = locate_walk(away + "/ws/new/../o/f", True)
    assert (site.path, site.folded) == (away + "/out/f", "")
    site = locate_walk(away + "/ws/l/new/../../o/f", True)
    assert (site.path, site.folded) == (away + "/out/o/f", away + "/out/f")


def test_a_second_reading_that_cannot_be_resolved_refuses(away):
    os.symlink("loop", away + "/ws/loop")
    assert locate_walk(away + "/ws/l/new/../../x", True).path == away + "/out/x"
    assert code(away + "/ws/l/new/../../loop") == "invalid.loop"


def test_a_second_reading_keeps_its_door(away):
    os.symlink("/proc/self/cwd", away + "/ws/x")
    os.mkdir(away + "/out/x")
    site = locate_walk(away + "/ws/l/new/../../x/f", True)
    assert site.path == away + "/out/x/f"
    assert site.magic


def test_dots_in_a_dangling_link(root):
    os.symlink("missing/../b", root + "/l")
    site = locate_walk(root + "/l/../l", True)
    assert (site.path, site.folded) == (root + "/b", "")


# --- permissions ----------------------------------------------------------------------------------------------


@pytest.fixture
def shared():
    """A folder that any user may search, unlike tmp_path."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="rf-walk-"))
    os.chmod(path, 0o755)
    yield path
    wipe(path)


def as_nobody(call):
    """Run `call` in a child that a mode can refuse; its answer must be a literal."""
    out, back = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(back, repr(call()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(back)
    with open(out, "rb") as answer:
        text = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    return ast.literal_eval(text.decode())


def test_search_permission_is_asked_where_the_kernel_asks(shared):
    os.makedirs(shared + "/shut/d")
    os.symlink("shut/d", shared + "/l")
    os.symlink("shut", shared + "/s")
    with open(shared + "/f", "w"):
        pass
    os.chmod(shared + "/shut", 0o644)
    refused = [
        "shut/d",
        "shut/missing",
        "shut/.",
        "shut/..",
        "shut/../f",
        "l",
        "l/x",
        "s/d",
        "shut/missing/../../f",
    ]
    fine = ["shut", "shut/", "s", "s/", "f"]
    answers = as_nobody(lambda: [(errno_of(f"{shared}/{t}"), code(f"{shared}/{t}")) for t in refused + fine])
    assert answers[: len(refused)] == [(13, "invalid.no-access")] * len(refused)
    assert [number for number, _ in answers[len(refused) :]] == [0] * len(fine)
    assert not [answer for _, answer in answers[len(refused) :] if answer.startswith("invalid.")]


# --- doors and devices ----------------------------------------------------------------------------------------

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no procfs")


@needs_proc
@pytest.mark.parametrize(
    "text",
    [
        "/proc/self/root/etc",
        "/proc/thread-self/cwd/x",
        "/proc/self/fd/0",
        "/proc/self/status",
        "/dev/fd/3",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "@/r/etc",
        "@/c",
        "@/d/new",
        "@/out/err",
    ],
)
def test_a_door_is_named(root, text):
    os.symlink("/proc/self/root", root + "/r")
    os.symlink("/proc/self/cwd", root + "/c")
    os.symlink("/dev/fd", root + "/d")
    os.mkdir(root + "/out")
    os.symlink("/dev/stderr", root + "/out/err")
    site = locate_walk(text.replace("@", root), True)
    assert isinstance(site, Located)
    assert site.magic.startswith(("/proc/", "/dev/"))


@needs_proc
@pytest.mark.parametrize(
    "text", ["/proc/../etc/x", "/proc/cpuinfo", "/dev/null", "/dev/fdx", "/process", "@/proc/x"]
)
def test_no_door(root, text):
    assert locate_walk(text.replace("@", root), True).magic == ""


@needs_proc
def test_what_has_no_name_stays_at_its_door():
    out, back = os.pipe()
    try:
        site = locate_walk(f"/proc/self/fd/{out}", True)
        assert (site.path, site.exists, site.ino) == (
            f"/proc/{os.getpid()}/fd/{out}",
            True,
            os.fstat(out).st_ino,
        )
        assert code(f"/proc/self/fd/{out}/x") == "invalid.not-a-directory"
    finally:
        os.close(out)
        os.close(back)


def test_the_null_device_is_a_sink_and_its_look_alikes_are_not(root):
    os.symlink("/dev/null", root + "/l")
    os.makedirs(root + "/dev")
    with open(root + "/dev/null", "w"):
        pass
    assert locate_walk("/dev/null", True).sink
    assert locate_walk(root + "/l", True).sink
    assert not locate_walk(root + "/l", False).sink
    assert not locate_walk(root + "/dev/null", True).sink
    assert not locate_walk("/dev/zero", True).sink
    assert code("/dev/null/x") == "invalid.not-a-directory"


def test_a_file_in_the_place_of_the_null_device_is_no_sink():
    def entry(mode, rdev=0):
        return SimpleNamespace(st_mode=mode, st_ino=7, st_dev=1, st_nlink=1, st_rdev=rdev, st_size=0)

    def disk(leaf):
        found = {b"/dev": entry(stat.S_IFDIR), b"/dev/null": leaf}
        return SimpleNamespace(lstat=found.__getitem__)

    assert not locate_walk("/dev/null", True, os_module=disk(entry(stat.S_IFREG))).sink
    assert not locate_walk("/dev/null", True, os_module=disk(entry(stat.S_IFCHR, 0x105))).sink
    assert locate_walk("/dev/null", True, os_module=disk(entry(stat.S_IFCHR, 0x103))).sink
    mac = disk(entry(stat.S_IFCHR, 0x3000002))
    assert locate_walk("/dev/null", True, flavour="darwin", os_module=mac).sink
    assert not locate_walk("/dev/null", True, os_module=mac).sink


@needs_proc
def test_the_null_device_through_a_door_is_no_sink():
    null = os.open("/dev/null", os.O_WRONLY)
    try:
        site = locate_walk(f"/proc/self/fd/{null}", True)
        assert (site.path, bool(site.magic), site.sink) == ("/dev/null", True, False)
    finally:
        os.close(null)


@pytest.mark.parametrize("text", ["/.vol/16777220/2", "/.VOL/1/2", "/.nofollow/etc", "/.resolve/1/etc"])
def test_doors_of_macos(text):
    assert locate_walk(text, True, flavour="darwin").magic
    assert locate_walk(text, True).magic == ""


def test_a_second_procfs_is_a_door_too(root):
    script = (
        f"mkdir {root}/p && mount -t proc proc {root}/p && "
        f'exec "$0" -c "from ringfence.resolve.walk import locate_walk as w; '
        f"print(w('{root}/p/self/cwd/x', True).magic, w('{root}/p/sys', True).magic, w('{root}/x', True).magic)\""
    )
    made = subprocess.run(
        [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "sh",
            "-c",
            script,
            sys.executable,
        ],
        env={"PYTHONPATH": SRC, "PATH": os.environ.get("PATH", os.defpath)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount" in made.stderr or "unshare" in made.stderr:
        pytest.skip("no procfs of one's own can be mounted here")
    assert made.stdout.split(" ") == [f"{root}/p/self", f"{root}/p", "\n"], made.stderr


# --- text -----------------------------------------------------------------------------------------------------


def test_odd_bytes_survive(root):
    os.mkdir(raw(root + "/bad\udcff"))
    os.symlink(b"bad\xff/\xfe", raw(root + "/l"))
    assert code(root + "/bad\udcff/..") == root
    assert code(root + "/l") == root + "/bad\udcff/\udcfe"


def test_a_lone_surrogate_is_refused(root):
    assert code(root + "/\ud800") == "invalid.encoding"


def test_the_locale_does_not_matter(root):
    """Agents write UTF-8 whatever the locale: the file called e-acute is found under LC_ALL=C too."""
    os.mkdir(raw(root + "/\xe9"))
    script = "import sys; from ringfence.resolve.walk import locate_walk as w; "
    script += f"print(sys.getfilesystemencoding(), w({root!a} + '/\\xe9', True).exists)"
    env = {"PYTHONPATH": SRC, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    answer = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", script], env=env, capture_output=True, check=True
    )
    encoding, exists = answer.stdout.split()
    assert encoding != b"utf-8"
    assert exists == b"True"


def test_an_unknown_error_is_refused():
    def broken(path):
        raise OSError(5, "Input/output error")

    site = locate_walk("/x", True, os_module=SimpleNamespace(lstat=broken))
    assert site == Unresolved("invalid.unreadable", "the path cannot be looked at: Input/output error")


@pytest.mark.parametrize(
    ("text", "normal"),
    [("/a/../b", "/b"), ("//a//b/", "/a/b/"), ("/..", "/"), ("/a/./b/..", "/a"), ("/", "/"), ("/a/../", "/")],
)
def test_lexical_normal(text, normal):
    assert lexical_normal(text) == normal


def test_imports_nothing_heavy():
    script = (
        "import sys; before = set(sys.modules); import ringfence.resolve.walk, ringfence.resolve.folding, "
    )
    script += "ringfence.resolve.windows; print(*sorted(set(sys.modules) - before))"
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {SRC!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    allowed = {
        "os",
        "stat",
        "_stat",
        "posixpath",
        "genericpath",
        "os.path",
        "errno",
        "_collections_abc",
        "abc",
        "_abc",
    }
    allowed |= {"__future__", "_collections"}
    assert {name for name in out if not name.startswith("ringfence")} <= allowed
