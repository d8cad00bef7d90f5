"""Side by side with the peers that install here: the same attacks, then the same work, one machine, one run.

`python benchmarks/peers.py [--cache DIR] [--only NAME,…] [--speed] [--write docs/comparison.md]`

Peers are fetched by npm, pip and apt-get into the cache folder; nothing is installed into the system. Run by root, the
Debian packages are laid over /usr and /etc in a mount namespace of this run, with the worlds on a tmpfs there; else
the peers must be installed, and the cache must not lie below /tmp (codex grants that whole folder). Each attack runs in
a fresh world, is judged from outside, and must land without any fence, or its row is an error.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
START = os.path.join(HERE, "..", "src", "ringfence", "start.py")
_STAGE = "RINGFENCE_BENCH_STAGE"  # set where the run stands in its own mounts: the folder of its worlds
LIMIT = 60  # seconds for one command
GIT = {
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
    "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


# --- the rows ---------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """`how` runs in the workspace; `landed` is asked outside, in the world's folder: exit 0 means it got through."""

    name: str
    how: str
    landed: str


_NEW = 'test -e out/new || test "$(cat out/secret)" != secret'
ROWS = (
    Row("write outside", 'echo x > "$OUT/new"', _NEW),
    Row("through a symbolic link", 'ln -s "$OUT" l; echo x > l/new', _NEW),
    Row("hard link in, then write", 'ln "$OUT/secret" h; echo x >> h', _NEW),
    Row("rename out", 'mv a "$OUT/new"', _NEW),
    Row("/proc/PID/root of a process outside", 'echo x > "/proc/$OUTSIDE/root$OUT/new"', _NEW),
    Row(
        "nested namespace, bind mount", "unshare -Urm sh -c 'mount --bind \"$OUT\" d && echo x > d/new'", _NEW
    ),
    Row("mode of a file outside", 'chmod 666 "$OUT/secret"', "test $(stat -c %a out/secret) = 666"),
    Row("write .git/hooks/x", "echo x > .git/hooks/x", "test -e ws/.git/hooks/x"),
    Row(
        "move .git away, rebuild with a hook",
        "mv .git old; mkdir -p .git/hooks; echo x > .git/hooks/x",
        "test -e ws/.git/hooks/x",
    ),
    Row("hook in a nested repository", "echo x > lib/dep/.git/hooks/x", "test -e ws/lib/dep/.git/hooks/x"),
    Row(
        "move the nested repository's parent",
        "mv lib l2; mkdir -p lib/dep/.git/hooks; echo x > lib/dep/.git/hooks/x",
        "test -e ws/lib/dep/.git/hooks/x",
    ),
    Row(
        "a config key that runs a program",
        "git config core.fsmonitor ./evil",
        "grep -qs fsmonitor ws/.git/config",
    ),
    Row(
        "new .claude/commands",
        "mkdir -p .claude/commands; echo x > .claude/commands/x.md",
        "test -e ws/.claude/commands/x.md",
    ),
    Row("new .mcp.json", "echo '{}' > .mcp.json", "test -e ws/.mcp.json"),
)
COMMIT = Row(
    "git commit",
    "echo 1 > new && git add new && git commit -qm one",
    "test $(git -C ws rev-list --count HEAD) = 2",
)

_BUILD = """set -e
mkdir -p ws/d ws/lib/dep out home
cd ws; git init -q; git config user.name t; git config user.email t@t; rm -f .git/hooks/*.sample
echo 1 > a; git add a; git commit -qm start
cd lib/dep; git init -q; rm -f .git/hooks/*.sample; mkdir -p .git/hooks
cd ../../../out; echo secret > secret; chmod 600 secret
"""


class World:
    """base/{ws, out, home}; the workspace is a repository with another one inside."""

    def __init__(self, base):
        self.base, self.ws, self.out, self.home = base, f"{base}/ws", f"{base}/out", f"{base}/home"
        self.outside = 0

    def env(self):
        return {
            "PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "OUT": self.out, "TERM": "dumb",
            "OUTSIDE": str(self.outside), **GIT,
        }  # fmt: skip


