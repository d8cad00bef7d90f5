"""Who outside the fence would write on the agent's behalf: a literal table of control sockets.

A read-only mount does not stop `connect`: whoever reaches a container engine, a service manager, a terminal
multiplexer or an editor's remote control can have *it* write anywhere. Each row is hidden unless the caller
keeps it open by its name. A row names what it opens up, so that a report can say it.

Placeholders: {run} the user's runtime folder, {home}, {uid}. One component may hold `*`. /var/run is written
/run. Abstract sockets have no path: Landlock's scope (ABI 6) cuts those.
Not in the table: sockets that only sign or speak (ssh-agent, gpg-agent, nscd, the journal) and databases,
which are the network's business; see docs/escapes.md.
"""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


class Door(Record):
    """One kind of helper. `variables`: environment keys whose value names a socket of it."""

    name: str
    opens: str
    paths: tuple[str, ...]
    variables: tuple[str, ...] = ()


_TMP = "/tmp/"  # noqa: S108 - names to hide, nothing is made there

DOORS: tuple[Door, ...] = (
    Door(
        "docker",
        "a container with any folder mounted, as root",
        (
            "/run/docker.sock",
            "/run/docker",
            "{run}/docker.sock",
            "{run}/docker",
            "{home}/.docker/run/docker.sock",
            "{home}/.docker/desktop/docker.sock",
            "{home}/.colima/*/docker.sock",
            "{home}/.rd/docker.sock",
            "/run/buildkit",
            "{run}/buildkit",
        ),
        ("DOCKER_HOST",),
    ),
    Door(
        "podman",
        "a container with any folder mounted",
        ("/run/podman", "{run}/podman", "{home}/.local/share/containers/podman/machine"),
        ("CONTAINER_HOST",),
    ),
    Door(
        "containerd",
        "a container with any folder mounted, as root",
        (
            "/run/containerd",
            "{run}/containerd",
            "{run}/containerd-rootless",
            "/run/k3s/containerd",
            "/run/crio",
            "/run/cri-dockerd.sock",
        ),
        ("CONTAINERD_ADDRESS",),
    ),
    Door(
        "machines",
        "a virtual machine or system container with any folder shared",
        (
            "/var/lib/lxd/unix.socket",
            "/var/snap/lxd/common/lxd/unix.socket",
            "/var/lib/incus/unix.socket",
            "/run/libvirt",
            "{run}/libvirt",
            "/var/snap/multipass/common/multipass_socket",
            "{home}/.lima/*/ha.sock",
        ),
        ("LXD_SOCKET", "INCUS_SOCKET"),
    ),
    Door(
        "service-manager",
        "a service started outside the fence",
        (
            "/run/systemd/private",
            "/run/systemd/io.systemd.Manager",
            "/run/initctl",
            "{run}/systemd",
            "/run/udev/control",
            "/run/supervisor.sock",
            "/run/snapd.socket",
        ),
    ),
    Door("system-bus", "whatever a system service does for its callers", ("/run/dbus",)),
    Door(
        "session-bus",
        "a service or desktop program started outside the fence",
        ("{run}/bus", "{run}/dbus-1", "{run}/at-spi", _TMP + "dbus-*"),
        ("DBUS_SESSION_BUS_ADDRESS",),
    ),
    Door(
        "multiplexers",
        "typing into the user's other shells",
        (
            _TMP + "tmux-{uid}",
            "{run}/tmux-{uid}",
            "/run/screen",
            _TMP + "screens",
            _TMP + "uscreens",
            "{home}/.screen",
            "{run}/zellij",
            _TMP + "zellij-{uid}",
            "{home}/.abduco",
        ),
        ("TMUX",),
    ),
    Door(
        "terminals",
        "typing into the user's other terminals, or opening one that runs a command",
        ("{run}/wezterm", "{run}/Alacritty-*", "{run}/kitty-*", _TMP + "kitty-*", "{run}/foot-*"),
        ("WEZTERM_UNIX_SOCKET", "KITTY_LISTEN_ON", "ALACRITTY_SOCKET"),
    ),
    Door(
        "editors",
        "code run by an editor outside the fence",
        (
            "{run}/emacs",
            _TMP + "emacs{uid}",
            "{home}/.emacs.d/server",
            "{run}/nvim.*",
            _TMP + "nvim.*",
            "{run}/vscode-ipc-*",
            _TMP + "vscode-ipc-*",
        ),
        ("NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_IPC_HOOK_CLI"),
    ),
    Door(
        "display",
        "keystrokes sent to other windows, commands run by the window manager",
        (
            _TMP + ".X11-unix",
            "{run}/wayland-*",
            "{run}/sway-ipc.*",
            "{run}/i3",
            "{run}/hypr",
            _TMP + "hypr",
            "{run}/niri.*",
            "{run}/.ydotool_socket",
            _TMP + ".ydotool_socket",
        ),
        ("SWAYSOCK", "I3SOCK", "NIRI_SOCKET"),
    ),
    Door("nix", "anything, for a trusted user of the daemon", ("/nix/var/nix/daemon-socket",)),
    Door(
        "agents",
        "a command run by another agent's daemon",
        ("{home}/.codex/*.sock", "{home}/.claude/*.sock", "{run}/codex*", "{run}/claude*", "{run}/opencode*"),
    ),
)

