"""What is enough, and what a child tells its parent."""

from __future__ import annotations

import itertools

import pytest

from ringfence.enforce.report import accepts, decode, encode, without_engine
from ringfence.errors import KernelCallError
from ringfence.model import (
    STRENGTH_ORDER,
    Access,
    Confinement,
    EnforcementReport,
    Rule,
    RuleStrength,
    Strength,
    Zone,
    ZoneKind,
)


def held(strength, boundary=False, name="r"):
    return RuleStrength(Rule(name, "test"), "/p", strength, "why", boundary)


def report(*rules):
    return EnforcementReport("landlock", "detail", rules, ("note",))


@pytest.mark.parametrize(("got", "minimum"), list(itertools.product(Strength, Strength)))
def test_a_boundary_rule_must_reach_the_minimum(got, minimum):
    short = accepts(report(held(got, boundary=True)), minimum, strict=False)
    assert bool(short) == (STRENGTH_ORDER[got] < STRENGTH_ORDER[minimum])


@pytest.mark.parametrize("strict", [False, True])
def test_guards_count_only_when_strict(strict):
    guard = held(Strength.HOOK)
    assert accepts(report(held(Strength.KERNEL, boundary=True), guard), Strength.KERNEL, strict) == (
        (guard,) if strict else ()
    )


@pytest.mark.parametrize("rules", [(), (held(Strength.KERNEL),)])
@pytest.mark.parametrize("minimum", list(Strength))
def test_a_report_without_a_boundary_is_never_enough(rules, minimum):
    (short,) = accepts(report(*rules), minimum, strict=False)
    assert short.boundary


def test_strict_never_accepts_more():
    for strengths in itertools.product(Strength, repeat=2):
        rules = (held(strengths[0], boundary=True), held(strengths[1]))
        for minimum in Strength:
            relaxed = set(accepts(report(*rules), minimum, strict=False))
            assert relaxed <= set(accepts(report(*rules), minimum, strict=True))


def test_without_an_engine_every_rule_is_the_hooks():
    zones = tuple(
        Zone(f"/{kind}", Access.READ, kind, Rule(str(kind), "test"))
        for kind in (ZoneKind.WORKSPACE, ZoneKind.PROTECT, ZoneKind.GUARD)
    )
    made = without_engine(Confinement(zones[:1], (), zones[1:2], zones[2:], (), "anywhere"), "why")
    assert {(rule.subject, rule.strength, rule.boundary) for rule in made.rules} == {
        ("/workspace", Strength.HOOK, True),
        ("/protect", Strength.HOOK, True),
        ("/guard", Strength.HOOK, False),
    }
    assert accepts(made, Strength.HOOK, strict=True) == ()
    assert len(accepts(made, Strength.KERNEL, strict=False)) == 2


def test_a_report_crosses_the_pipe_unchanged():
    full = report(held(Strength.KERNEL, boundary=True), held(Strength.AFTER, name="\udcff/x"))
    told = decode(encode(full))
    assert told == full
    assert told.rules[0].strength is Strength.KERNEL


def test_a_failure_crosses_the_pipe_with_its_hint():
    failed = KernelCallError("landlock_add_rule", 9, "granting \udcff")
    failed.hint = "do this"
    told = decode(encode(failed))
    assert isinstance(told, KernelCallError)
    assert (told.call, told.errno, told.doing, told.hint) == (
        "landlock_add_rule",
        9,
        "granting \udcff",
        "do this",
    )
    assert str(told) == str(failed)


def test_half_a_message_is_an_error_not_a_report():
    raw = encode(report(held(Strength.KERNEL, boundary=True)))
    for size in range(len(raw)):
        with pytest.raises((EOFError, ValueError, TypeError)):
            decode(raw[:size])
