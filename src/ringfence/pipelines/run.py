"""`ringfence run -- PROGRAM …`: the engine alone, around any program, a whole agent included.

What every command needs is imported at the top, here and below: one group of the bundle (bundle.py).
"""

from __future__ import annotations

from ringfence.enforce.launch import Program
from ringfence.errors import EXIT_BUG, EXIT_USAGE, FenceError, UsageError
from ringfence.model import Lane
from ringfence.pipelines import compose, session
from ringfence.pipelines.confine import ENGINES, end, run_confined
from ringfence.pipelines.denials import Watch
from ringfence.pipelines.say import complain, quote
from ringfence.pipelines.words import take_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.model import EnforcementReport, Policy
    from ringfence.pipelines.fence import Fence
    from ringfence.pipelines.refusals import Sink
    from ringfence.policy.asked import Flags

_OPTIONS = {"--report": False, "--engine": True, "--lane": True, "--session": True, "--refusals": True}
# Doors to processes outside that an agent leaves in its children's environment.
DROPPED = ("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN")


def run(words: Sequence[str]) -> int:
    """The hot door."""
    try:
        flags, options, program = take_flags(words, _OPTIONS)
        if not program:
            complain("ringfence: no program to run\n  ringfence run --workspace DIR -- PROGRAM ARGUMENTS…")
            return EXIT_USAGE
        return start(
            flags,
            program,
            report="--report" in options,
            engine=options.get("--engine", "auto"),
            refusals=options.get("--refusals", ""),
            lane=known_lane(options.get("--lane", Lane.FULL.value)),
            keep_as=options.get("--session", ""),
        )
    except FenceError as error:
        complain(f"ringfence: {error}")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the outermost door
        complain(f"ringfence: a bug of ringfence, nothing was run: {type(error).__name__}: {error}")
        return EXIT_BUG


def start(
    flags: Flags,
    program: list[str],
    *,
    report: bool = False,
    engine: str = "auto",
    lane: Lane = Lane.FULL,
    keep_as: str = "",
    refusals: str = "",
) -> int:
    """Run and return the exit status; dies by the program's own signal.

    `lane` REVIEWER: the whole program on a throwaway layer, which ends with it unless `keep_as` names a session.
    """
    known_engine(engine)
    env = compose.process_environment()
    cwd = compose.process_cwd()
    fence = compose.fence_for(flags, env, cwd)
    outer = session.nested_name(env)
    name = outer or (session.named(keep_as) if keep_as else session.session_name("", ""))
    policy = session.with_session(fence.policy, name)
    if not policy.restricted:
        complain("ringfence: NO FENCE around this program: no workspace is named; give --workspace DIR")
    policy = prepare(policy, name, outer)
    inside = fenced_environment(env, policy, name)
    line = " ".join(map(quote, program))
    sink = sink_for(refusals, line, cwd)
    if lane is Lane.REVIEWER and policy.restricted:
        from ringfence.pipelines.reviewer import start_reviewer

        return start_reviewer(
            fence,
            policy,
            Program(program, utf8(inside)),
            line,
            cwd=cwd,
            env=inside,
            own="" if outer else name,
            engine=engine,
            tell=teller(report),
            session=keep_as if not outer else "",
            sink=sink,
        )
    return start_fenced(
        fence,
        policy,
        Program(program, utf8(inside)),
        line,
        cwd=cwd,
        env=inside,
        own="" if outer else name,
        engine=engine,
        tell=teller(report),
        sink=sink,
    )


def sink_for(where: str, command: str, cwd: str) -> Sink | None:
    """Where refusals are told to programs; None where nobody asked. UsageError if it cannot be written."""
    if not where:
        return None
    from ringfence.pipelines.refusals import Sink

    return Sink(where, command, cwd)


def prepare(policy: Policy, name: str, outer: str) -> Policy:
    """Make the session's folders; in another fence (`outer`) they are its own, and the policy says so."""
    if outer:
        return session.prepare_nested(policy, name)
    session.prepare(policy, name)
    return policy


def start_fenced(
    fence: Fence,
    policy: Policy,
    program: Program,
    line: str,
    *,
    cwd: str,
    env: dict[str, str],
    own: str,
    engine: str,
    files: Sequence[str] = (),
    tell: Callable[[EnforcementReport], None] | None = None,
    tidy: Callable[[], None] | None = None,
    sink: Sink | None = None,
) -> int:
    """Run under the engine, explain what was refused, end the call, and end as the program did: for `run` and `shell`.

    `line` is what the program was asked, for the explanation; `own` the session whose call this is, "" for another
    fence's, whose folder is not ours to remove. `tidy` is called when the program has ended, before we end as it did.
    """
    watches: list[Watch] = []

    def meanwhile() -> None:
        watches.append(Watch(fence.with_policy(policy, env), line, cwd, env, sink))

    def after(status: int) -> None:
        watches[0].explain(status)
        session.end_call(own)
        if tidy is not None:
            tidy()

    def heard(found: EnforcementReport) -> None:
        watches[0].told(found)
        if tell is not None:
            tell(found)

    try:
        ran = run_confined(
            policy,
            program,
            cwd=cwd,
            env=env,
            files=files,
            engine=engine,
            after=after,
            told=heard,
            meanwhile=meanwhile,
        )
    finally:
        session.end_call(own)  # where nothing was run
    return end(policy, ran)


def known_engine(name: str) -> str:
    """The engine's name, or UsageError: a misspelt engine must not become another one."""
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}", f"one of: {', '.join(ENGINES)}")
    return name


def known_lane(name: str) -> Lane:
    """The lane, or UsageError: a misspelt reviewer must not become a full lane."""
    try:
        return Lane(name)
    except ValueError:
        raise UsageError(
            f"unknown lane {name!r}", f"one of: {', '.join(lane.value for lane in Lane)}"
        ) from None


def fenced_environment(env: dict[str, str], policy: Policy, name: str) -> dict[str, str]:
    """The environment inside: the caller's, the session's folders, and the mark of a fence."""
    made = {key: value for key, value in env.items() if key not in DROPPED}
    made.update(session.environment(policy, name))
    if policy.restricted:
        made["RINGFENCE_FENCE"] = name
    if policy.worktrees:
        from ringfence.pipelines.git_grant import environment

        made.update(environment(env))
    return made


def utf8(env: dict[str, str]) -> dict[bytes, bytes]:
    """As bytes, so that no locale stands between the caller's environment and the program's."""
    return {
        key.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
        for key, value in env.items()
    }


def teller(wanted: bool) -> Callable[[EnforcementReport], None] | None:
    """Print what holds, before the program starts; every weaker rule on a line of its own."""
    if not wanted:
        return None

    def tell(report: EnforcementReport) -> None:
        complain(f"ringfence: held by {report.engine}: {report.detail}")
        for held in report.rules:
            why = f" ({held.why})" if held.why else ""
            complain(f"  {held.strength}: {held.rule.id}: {held.subject}{why}")
        for note in report.notes:
            complain(f"  note: {note}")

    return tell
