"""The compiled policy, kept in the cache folder so that a hook parses no TOML (docs/adr/0007).

A snapshot counts only if everything that shaped it looks the same again: the bytes of every file that was
read, the absence of every file that was looked for, where every root leads, and which guarded names are
links. Times and sizes prove nothing (a file can be rewritten within one tick, or its time set back), so
none are compared. Hot: only `posix` and our own model.

What remains: whoever can write the cache folder can write a policy. So nothing is kept or believed below a
writable root, or where folder or file belong to anyone but us and root, or where others may write them.
"""

from __future__ import annotations

import sys
from _stat import S_ISDIR, S_ISREG

from ringfence import __version__
from ringfence.jsonscan import dumps, loads
from ringfence.model import Access, Located
from ringfence.policy.frozen import from_plain, to_plain
from ringfence.policy.paths import LIST_SEPARATOR, PathTextError, below, spell

if sys.platform == "win32":
    import os as system_calls
else:
    import posix as system_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import stat_result
    from typing import Any

    from ringfence.model import Policy, Site
    from ringfence.policy.asked import Sources
    from ringfence.policy.load import Loaded

    Locate = Callable[[str], Site]

# Changes with every change to the tables that are compiled in (a test computes it): an old snapshot must not
# outlive the guard that a new release adds.
TABLES = "82036a971ea818e8"
MAX_BYTES = 4 << 20
MAX_KEPT = 128  # snapshots in the folder; beyond it the oldest go
_OTHERS_WRITE = 0o022
_FOLDER = "/policy"
_EINVAL = 22  # the same number on every Unix; what readlink(2) answers for anything but a link


def load(sources: Sources, locate: Locate) -> Policy | None:
    """The policy for `sources` if a believable snapshot is still true, else None. Never raises."""
    try:
        return _load(sources, locate)
    except (OSError, ValueError, TypeError, KeyError, IndexError, PathTextError):
        return None  # a snapshot is only ever a shortcut: whatever is wrong with it, the sources decide


def _load(sources: Sources, locate: Locate) -> Policy | None:
    folder = _folder(sources, locate)
    if not folder or not _ours(folder) or not _ours(folder + _FOLDER):
        return None
    if any(below(folder, root) for root in _named_roots(sources, locate)):
        return None
    key = key_text(sources)
    content = _read_ours(f"{folder}{_FOLDER}/{_name(key)}")
    if content is None:
        return None
    kept_key, files, roots, links, plain = loads(content)
    if kept_key != key:
        return None
    for path, text in files:
        if _bytes_now(path) != (None if text is None else text.encode("utf-8", "surrogateescape")):
            return None
    for spelled, path, is_dir in roots:
        # A root that was missing may have come into being by now: it was judged by its name anyway.
        site = locate(spelled)
        if not isinstance(site, Located):
            if path:
                return None
        elif site.path != path or (is_dir and not site.is_dir):
            return None
    for path, target in links:
        if _link_now(path) != target:
            return None
    policy = from_plain(plain)
    if any(zone.access is Access.WRITE and below(folder, zone.root) for zone in policy.zones):
        return None
    return policy


def store(sources: Sources, loaded: Loaded) -> bool:
    """Keep what was loaded; whether it was kept. Never raises: a full disk costs time, not the fence."""
    try:
        return _store(sources, loaded)
    except (OSError, ValueError):
        return False


def _store(sources: Sources, loaded: Loaded) -> bool:
    cache = sources.folders.cache
    places = {root.spelled: root.path for root in loaded.roots}
    folder = places.get(cache, "")
    policy = loaded.policy
    if not folder or any(z.access is Access.WRITE and below(folder, z.root) for z in policy.zones):
        return False
    for each in (folder, folder + _FOLDER):
        _make_folder(each)
        if not _ours(each):
            return False
    key = key_text(sources)
    files = [
        [seen.path, None if seen.content is None else seen.content.decode("utf-8", "surrogateescape")]
        for seen in loaded.files
    ]
    roots = [list(root) for root in loaded.roots]
    links = [list(link) for link in loaded.links]
    body = dumps([key, files, roots, links, to_plain(policy)]).encode()
    if len(body) > MAX_BYTES:
        return False
    _prune(folder + _FOLDER)
    final = f"{folder}{_FOLDER}/{_name(key)}"
    staged = f"{final}.{system_calls.urandom(8).hex()}"  # a process id may come again after a killed writer
    _write_new(staged, body)
    system_calls.rename(staged, final)
    return True


# --- the key ------------------------------------------------------------------------------------------


def key_text(sources: Sources) -> str:
    """Everything outside of files and links that shapes the policy. The cwd only where it does."""
    flags = sources.flags
    env = sorted((k, v) for k, v in sources.env.items() if k.startswith("RINGFENCE_") or k == "TMPDIR")
    return repr(
        (
            __version__,
            TABLES,
            tuple(flags),
            env,
            sources.cwd if _cwd_counts(sources) else "",
            sources.home,
            tuple(sources.folders),
            sources.site,
            sources.system,
            sources.installation,
            sources.files,
        )
    )


