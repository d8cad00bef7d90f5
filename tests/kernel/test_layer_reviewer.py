"""A reviewer's session: everything runs, each call sees what earlier ones wrote, and nothing lands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from ringfence.kernel import processes
from tests.kernel.conftest import HERE
from tests.support import users
from tests.support.layer_rig import full_hash, inhabitants, leftovers, product_of, review
from tests.support.product import TIMEOUT

pytestmark = pytest.mark.skipif(not (HERE.userns and HERE.overlay), reason=str(HERE.why_not))


@pytest.fixture
def product(who):
    with users.open_folder(who) as base:
        made = product_of(who, base)
        yield made
        for name in ("r1", "r2", "claude-s1"):
            review(made, who, "drop", name)
        deadline = time.monotonic() + 10
        while leftovers(made) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not leftovers(made)
        shutil.rmtree(f"/tmp/ringfence-{who.uid}/r1", ignore_errors=True)


def call(product, text, *options, session="r1", **more):
    words = (
        "shell",
        "--lane",
        "reviewer",
        "--session",
        session,
        *options,
        "--workspace",
        product.ws,
        "-c",
        text,
    )
    return product.run(*words, **more)


def own(product, who):
    subprocess.run(["chown", "-hR", f"{who.uid}:{who.gid}", product.ws], check=True)


def project(product, who):
    """A repository with a Python test, a make file and a package.json."""
    files = {
        "src/lib.py": "def two():\n    return 2\n",
        "tests/test_lib.py": "import unittest, sys\nsys.path.insert(0, 'src')\nimport lib\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(lib.two(), 2)\n        open('tests/ran', 'w').close()\n",
        "Makefile": "all: build/out\nbuild/out: src/lib.py\n\tmkdir -p build\n\tcp src/lib.py build/out\n",
        "package.json": json.dumps(
            {
                "name": "x",
                "version": "1.0.0",
                "scripts": {"test": "node -e \"require('fs').writeFileSync('npm-ran','x')\""},
            }
        ),
    }
    for name, text in files.items():
        os.makedirs(os.path.dirname(product.path(f"ws/{name}")), exist_ok=True)
        product.write(f"ws/{name}", text)
    own(product, who)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        subprocess.run(git, cwd=product.ws, env=product.env, check=True, **product.popen)


def test_the_whole_gate_runs_and_the_tree_stays_byte_for_byte(product, who):
    project(product, who)
    before = full_hash(product.ws)
    product.env["PYTHONDONTWRITEBYTECODE"] = ""
    python = who.python
    calls = [
        (f"{python} -m unittest discover -s tests && ls src/__pycache__ tests/ran", "lib"),
        ("ls src/__pycache__ tests/ran", "tests/ran"),
        ("make && cat build/out", "def two"),
        ("make", "Nothing to be done"),
        (
            "echo '# more' >> src/lib.py && git stash -q && git stash list && ! grep more src/lib.py",
            "stash@{0}",
        ),
        (
            "git -c user.name=r -c user.email=r@r commit -q --allow-empty -m reviewed && git log --oneline",
            "reviewed",
        ),
        ("git log --oneline | head -1", "reviewed"),
        ("git stash pop -q && tail -1 src/lib.py", "# more"),
        ("rm -rf src && ls", "tests"),
        ("test ! -e src && echo gone", "gone"),
        ("git status --short", "D src/lib.py"),
    ]
    if shutil.which("npm") and shutil.which("node"):
        product.env["PATH"] = f"{os.path.dirname(shutil.which('npm'))}:{product.env['PATH']}"
        reachable = (
            subprocess.run(
                ["npm", "--version"], cwd=product.ws, env=product.env, capture_output=True, **product.popen
            ).returncode
            == 0
        )
        calls += [("npm test --silent && ls npm-ran", "npm-ran"), ("ls npm-ran", "npm-ran")] * reachable
    for text, wanted in calls:
        done = call(product, text)
        assert done.status == 0, (text, done)
        assert wanted in done.text + done.complaint, (text, done)
        assert full_hash(product.ws) == before, text
    # The same commands change the tree where nothing holds them back: the hash can tell.
    subprocess.run(
        ["make"], cwd=product.ws, env=product.env, check=True, capture_output=True, **product.popen
    )
    assert full_hash(product.ws) != before


def test_pytest_with_its_caches(product, who):
    """pytest of the interpreter that runs these tests; an ordinary user may not reach it."""
    import sys

    project(product, who)
    reach = ["/bin/sh", "-c", f"{sys.executable} -m pytest --version"]
    if subprocess.run(
        reach, cwd=product.ws, env=product.env, capture_output=True, **product.popen
    ).returncode:
        pytest.skip("this account cannot reach an interpreter with pytest")
    before = full_hash(product.ws)
    product.env["PYTHONDONTWRITEBYTECODE"] = ""
    done = call(product, f"{sys.executable} -m pytest -q && ls -d .pytest_cache tests/__pycache__")
    assert done.status == 0, done
    assert call(product, "cat .pytest_cache/v/cache/nodeids").text.count("test_lib") == 1
    assert full_hash(product.ws) == before


def test_a_job_of_an_earlier_call_works_on_in_the_same_files(product):
    done = call(product, "(while :; do date +%s%N > beat; sleep 0.05; done) >/dev/null 2>&1 & echo $!")
    assert done.status == 0
    first = call(product, "cat beat").text
    time.sleep(0.2)
    assert call(product, "cat beat").text != first
    # A file that a later call makes is seen by the job, and the other way round.
    call(product, "(until test -e stop; do sleep 0.05; done; echo heard > answer) >/dev/null 2>&1 &")
    call(product, "touch stop")
    time.sleep(0.5)
    assert call(product, "cat answer").text == "heard\n"
    assert call(product, f"kill {done.text.strip()}").status == 0
    assert os.listdir(product.ws) == []


def test_each_call_sees_the_real_tree_as_it_is_now(product, who):
    for name in ("changed", "replaced", "removed"):
        product.write(f"ws/{name}", "old\n")
    os.mkdir(f"{product.ws}/d")
    own(product, who)
    assert call(product, "cat changed replaced removed; ls; ls d").text.count("old") == 3
    product.write("ws/changed", "new\n")
    product.write("ws/replaced.x", "new\n")
    os.rename(f"{product.ws}/replaced.x", f"{product.ws}/replaced")
    os.unlink(f"{product.ws}/removed")
    product.write("ws/added", "new\n")
    product.write("ws/d/inner", "new\n")
    done = call(product, "cat changed replaced added d/inner; test ! -e removed && ls d")
    assert (done.status, done.text) == (0, "new\n" * 4 + "inner\n"), done


def test_a_linked_worktree_can_be_committed_to_and_nothing_reaches_its_repository(product, who):
    """Unfenced the same commands move the branch and break the main checkout."""
    main, tree = product.ws, product.path("ws-linked")
    project(product, who)
    git = ["git", "-c", "user.name=r", "-c", "user.email=r@r"]
    subprocess.run(
        [*git, "worktree", "add", "-q", "-b", "w", tree],
        cwd=main,
        env=product.env,
        check=True,
        **product.popen,
    )
    before = full_hash(main), full_hash(tree)
    product.ws = tree
    try:
        commit = "echo '# new' >> src/lib.py && git -c user.name=r -c user.email=r@r commit -qam reviewed"
        done = call(product, f"{commit} && git switch -qc other")
        assert done.status == 0, done
        assert "reviewed" in call(product, "git log --oneline other w | cat").text
        # By a name that no reading of the text can tell: objects and refs of the layer are lost, hooks are held.
        call(
            product,
            f'at={main}; eval "rm -rf \\$at/.git/objects/* \\$at/.git/refs/*; echo x > \\$at/.git/hooks/post-commit"',
        )
        assert (full_hash(main), full_hash(tree)) == before
        subprocess.run(
            [*git, "commit", "-q", "--allow-empty", "-m", "real"],
            cwd=tree,
            env=product.env,
            check=True,
            **product.popen,
        )
        assert full_hash(main) != before[0]
    finally:
        review(product, who, "drop", "r1")
        product.ws = main


def test_looking_anew_keeps_the_mount_without_devices(product):
    for _ in range(2):
        # By number: a text that names /proc/self is refused before it runs.
        script = "import os; print(open(f'/proc/{os.getpid()}/mountinfo').read())"
        table = call(product, f'python3 -I -c "{script}"').text
        (line,) = [row for row in table.splitlines() if f" {product.ws} " in row and " - overlay " in row]
        assert "rw,nodev" in line


def test_two_sessions_do_not_meet(product, who):
    call(product, "echo one > f")
    done = call(product, "test ! -e f && echo two > f && cat f", session="r2")
    assert done.text == "two\n"
    assert call(product, "cat f").text == "one\n"
    assert review(product, who, "diff")[0] == 2  # which of the two?
    assert review(product, who, "drop", "r2") == (0, [["r2", 1]])


def test_two_first_calls_at_once_share_one_layer(product):
    words = product.words(
        "shell",
        "--lane",
        "reviewer",
        "--session",
        "r1",
        "--workspace",
        product.ws,
        "-c",
        "echo $$ > by-$$; sleep 0.2",
    )
    runs = [subprocess.Popen(words, cwd=product.ws, env=product.env, **product.popen) for _ in range(4)]
    assert [run.wait(TIMEOUT) for run in runs] == [0] * 4
    assert len(call(product, "ls by-*").text.split()) == 4
    assert len({line for line in inhabitants(product)}) == 1  # one holder


def test_diff_and_drop(product, who):
    product.write("ws/a", "one\n")
    own(product, who)
    call(product, "echo two >> a; mkdir d; echo x > d/new; sleep 1000 >/dev/null 2>&1 &")
    (said,) = review(product, who, "diff")[1]
    assert [(c["kind"], os.path.basename(c["path"])) for c in said["changes"]] == [
        ("changed", "a"),
        ("created", "d"),
        ("created", "new"),
    ]
    assert "+two\n" in said["diff"]
    assert [(one["session"], one["on"]) for one in review(product, who, "list")[1]] == [("r1", "memory")]
    assert review(product, who, "drop", "r1") == (0, [["r1", 2]])
    assert not inhabitants(product)
    assert call(product, "cat a; test ! -e d").text == "one\n"


def test_the_words_of_review(product, who):
    if not who.is_root:
        pytest.skip("the account's own interpreter has no click")
    call(product, "echo two > a")
    assert "+two" in product.run("review", "diff", "--workspace", product.ws).text
    assert json.loads(product.run("review", "diff", "--json", "--workspace", product.ws).text)["layers"]
    assert json.loads(product.run("review", "list", "--json").text)["layers"][0]["session"] == "r1"
    done = product.run("review", "drop", "--session", "r1")
    assert (done.status, done.text) == (0, "dropped the layer of r1; 1 process ended\n")
    assert product.run("review", "drop", "--session", "r1").status == 2


def test_a_closed_folder_is_closed_again_after_a_look(product, who):
    call(product, "mkdir d; echo x > d/f; chmod 000 d")
    (said,) = review(product, who, "diff")[1]
    assert [os.path.basename(c["path"]) for c in said["changes"]] == ["d", "f"]
    assert call(product, "stat -c %a d").text == "0\n"


def test_the_agents_end_event_ends_the_layer(product):
    call(product, "echo x > f; sleep 1000 >/dev/null 2>&1 &", session="claude-s1")
    assert inhabitants(product)
    event = {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": product.ws,
        "hook_event_name": "SessionEnd",
        "reason": "exit",
    }
    done = product.hook(event)
    assert done.status == 0, done
    assert not inhabitants(product)
    assert not leftovers(product)


def test_a_workspace_that_is_removed_hides_nobody(product, who):
    """The kernel takes a mount away with the folder it stands on; what lived there is still found and ended."""
    script = "while :; do date +%N > $TMPDIR/beat; sleep 0.05; done >/dev/null 2>&1 & echo $!"
    pid = int(call(product, script).text)
    shutil.rmtree(product.ws)
    os.mkdir(product.ws)
    assert processes.born(pid)
    assert review(product, who, "drop", "r1")[1][0][1] >= 2
    assert not processes.born(pid)


def test_jobs_on_a_layer_on_the_disk_are_found_too(product):
    words = (
        "try",
        "--on",
        "disk",
        "--workspace",
        product.ws,
        "--",
        "/bin/sh",
        "-c",
        "sleep 1000 >/dev/null 2>&1 & echo $!",
    )
    assert not processes.born(int(product.run(*words).text.split()[0]))


def test_a_killed_holder_costs_the_layer_and_nothing_else(product):
    call(product, "echo x > f")
    (line,) = inhabitants(product)
    os.kill(int(line.split()[1]), signal.SIGKILL)
    time.sleep(0.1)
    done = call(product, "test ! -e f && echo fresh")
    assert done.text == "fresh\n"
    assert "a new one starts from the real tree" in done.complaint


def test_a_layer_that_nobody_used_for_a_day_is_dropped(product, who):
    call(product, "echo x > f")
    folder = f"{product.state}/layers"
    (name,) = [name for name in os.listdir(folder) if name != "lock"]
    old = time.time() - 90_000
    os.utime(f"{folder}/{name}", (old, old))
    call(product, "true", session="r2")
    assert len(os.listdir(folder)) == 2  # the other session's, and the lock
    assert name not in os.listdir(folder)


def test_guards_hold_and_later_ones_too(product, who):
    subprocess.run(["git", "init", "-q", product.ws], check=True)
    own(product, who)
    text = "python3 -c \"open('.git/hooks/x', 'w')\""
    assert call(product, text).status == 1
    assert call(product, "mv .git/hooks .git/h; mv .git g").status == 1
    # A guarded file and a closed one that come into being after the session's first call.
    os.mkdir(f"{product.ws}/.claude")
    product.write("ws/.claude/settings.json", "{}")
    product.write("ws/secret", "s3cret\n")
    own(product, who)
    write = "python3 -c \"open('.claude/settings.json', 'a').write('x')\""
    assert call(product, write).status == 1
    subprocess.run(
        ["/bin/sh", "-c", 'echo \'[[zone]]\npath = "ws/secret"\naccess = "none"\' > policy.toml'],
        cwd=product.base,
        check=True,
    )
    done = call(
        product, "python3 -c \"print(open('secre'+'t').read())\"", "--policy", f"{product.base}/policy.toml"
    )
    assert "s3cret" not in done.text


def test_a_single_file_of_the_callers_is_written_for_good(product, who):
    """What an agent asks its shell to leave in a file of its own, in every call of a session."""
    for number in range(2):
        path = f"{product.out}/cwd-{number}"
        script = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from ringfence.model import Lane\nfrom ringfence.pipelines.shell import start\nfrom ringfence.policy.asked import Flags\n"
            f"sys.exit(start(Flags(({product.ws!r},)), ['-c', 'echo x >> f; pwd > {path}'], name='r1', files=({path!r},), judged=True, lane=Lane.REVIEWER))\n"
        )
        subprocess.run(["/bin/sh", "-c", f": > {path}"], check=True, **product.popen)
        words = [who.python, "-I", "-c", script, os.path.join(who.checkout, "src")]
        done = subprocess.run(
            words,
            cwd=product.ws,
            env=product.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            **product.popen,
        )
        assert done.returncode == 0, done
        with open(path, encoding="utf-8") as file:
            assert file.read() == f"{product.ws}\n"
    assert call(product, "cat f").text == "x\nx\n"
    assert os.listdir(product.ws) == []


def test_no_pipe_of_the_caller_stays_open(product):
    """An agent waits until its pipes are closed: the holder may not have them."""
    begin = time.monotonic()
    done = call(product, "echo x > f")  # subprocess.run reads both pipes to their end
    assert done.status == 0
    assert time.monotonic() - begin < TIMEOUT / 2
    assert inhabitants(product)


def test_a_program_in_the_layer_cannot_undo_it(product, who):
    text = (
        "import os\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    for n in range(40):\n"
        "        try:\n"
        "            for name in os.listdir(f'/proc/{pid}/fd/{n}/0/upper'): print('REACHED', pid, n)\n"
        "        except OSError: pass\n"
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"print(libc.umount2({os.fsencode(product.ws)!r}, 2), libc.setns(os.open('/proc/self/ns/mnt', 0), 0x20000))\n"
    )
    call(product, "echo x > f")
    done = call(product, 'python3 -I -c "$TEXT"', env={"TEXT": text})
    assert done.text == "-1 -1\n", done


# ---- a whole process, and where there is no layer


def test_a_whole_agent_on_a_layer_with_a_fenced_shell_inside(product):
    inner = " ".join(
        str(word) for word in product.words("shell", "--lane", "reviewer", "--workspace", product.ws, "-c")
    )
    text = f"echo a > f; {inner} 'cat f; echo b > g'; cat g"
    done = product.run("run", "--lane", "reviewer", "--workspace", product.ws, "--", "/bin/sh", "-c", text)
    assert (done.status, done.text) == (0, "a\nb\n"), done
    assert os.listdir(product.ws) == []
    assert not inhabitants(product)


def test_a_whole_agents_layer_can_be_kept_under_a_name(product, who):
    words = ("run", "--lane", "reviewer", "--session", "r1", "--workspace", product.ws, "--", "/bin/sh", "-c")
    assert product.run(*words, "echo a > f").status == 0
    assert product.run(*words, "cat f").text == "a\n"
    assert call(product, "cat f").text == "a\n"
    (said,) = review(product, who, "diff")[1]
    assert [os.path.basename(c["path"]) for c in said["changes"]] == ["f"]


def test_in_a_fence_without_a_layer_the_workspace_is_read_only(product):
    inner = " ".join(
        str(word) for word in product.words("shell", "--lane", "reviewer", "--workspace", product.ws, "-c")
    )
    done = product.run(
        "run",
        "--workspace",
        product.ws,
        "--",
        "/bin/sh",
        "-c",
        f"{inner} 'echo b > g; echo t > $TMPDIR/t && echo room'",
    )
    assert "READ-ONLY" in done.complaint
    assert done.text == "room\n"
    assert os.listdir(product.ws) == []


@pytest.mark.skipif(not HERE.landlock, reason="no Landlock")
def test_with_landlock_alone_the_workspace_is_read_only(product, who):
    script = os.path.join(who.checkout, "scripts/fake_enosys.py")
    words = product.words(
        "shell",
        "--lane",
        "reviewer",
        "--session",
        "r1",
        "--workspace",
        product.ws,
        "-c",
        "echo b > g; echo t > $TMPDIR/t && echo room",
    )
    done = subprocess.run(
        [who.python, "-I", script, "--hide", "unshare", "--errno", "EPERM", "--", *words],
        cwd=product.ws, env=product.env, capture_output=True, text=True, timeout=TIMEOUT, **product.popen,
    )  # fmt: skip
    assert "READ-ONLY" in done.stderr
    assert done.stdout == "room\n"
    assert os.listdir(product.ws) == []


def test_an_unknown_lane_is_refused(product):
    assert (
        product.run("shell", "--lane", "reviewr", "--workspace", product.ws, "-c", "echo x > f").status == 2
    )
    assert product.run("run", "--lane", "reviewr", "--workspace", product.ws, "--", "touch", "f").status == 2
    assert os.listdir(product.ws) == []
