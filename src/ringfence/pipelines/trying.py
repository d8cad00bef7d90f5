"""`ringfence try -- PROGRAM …`: run it on a throwaway layer, list what it would have changed, each with its verdict.

sweep -> layer -> run -> read back -> judge -> (ask) -> (apply) -> drop. Hot up to the reading back.
"""

from __future__ import annotations

import posix
from time import clock_gettime_ns

from ringfence.enforce import launch as launcher
from ringfence.errors import (
    EXIT_BUG,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_USAGE,
    FenceError,
    NotEnforcedError,
    OutputError,
    UsageError,
)
from ringfence.kernel import processes
from ringfence.model import Attempt, JudgedChange, LayerLimit, Verdict
from ringfence.pipelines import compose, layer_run, layers, session
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.enforce.layer_holder import Joining
    from ringfence.model import Policy
    from ringfence.pipelines.layer_judge import Judge
    from ringfence.pipelines.layer_watch import Watch
    from ringfence.pipelines.layers import Medium
    from ringfence.policy.asked import Flags

OPTIONS = {
    "--json": False,
    "--keep": False,
    "--ask": False,
    "--diff": False,
    "--no-attempts": False,
    "--export": True,
    "--on": True,
    "--size": True,
    "--report": False,
}
_COARSE = 5  # CLOCK_REALTIME_COARSE: the clock that change times are taken from


class Wish(Record):
    """What the words of the command ask for. `export` "": no diff; `on` and `size`: pipelines/layers.py."""

    as_json: bool = False
    keep: bool = False
    ask: bool = False
    diff: bool = False
    attempts: bool = True
    export: str = ""
    on: str = layers.AUTO
    size: int = 0
    report: bool = False


class Tried(Record):
    """Everything that is said afterwards. `status` is the program's wait status."""

    program: tuple[str, ...]
    status: int
    changes: tuple[JudgedChange, ...]
    attempts: tuple[Attempt, ...]
    limits: tuple[LayerLimit, ...]
    unread: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    medium: Medium
    used: int
    full: bool
    left: int
    kept: bool

    @property
    def refused(self) -> bool:
        """Whether anything is to be said with exit status 1."""
        denied = any(one.decision.verdict is not Verdict.ALLOW or one.why_not for one in self.changes)
        return denied or bool(self.attempts or self.unread) or self.full


def run(words: Sequence[str]) -> int:
    """The hot door."""
    from ringfence.pipelines.say import complain
    from ringfence.pipelines.words import take_flags

    try:
        flags, options, program = take_flags(words, OPTIONS)
        if not program:
            complain("ringfence: no program to try\n  ringfence try --workspace DIR -- PROGRAM ARGUMENTS…")
            return EXIT_USAGE
        return start(flags, program, wish_of(options))
    except FenceError as error:
        complain(f"ringfence: {error}")
        return error.exit_code
    except BrokenPipeError:
        return EXIT_REFUSED  # the reader of the list went away
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the outermost door
        complain(f"ringfence: a bug of ringfence: {type(error).__name__}: {error}")
        return EXIT_BUG


def wish_of(options: dict[str, str]) -> Wish:
    """Raises UsageError for words that contradict each other."""
    if "--keep" in options and "--ask" in options:
        raise UsageError("--keep and --ask contradict each other", "give one of them")
    if "--ask" in options and not (posix.isatty(0) and posix.isatty(2)):
        raise UsageError("--ask needs a terminal to ask on", "--keep applies what is allowed without asking")
    return Wish(
        as_json="--json" in options,
        keep="--keep" in options,
        ask="--ask" in options,
        diff="--diff" in options,
        attempts="--no-attempts" not in options,
        export=options.get("--export", ""),
        on=options.get("--on", layers.AUTO),
        size=layers.read_size(options["--size"]) if "--size" in options else 0,
        report="--report" in options,
    )


