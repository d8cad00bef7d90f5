"""Every row of the path corpus, judged on each backend, and done without a fence to see that it is true."""

from __future__ import annotations

import os
import shutil

import pytest
from ringfence.decide import Index, judge
from ringfence.model import Access, Folders, Located, Op, Policy, Rule, Strength, Unresolved, Verdict, Zone, ZoneKind
from ringfence.resolve import descriptor, spell
from ringfence.resolve.folding import FOLDS
from ringfence.resolve.walk import locate_walk
from ringfence.resolve.windows import absolute_windows, locate_windows

from tests.support import cases

CASES = cases.load()
REAL = [c for c in CASES if c.platform in ("posix", "linux")]
FAKE = [c for c in CASES if cases.needs(c) <= cases.FAKE_VERBS and c.kind not in ("proc", "device", "long", "bytes")]
HAS_GIT = shutil.which("git") is not None


def named(rows):
    return {"argvalues": rows, "ids": [row.id for row in rows]}


@pytest.fixture
def root(tmp_path):
    """A short root whose own name holds no link, removed with whatever a row left in it."""
    path = os.path.realpath(tmp_path) + "/r"
    os.mkdir(path)
    yield path
    cases.wipe(path)


def located(path, follow, backend, flavour="linux", disk=None):
    if backend == "descriptor":
        return descriptor.locate(path, follow)
    if flavour == "windows":
        return locate_windows(path, follow, drives=("C:",), os_module=disk)
    return locate_walk(path, follow, flavour=flavour, os_module=disk or os)


def absolute(case, text, root):
    home = None if case.home is None else case.home and cases.below(case.home, root, case.platform)
    cwd = cases.below(case.cwd, root, case.platform)
    return (absolute_windows if case.platform == "windows" else spell.absolute)(text, cwd, home)


def verdict(case, root, backend, disk=None):
    """`allow`, `deny` or `error`, by the resolver, the fold and the decision."""
    flavour = "linux" if case.platform == "posix" else case.platform

    def zone(field, access, kind):
        whole = absolute(case, cases.below(field, root, case.platform), root)
        site = located(whole, True, backend, flavour, disk)
        assert isinstance(site, Located), field
        return Zone(site.path, access, kind, Rule(kind.value, "test"))

    zones = [zone(case.workspace, Access.WRITE, ZoneKind.WORKSPACE)]
    zones += [zone(field, Access.READ, ZoneKind.PROTECT) for field in case.protected]
    index = Index(policy(zones), FOLDS[flavour] if flavour != "linux" else None)
    whole = absolute(case, cases.put(case.path, root, case.platform), root)
    op = Op(case.op)
    follow = op not in (Op.DELETE, Op.RENAME)
    site = whole if isinstance(whole, Unresolved) else located(whole, follow, backend, flavour, disk)
    found = judge(index, op, site)
    if found.verdict is Verdict.ALLOW and isinstance(site, Located) and site.links > 1 and op is not Op.READ and follow:
        pytest.skip("the second names of a file are the fence's business")
    if found.verdict is Verdict.DENY and found.code.startswith("invalid."):
        return "error"
    return found.verdict.value


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


def ready(case, root):
    if {"git", "worktree"} & cases.needs(case) and not HAS_GIT:
        pytest.skip("git is not installed")
    if case.policy == "guarded":
        pytest.skip("guards are the policy's business")
    cases.build(case, root)


@pytest.mark.parametrize("backend", ["descriptor", "walk"])
@pytest.mark.parametrize("case", **named(REAL))
def test_real_tree(case, backend, root):
    ready(case, root)
    got = verdict(case, root, backend)
    assert got == case.expect or (case.expect == "deny" and got == "error"), case.why


@pytest.mark.parametrize("case", **named(FAKE))
def test_fake_disk(case):
    disk = cases.build_fake(case)
    got = verdict(case, cases.FAKE_ROOT[case.platform], "walk", disk)
    assert got == case.expect or (case.expect == "deny" and got == "error"), case.why


@pytest.mark.parametrize("case", **named(REAL))
def test_row_is_true(case, root):
    """Done without a fence, a `deny` changes what it must not, an `allow` does not, an `error` fails."""
    ready(case, root)
    whole = absolute(case, cases.put(case.path, root), root)
    if isinstance(whole, Unresolved):
        assert case.expect == "error"
        return
    follow = case.op not in ("delete", "rename")
    site = locate_walk(whole, follow)
    if isinstance(site, Located) and not (site.path + "/").startswith(root + "/"):
        pytest.skip("lands outside the temp root: not done here")
    seen = cases.act(case, root, cases.raw(whole))
    if case.expect == "error":
        assert seen.failed is not None
        assert not seen.changed
    elif case.op == "read":
        assert not seen.changed
    elif case.expect == "allow":
        assert not seen.denied
        assert seen.failed is None
    else:
        assert seen.denied, seen
