"""`ringfence policy show | check | schema | trust`."""

from __future__ import annotations

import os

from ringfence.errors import EXIT_OK, EXIT_REFUSED, PolicyError, UsageError
from ringfence.pipelines import compose
from ringfence.policy import expectations, show, trust
from ringfence.policy.asked import Flags
from ringfence.policy.load import load
from ringfence.policy.read import read
from ringfence.policy.reference import json_schema
from ringfence.policy.texts import FILE_NAME, Layer
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ringfence.model import Decision, Op
    from ringfence.policy.load import Loaded


class Checked(Record):
    """What `policy check` found. `notes` are entries that were left out, with their place."""

    files: tuple[str, ...]
    outcomes: tuple[expectations.Outcome, ...]
    notes: tuple[str, ...]

    @property
    def status(self) -> int:
        return EXIT_OK if all(outcome.passed for outcome in self.outcomes) else EXIT_REFUSED


def load_here(flags: Flags) -> Loaded:
    """The policy for this process, compiled afresh: no snapshot stands between a person and the files."""
    env = compose.process_environment()
    return compose.load_policy(flags, env, compose.process_cwd(), env.get("HOME") or None)


def rows(loaded: Loaded) -> tuple[show.Row, ...]:
    return show.show(loaded)


def check(flags: Flags) -> Checked:
    """Read every file and run every `[[test]]`."""
    from ringfence.pipelines.fence import Fence

    loaded = load_here(flags)
    fence = Fence(policy=loaded.policy, cwd=compose.process_cwd())

    def judge(op: Op, path: str, cwd: str) -> Decision:
        return fence.check(path, op, cwd=cwd)

    files = tuple(
        seen.path for seen in loaded.files if seen.content is not None and seen.path.endswith(".toml")
    )
    return Checked(files, expectations.run(loaded.compiled.tests, judge), loaded.policy.notes)


def schema() -> dict[str, Any]:
    """The policy file's JSON Schema, for editors."""
    return json_schema()


class Trusted(Record):
    """What `policy trust` did. `lets_in` are the entries of the file that count only because it is trusted."""

    path: str
    changed: bool
    lets_in: tuple[tuple[int, str], ...]  # (line, the entry)


def trust_file(path: str, *, forget: bool = False, dry_run: bool = False) -> Trusted:
    """Trust a policy file as it stands. Raises PolicyError if it is no policy file that could be read."""
    env = compose.process_environment()
    cwd = compose.process_cwd()
    home = env.get("HOME") or None
    whole = os.path.join(cwd, path)
    if os.path.isdir(whole):
        whole = os.path.join(whole, FILE_NAME)
    site = compose.resolve(whole)
    physical = getattr(site, "path", "")
    if not physical or not os.path.isfile(physical):
        raise UsageError(f"there is no file {whole}", "name a ringfence.toml, or the folder that holds one")
    with open(physical, "rb") as file:
        content = file.read()
    state = compose.sources(Flags(), env, cwd, home).folders.state
    if not state:
        raise PolicyError(
            "there is no state folder to keep the mark in", physical, hint="set HOME or XDG_STATE_HOME"
        )
    # A file that cannot be taken at its word is not one to trust.
    if not forget:
        read(content, physical, os.path.dirname(physical), home, Layer.PROJECT, trusted=True)
    known = os.path.exists(trust.mark_path(state, physical, content))
    lets_in = () if forget else _left_out(physical, env, home)
    if not dry_run:
        trust.distrust(state, physical, content) if forget else trust.trust(state, physical, content)
    return Trusted(physical, known is forget and not dry_run, lets_in)


def _left_out(physical: str, env: Mapping[str, str], home: str | None) -> tuple[tuple[int, str], ...]:
    """What would not count if nobody had trusted the file: read without the folder that keeps the marks."""
    made = compose.sources(Flags(), env, os.path.dirname(physical), home)
    loaded = load(made._replace(folders=made.folders._replace(state="")), compose.resolve)
    return tuple(
        (each.place.line, each.what) for each in loaded.compiled.left_out if each.place.source == physical
    )
