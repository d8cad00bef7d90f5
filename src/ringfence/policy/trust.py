"""Which project files their owner has accepted: kept by path and by the digest of the bytes, nothing else.

One file in the state folder for each accepted pair, named by a digest over both, so that accepting and
forgetting are a create and an unlink, and two of them at once cannot lose one another. Any change to the
file, and any copy of it somewhere else, is untrusted again.
"""

from __future__ import annotations

import os
import stat

from ringfence.errors import PolicyError
from ringfence.policy.ownership import current_uid, stranger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.evidence import Evidence

_FOLDER = "trust"
_MODE = 0o600


def mark_path(state: str, path: str, content: bytes) -> str:
    """Where the mark of this file with this content stands. `path` is physical."""
    import hashlib

    name = os.fsencode(path)
    digest = hashlib.sha256(len(name).to_bytes(4, "big") + name + content).hexdigest()
    return os.path.join(state, _FOLDER, digest)


def is_trusted(state: str, path: str, content: bytes, evidence: Evidence) -> bool:
    """Whether the owner of `state` accepted exactly this. PolicyError: the mark may be forged."""
    mark = mark_path(state, path, content)
    found = evidence.read_with_facts(mark)
    if found is None:
        return False
    _refuse_strangers(mark, found[1])
    folder = os.path.dirname(mark)
    _refuse_strangers(folder, os.stat(folder))
    return found[0] == os.fsencode(path) + b"\n"


def trust(state: str, path: str, content: bytes) -> str:
    """Accept `content` at `path`; the mark's path. Twice is fine. Raises PolicyError or OSError."""
    mark = mark_path(state, path, content)
    folder = os.path.dirname(mark)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _refuse_strangers(folder, os.stat(folder))
    staged = f"{mark}.{os.urandom(8).hex()}"
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    try:
        os.write(handle, os.fsencode(path) + b"\n")
    finally:
        os.close(handle)
    os.rename(staged, mark)
    return mark


def distrust(state: str, path: str, content: bytes) -> bool:
    """Take the acceptance back; whether there was one."""
    try:
        os.unlink(mark_path(state, path, content))
    except FileNotFoundError:
        return False
    return True


def _refuse_strangers(path: str, facts: os.stat_result) -> None:
    if why := stranger(facts, current_uid()):
        hint = "see who wrote it; delete it and run `ringfence policy trust` again"
        raise PolicyError(f"cannot be believed: {why}", path, hint=hint)
    if stat.S_IMODE(facts.st_mode) & 0o022:
        raise PolicyError("cannot be believed: others may write it", path, hint="chmod go-w it")
