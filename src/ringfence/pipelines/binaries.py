"""The installed agent's program: which version it is and which flags it knows. What it does not know is not rendered.

The answers are kept in the cache folder under the program's identity; asking takes a start of the agent or three.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile

from ringfence.errors import NotEnforcedError, UsageError
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ringfence.agents.registry import Row
    from ringfence.render.lanes import Lanes, Rendering

_WAIT = 60  # seconds; a program that does not answer `--help` in that time is not started
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_WORD = re.compile(r"[\w-]+")


class Binary(Record):
    """One installed program. `answers`: words it was started with -> what it printed, and its exit status."""

    path: str
    version: str
    help: str
    cache: str
    env: Mapping[str, str]


def find(row: Row, lanes: Lanes, env: Mapping[str, str], cache: str) -> Binary:
    """The program on PATH, asked or remembered. Raises UsageError where there is none, NotEnforcedError where it does
    not run."""
    path = shutil.which(row.program, path=env.get("PATH", os.defpath))
    if path is None:
        raise UsageError(f"{row.program} is not on PATH", f"install {row.title} first")
    made = Binary(os.path.abspath(path), "", "", _cache_file(row, path, cache), env)
    status, told = ask(made, ("--version",))
    found = re.search(r"\d+(?:\.\d+)+(?:[+-][\w.+-]*\w)?", told)
    if status != 0 or found is None:
        raise NotEnforcedError(
            f"nothing was run: {path} --version exits {status} and says {told.strip()[:200]!r}"
        )
    made = made._replace(version=found[0])
    status, told = ask(made, lanes.PROBE)
    if status != 0:
        raise NotEnforcedError(f"nothing was run: {row.title} {made.version}: --help exits {status}")
    return made._replace(help=told)


def _cache_file(row: Row, path: str, cache: str) -> str:
    """ "" where nothing is kept. The identity is the file that runs, with its size and times."""
    if not cache:
        return ""
    from ringfence.pipelines.session import digest

    st = os.stat(path)
    key = f"{path}\0{os.readlink(path) if os.path.islink(path) else ''}\0{st.st_ino}\0{st.st_size}\0{st.st_mtime_ns}"
    return os.path.join(cache, "agents", f"{row.name}-{digest(key):016x}.json")


def ask(binary: Binary, words: Sequence[str]) -> tuple[int, str]:
    """(exit status, what was printed on both streams). With a home of its own: some agents write there even then."""
    kept = _kept(binary.cache)
    key = "\0".join(words)
    if key in kept:
        return kept[key][0], kept[key][1]
    with tempfile.TemporaryDirectory(prefix="ringfence-probe-") as home:
        clean = {
            name: value
            for name, value in binary.env.items()
            if not name.startswith(("XDG_", "CLAUDE_", "CODEX_", "GEMINI_", "OPENCODE_", "PI_", "RINGFENCE_"))
        }
        clean.update({"HOME": home, "NO_COLOR": "1", "DISABLE_AUTOUPDATER": "1", "PI_OFFLINE": "1"})
        try:
            done = subprocess.run(
                [binary.path, *words],
                env=clean,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_WAIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotEnforcedError(f"nothing was run: {binary.path} cannot be asked: {error}") from None
    told = done.stdout.decode("utf-8", "replace")
    _keep(binary.cache, {**kept, key: [done.returncode, told]})
    return done.returncode, told


def _kept(path: str) -> dict[str, list]:  # type: ignore[type-arg]
    try:
        with open(path, encoding="utf-8") as file:
            made = json.load(file)
    except (OSError, ValueError):
        return {}
    if not isinstance(made, dict):
        return {}
    return {
        key: value
        for key, value in made.items()
        if isinstance(value, list) and [type(part) for part in value] == [int, str]
    }


def _keep(path: str, answers: object) -> None:
    if not path:
        return
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        staged = f"{path}.{os.getpid()}"
        with open(staged, "w", encoding="utf-8") as file:
            json.dump(answers, file)
        os.replace(staged, path)
    except OSError:
        return  # asked again next time


def unknown(lanes: Lanes, helped: str, flags: Sequence[str]) -> list[str]:
    """The flags, and the values of those that take one of a list, that the help text does not name."""
    known = set(_FLAG.findall(helped))
    words = set(_WORD.findall(helped))
    found = []
    for at, word in enumerate(flags):
        if not word.startswith("-"):
            continue
        name = word.partition("=")[0]
        if name not in known:
            found.append(name)
        elif name in lanes.ENUMS and flags[at + 1] not in words:
            found.append(f"{name} {flags[at + 1]}")
    return found


def fitting(lanes: Lanes, binary: Binary, made: Rendering) -> Rendering:
    """The rendering in words that this version takes. Raises NotEnforcedError, naming the version, for a flag that it
    does not know."""
    missing = unknown(lanes, binary.help, made.flags)
    if missing:
        _refuse(lanes, binary, f"does not know {', '.join(missing)}")
    if not lanes.CHECK:
        return made
    status, told = ask(binary, (*made.flags, *lanes.CHECK))
    if status == 0:
        return made
    for swap in made.swaps:
        flags = _swapped(made.flags, swap.old, swap.new)
        if flags == made.flags:
            continue
        again, _ = ask(binary, (*flags, *lanes.CHECK))
        if again == 0:
            old, new = swap.old[-1], swap.new[-1]
            note = f"{lanes.TITLE} {binary.version} does not take {old} ({swap.why}): {new} instead"
            return made._replace(flags=flags, notes=(*made.notes, note))
    lines = [line for line in told.splitlines() if "rror" in line]
    _refuse(lanes, binary, f"does not take these flags: {(lines or [told.strip()])[-1][:300]}")
    return made


def _refuse(lanes: Lanes, binary: Binary, why: str) -> None:
    raise NotEnforcedError(
        f"nothing was run: {lanes.TITLE} {binary.version} ({binary.path}) {why}",
        f"this table was made from {lanes.PINNED}; take that version, or a newer ringfence",
    )


def _swapped(flags: Sequence[str], old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    size = len(old)
    for at in range(len(flags) - size + 1):
        if tuple(flags[at : at + size]) == tuple(old):
            return (*flags[:at], *new, *flags[at + size :])
    return tuple(flags)
