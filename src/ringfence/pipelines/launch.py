"""`ringfence launch AGENT`: render, wire for this session only, fence the whole process, run.

words -> row of the table -> what the installed program knows -> a private session folder -> policy with the agent's own
state -> the engine. The user's settings are never written; the folder goes when the agent ends.
"""

from __future__ import annotations

import os
import secrets
import shutil

from ringfence.agents.wiring import Wiring
from ringfence.enforce.launch import Program
from ringfence.errors import NotEnforcedError, UsageError
from ringfence.model import Lane, Posture
from ringfence.pipelines import binaries, compose, estate, launchers, rendering, session, wiring
from ringfence.pipelines.reviewer import start_reviewer
from ringfence.pipelines.run import fenced_environment, known_engine, start_fenced, teller, utf8
from ringfence.pipelines.say import complain, quote
from ringfence.pipelines.words import flag_words
from ringfence.records import Record
from ringfence.render.lanes import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.agents.registry import Row
    from ringfence.model import Policy
    from ringfence.pipelines.fence import Fence
    from ringfence.policy.asked import Flags
    from ringfence.render.lanes import Ask, Lanes, Rendering


class Wish(Record):
    """What the words ask for. `posture` None: a terminal says. `terminal`: whether a person sits at one."""

    mode: str
    lane: str
    posture: Posture | None
    terminal: bool


class Session(Record):
    """The session's private folder: `config` is read-only for the agent, `home` stands for its settings folder."""

    root: str
    config: str
    home: str


def start(
    flags: Flags, agent: str, wish: Wish, args: list[str], *, engine: str = "auto", report: bool = False
) -> int:
    """Run the agent and return its exit status; dies by its signal. Raises FenceError before anything is run."""
    known_engine(engine)
    env = compose.process_environment()
    cwd = compose.process_cwd()
    rendering.refuse_retired_environment(env)
    row = rendering.row_of(agent)
    lanes = rendering.lanes_of(row)
    ask = rendering.ask_of(wish.mode, wish.lane, _posture(wish))
    refuse_words(lanes, args)
    fence = compose.fence_for(launchers.absolute_flags(flags), env, cwd)
    _demand_a_fence(flags, fence.policy, ask, agent)
    outer = session.nested_name(env)
    if outer:
        raise UsageError(
            "this is a fence already", "start the agent itself: it is held as everything here is"
        )
    binary = binaries.find(row, lanes, env, fence.policy.folders.cache)
    folder = make_session(fence.policy)
    try:
        return _run(
            fence,
            row,
            lanes,
            ask,
            binary,
            folder,
            _fixed(flags, fence.policy),
            args,
            env,
            cwd,
            engine,
            report,
        )
    finally:
        shutil.rmtree(folder.root, ignore_errors=True)


def _posture(wish: Wish) -> Posture:
    if wish.posture is not None:
        return wish.posture
    if wish.terminal:
        return Posture.ATTENDED
    complain("ringfence: no terminal, so this session is unattended: nothing asks, the fence is the boundary")
    return Posture.UNATTENDED


def refuse_words(lanes: Lanes, args: Sequence[str]) -> None:
    """Raises UsageError for a word to the agent that would switch the fence off, widen it or leave it."""
    for at, word in enumerate(args):
        if word == "--":
            return
        name = word.partition("=")[0]
        behind = args[at + 1].partition("=")[0] if at + 1 < len(args) else ""
        joined = name[2:] if name.startswith("-c") and len(name) > 2 else ""
        spelled = [name, f"{name} {behind}", f"{name} {behind.partition('.')[0]}"]
        if name in {"-c", "--config"}:
            spelled += [f"-c {behind}", f"-c {behind.partition('.')[0]}"]
        elif joined or name == "--config":
            spelled += [f"-c {joined}", f"-c {joined.partition('.')[0]}"]
        if word.startswith("--config="):
            spelled.append("-c " + word.split("=")[1].partition(".")[0])
        if name[:1] == "-" and name[1:2] != "-" and len(name) > 2:
            spelled.append(name[:2])  # -sVALUE
        for candidate in spelled:
            if candidate in lanes.REFUSED:
                raise UsageError(
                    f"launch does not pass {candidate} to {lanes.TITLE}", lanes.REFUSED[candidate]
                )


def _demand_a_fence(flags: Flags, policy: Policy, ask: Ask, agent: str) -> None:
    if policy.restricted:
        return
    if not flags.no_restrict:
        raise NotEnforcedError(
            "nothing was run: no workspace is named, so there would be no fence",
            f"ringfence launch {agent} --workspace DIR, or --no-restrict-paths to run without a fence",
        )
    if ask.lane is Lane.REVIEWER:
        raise NotEnforcedError(
            "nothing was run: without a workspace nothing would keep a reviewer from changing it",
            f"ringfence launch {agent} --lane reviewer --workspace DIR",
        )
    loud = "NOBODY IS THERE AND NOTHING IS FENCED" if ask.posture is Posture.UNATTENDED else "NO FENCE"
    complain(
        f"ringfence: {loud}: --no-restrict-paths. Only protected checkouts and explicit zones are held; this "
        "session may change every other file of this user."
    )


