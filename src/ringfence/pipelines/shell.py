"""`ringfence shell`: judge the text, then run the real shell under the engine.

`-c TEXT`, `-lc TEXT`, a script file with arguments, or standard input: the words reach the real shell unchanged.
"""

from __future__ import annotations

from posix import access

from ringfence.enforce.launch import Program
from ringfence.errors import EXIT_BUG, EXIT_REFUSED, FenceError, UsageError
from ringfence.model import Lane, Mode, Verdict
from ringfence.pipelines import compose, session
from ringfence.pipelines.run import (
    fenced_environment,
    known_engine,
    known_lane,
    prepare,
    sink_for,
    start_fenced,
    utf8,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.model import CommandDecision, Policy
    from ringfence.pipelines.fence import Fence
    from ringfence.pipelines.refusals import Sink
    from ringfence.policy.asked import Flags

_OPTIONS = {
    "--shell": True,
    "--session": True,
    "--install-as": True,
    "--engine": True,
    "--mode": True,
    "--lane": True,
    "--from": True,
    "--refusals": True,
}
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
_MOVES_TREE = ("switch", "checkout", "reset", "merge", "rebase", "cherry-pick")
_TAKES_VALUE = ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")


def run(words: Sequence[str]) -> int:
    """The hot door."""
    from ringfence.pipelines.say import complain
    from ringfence.pipelines.words import take_flags

    try:
        flags, options, rest = take_flags(words, _OPTIONS, short_ends=True)
        if "--install-as" in options:
            from ringfence.pipelines.launchers import write_shell

            write_shell(options["--install-as"], flags, options.get("--shell", ""))
            return 0
        return start(
            flags,
            rest,
            shell=options.get("--shell", ""),
            name=options.get("--session", ""),
            engine=options.get("--engine", "auto"),
            mode=options.get("--mode", "power"),
            lane=known_lane(options.get("--lane", Lane.FULL.value)),
            root=options.get("--from", ""),
            refusals=options.get("--refusals", ""),
        )
    except FenceError as error:
        complain(f"ringfence: {error}")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the outermost door
        complain(f"ringfence: a bug of ringfence, nothing was run: {type(error).__name__}: {error}")
        return EXIT_BUG


def start(
    flags: Flags,
    words: list[str],
    *,
    shell: str = "",
    name: str = "",
    files: Sequence[str] = (),
    engine: str = "auto",
    said: str = "",
    judged: bool = False,
    mode: str = "power",
    lane: Lane = Lane.FULL,
    root: str = "",
    refusals: str = "",
) -> int:
    """Run the shell and return its exit status; dies by its signal.

    `root`: where policy files are looked for and relative flags start, if not the working directory.
    `files`: single files it may write beside. `said`: what the agent's model wrote, where the shell's text wraps it.
    `judged`: the agent's hook has read this text already. `lane` REVIEWER: on the throwaway layer of the session.
    """
    known_engine(engine)
    _refuse_safe(mode)
    env = compose.process_environment()
    cwd = compose.process_cwd()
    fence = compose.fence_for(flags, env, root or cwd)
    outer = session.nested_name(env)
    own = outer or (session.named(name) if name else _session(env))
    policy = session.with_session(fence.policy, own)
    fence = fence.with_policy(policy)
    program = shell or next((path for path in _SHELLS if access(path, 1)), "/bin/sh")
    text = command_text(words)
    inside = fenced_environment(env, policy, own)
    sink = sink_for(refusals, said or text, cwd)
    if text and policy.restricted and not judged:
        refused = _judge(fence.with_policy(policy, inside), said or text, cwd, program)
        if refused is not None:
            return _refuse(fence, text, cwd, refused, sink)
    if text and policy.restricted and "git " in text and (why := _before_git(policy, said or text, cwd, env)):
        from ringfence.pipelines.say import complain

        complain(f"ringfence: nothing was run: {why}")
        return EXIT_REFUSED
    if not policy.restricted:
        from ringfence.pipelines.say import complain

        complain("ringfence: NO FENCE around this shell: no workspace is named; give --workspace DIR")
    policy = prepare(policy, own, outer)
    if lane is Lane.REVIEWER and policy.restricted:
        from ringfence.pipelines.reviewer import start_reviewer

        return start_reviewer(
            fence,
            policy,
            Program([program, *words], utf8(inside)),
            said or text,
            cwd=cwd,
            env=inside,
            own="" if outer else own,
            engine=engine,
            files=files,
            session="" if own.startswith("call-") else own,
            sink=sink,
        )
    return start_fenced(
        fence,
        policy,
        Program([program, *words], utf8(inside)),
        said or text,
        cwd=cwd,
        env=inside,
        own="" if outer else own,
        engine=engine,
        files=files,
        sink=sink,
    )


def _refuse_safe(mode: str) -> None:
    """Raises UsageError for a mode that has no shell, and for an unknown one."""
    try:
        safe = Mode(mode) is Mode.SAFE
    except ValueError:
        raise UsageError(f"unknown mode {mode!r}", "one of: safe, power") from None
    if safe:
        raise UsageError("nothing was run: this session is in safe mode, which has no shell")


def _session(env: dict[str, str]) -> str:
    claude = env.get("CLAUDE_CODE_SESSION_ID", "")
    return session.session_name("claude", claude) if claude else session.session_name("", "")


def command_text(words: Sequence[str]) -> str:
    """The TEXT of `-c TEXT` as a shell finds it (`-lc`, `-o pipefail -c`, …); "" for a script or standard input."""
    at = 0
    wants = False
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word in _TAKES_VALUE:
            at += 2
            continue
        if word[:2] == "--":
            at += 1
            continue
        if word[:1] not in ("-", "+") or len(word) < 2:
            break
        wants = wants or (word[0] == "-" and "c" in word[1:])
        at += 1
    return words[at] if wants and at < len(words) else ""


_NO_ACCESS = "invalid.no-access"


def _judge(fence: Fence, text: str, cwd: str, program: str) -> CommandDecision | None:
    """A certain deny, or None: what the text does not tell is the engine's to hold."""
    name = program.rpartition("/")[2]
    decision = fence.check_command(text, cwd=cwd, shell=name if name in ("bash", "zsh") else "sh")
    if decision.verdict is not Verdict.DENY:
        return None
    denied = [use for use in decision.uses if use.verdict is Verdict.DENY]
    if denied and all(use.code == _NO_ACCESS for use in denied):
        return None  # where we may not search, no program in the fence may: the kernel answers, as it would without us
    return decision


def _before_git(policy: Policy, text: str, cwd: str, env: dict[str, str]) -> str:
    """Why a command of git may not start: it would change a guarded file that git tracks. "" otherwise."""
    if not any(f" {word} " in text for word in _MOVES_TREE):
        return ""
    from ringfence.pipelines.git_before import refusal

    return refusal(policy, text, cwd, env.get("PATH", ""))


def _refuse(fence: Fence, text: str, cwd: str, decision: CommandDecision, sink: Sink | None) -> int:
    from ringfence.pipelines.journal import record_command
    from ringfence.pipelines.say import complain, left_out, reason

    complain(f"ringfence: nothing was run: {decision.message}")
    for use in decision.uses:
        if use.verdict is Verdict.DENY:
            complain(reason(use))
            if sink is not None:
                sink.tell(use, certain=True, ran=False)
            record_command(fence.policy, "shell", text, cwd, use)
    if decision.code.startswith("outside."):
        for note in left_out(fence.policy):
            complain(f"ringfence:   note: {note}")
    return EXIT_REFUSED
