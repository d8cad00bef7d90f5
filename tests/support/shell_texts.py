"""What the fuzzing tests mutate, and with what."""

from __future__ import annotations

import shell_cases

COMMANDS = [r["command"] for r in shell_cases.rows("bash-corpus.jsonl")] + [
    shell_cases.fill(r["command"], "/t") for r in shell_cases.rows()
]
TOKENS = [
    ";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}", ">", ">>", "<", "<<E\n", ">|", "&>", "2>&1", "<(", ">(", "$(", "`",
    '"', "'", "$x", "${x:-", "$((", "))", "[[", "]]", "if", "then", "fi", "for", "do", "done", "while", "case", "esac", "in",
    "!", "\\", "#", "~", "*", "?", "=", "x", "../out", "function f", "f()", "eval", "cd", "\\\n", "{a,b}", "$'", "@(", "\r", "\t",
]  # fmt: skip
