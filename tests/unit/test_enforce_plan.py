"""The plan is pure: every kernel can be asked about on this one."""

from __future__ import annotations

import itertools

import pytest

from ringfence.enforce import plan as planning
from ringfence.enforce.plan import LandlockPlan, plan
from ringfence.kernel import landlock
from ringfence.model import (
    Access,
    Capabilities,
    Confinement,
    EnforcementReport,
    Rule,
    Strength,
    Zone,
    ZoneKind,
)

ABIS = range(1, landlock.NEWEST_ABI + 1)


def kernel(abi, seccomp=True, why_not=()):
    return Capabilities("linux", abi, True, True, seccomp, True, why_not)


def zone(root, kind=ZoneKind.WORKSPACE, access=Access.WRITE):
    return Zone(root, access, kind, Rule(f"{kind}:{root}", "test"))


def wanted(**fields):
    empty = {
        "writable": (zone("/w"),),
        "files": (),
        "carve_outs": (),
        "masked": (),
        "absent": (),
        "reads": "anywhere",
    }
    return Confinement(**{**empty, **fields})


def strengths(planned):
    report = planned if isinstance(planned, EnforcementReport) else planned.report
    return {held.subject: held.strength for held in report.rules}


def rights(planned, path):
    return {grant.path: grant.rights for grant in planned.grants}.get(path, 0)


# ---- rights by ABI


def test_rights_grow_with_the_abi_and_never_shrink():
    for older, newer in itertools.pairwise(ABIS):
        assert landlock.FS_RIGHTS[older] & ~landlock.FS_RIGHTS[newer] == 0
        assert landlock.SCOPES[older] & ~landlock.SCOPES[newer] == 0


@pytest.mark.parametrize(
    ("right", "since"),
    [(landlock.REFER, 2), (landlock.TRUNCATE, 3), (landlock.IOCTL_DEV, 5), (landlock.MAKE_REG, 1)],
)
def test_each_right_since_its_abi(right, since):
    for abi in ABIS:
        planned = plan(wanted(), kernel(abi))
        assert bool(planned.handled & right) == (abi >= since)
        assert not any(grant.rights & ~planned.handled for grant in planned.grants)


@pytest.mark.parametrize("future", [8, 9, 99])
def test_a_newer_kernel_means_the_newest_abi_named_here(future):
    assert plan(wanted(), kernel(future)) == plan(wanted(), kernel(landlock.NEWEST_ABI))


def test_a_right_that_an_abi_lacks_is_our_bug():
    with pytest.raises(ValueError, match="ABI 2"):
        landlock.create_ruleset(2, landlock.TRUNCATE, 0)
    with pytest.raises(ValueError, match="ABI 5"):
        landlock.create_ruleset(5, 0, landlock.SCOPE_SIGNAL)


def test_signals_are_never_isolated_and_abstract_sockets_as_soon_as_they_can_be():
    for abi in ABIS:
        scoped = plan(wanted(), kernel(abi)).scoped
        assert not scoped & landlock.SCOPE_SIGNAL
        assert bool(scoped & landlock.SCOPE_ABSTRACT_UNIX_SOCKET) == (abi >= 6)


# ---- grants


@pytest.mark.parametrize("abi", ABIS)
@pytest.mark.parametrize("reads", ["anywhere", "system"])
def test_no_grant_makes_device_nodes(abi, reads):
    planned = plan(wanted(reads=reads, files=("/f",)), kernel(abi))
    assert planned.handled & landlock.MAKE_BLOCK
    assert planned.handled & landlock.MAKE_CHAR
    assert not any(grant.rights & (landlock.MAKE_BLOCK | landlock.MAKE_CHAR) for grant in planned.grants)


def test_reads_are_confined_only_when_asked():
    free = plan(wanted(), kernel(7), ("/more",))
    assert not free.handled & landlock.READ_RIGHTS
    assert "/more" not in {grant.path for grant in free.grants}
    confined = plan(wanted(reads="system"), kernel(7), ("/more",))
    assert confined.handled & landlock.READ_RIGHTS == landlock.READ_RIGHTS
    for path in ("/usr", "/etc", "/more", "/w"):
        assert rights(confined, path) & landlock.READ_RIGHTS == landlock.READ_RIGHTS
    for path in ("/usr", "/etc", "/more"):
        assert not rights(confined, path) & ~landlock.READ_RIGHTS
    # Running a program needs reading it, so EXECUTE need not be handled.
    assert not confined.handled & landlock.EXECUTE


def test_a_file_gets_only_rights_that_files_have():
    planned = plan(wanted(files=("/f",)), kernel(7))
    assert rights(planned, "/f")
    assert not rights(planned, "/f") & ~landlock.FILE_RIGHTS
    for device in planning.DEVICES:
        assert rights(planned, device) & landlock.IOCTL_DEV
        assert not rights(planned, device) & ~landlock.FILE_RIGHTS


def test_terminals_can_be_written_and_controlled_but_none_made():
    granted = rights(plan(wanted(), kernel(7)), "/dev/pts")
    assert granted & landlock.WRITE_FILE
    assert granted & landlock.IOCTL_DEV
    assert not granted & (landlock.MAKE_REG | landlock.REMOVE_FILE)


