"""`ringfence hook AGENT`: one payload on stdin, one answer on stdout, and a refusal whatever breaks.

Payload -> ToolCall -> policy (snapshot) -> decision on each use -> the agent's own answer. Knows agents only as rows of
the registry. Hot: see tests/unit/test_hot_imports.py for what it may load.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from posix import _exit, read

from ringfence.errors import EXIT_USAGE, FenceError, ForeignError, UsageError, WireError
from ringfence.model import Lane, Mode, Posture, Reply, Verdict
from ringfence.pipelines.say import complain, reason, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Sequence
    from typing import TypeVar

    from ringfence.agents.registry import Row
    from ringfence.model import ToolCall
    from ringfence.pipelines.judging import Terms
    from ringfence.policy.asked import Flags

    Word = TypeVar("Word", Mode, Lane, Posture)

DEADLINE = 5.0  # seconds; the installed timeout is 20, and a timeout of the agent's own would run the tool
_LONGEST = 600.0  # seconds; Claude Code's own default timeout
LIMIT = (
    8 * 1024 * 1024
)  # bytes of one payload: a model writes far less in one call, and a flood is refused early
_OPTIONS = {
    "--launcher": True,
    "--deadline": True,
    "--event": True,
    "--mode": True,
    "--lane": True,
    "--posture": True,
    "--fenced": False,
}

UNFENCED = (
    "ringfence: NO FENCE. This session approves its own tool calls{mode} and no workspace is named, so nothing "
    "is refused. Name one: ringfence install {agent} --workspace DIR, or set RINGFENCE_WORKSPACE."
)


def run(words: Sequence[str]) -> int:
    """The door. Never raises; never exits 1, which agents take for "run the tool".

    A failure of ours is answered like a refusal, in the agent's dialect: exit status 2 alone would not deny a
    PermissionRequest. Only without a known agent is it the status and a line on stderr, and never an empty one: some
    agents take an exit status of 2 without a word for "run the tool".
    """
    event = [_event_of(words)]
    turns: list[LockType] = []
    agent = words[0] if words else ""
    try:
        return _answer(words, event, turns)
    except (FenceError, ValueError) as error:
        why = f"ringfence refused this call, because it could not judge it: {error}"
        if isinstance(error, ForeignError):
            agent = ""  # whoever asks does not read the named agent's answers
    except BaseException as error:  # noqa: BLE001 - our own bug must not run the tool
        why = f"ringfence refused this call, because ringfence itself failed: {type(error).__name__}: {error}"
    if turns and not turns[0].acquire(blocking=False):
        _wait_for_the_end()
    return _refuse(agent, event[0], why)


def _event_of(words: Sequence[str]) -> str:
    """The event that the installed command names: needed before anything else could be read. "": none."""
    at = words.index("--event") + 1 if "--event" in words else len(words)
    return words[at] if at < len(words) else ""


def _refuse(agent: str, event: str, why: str) -> int:
    """Say no in the agent's dialect; the exit status. Does without our other modules if they are what broke."""
    last = Reply("", why, EXIT_USAGE)
    try:
        from ringfence.agents import registry

        row = registry.ROWS.get(agent)
        if row is not None:
            last = last._replace(stdout=dict(row.last).get(event, ""))
            if last.stdout:
                last = last._replace(status=0)
            return _say(registry.dialect(row).refuse(event, why))
    except OSError:
        return EXIT_USAGE  # stdout is closed: the exit status is all that is left, and stderr has been told
    except BaseException:  # noqa: BLE001, S110 - half an upgrade, say
        pass
    try:
        return _say(last)
    except OSError:
        return EXIT_USAGE


def _say(reply: Reply) -> int:
    """Write both streams; the exit status. Raises OSError if stdout cannot be written."""
    if reply.stderr:
        complain(reply.stderr)
    if reply.stdout:
        write_all(1, reply.stdout.encode("ascii", "replace"))
    return reply.status


def _answer(words: Sequence[str], event: list[str], turns: list[LockType]) -> int:
    from ringfence.agents import registry
    from ringfence.pipelines.words import take_flags

    row = registry.ROWS.get(words[0]) if words else None
    if row is None:
        raise UsageError(f"name the agent whose hook this is, one of: {', '.join(registry.names())}")
    flags, options, rest = take_flags(words[1:], _OPTIONS)
    if rest:
        raise UsageError(f"unexpected word {rest[0]!r} after the hook's options")
    terms = _terms(options)
    turn = _watchdog(_seconds(options), row.name, event)
    turns.append(turn)
    reply = _reply(row, flags, terms, options.get("--event"), event)
    turns.clear()
    if not turn.acquire(blocking=False):
        _wait_for_the_end()  # the watchdog has the word: two answers on stdout would be none
    return _say(reply)


