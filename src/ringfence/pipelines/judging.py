"""One agent's call under one policy: mode and lane first, then every path and every command that it names. Hot."""

from __future__ import annotations

import sys

from ringfence.agents.strings import trimmed
from ringfence.model import Decision, Lane, Mode, Op, Posture, Rule, Strength, Verdict
from ringfence.pipelines.say import quote
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.agents.dialect import Dialect
    from ringfence.model import CommandDecision, Policy, ToolCall
    from ringfence.pipelines.fence import Fence
    from ringfence.policy.asked import Flags

_OPAQUE = Rule("opaque", "built in")
_ENGINE = Rule("engine", "built in")


class Terms(Record):
    """What the installed words say of the session. They share it with every sub-agent: its calls come to this hook.

    `posture` None: the agent's own payload and environment tell. `launcher`: the program that stands as the agent's
    shell prefix; whoever wrote these words made it with the same mode and lane.
    """

    mode: Mode = Mode.POWER
    lane: Lane = Lane.FULL
    posture: Posture | None = None
    launcher: str = ""
    fenced: bool = False


def judge_call(
    dialect: Dialect, fence: Fence, call: ToolCall, terms: Terms, flags: Flags
) -> tuple[Decision, str]:
    """(the strictest decision on everything the call names, the command to run instead or "")."""
    decisions = _on_terms(call, terms)
    decisions += [
        fence.check(path, use.op, cwd=call.cwd)
        for use in call.uses
        for path in readings(use.path, call.cwd, fence.env.get("HOME"))
    ]
    rewritten = ""
    for text in call.commands:
        decision, rewritten = _judge_command(dialect, fence, call, text, terms, flags)
        decisions.append(decision)
    if not call.understood and not _is_inside(fence, terms):
        why = f"what {call.tool} runs cannot be read, and no engine of the fence stands around it"
        decisions.append(_opaque(fence.policy, why, "opaque.no-engine"))
    if not decisions:
        decisions.append(
            Decision(Verdict.ALLOW, "allow.no-path", "", fence.policy.default, "names no path", Op.READ)
        )
    worst = fence.worst(decisions)
    if worst.verdict is Verdict.ASK:
        said = terms.posture
        alone = said is Posture.UNATTENDED or (said is None and dialect.is_unattended(call, fence.env))
        if alone:
            mode = f" (permission mode {call.mode})" if call.mode else ""
            why = f"{worst.message}; nobody is there to ask{mode}"
            worst = worst._replace(verdict=fence.policy.unattended, message=why)
    return worst, rewritten if worst.verdict is Verdict.ALLOW else ""


def _on_terms(call: ToolCall, terms: Terms) -> list[Decision]:
    """What the session's mode and lane refuse, wherever it would land."""
    found = []
    if terms.mode is Mode.SAFE and (call.commands or not call.understood):
        why = f"{call.tool} runs a command, and this session is in safe mode, which has no shell"
        found.append(Decision(Verdict.DENY, "deny.mode", "", Rule("mode", "the hook's words"), why))
    if terms.lane is Lane.REVIEWER:
        for use in call.uses:
            if use.op is not Op.READ:
                why = f"{call.tool} changes files ({use.what or use.path}), and a reviewer changes none"
                rule = Rule("lane", "the hook's words")
                found.append(Decision(Verdict.DENY, "deny.lane", "", rule, why, use.op))
                break
    return found


def readings(path: str, cwd: str, home: str | None) -> list[str]:
    """The path as the kernel reads it, and as programs do that tidy it first; each is judged and the strictest counts.

    Agents and tool servers run on runtimes that fold `..` as text before they open (behind a link that is another
    place), trim blanks, or compose accents. A `~/` is `home` for some and a plain name for others; both fold.
    """
    found = [path]
    bare = trimmed(path)
    if bare != path:
        found.append(bare)
    if not path.isascii():
        from unicodedata import normalize

        found += [one for one in (normalize("NFC", text) for text in tuple(found)) if one not in found]
    if ".." in path:
        from ringfence.resolve.descriptor import fold_text

        # A program that trims or composes folds what it made of the text, so each reading is folded as well.
        for text in tuple(found):
            if ".." in text:
                if home and text.startswith("~/"):
                    found.append(fold_text(home + text[1:]))
                found.append(fold_text(text if text.startswith("/") else f"{cwd}/{text}"))
    return list(dict.fromkeys(found))


