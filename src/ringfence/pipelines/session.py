"""What a session owns: the private temp folder, the private caches, the environment that points there.

A session is (agent, the agent's session id); sub-agents share it. `run` and `shell` without one get a folder of their
own for the call. Hot: built-in modules only.
"""

from __future__ import annotations

from _stat import S_ISDIR
from posix import (
    F_OK,
    O_CLOEXEC,
    O_DIRECTORY,
    O_NOFOLLOW,
    O_RDONLY,
    W_OK,
    access,
    close,
    fstat,
    geteuid,
    getpid,
    listdir,
    lstat,
    mkdir,
    open,
    rmdir,
)

from ringfence.errors import NotEnforcedError, UsageError
from ringfence.model import Access, Located, Rule, Zone, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Policy, Site

_BASE_RULE = Rule("temp.base", "built in")
_TEMP_RULE = Rule("temp", "built in")
_SHARED_RULE = Rule("temp.shared", "built in")
_SCRATCH_RULE = Rule("scratch", "built in")
_CACHE_RULE = Rule("caches", "built in")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
SHARED = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - names in a policy; nothing is opened here

# variable -> sub-folder. Package managers' and compilers' caches: a shared one could be poisoned for every other
# project, a refused one breaks every install. Sources: each tool's documentation, as of 2026.
CACHE_VARIABLES: Mapping[str, str] = {
    "XDG_CACHE_HOME": "xdg",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "PDM_CACHE_DIR": "pdm",
    "POETRY_CACHE_DIR": "poetry",
    "PRE_COMMIT_HOME": "pre-commit",
    "npm_config_cache": "npm",
    "pnpm_config_store_dir": "pnpm-store",
    "YARN_CACHE_FOLDER": "yarn",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "DENO_DIR": "deno",
    "NODE_COMPILE_CACHE": "node",
    "CARGO_HOME": "cargo",
    "GOMODCACHE": "go-mod",
    "GOCACHE": "go-build",
    "GRADLE_USER_HOME": "gradle",
    "CCACHE_DIR": "ccache",
    "SCCACHE_DIR": "sccache",
    "NUGET_PACKAGES": "nuget",
    "COMPOSER_CACHE_DIR": "composer",
    "BUNDLE_USER_CACHE": "bundle",
    "HEX_HOME": "hex",
    "MIX_HOME": "mix",
}


def session_name(agent: str, session: str) -> str:
    """`AGENT-ID`, or `call-PID` where there is no session.

    A folder name, and a short one: Unix socket paths below it end at 107 bytes.
    """
    word = "".join(c if c in _SAFE else "_" for c in session)[:18]
    return f"{agent}-{word}" if word else f"call-{getpid()}"


def named(name: str) -> str:
    """A session's name as a person gives it. UsageError for anything but a plain name: it becomes a folder."""
    if not name or len(name) > 40 or not _SAFE.issuperset(name) or name.startswith(("call-", "-")):
        raise UsageError(f"{name!r} is no name for a session", "letters, digits, - and _, at most 40")
    return name


def end_call(name: str) -> None:
    """Remove the folder of a call without a session; twice does no harm."""
    if name.startswith("call-"):
        end(name)


def temp_base(uid: int | None = None) -> str:
    """The folder of every session's temp folder. On the system's temp disk: /run is small and in memory."""
    return f"/tmp/ringfence-{geteuid() if uid is None else uid}"  # noqa: S108 - owner checked in `make_private`


def temp_folder(name: str) -> str:
    return f"{temp_base()}/{name}"


def cache_folder(policy: Policy) -> str:
    """One folder for each workspace, kept between sessions."""
    root = policy.workspace[0] if policy.workspace else "none"
    tail = "".join(c if c in _SAFE else "_" for c in root.rpartition("/")[2])[:24]
    return f"{policy.folders.cache}/work/{tail}-{digest(root):016x}"


