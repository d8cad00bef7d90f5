"""A Policy as plain lists, and back: what a snapshot keeps. Hot; a test holds the round trip."""

from __future__ import annotations

from ringfence.model import (
    Access,
    Audience,
    Folders,
    Glob,
    Policy,
    Rule,
    Strength,
    Verdict,
    Worktree,
    Zone,
    ZoneKind,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def to_plain(policy: Policy) -> list[Any]:
    """Only strings, numbers, booleans and lists. Rules are kept once and named by their place."""
    rules = list(
        dict.fromkeys([z.rule for z in policy.zones] + [g.rule for g in policy.globs] + [policy.default])
    )
    number = {rule: index for index, rule in enumerate(rules)}
    return [
        list(policy.workspace),
        policy.restricted,
        [list(rule) for rule in rules],
        [[z.root, z.access.value, z.kind.value, number[z.rule], z.audience.value] for z in policy.zones],
        [
            [
                g.base,
                g.deep,
                list(g.parts),
                g.access.value,
                g.kind.value,
                number[g.rule],
                g.exact,
                g.audience.value,
            ]
            for g in policy.globs
        ],
        policy.reads,
        policy.shell_reads,
        policy.opaque.value,
        policy.unattended.value,
        policy.minimum.value,
        policy.strict,
        policy.temp,
        policy.caches,
        policy.git_config,
        list(policy.folders),
        number[policy.default],
        list(policy.notes),
        list(policy.helpers),
        [list(each) for each in policy.worktrees],
    ]


def from_plain(plain: list[Any]) -> Policy:
    """Undo `to_plain`. Raises ValueError, TypeError, KeyError or IndexError for anything else."""
    (
        workspace, restricted, raw_rules, raw_zones, raw_globs, reads, shell_reads, opaque, unattended,
        minimum, strict, temp, caches, git_config, folders, default, notes, helpers, worktrees,
    ) = plain  # fmt: skip
    rules = [Rule(*raw) for raw in raw_rules]
    access = {each.value: each for each in Access}
    kinds = {each.value: each for each in ZoneKind}
    audiences = {each.value: each for each in Audience}
    zones = tuple(
        [
            Zone(root, access[granted], kinds[kind], rules[rule], audiences[audience])
            for root, granted, kind, rule, audience in raw_zones
        ]
    )
    globs = tuple(
        [
            Glob(
                base,
                deep,
                tuple(parts),
                access[granted],
                kinds[kind],
                rules[rule],
                exact,
                audiences[audience],
            )
            for base, deep, parts, granted, kind, rule, exact, audience in raw_globs
        ]
    )
    return Policy(
        tuple(workspace),
        restricted,
        zones,
        globs,
        reads,
        shell_reads,
        Verdict(opaque),
        Verdict(unattended),
        Strength(minimum),
        strict,
        temp,
        caches,
        git_config,
        Folders(*folders),
        rules[default],
        tuple(notes),
        tuple(helpers),
        tuple([Worktree(*each) for each in worktrees]),
    )
