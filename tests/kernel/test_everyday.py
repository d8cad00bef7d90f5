"""Everyday work through `ringfence shell`, as root and as another user, behind each engine; first without a fence.

What only the engine is asked (without policy, caches and temp) stands in tests/kernel/attacks.py and mounts_rows.py.
"""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.support import users
from tests.support.product import HAS_MOUNTS, HERE, TIMEOUT, Product

ENGINES = [name for name, there in (("mounts", HAS_MOUNTS), ("landlock", HERE.landlock)) if there]
pytestmark = pytest.mark.skipif(
    not ENGINES, reason="neither user namespaces nor Landlock: " + str(HERE.why_not)
)


class Work(NamedTuple):
    """`calls` are shell texts, each a call of its own in one session; all must exit 0."""

    id: str
    calls: tuple[str, ...]
    needs: tuple[str, ...] = ()
    engines: tuple[str, ...] = ("mounts", "landlock")


WHEEL = """
import zipfile
with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as made:
    made.writestr("tiny.py", "X = 1")
    made.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
    made.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    made.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\\n")
"""

WORK = (
    Work("here-documents", ("cat > f <<END\n$((1 + 1))\nEND\ngrep -qx 2 f && cat <<'END' | grep -qx '$HOME' && read -r x <<< word && test $x = word\n$HOME\nEND",)),
    Work("process-substitution", ("diff <(sort a) <(sort a) && tee >(wc -c > n) < a > /dev/null; sleep 0.2; test -s n",), ("bash",)),
    Work("pipes-and-status", ("set -o pipefail; ! (false | true) && seq 1000 | sort -R | sort -n | tail -1 | grep -qx 1000",)),
    Work("temporary-files", ('f=$(mktemp) && d=$(mktemp -d) && echo x > "$f" && mv "$f" "$d/y" && rm -r "$d"', "python3 -c 'import tempfile; tempfile.NamedTemporaryFile().write(b\"x\")'")),
    Work("venv-and-wheel", ("python3 make_wheel.py && python3 -m venv v && v/bin/pip install -q --no-index ./tiny-1-py3-none-any.whl && v/bin/python -c 'import tiny; assert tiny.X'",), ("ensurepip",)),
    Work("pip-download-cache", ('test "$(python3 -m pip cache dir)" = "$PIP_CACHE_DIR"',), ("pip",)),
    Work("pytest", ("pytest -q test_it.py && test -d __pycache__ && test -d .pytest_cache",), ("pytest",)),
    Work("node-and-npm", ("mkdir -p pkg && echo '{\"name\": \"pkg\", \"version\": \"1.0.0\", \"main\": \"i.js\"}' > pkg/package.json && echo 'module.exports = 3' > pkg/i.js && npm init -y > /dev/null && npm install --offline --no-audit --no-fund ./pkg && node -e 'process.exit(require(\"pkg\") - 3)'", 'test -d "$npm_config_cache"', "npm pkg set scripts.t='node -e 0' && npm run -s t"), ("npm", "node")),
    Work("compiler-and-make", ("printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}' > m.c && printf 'm: m.o\\n\\tcc -o m m.o\\nm.o: m.c\\n\\tcc -c m.c\\n' > Makefile && make -s -j2 && ./m | grep -qx hi",), ("cc", "make")),
    Work("cargo", ('cargo new --vcs none -q c && cd c && cargo build -q --offline && ./target/debug/c | grep -q Hello && test -d "$CARGO_HOME"',), ("cargo",)),
    Work("go", ("mkdir g && cd g && printf 'package main\\nfunc main(){}' > m.go && go mod init x && go build -o x . && ./x",), ("go",)),
    Work("uv", ("uv venv -q --offline u && test -x u/bin/python",), ("uv",)),
    Work("git", ("git add a && git commit -qm one && git checkout -qb t && echo 2 > b && git add b && git commit -qm two && git checkout -q - && git merge -q t && git log --oneline | grep -q two && git stash list && git gc -q && git fsck",), ("git",)),
    Work("git-moves", ("git add a && git commit -qm a && mkdir -p packages/a packages/b && echo 1 > packages/a/f && git add packages && git commit -qm p && git mv packages/a/f packages/b/f && git mv a packages/a2 && mv packages/b vendor && git add -A packages && git commit -qam moved",), ("git",)),
    Work("rename-across-pinned", ("python3 -c 'import os; os.rename(\"a\", \"deep/a\"); os.rename(\"deep/a\", \".claude/a\"); os.rename(\".claude/a\", \".git/a\"); os.link(\".git/a\", \"a\")'",), ("git",)),
    Work("sqlite", ("python3 -c 'import sqlite3; c = sqlite3.connect(\"d.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); c.commit()'", "echo 'insert into t values(1); select * from t;' | sqlite3 d.db | grep -qx 1"), ("sqlite3",)),
    Work("tar", ("mkdir t && echo 1 > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && test -s t/f",)),
    Work("rsync", ("mkdir s && echo 1 > s/f && rsync -a --delete s/ d2/ && test -s d2/f",), ("rsync",)),
    Work("ssh-keygen", ("ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -l -f key.pub",), ("ssh-keygen",)),
    Work("multiprocessing", ("python3 -c 'import multiprocessing as m; p = m.Pool(2); assert p.map(abs, [-1, -2]) == [1, 2]; m.Semaphore()'", "python3 -c 'from multiprocessing.shared_memory import SharedMemory as S; s = S(create=True, size=8); s.buf[0] = 1; s.close(); s.unlink()'")),
    Work("server-of-an-earlier-call", ("python3 -m http.server --bind 127.0.0.1 0 > server.log 2>&1 & echo $! > server.pid", "p=$(cat server.pid); for i in 1 2 3 4 5 6 7 8 9; do grep -q port server.log && break; sleep 0.3; done; kill -0 $p && cat server.log; kill $p", "sleep 0.3; test ! -s /proc/$(cat server.pid)/cmdline")),
    Work("pty", ("script -qec 'test -t 0 && stty size && echo x > /dev/tty' /dev/null < /dev/null",), ("script",)),
    Work("job-control", ("sleep 5 & p=$!; kill -STOP $p && kill -CONT $p && kill $p; ! wait $p",)),
    Work("find-and-xargs", ("touch 'x y' z && find . -maxdepth 1 -name 'x*' -print0 | xargs -0 rm && test ! -e 'x y'",)),
    Work("limits-and-umask", ("umask 077 && touch u && test $(stat -c %a u) = 600 && ulimit -n > /dev/null",)),
    Work("dd-and-truncate", ("dd if=/dev/zero of=big bs=1M count=20 status=none && truncate -s 1K big && test $(stat -c %s big) = 1024",)),
)  # fmt: skip


