"""Our cheap value types against the standard ones they stand for, and where they differ on purpose."""

from __future__ import annotations

import copy
import enum
import pickle
import typing

import pytest

from ringfence.model import Access, Decision, Op, Rule, Verdict, Zone, ZoneKind
from ringfence.records import Choice, Record, assert_never


class Ours(Choice):
    RED = "red"
    DARK_BLUE = "dark blue"


class Theirs(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"


class Mine(Record):
    a: int
    b: str
    c: tuple[int, ...] = ()
    d: str = "x"

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"


class Standard(typing.NamedTuple):
    a: int
    b: str
    c: tuple[int, ...] = ()
    d: str = "x"

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"


class Empty(Record):
    pass


BOTH_CHOICES = pytest.mark.parametrize("kind", [Ours, Theirs])
BOTH_RECORDS = pytest.mark.parametrize("kind", [Mine, Standard])


# --- Choice -----------------------------------------------------------------------------------------


@BOTH_CHOICES
def test_members_have_names_values_and_an_order(kind):
    assert [(m.name, m.value) for m in kind] == [("RED", "red"), ("DARK_BLUE", "dark blue")]
    assert len(kind) == 2
    assert isinstance(kind.RED, kind)


@BOTH_CHOICES
def test_a_value_finds_its_member_and_no_other(kind):
    assert kind("red") is kind.RED
    assert kind(kind.RED) is kind.RED
    for wrong in ("RED", "Red", "", None, 1, ["red"], ("red",)):
        with pytest.raises(ValueError, match=rf"is not a valid {kind.__name__}"):
            kind(wrong)


@BOTH_CHOICES
def test_members_are_single_and_compare_by_identity(kind):
    assert kind.RED == kind("red")
    assert kind.RED != kind.DARK_BLUE
    assert kind.RED != "red"
    assert {kind.RED: 1}[kind("red")] == 1
    assert len({kind.RED, kind.DARK_BLUE, kind("red")}) == 2


def test_members_know_their_kind():
    assert Ours.RED in Ours
    assert Verdict.DENY not in Ours


@BOTH_CHOICES
def test_nothing_about_a_choice_can_be_changed(kind):
    with pytest.raises(AttributeError):
        kind.RED = "green"
    with pytest.raises(AttributeError):
        kind.RED.value = "green"
    with pytest.raises(AttributeError):
        kind.RED.name = "GREEN"
    assert kind.RED.value == "red"


@BOTH_CHOICES
def test_a_member_survives_pickle_and_copy(kind):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(kind.RED, protocol)) is kind.RED  # noqa: S301 - ours
    assert copy.copy(kind.RED) is kind.RED
    assert copy.deepcopy([kind.RED])[0] is kind.RED


def test_a_member_prints_as_its_value_and_shows_as_its_name():
    # enum.Enum prints the name; the value is what messages and JSON need, as enum.StrEnum does.
    assert str(Ours.DARK_BLUE) == "dark blue"
    assert f"[{Ours.DARK_BLUE!s:>10}]" == "[ dark blue]"
    assert repr(Ours.DARK_BLUE) == "Ours.DARK_BLUE"


def test_a_value_counts_as_contained_as_in_newer_enums():
    assert "red" in Ours
    assert "green" not in Ours


@pytest.mark.parametrize("kind", [Op, Verdict, Access, ZoneKind])
def test_every_choice_of_the_model_finds_its_members_by_value(kind):
    assert [kind(member.value) for member in kind] == list(kind)
    assert len({member.value for member in kind}) == len(kind) > 1


# --- Record -----------------------------------------------------------------------------------------


@BOTH_RECORDS
def test_fields_by_place_by_name_and_by_default(kind):
    assert kind(1, "b").d == "x"
    assert kind(1, "b", (2,)).c == (2,)
    assert kind(b="b", a=1) == kind(1, "b")
    assert kind(1, "b", d="y") == kind(1, "b", (), "y")
    assert tuple(kind(1, b="b", c=(3,))) == (1, "b", (3,), "x")
    assert kind(1, "b").both == "1b"