@contextlib.contextmanager
def world(cache):
    base = os.path.join(os.environ.get(_STAGE, cache), "worlds", str(time.monotonic_ns()))
    os.makedirs(base)
    made = World(base)
    try:
        subprocess.run(["sh", "-c", _BUILD], cwd=base, env=made.env(), check=True)
        yield made
    finally:
        subprocess.run(["rm", "-rf", base], check=False)


# --- the peers --------------------------------------------------------------------------------------------


class Peer:
    """One tool. `argv(world, words)` is the command line that runs `words` in it, `env` what it needs beside."""

    name = ""

    def __init__(self, cache):
        self.cache = cache

    def install(self):
        """Fetch it. Raises or returns; afterwards `version` may be asked."""

    def version(self):
        return ""

    def env(self, world):
        return {}

    def argv(self, world, words):
        return list(words)

    def run(self, world, words, **more):
        env = {**world.env(), **self.env(world)}
        defaults = {"capture_output": True, "text": True, "errors": "replace", "timeout": LIMIT}
        return subprocess.run(
            self.argv(world, words),
            cwd=world.ws,
            env=env,
            stdin=subprocess.DEVNULL,
            check=False,
            **{**defaults, **more},
        )


class Bare(Peer):
    name = "no fence"


class Ours(Peer):
    name = "ringfence"
    engine = "auto"

    def version(self):
        done = subprocess.run(
            [sys.executable, "-I", START, "--version"], capture_output=True, text=True, check=False
        )
        return (done.stdout.split() or ["?"])[-1]

    def argv(self, world, words):
        return [
            sys.executable, "-I", "-S", START, "run", "--engine", self.engine, "--workspace", world.ws, "--", *words,
        ]  # fmt: skip


class Debian(Peer):
    """Debian packages. `staged` puts what lies in the cache over /usr and /etc, for this run alone."""

    packages: tuple[str, ...] = ()

    def install(self):
        for package in self.packages:
            if not shutil.which(package):
                raise RuntimeError(f"{package} is not installed, and could not be unpacked over /usr")

    def version(self):
        found = glob.glob(f"{self.cache}/deb/{self.packages[0]}/*.deb")
        if found:
            return os.path.basename(found[0]).split("_")[1]
        words = ["dpkg-query", "-W", "-f", "${Version}", self.packages[0]]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout


DEBIAN = ("bubblewrap", "firejail", "socat", "libwrap0", "ripgrep")


def staged(cache):
    """Run this script again where the Debian packages lie over /usr and /etc: in a mount namespace of root's."""
    folders = []
    for package in DEBIAN:
        folder = f"{cache}/deb/{package}"
        if not glob.glob(f"{folder}/*.deb"):
            os.makedirs(folder, exist_ok=True)
            subprocess.run(["apt-get", "download", package], cwd=folder, check=True, capture_output=True)
            subprocess.run(["dpkg", "-x", glob.glob(f"{folder}/*.deb")[0], folder], check=True)
        folders.append(folder)
    text = ""
    for place in ("usr", "etc"):
        lower = ":".join(f"{folder}/{place}" for folder in folders if os.path.isdir(f"{folder}/{place}"))
        text += f"mount -t overlay overlay -o 'lowerdir={lower}:/{place}' /{place} && "
    os.environ[_STAGE] = "/mnt"
    text += "mount -t tmpfs tmpfs /mnt && "
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", text + 'exec "$@"', "sh", sys.executable, *sys.argv])


class Bubblewrap(Debian):
    name = "bubblewrap"
    packages = ("bubblewrap",)

    def install(self):
        if not shutil.which("bwrap"):
            raise RuntimeError("bwrap is not installed")

    def argv(self, world, words):
        return [
            "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
            "--bind", world.ws, world.ws, "--ro-bind", f"{world.ws}/.git/hooks", f"{world.ws}/.git/hooks", *words,
        ]  # fmt: skip


class Firejail(Debian):
    name = "firejail"
    packages = ("firejail",)

    def argv(self, world, words):
        return [
            # Its --read-only is not recursive: the mount of the worlds is named beside the root.
            "firejail", "--quiet", "--noprofile", "--net=none", "--read-only=/",
            f"--read-only={os.environ.get(_STAGE, self.cache)}", f"--read-write={world.ws}",
            f"--read-only={world.ws}/.git/hooks", *words,
        ]  # fmt: skip