@pytest.fixture(scope="module", params=users.names())
def who(request):
    with users.someone(request.param) as one:
        yield one


@pytest.fixture(name="product")
def _product(who):
    with users.open_folder(who) as base:
        product = Product(base, f"{who.checkout}/src/ringfence/start.py", who.python, who.popen())
        _fill(product)
        for folder, folders, files in os.walk(base):
            for name in (".", *folders, *files):
                os.chown(f"{folder}/{name}", who.uid, who.gid, follow_symlinks=False)
        if who.is_root:
            extra = f"{os.path.dirname(sys.executable)}:{os.path.expanduser('~/.cargo/bin')}"
            product.env["PATH"] += ":" + extra
            if os.path.isdir(os.path.expanduser("~/.rustup")):
                product.env["RUSTUP_HOME"] = os.path.expanduser("~/.rustup")
        yield product


def _fill(product):
    for name, text in (
        ("ws/a", "b\na\n"), ("ws/.claude/settings.json", "{}"), ("ws/deep/main/code", "1"), ("ws/make_wheel.py", WHEEL),
        ("ws/test_it.py", "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('y')\n"),
        ("home/.gitconfig", "[user]\n\tname = t\n\temail = t@t\n[safe]\n\tdirectory = *\n"),
    ):  # fmt: skip
        product.write(name, text)
    subprocess.run(["git", "init", "-q", product.ws], check=True)
    subprocess.run(["git", "init", "-q", f"{product.ws}/deep/lib"], check=True)


def missing(needs, product):
    for need in needs:
        if need in {"ensurepip", "pip"}:
            asked = ["python3", "-c", f"import {need}"]
            if subprocess.run(asked, env=product.env, capture_output=True, **product.popen).returncode:
                return f"python3 has no {need}"
        elif not shutil.which(need, path=product.env["PATH"]):
            return f"{need} is not installed"
    return ""


