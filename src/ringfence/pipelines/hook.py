"""`ringfence hook AGENT`: one payload on stdin, one answer on stdout, and a refusal whatever breaks.

Payload -> ToolCall -> policy (snapshot) -> decision on each use -> the agent's own answer. Hot: see tests/unit/
test_hot_imports.py for what it may load.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from posix import _exit, environ, read

from ringfence.errors import EXIT_OK, EXIT_USAGE, FenceError, UsageError, WireError
from ringfence.model import Decision, Op, Rule, Strength, Verdict
from ringfence.pipelines.say import complain, quote, reason, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Sequence

    from ringfence.model import CommandDecision, Policy, ToolCall
    from ringfence.pipelines.fence import Fence
    from ringfence.policy.asked import Flags

AGENTS = ("claude",)
DEADLINE = 5.0  # seconds; the installed timeout is 20, and a timeout of the agent's own would run the tool
_LONGEST = 600.0  # seconds; Claude Code's own default timeout
_LIMIT = 64 * 1024 * 1024  # bytes of one payload; a Write carries a whole file
_OPTIONS = {"--launcher": True, "--deadline": True, "--event": True}
_OPAQUE = Rule("opaque", "built in")
_ENGINE = Rule("engine", "built in")

UNFENCED = (
    "ringfence: NO FENCE. This session approves its own tool calls ({mode}) and no workspace is named, so nothing "
    "is refused. Name one: ringfence install claude --workspace DIR, or set RINGFENCE_WORKSPACE."
)


def run(words: Sequence[str]) -> int:
    """The door. Never raises; never exits 1, which agents take for "run the tool".

    A failure of ours is answered like a refusal, in the agent's dialect: exit status 2 alone would not deny a
    PermissionRequest. Only without a known agent is it the status and a line on stderr.
    """
    event = [_event_of(words)]
    turns: list[LockType] = []
    try:
        return _answer(words, event, turns)
    except (FenceError, ValueError) as error:
        why = f"ringfence refused this call, because it could not judge it: {error}"
    except BaseException as error:  # noqa: BLE001 - our own bug must not run the tool
        why = f"ringfence refused this call, because ringfence itself failed: {type(error).__name__}: {error}"
    complain(why)
    if turns and not turns[0].acquire(blocking=False):
        _wait_for_the_end()
    if words[:1] and words[0] in AGENTS and _deny(event[0], why):
        return EXIT_OK
    return EXIT_USAGE


def _event_of(words: Sequence[str]) -> str:
    """The event that the installed command names: needed before anything else could be read."""
    at = words.index("--event") + 1 if "--event" in words else len(words)
    return words[at] if at < len(words) else "PreToolUse"


def _deny(event: str, why: str) -> bool:
    """Write a denial; whether that worked. Does without our other modules if they are what broke."""
    try:
        from ringfence.agents import claude

        answer = claude.refuse(event, why)
    except BaseException:  # noqa: BLE001 - half an upgrade, say
        answer = _LAST_WORD if event == "PermissionRequest" else _LAST_WORD_BEFORE
    try:
        write_all(1, answer.encode("ascii", "replace"))
    except OSError:
        return False
    return True


_LAST_WORD = (
    '{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
    '"decision":{"behavior":"deny","message":"ringfence itself failed"}}}'
)
_LAST_WORD_BEFORE = (
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    '"permissionDecisionReason":"ringfence itself failed"}}'
)


def _answer(words: Sequence[str], event: list[str], turns: list[LockType]) -> int:
    from ringfence.pipelines.words import take_flags

    if not words or words[0] not in AGENTS:
        raise UsageError(f"name the agent whose hook this is, one of: {', '.join(AGENTS)}")
    flags, options, rest = take_flags(words[1:], _OPTIONS)
    if rest:
        raise UsageError(f"unexpected word {rest[0]!r} after the hook's options")
    turn = _watchdog(_seconds(options), event)
    turns.append(turn)
    reply = _reply(flags, options, event)
    turns.clear()
    if not turn.acquire(blocking=False):
        _wait_for_the_end()  # the watchdog has the word: two answers on stdout would be none
    if reply:
        write_all(1, reply.encode("ascii", "replace"))
    return EXIT_OK


def _seconds(options: dict[str, str]) -> float:
    """The deadline. Raises UsageError for one that would never come, or is none."""
    text = options.get("--deadline")
    if text is None:
        return DEADLINE
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"--deadline takes seconds above 0 and up to {_LONGEST:g}, not {text!r}")
    return seconds


def _reply(flags: Flags, options: dict[str, str], event: list[str]) -> str:
    from ringfence.agents import claude
    from ringfence.policy.jsonscan import loads

    try:
        payload = loads(_read_all(0).decode("utf-8"))
    except ValueError as error:
        raise WireError(claude.NAME, f"the hook's payload is not JSON: {error}") from None
    call = claude.decode(payload, _exists)
    named = options.get("--event")
    if named is not None and named != call.event:
        raise WireError(claude.NAME, f"this hook is installed for {named} and was given {call.event}")
    event[0] = call.event
    if call.event in claude.SESSION_EVENTS:
        return _session_event(call)
    if call.event not in claude.EVENTS:
        return ""
    from ringfence.pipelines.compose import hook_fence

    fence = hook_fence(flags, call, lambda env, uid: claude.scratch(payload, env, uid))
    decision, command = judge_call(fence, call, options.get("--launcher", ""))
    warning = ""
    if not fence.policy.restricted and call.mode in claude.AUTO_APPROVING:
        warning = UNFENCED.format(mode=call.mode)
        complain(warning)
    if decision.verdict is not Verdict.ALLOW or warning:
        from ringfence.pipelines.journal import record

        record(fence.policy, call, decision, warning)
    replaced = ""
    if command:
        from ringfence.policy.jsonscan import dumps

        replaced = dumps({**payload["tool_input"], "command": command})
    return claude.encode(call, decision.verdict, reason(decision), command=replaced, warning=warning)


def judge_call(fence: Fence, call: ToolCall, launcher: str) -> tuple[Decision, str]:
    """(the strictest decision on everything the call names, the command to run instead or "")."""
    from ringfence.agents import claude

    decisions = [
        fence.check(path, use.op, cwd=call.cwd) for use in call.uses for path in readings(use.path, call.cwd)
    ]
    rewritten = ""
    for text in call.commands:
        decision, rewritten = _judge_command(fence, call, text, launcher)
        decisions.append(decision)
    if not call.understood:
        why = f"what {call.tool} runs cannot be read, and no engine of the fence stands around it"
        decisions.append(_opaque(fence.policy, why, "opaque.no-engine"))
    if not decisions:
        decisions.append(
            Decision(Verdict.ALLOW, "allow.no-path", "", fence.policy.default, "names no path", Op.READ)
        )
    worst = fence.worst(decisions)
    if worst.verdict is Verdict.ASK and claude.is_unattended(call, fence.env):
        why = f"{worst.message}; nobody is there to ask (permission mode {call.mode})"
        worst = worst._replace(verdict=fence.policy.unattended, message=why)
    return worst, rewritten if worst.verdict is Verdict.ALLOW else ""


def readings(path: str, cwd: str) -> list[str]:
    """The path as the kernel reads it, and as programs do that tidy it first; each is judged and the strictest counts.

    Agents and tool servers run on runtimes that fold `..` as text before they open (behind a link that is another
    place), trim blanks, or compose accents.
    """
    found = [path]
    if ".." in path and path[:1] not in {"~", ""}:
        from ringfence.resolve.descriptor import fold_text

        found.append(fold_text(path if path.startswith("/") else f"{cwd}/{path}"))
    if path != path.strip():
        found.append(path.strip())
    if not path.isascii():
        from unicodedata import normalize

        composed = normalize("NFC", path)
        if composed != path:
            found.append(composed)
    return found


def _judge_command(fence: Fence, call: ToolCall, text: str, launcher: str) -> tuple[Decision, str]:
    """A command is run under the engine wherever the call can be routed there; its text alone never allows it."""
    if not fence.policy.restricted and not fence.holds_anything():
        return Decision(Verdict.ALLOW, "allow.unfenced", "", fence.policy.default, "nothing is fenced"), ""
    read = fence.check_command(text, cwd=call.cwd)
    if read.verdict is Verdict.DENY:
        worst = fence.worst(read.uses)
        return (worst if worst.verdict is Verdict.DENY else _read_decision(read)), ""
    engine = Decision(Verdict.ALLOW, "allow.engine", "", _ENGINE, "runs inside the fenced shell")
    if (
        launcher
        and environ.get(b"CLAUDE_CODE_SHELL_PREFIX", b"").decode("utf-8", "surrogateescape") == launcher
    ):
        return engine, ""
    if launcher and call.event == "PreToolUse" and call.tool == "Bash":
        return engine, f"{quote(launcher)} {quote(text)}"
    if call.event == "PermissionRequest":
        return engine, ""  # the same call has met, or will meet, PreToolUse
    if read.verdict is Verdict.ALLOW and fence.policy.minimum is not Strength.KERNEL:
        return _read_decision(read), ""  # the text is all there is, and the policy takes that for enough
    why = "this command would run outside the fenced shell: the shell prefix of `ringfence install` is not in force"
    return _opaque(fence.policy, why, "opaque.no-engine"), ""


def _read_decision(read: CommandDecision) -> Decision:
    return Decision(read.verdict, read.code, "", _OPAQUE, read.message)


def _opaque(policy: Policy, why: str, code: str) -> Decision:
    return Decision(policy.opaque, code, "", _OPAQUE, why)


def _session_event(call: ToolCall) -> str:
    from ringfence.pipelines import layers, session
    from ringfence.pipelines.compose import own_folders, process_environment

    name = session.session_name(call.agent, call.session)
    session.sweep(keep=name)
    folders = own_folders(process_environment())
    layers.sweep(folders)
    if call.event == "SessionEnd" and call.session:
        session.end(name)
        layers.end_session(folders, name)
    return ""


def _exists(path: str) -> bool:
    from posix import lstat

    try:
        lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _watchdog(seconds: float, event: list[str]) -> LockType:
    """Answer with a denial and end the process if nobody has taken the returned lock in time.

    Whoever takes the lock has the word, and nobody else writes. A thread and not SIGALRM: a handler runs only once the
    blocked call returns, and a dead disk does not return.
    """
    turn = allocate_lock()
    over = allocate_lock()
    over.acquire()

    def wait() -> None:
        over.acquire(timeout=seconds)
        if not turn.acquire(blocking=False):
            return
        why = f"ringfence refused this call: it could not be judged within {seconds:g} seconds (a slow disk?)"
        complain(why)
        _deny(event[0], why)
        _exit(EXIT_OK)

    start_new_thread(wait, ())
    return turn


def _wait_for_the_end() -> None:
    hold = allocate_lock()
    hold.acquire()
    hold.acquire(timeout=_LONGEST)


def _read_all(fd: int) -> bytes:
    parts = []
    size = 0
    while part := read(fd, 1 << 20):
        parts.append(part)
        size += len(part)
        if size > _LIMIT:
            raise WireError("claude", f"the hook's payload is larger than {_LIMIT} bytes")
    return b"".join(parts)
