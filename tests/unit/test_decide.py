"""The decision: pure tables, no file system. Sites are made by hand."""

from __future__ import annotations

import fnmatch
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.decide import Index, glob_reach, holds, judge, judge_names, match_name, nearest, worst
from ringfence.model import (
    Access,
    Audience,
    Decision,
    Folders,
    Glob,
    LinkNames,
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

N, R, W = Access.NONE, Access.READ, Access.WRITE
_DEFAULT = Rule("default", "built in")


def zone(
    root: str, access: Access, kind: ZoneKind = ZoneKind.ZONE, audience: Audience = Audience.ALL
) -> Zone:
    return Zone(root, access, kind, Rule(f"{kind}:{root}", "test"), audience)


def glob(
    base: str, text: str, access: Access, kind: ZoneKind = ZoneKind.ZONE, *, exact: bool = False
) -> Glob:
    deep = text.startswith("**/")
    parts = tuple(text.removeprefix("**/").split("/"))
    return Glob(base, deep, parts, access, kind, Rule(f"{kind}.{text}", "test"), exact)


def policy(
    *entries: Zone | Glob,
    restricted: bool = True,
    reads: str = "workspace",
    workspace: tuple[str, ...] = ("/w",),
) -> Policy:
    return Policy(
        workspace if restricted else (),
        restricted,
        tuple(e for e in entries if isinstance(e, Zone)),
        tuple(e for e in entries if isinstance(e, Glob)),
        reads,
        "anywhere",
        Verdict.ASK,
        Verdict.DENY,
        Strength.KERNEL,
        False,
        "private",
        "private",
        "vet",
        Folders("/h/.config/ringfence", "/h/.local/state/ringfence", "/h/.cache/ringfence", "/run/ringfence"),
        _DEFAULT,
    )


def at(path: str, *, links: int = 1, sink: bool = False, magic: str = "", folded: str = "") -> Located:
    return Located(path, True, False, links, 1, 1, sink, magic, folded)


def code(made: Policy, op: Op, path: str, **site: object) -> str:
    return judge(Index(made), op, at(path, **site)).code


WS = zone("/w", W, ZoneKind.WORKSPACE)
MAIN = zone("/w/main", R, ZoneKind.PROTECT)
TREE = zone("/w/main/wt", W, ZoneKind.WORKSPACE)
HOOKS = zone("/w/.git/hooks", R, ZoneKind.GUARD)._replace(rule=Rule("git-hooks", "built in"))
OWN = zone("/w/own", R, ZoneKind.OWN)
SECRET = zone("/w/secret", N)
DOCS = zone("/docs", R)
ENV = glob("/", "**/.env", N)
PEM = glob("/w", "keys/*.pem", R)
POINTER = glob("/w", "**/.git", R, ZoneKind.GUARD, exact=True)
NESTED = glob("/w", "**/.git/hooks", R, ZoneKind.GUARD)

TABLE = [
    # The longest root wins, component by component.
    ((WS,), Op.WRITE, "/w", "allow.workspace"),
    ((WS,), Op.WRITE, "/w/a/b", "allow.workspace"),
    ((WS,), Op.WRITE, "/w2/a", "outside.write"),
    ((WS,), Op.WRITE, "/", "outside.write"),
    ((WS,), Op.READ, "/w/a", "allow.workspace"),
    ((WS,), Op.READ, "/x", "outside.read"),
    ((WS,), Op.READ, "/ww", "outside.read"),
    ((WS, MAIN), Op.WRITE, "/w/main/a", "protected.checkout"),
    ((WS, MAIN), Op.READ, "/w/main/a", "allow.protect"),
    ((WS, MAIN), Op.WRITE, "/w/mainly", "allow.workspace"),
    ((WS, MAIN, TREE), Op.WRITE, "/w/main/wt/a", "allow.workspace"),
    ((WS, MAIN, TREE), Op.WRITE, "/w/main/wta", "protected.checkout"),
    ((WS, SECRET), Op.READ, "/w/secret/a", "zone.none"),
    ((WS, SECRET), Op.WRITE, "/w/secret", "zone.none"),
    ((WS, SECRET, zone("/w/secret/in", W)), Op.WRITE, "/w/secret/in/x", "allow.zone"),
    ((WS, DOCS), Op.READ, "/docs/a", "allow.zone"),
    ((WS, DOCS), Op.WRITE, "/docs/a", "zone.read-only"),
    ((WS, zone("/", R)), Op.READ, "/x", "allow.zone"),
    ((WS, zone("/", R)), Op.WRITE, "/x", "zone.read-only"),
    ((zone("/", W),), Op.WRITE, "/x", "allow.zone"),
    ((zone("/", N), WS), Op.READ, "/x", "zone.none"),
    ((zone("/", N), WS), Op.READ, "/w/x", "allow.workspace"),
    # Kinds shape the code.
    ((WS, HOOKS), Op.WRITE, "/w/.git/hooks/pre-commit", "guard.git-hooks"),
    ((WS, HOOKS), Op.CREATE, "/w/.git/hooks", "guard.git-hooks"),
    ((WS, HOOKS), Op.METADATA, "/w/.git/hooks", "guard.git-hooks"),
    ((WS, HOOKS), Op.LINK, "/w/.git/hooks/x", "guard.git-hooks"),
    ((WS, OWN), Op.WRITE, "/w/own/x", "guard.own"),
    ((WS, zone("/t", W, ZoneKind.TEMP)), Op.WRITE, "/t/x", "allow.temp"),
    ((WS, zone("/c", W, ZoneKind.CACHE)), Op.WRITE, "/c/x", "allow.cache"),
    ((WS, zone("/s", W, ZoneKind.SCRATCH)), Op.WRITE, "/s/x", "allow.scratch"),
    # A tie goes to the stricter, in either order, zone against zone, glob against zone and glob against glob.
    ((zone("/t", W), zone("/t", R)), Op.WRITE, "/t/x", "zone.read-only"),
    ((zone("/t", R), zone("/t", W)), Op.WRITE, "/t/x", "zone.read-only"),
    ((zone("/t", N), zone("/t", R)), Op.READ, "/t/x", "zone.none"),
    ((zone("/t", R), zone("/t", N)), Op.READ, "/t/x", "zone.none"),
    ((zone("/t", W), zone("/t", N)), Op.WRITE, "/t/x", "zone.none"),
    ((WS, zone("/w", R, ZoneKind.PROTECT)), Op.WRITE, "/w/x", "protected.checkout"),
    ((zone("/w", R, ZoneKind.PROTECT), WS), Op.WRITE, "/w/x", "protected.checkout"),
    ((WS, zone("/w/k", W), glob("/w", "**/k", R)), Op.WRITE, "/w/k/x", "zone.read-only"),
    ((WS, zone("/w/k", R), glob("/w", "**/k", W)), Op.WRITE, "/w/k/x", "zone.read-only"),
    ((WS, glob("/w", "**/k", W), glob("/w", "**/k", N)), Op.READ, "/w/k/x", "zone.none"),
    ((WS, glob("/w", "**/k", N), glob("/w", "**/k", W)), Op.READ, "/w/k/x", "zone.none"),
    ((WS, glob("/w", "**/k*", W), glob("/w", "**/*k", N)), Op.READ, "/w/k/x", "zone.none"),
    # Globs: any depth, within one component, everything below a match, the longest match.
    ((WS, ENV), Op.READ, "/w/.env", "zone.none"),
    ((WS, ENV), Op.READ, "/w/a/b/.env/c", "zone.none"),
    ((WS, ENV), Op.READ, "/w/.envrc", "allow.workspace"),
    ((WS, ENV), Op.READ, "/w/x.env", "allow.workspace"),
    ((WS, ENV), Op.WRITE, "/w/.env", "zone.none"),
    ((WS, ENV, zone("/w/.env/open", W)), Op.WRITE, "/w/.env/open/x", "allow.zone"),
    ((WS, ENV, zone("/w/a", W)), Op.READ, "/w/a/.env", "zone.none"),
    ((WS, PEM), Op.WRITE, "/w/keys/a.pem", "zone.read-only"),
    ((WS, PEM), Op.WRITE, "/w/keys/sub/a.pem", "allow.workspace"),
    ((WS, PEM), Op.WRITE, "/w/x/keys/a.pem", "allow.workspace"),
    ((WS, PEM), Op.WRITE, "/w/keys", "allow.workspace"),
    ((WS, PEM), Op.WRITE, "/keys/a.pem", "outside.write"),
    ((WS, glob("/w", "**/a/**/b", R)), Op.WRITE, "/w/a/b", "zone.read-only"),
    ((WS, glob("/w", "**/a/**/b", R)), Op.WRITE, "/w/x/a/y/z/b/c", "zone.read-only"),
    ((WS, glob("/w", "**/a/**/b", R)), Op.WRITE, "/w/b/a", "allow.workspace"),
    ((WS, glob("/w", "*", R)), Op.WRITE, "/w/a/b", "zone.read-only"),
    ((WS, glob("/w", "*", R)), Op.WRITE, "/w", "allow.workspace"),
    ((WS, glob("/", "*", R)), Op.WRITE, "/x", "zone.read-only"),
    ((WS, POINTER), Op.WRITE, "/w/sub/.git", "guard.**/.git"),
    ((WS, POINTER), Op.WRITE, "/w/sub/.git/index", "allow.workspace"),
    ((WS, NESTED), Op.WRITE, "/w/sub/.git/hooks/x", "guard.**/.git/hooks"),
    # A guard takes writes away and nothing else: it opens no read that another zone closes, and closes none.
    ((WS, HOOKS), Op.READ, "/w/.git/hooks/x", "allow.workspace"),
    ((WS, zone("/w/.git", N), HOOKS), Op.READ, "/w/.git/hooks/x", "zone.none"),
    ((WS, zone("/w/.git", N), NESTED), Op.READ, "/w/.git/hooks/x", "zone.none"),
    ((WS, zone("/w/n", N), zone("/w/n/own", R, ZoneKind.OWN)), Op.READ, "/w/n/own/x", "zone.none"),
    ((zone("/g", R, ZoneKind.GUARD), WS), Op.READ, "/g/x", "outside.read"),
    ((zone("/", R, ZoneKind.GUARD), WS), Op.READ, "/x", "outside.read"),
    ((WS, zone("/w/.git", N), POINTER), Op.READ, "/w/.git", "zone.none"),
    # Deleting or renaming what is or holds a root.
    ((WS,), Op.DELETE, "/w/a", "allow.workspace"),
    ((WS,), Op.DELETE, "/w", "root.holds"),
    ((WS,), Op.RENAME, "/w", "root.holds"),
    ((WS,), Op.DELETE, "/", "root.holds"),
    ((WS, MAIN), Op.RENAME, "/w/main", "root.holds"),
    ((WS, MAIN), Op.DELETE, "/w/main/a", "protected.checkout"),
    ((WS, HOOKS), Op.RENAME, "/w/.git", "root.holds"),
    ((WS, HOOKS), Op.DELETE, "/w/.git/hooks", "root.holds"),
    ((WS, HOOKS), Op.DELETE, "/w/.git/hooks/x", "guard.git-hooks"),
    ((WS, HOOKS), Op.DELETE, "/w/.git/x", "allow.workspace"),
    ((WS, HOOKS), Op.DELETE, "/w/.gi", "allow.workspace"),
    ((WS, NESTED), Op.RENAME, "/w/sub/.git", "root.holds"),
    ((WS, PEM), Op.RENAME, "/w/keys", "root.holds"),
    ((WS, PEM), Op.DELETE, "/w/keys/a.pem", "zone.read-only"),
    ((zone("/a/b/w", W, ZoneKind.WORKSPACE), WS), Op.RENAME, "/a/b", "root.holds"),
    ((zone("/a/bw", W, ZoneKind.WORKSPACE), WS), Op.RENAME, "/a/b", "outside.write"),
    # Doors of procfs mean another object in each process.
    ((zone("/", W),), Op.WRITE, "/proc/self/x", "magic.procfs"),
    ((zone("/", W),), Op.WRITE, "/dev/fd/3", "magic.procfs"),
    ((zone("/", W),), Op.WRITE, "/process", "allow.zone"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "op", "path", "expected"), TABLE)
def test_the_decision(entries, op, path, expected):
    made = policy(*entries)
    assert code(made, op, path) == expected
    # The order of zones does not matter.
    backwards = made._replace(zones=made.zones[::-1], globs=made.globs[::-1])
    assert code(backwards, op, path) == expected


def test_the_code_and_the_verdict_go_together():
    for entries, op, path, expected in TABLE:
        decision = judge(Index(policy(*entries)), op, at(path))
        assert (decision.verdict is Verdict.ALLOW) == expected.startswith("allow."), (path, expected)
        assert decision.op is op
        assert decision.path == path
        if decision.verdict is Verdict.DENY:
            assert path in decision.message


# --- what is not fenced ------------------------------------------------------------------------------


def test_without_a_workspace_only_explicit_rules_stand():
    made = policy(MAIN, SECRET, zone("/w/h", R, ZoneKind.GUARD), restricted=False)
    assert code(made, Op.WRITE, "/x") == "allow.unfenced"
    assert code(made, Op.READ, "/x").startswith("allow.")
    assert code(made, Op.WRITE, "/w/main/x") == "protected.checkout"
    assert code(made, Op.READ, "/w/secret/x") == "zone.none"
    assert code(made, Op.DELETE, "/w") == "root.holds"
    assert code(policy(WS, restricted=False), Op.DELETE, "/w") == "allow.workspace"


def test_reads_anywhere_frees_reads_and_nothing_else():
    made = policy(WS, MAIN, SECRET, reads="anywhere")
    assert code(made, Op.READ, "/x").startswith("allow.")
    assert code(made, Op.READ, "/w/secret/x") == "zone.none"
    assert code(made, Op.WRITE, "/x") == "outside.write"


# --- audiences ---------------------------------------------------------------------------------------


def test_a_rule_for_programs_is_none_for_a_path_in_a_text():
    made = policy(WS, zone("/w/.git", R, audience=Audience.PROGRAMS))
    assert judge(Index(made), Op.WRITE, at("/w/.git/x")).code == "allow.workspace"
    for_programs = judge(Index(made, audience=Audience.PROGRAMS), Op.WRITE, at("/w/.git/x"))
    assert for_programs.code == "zone.read-only"


def test_a_rule_for_texts_stands_in_a_text():
    made = policy(WS, zone("/w/.git/config", R, ZoneKind.GUARD, Audience.TEXT))
    assert judge(Index(made), Op.WRITE, at("/w/.git/config")).verdict is Verdict.DENY


# --- sites -------------------------------------------------------------------------------------------


def test_what_cannot_be_resolved_is_refused_with_its_own_code():
    decision = judge(Index(policy(zone("/", W))), Op.READ, Unresolved("invalid.loop", "it loops"))
    assert (decision.verdict, decision.code, decision.message, decision.path) == (
        Verdict.DENY,
        "invalid.loop",
        "it loops",
        "",
    )


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize(
    ("path", "folded", "allowed"),
    [
        ("/w/a", "/w/b", True),
        ("/w/a", "/x", False),
        ("/x", "/w/a", False),
        ("/w/a", "/w/main", False),
        ("/x", "/y", False),
    ],
)
def test_of_two_readings_the_stricter_counts(op, path, folded, allowed):
    if op is Op.READ:
        made = policy(WS, zone("/w/main", N))
    else:
        made = policy(WS, MAIN)
    decision = judge(Index(made), op, at(path, folded=folded))
    assert (decision.verdict is Verdict.ALLOW) == allowed


def test_the_other_reading_is_no_sink():
    decision = judge(Index(policy(WS)), Op.WRITE, at("/dev/null", sink=True, folded="/x"))
    assert decision.code == "outside.write"


def test_the_null_device_is_a_sink_for_writing_only():
    index = Index(policy(WS))
    assert judge(index, Op.WRITE, at("/dev/null", sink=True)).code == "allow.sink"
    assert judge(index, Op.CREATE, at("/dev/null", sink=True)).code == "allow.sink"
    for op in (Op.DELETE, Op.RENAME, Op.METADATA, Op.LINK):
        assert judge(index, op, at("/dev/null", sink=True)).verdict is Verdict.DENY, op


def test_a_magic_door_is_refused_even_where_it_leads_inside():
    index = Index(policy(WS))
    assert judge(index, Op.WRITE, at("/w/a", magic="fd")).code == "magic.procfs"
    assert judge(index, Op.READ, at("/w/a", magic="fd")).code == "magic.procfs"
    free = Index(policy(WS, reads="anywhere"))
    assert judge(free, Op.READ, at("/w/a", magic="fd")).verdict is Verdict.ALLOW
    masked = Index(policy(WS, SECRET, reads="anywhere"))
    assert judge(masked, Op.READ, at("/w/a", magic="fd")).code == "magic.procfs"
    by_glob = Index(policy(WS, ENV, reads="anywhere"))
    assert judge(by_glob, Op.READ, at("/w/a", magic="fd")).code == "magic.procfs"


# --- hard links --------------------------------------------------------------------------------------

_MADE = Decision(Verdict.ALLOW, "allow.workspace", "/w/a", _DEFAULT, "inside", Op.WRITE)


@pytest.mark.parametrize(
    ("names", "complete", "timed_out", "expected"),
    [
        (("/w/a", "/w/b"), True, False, "allow.workspace"),
        (("/w/a", "/w/main/b"), True, False, "hardlink.protected"),
        (("/w/a", "/x/b"), True, False, "hardlink.protected"),
        (("/w/a", "/w/.git/hooks/b"), True, False, "hardlink.protected"),
        (("/w/a",), False, False, "hardlink.outside"),
        (("/w/a",), False, True, "hardlink.outside"),
        (("/w/main/b",), False, True, "hardlink.protected"),
        ((), False, False, "hardlink.outside"),
    ],
)
def test_every_name_of_a_file_must_be_writable(names, complete, timed_out, expected):
    index = Index(policy(WS, MAIN, HOOKS))
    decision = judge_names(index, Op.WRITE, _MADE, LinkNames(names, complete, timed_out))
    assert decision.code == expected
    if timed_out and expected == "hardlink.outside":
        assert "time ran out" in decision.message


# --- case folding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ["/W", "/w"])
@pytest.mark.parametrize("path", ["/W/A", "/w/a"])
def test_both_sides_are_folded(root, path):
    made = policy(zone(root, W, ZoneKind.WORKSPACE), workspace=(root,))
    folding = Index(made, str.casefold)
    assert judge(folding, Op.WRITE, at(path)).code == "allow.workspace"
    assert judge(Index(made), Op.WRITE, at(path)).code == (
        "allow.workspace" if path.startswith(root) else "outside.write"
    )


def test_a_tie_by_folding_goes_to_the_stricter():
    for pair in (
        (zone("/W", W), zone("/w", R)),
        (zone("/w", R), zone("/W", W)),
        (zone("/W", R), zone("/w", W)),
    ):
        assert judge(Index(policy(*pair), str.casefold), Op.WRITE, at("/w/x")).code == "zone.read-only"


@pytest.mark.parametrize("path", ["/w/.ENV", "/W/.env/x", "/w/a/.Env"])
def test_patterns_are_folded_as_well(path):
    made = policy(WS, glob("/W", "**/.Env", N))
    assert judge(Index(made, str.casefold), Op.READ, at(path)).code == "zone.none"


def test_a_folder_that_holds_a_folded_guard_is_kept():
    made = policy(WS, glob("/W", "**/.Git/Hooks", R, ZoneKind.GUARD))
    assert judge(Index(made, str.casefold), Op.RENAME, at("/w/SUB/.GIT")).code == "root.holds"


def test_a_hard_links_names_are_folded():
    index = Index(policy(WS, zone("/W/Main", R, ZoneKind.PROTECT)), str.casefold)
    assert (
        judge_names(index, Op.WRITE, _MADE, LinkNames(("/w/MAIN/b",), True, False)).code
        == "hardlink.protected"
    )


# --- the worst of several ----------------------------------------------------------------------------


def test_the_strictest_decision_wins_and_nothing_is_no_decision():
    allow, ask, deny = (_MADE._replace(verdict=v) for v in (Verdict.ALLOW, Verdict.ASK, Verdict.DENY))
    assert worst([]) is None
    assert worst([allow, ask, deny, ask]) is deny
    assert worst([allow, ask, allow]) is ask
    first, second = deny._replace(code="first"), deny._replace(code="second")
    assert worst([first, second]) is first
    assert worst(iter([allow])) is allow


# --- laws --------------------------------------------------------------------------------------------

_PATTERN = st.text(alphabet="ab.*?[]!-^", max_size=8)
_NAME = st.text(alphabet="ab.*?[]!-^", max_size=8)


def _by_fnmatch(pattern: str, name: str) -> bool:
    return re.fullmatch(fnmatch.translate(pattern), name, re.DOTALL) is not None


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab.*?", max_size=8), _NAME)
def test_stars_and_question_marks_match_as_fnmatch_does(pattern, name):
    assert match_name(pattern, name) == _by_fnmatch(pattern, name)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a", "b", "*", "?", "."]),
            st.tuples(st.booleans(), st.text(alphabet="abc", min_size=1, max_size=3)).map(
                lambda t: f"[{'!' if t[0] else ''}{t[1]}]"
            ),
            st.sampled_from(["[a-c]", "[!a-b]", "[b-d.]", "[]]", "[!]]", "[]a]", "[a-]", "[-a]"]),
        ),
        max_size=6,
    ).map("".join),
    st.text(alphabet="abcd.]-", max_size=8),
)
def test_sets_match_as_fnmatch_does(pattern, name):
    assert match_name(pattern, name) == _by_fnmatch(pattern, name)