def digest(text: str) -> int:
    """FNV-1a, 64 bits: a short name for a path, stable between runs. Not a secret and not a check."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def with_session(policy: Policy, name: str) -> Policy:
    """The policy plus the zones that a session owns, by name; nothing is created."""
    if not policy.restricted:
        return policy
    zones = list(policy.zones)
    # Whoever may write /tmp may still not replace the folder of everybody's temp folders.
    zones.append(Zone(temp_base(), Access.READ, ZoneKind.OWN, _BASE_RULE))
    if policy.temp == "private":
        zones.append(Zone(temp_folder(name), Access.WRITE, ZoneKind.TEMP, _TEMP_RULE))
    elif policy.temp == "shared":
        zones.extend(Zone(root, Access.WRITE, ZoneKind.TEMP, _SHARED_RULE) for root in SHARED)
    if policy.caches == "private" and policy.folders.cache:
        zones.append(Zone(cache_folder(policy), Access.WRITE, ZoneKind.CACHE, _CACHE_RULE))
    return policy._replace(zones=tuple(zones))


def with_scratch(
    policy: Policy, scratch: tuple[tuple[str, str, Access], ...], locate: Callable[[str], Site]
) -> Policy:
    """The policy plus the agent's own folders, each (base, the way from there, access).

    A way that leads elsewhere by a link is not granted, and none that holds or lies in something the policy names.
    """
    zones = list(policy.zones)
    for base, way, granted in scratch:
        start, site = locate(base), locate(base + way)
        if not isinstance(start, Located) or not isinstance(site, Located) or site.magic:
            continue
        if site.path == start.path.rstrip("/") + way and not any(
            _meet(site.path, z.root) for z in policy.zones
        ):
            zones.append(Zone(site.path, granted, ZoneKind.SCRATCH, _SCRATCH_RULE))
    return policy._replace(zones=tuple(zones))


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")


def make_private(path: str, base: str) -> None:
    """Create `path` and its parents below `base`, mode 0700, and make sure that all of them are ours.

    `base` itself may lie in a folder that others can write (/tmp), so a link or a stranger's folder in its place is
    refused: NotEnforcedError.
    """
    rest = path[len(base) :].strip("/")
    at = base
    for part in ["", *rest.split("/")]:
        at = f"{at}/{part}" if part else at
        try:
            mkdir(at, 0o700)
        except FileExistsError:
            st = lstat(at)
            if not S_ISDIR(st.st_mode) or st.st_uid != geteuid() or st.st_mode & 0o022:
                raise NotEnforcedError(
                    f"{at} is not a private folder of this user, so nothing is kept in it",
                    "remove it, or set temp and caches in the policy",
                ) from None
        except FileNotFoundError:
            make_parents(at)


def make_parents(path: str) -> None:
    import os

    os.makedirs(path, 0o700, exist_ok=True)


def nested_name(env: Mapping[str, str]) -> str:
    """The session of the fence that this process stands in, if its temp folder is there and can be written; else "".

    Inside a fence no other folder could be made. Who forges the variable gets a temp folder of this user's, no more.
    """
    name = env.get("RINGFENCE_FENCE", "")
    if not name or not _SAFE.issuperset(name) or env.get("TMPDIR") != temp_folder(name):
        return ""
    return name if access(temp_folder(name), W_OK) else ""


def prepare_nested(policy: Policy, name: str) -> Policy:
    """As `prepare`, inside another fence: caches that cannot be made are done without."""
    try:
        prepare(policy, name)
    except (OSError, NotEnforcedError):
        zones = tuple(zone for zone in policy.zones if zone.kind is not ZoneKind.CACHE)
        return policy._replace(caches="none", zones=zones)
    return policy


def environment(policy: Policy, name: str) -> dict[str, str]:
    """The variables that point a program at the session's folders."""
    made: dict[str, str] = {}
    if policy.restricted and policy.temp == "private":
        made["TMPDIR"] = made["TMP"] = made["TEMP"] = temp_folder(name)
    if policy.restricted and policy.caches == "private" and policy.folders.cache:
        folder = cache_folder(policy)
        for variable, part in CACHE_VARIABLES.items():
            made[variable] = f"{folder}/{part}"
        made["MAVEN_ARGS"] = f"-Dmaven.repo.local={folder}/maven"  # Maven 3.9 and newer
    return made


