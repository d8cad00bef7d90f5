"""Taking new objects over from a layer into the repository: as a push does, never as a copy of files.

A loose object is taken only if its bytes hash to its name; a pack goes through git's own `unpack-objects` or
`index-pack`, which compute every name anew. What is there already stays: nothing is replaced, nothing removed. Content
is copied, never linked, since a job left behind may still hold the layer's file open for writing.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib

from ringfence.pipelines import beneath

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FEW = 5000  # objects of a pack that are unpacked one by one, so that those already there are left out
_HEX = frozenset("0123456789abcdef")
_CHUNK = 1 << 20
_SAFE = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "core.alternateRefsCommand=",
)


class Git:
    """git, unfenced, on one repository: no hook, no configuration but the repository's own, which is guarded."""

    def __init__(self, program: str, common: str) -> None:
        self.program = program
        self.common = common

    def run(self, *words: str, given: bytes = b"", stdin: int | None = None) -> tuple[int, bytes]:
        """Exit status and output; raises OSError if git cannot be started."""
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_DIR": self.common,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",  # older git knows no GIT_NO_LAZY_FETCH; nothing here may start a transport
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_COMMITTER_NAME": "ringfence",
            "GIT_COMMITTER_EMAIL": "ringfence@localhost",
            "HOME": "/nonexistent",
            "LC_ALL": "C",
        }
        with subprocess.Popen(
            [self.program, *_SAFE, *words],
            cwd="/",
            env=env,
            stdin=subprocess.PIPE if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            out, _ = process.communicate(given if stdin is None else None)
        return process.returncode, out


def take_objects(upper: int, real: int, git: Git) -> tuple[int, list[str]]:
    """Copy what is new; how many objects and packs were taken, and what was refused, a line each."""
    objects = beneath.open_folder("objects", upper)
    target = beneath.open_folder("objects", real)
    taken, refused = 0, list[str]()
    try:
        for name in beneath.names(objects) if objects >= 0 and target >= 0 else ():
            folder = beneath.open_folder(name, objects) if len(name) == 2 or name == "pack" else -1
            if folder < 0:
                continue
            try:
                if name == "pack":
                    taken += _packs(folder, target, git, refused)
                elif _HEX.issuperset(name):
                    taken += _loose(folder, name, target, refused)
            finally:
                os.close(folder)
    finally:
        for descriptor in (objects, target):
            if descriptor >= 0:
                os.close(descriptor)
    if taken:
        os.sync()  # before a ref names them
    return taken, refused


def _loose(folder: int, lead: str, target: int, refused: list[str]) -> int:
    taken = 0
    for rest in beneath.names(folder):
        if len(rest) not in (38, 62) or not _HEX.issuperset(rest):
            continue
        into = beneath.open_folder(lead, target)
        if into < 0:
            mode = os.fstat(target).st_mode & 0o7777
            os.mkdir(lead, mode, dir_fd=target)
            into = beneath.open_folder(lead, target)
        try:
            if beneath.entry(into, rest) is not None:
                continue
            if _copy(folder, rest, lead + rest, into):
                taken += 1
            else:
                refused.append(f"object {lead}{rest}: its content does not hash to its name")
        finally:
            os.close(into)
    return taken


def _copy(folder: int, rest: str, name: str, into: int) -> bool:
    """One loose object, checked while it is copied, and named only once it is whole. OSError: it cannot be written."""
    try:
        source = os.open(rest, _FLAGS, dir_fd=folder)
    except OSError:
        return False
    # git prunes old files of this name by itself, should we be killed here
    staged = f"tmp_obj_{os.getpid()}"
    if beneath.entry(into, staged) is not None:
        os.unlink(staged, dir_fd=into)
    out = os.open(
        staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444, dir_fd=into
    )
    try:
        whole = _checked(source, out, name)
        if whole and beneath.entry(into, rest) is None:
            os.link(staged, rest, src_dir_fd=into, dst_dir_fd=into)
    finally:
        os.unlink(staged, dir_fd=into)
        os.close(out)
        os.close(source)
    return whole


def _checked(source: int, out: int, name: str) -> bool:
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    inflate = zlib.decompressobj()
    try:
        while part := os.read(source, _CHUNK):
            rest = part
            while rest:
                rest = rest[os.write(out, rest) :]
            digest.update(inflate.decompress(part, _CHUNK))
            while inflate.unconsumed_tail:
                digest.update(inflate.decompress(inflate.unconsumed_tail, _CHUNK))
        digest.update(inflate.flush())
    except zlib.error:
        return False
    return inflate.eof and not inflate.unused_data and digest.hexdigest() == name


def _packs(folder: int, target: int, git: Git, refused: list[str]) -> int:
    taken = 0
    known = beneath.open_folder("pack", target)
    try:
        for name in beneath.names(folder):
            if name.endswith(".pack") and (known < 0 or beneath.entry(known, name) is None):
                taken += _pack(folder, name, git, refused)
    finally:
        if known >= 0:
            os.close(known)
    return taken


def _pack(folder: int, name: str, git: Git, refused: list[str]) -> int:
    try:
        source = os.open(name, _FLAGS, dir_fd=folder)
    except OSError:
        return 0
    try:
        few = int.from_bytes(os.pread(source, 12, 0)[8:12], "big") <= _FEW
        promised = beneath.entry(folder, name[:-5] + ".promisor") is not None
        words = ["unpack-objects", "-q"] if few and not promised else ["index-pack", "--stdin", "--strict"]
        status, _ = git.run(*words, *(["--promisor"] if promised else []), stdin=source)
    finally:
        os.close(source)
    if status:
        refused.append(f"{name}: git does not take it")
    return int(not status)
