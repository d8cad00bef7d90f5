"""What `policy show`, `policy check`, `policy schema` and the reference tell."""

from __future__ import annotations

import json
import os

import pytest

from ringfence.policy import expectations, reference, show
from ringfence.policy.guards import GUARD_IDS
from ringfence.policy.schema import KEYS, TABLES
from tests.support.policy_rig import Rig, ask

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def test_every_value_with_its_place(rig):
    rig.user('opaque = "deny"\nunguard = ["husky"]\n[[zone]]\npath = "**/.env"\naccess = "none"\n')
    rig.project('reads = "anywhere"\nprotect = ["keep"]\ngit_config = "guard"\n')
    rows = show.show(rig.load(workspace=(".",)))
    found = [tuple(rig.short(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]
    user = "@/home/.config/ringfence/ringfence.toml"
    project = "@/ws/ringfence.toml"
    for row in [
        ("setting", "restricted", "true", "flags and workspace", 0),
        ("setting", "reads", "workspace", "built in", 0),
        ("setting", "opaque", "deny", user, 1),
        ("setting", "git_config", "guard", project, 3),
        ("workspace", "@/ws", "write", "--workspace", 0),
        ("protect", "@/ws/keep", "read", project, 2),
        ("zone", "/**/.env", "none", user, 4),
        ("own", "@/home/.cache/ringfence", "read", "built in", 0),
        ("git", "@/ws", "none", "looked at", 0),
        ("guard", "husky", "off", user, 2),
        ("guard", "git-hooks", "read", "built in", 0),
        ("guard", "user-settings", "nothing to guard here", "built in", 0),
        ("left out", 'reads = "anywhere"', "it widens the fence and the file is not trusted", project, 1),
        ("file", project, "project file, not trusted", project, 0),
        ("file", user, "user file", user, 0),
        ("file", "@/site/ringfence.toml", "not there", "@/site/ringfence.toml", 0),
    ]:
        assert row in found
    assert [row.name for row in rows if row.what == "guard"] == list(GUARD_IDS)


def test_an_opened_git_config_is_shown_with_its_place(rig):
    rig.user('git_config = "open"')
    rows = {row.name: row for row in show.show(rig.load(workspace=(".",))) if row.what == "guard"}
    assert (rows["git-config"].value, rows["git-config"].line) == ("off", 1)


def test_expectations_are_judged_as_an_agent_would_be(rig):
    rig.project(
        '[[test]]\npath = "a"\nop = "write"\nexpect = "allow"\n'
        '[[test]]\npath = "ringfence.toml"\nop = "write"\nexpect = "allow"\n'
        '[[test]]\npath = "x"\nop = "read"\nexpect = "deny"\ncwd = "../main"\n'
    )
    loaded = rig.load(workspace=(".",))
    outcomes = expectations.run(
        loaded.compiled.tests, lambda op, path, cwd: ask(loaded.policy, op, os.path.join(cwd, path))
    )
    assert [outcome.passed for outcome in outcomes] == [True, False, True]
    assert rig.short(outcomes[0]) == "@/ws/ringfence.toml:2: write a: allow, as expected"
    assert rig.short(outcomes[1]).startswith(
        "@/ws/ringfence.toml:6: write ringfence.toml: expected allow, got deny (guard.own-config): "
    )


def test_the_reference_in_the_docs_is_the_written_one():
    """If this fails: write ringfence.policy.reference.markdown() to docs/policy.md."""
    with open(os.path.join(ROOT, "docs", "policy.md"), encoding="utf-8") as file:
        assert file.read() == reference.markdown()


def test_the_reference_names_everything():
    text = reference.markdown()
    for key in KEYS:
        assert f"### `{key.name}`" in text
    for fields in TABLES.values():
        for field in fields:
            assert f"| `{field.name}` |" in text
    for guard in GUARD_IDS:
        assert f"| `{guard}` |" in text


def test_the_schema_is_json_and_has_every_key():
    schema = json.loads(json.dumps(reference.json_schema()))
    assert list(schema["properties"]) == [key.name for key in KEYS]
    assert schema["properties"]["reads"]["enum"] == ["workspace", "anywhere"]
    assert schema["properties"]["zone"]["items"]["required"] == ["path", "access"]
    assert schema["properties"]["unguard"]["items"]["enum"] == list(GUARD_IDS)
