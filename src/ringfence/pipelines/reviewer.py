"""The reviewer's lane: its programs run on a throwaway layer, and nothing lands.

One layer for a session, built by its first call and kept alive by a holder, which each call joins: it sees what earlier
calls wrote, and a job that one of them left behind goes on in the same files. It ends with the agent's end event
(`layers.end_session`), with `ringfence review drop`, a day after its last call, or at boot.

Where no layer can be built the workspace is read-only for the reviewer, said each time; it is never a plain run.
"""

from __future__ import annotations

import posix

from ringfence.enforce.layer import Layer
from ringfence.enforce.layer_holder import Held, Joining
from ringfence.errors import NotEnforcedError
from ringfence.model import Access, Rule, Zone, ZoneKind
from ringfence.pipelines import layer_run, layers
from ringfence.pipelines.say import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.enforce import launch as launcher
    from ringfence.model import EnforcementReport, Folders, Policy
    from ringfence.pipelines.denials import Watch as Denials
    from ringfence.pipelines.fence import Fence
    from ringfence.pipelines.refusals import Sink

_SHARED = Rule("reviewer", "built in")
_PAUSE = 20.0  # seconds between two looks of a holder at its record


def start_reviewer(
    fence: Fence,
    policy: Policy,
    program: launcher.Program,
    line: str,
    *,
    cwd: str,
    env: dict[str, str],
    own: str,
    engine: str,
    files: Sequence[str] = (),
    tell: Callable[[EnforcementReport], None] | None = None,
    session: str = "",
    tidy: Callable[[], None] | None = None,
    sink: Sink | None = None,
) -> int:
    """As `run.start_fenced`, on the layer of `session` (a plain name; "": one for this call alone)."""
    from ringfence.pipelines.run import start_fenced

    def fenced(under: Policy) -> int:
        return start_fenced(
            fence,
            under,
            program,
            line,
            cwd=cwd,
            env=env,
            own=own,
            engine=engine,
            files=files,
            tell=tell,
            tidy=tidy,
            sink=sink,
        )

    roots = tuple(
        zone.root for zone in policy.zones if zone.kind in layers.COVERED and zone.access is Access.WRITE
    )
    there = tuple(root for root in roots if posix.access(root.encode("utf-8", "surrogateescape"), 0))
    if layers.stands_in_layer(env, there):
        # The whole agent is on a layer already: in here everything is an ordinary fenced command.
        return fenced(policy)
    why = ""
    if engine == "landlock":
        why = "the landlock engine cannot build one"
    elif "RINGFENCE_FENCE" in env and layer_run.is_fenced():
        why = "this shell stands in another fence, in which nothing can be mounted"
    if not why:
        try:
            return _on_layer(fence, policy, program, line, cwd, env, own, files, tell, session, tidy, sink)
        except NotEnforcedError as error:
            # The commonest reasons are long enough: the message alone, and the next step behind it.
            why = "; ".join(filter(None, (error.message.removeprefix("nothing was run: "), error.hint)))
    complain(
        f"ringfence: reviewer: no layer ({why}): the workspace is READ-ONLY for this command; "
        "build output has its place in $TMPDIR"
    )
    return fenced(read_only(policy))


def with_repositories(policy: Policy) -> Policy:
    """Under a layer a linked worktree's whole repository is writable but for its guards: nothing of it lands."""
    shared = [Zone(each.common_dir, Access.WRITE, ZoneKind.ZONE, _SHARED) for each in policy.worktrees]
    return policy._replace(zones=(*policy.zones, *shared))


def read_only(policy: Policy) -> Policy:
    """The policy without a writable tree but the session's own: temp folder, private caches, the agent's scratch."""
    private = (ZoneKind.TEMP, ZoneKind.CACHE, ZoneKind.SCRATCH)
    zones = tuple(
        zone._replace(access=Access.READ)
        if zone.access is Access.WRITE and zone.kind not in private
        else zone
        for zone in policy.zones
    )
    return policy._replace(zones=zones)


def _on_layer(
    fence: Fence,
    policy: Policy,
    program: launcher.Program,
    line: str,
    cwd: str,
    env: dict[str, str],
    own: str,
    files: Sequence[str],
    tell: Callable[[EnforcementReport], None] | None,
    session: str,
    tidy: Callable[[], None] | None,
    sink: Sink | None,
) -> int:
    from ringfence.pipelines import session as sessions

    folders = policy.folders
    policy = with_repositories(policy)
    prepared = layer_run.prepare(policy, cwd, env, files)
    layers.sweep(folders, record_name(session, prepared.roots) if session else "")
    if session:
        standing, joining, medium = _of_session(folders, session, prepared, cwd, files)
    else:
        standing, joining, medium = _of_call(folders, prepared, cwd)
    watches: list[Denials] = []

    def meanwhile() -> None:
        from ringfence.pipelines.denials import Watch as Denials

        watches.append(Denials(fence.with_policy(policy, env), line, cwd, env, sink))

    def after(status: int) -> None:
        watches[0].explain(status)
        if tidy is not None:
            tidy()

    def heard(found: EnforcementReport) -> None:
        watches[0].told(found)
        if tell is not None:
            tell(found)

    try:
        outcome, _ = layer_run.run(
            policy,
            program,
            standing,
            joining,
            after=after,
            told=heard,
            meanwhile=meanwhile,
        )
        if layers.is_full(standing.held.top):
            from ringfence.pipelines.layer_tell import full_line

            complain(
                f"ringfence: {full_line(medium, standing.layer.size)}, or drop it: ringfence review drop"
            )
    finally:
        if session:
            posix.close(standing.held.top)
        else:
            layer_run.close(standing)
            layers.remove_folder(folders, standing.layer.folder)
            layers.forget(folders, f"try-{posix.getpid()}")
        sessions.end_call(own)
    return _end(policy, outcome)