@settings(max_examples=300, deadline=None)
@given(_PATTERN, _NAME)
def test_matching_never_fails_and_a_name_matches_itself_in_brackets(pattern, name):
    match_name(pattern, name)
    quoted = "".join(f"[{c}]" if c in "*?[" else c for c in name)
    assert match_name(quoted, name)


@pytest.mark.parametrize(("name", "matches"), [("a", True), ("]", False), ("a]", False)])
def test_a_bracket_first_in_a_negated_set_is_a_character(name, matches):
    assert _by_fnmatch("[!]]", name) == matches
    assert match_name("[!]]", "a")
    assert match_name("[!]]", name) == matches


def test_a_pattern_of_many_stars_is_quick():
    assert not match_name("*a" * 40 + "b", "a" * 2000)


_ROOTS = st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/ab", "/a/bc", "/b"])
_PATHS = st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/ab", "/ab/c", "/a/bc/d", "/b/x", "/z"])
_ZONES = st.builds(
    zone,
    _ROOTS,
    st.sampled_from([N, R, W]),
    st.sampled_from([ZoneKind.ZONE, ZoneKind.PROTECT, ZoneKind.GUARD]),
)
_GLOBS = st.builds(
    glob,
    st.sampled_from(["/", "/a", "/a/b"]),
    st.sampled_from(["**/b", "**/c", "b", "b/c", "*", "**/?", "**/b/**/d"]),
    st.sampled_from([N, R, W]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(_ZONES, _GLOBS), max_size=5), _PATHS, st.sampled_from(list(Op)), st.randoms())