class Npm(Peer):
    package = ""

    def install(self):
        if not os.path.isdir(f"{self.cache}/npm/node_modules/{self.package}"):
            words = ["npm", "install", "--prefix", f"{self.cache}/npm", "--no-audit", "--no-fund", "--silent"]
            subprocess.run([*words, self.package], check=True, capture_output=True)

    def version(self):
        with open(f"{self.cache}/npm/node_modules/{self.package}/package.json", encoding="utf-8") as file:
            return json.load(file)["version"]


class Srt(Npm):
    name = "srt"
    package = "@anthropic-ai/sandbox-runtime"

    def argv(self, world, words):
        settings = f"{world.base}/srt.json"
        with open(settings, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
                    "network": {"allowedDomains": [], "deniedDomains": []},
                },
                file,
            )
        text = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)
        return [f"{self.cache}/npm/node_modules/.bin/srt", "-s", settings, "-c", text]


class Codex(Npm):
    name = "codex"
    package = "@openai/codex"

    def env(self, world):
        home = f"{os.environ.get(_STAGE, self.cache)}/codex-home"
        os.makedirs(home, exist_ok=True)
        return {"CODEX_HOME": home}

    def argv(self, world, words):
        # The native program: the npm shim adds a start of node.
        (native,) = glob.glob(f"{self.cache}/npm/node_modules/@openai/codex-*/vendor/*/bin/codex")
        return [native, "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", *words]


class Pip(Peer):
    package = ""

    def install(self):
        if not os.path.isdir(f"{self.cache}/pip/{self.package}"):
            words = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--target",
                f"{self.cache}/pip/{self.package}",
            ]
            subprocess.run([*words, self.package], check=True, capture_output=True)

    def version(self):
        (found,) = glob.glob(f"{self.cache}/pip/{self.package}/{self.package}-*.dist-info")
        return found.rpartition("/")[2].split("-")[1].removesuffix(".dist")

    def env(self, world):
        return {"PYTHONPATH": f"{self.cache}/pip/{self.package}"}


class Sandlock(Pip):
    name = "sandlock"
    package = "sandlock"
    code = (
        "import os, sys\nfrom sandlock import Sandbox\np = os.getcwd()\n"
        "s = Sandbox(fs_readable=['/'], fs_writable=[p, '/dev/null'], fs_denied=[p + '/.git/hooks'], cwd=p)\n"
        "r = s.run(sys.argv[1:])\n"
        "for stream, fd in ((r.stdout, 1), (r.stderr, 2)):\n"
        "    os.write(fd, stream if isinstance(stream, bytes) else (stream or '').encode())\n"
        "sys.exit(r.exit_code)\n"
    )

    def argv(self, world, words):
        return [sys.executable, "-c", self.code, *words]


class Hozo(Pip):
    name = "hozo"
    package = "hozo"

    def argv(self, world, words):
        return [sys.executable, f"{self.cache}/pip/hozo/bin/hozo", "--", *words]


PEERS = (Ours, Srt, Codex, Bubblewrap, Firejail, Sandlock, Hozo)


# --- the table of attacks ---------------------------------------------------------------------------------


def landed(cache, peer, row):
    with world(cache) as at, subprocess.Popen(["sleep", "60"]) as outside:
        at.outside = outside.pid
        done = peer.run(at, ["sh", "-c", row.how])
        outside.kill()
        asked = subprocess.run(
            ["sh", "-c", row.landed], cwd=at.base, env=at.env(), capture_output=True, check=False
        )
        return asked.returncode == 0, done