KEPT_IN_RUNTIME = (
    "gnupg",  # gpg-agent: `git commit -S`
    "keyring",  # gnome-keyring's ssh agent
    "gcr",  # its successor's
    "ssh-agent.socket",
    "openssh_agent",
    "pulse",
    "pipewire-0",
)
"""What stays to be seen of the user's runtime folder, which is otherwise a private empty one: its sockets are
known by name only in part, and new ones appear with every desktop release."""


def control_paths(
    runtime: str,
    home: str,
    uid: int,
    *,
    names_in: Callable[[str], Sequence[str]],
    keep: Collection[str] = (),
) -> tuple[str, ...]:
    """The paths to hide, existing or not, without those of the doors named in `keep`.

    `runtime` "" leaves out the rows of the runtime folder, where that is private anyway and
    `shown_in_runtime` says what is seen of it. `names_in` lists a folder (an empty sequence for one that
    cannot be read); it is asked only for rows with a `*`. Raises ValueError for a name in `keep` that no row
    has: a typo must not go unnoticed.
    """
    _check(keep)
    found: dict[str, None] = {}
    listed: dict[str, Sequence[str]] = {}
    for door in DOORS:
        if door.name in keep:
            continue
        for pattern in door.paths:
            path = _filled(pattern, runtime, home, uid)
            if "*" not in path:
                found[path] = None
                continue
            for match in _matches(path, names_in, listed):
                found[match] = None
    found.pop("", None)
    return tuple(found)


def named_sockets(environ: Mapping[str, str], keep: Collection[str] = ()) -> tuple[str, ...]:
    """The paths of sockets that the environment names; to be hidden only if they really are sockets."""
    values = [environ.get(key, "") for door in DOORS if door.name not in keep for key in door.variables]
    return tuple(dict.fromkeys(path for value in values if (path := _path_in(value))))


def shown_in_runtime(
    runtime: str, uid: int, *, names_in: Callable[[str], Sequence[str]], keep: Collection[str] = ()
) -> tuple[str, ...]:
    """What of the runtime folder is to be seen, existing or not: KEPT_IN_RUNTIME and the doors in `keep`."""
    _check(keep)
    found = [f"{runtime}/{name}" for name in KEPT_IN_RUNTIME]
    for door in DOORS:
        for pattern in door.paths if door.name in keep else ():
            if pattern.startswith("{run}"):
                path = _filled(pattern, runtime, "", uid)
                found += _matches(path, names_in, {}) if "*" in path else [path]
    return tuple(found)


def _filled(pattern: str, runtime: str, home: str, uid: int) -> str:
    """The pattern with its placeholders filled, "" when it needs a folder that there is not."""
    for word, value in (("{run}", runtime), ("{home}", home)):
        if pattern.startswith(word):
            return value + pattern[len(word) :].replace("{uid}", str(uid)) if value else ""
    return pattern.replace("{uid}", str(uid))


def _check(keep: Collection[str]) -> None:
    known = [door.name for door in DOORS] if keep else []
    unknown = sorted(set(keep) - set(known))
    if unknown:
        names = ", ".join(sorted(known))
        raise ValueError(f"no control socket is called {', '.join(unknown)}; known are {names}")


def _matches(
    path: str, names_in: Callable[[str], Sequence[str]], listed: dict[str, Sequence[str]]
) -> list[str]:
    """The paths that exist for a pattern with one `*`, at most one component of which has it."""
    head, _, tail = path.partition("*")
    folder, _, start = head.rpartition("/")
    end, slash, rest = tail.partition("/")
    if folder not in listed:
        listed[folder] = names_in(folder)
    hits = [name for name in listed[folder] if name.startswith(start) and name.endswith(end)]
    return [f"{folder}/{name}{slash}{rest}" for name in hits]


def _path_in(value: str) -> str:
    """The absolute path in an environment value such as `unix:path=/p,guid=1`, `unix:///p` or `/p,12,0`."""
    for prefix in ("unix:path=", "unix://", "unix:"):
        if value.startswith(prefix):
            value = value[len(prefix) :]
            break
    value = value.split(",", 1)[0]
    return value if value.startswith("/") else ""