def test_the_order_of_rules_never_matters(entries, path, op, random):
    shuffled = list(entries)
    random.shuffle(shuffled)
    one = judge(Index(policy(*entries)), op, at(path)).verdict
    assert judge(Index(policy(*shuffled)), op, at(path)).verdict is one


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(_ZONES, _GLOBS), max_size=4),
    st.one_of(_ZONES, _GLOBS),
    _PATHS,
    st.sampled_from(list(Op)),
)
def test_closing_a_tree_never_opens_anything(entries, more, path, op):
    closed = more._replace(access=N)
    if closed.kind is ZoneKind.GUARD:
        closed = closed._replace(kind=ZoneKind.ZONE)
    before = judge(Index(policy(*entries)), op, at(path)).verdict
    after = judge(Index(policy(*entries, closed)), op, at(path)).verdict
    assert after is Verdict.DENY or before is after is Verdict.ALLOW


def _slow_nearest(made: Policy, path: str) -> tuple[int, int]:
    """(length of the governing root, its strictness) by looking at every rule; (-1, 0) for none."""
    best = (-1, 0)
    strict = {N: 2, R: 1, W: 0}
    for each in made.zones:
        if path == each.root or each.root == "/" or path.startswith(each.root + "/"):
            best = max(best, (len(each.root), strict[each.access]))
    for each in made.globs:
        reach = glob_reach(Index(made), each, path)
        if reach >= 0:
            best = max(best, (reach, strict[each.access]))
    return best


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(_ZONES, _GLOBS), max_size=6), _PATHS)
def test_the_index_finds_what_a_plain_look_at_every_rule_finds(entries, path):
    made = policy(*entries)
    found, size = nearest(Index(made), path)
    expected = _slow_nearest(made, path)
    strict = {N: 2, R: 1, W: 0}
    assert (size, strict[found.access] if found else 0) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(_ZONES, min_size=1, max_size=6), _PATHS)
def test_a_folder_holds_a_root_exactly_if_one_lies_at_or_below_it(entries, path):
    made = policy(*entries)
    below = [z for z in made.zones if z.root == path or path == "/" or z.root.startswith(path + "/")]
    assert (holds(Index(made), path) is not None) == bool(below)