@BOTH_RECORDS
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), {}),
        ((1,), {}),
        ((1, "b", (), "x", 5), {}),
        ((1, "b"), {"e": 1}),
        ((1, "b"), {"a": 1}),
        ((1, "b", (), "x"), {"d": "y"}),
        ((), {"a": 1}),
        ((), {"b": "b", "d": "x"}),
        ((1, "b", (), "x", 5), {"e": 1}),
    ],
)
def test_wrong_construction_is_a_type_error(kind, words, named):
    with pytest.raises(TypeError):
        kind(*words, **named)


@BOTH_RECORDS
def test_a_record_is_frozen(kind):
    made = kind(1, "b")
    with pytest.raises(AttributeError):
        made.a = 2
    with pytest.raises(AttributeError):
        del made.a
    assert made == kind(1, "b")


@BOTH_RECORDS
def test_a_record_takes_no_further_attribute(kind):
    with pytest.raises(AttributeError):
        kind(1, "b").new = 2


@BOTH_RECORDS
def test_a_record_is_a_tuple(kind):
    made = kind(1, "b")
    first, *rest = made
    assert (first, rest) == (1, ["b", (), "x"])
    assert len(made) == 4
    assert made[1] == "b"
    assert hash(made) == hash(kind(1, "b"))
    assert made != kind(2, "b")
    assert not made == kind(2, "b")
    assert not made != kind(1, "b")


@BOTH_RECORDS
def test_replacing_makes_another_record(kind):
    made = kind(1, "b")
    assert made._replace(b="c") == kind(1, "c")
    assert made == kind(1, "b")
    assert type(made._replace(b="c")) is kind
    with pytest.raises((TypeError, ValueError)):
        made._replace(nothing=1)


@BOTH_RECORDS
def test_a_record_as_a_dictionary_and_in_words(kind):
    made = kind(1, "b")
    assert made._asdict() == {"a": 1, "b": "b", "c": (), "d": "x"}
    assert kind._fields == ("a", "b", "c", "d")
    assert repr(made) == f"{kind.__name__}(a=1, b='b', c=(), d='x')"


@BOTH_RECORDS
def test_a_record_survives_pickle_and_copy(kind):
    made = kind(1, "b")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(made, protocol))  # noqa: S301 - ours
        assert again == made
        assert type(again) is kind
    assert type(copy.deepcopy(made)) is kind
    assert copy.copy(made) == made


@BOTH_RECORDS
def test_a_record_matches_by_place_and_by_name(kind):
    match kind(1, "b"):
        case Mine(a=a, b=b) | Standard(a=a, b=b):
            assert (a, b) == (1, "b")
        case other:
            pytest.fail(f"no match for {other!r}")


def test_unlike_a_named_tuple_a_record_equals_only_its_own_kind():
    # A site of one kind must never pass for another that happens to hold the same values.
    class Twin(Record):
        a: int
        b: str
        c: tuple[int, ...] = ()
        d: str = "x"

    assert Twin(1, "b") != Mine(1, "b")
    assert Mine(1, "b") != (1, "b", (), "x")
    assert (1, "b", (), "x") != Mine(1, "b")
    assert Standard(1, "b") == (1, "b", (), "x")


def test_an_empty_record():
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"
    with pytest.raises(TypeError):
        Empty(1)


def test_the_models_own_records_keep_their_order():
    # Hot paths build them by place (tuple.__new__); a field that moves would be read as its neighbour.
    assert Decision._fields == ("verdict", "code", "path", "rule", "message", "op", "hint")
    assert Zone._fields == ("root", "access", "kind", "rule", "audience")
    assert str(Rule("id", "file", 3)) == "file:3 (id)"
    assert str(Rule("id", "built in")) == "built in (id)"


def test_an_unhandled_case_is_said_with_its_value():
    with pytest.raises(AssertionError, match="'odd'"):
        assert_never("odd")  # type: ignore[arg-type]
