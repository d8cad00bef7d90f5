"""The Seatbelt profile, by a small reader of it: the last rule that matches decides. Whether macOS agrees is unproven."""

from __future__ import annotations

import itertools
import re

import pytest

from ringfence.enforce import seatbelt
from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind
from tests.support.product import product_fixture  # noqa: F401 - a fixture


def zone(root, access, kind=ZoneKind.GUARD):
    return Zone(root, access, kind, Rule(str(kind), "test"))


WS = zone("/u/ws", Access.WRITE, ZoneKind.WORKSPACE)
PLAN = Confinement(
    writable=(
        WS,
        zone("/u/ws/main/wt", Access.WRITE, ZoneKind.WORKSPACE),
        zone("/t", Access.WRITE, ZoneKind.TEMP),
    ),
    files=("/dev/null", "/x/one"),
    carve_outs=(
        zone("/u/ws/.git/hooks", Access.READ),
        zone("/u/ws/main", Access.READ, ZoneKind.PROTECT),
        zone("/u/ws/.config/ringfence", Access.READ, ZoneKind.OWN),
    ),
    masked=(zone("/u/ws/nest/.env", Access.NONE, ZoneKind.ZONE),),
    absent=(zone("/u/ws/.mcp.json", Access.READ),),
    reads="anywhere",
)


def verdict(text, operation, path):
    """What the profile says: each rule names operations (a trailing `*` is a prefix) and filters; the last one wins."""
    answer = ""
    for line in text.splitlines():
        line = re.sub(r" ; [^)]*$", "", line)
        found = re.fullmatch(r"\((allow|deny) ((?:[a-z-]+\*?\s?)+)(.*)\)", line)
        if not found:
            continue
        names = found[2].split()
        if not any(
            operation == n or n == "default" or (n[-1] == "*" and operation.startswith(n[:-1])) for n in names
        ):
            continue
        filters = re.findall(r'\((literal|subpath) "((?:[^"\\]|\\.)*)"\)', found[3])
        regexes = re.findall(r'\(regex #"([^"]*)"\)', found[3])
        if not filters and not regexes and not found[3]:
            answer = found[1]
        for kind, raw in filters:
            at = re.sub(r"\\(.)", r"\1", raw)
            if path == at or (kind == "subpath" and path.startswith(at.rstrip("/") + "/")):
                answer = found[1]
        if any(re.search(pattern, path) for pattern in regexes):
            answer = found[1]
    return answer


EXPECTED = [
    ("file-write-create", "/u/ws/a", "allow"), ("file-write-data", "/u/ws", "allow"), ("file-write-data", "/u/wsx", "deny"),
    ("file-write-data", "/u/other", "deny"), ("file-write-mode", "/u", "deny"), ("file-write-data", "/dev/null", "allow"),
    ("file-write-data", "/dev/ttys003", "allow"), ("file-write-data", "/x/one", "allow"), ("file-write-data", "/x/two", "deny"),
    ("file-write-data", "/u/ws/.git/hooks/pre-commit", "deny"), ("file-write-create", "/u/ws/.git/hooks", "deny"),
    ("file-write-data", "/u/ws/.git/index", "allow"), ("file-write-unlink", "/u/ws/.git", "deny"),
    ("file-write-unlink", "/u/ws/nest", "deny"), ("file-write-unlink", "/u/ws/src", "allow"),
    ("file-write-data", "/u/ws/main/code", "deny"), ("file-write-data", "/u/ws/main/wt/code", "allow"),
    ("file-read-data", "/u/ws/nest/.env", "deny"), ("file-read-data", "/u/other", "allow"),
    ("file-write-create", "/u/ws/.mcp.json", "deny"), ("file-write-data", "/u/ws/.config/ringfence/ringfence.toml", "deny"),
    ("file-write-data", "/state/trust", "deny"), ("process-exec", "/bin/sh", "allow"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "path", "expected"), EXPECTED)