def leftovers(cache, peer):
    """How many names more the workspace has after the wrapper was killed in the middle, one second later."""
    with world(cache) as at:
        before = names(at.ws)
        words = peer.argv(at, ["sh", "-c", "touch ../ws/ready; sleep 3"])
        env = {**at.env(), **peer.env(at)}
        started = subprocess.Popen(
            words, cwd=at.ws, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 20
        while not os.path.exists(f"{at.ws}/ready") and time.monotonic() < deadline:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        time.sleep(1)
        return sorted(names(at.ws) - before - {"ready"})


def names(top):
    return {
        os.path.relpath(os.path.join(folder, name), top)
        for folder, folders, files in os.walk(top)
        for name in (*folders, *files)
    }


def statuses(cache, peer):
    with world(cache) as at:
        plain = peer.run(at, ["sh", "-c", "exit 7"]).returncode
        killed = peer.run(at, ["sh", "-c", "kill -TERM $$"]).returncode
        return f"{plain}, {killed}"


def explains(cache, peer):
    """Whether a refused write is told with the rule: the path and the fence's own name on stderr."""
    with world(cache) as at, open(f"{at.base}/said", "w+", encoding="utf-8", errors="replace") as said:
        peer.run(
            at, ["sh", "-c", 'p="$OUT"; echo x > "$p/new"'], capture_output=False, stdout=said, stderr=said
        )
        said.seek(0)
        text = said.read()
        return "rule and grant" if "Rule: " in text and "next: " in text else "no"


def table(cache, peers):
    bare = Bare(cache)
    for row in (*ROWS, COMMIT):
        works, done = landed(cache, bare, row)
        if not works:
            raise SystemExit(f"{row.name} does not even land without a fence: {done.stdout}{done.stderr}")
    lines = []
    for row in ROWS:
        cells = []
        for peer in peers:
            open_, _ = landed(cache, peer, row)
            cells.append("**open**" if open_ else "refused")
        lines.append((row.name, *cells))
        print(f"  {row.name}: {cells}", file=sys.stderr)
    lines.append(
        (COMMIT.name, *("works" if landed(cache, peer, COMMIT)[0] else "**refused**" for peer in peers))
    )
    found = [leftovers(cache, peer) for peer in peers]
    lines.append(
        ("left in the workspace after SIGKILL", *(f"**{len(each)}**" if each else "none" for each in found))
    )
    lines.append(("exit 7; death by SIGTERM", *(statuses(cache, peer) for peer in peers)))
    lines.append(("a refusal names", *(explains(cache, peer) for peer in peers)))
    return lines


# --- speed ------------------------------------------------------------------------------------------------


class SameLayout(Bubblewrap):
    """bubblewrap with the mounts that ringfence makes for the same policy, as far as it can."""

    name = "bubblewrap, same layout"

    def argv(self, world, words):
        ws, temp, cache = world.ws, f"{world.base}/temp", f"{world.base}/cache"
        for folder in (temp, cache):
            os.makedirs(folder, exist_ok=True)
        hooks = [f"{ws}/.git/hooks", f"{ws}/lib/dep/.git/hooks"]
        binds = [word for hook in hooks for word in ("--ro-bind", hook, hook)]
        return [
            "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--bind", ws, ws,
            "--bind", temp, temp, "--bind", cache, cache, *binds, "--chdir", ws, *words,
        ]  # fmt: skip


class BarePython(Peer):
    name = "python -I -S -c pass"

    def argv(self, world, words):
        return [sys.executable, "-I", "-S", "-c", "pass"]


BUILD = """
import os, sys
for i in range(200):
    os.mkdir(f"b/{i}")
    for j in range(100):
        with open(f"b/{i}/{j}.tmp", "w") as f: f.write("x" * 2000)
        os.rename(f"b/{i}/{j}.tmp", f"b/{i}/{j}")
"""


def interleaved(rounds, calls):
    """Median seconds of each call, taken in turn."""
    times = {name: [] for name in calls}
    for count in range(rounds + 2):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if count >= 2:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def speed(cache, peers):
    with world(cache) as at:
        everyone = [BarePython(cache), SameLayout(cache), *peers]

        def once(peer):
            done = peer.run(at, ["true"])
            if done.returncode:
                raise SystemExit(f"{peer.name}: {done.stdout}{done.stderr}")

        fast = [peer for peer in everyone if not isinstance(peer, Srt | Codex | Hozo)]
        slow = [peer for peer in everyone if peer not in fast]
        found = interleaved(40, {peer.name: (lambda peer=peer: once(peer)) for peer in fast})
        found.update(interleaved(9, {peer.name: (lambda peer=peer: once(peer)) for peer in slow}))
    return found, build_time()


def build_time():
    """Ratio of a build of 20,000 files on tmpfs, inside to outside, and the two medians."""
    base = f"/dev/shm/ringfence-bench-{os.getpid()}"
    at = World(base)
    os.makedirs(base)
    try:
        subprocess.run(["sh", "-c", _BUILD], cwd=base, env=at.env(), check=True)

        def build(peer):
            shutil.rmtree(f"{at.ws}/b", ignore_errors=True)
            os.mkdir(f"{at.ws}/b")
            start = time.perf_counter()
            done = peer.run(at, [sys.executable, "-I", "-S", "-c", BUILD])
            if done.returncode:
                raise SystemExit(done.stderr)
            return time.perf_counter() - start

        ours, bare = Ours(""), Bare("")
        pairs = [(build(bare), build(ours)) for _ in range(9)]
    finally:
        subprocess.run(["rm", "-rf", base], check=False)
    outside, inside = (statistics.median(each) for each in zip(*pairs, strict=True))
    return statistics.median(b / a for a, b in pairs), outside, inside


# --- what is written --------------------------------------------------------------------------------------


def markdown(peers, lines, times):
    head = ["", *(f"{peer.name} {peer.version()}".strip() for peer in peers)]
    out = [_row(head), _row(["---"] * len(head)), *map(_row, lines)]
    if times:
        found, (ratio, outside, inside) = times
        base, layout = found["python -I -S -c pass"], found["bubblewrap, same layout"]
        out += [
            "",
            "| one `true`, whole process | median ms | to bare python | to bubblewrap, same layout |",
            "|---|---|---|---|",
        ]
        out += [
            f"| {name} | {each * 1e3:.1f} | {each / base:.2f} | {each / layout:.2f} |"
            for name, each in sorted(found.items(), key=lambda item: item[1])
        ]
        out += [
            "",
            f"20,000 files made, written and renamed on tmpfs: {outside:.2f} s outside, {inside:.2f} s inside, "
            f"{ratio:.2f} x.",
        ]
    return "\n".join(out) + "\n"


def _row(cells):
    return "| " + " | ".join(cells) + " |"


BEGIN, END = "<!-- measured: written by benchmarks/peers.py -->", "<!-- end of what was measured -->"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--cache", default=os.path.expanduser("~/.cache/ringfence-peers"))
    ask.add_argument("--only", default="")
    ask.add_argument("--speed", action="store_true", help="time them too")
    ask.add_argument("--write", default="", help="put the tables into this document, between its marks")
    words = ask.parse_args()
    if _STAGE not in os.environ and os.geteuid() == 0 and shutil.which("apt-get"):
        staged(words.cache)
    chosen = [peer(words.cache) for peer in PEERS if not words.only or peer.name in words.only.split(",")]
    peers = []
    for peer in chosen:
        try:
            peer.install()
            with world(words.cache) as at:
                done = peer.run(at, ["sh", "-c", "echo ok > proof"])
                if not os.path.exists(f"{at.ws}/proof"):
                    raise RuntimeError(f"it does not run here: {done.stdout}{done.stderr}")
            peers.append(peer)
        except (OSError, RuntimeError, subprocess.SubprocessError, ValueError, IndexError) as error:
            print(f"without {peer.name}: {str(error)[:600]}", file=sys.stderr)
    text = markdown(peers, table(words.cache, peers), speed(words.cache, peers) if words.speed else None)
    print(text)
    ours = next((peer for peer in peers if isinstance(peer, Ours)), None)
    if words.write:
        with open(words.write, encoding="utf-8") as file:
            head, _, rest = file.read().partition(BEGIN)
        _, found, tail = rest.partition(END)
        if not found:
            raise SystemExit(f"{words.write} has no marks to write between")
        with open(words.write, "w", encoding="utf-8") as file:
            file.write(f"{head}{BEGIN}\n\n{text}\n{END}{tail}")
    column = peers.index(ours) if ours else -1
    bad = [
        line
        for line in text.splitlines()
        if column >= 0 and "**" in (line.split(" | ") + [""] * 9)[column + 1]
    ]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
