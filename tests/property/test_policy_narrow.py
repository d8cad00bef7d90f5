"""An untrusted project file never widens a fence; a trusted `none` or `protect` never does either."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringfence.decide import Index, judge
from ringfence.model import Folders, Op, Verdict
from ringfence.policy.asked import Flags, Sources
from ringfence.policy.load import load
from ringfence.policy.trust import trust
from ringfence.resolve.descriptor import locate

NAMES = ("a", "b", ".env", "lib")
PLACES = st.builds("/".join, st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
PATTERNS = st.builds(
    "{}{}".format, st.sampled_from(["**/", "a/**/", "*/", "**/a/"]), st.sampled_from([".env", "*", "b", "?"])
)
ROOTS = st.sampled_from(["@/ws/", "@/out/", "@/home/", ""])
PATHS = st.builds("{}{}".format, ROOTS, PLACES | PATTERNS)
ZONES = st.lists(
    st.tuples(PATHS, st.sampled_from(["none", "read", "write"])), max_size=4, unique_by=lambda z: z[0]
)
WORDS = st.fixed_dictionaries(
    {},
    optional={
        "protect": st.lists(
            ROOTS.filter(bool) | PLACES.map("@/out/{}".format) | PLACES.map("@/ws/p{}".format),
            max_size=2,
            unique=True,
        ),
        "reads": st.sampled_from(["workspace", "anywhere"]),
        "unguard": st.lists(st.sampled_from(["git-hooks", "own-config", "claude"]), unique=True),
        "git_config": st.sampled_from(["guard", "vet", "open"]),
    },
)
ASKED = [
    f"@/{root}/{path}"
    for root in ("ws", "out", "home")
    for path in (
        "a",
        "a/b",
        "a/.env",
        "b/a/x",
        "lib/.env/b",
        ".env",
        "a/a/b",
        ".git/hooks/x",
        ".git/config",
        "ringfence.toml",
    )
]
SEVERITY = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def machine(tmp_path):
    base = os.path.realpath(tmp_path)
    for name in ("ws/a/b", "ws/.git/hooks", "out/a", "home", "state", "config"):
        os.makedirs(f"{base}/{name}", mode=0o755)
    return base


def text_of(zones, words, base):
    lines = [f"{key} = {json.dumps(value)}".replace("@", base) for key, value in words.items()]
    taken = {os.path.normpath(path) for path in words.get("protect", ())}
    zones = [zone for zone in zones if os.path.normpath(zone[0]) not in taken]
    for path, access in zones:
        lines += ["[[zone]]", f"path = {json.dumps(path.replace('@', base))}", f'access = "{access}"']
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def verdicts(base, **given_flags):
    folders = Folders(f"{base}/config", f"{base}/state", f"{base}/cache", f"{base}/run")
    flags = Flags(workspace=(f"{base}/ws",), **given_flags)
    policy = load(Sources(flags, {}, base, f"{base}/home", folders), lambda p: locate(p, True)).policy
    index = Index(policy)
    return {
        (op, path): SEVERITY[judge(index, op, locate(path.replace("@", base), op is not Op.DELETE)).verdict]
        for path in ASKED
        for op in (Op.READ, Op.WRITE, Op.DELETE)
    }


def loadable(zones, base, user):
    """Without what one file may not hold: a place twice, and (in the user's) a grant of writing anywhere."""
    folder = f"{base}/config" if user else f"{base}/ws"
    seen = set()
    kept = []
    for path, access in zones:
        place = os.path.normpath(os.path.join(folder, path.replace("@", base)))
        if place not in seen and not (user and access == "write" and path.startswith("**")):
            seen.add(place)
            kept.append((path, access))
    return kept


@FEW
@given(user=ZONES, user_words=WORDS, project=ZONES, project_words=WORDS)
def test_an_untrusted_project_never_widens(machine, user, user_words, project, project_words):
    project_file = f"{machine}/ws/ringfence.toml"
    write(f"{machine}/config/ringfence.toml", text_of(loadable(user, machine, True), user_words, machine))
    write(project_file, "")
    before = verdicts(machine)
    write(project_file, text_of(loadable(project, machine, False), project_words, machine))
    after = verdicts(machine)
    assert [key for key in before if after[key] < before[key]] == []


@FEW
@given(user=ZONES, user_words=WORDS, denied=PLACES, key=st.sampled_from(["protect", "none"]))
def test_adding_a_deny_never_widens(machine, user, user_words, denied, key):
    zones = [z for z in loadable(user, machine, True) if "*" not in z[0] and "?" not in z[0]]
    zones = [z for z in zones if os.path.normpath(z[0]) != f"@/ws/{denied}"]
    config = f"{machine}/config/ringfence.toml"
    write(config, text_of(zones, user_words, machine))
    before = verdicts(machine)
    root = f"{machine}/ws/{denied}"
    if key == "protect":
        after = verdicts(machine, protect=(root,))
    else:
        write(config, text_of([*zones, (root, "none")], user_words, machine))
        after = verdicts(machine)
    # A root inside a narrower one may only be found again by a longer root; `none` and `read` never grant more
    # than the zone around them unless that zone is `none`, which `protect` (reading) is longer than.
    covered = [z[0].replace("@", machine) for z in zones if z[1] == "none"]
    hidden = [c for c in covered if root == c or root.startswith(c + "/")]
    assert [k for k in before if after[k] < before[k] and not (hidden and k[0] is Op.READ)] == []


def test_the_same_file_widens_once_it_is_trusted(machine):
    project_file = f"{machine}/ws/ringfence.toml"
    text = text_of([("@/out", "write")], {"reads": "anywhere", "unguard": ["git-hooks"]}, machine)
    write(project_file, "")
    before = verdicts(machine)
    write(project_file, text)
    assert verdicts(machine) == before
    trust(f"{machine}/state", project_file, text.encode())
    after = verdicts(machine)
    widened = {key for key in before if after[key] < before[key]}
    assert (Op.WRITE, "@/out/a") in widened
    assert (Op.READ, "@/home/a") in widened
    assert (Op.WRITE, "@/ws/.git/hooks/x") in widened
