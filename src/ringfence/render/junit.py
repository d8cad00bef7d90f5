"""Findings as JUnit XML for CI pages: a case for each refusal, an error for each record that cannot be read."""

from __future__ import annotations

from ringfence.model import Verdict
from ringfence.proposals import Malformed, asked
from ringfence.render.findings import sentence
from ringfence.render.words import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.proposals import Finding, Summary

_LONGEST = 300  # characters of a case's name


class JUnit:
    """One suite. Its head holds the counts, so it comes last and is put first by whoever writes."""

    late = True

    def __init__(self) -> None:
        self._cases = self._failures = self._errors = 0

    def head(self, summary: Summary | None) -> str:
        counts = f'tests="{self._cases + 1}" failures="{self._failures}" errors="{self._errors}" skipped="0"'
        said = f"<!-- {_text(sentence(summary)).replace('--', '- -')} -->\n" if summary is not None else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'{said}<testsuites {counts.rpartition(" ")[0]}>\n<testsuite name="ringfence audit" {counts}>\n'
        )

    def finding(self, finding: Finding) -> str:
        record, decision = finding.record, finding.decision
        where = f"{record.source}:{record.line}" if record.line else record.source
        if isinstance(record, Malformed):
            return self.case(record.source, f"{where} cannot be read", "error", decision.code, record.why)
        kind = "" if decision.verdict is Verdict.ALLOW else "failure"
        more = [f"rule: {decision.rule}", *([f"next: {decision.hint}"] if decision.hint else [])]
        name = f"{where} {decision.op} {asked(record)}"
        return self.case(record.source, name, kind, decision.code, decision.message, "\n".join(more))

    def case(self, group: str, name: str, kind: str, code: str, message: str, more: str = "") -> str:
        """One case; `kind` "" is a case that passed."""
        self._cases += 1
        lead = f'<testcase classname="{_text(shown(group))}" name="{_text(name[:_LONGEST])}"'
        if not kind:
            return lead + "/>\n"
        self._failures += kind == "failure"
        self._errors += kind == "error"
        body = f'<{kind} type="{_text(code)}" message="{_text(message)}">{_text(more)}</{kind}>'
        return f"{lead}>{body}</testcase>\n"

    def tail(self, summary: Summary) -> str:
        return self.end(sentence(summary), summary.complete)

    def end(self, said: str, complete: bool) -> str:
        """The case that says that everything was judged; it fails where it was not."""
        name = _text(said.partition("\n")[0])
        if complete:
            last = f'<testcase classname="ringfence" name="{name}"/>\n'
        else:
            self._failures += 1
            failed = f'<failure type="interrupted" message="{name}"/>'
            last = f'<testcase classname="ringfence" name="{name}">{failed}</testcase>\n'
        return last + "</testsuite>\n</testsuites>\n"


def _text(text: str) -> str:
    """XML 1.0 text: what no document may hold is shown as its escape."""
    out = []
    for char in text.encode("utf-8", "backslashreplace").decode("utf-8"):
        code = ord(char)
        if char in "&<>\"'":
            out.append({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}[char])
        elif (code < 0x20 and char not in "\t\n") or 0x7F <= code < 0xA0 or code in {0xFFFE, 0xFFFF}:
            out.append(f"\\x{code:02x}")
        else:
            out.append("&#10;" if char == "\n" else "&#9;" if char == "\t" else char)
    return "".join(out)
