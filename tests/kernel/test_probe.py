"""Each capability is really tried, and each no has its reason; the oracle is other people's code."""

from __future__ import annotations

import ast
import ctypes
import errno
import os
import shutil
import signal
import subprocess

import pytest

from ringfence.kernel import probe
from tests.kernel.conftest import HERE, needs_landlock, needs_seccomp, python_of
from tests.support.children import Fence, run

SHOW = (
    "import sys; sys.path.insert(0, sys.argv[1] + '/src'); from ringfence.kernel import probe\n"
    "c = probe.capabilities()\n"
    "print(*(getattr(c, f) for f in probe.FEATURES), dict(c.why_not))"
)


def seen(who, base, fence=None, before=()):
    """(values by feature, reasons by feature) as a program sees them that `before` starts."""
    done = run(who, [*before, python_of(who), "-I", "-c", SHOW, who.checkout], fence, cwd=base)
    assert done.returncode == 0, done.stderr
    *values, reasons = done.stdout.split(" ", 5)
    return dict(zip(probe.FEATURES, values, strict=True)), ast.literal_eval(reasons)


def hiding(who, name, number="ENOSYS"):
    script = os.path.join(who.checkout, "scripts", "fake_enosys.py")
    return [who.python, "-I", script, "--errno", number, "--hide", name, "--"]


def test_the_landlock_abi_is_what_the_kernel_says():
    libc = ctypes.CDLL(None, use_errno=True)
    said = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    assert probe.landlock_abi()[0] == max(said, 0)


def test_user_namespaces_and_overlays_as_the_system_tools_see_them(who, base):
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    values, reasons = seen(who, base)
    works = run(who, ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/tmp"], cwd=base).returncode == 0
    assert (values["userns"] == "True") == works
    script = "mount -t tmpfs n /tmp && cd /tmp && mkdir l u w m && mount -t overlay o -o userxattr,lowerdir=l,upperdir=u,workdir=w m"
    works = run(who, ["unshare", "-Urm", "sh", "-c", script], cwd=base).returncode == 0
    assert (values["overlay"] == "True") == works
    assert set(reasons) == {feature for feature, value in values.items() if value in ("0", "False")}


@needs_seccomp
@pytest.mark.parametrize("number", ["ENOSYS", "EPERM"])
@pytest.mark.parametrize(
    ("hidden", "lost"),
    [
        ("landlock_create_ruleset", {"landlock"}),
        ("unshare", {"userns", "overlay"}),
        ("mount", {"userns", "overlay"}),
        ("open_tree", {"mount_api"}),
        ("mount_setattr", {"mount_api"}),
        ("seccomp", {"seccomp"}),
    ],
)
def test_a_hidden_call_costs_its_features_and_says_why(hidden, lost, number, who, base):
    before, _ = seen(who, base)
    if any(before[feature] in ("0", "False") for feature in lost):
        pytest.skip("missing here anyway")
    after, reasons = seen(who, base, before=hiding(who, hidden, number))
    assert {feature for feature in after if after[feature] != before[feature]} == lost
    assert set(reasons) == lost
    assert all(number in reason or str(getattr(errno, number)) in reason for reason in reasons.values())


@needs_seccomp
def test_move_mount_is_missing_only_if_the_kernel_says_so(who, base):
    assert seen(who, base, before=hiding(who, "move_mount"))[0]["mount_api"] == "False"


@needs_landlock
def test_behind_a_fence_mounts_are_known_to_be_refused(who, base):
    if not HERE.userns:
        pytest.skip(dict(HERE.why_not)["userns"])
    values, reasons = seen(who, base, fence=Fence(f"{base}/ws"))
    assert (values["userns"], values["overlay"]) == ("False", "False")
    assert "another fence" in reasons["userns"]
    assert values["landlock"] == str(HERE.landlock)


def test_only_what_is_asked_is_probed(monkeypatch):
    def never():
        raise AssertionError("probed without being asked")

    monkeypatch.setitem(probe._PROBES, "userns", never)
    monkeypatch.setitem(probe._PROBES, "overlay", never)
    some = probe.capabilities(("landlock", "seccomp", "mount_api"))
    assert dict(some.why_not)["userns"] == dict(some.why_not)["overlay"] == probe.NOT_ASKED
    assert (some.userns, some.overlay) == (False, False)
    with pytest.raises(ValueError, match="no such feature: magic"):
        probe.capabilities(("magic",))


def test_probing_leaves_no_child_and_no_descriptor_even_if_sigchld_is_ignored():
    before = sorted(os.listdir("/proc/self/fd"))
    known = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert probe.user_namespaces() == ((1, "") if HERE.userns else (0, dict(HERE.why_not)["userns"]))
    finally:
        signal.signal(signal.SIGCHLD, known)
    assert sorted(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSYS, "older than 5.13"),
        (errno.EOPNOTSUPP, "lsm="),
        (errno.EPERM, "container"),
        (errno.EIO, "errno 5"),
    ],
)
def test_every_no_of_landlock_has_its_words(number, word, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert word in probe.landlock_reason(number)
    monkeypatch.setattr("sys.platform", "darwin")
    assert "darwin" in probe.landlock_reason(number)


def test_elsewhere_everything_is_missing_with_a_reason(monkeypatch):
    from ringfence.kernel import libc

    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(libc, "_numbers", {})
    monkeypatch.setattr(libc, "_door", None)
    none = probe.capabilities()
    assert none[:6] == ("darwin", 0, False, False, False, False)
    assert set(dict(none.why_not)) == set(probe.FEATURES)


def test_a_probe_in_a_child_changes_nothing_here():
    before = subprocess.run(
        ["readlink", "/proc/self/ns/user", "/proc/self/ns/mnt"], capture_output=True
    ).stdout
    probe.capabilities()
    assert (
        subprocess.run(["readlink", "/proc/self/ns/user", "/proc/self/ns/mnt"], capture_output=True).stdout
        == before
    )