def prepare(policy: Policy, name: str) -> None:
    """Create the folders that `environment` names. Raises NotEnforcedError if one is somebody else's."""
    if not policy.restricted:
        return
    try:
        _make_own(policy)
        if policy.temp == "private":
            make_private(temp_folder(name), temp_base())
            if _dead_calls():
                sweep(keep=name)
        if policy.caches == "private" and policy.folders.cache:
            make_private(cache_folder(policy), policy.folders.cache)
    except OSError as error:
        raise NotEnforcedError(
            f"cannot make the session's private folders: {error.strerror}: {error.filename}",
            "make it writable (XDG_CACHE_HOME names another place for caches), or set temp and caches in the policy; "
            "an agent's own read-only sandbox does that too: switch it off",
        ) from None


def _make_own(policy: Policy) -> None:
    """Our own folders inside a writable tree must exist before a program runs, or it could make them itself and put
    a trust mark or a snapshot there."""
    writable = [zone.root for zone in policy.zones if zone.kind is ZoneKind.WORKSPACE]
    for zone in policy.zones:
        if zone.kind is ZoneKind.OWN and any(
            zone.root.startswith(root.rstrip("/") + "/") for root in writable
        ):
            make_parents(zone.root)


def _open_base() -> int:
    """A descriptor on the folder of all temp folders; -1 unless it is a real folder, ours, and nobody else's to write.

    It lies in a folder that others can write (/tmp): a link or a stranger's folder in its place leads nowhere.
    """
    try:
        fd = open(temp_base(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    except OSError:
        return -1
    st = fstat(fd)
    if st.st_uid != geteuid() or st.st_mode & 0o022:
        close(fd)
        return -1
    return fd


def end(name: str) -> None:
    """Remove what a session owned, at its end. Nearly always empty, and then without the 7 ms that shutil costs."""
    base = _open_base()
    if base < 0:
        return
    try:
        rmdir(name, dir_fd=base)
    except FileNotFoundError:
        return
    except OSError:
        _remove_tree(name, base)
    finally:
        close(base)


def _remove_tree(name: str, base: int) -> None:
    """As far as it goes: a tree too deep for the standard library's recursion is moved up a level at a time by hand."""
    import shutil

    try:
        shutil.rmtree(name, ignore_errors=True, dir_fd=base)
    except RecursionError:
        import os

        # os.fwalk holds one descriptor a level; deepest first, and whatever cannot be opened stays.
        for _, folders, files, at in os.fwalk(name, topdown=False, dir_fd=base, onerror=None):
            for file in files:
                _quietly(os.unlink, file, at)
            for folder in folders:
                _quietly(os.rmdir, folder, at)
        _quietly(os.rmdir, name, base)


def _quietly(remove: Callable[..., None], name: str, at: int) -> None:
    try:
        remove(name, dir_fd=at)
    except OSError:
        return


def _dead_calls() -> bool:
    """Whether a call's folder is left whose process was killed. Ten microseconds, for every start."""
    try:
        names = listdir(temp_base())
    except OSError:
        return False
    return any(
        name[:5] == "call-" and name[5:].isdigit() and not access(f"/proc/{name[5:]}", F_OK) for name in names
    )


def sweep(keep: str, age: float = 7 * 86_400.0) -> None:
    """Remove the folders of calls whose process is gone and of sessions older than `age` seconds. Cold."""
    import os
    import time

    base = _open_base()
    if base < 0:
        return
    try:
        for name in os.listdir(base):
            if name == keep:
                continue
            st = os.stat(name, dir_fd=base, follow_symlinks=False)
            kind, _, number = name.partition("-")
            if kind == "call" and number.isdigit():
                stale = not os.path.exists(f"/proc/{number}")
            else:
                stale = time.time() - st.st_mtime > age
            if stale and S_ISDIR(st.st_mode):
                _remove_tree(name, base)
    except OSError:
        return
    finally:
        close(base)