def call(product, text, engine, bare=None, **more):
    """One shell call, fenced by `engine`, or not at all and then with `bare`, what the fence would set."""
    words = ["bash", "-c", text]
    if engine:
        session = f"everyday-{os.getpid()}"
        flags = ["--engine", engine, "--session", session, "--workspace", product.ws]
        words = product.words("shell", *flags, "-c", text)
    defaults = {"stdin": subprocess.DEVNULL, "timeout": 4 * TIMEOUT, "capture_output": True, "text": True}
    env = product.env if engine else {**product.env, **(bare or {})}
    return subprocess.run(words, cwd=product.ws, env=env, **product.popen, **{**defaults, **more})


@pytest.mark.parametrize("work", WORK, ids=[work.id for work in WORK])
def test_everyday_work_goes_on(work, product):
    reason = missing(work.needs, product)
    if reason:
        pytest.skip(reason)
    bare = product.path("home/bare")
    caches = {
        "CARGO_HOME": f"{bare}/cargo",
        "npm_config_cache": f"{bare}/npm",
        "PIP_CACHE_DIR": f"{bare}/pip",
    }
    subprocess.run(["cp", "-a", product.ws, product.path("fresh")], check=True)
    for engine in ("", *ENGINES):
        subprocess.run(["rm", "-rf", product.ws], check=True)
        subprocess.run(["cp", "-a", product.path("fresh"), product.ws], check=True)
        for text in work.calls:
            # Into a file, as agents do it; a job left in the background then holds no pipe open.
            with open(product.path("output"), "w+", encoding="utf-8", errors="replace") as output:
                done = call(product, text, engine, caches, capture_output=False, stdout=output, stderr=output)
                output.seek(0)
                said = output.read()
            assert done.returncode == 0, (engine or "it fails without a fence", text, said)
            assert "ringfence:" not in said, said


@pytest.mark.parametrize("engine", ENGINES)
def test_200_megabytes_of_output_arrive(product, engine):
    words = product.words(
        "shell", "--engine", engine, "--workspace", product.ws, "-c", "head -c 200000000 /dev/zero"
    )
    with subprocess.Popen(
        words,
        cwd=product.ws,
        env=product.env,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        **product.popen,
    ) as process:
        total = 0
        while data := process.stdout.read(1 << 20):
            total += len(data)
    assert (total, process.returncode) == (200_000_000, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_exit_code_passes_through(product, engine, who):
    codes = list(range(256) if who.is_root and engine == ENGINES[0] else range(0, 256, 17))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda code: call(product, f"exit {code}", engine).returncode, codes))
    assert found == codes


CATCHABLE = sorted(
    set(signal.valid_signals())
    - {signal.SIGKILL, signal.SIGSTOP}
    # The wrapper's own: its child has changed; and CONT wakes it, which the program needs only if it was stopped.
    - {signal.SIGCHLD, signal.SIGCONT}
)

STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}

CATCHER = """
import os, signal, sys
def caught(number, frame):
    os.write(1, b"%d\\n" % number)
for number in map(int, sys.argv[1].split(",")):
    signal.signal(number, caught)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_every_signal_that_can_be_caught_reaches_the_program(product, engine, who):
    numbers = ",".join(str(int(number)) for number in CATCHABLE)
    words = product.words(
        "run", "--engine", engine, "--workspace", product.ws, "--", who.python, "-c", CATCHER, numbers
    )
    with subprocess.Popen(
        words,
        cwd=product.ws,
        env=product.env,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        **product.popen,
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            for number in CATCHABLE:
                os.kill(process.pid, number)
                assert process.stdout.readline() == b"%d\n" % number
        finally:
            process.kill()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", [n for n in CATCHABLE if n < 32 and n not in STOPS])
def test_death_by_each_signal_is_that_death(product, engine, number):
    ignored = {signal.SIGURG, signal.SIGWINCH}
    done = call(product, f"ulimit -c 0; kill -{int(number)} $$; exit 5", engine)
    bare = call(product, f"ulimit -c 0; kill -{int(number)} $$; exit 5", "")
    assert done.returncode == bare.returncode
    # A test that runs in the background of a shell has QUIT and INT ignored, and so has what it starts.
    if number not in {signal.SIGQUIT, signal.SIGINT}:
        assert done.returncode == (5 if number in ignored else -number)
