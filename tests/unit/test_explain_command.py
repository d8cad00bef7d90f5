"""`explain --command`: statements, uses, spans, and the caret under the word that decides."""

from __future__ import annotations

import json

import pytest

from tests.support.product import Product


@pytest.fixture(name="product")
def _product(tmp_path):
    return Product(str(tmp_path))


def explained(product, text, *words, status=1):
    done = product.run("explain", "--workspace", product.ws, "--command", text, *words, cwd=product.ws)
    assert done.status == status, done
    return done.out.decode()


def test_the_caret_stands_under_the_word(product):
    text = "cp a.txt ../b.txt && echo ok"
    lines = explained(product, text).splitlines()
    at = next(i for i, line in enumerate(lines) if "write ../b.txt" in line)
    assert lines[at].strip().startswith("deny")
    shown, caret = lines[at + 1], lines[at + 2]
    assert shown.strip() == text
    assert caret.index("^") - (len(shown) - len(shown.lstrip())) == text.index("../b.txt")
    assert caret.count("^") == len("../b.txt")


def test_statements_in_order_and_by_depth(product):
    text = "cd sub; for i in 1 2; do touch x$i; done | tee out\nif true; then rm -f \u00e9 ../o; fi"
    value = json.loads(explained(product, text, "--json"))
    assert value["version"] == 1
    assert value["text"] == text
    found = [(s["depth"], s["text"].partition("\n")[0]) for s in value["statements"]]
    assert found[0] == (0, "cd sub")
    assert (1, "touch x$i;") in found or (1, "touch x$i") in found
    assert (0, "tee out") in found
    assert any(depth == 1 and head.startswith("rm -f") for depth, head in found)
    uses = [use for s in value["statements"] for use in s["uses"]]
    outside = next(use for use in uses if use["asked"] == "../o" and use["verdict"] == "deny")
    assert text[outside["start"] : outside["end"]] == "../o"  # characters, not bytes
    assert outside["op"] == "delete"


def test_what_the_text_does_not_tell_is_shown_too(product):
    out = explained(product, 'eval "$(cat y)"')
    assert "[opaque.dynamic-code]" in out
    assert "^" in out
    value = json.loads(explained(product, 'eval "$(cat y)"', "--json"))
    assert value["command"]["verdict"] == "ask"
    assert value["statements"][0]["unknowns"][0]["code"] == "opaque.dynamic-code"


@pytest.mark.parametrize("text", ["", "   ", "if", "echo 'x", "a\0b", "echo \u001b[2J > ../x"])
def test_no_text_breaks_it(product, text):
    if "\0" in text:
        pytest.skip("no argument of a process can hold a NUL")
    done = product.run("explain", "--workspace", product.ws, "--command", text, cwd=product.ws)
    assert done.status in {0, 1}
    assert b"\x1b" not in done.out


def test_an_allowed_command_exits_0(product):
    assert "allow" in explained(product, "mkdir -p a/b && touch a/b/c", status=0)
