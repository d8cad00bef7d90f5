"""Failures that the fence causes without refusing a path: hidden sockets, setuid programs, foreign owners.

Cold: looked at only when a command has failed and its output speaks of one. Each reason is checked against the machine
before it is given: the socket exists and is hidden, the program really is setuid, the file really is another user's.
"""

from __future__ import annotations

import os
import stat

from ringfence.enforce.control_sockets import DOORS, control_paths, named_sockets
from ringfence.model import HELPER_GUARD, Decision, Op, Rule, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SIGNS = (b"onnect", b"ECONNREFUSED", b"o new privileges", b"etuid", b"suid", b"uid 0", b"user ID is not 0", b"ad owner",
         b"owned by uid", b"operation not permitted", b"Operation not permitted")  # fmt: skip
_UNREACHABLE = ("onnect", "ECONNREFUSED")
_POWERLESS = ("o new privileges", "etuid", "suid", "uid 0", "user ID is not 0", "peration not permitted")
_OWNER = ("ad owner", "owned by uid")
_CLIENTS = {
    "docker": "docker", "docker-compose": "docker", "podman": "podman", "nerdctl": "containerd", "ctr": "containerd",
    "systemctl": "system-bus", "loginctl": "system-bus", "busctl": "system-bus", "systemd-run": "session-bus",
    "tmux": "multiplexers", "screen": "multiplexers", "zellij": "multiplexers", "emacsclient": "editors",
    "virsh": "machines", "lxc": "machines", "incus": "machines", "nix": "nix", "xdotool": "display",
}  # fmt: skip


def causes(
    output: str, words: Sequence[str], env: Mapping[str, str], engine: str, keep: Sequence[str]
) -> list[Decision]:
    """What of the fence made the command fail, each once. `words` are those of the command's text."""
    lines = output.splitlines()
    found: dict[str, Decision] = {}
    for line in lines:
        makers = (_owner(line, engine), _powerless(line, words, env), _helper(line, words, env, engine, keep))
        for decision in makers:
            if decision is not None:
                found.setdefault(decision.code + decision.path, decision)
    return list(found.values())


def _deny(code: str, path: str, rule: str, message: str, hint: str) -> Decision:
    return Decision(Verdict.DENY, code, path, Rule(rule, "built in"), message, Op.READ, hint)


# --- setuid programs ----------------------------------------------------------------------------------


def _powerless(line: str, words: Sequence[str], env: Mapping[str, str]) -> Decision | None:
    """`sudo: …`: the line is the program's own, and the program is one that counts on its setuid bit."""
    name = line.partition(":")[0].rpartition("/")[2].strip()
    if not name or not any(sign in line for sign in _POWERLESS):
        return None
    for word in words:
        if word.rpartition("/")[2] == name and (path := _setuid(word, env)):
            message = f"{path} is a setuid program, and inside the fence those gain no rights"
            return _deny(
                "fence.setuid", path, "engine.setuid", message, "a person may run this outside the fence"
            )
    return None


def _setuid(word: str, env: Mapping[str, str]) -> str:
    folders = [""] if "/" in word else env.get("PATH", "").split(":")
    for folder in folders:
        path = f"{folder}/{word}" if folder else word
        try:
            st = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(st.st_mode) and os.access(path, os.X_OK):
            return path if st.st_mode & (stat.S_ISUID | stat.S_ISGID) else ""
    return ""


# --- owners -------------------------------------------------------------------------------------------


def _owner(line: str, engine: str) -> Decision | None:
    """`Bad owner or permissions on PATH`: true inside, and only inside, where foreign owners show as 65534."""
    if engine != "mounts" or os.geteuid() == 0 or not any(sign in line for sign in _OWNER):
        return None
    for path in _paths(line):
        try:
            st = os.stat(path)
        except (OSError, ValueError):
            continue
        if st.st_uid not in (os.geteuid(), 65534):
            shows = "inside the fence files of other users show as owned by 65534"
            message = f"{path} belongs to user {st.st_uid}; {shows}"
            hint = "leave it out, as with `ssh -F ~/.ssh/config`, or a person may run this outside the fence"
            return _deny("fence.owner", path, "engine.owners", message, hint)
    return None


# --- helpers ------------------------------------------------------------------------------------------


def _helper(
    line: str, words: Sequence[str], env: Mapping[str, str], engine: str, keep: Sequence[str]
) -> Decision | None:
    """A client that reached nobody: the socket it names, or that of its kind, is there and is hidden."""
    if engine != "mounts" or not any(sign in line for sign in _UNREACHABLE):
        return None
    named = {_plain(path) for path in _paths(line)}
    clients = {_CLIENTS[name] for word in words if (name := word.rpartition("/")[2]) in _CLIENTS}
    for door, path in _hidden(env, keep):
        if any(_within(at, path) for at in named) or door in clients:
            opens = next(each.opens for each in DOORS if each.name == door)
            message = f"{path} is hidden from fenced programs; who reaches it can have {opens}"
            guard = HELPER_GUARD + door
            hint = f'a person may add to the policy: unguard = ["{guard}"]'
            return _deny("fence.helper", path, guard, message, hint)
    return None


def _hidden(env: Mapping[str, str], keep: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(kind, path) of every socket, or folder of sockets, that there is and that the engine hides."""
    uid = os.geteuid()
    runtime = env.get("XDG_RUNTIME_DIR", "").rstrip("/") or f"/run/user/{uid}"
    names = [door.name for door in DOORS]
    for door in DOORS:
        if door.name in keep:
            continue
        others = [name for name in names if name != door.name]
        paths = control_paths(runtime, env.get("HOME", ""), uid, names_in=_names_in, keep=others)
        for path in (*named_sockets(env, others), *paths):
            # A folder without a socket in it hides nobody.
            if _is_socket(path) or any(_is_socket(f"{path}/{name}") for name in _names_in(path)[:100]):
                yield door.name, path


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _names_in(folder: str) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(folder))
    except OSError:
        return ()


def _paths(line: str) -> Iterator[str]:
    for mark in "'\"`,;()[]<>":
        line = line.replace(mark, " ")
    for word in line.split():
        at = word.find("/")
        if at >= 0:
            path = word[at:].rstrip(".:")
            yield "/" + path.lstrip("/")  # `unix:///run/x` and `unix:/run/x` alike


def _plain(path: str) -> str:
    return path[4:] if path.startswith("/var/run/") else path


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
