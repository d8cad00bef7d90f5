"""From what stands around a call to a policy: environment, folders, files, snapshot. Ambient state is read here once.

Hot where it can be: the snapshot keeps TOML and the compiler off the hook's path.
"""

from __future__ import annotations

import sys

from ringfence.model import Folders, Surroundings
from ringfence.pipelines.fence import Fence, site_of, text_of
from ringfence.policy import snapshot
from ringfence.policy.asked import Flags, Sources
from ringfence.policy.folders import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ringfence.model import Access, Policy, Site, ToolCall
    from ringfence.pipelines.fence import PathText
    from ringfence.policy.load import Loaded

    Scratch = Callable[[Mapping[str, str], int], tuple[tuple[str, str, Access], ...]]

_NO_FOLDERS = Folders("", "", "", "")
_FROM_ENV = ""  # `home` left out: HOME of the environment


def process_environment() -> dict[str, str]:
    """The process's environment as UTF-8 text with surrogateescape, whatever the locale."""
    if sys.platform == "win32":
        import os

        return dict(os.environ)
    from posix import environ

    return {
        key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for key, value in environ.items()
    }


def process_cwd() -> str:
    """The working directory by its physical name. Raises UsageError if it was removed."""
    if sys.platform == "win32":
        import os

        return os.getcwd()
    from posix import getcwdb

    try:
        return getcwdb().decode("utf-8", "surrogateescape")
    except OSError as error:
        from ringfence.errors import UsageError

        raise UsageError(
            f"the current folder cannot be named: {error.strerror}", "it was removed: cd to one that is there"
        ) from None


def resolve(path: str) -> Site:
    """The resolver that the policy room is handed."""
    return site_of(path, True)


def sources(
    flags: Flags, env: Mapping[str, str], cwd: str, home: str | None, *, files: bool = True
) -> Sources:
    """Everything a policy is made from."""
    own = _own_folders(env, home)
    kept = {k: v for k, v in env.items() if k.startswith("RINGFENCE_") or k == "TMPDIR"}
    folders, site = own
    return Sources(flags, kept, cwd, home, folders, site, sys.platform, _installation(), files)


def own_folders(env: Mapping[str, str]) -> Folders:
    """Where ringfence keeps its own things for this user; empty names where nothing tells."""
    return _own_folders(env, env.get("HOME") or None)[0]


def _own_folders(env: Mapping[str, str], home: str | None) -> tuple[Folders, str]:
    if sys.platform == "win32":
        uid = 0
    else:
        from posix import getuid

        uid = getuid()
    found = places(sys.platform, env, home, uid, _usable)
    return (found.folders, found.site) if found else (_NO_FOLDERS, "")


def _usable(path: str) -> bool:
    from posix import W_OK, access

    return access(path, W_OK)


def _installation() -> tuple[str, ...]:
    package = __file__.rpartition("/")[0].rpartition("/")[0]
    return tuple(dict.fromkeys(p for p in (package, sys.prefix, sys.exec_prefix) if p))


def load_policy(
    flags: Flags, env: Mapping[str, str], cwd: str, home: str | None, *, files: bool = True
) -> Loaded:
    """Read and compile. Raises PolicyError or UsageError."""
    from ringfence.policy.load import load as compile_all

    return compile_all(sources(flags, env, cwd, home, files=files), resolve)


def fence_for(flags: Flags, env: Mapping[str, str], cwd: str) -> Fence:
    """The fence for a process: from the snapshot if it is still true, else compiled and kept."""
    home = env.get("HOME") or None
    made = sources(flags, env, cwd, home)
    return Fence._of(_policy(made), home, env, cwd)  # noqa: SLF001 - the other door of the same class


def _policy(made: Sources) -> Policy:
    if "RINGFENCE_FENCE" in made.env:
        # Inside a fence the cache folder is one that the fenced programs may write: nothing kept there is believed.
        from ringfence.policy.load import load as compile_anew

        return compile_anew(made, resolve).policy
    found = snapshot.load(made, resolve)
    if found is not None:
        return found
    from ringfence.policy.load import load as compile_all

    loaded = compile_all(made, resolve)
    snapshot.store(made, loaded)
    return loaded.policy


def hook_fence(flags: Flags, call: ToolCall, scratch: Scratch, root: str = "") -> Fence:
    """The fence for an agent's call, with the zones that the call's session owns.

    The payload's cwd never chooses the policy: it moves with every `cd`, and an agent that strayed would take its
    fence along. Without a workspace in the flags, the folder the agent was started in is asked for a project file.
    `scratch(environment, uid)` names the agent's own folders, `root` the variable that says where it was started.
    """
    from posix import getuid

    from ringfence.pipelines.session import environment, nested_name, session_name, with_scratch, with_session

    env = process_environment()
    cwd = (env.get(root) if root else "") or process_cwd()
    fence = fence_for(flags, env, cwd)
    # Inside `launch` the agent's commands have that fence's temp folder, and so have its file tools.
    name = nested_name(env) or session_name(call.agent, call.session)
    policy = with_session(fence.policy, name)
    if policy.restricted:
        policy = with_scratch(policy, scratch(env, getuid()), resolve)
    return (
        fence if policy is fence.policy else fence.with_policy(policy, {**env, **environment(policy, name)})
    )


def build(
    workspace: PathText | Iterable[PathText] | None,
    protect: PathText | Iterable[PathText],
    *,
    reads: str,
    home: str | None,
    env: Mapping[str, str] | None,
    temp: str,
    cwd: PathText | None,
    policy: Policy | None,
) -> tuple[Policy, str | None, Mapping[str, str], str]:
    """For `Fence(...)`: no policy file is read, and nothing ambient where `env` is given."""
    seen = process_environment() if env is None else env
    house = seen.get("HOME") or None if home == _FROM_ENV and home is not None else home
    base = process_cwd() if cwd is None else text_of(cwd)
    if policy is not None:
        return policy, house, seen, base
    flags = Flags(
        _texts(workspace),
        _texts(protect),
        settings=(("reads", reads), ("temp", temp)),
    )
    own = {k: v for k, v in seen.items() if not k.startswith("RINGFENCE_")}
    return load_policy(flags, own, base, house, files=False).policy, house, seen, base


def _texts(paths: PathText | Iterable[PathText] | None) -> tuple[str, ...]:
    if paths is None:
        return ()
    if isinstance(paths, str | bytes):
        return (text_of(paths),)
    if hasattr(paths, "__fspath__"):
        return (text_of(paths.__fspath__()),)
    return tuple(text_of(path) for path in paths)


def load(
    cwd: PathText | None, env: Mapping[str, str] | None
) -> tuple[Policy, str | None, Mapping[str, str], str]:
    """For `Fence.load`: files and environment for `cwd`."""
    seen = process_environment() if env is None else env
    base = process_cwd() if cwd is None else text_of(cwd)
    house = seen.get("HOME") or None
    return _policy(sources(Flags(), seen, base, house)), house, seen, base


def surroundings(env: Mapping[str, str], cwd: str) -> Surroundings:
    return Surroundings(cwd, env.get("HOME") or None)
