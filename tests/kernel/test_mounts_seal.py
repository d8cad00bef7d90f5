"""What the seal is for: the same mounts without it are undone, by root and, inside a namespace, by anyone.

Also what a program may still do inside, and that a fence which cannot be built runs nothing.
"""

import errno
import os
import shutil

import pytest

from tests.kernel.mounts_world import (
    each_person,
    fenced,
    needs_mounts,
    people,
    person,
    shell,
    spec_of,
    world,
)

pytestmark = needs_mounts


who = each_person


UNDO = {
    "umount": "umount $WS/.git/hooks && echo evil > $HOOK",
    "remount": "mount -o remount,bind,rw $WS/.git/hooks && echo evil > $HOOK",
    "mount-setattr": "$PY $TOOL setattr-rw $WS/.git/hooks && echo evil > $HOOK",
    "outside": "mount -o remount,bind,rw / && echo evil > $OUT/kept",
    "mask": "umount $WS/.env && cat .env",
}


@pytest.mark.parametrize("how", UNDO.values(), ids=UNDO)
def test_unsealed_mounts_are_undone_by_root_and_sealed_ones_are_not(how):
    if "root" not in people():
        pytest.skip("needs root: nobody else keeps a capability over an exec")
    with person("root") as root, world(root) as base:
        undone = shell(root, base, how, fence=spec_of(base, unsealed=True))
        assert undone.returncode == 0, f"proves nothing: {undone.stderr}"
    with person("root") as root, world(root) as base:
        held = shell(root, base, how, fence=spec_of(base))
        assert held.returncode not in (0, 3), held.stdout + held.stderr


@pytest.mark.parametrize("without", ["filter", "rights"])
@pytest.mark.parametrize("how", UNDO.values(), ids=UNDO)
def test_each_part_of_the_seal_holds_alone(how, without):
    """Neither the filter nor the lost capability may be the only thing between root and the mounts."""
    if "root" not in people():
        pytest.skip("needs root: nobody else keeps a capability over an exec")
    with person("root") as root, world(root) as base:
        held = shell(root, base, how, fence=spec_of(base, without=without, landlock=False))
        assert held.returncode not in {0, 3}, held.stdout + held.stderr


def test_nothing_survives_exec_that_could_change_mounts(who):
    with world(who) as base:
        text = "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp)' /proc/self/status"
        done = shell(who, base, text, fence=spec_of(base))
    fields = dict(line.split(":\t") for line in done.stdout.splitlines())
    admin = 1 << 21
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert not int(fields[name], 16) & admin, name
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_root_that_may_not_change_ids_is_fenced_all_the_same(who):
    """As in a container started without CAP_SETUID and CAP_SETGID."""
    if who.uid or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    fewer = "setpriv --bounding-set=-setuid,-setgid --inh-caps=-setuid,-setgid"
    with world(who) as base:
        words = " ".join(
            f"'{word}'" for word in fenced(who, spec_of(base), ["sh", "-c", "id -u; touch f; echo > $HOOK"])
        )
        done = shell(who, base, f"{fewer} {words}")
        assert done.stdout == "0\n", done.stderr
        assert "Read-only file system" in done.stderr
        assert os.path.exists(f"{base}/ws/f")


def test_ids_stay_what_they_were(who):
    with world(who) as base:
        done = shell(who, base, "id -u; id -g; touch mine; stat -c '%u %g' mine", fence=spec_of(base))
    assert done.stdout.split() == [str(who.uid), str(who.gid), str(who.uid), str(who.gid)]


def test_root_keeps_its_work_inside(who):
    if who.uid:
        pytest.skip("needs root: others may not give files away")
    with world(who) as base:
        text = "touch f && chown nobody f && chmod 600 f && su nobody -s /bin/sh -c 'echo x > '$WS/f && cat f"
        done = shell(who, base, text, fence=spec_of(base))
    assert done.stdout == "x\n", done.stderr


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EPERM, "forbids user namespaces"),
        (errno.ENOSPC, "limit of user namespaces"),
        (errno.EACCES, "AppArmor"),
    ],
)
def test_closed_user_namespaces_run_nothing_and_say_why(who, number, says):
    with world(who) as base:
        done = shell(who, base, "touch ran", fence=spec_of(base, close_userns=number))
        assert done.returncode == 3
        assert says in done.stderr
        assert "unshare" in done.stderr
        listing = shell(who, base, "ls")
        assert "ran" not in listing.stdout.split()


def test_the_limit_of_user_namespaces_is_named(who):
    """The real sysctl, in a user namespace of our own so that the machine's is left alone."""
    inner = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    with world(who) as base:
        command = fenced(who, spec_of(base), ["touch", "ran"])
        words = " ".join(f"'{word}'" for word in command)
        done = shell(who, base, f"unshare -r sh -c '{inner}' start {words.replace(chr(39), chr(39))}")
    assert done.returncode == 3, done.stderr
    assert "max_user_namespaces is 0" in done.stderr


def test_a_second_fence_inside_the_first_is_refused_with_the_reason(who):
    with world(who) as base:
        spec = spec_of(base)
        words = " ".join(f"'{word}'" for word in fenced(who, spec, ["touch", "ran"]))
        done = shell(who, base, words, fence=spec)
        assert done.returncode == 3
        assert "max_mnt_namespaces is 0" in done.stderr


def test_a_program_may_build_a_user_namespace_but_no_mounts(who):
    with world(who) as base:
        done = shell(who, base, "unshare -r id -u && unshare -rm true", fence=spec_of(base))
        assert done.stdout == "0\n"
        assert done.returncode != 0
        assert "No space left" in done.stderr or "not permitted" in done.stderr