def _terms(options: dict[str, str]) -> Terms:
    """Mode, lane and posture stand in the installed words and never in a payload. UsageError for unknown ones."""
    from ringfence.pipelines.judging import Terms

    posture = options.get("--posture")
    return Terms(
        _choice(Mode, "--mode", options.get("--mode", "power")),
        _choice(Lane, "--lane", options.get("--lane", "full")),
        None if posture is None else _choice(Posture, "--posture", posture),
        options.get("--launcher", ""),
        "--fenced" in options,
    )


def _choice(kind: type[Word], option: str, word: str) -> Word:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise UsageError(f"{option} takes one of {known}, not {word!r}") from None


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


def _reply(row: Row, flags: Flags, terms: Terms, named: str | None, event: list[str]) -> Reply:
    from ringfence.agents import registry
    from ringfence.jsonscan import loads

    dialect = registry.dialect(row)
    try:
        payload = loads(_read_all(0, row.name).decode("utf-8"))
    except ValueError as error:
        raise WireError(row.name, f"the hook's payload is not JSON: {error}") from None
    if row.envelope:
        payload = _enveloped(row, payload)
    call = dialect.decode(payload, _exists)
    if named is not None and named != call.event:
        raise WireError(row.name, f"this hook is installed for {named} and was given {call.event}")
    event[0] = call.event
    if call.event not in dialect.EVENTS:
        if call.event in dialect.SESSION_EVENTS:
            _session_event(call, dialect.END_EVENT)
        return dialect.encode(call, Verdict.ALLOW, "", payload=payload)
    if terms.posture is not None and not call.mode:
        call = call._replace(mode=terms.posture.value)  # the agent itself does not say
    from ringfence.pipelines.compose import hook_fence
    from ringfence.pipelines.judging import judge_call

    fence = hook_fence(flags, call, lambda env, uid: dialect.scratch(payload, env, uid), row.root)
    decision, command = judge_call(dialect, fence, call, terms, flags)
    warning = ""
    if not fence.policy.restricted and (dialect.auto_approves(call) or terms.posture is Posture.UNATTENDED):
        warning = UNFENCED.format(agent=row.name, mode=f" ({call.mode})" if call.mode else "")
    if decision.verdict is not Verdict.ALLOW or warning:
        from ringfence.pipelines.journal import record

        record(fence.policy, call, decision, warning)
    return dialect.encode(
        call, decision.verdict, reason(decision), command=command, warning=warning, payload=payload
    )


def _enveloped(row: Row, payload: object) -> dict[str, object]:
    """The payload of an agent that says a part of the call in our environment and by our working directory."""
    from ringfence.pipelines.compose import process_cwd, process_environment

    env = process_environment()
    said = {name: env[name] for name in row.envelope if name in env}
    return {"env": said, "cwd": process_cwd(), "stdin": payload}


def _session_event(call: ToolCall, last: str) -> None:
    from ringfence.pipelines import layers, session
    from ringfence.pipelines.compose import own_folders, process_environment

    name = session.session_name(call.agent, call.session)
    session.sweep(keep=name)
    folders = own_folders(process_environment())
    layers.sweep(folders)
    if call.event == last and call.session:
        session.end(name)
        layers.end_session(folders, name)


def _exists(path: str) -> bool:
    from posix import lstat

    try:
        lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _watchdog(seconds: float, agent: str, event: list[str]) -> LockType:
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
        _exit(_refuse(agent, event[0], why))

    start_new_thread(wait, ())
    return turn


def _wait_for_the_end() -> None:
    hold = allocate_lock()
    hold.acquire()
    hold.acquire(timeout=_LONGEST)


def _read_all(fd: int, agent: str) -> bytes:
    parts = []
    size = 0
    while part := read(fd, 1 << 20):
        parts.append(part)
        size += len(part)
        if size > LIMIT:
            raise WireError(agent, f"the hook's payload is larger than {LIMIT} bytes")
    return b"".join(parts)