def _cwd_counts(sources: Sources) -> bool:
    flags = sources.flags
    env = sources.env
    given = [*flags.workspace, *flags.protect, flags.policy or "", env.get("RINGFENCE_POLICY", "")]
    for name in ("RINGFENCE_WORKSPACE", "RINGFENCE_PROTECT"):
        given += env.get(name, "").split(LIST_SEPARATOR)
    if any(text[0] not in "/~" for text in given if text):
        return True
    return not (flags.workspace or "RINGFENCE_WORKSPACE" in env)


def _name(key: str) -> str:
    """A file name for the key. Keys that share one push each other out: the key itself is compared."""
    total = (
        0xCBF29CE484222325  # FNV-1a over 64-bit words of the text; no hash module is worth its import here
    )
    data = key.encode("utf-8", "surrogatepass")
    for start in range(0, len(data), 8):
        total ^= int.from_bytes(data[start : start + 8], "little")
        total = total * 0x100000001B3 % (1 << 64)
    return f"{total:016x}.json"


# --- the disk -----------------------------------------------------------------------------------------


def _folder(sources: Sources, locate: Locate) -> str:
    cache = sources.folders.cache
    site = locate(cache) if cache else None
    return site.path if isinstance(site, Located) else ""


def _named_roots(sources: Sources, locate: Locate) -> list[str]:
    """The workspaces that flags and environment name: known without believing the snapshot."""
    listed = sources.env.get("RINGFENCE_WORKSPACE")
    texts = sources.flags.workspace or (listed.split(LIST_SEPARATOR) if listed is not None else ())
    sites = [locate(spell(text, sources.cwd, sources.home)) for text in texts]
    return [site.path for site in sites if isinstance(site, Located)]


def _encode(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _believable(facts: stat_result) -> bool:
    return facts.st_uid in (0, system_calls.getuid()) and not facts.st_mode & _OTHERS_WRITE


def _ours(folder: str) -> bool:
    try:
        facts = system_calls.lstat(_encode(folder))
    except OSError:
        return False
    return S_ISDIR(facts.st_mode) and _believable(facts)


def _read(path: str, flags: int) -> tuple[bytes, stat_result] | None:
    """A regular file's bytes; None if there is none. Raises ValueError for anything else or a huge file."""
    flags |= system_calls.O_RDONLY | system_calls.O_CLOEXEC | system_calls.O_NONBLOCK
    try:
        handle = system_calls.open(_encode(path), flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        facts = system_calls.fstat(handle)
        if not S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
            raise ValueError(path)
        content = system_calls.read(handle, facts.st_size + 1)
        while chunk := system_calls.read(handle, 1 << 16):
            content += chunk
            if len(content) > MAX_BYTES:
                raise ValueError(path)
        return content, facts
    finally:
        system_calls.close(handle)


def _read_ours(path: str) -> bytes | None:
    found = _read(path, system_calls.O_NOFOLLOW)
    return found[0] if found and _believable(found[1]) else None


def _bytes_now(path: str) -> bytes | None:
    """What evidence.Evidence would see now."""
    if path.endswith("/"):
        try:
            return b"\0".join(sorted(system_calls.listdir(_encode(path))))
        except (FileNotFoundError, NotADirectoryError):
            return None
    found = _read(path, 0)
    return found[0] if found else None


def _link_now(path: str) -> str | None:
    try:
        target: bytes = system_calls.readlink(_encode(path))
    except OSError as error:
        return "" if error.errno == _EINVAL else None
    return target.decode("utf-8", "surrogateescape")


def _make_folder(path: str) -> None:
    """Make `path` and what is missing above it, for us alone."""
    missing: list[str] = []
    while path and path != "/":
        try:
            system_calls.mkdir(_encode(path), 0o700)
            break
        except FileExistsError:
            break
        except FileNotFoundError:
            missing.append(path)
            path = path.rpartition("/")[0]
    for each in reversed(missing):
        system_calls.mkdir(_encode(each), 0o700)


def _write_new(path: str, body: bytes) -> None:
    flags = system_calls.O_WRONLY | system_calls.O_CREAT | system_calls.O_EXCL | system_calls.O_CLOEXEC
    handle = system_calls.open(_encode(path), flags | system_calls.O_NOFOLLOW, 0o600)
    try:
        left = memoryview(body)
        while left:
            left = left[system_calls.write(handle, left) :]
    except OSError:
        system_calls.unlink(_encode(path))
        raise
    finally:
        system_calls.close(handle)


def _prune(folder: str) -> None:
    """Keep the folder small; also takes away what a killed writer left."""
    names: list[Any] = system_calls.listdir(_encode(folder))
    if len(names) < MAX_KEPT:
        return
    aged = []
    for name in names:
        path = _encode(folder) + b"/" + name
        try:
            aged.append((system_calls.lstat(path).st_mtime_ns, path))
        except FileNotFoundError:
            continue  # another writer was quicker
    for _, path in sorted(aged)[: MAX_KEPT // 2]:
        try:
            system_calls.unlink(path)
        except FileNotFoundError:
            continue
