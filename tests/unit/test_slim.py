"""The bundle's code leaves out what no door looks at, and nothing else."""

from __future__ import annotations

import traceback

import pytest

from ringfence.slim import compiled

SOURCE = b'''"""A docstring."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nowhere import Nothing
else:
    Nothing = "at run time"

if sys.byteorder:
    chosen: Nothing = 1


class Point(tuple):
    """Another."""

    x: Missing
    y: int = 2


def outer(a: Missing, *rest: Missing, b: int = 3, **more: Missing) -> Missing:
    """And another."""
    def inner(c: Missing) -> Missing:
        if TYPE_CHECKING:
            from nowhere import Nothing
        assert c, "left out"
        return c

    return inner(a), rest, b, more


def fails():
    raise ValueError("here")
'''


@pytest.fixture(name="made", scope="module")
def _made():
    names = {}
    exec(compiled(SOURCE, "/a/module.py"), names)
    return names


def test_what_runs_is_the_same(made):
    assert made["Nothing"] == "at run time"
    assert made["chosen"] == 1
    assert made["outer"](0, 1, z=2) == (0, (1,), 3, {"z": 2})


def test_what_is_left_out(made):
    assert made.get("__doc__") is made["Point"].__doc__ is made["outer"].__doc__ is None
    assert made["outer"].__annotations__ == {}
    assert "annotations" not in made
    assert "nowhere" not in made["outer"].__code__.co_consts


def test_the_fields_of_records_stay(made):
    assert made["Point"].__annotations__ == {"x": "Missing", "y": "int"}
    assert made["Point"].y == 2


def test_a_traceback_names_file_function_and_line(made):
    with pytest.raises(ValueError, match="here") as caught:
        made["fails"]()
    last = traceback.extract_tb(caught.tb)[-1]
    source = SOURCE.split(b"\n")
    assert (last.filename, last.name) == ("/a/module.py", "fails")
    assert source[last.lineno - 1].strip() == b'raise ValueError("here")'