def _fixed(flags: Flags, policy: Policy) -> Flags:
    """The flags as the hook gets them: the workspace by its absolute name, fixed now and never taken from a payload."""
    made = launchers.absolute_flags(flags)
    if policy.restricted and not made.workspace:
        made = made._replace(workspace=policy.workspace, restrict=False)
    return made


def make_session(policy: Policy) -> Session:
    """The private folder, below our state folder: fenced programs read there and write nothing. Raises
    NotEnforcedError where there is no place for it."""
    state = policy.folders.state
    if not state:
        raise NotEnforcedError(
            "nothing was run: there is no state folder for the session's files", "set HOME"
        )
    base = os.path.join(state, "sessions")
    sweep(base)
    root = os.path.join(base, f"{os.getpid()}-{secrets.token_hex(4)}")
    session.make_parents(state)
    session.make_private(root, base)
    made = Session(root, os.path.join(root, "config"), os.path.join(root, "home"))
    os.mkdir(made.config, 0o700)
    os.mkdir(made.home, 0o700)
    return made


def sweep(base: str) -> None:
    """Remove the folders of sessions whose process is gone."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        number = name.partition("-")[0]
        if number.isdigit() and not os.path.exists(f"/proc/{number}"):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


def _run(
    fence: Fence,
    row: Row,
    lanes: Lanes,
    ask: Ask,
    binary: binaries.Binary,
    folder: Session,
    flags: Flags,
    args: list[str],
    env: dict[str, str],
    cwd: str,
    engine: str,
    report: bool,
) -> int:
    fenced = fence.policy.restricted
    launcher = os.path.join(folder.config, f"ringfence-{row.name}-session") if lanes.LAUNCHER else ""
    places = Places(folder.config, folder.home, launcher, fenced, not fenced, os.geteuid() == 0)
    made = binaries.fitting(lanes, binary, lanes.render(ask, places))
    ground = estate.Ground((), (), folder.home, folder.home, ())
    if fenced or lanes.ESTATE.moved:
        ours = [file.name for file in made.files if file.at_home]
        ground = estate.lay(lanes.ESTATE, env, folder.home, cwd, fence.policy, ours)
    write_files(
        row, lanes, made, folder, ground, flags, launcher, estate.base_folder(lanes.ESTATE, env), fenced
    )
    name = session.session_name("", "")
    policy = session.with_session(fence.policy, name)
    if fenced:
        if policy.shell_reads == "system":
            # The agent reads its own program, settings and credentials; its commands still meet the narrower rule.
            complain('ringfence: note: shell_reads = "system" holds for commands, not for the agent itself')
        policy = policy._replace(zones=(*policy.zones, *ground.zones), shell_reads="anywhere")
    session.prepare(policy, name)
    inside = agent_environment(fenced_environment(env, policy, name), lanes, made, ground)
    if lanes.TRUSTS:
        wiring.trust(row, cwd, {**env, **dict(ground.env)})
    wiring.refuse_off_switches(row, cwd, inside)
    for note in (*made.notes, *ground.notes):
        complain(f"ringfence: note: {note}")
    for promise in made.promises:
        if report:
            complain(
                f"ringfence: {promise.held}: {promise.what}" + (f" ({promise.why})" if promise.why else "")
            )
    words = [binary.path, *made.flags, *args]
    # A reviewer's whole agent stands on a throwaway layer: its tools and its shell see the same files, and none lands.
    start_it = start_reviewer if ask.lane is Lane.REVIEWER else start_fenced
    return start_it(
        fence,
        policy,
        Program(words, utf8(inside)),
        " ".join(map(quote, words)),
        cwd=cwd,
        env=inside,
        own=name,
        engine=engine,
        tell=teller(report),
        tidy=lambda: shutil.rmtree(folder.root, ignore_errors=True),
    )


def write_files(
    row: Row,
    lanes: Lanes,
    made: Rendering,
    folder: Session,
    ground: estate.Ground,
    flags: Flags,
    launcher: str,
    base: str,
    fenced: bool,
) -> None:
    """The transient files, with our hook in them; `base` is the agent's real settings folder, `fenced` whether the
    engine stands around it. Raises NotEnforcedError where the hook cannot be wired."""
    program, words = launchers.hook_words(row.name, flags, launcher)
    call = Wiring(program, (*words, *made.hook, *(("--fenced",) if fenced else ())), launcher)
    if launcher:
        launchers.write(launcher, launchers.launcher_text(lanes.LAUNCHER, flag_words(flags)))
    for file in made.files:
        path = os.path.join(ground.folder if file.at_home else folder.config, file.name)
        text = file.text
        if file.merged:
            text = wiring.merged(os.path.join(base, file.name), text)
        if file.hooked:
            text = wiring.wired(row, path, text, call)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)


def agent_environment(
    env: dict[str, str], lanes: Lanes, made: Rendering, ground: estate.Ground
) -> dict[str, str]:
    """The environment of the agent: without what would switch the hook off, with what the table and the session add."""
    for name, why in lanes.UNSET.items():
        if env.pop(name, None) is not None:
            complain(f"ringfence: {name} is not passed on: {why}")
    return {**env, **dict(made.env), **dict(ground.env)}


__all__ = [
    "Session",
    "Wish",
    "agent_environment",
    "make_session",
    "refuse_words",
    "start",
    "sweep",
    "write_files",
]