@pytest.mark.parametrize(
    ("root", "controlled"),
    [("/w", False), ("/dev/dri", True), ("/dev", True), ("/", True), ("/devel", False)],
)
def test_ioctl_goes_with_trees_of_devices(root, controlled):
    assert (
        bool(rights(plan(wanted(writable=(zone(root),)), kernel(7)), root) & landlock.IOCTL_DEV) == controlled
    )


def test_a_path_named_twice_keeps_both_sets_of_rights():
    planned = plan(wanted(writable=(zone("/dev/pts"),), reads="system"), kernel(7))
    assert rights(planned, "/dev/pts") & landlock.MAKE_REG
    assert rights(planned, "/dev/pts") & landlock.IOCTL_DEV
    assert len({grant.path for grant in planned.grants}) == len(planned.grants)


# ---- strengths


@pytest.mark.parametrize("abi", ABIS)
def test_the_boundary_is_the_kernels_from_abi_3(abi):
    planned = plan(wanted(), kernel(abi))
    assert strengths(planned)["/w"] is (Strength.KERNEL if abi >= 3 else Strength.HOOK)
    assert [held.boundary for held in planned.report.rules if held.subject == "/w"] == [True]


def test_grants_beside_the_workspace_are_no_boundary():
    planned = plan(wanted(writable=(zone("/w"), zone("/c", ZoneKind.CACHE))), kernel(7))
    assert {held.subject: held.boundary for held in planned.report.rules}["/c"] is False


def test_there_is_a_boundary_even_if_nothing_may_be_written():
    planned = plan(wanted(writable=()), kernel(7))
    assert [held.strength for held in planned.report.rules if held.boundary] == [Strength.KERNEL]


@pytest.mark.parametrize("kind", [ZoneKind.GUARD, ZoneKind.PROTECT, ZoneKind.ZONE])
@pytest.mark.parametrize("field", ["carve_outs", "absent"])
@pytest.mark.parametrize(
    ("root", "strength"),
    [
        ("/w/a", Strength.HOOK),
        ("/w", Strength.HOOK),
        ("/dev/shm/a", Strength.HOOK),
        ("/wa", Strength.KERNEL),
        ("/", Strength.KERNEL),
    ],
)
def test_a_carve_out_is_the_hooks_below_a_grant_only(root, strength, field, kind):
    planned = plan(wanted(**{field: (zone(root, kind, Access.READ),)}), kernel(7))
    (held,) = [held for held in planned.report.rules if held.rule.id == f"{kind}:{root}"]
    assert held.strength is strength
    assert bool(held.why) == (strength is Strength.HOOK)
    assert held.boundary == (kind is ZoneKind.PROTECT)


@pytest.mark.parametrize(
    ("reads", "root", "strength"),
    [
        ("anywhere", "/m", Strength.HOOK),
        ("system", "/m", Strength.KERNEL),
        ("system", "/w/m", Strength.HOOK),
        ("system", "/etc/m", Strength.HOOK),
        ("system", "/usrs", Strength.KERNEL),
    ],
)
def test_a_mask_is_the_kernels_only_outside_all_that_may_be_read(reads, root, strength):
    planned = plan(wanted(reads=reads, masked=(zone(root, ZoneKind.ZONE, Access.NONE),)), kernel(7))
    assert strengths(planned)[root] is strength


def test_what_no_landlock_holds_is_always_said():
    for abi in ABIS:
        known = strengths(plan(wanted(), kernel(abi)))
        assert known["metadata"] is Strength.HOOK
        assert known["helper processes"] is Strength.NOT_HERE
        assert ("abstract sockets" in known) == (abi < 6)
        assert "terminal input" not in known
        assert strengths(plan(wanted(), kernel(abi, seccomp=False)))["terminal input"] is Strength.NOT_HERE


@pytest.mark.parametrize("reason", ["off at boot", "hidden"])
def test_without_landlock_the_plan_is_an_honest_report(reason):
    confinement = wanted(
        carve_outs=(zone("/w/g", ZoneKind.GUARD, Access.READ),),
        masked=(zone("/m", ZoneKind.ZONE, Access.NONE),),
        reads="system",
    )
    report = plan(confinement, kernel(0, why_not=(("landlock", reason),)))
    assert isinstance(report, EnforcementReport)
    assert (report.engine, report.detail) == ("none", reason)
    assert set(strengths(report)) == {"/w", "/w/g", "/m", "reads"}
    assert set(strengths(report).values()) == {Strength.HOOK}


def test_roots_are_compared_by_component():
    assert planning._within("/a/b", "/a")
    assert planning._within("/a", "/a")
    assert planning._within("/a", "/")
    assert not planning._within("/ab", "/a")
    assert not planning._within("/a", "/a/b")


def test_the_plan_carries_its_roots_for_judging_descriptors():
    planned = plan(wanted(carve_outs=(zone("/w/g", ZoneKind.GUARD, Access.READ),)), kernel(7))
    assert isinstance(planned, LandlockPlan)
    assert (planned.writable, planned.read_only) == (("/w",), ("/w/g",))