def start(flags: Flags, program: list[str], wish: Wish) -> int:
    """Run, list, perhaps apply. The exit status is ours: the program's own is part of what is said."""
    from ringfence.pipelines.run import fenced_environment, utf8

    env = compose.process_environment()
    cwd = compose.process_cwd()
    fence = compose.fence_for(flags, env, cwd)
    _check_export(wish.export)
    if not fence.policy.restricted:
        raise UsageError(
            "nothing was run: no workspace is named, so nothing could be told apart", "--workspace DIR"
        )
    if "RINGFENCE_FENCE" in env and layer_run.is_fenced():
        raise NotEnforcedError(
            "nothing was run: this shell stands in a fence, in which no throwaway layer can be mounted",
            "run `ringfence try` from outside it",
        )
    layers.sweep(fence.policy.folders)
    name = session.session_name("", "")
    policy = session.with_session(fence.policy, name)
    medium = layers.medium_here(policy.folders, wish.on, wish.size)
    kept = layers.of_process(policy.folders, medium)
    _note(policy, kept)  # before anything is made that a kill could leave behind
    try:
        session.prepare(policy, name)
        inside = fenced_environment(env, policy, name)
        return _try(policy, launcher.Program(program, utf8(inside)), cwd, inside, wish, medium, kept)
    finally:
        session.end_call(name)
        layers.remove_folder(policy.folders, kept.folder)
        layers.forget(policy.folders, kept.name)