def _end(policy: Policy, outcome: launcher.Outcome) -> int:
    from ringfence.pipelines.confine import Ran, end

    return end(policy, Ran(outcome, None, ()))


def _of_call(
    folders: Folders, prepared: layer_run.Prepared, cwd: str
) -> tuple[layer_run.Standing, Joining, str]:
    """A layer for this call alone, which ends with us."""
    medium = layers.medium_here(folders)
    kept = layers.of_process(folders, medium)
    layers.keep(folders, kept)
    layer = layers.new_layer(folders, kept, prepared.roots, medium)
    standing = layer_run.build(prepared, layer)
    layers.keep(folders, kept._replace(namespace=standing.held.namespace))
    return standing, Joining(cwd), medium.on


def _of_session(
    folders: Folders, session: str, prepared: layer_run.Prepared, cwd: str, files: Sequence[str]
) -> tuple[layer_run.Standing, Joining, str]:
    """The layer of this session: the one that stands, else a new one."""
    name = record_name(session, prepared.roots)
    if not folders.state:
        raise NotEnforcedError(
            "nothing was run: there is no state folder to find a session's layer again", "set HOME"
        )
    turn = layers.lock(folders)
    try:
        kept = layers.find(folders, name)
        if kept is not None and layers.lives(kept):
            layers.touch(folders, name)
            return _join(kept, prepared, cwd, files)
        if kept is not None:
            layers.drop(folders, kept)
            complain(
                "ringfence: reviewer: the layer of this session is gone; a new one starts from the real tree"
            )
        return _begin(folders, name, prepared, cwd)
    finally:
        posix.close(turn)


def record_name(session: str, roots: tuple[str, ...]) -> str:
    from ringfence.pipelines.session import digest

    return f"{session}.{digest(chr(0).join(roots)):016x}"


def _begin(
    folders: Folders, name: str, prepared: layer_run.Prepared, cwd: str
) -> tuple[layer_run.Standing, Joining, str]:
    medium = layers.medium_here(folders)
    # Written before anything is made: whoever starts next cleans up after us.
    unborn = layers.of_process(folders, medium, name)
    layers.keep(folders, unborn)
    layer = layers.new_layer(folders, unborn, prepared.roots, medium)
    record = f"{layers.records_folder(folders)}/{name}"
    try:
        standing = layer_run.build(prepared, layer, lambda _: _attend(record))
    except NotEnforcedError:
        layers.remove_folder(folders, layer.folder)
        layers.forget(folders, name)
        raise
    held = standing.held
    data = {
        "roots": list(layer.roots),
        "size": layer.size,
        "on": medium.on,
        "number": held.number,
        "gone": list(held.gone),
        "limited": held.limited,
        "fixed": _fixed(prepared),
        "hidden": _hidden(prepared),
    }
    layers.keep(
        folders, layers.Kept(name, held.pid, held.born, held.namespace, layer.mark, layer.folder, data)
    )
    return standing, Joining(cwd), medium.on


def _join(
    kept: layers.Kept, prepared: layer_run.Prepared, cwd: str, files: Sequence[str]
) -> tuple[layer_run.Standing, Joining, str]:
    held, layer = reopen(kept)
    known = {*kept.data["fixed"], *kept.data["hidden"]}
    joining = Joining(
        cwd,
        tuple(files),
        tuple(path for path in _fixed(prepared) if path not in known),
        tuple(path for path in _hidden(prepared) if path not in known),
        anew=layer.roots,
    )
    return layer_run.Standing(held, layer, prepared), joining, kept.data["on"]


def reopen(kept: layers.Kept) -> tuple[Held, Layer]:
    """A session's layer that stands. Raises NotEnforcedError if it is gone meanwhile."""
    data = kept.data
    try:
        top = posix.open(
            f"/proc/{kept.owner}/fd/{data['number']}", posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC
        )
    except OSError as error:
        raise NotEnforcedError(
            f"nothing was run: the layer of this session cannot be reached (errno {error.errno})",
            "ringfence review drop",
        ) from None
    held = Held(
        kept.owner,
        kept.born,
        kept.namespace,
        data["number"],
        top,
        -1,
        tuple(data["gone"]),
        data["limited"],
    )
    return held, Layer(tuple(data["roots"]), kept.folder, data["size"], kept.mark)


def _fixed(prepared: layer_run.Prepared) -> list[str]:
    return [zone.root for zone in prepared.wanted.carve_outs]


def _hidden(prepared: layer_run.Prepared) -> list[str]:
    return [*(zone.root for zone in prepared.wanted.masked), *prepared.found.sockets]


def _attend(record: str) -> None:
    """What a session's holder does: wait until its record is gone, another's, or a day old."""
    from time import sleep, time

    from ringfence.jsonscan import loads

    path = record.encode("utf-8", "surrogateescape")
    own = posix.getpid()
    while True:
        sleep(_PAUSE)
        try:
            if time() - posix.stat(path).st_mtime > layers.AGE:
                return
            fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
            try:
                body = loads(posix.read(fd, 1 << 20))
            finally:
                posix.close(fd)
        except OSError:
            return
        except ValueError:
            continue
        if body.get("owner") != own:
            return