def _judge_command(
    dialect: Dialect, fence: Fence, call: ToolCall, text: str, terms: Terms, flags: Flags
) -> tuple[Decision, str]:
    """A command is run under the engine wherever the call can be routed there; its text alone never allows it."""
    held = fence.policy.restricted or fence.holds_anything() or terms.lane is Lane.REVIEWER
    if not held:
        return Decision(Verdict.ALLOW, "allow.unfenced", "", fence.policy.default, "nothing is fenced"), ""
    wrapped = fenced_text(fence, call, text, terms, flags)
    said = text if wrapped is None else wrapped
    reads = [fence.check_command(said, cwd=cwd) for cwd in readings(call.cwd, "/", None)]
    for read in reads:
        if read.verdict is Verdict.DENY:
            worst = fence.worst(read.uses)
            return (worst if worst.verdict is Verdict.DENY else _read_decision(read)), ""
    engine = Decision(Verdict.ALLOW, "allow.engine", "", _ENGINE, "runs inside the fenced shell")
    if wrapped is not None:
        return engine, ""
    route = dialect.route(call, terms.launcher, fence.env)
    if route == "rewrite":
        return engine, fenced_command(fence, call, text, terms, flags)
    if route in ("prefix", "met"):  # met: the same call has come, or will come, to an event that sees to it
        return engine, ""
    if _is_inside(fence, terms):
        # No narrower shell is to be had, but the agent's own fence holds what it starts.
        return engine._replace(message="runs inside the fence around the agent"), ""
    if (
        all(read.verdict is Verdict.ALLOW for read in reads)
        and fence.policy.minimum is not Strength.KERNEL
        and terms.lane is not Lane.REVIEWER
    ):
        return _read_decision(reads[0]), ""  # the text is all there is, and the policy takes that for enough
    why = "this command would run outside the fenced shell: nothing of the agent's own leads it there"
    return _opaque(fence.policy, why, "opaque.no-engine"), ""


def _is_inside(fence: Fence, terms: Terms) -> bool:
    """Whether `launch` put the agent itself inside this very fence: its words say so, and a fence is really there."""
    return terms.fenced and bool(fence.env.get("RINGFENCE_FENCE"))


def fenced_command(fence: Fence, call: ToolCall, text: str, terms: Terms, flags: Flags) -> str:
    """One line for the agent's shell that runs `text` inside the fence that this hook judged by, under the same lane.

    The launcher, where one was installed, carries the flags; else the interpreter is called as the hook itself was.
    """
    lead = _lead(fence, call, terms, flags)
    return f"{lead} {quote(text)}"


def fenced_text(fence: Fence, call: ToolCall, line: str, terms: Terms, flags: Flags) -> str | None:
    """The command inside a line that this hook made, if it is exactly that; some agents show it to us again."""
    lead = _lead(fence, call, terms, flags) + " '"
    if not line.startswith(lead) or not line.endswith("'"):
        return None
    text = line[len(lead) : -1].replace("'\"'\"'", "'")
    return text if fenced_command(fence, call, text, terms, flags) == line else None


def _lead(fence: Fence, call: ToolCall, terms: Terms, flags: Flags) -> str:
    """Everything but the text. The flags are the hook's own, and pinned: the command may run in any folder."""
    if terms.launcher:
        return quote(terms.launcher)
    from ringfence.pipelines.session import session_name
    from ringfence.pipelines.words import flag_words

    package = __file__.rpartition("/")[0].rpartition("/")[0]
    words = [sys.executable, "-I", "-S", f"{package}/start.py", "shell", *flag_words(flags)]
    if fence.policy.restricted and not flags.restrict:
        words.append("--restrict-paths")  # a policy file that vanishes meanwhile must not open the fence
    words += ["--from", fence.cwd]
    if terms.lane is not Lane.FULL:
        words += ["--lane", terms.lane.value]
    if call.session:
        words += ["--session", session_name(call.agent, call.session)]
    return " ".join(word if _is_plain(word) else quote(word) for word in [*words, "-c"])


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./")


def _is_plain(word: str) -> bool:
    return bool(word) and _PLAIN.issuperset(word)


def _read_decision(read: CommandDecision) -> Decision:
    return Decision(read.verdict, read.code, "", _OPAQUE, read.message)


def _opaque(policy: Policy, why: str, code: str) -> Decision:
    return Decision(policy.opaque, code, "", _OPAQUE, why)
