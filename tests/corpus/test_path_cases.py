"""Every row of the path corpus: asked of the fence on each backend, asked on a fake disk of its own platform, and
done without a fence to see that it is true.
"""

from __future__ import annotations

import os
import shutil

import pytest

from ringfence.decide import Index, judge
from ringfence.model import (
    Access,
    Folders,
    Located,
    Op,
    Policy,
    Rule,
    Strength,
    Unresolved,
    Verdict,
    Zone,
    ZoneKind,
)
from ringfence.pipelines import fence as pipeline
from ringfence.resolve import spell
from ringfence.resolve.descriptor import ProcUnavailableError
from ringfence.resolve.folding import FOLDS
from ringfence.resolve.walk import locate_walk
from ringfence.resolve.windows import absolute_windows, locate_windows
from tests.support import cases

CASES = cases.load()
REAL = [c for c in CASES if c.platform in ("posix", "linux")]
# Second names of a file are looked for by the fence, doors and devices are the real system's.
FAKE = [
    case
    for case in CASES
    if cases.needs(case) <= cases.FAKE_VERBS
    and case.kind not in ("proc", "device", "long", "bytes", "git-dir")
    and case.policy != "guarded"
]
HAS_GIT = shutil.which("git") is not None
FOLLOWS = ("read", "write", "create")


def named(rows):
    return {"argvalues": rows, "ids": [row.id for row in rows]}


@pytest.fixture
def root(tmp_path):
    """A short root whose own name holds no link, removed with whatever a row left in it."""
    path = os.path.realpath(tmp_path) + "/r"
    os.mkdir(path)
    yield path
    cases.wipe(path)


@pytest.fixture(params=["descriptor", "walk"])
def backend(request, monkeypatch):
    if request.param == "walk":

        def no_proc(path, follow_leaf):
            raise ProcUnavailableError(2, "no /proc here")

        monkeypatch.setattr(pipeline, "locate", no_proc)
        monkeypatch.setattr(pipeline, "is_plain_file", lambda path: False)
    return request.param


def ready(case, root):
    if {"git", "worktree"} & cases.needs(case) and not HAS_GIT:
        pytest.skip("git is not installed")
    cases.build(case, root)


def word(decision):
    """`allow`, `deny` or `error` (refused because it cannot be resolved)."""
    if decision.verdict is Verdict.DENY and decision.code.startswith("invalid."):
        return "error"
    return decision.verdict.value


def agrees(case, got):
    # A refusal with the wrong message is still a refusal; 0 bypasses and 0 false blocks is the bar.
    return got == case.expect or (case.expect == "deny" and got == "error")


@pytest.mark.parametrize("case", **named(REAL))
def test_fence(case, backend, root):
    ready(case, root)
    fence = pipeline.Fence(
        cases.below(case.workspace, root),
        [cases.below(field, root) for field in case.protected],
        reads="anywhere",
        temp="none",
        env={} if case.home is None else {"HOME": case.home and cases.below(case.home, root)},
        cwd=root,
    )
    decision = fence.check(cases.put(case.path, root), Op(case.op), cwd=cases.below(case.cwd, root))
    assert agrees(case, word(decision)), (case.why, decision)


def absolute(case, text, root):
    home = None if case.home is None else case.home and cases.below(case.home, root, case.platform)
    cwd = cases.below(case.cwd, root, case.platform)
    return (absolute_windows if case.platform == "windows" else spell.absolute)(text, cwd, home)


def on_disk(whole, follow, platform, disk):
    if platform == "windows":
        return locate_windows(whole, follow, drives=("C:",), os_module=disk)
    return locate_walk(whole, follow, flavour="darwin" if platform == "darwin" else "linux", os_module=disk)


@pytest.mark.parametrize("case", **named(FAKE))
def test_fake_disk(case):
    """Resolver, fold and decision in the flavour of the row, whatever system the test runs on."""
    disk = cases.build_fake(case)
    root = cases.FAKE_ROOT[case.platform]

    def zone(field, access, kind):
        site = on_disk(
            absolute(case, cases.below(field, root, case.platform), root), True, case.platform, disk
        )
        assert isinstance(site, Located), field
        return Zone(site.path, access, kind, Rule(kind.value, "test"))

    zones = [zone(case.workspace, Access.WRITE, ZoneKind.WORKSPACE)]
    zones += [zone(field, Access.READ, ZoneKind.PROTECT) for field in case.protected]
    whole = absolute(case, cases.put(case.path, root, case.platform), root)
    site = whole
    if not isinstance(whole, Unresolved):
        site = on_disk(whole, case.op in FOLLOWS, case.platform, disk)
    fold = FOLDS.get(case.platform)
    assert agrees(case, word(judge(Index(policy(zones), fold), Op(case.op), site))), (case.why, site)


def policy(zones):
    folders = Folders("/nonexistent/c", "/nonexistent/s", "/nonexistent/k", "/nonexistent/r")
    return Policy(
        workspace=(zones[0].root,),
        restricted=True,
        zones=tuple(zones),
        globs=(),
        reads="anywhere",
        shell_reads="anywhere",
        opaque=Verdict.ASK,
        unattended=Verdict.DENY,
        minimum=Strength.HOOK,
        strict=False,
        temp="none",
        caches="none",
        git_config="vet",
        folders=folders,
        default=Rule("default", "test"),
    )


@pytest.mark.parametrize("case", **named(REAL))
def test_row_is_true(case, root):
    """Done without a fence, a `deny` changes what it must not, an `allow` does not, an `error` fails."""
    if case.policy == "guarded":
        pytest.skip("a guard stops what git would do later, which is not a change to see here")
    ready(case, root)
    whole = absolute(case, cases.put(case.path, root), root)
    if isinstance(whole, Unresolved):
        assert case.expect == "error"
        return
    site = locate_walk(whole, case.op in FOLLOWS)
    if site == spell.ENCODING:
        assert case.expect == "error"  # no bytes, so no call to make
        return
    if isinstance(site, Located) and not (site.path + "/").startswith(root + "/"):
        pytest.skip("lands outside the temp root: not done here")
    seen = cases.act(case, root, cases.raw(whole))
    denied = seen.denied
    if case.kind == "two-readings":
        cases.wipe(root)
        os.mkdir(root)
        ready(case, root)
        denied = denied + cases.act(case, root, cases.raw(os.path.normpath(whole))).denied
    if case.expect == "error":
        assert seen.failed is not None
        assert not denied
    elif case.op == "read":
        assert not seen.changed
    elif case.expect == "allow":
        assert not denied
        assert seen.failed is None
    else:
        assert denied, seen
