"""Findings as SARIF 2.1.0 (OASIS), the form that code-scanning pages read. Streamed: results first, rules last.

JSON objects have no order, so `results` may stand before `tool`; memory stays flat whatever the number of findings.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from ringfence.model import Verdict
from ringfence.proposals import Malformed, asked
from ringfence.render.findings import sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.proposals import Finding, Summary

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Verdict.DENY: "error", Verdict.ASK: "warning", Verdict.ALLOW: "none"}
_LONGEST = 1000  # characters of a command in a message; pages cut earlier


class Sarif:
    """One run. `version` is ringfence's own; `words` what a rule's id means, for those that are known."""

    late = False

    def __init__(self, version: str) -> None:
        self._version = version
        self._rules: dict[str, str] = {}
        self._first = True

    def head(self, summary: Summary | None) -> str:
        del summary
        return f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{{"results": ['

    def finding(self, finding: Finding) -> str:
        record, decision = finding.record, finding.decision
        level = _LEVELS[decision.verdict]
        text = decision.message
        if not isinstance(record, Malformed):
            text = f"{asked(record)[:_LONGEST]}: {text}"
        if decision.hint:
            text += f". {decision.hint}"
        return self.result(
            decision.code,
            level,
            text,
            record.source,
            record.line,
            {
                "verdict": str(decision.verdict),
                "op": str(decision.op),
                "path": decision.path,
                "rule": str(decision.rule),
            },
        )

    def result(
        self, code: str, level: str, text: str, source: str, line: int, more: dict[str, object]
    ) -> str:
        """One result, with the comma that it needs."""
        self._rules.setdefault(code, level)
        where: dict[str, object] = {"artifactLocation": {"uri": _uri(source)}}
        if line:
            where["region"] = {"startLine": line}
        value = {
            "ruleId": code,
            "level": level,
            "kind": "pass" if level == "none" else "fail",
            "message": {"text": _clean(text)},
            "locations": [{"physicalLocation": where}],
            "properties": {
                key: _clean(item) if isinstance(item, str) else item for key, item in more.items()
            },
        }
        lead = "\n" if self._first else ",\n"
        self._first = False
        return lead + json.dumps(value, ensure_ascii=True)

    def tail(self, summary: Summary) -> str:
        return self.end(sentence(summary), complete=summary.complete)

    def end(self, said: str, *, complete: bool) -> str:
        """The rest of the run: the rules that were met, and whether everything was judged."""
        rules = [
            {
                "id": code,
                "shortDescription": {"text": _meaning(code)},
                "defaultConfiguration": {"level": level},
            }
            for code, level in sorted(self._rules.items())
        ]
        driver = {"name": "ringfence", "version": self._version, "rules": rules}
        invocation = {
            "executionSuccessful": complete,
            "toolExecutionNotifications": [{"level": "note", "message": {"text": _clean(said)}}],
        }
        run = {"tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints"}
        return "\n], " + json.dumps(run, ensure_ascii=True)[1:-1] + "}]}\n"


def _meaning(code: str) -> str:
    return {
        "outside.write": "A write outside the workspace",
        "outside.read": "A read outside the workspace and every readable zone",
        "protected.checkout": "A change to a protected checkout",
        "root.holds": "A root that the policy names would be taken away",
        "hardlink.outside": "A write to a file that has another name outside the fence",
        "hardlink.protected": "A write to a file that has another name in a protected place",
        "magic.procfs": "A door of procfs, which means another object to every process",
        "zone.none": "A place that the policy closes",
        "zone.read-only": "A write to a place that the policy makes read-only",
        "invalid.record": "A record that cannot be read, so nothing was judged",
    }.get(code, _by_family(code))


def _by_family(code: str) -> str:
    family = code.partition(".")[0]
    return {
        "guard": "A change to a file that a later unfenced program would run or obey",
        "invalid": "A path that means nothing here or cannot be resolved",
        "opaque": "A command whose text does not tell what it touches",
        "allow": "Allowed",
        "deny": "Refused by the policy",
        "tree": "Something in the tree already breaks the fence",
    }.get(family, code)


def _uri(source: str) -> str:
    """A relative reference, or `file:` for an absolute path (RFC 8089); odd bytes percent-encoded."""
    raw = _bytes(source.strip("<>"))
    text = quote(raw, safe="/-._~")
    return f"file://{text}" if text.startswith("/") else text.removeprefix("./")


def _clean(text: str) -> str:
    """Lone surrogates are no Unicode text: shown as their bytes, or as what they are."""
    return _bytes(text).decode("utf-8", "backslashreplace")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return text.encode("utf-8", "backslashreplace")
