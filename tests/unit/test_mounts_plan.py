"""Which mounts a confinement needs: laws of the pure part of the mounts engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.enforce.mounts_apply import Built
from ringfence.enforce.mounts_plan import Hold, Pins, Step, is_below, may_write, plan
from ringfence.enforce.mounts_report import of_mounts
from ringfence.enforce.report import accepts
from ringfence.model import Access, Confinement, Rule, Strength, Zone, ZoneKind


def zone(root, access, kind=ZoneKind.ZONE):
    return Zone(root, access, kind, Rule("r", "test"))


def confine(write=(), read=(), hide=(), files=(), absent=(), reads="anywhere"):
    return Confinement(
        tuple(zone(p, Access.WRITE, ZoneKind.WORKSPACE) for p in write),
        tuple(files),
        tuple(zone(p, Access.READ, ZoneKind.GUARD) for p in read),
        tuple(zone(p, Access.NONE) for p in hide),
        tuple(absent),
        reads,
    )


W, R, H, F = Hold.WRITE, Hold.READ, Hold.HIDE, Hold.FILE

CASES = {
    "a root alone": (confine(["/w"]), [("/w", W)], {}),
    "a root in a root says nothing new": (confine(["/w", "/w/x"]), [("/w", W)], {}),
    "a sibling with the same prefix is another root": (confine(["/w", "/w-x"]), [("/w", W), ("/w-x", W)], {}),
    "a guard pins what is between": (
        confine(["/w"], ["/w/.git/hooks"]),
        [("/w", W), ("/w/.git/hooks", R)],
        {"/w": (".git",)},
    ),
    "a guard at the top needs no pin": (confine(["/w"], ["/w/f"]), [("/w", W), ("/w/f", R)], {}),
    "every folder on a deep way is pinned once": (
        confine(["/w"], ["/w/a/b/c", "/w/a/d/e"]),
        [("/w", W), ("/w/a/b/c", R), ("/w/a/d/e", R)],
        {"/w": ("a", "a/b", "a/d")},
    ),
    "read-only outside is so already": (confine(["/w"], ["/x/y"]), [("/w", W)], {}),
    "a root below a protected tree below a root": (
        confine(["/w", "/w/p/x"], ["/w/p"]),
        [("/w", W), ("/w/p", R), ("/w/p/x", W)],
        {},
    ),
    "a root below a protected tree outside": (confine(["/p/x"], ["/p"]), [("/p/x", W)], {}),
    "on a tie the stricter wins": (confine(["/w"], ["/w"]), [], {}),
    "a mask beats both": (confine(["/w"], ["/w"], ["/w"]), [("/w", H)], {}),
    "a mask in a writable tree is pinned": (
        confine(["/w"], hide=["/w/a/.env"]),
        [("/w", W), ("/w/a/.env", H)],
        {"/w": ("a",)},
    ),
    "a mask outside needs no pin": (confine(["/w"], hide=["/s/x"]), [("/s/x", H), ("/w", W)], {}),
    "a read-only tree shown in a mask": (confine(hide=["/s"], read=["/s/r"]), [("/s", H), ("/s/r", R)], {}),
    "one file outside": (confine(["/w"], files=["/o/f"]), [("/o/f", F), ("/w", W)], {}),
    "one file inside is writable already": (confine(["/w"], files=["/w/f"]), [("/w", W)], {}),
    "the whole disk": (confine(["/"], ["/etc"]), [("/", W), ("/etc", R)], {}),
}


@pytest.mark.parametrize(("wanted", "steps", "pins"), CASES.values(), ids=CASES)
def test_plan(wanted, steps, pins):
    made = plan(wanted)
    assert [(step.path, step.hold) for step in made.steps] == steps
    assert {pin.root: pin.folders for pin in made.pins} == pins


def test_what_must_be_copied_before_it_is_hidden_is_early():
    made = plan(confine(["/w", "/s/w"], ["/s/r", "/w/r"], ["/s"], ["/s/f"]))
    assert {step.path for step in made.steps if step.early} == {"/w", "/s/w", "/s/r", "/s/f"}
    assert Step("/w/r", R, early=False) in made.steps


def test_mounts_that_lead_out_stay_read_only_and_are_pinned():
    made = plan(confine(["/w"]), ["/w/a/mnt"])
    assert Step("/w/a/mnt", R, early=False) in made.steps
    assert made.pins == (Pins("/w", ("a",)),)


def test_a_socket_in_a_writable_tree_is_hidden_and_pinned():
    made = plan(
        confine(["/tmp", "/home/u"]),
        (),
        ["/tmp/tmux-7", "/home/u/.docker/run/docker.sock", "/run/docker.sock"],
    )
    assert [step.path for step in made.steps if step.hold is H] == [
        "/home/u/.docker/run/docker.sock", "/run/docker.sock", "/tmp/tmux-7",
    ]  # fmt: skip
    assert made.pins == (Pins("/home/u", (".docker", ".docker/run")),)


paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
groups = st.lists(paths, max_size=4)


@given(groups, groups, groups, paths)
def test_the_innermost_zone_decides_and_the_stricter_on_a_tie(write, read, hide, path):
    made = plan(confine(write, read, hide))
    best, verdict = -1, False
    for roots, may in ((write, True), (read, False), (hide, False)):
        for root in roots:
            if is_below(path, root) and (len(root) > best or (len(root) == best and not may)):
                best, verdict = len(root), may
    assert may_write(made, path) is verdict


@given(groups, groups, groups)
def test_parents_come_before_children_and_order_does_not_matter(write, read, hide):
    made = plan(confine(write, read, hide))
    paths_in_order = [step.path for step in made.steps]
    assert all(
        not is_below(earlier, later)
        for at, earlier in enumerate(paths_in_order)
        for later in paths_in_order[at + 1 :]
    )
    assert plan(confine(write[::-1], read[::-1], hide[::-1])) == made


@given(groups, groups, groups)
def test_every_folder_between_a_root_and_what_it_must_not_lose_is_pinned(write, read, hide):
    made = plan(confine(write, read, hide))
    pinned = {f"{pins.root.rstrip('/')}/{folder}" for pins in made.pins for folder in pins.folders}
    for step in made.steps:
        above = [other for other in made.steps if other is not step and is_below(step.path, other.path)]
        if not above or above[-1].hold is not Hold.WRITE:
            continue
        folder = step.path.rpartition("/")[0]
        while is_below(folder, above[-1].path) and folder != above[-1].path:
            assert folder in pinned
            folder = folder.rpartition("/")[0]


@given(groups, groups, groups, groups)
def test_adding_a_mask_or_a_guard_never_widens(write, read, hide, more):
    before, after = plan(confine(write, read, hide)), plan(confine(write, read + more, hide))
    for path in {*write, *read, *hide, *more}:
        assert may_write(before, path) or not may_write(after, path)


BUILT = Built((), limited=True)


def told(confinement, built=BUILT, no_landlock=""):
    report = of_mounts(confinement, plan(confinement), built, no_landlock, ())
    return report, {rule.subject: rule.strength for rule in report.rules}


def test_everything_that_stands_is_held_by_the_kernel():
    report, strengths = told(confine(["/w"], ["/w/g"], ["/s"]))
    assert set(strengths.values()) == {Strength.KERNEL}
    assert not accepts(report, Strength.KERNEL, strict=True)


def test_a_report_always_has_a_boundary():
    report, _ = told(confine())
    assert not accepts(report, Strength.KERNEL, strict=False)
    assert any(rule.boundary for rule in report.rules)


def test_what_is_absent_or_gone_is_not_claimed():
    absent = (zone("/w/later", Access.READ), zone("/o/later", Access.READ), zone("/w/secret", Access.NONE))
    _, strengths = told(confine(["/w"], ["/w/g"], absent=absent), Built(("/w/g",), limited=True))
    assert strengths["/w/g"] is Strength.AFTER
    assert strengths["/w/later"] is Strength.AFTER
    assert strengths["/o/later"] is Strength.KERNEL
    assert strengths["/w/secret"] is Strength.HOOK


def test_a_workspace_that_is_gone_is_still_held():
    _, strengths = told(confine(["/w"]), Built(("/w",), limited=True))
    assert strengths["/w"] is Strength.KERNEL


def test_without_landlock_the_losses_are_named():
    report, strengths = told(confine(["/w"], reads="system"), no_landlock="no Landlock here")
    assert strengths["reads"] is Strength.HOOK
    assert strengths["named pipes"] is Strength.NOT_HERE
    assert accepts(report, Strength.KERNEL, strict=True)
    assert not accepts(report, Strength.KERNEL, strict=False)


def test_notes_say_what_could_not_be_limited():
    report, _ = told(confine(["/w"]), Built((), limited=False))
    assert any("/proc/sys" in note for note in report.notes)
