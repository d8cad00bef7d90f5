"""Where ringfence keeps its own things: platformdirs' answers, computed without importing platformdirs.

The hook needs these before it can find its snapshot, and importing platformdirs costs more than the whole
hook may take. tests/unit/test_policy_folders.py holds every line here equal to platformdirs. One deviation,
on purpose: where no runtime folder of the user exists, platformdirs answers with a guessable name in /tmp
that anyone can create first; ours lies in the state folder.
"""

from __future__ import annotations

from ringfence.model import Folders
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_APP = "ringfence"


class Places(Record):
    """`folders` are the user's; `site` is the machine's configuration folder."""

    folders: Folders
    site: str


def places(
    system: str, env: Mapping[str, str], home: str | None, uid: int, usable: Callable[[str], bool]
) -> Places | None:
    """The folders for one user. None: no home folder and no variables that name all of them, so there are
    none.

    `usable(path)` says whether a folder is there and is ours to write (for /run/user/UID). `system` is
    `sys.platform`; Windows asks platformdirs itself.
    """
    if system == "win32":
        return _asked()
    if system == "darwin":
        return _darwin(home)
    return _xdg(env, home, uid, usable)


def _xdg(env: Mapping[str, str], home: str | None, uid: int, usable: Callable[[str], bool]) -> Places | None:
    def folder(variable: str, default: str) -> str:
        # A relative value is to be ignored (XDG Base Directory Specification 0.8).
        given = env.get(variable, "").strip()
        if given.startswith("/"):
            return f"{given.rstrip('/')}/{_APP}"
        return f"{home.rstrip('/')}/{default}/{_APP}" if home and home.startswith("/") else ""

    config = folder("XDG_CONFIG_HOME", ".config")
    state = folder("XDG_STATE_HOME", ".local/state")
    cache = folder("XDG_CACHE_HOME", ".cache")
    if not (config and state and cache):
        return None
    runtime = env.get("XDG_RUNTIME_DIR", "").strip()
    if not runtime.startswith("/"):
        runtime = f"/run/user/{uid}"
        if not usable(runtime):
            runtime = ""
    site = env.get("XDG_CONFIG_DIRS", "").split(":")[0].strip()
    return Places(
        Folders(config, state, cache, f"{runtime.rstrip('/')}/{_APP}" if runtime else f"{state}/run"),
        f"{site.rstrip('/') if site.startswith('/') else '/etc/xdg'}/{_APP}",
    )


def _darwin(home: str | None) -> Places | None:
    if not home or not home.startswith("/"):
        return None
    library = f"{home.rstrip('/')}/Library"
    support = f"{library}/Application Support/{_APP}"
    return Places(
        Folders(support, support, f"{library}/Caches/{_APP}", f"{library}/Caches/TemporaryItems/{_APP}"),
        f"/Library/Application Support/{_APP}",
    )


def _asked() -> Places:
    import platformdirs

    dirs = platformdirs.PlatformDirs(_APP, appauthor=False)
    return Places(
        Folders(dirs.user_config_dir, dirs.user_state_dir, dirs.user_cache_dir, dirs.user_runtime_dir),
        dirs.site_config_dir,
    )