def test_what_the_profile_says(operation, path, expected):
    assert verdict(seatbelt.profile(PLAN, ("/state",)), operation, path) == expected


def test_the_order_of_the_zones_does_not_matter():
    for writable in itertools.permutations(PLAN.writable):
        for carved in itertools.permutations(PLAN.carve_outs):
            text = seatbelt.profile(PLAN._replace(writable=writable, carve_outs=carved))
            for operation, path, expected in EXPECTED:
                if not path.startswith("/state"):
                    assert verdict(text, operation, path) == expected


def test_our_own_folder_has_the_last_word():
    more = (*PLAN.writable, zone("/u/ws/.config/ringfence/x", Access.WRITE, ZoneKind.ZONE))
    text = seatbelt.profile(PLAN._replace(writable=more), ("/state",))
    assert verdict(text, "file-write-data", "/u/ws/.config/ringfence/x/y") == "deny"
    assert text.splitlines()[-1] == '(deny file-write* (literal "/state") (subpath "/state"))'


def test_a_sessions_temp_and_cache_folders_lie_in_ours_and_stay_writable():
    own = zone("/u/cache", Access.READ, ZoneKind.OWN)
    cache = zone("/u/cache/work/x", Access.WRITE, ZoneKind.CACHE)
    text = seatbelt.profile(
        PLAN._replace(writable=(*PLAN.writable, cache), carve_outs=(*PLAN.carve_outs, own))
    )
    assert verdict(text, "file-write-data", "/u/cache/work/x/pip") == "allow"
    assert verdict(text, "file-write-data", "/u/cache/policy") == "deny"


def test_doctor_prints_it_and_says_that_it_is_unproven(product):
    done = product.run("doctor", "--workspace", product.ws, "--seatbelt")
    assert done.status == 0
    assert f"; {seatbelt.UNPROVEN}" in done.text
    assert f'(allow file-write* (literal "{product.ws}") (subpath "{product.ws}"))' in done.text
    value = product.run("doctor", "--workspace", product.ws, "--seatbelt", "--json").json
    assert (value["engine"], value["unproven"]) == ("seatbelt", seatbelt.UNPROVEN)
    assert re.sub("call-[0-9]+", "", value["profile"]) == re.sub("call-[0-9]+", "", done.text)


def test_reads_confined_to_the_system():
    text = seatbelt.profile(PLAN._replace(reads="system"))
    for path, expected in (
        ("/u/other", "deny"), ("/usr/bin/x", "allow"), ("/u/ws/a", "allow"), ("/u/ws/nest/.env", "deny"), ("/", "allow"),
    ):  # fmt: skip
        assert verdict(text, "file-read-data", path) == expected
    assert verdict(text, "file-read-metadata", "/u/other") == "allow"


def test_names_are_quoted_and_what_cannot_be_named_is_refused():
    odd = zone('/u/a"b\\c', Access.WRITE, ZoneKind.WORKSPACE)
    text = seatbelt.profile(PLAN._replace(writable=(odd,)))
    assert verdict(text, "file-write-data", '/u/a"b\\c/x') == "allow"
    assert text.count('"/u/a\\"b\\\\c"') == 2
    for bad in ("/u/a\nb", "/u/\udcff", "/u/\x00"):
        with pytest.raises(ValueError, match="cannot name"):
            seatbelt.profile(PLAN._replace(writable=(zone(bad, Access.WRITE),)))


def test_it_says_that_it_is_unproven():
    assert f"; {seatbelt.UNPROVEN}" in seatbelt.profile(PLAN).splitlines()[:2]


def test_brackets_are_balanced():
    for line in re.sub(r'"(?:[^"\\]|\\.)*"', '""', seatbelt.profile(PLAN)).splitlines():
        assert line.startswith(";") or line.partition(" ;")[0].count("(") == line.partition(" ;")[0].count(
            ")"
        )