def _check_export(path: str) -> None:
    """Before an hour's build, not behind it. Opens nothing: the program would see it. Raises OutputError."""
    if not path:
        return
    next_step = "nothing was run; name a file in a folder that is there"
    try:
        posix.stat((path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")) + "/.")
    except OSError as error:
        raise OutputError(f"--export {path}: {error.strerror}", next_step) from None
    try:
        posix.stat(path + "/.")
    except OSError:
        return
    raise OutputError(f"--export {path}: it is a folder", next_step)


def _try(
    policy: Policy,
    program: launcher.Program,
    cwd: str,
    env: dict[str, str],
    wish: Wish,
    medium: Medium,
    kept: layers.Kept,
) -> int:
    prepared = layer_run.prepare(policy, cwd, env)
    started = clock_gettime_ns(_COARSE)
    layer = layers.new_layer(policy.folders, kept, prepared.roots, medium)
    standing = layer_run.build(prepared, layer)
    try:
        kept = kept._replace(namespace=standing.held.namespace)
        _note(policy, kept)
        status = _run(policy, program, cwd, wish, standing, medium, started, kept)
    except BaseException:
        layer_run.close(standing)
        raise
    layer_run.close(standing, empty=True)
    return status


def _note(policy: Policy, kept: layers.Kept) -> None:
    """The record of this layer. Without a state folder only the sweep after a kill is lost."""
    try:
        layers.keep(policy.folders, kept)
    except OSError:
        return


def _run(
    policy: Policy,
    program: launcher.Program,
    cwd: str,
    wish: Wish,
    standing: layer_run.Standing,
    medium: Medium,
    started: int,
    kept: layers.Kept,
) -> int:
    from ringfence.pipelines.layer_judge import Judge
    from ringfence.pipelines.run import teller

    judge = Judge(policy)
    held = standing.held
    watch = _watch(judge, standing) if wish.attempts else None
    meter = _Meter(held.top, medium, posix.isatty(2) and not wish.as_json, standing)
    outcome, _ = layer_run.run(
        policy,
        program,
        standing,
        _joining(cwd),
        watch=watch,
        quiet_stdout=wish.as_json,
        told=teller(wish.report),
        meanwhile=meter.begin,
    )
    meter.end()
    if not isinstance(outcome, launcher.Finished):
        return _not_started(policy, outcome)
    left = processes.end_all(held.namespace, standing.layer.mark, keep=held.pid)
    tried = _read(program, outcome.status, judge, standing, medium, meter, watch, left)
    return _conclude(policy, wish, standing, tried, started, kept)


def _joining(cwd: str) -> Joining:
    from ringfence.enforce.layer_holder import Joining

    return Joining(cwd)


def _not_started(policy: Policy, outcome: launcher.NotStarted) -> int:
    from ringfence.pipelines.confine import weaknesses
    from ringfence.pipelines.say import complain

    if isinstance(outcome, launcher.Declined):
        complain(f"ringfence: {weaknesses(policy, outcome.report)}")
    else:
        complain(f"ringfence: {launcher.explain(outcome)}")
    return launcher.exit_code(outcome)


def _watch(judge: Judge, standing: layer_run.Standing) -> Watch:
    from ringfence.pipelines.layer_watch import Watch

    wanted = standing.prepared.wanted
    free = [zone.root for zone in wanted.writable if zone.root not in standing.layer.roots]
    return Watch(judge, standing.layer, standing.held.top, (*free, *wanted.files))


class _Meter:
    """Looks at the layer while the program runs: how full it is, and a line on a terminal when it takes long."""

    __slots__ = ("_hold", "_medium", "_over", "_shows", "_standing", "_top", "full", "over", "shown")

    def __init__(self, top: int, medium: Medium, shows: bool, standing: layer_run.Standing) -> None:
        from _thread import allocate_lock

        self._top = top
        self._medium = medium
        self._shows = shows
        self._standing = standing
        self._over = allocate_lock()
        self._over.acquire()
        self.full = False
        self.over = False
        self.shown = False

    def begin(self) -> None:
        from _thread import start_new_thread

        start_new_thread(self._look, ())

    def end(self) -> None:
        self._over.release()
        self.full = self.full or layers.is_full(self._top)
        self.wipe()

    def _look(self) -> None:
        from ringfence.pipelines.say import write_all

        before = layers.used(self._top)[0]
        ticks = 0
        while not self._over.acquire(timeout=0.1):
            ticks += 1
            self.full = self.full or layers.is_full(self._top)
            used = max(layers.used(self._top)[0] - (before if self._medium.on == layers.DISK else 0), 0)
            if self._medium.on == layers.DISK and used > self._medium.size and not self.over:
                # No quota of the kernel's stands behind a folder: what outgrows it is ended.
                self.over = True
                processes.end_all(
                    self._standing.held.namespace, self._standing.layer.mark, self._standing.held.pid
                )
            if self._shows and ticks >= 20 and ticks % 10 == 0:
                self.shown = True
                line = f"\r\x1b[Kringfence try: {ticks // 10} s, {layers.shown_size(used)} in the layer"
                write_all(2, line.encode("ascii"))

    def tick(self, text: str, count: int) -> None:
        """Our own work after the program: a line for each thousand entries."""
        if self._shows and count % 1000 == 0:
            from ringfence.pipelines.say import write_all

            self.shown = True
            write_all(2, f"\r\x1b[Kringfence try: {text}: {count} entries".encode("ascii"))

    def wipe(self) -> None:
        if self.shown:
            from ringfence.pipelines.say import write_all

            self.shown = False
            write_all(2, b"\r\x1b[K")


def _counted(meter: _Meter, text: str) -> Callable[[], None]:
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        meter.tick(text, count)

    return tick


def _read(
    program: launcher.Program,
    status: int,
    judge: Judge,
    standing: layer_run.Standing,
    medium: Medium,
    meter: _Meter,
    watch: Watch | None,
    left: int,
) -> Tried:
    from ringfence.pipelines.layer_changes import read_back
    from ringfence.pipelines.layer_judge import limits_of, split_caches
    from ringfence.pipelines.say import left_out

    back = read_back(standing.layer, standing.held.top, _counted(meter, "reading back"))
    meter.wipe()
    changes, caches = split_caches(judge.policy, back.changes)
    judged = judge.all(changes)
    notes = left_out(judge.policy)
    if caches:
        notes.append(f"{len(caches)} changes in the private caches were thrown away with the layer")
    if left:
        notes.append(
            f"{left} processes that the program left behind were ended; the list is of the moment after that"
        )
    if watch is None:
        notes.append("attempts outside were not listened for (--no-attempts)")
    elif watch.missed:
        notes.append(f"attempts may be missing: {watch.missed}")
    for path in standing.prepared.single:
        notes.append(f"{path}: a single file cannot be covered by a layer; it was read-only for this program")
    if meter.over:
        notes.append(
            f"the layer outgrew {layers.shown_size(medium.size)} on the disk, and the program was ended"
        )
    changed = {change.path for change in changes}
    attempts = [one for one in (watch.attempts if watch else ()) if one.decision.path not in changed]
    return Tried(
        tuple(_plain(word) for word in program.argv),
        status,
        tuple(judged),
        tuple(attempts),
        (*limits_of(changes), *(watch.limits if watch else ())),
        tuple((one.path, one.why) for one in back.unread),
        tuple(notes),
        medium,
        layers.used(standing.held.top)[0] if medium.on == layers.MEMORY else 0,
        meter.full,
        left,
        kept=False,
    )


def _plain(word: str | bytes) -> str:
    return word if isinstance(word, str) else word.decode("utf-8", "surrogateescape")


def _conclude(
    policy: Policy, wish: Wish, standing: layer_run.Standing, tried: Tried, started: int, kept: layers.Kept
) -> int:
    from ringfence.pipelines.layer_tell import tell, tell_kept

    diff = _diff(wish, standing, tried)
    keep = wish.keep
    if not (wish.keep and wish.as_json):
        # With --keep and JSON one document says both; else the list comes before anything is applied.
        if not wish.as_json:
            tell(tried, as_json=False, diff=diff if wish.diff else "")
        if wish.ask:
            keep = bool(tried.changes) and _asked(tried)
    if keep:
        tried = _apply(policy, standing, tried, started, kept)
        if not wish.as_json:
            tell_kept(tried)
    if wish.as_json:
        tell(tried, as_json=True, diff=diff if wish.diff else "")
    return EXIT_REFUSED if tried.refused else EXIT_OK


def _diff(wish: Wish, standing: layer_run.Standing, tried: Tried) -> str:
    if not (wish.diff or wish.export):
        return ""
    from ringfence.pipelines.layer_diff import unified

    text = unified(standing.layer, standing.held.top, [one.change for one in tried.changes])
    if wish.export:
        _export(wish.export, text.encode("utf-8", "surrogateescape"))
    return text


def _export(path: str, data: bytes) -> None:
    """Raises OutputError."""
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC
    try:
        fd = posix.open(path.encode("utf-8", "surrogateescape"), flags, 0o666)
        try:
            from ringfence.pipelines.say import write_all

            write_all(fd, data)
        finally:
            posix.close(fd)
    except OSError as error:
        raise OutputError(
            f"--export {path}: {error.strerror}", "nothing was applied; name another file"
        ) from None


def _asked(tried: Tried) -> bool:
    """One question on the terminal; only `y` and `yes` apply."""
    from ringfence.pipelines.say import write_all

    allowed = sum(1 for one in tried.changes if one.decision.verdict is Verdict.ALLOW)
    if not allowed:
        return False
    write_all(2, f"apply the {allowed} allowed changes to the real tree? [y/N] ".encode("ascii"))
    answer = posix.read(0, 1024).strip().lower()
    return answer in (b"y", b"yes")


def _apply(
    policy: Policy, standing: layer_run.Standing, tried: Tried, started: int, kept: layers.Kept
) -> Tried:
    """Put the allowed changes on the real tree, and look after them as after any fenced command."""
    from ringfence.pipelines.aftermath import Watch as Aftermath
    from ringfence.pipelines.confine import say_after
    from ringfence.pipelines.layer_apply import Applier
    from ringfence.pipelines.placing import placed

    staged = f".ringfence-{kept.name}"
    kept = kept._replace(data={**kept.data, "staged": [[root, staged] for root in standing.layer.roots]})
    _note(policy, kept)
    aftermath = Aftermath(policy, standing.prepared.wanted, placed)
    aftermath.begin()
    applier = Applier(standing.layer, standing.held.top, started, staged, tried_links(standing))
    try:
        done = applier.apply(list(tried.changes))
    finally:
        applier.close()
        for line in aftermath.after():
            say_after(line)
    return tried._replace(changes=tuple(done), kept=True)


def tried_links(standing: layer_run.Standing) -> dict[int, str]:
    """Inodes of the layer whose content the real tree has already: read once more, cheap beside the applying."""
    from ringfence.pipelines.layer_changes import read_back

    return read_back(standing.layer, standing.held.top).linked
