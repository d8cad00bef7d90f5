"""doctor tries each rule for real: what holds is shown to hold, and a fence that is not what it says is found out."""

from __future__ import annotations

import os
import subprocess

import pytest

from ringfence.model import Strength
from ringfence.pipelines import proving
from ringfence.policy.asked import Flags
from tests.support.product import HERE, needs_mounts, product_fixture  # noqa: F401 - a fixture

needs_landlock = pytest.mark.skipif(not HERE.landlock, reason=dict(HERE.why_not).get("landlock", ""))


@pytest.fixture(name="stage")
def _stage(product):
    subprocess.run(["git", "init", "-q", product.ws], check=True)
    for name, text in (
        ("ws/src/a", "1"), ("ws/.env", "secret"), ("ws/main/code", "1"), ("ws/.claude/settings.json", "{}"),
        ("ws/ringfence.toml", '[[zone]]\npath = "**/.env"\naccess = "none"\n'),
    ):  # fmt: skip
        product.write(name, text)
    return product


def everything(base):
    found = {}
    for folder, folders, files in os.walk(base):
        for name in (*folders, *files):
            seen = os.lstat(f"{folder}/{name}")
            found[f"{folder}/{name}"] = (seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


def doctor(product, *words):
    done = product.run("doctor", "--workspace", product.ws, "--json", *words)
    return done.status, done.json


@needs_mounts
def test_each_rule_is_tried_and_held_and_nothing_is_changed(stage):
    before = everything(stage.ws)
    status, value = doctor(stage, "--protect", f"{stage.ws}/main")
    assert everything(stage.ws) == before
    assert status == 0, (value["short"], [p for p in value["proofs"] if p["outcome"] == "LANDED"])
    tried = {(proof["rule"], proof["attempt"]) for proof in value["proofs"]}
    assert tried >= {
        ("boundary", "write"), ("boundary", "move"), ("engine.metadata", "metadata"), ("engine.helpers", "connect"),
        ("git-hooks", "write"), ("git-hooks", "move"), ("git-hooks", "metadata"), ("protect", "write"),
        ("protect", "move"), ("zone", "read"), ("own-config", "write"),
    }  # fmt: skip
    assert [proof for proof in value["proofs"] if proof["outcome"] != "held"] == []
    moved = {proof["subject"] for proof in value["proofs"] if proof["attempt"] == "move"}
    assert {f"{stage.ws}/.git", f"{stage.ws}/.git/hooks", f"{stage.ws}/main"} <= moved


@needs_landlock
def test_what_landlock_leaves_open_lands_and_was_said(stage):
    status, value = doctor(stage, "--engine", "landlock")
    assert status == 0, (value["short"], [p for p in value["proofs"] if p["outcome"] == "LANDED"])
    open_ = {
        (proof["rule"], proof["attempt"]) for proof in value["proofs"] if proof["outcome"] == "open, as said"
    }
    assert open_ >= {
        ("git-hooks", "write"),
        ("git-hooks", "move"),
        ("engine.metadata", "metadata"),
        ("zone", "read"),
    }
    assert [proof for proof in value["proofs"] if proof["outcome"] == "LANDED"] == []


@needs_landlock
def test_below_the_minimum_nothing_is_run_and_that_is_said(stage):
    status, value = doctor(stage, "--engine", "landlock", "--protect", f"{stage.ws}/main")
    assert status == 3  # Landlock cannot hold a protected checkout below the workspace
    assert value["short"] == ["protect"]
    assert value["proofs"] == []
    assert any("nothing is proved: ringfence: nothing was run" in note for note in value["notes"])


@needs_mounts
@needs_landlock
def test_a_fence_that_holds_less_than_it_says_is_found_out(stage, monkeypatch):
    """The report of the mounts engine, and behind it only Landlock: a real attempt must tell them apart."""
    from ringfence.pipelines import compose, doctor, session

    for key in [*os.environ]:
        monkeypatch.delenv(key)
    for key, text in stage.env.items():
        monkeypatch.setenv(key, text)
    flags = Flags((stage.ws,))
    policy = session.with_session(
        compose.load_policy(flags, stage.env, stage.ws, stage.home).policy, "call-1"
    )
    session.prepare(policy, "call-1")
    try:
        report, _ = doctor._stand(policy, stage.ws, stage.env, "mounts")
    finally:
        session.end("call-1")
    assert report.engine == "mounts"
    proofs, why = proving.prove(policy, report, flags, "landlock")
    assert why == ""
    broken = {(proof.rule, proof.attempt) for proof in proofs if proof.broken}
    assert broken >= {
        ("git-hooks", "write"),
        ("git-hooks", "move"),
        ("engine.metadata", "metadata"),
        ("zone", "read"),
    }
    found = doctor.Diagnosis((), True, policy.workspace, report, (), proofs, (), ())
    assert found.status == 3


def test_what_does_not_land_without_the_fence_proves_nothing():
    proof = proving.Proof(
        "zone", "read", "/x", unfenced=False, held=False, errno=0, strength=Strength.KERNEL.value
    )
    assert not proof.broken
