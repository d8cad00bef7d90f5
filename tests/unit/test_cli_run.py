"""`ringfence run` and `ringfence shell` as processes: what passes through unchanged, and what does not get out."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.support import users
from tests.support.product import TIMEOUT, Product, needs_engine, needs_mounts, product_fixture  # noqa: F401 - a fixture

pytestmark = needs_engine

SHOW = 'for a in "$@"; do printf "[%s]" "$a"; done'


# A path that the command's text does not tell: only the engine can refuse it.
UNREAD = 'read -r p < target; touch "$p"'


def _unread(product: Product, path: str) -> str:
    product.write("ws/target", path + "\n")
    return UNREAD


def _run(product: Product, *words: str | bytes, **more):
    return product.run("run", "--workspace", product.ws, "--", *words, **more)


def _shell(product: Product, *words: str | bytes, **more):
    return product.run("shell", "--workspace", product.ws, *words, **more)


# --- the fence ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [_run, _shell])
def test_inside_lands_and_outside_does_not(product, door):
    line = "touch a; " + _unread(product, f"{product.out}/a")
    words = ("/bin/sh", "-c", line) if door is _run else ("-c", line)
    assert subprocess.run(["/bin/sh", "-c", line], cwd=product.ws, timeout=TIMEOUT).returncode == 0
    assert os.listdir(product.out) == ["a"], "the attack works without a fence"
    os.unlink(product.path("out/a"))
    os.unlink(product.path("ws/a"))

    assert door(product, *words).status == 1
    assert os.listdir(product.out) == []
    assert os.path.exists(product.path("ws/a"))


def test_what_the_text_tells_is_refused_before_anything_runs(product):
    done = _shell(product, "-c", f"touch a; touch {product.out}/a")
    assert done.status == 1
    assert done.complaint.startswith(
        f"ringfence: nothing was run: writing {product.out}/a: it lies outside the workspace"
    )
    assert not os.path.exists(product.path("ws/a"))
    (entry,) = product.log()
    assert (entry["door"], entry["code"], entry["path"]) == ("shell", "outside.write", f"{product.out}/a")
    assert entry["strength"] == "hook"


@pytest.mark.parametrize("line", ["head -1 /etc/passwd", "ls /usr", "grep -c . /etc/hosts"])
def test_a_command_may_read_the_system(product, line):
    assert _shell(product, "-c", line).status == 0


def test_what_it_starts_is_fenced_too(product):
    line = f"(setsid sh -c 'sh -c \"touch {product.out}/a\"' &) ; wait; touch done"
    assert _run(product, "/bin/sh", "-c", line).status == 0
    assert os.listdir(product.out) == []


@needs_mounts
def test_a_protected_checkout_below_the_workspace_is_read_only(product):
    product.write("ws/main/f", "x")
    line = "echo y > main/f; cat main/f"
    done = product.run(
        "run", "--workspace", product.ws, "--protect", product.path("ws/main"), "--", "sh", "-c", line
    )
    assert done.out == b"x"
    with open(product.path("ws/main/f"), encoding="utf-8") as file:
        assert file.read() == "x"


# --- what passes through -----------------------------------------------------------------------------

ARGUMENTS = [
    "",
    " ",
    "a b",
    "-x",
    "--",
    "new\nline",
    "'\"$`\\",
    "\u00e9\U0001f600",
    b"\xff\xfe",
    "*",
    "--workspace",
]


@pytest.mark.parametrize("door", ["run", "shell"])
def test_arguments_arrive_as_they_are(product, door):
    raw = [a if isinstance(a, bytes) else a.encode() for a in ARGUMENTS]
    expected = b"".join(b"[" + a + b"]" for a in raw)
    if door == "run":
        done = _run(product, "/bin/sh", "-c", SHOW, "name", *raw)
    else:
        done = _shell(product, "-c", SHOW, "name", *raw)
    assert done == (0, expected, b"")


@pytest.mark.parametrize("status", [0, 1, 2, 3, 70, 126, 127, 255])
@pytest.mark.parametrize("door", [_run, _shell])
def test_the_exit_status_passes_through(product, door, status):
    words = ("sh", "-c", f"exit {status}") if door is _run else ("-c", f"exit {status}")
    assert door(product, *words) == (status, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT])
@pytest.mark.parametrize("door", [_run, _shell])
def test_death_by_a_signal_is_death_by_that_signal(product, door, number):
    line = f"kill -{int(number)} $$"
    words = ("/bin/sh", "-c", line) if door is _run else ("-c", line)
    assert door(product, *words).status == -number


def test_a_program_that_is_not_there(product):
    done = _run(product, "no-such-program-here")
    assert done.status == 127
    assert "no-such-program-here" in done.complaint


def test_a_program_that_is_no_program(product):
    product.write("ws/data", "not a program")
    done = _run(product, "./data")
    assert done.status == 126
    assert "refused" not in done.complaint


@pytest.mark.parametrize("door", [_run, _shell])
def test_standard_input_and_output_are_the_callers(product, door):
    data = bytes(range(256)) * 1000
    words = ("cat",) if door is _run else ("-c", "cat")
    assert door(product, *words, stdin=data) == (0, data, b"")


def test_the_working_directory_and_the_environment_are_the_callers(product):
    os.makedirs(product.path("ws/sub"))
    env = {"ODD NAME": "a b\n\u00e9", "FOO": "1"}
    assert _run(product, "pwd", cwd=product.path("ws/sub")).out == f"{product.ws}/sub\n".encode()
    # `env` and no shell: dash drops names that it could not have set.
    inside = dict(
        line.split(b"=", 1) for line in _run(product, "env", "-0", env=env).out.split(b"\0") if line
    )
    assert (inside[b"ODD NAME"], inside[b"FOO"]) == ("a b\n\u00e9".encode(), b"1")
    assert inside[b"HOME"] == product.home.encode()


@pytest.mark.parametrize("name", ["CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"])
def test_doors_out_of_the_fence_are_not_handed_down(product, name):
    done = _run(product, "/bin/sh", "-c", f'echo "[${{{name}-unset}}]"', env={name: "secret"})
    assert done.out == b"[unset]\n"


def test_no_descriptor_of_ours_is_handed_down(product):
    done = _run(product, "/bin/sh", "-c", "ls /proc/self/fd | wc -l")
    alone = subprocess.run(
        ["/bin/sh", "-c", "ls /proc/self/fd | wc -l"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=TIMEOUT,
    )
    assert done.out.strip() == alone.stdout.strip()


# --- the shell's own words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["-c", "echo $0 $1", "zero", "one"], b"zero one\n"),
        (["-lc", "shopt -q login_shell && echo login"], b"login\n"),
        (["-o", "pipefail", "-c", "false | true; echo $?"], b"1\n"),
        (["-eo", "pipefail", "-c", "echo a"], b"a\n"),
        (["-ec", "false; echo never"], b""),
        (["-c", "--", "echo dashes"], b"dashes\n"),
        (["--norc", "-c", "echo long"], b"long\n"),
        (["--", "script.sh", "a b"], b"[a b]"),
        (["script.sh", "a b", "-c", "x"], b"[a b][-c][x]"),
    ],
)
def test_the_words_reach_the_shell_unchanged(product, words, out):
    product.write("ws/script.sh", SHOW)
    # Words that are the shell's own options stand behind `--`, so that ours cannot be meant.
    lead = ["--"] if words[0].startswith("--n") else []
    done = _shell(product, *lead, *words)
    assert done.out == out, done
    assert done.err == b""


def test_a_script_on_standard_input(product):
    done = _shell(product, stdin=f"echo one\necho two >&2\ntouch {product.out}/a\nexit 5\n".encode())
    assert done.status == 5
    assert done.out == b"one\n"
    assert done.err.startswith(b"two\n")
    assert os.listdir(product.out) == []


def test_standard_input_as_an_option(product):
    assert _shell(product, "-s", "x", stdin=b"echo $1") == (0, b"x\n", b"")


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_another_shell(product, shell):
    line = "ps -o comm= -p $$; :"
    done = product.run("shell", "--workspace", product.ws, "--shell", shell, "-c", line)
    assert done.text.strip() == os.path.basename(shell)


def test_an_installed_shell_stands_as_shell(product):
    path = product.path("home/bin/fenced shell")
    made = product.run("shell", "--workspace", "ws", "--install-as", path, cwd=product.base)
    assert made == (0, b"", b"")
    assert os.stat(path).st_mode & 0o777 == 0o700

    def start(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([path, *words], capture_output=True, cwd="/", env=product.env, timeout=TIMEOUT)

    assert start("-c", f"touch {product.ws}/a; echo $1", "sh", "a b").stdout == b"a b\n"
    assert os.path.exists(product.path("ws/a"))
    done = start("-c", f"cd {product.ws}; {_unread(product, f'{product.out}/a')}")
    assert done.returncode == 1
    assert b"Read-only" in done.stderr or b"denied" in done.stderr
    assert os.listdir(product.out) == []
    # Its flags are its own: a word that looks like one is the shell's.
    assert start("--workspace", "/").returncode != 0
    assert start("--version").stdout.startswith(b"GNU bash")
    again = product.run("shell", "--workspace", "ws", "--install-as", path, cwd=product.base)
    assert again.status == 0


def test_an_installed_shell_takes_no_strangers_place(product):
    path = product.write("home/bin/mine", "#!/bin/sh\necho mine\n")
    done = product.run("shell", "--workspace", product.ws, "--install-as", path)
    assert done.status == 2
    assert done.complaint == f"ringfence: {path} exists and is not ours\n  name another file\n"
    with open(path, encoding="utf-8") as file:
        assert file.read() == "#!/bin/sh\necho mine\n"


# --- temp and caches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [_run, _shell])
def test_the_temp_folder_is_private_and_gone_afterwards(product, door):
    line = 'ls -ld "$TMPDIR" | cut -c1-10; mktemp; touch "$TMPDIR/x"; echo "$TMPDIR"; test "$TMP" = "$TEMP"'
    words = ("/bin/sh", "-c", line) if door is _run else ("-c", line)
    done = door(product, *words)
    assert done.status == 0, done
    mode, made, folder = done.text.split("\n")[:3]
    assert mode == "drwx------"
    assert made.startswith(folder + "/")
    assert not os.path.exists(folder)


def test_a_literal_tmp_is_outside_and_the_way_out_is_named(product):
    name = f"/tmp/ringfence-test-{os.getpid()}"
    done = _shell(product, "-c", f"touch {name}")
    assert done.status == 1
    assert not os.path.exists(name)
    assert "use $TMPDIR, which is /tmp/ringfence-" in done.complaint


def test_two_calls_of_a_session_share_their_temp_folder_and_others_do_not(product):
    mine, other = f"t{os.getpid()}-a", f"t{os.getpid()}-b"
    folder = f"/tmp/ringfence-{os.geteuid()}/{mine}"
    try:
        assert _shell(product, "--session", mine, "-c", 'echo kept > "$TMPDIR/x"').status == 0
        assert _shell(product, "--session", mine, "-c", 'cat "$TMPDIR/x"').out == b"kept\n"
        assert (
            _shell(product, "--session", other, "-c", f"cat $TMPDIR/x; echo spoilt > {folder}/x").status != 0
        )
        with open(f"{folder}/x", encoding="utf-8") as file:
            assert file.read() == "kept\n"
    finally:
        for name in (mine, other):
            subprocess.run(["rm", "-rf", f"/tmp/ringfence-{os.geteuid()}/{name}"], timeout=TIMEOUT)


@pytest.mark.parametrize("name", [".", "..", "../../tmp", "/x", "a/b", "a/../b"])
def test_a_sessions_name_is_a_name_and_no_path(product, name):
    base = f"/tmp/ringfence-{os.geteuid()}"
    before = set(os.listdir(base)) if os.path.isdir(base) else set()
    try:
        done = _shell(product, "--session", name, "-c", f"touch {base}/spoilt-{os.getpid()}")
        assert done.status == 2
        # Calls of other runs on this machine come and go.
        assert {made for made in set(os.listdir(base)) - before if made[:5] != "call-"} == set()
    finally:
        for made in ("a", "x", "b", "tmp", f"spoilt-{os.getpid()}"):
            if made not in before:
                subprocess.run(["rm", "-rf", f"{base}/{made}"], timeout=TIMEOUT)


@pytest.mark.parametrize(
    "words",
    [("--engine", "landlock", "--protect", "ws/main", "--", "true"), ("--", "no-such-program")],
    ids=str,
)
def test_what_the_owner_makes_after_a_start_that_failed_is_his(product, words):
    """Nothing ran, so nothing may be taken for a fenced program's work by the next command."""
    product.write("ws/main/code", "x")
    words = [product.path(word) if word == "ws/main" else word for word in words]
    assert product.run("run", "--workspace", product.ws, *words).status in (3, 127)
    mine = product.write("ws/.mcp.json", "the owner's")
    done = product.run("run", "--workspace", product.ws, "--", "true")
    assert (done.status, done.err) == (0, b"")
    assert os.path.exists(mine)


@pytest.mark.parametrize(
    "words",
    [("true",), ("no-such-program-here",), ("./data",), ("sh", "-c", "kill -9 $$")],
)
def test_nothing_of_a_call_stays_even_if_nothing_ran(product, words):
    product.write("ws/data", "not a program")
    started = subprocess.Popen(
        product.words("run", "--workspace", product.ws, "--", *words),
        cwd=product.ws,
        env=product.env,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started.wait(TIMEOUT)
    folder = f"/tmp/ringfence-{os.geteuid()}/call-{started.pid}"
    try:
        assert not os.path.exists(folder)
    finally:
        subprocess.run(["rm", "-rf", folder], timeout=TIMEOUT)


CACHES = [
    "XDG_CACHE_HOME",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "npm_config_cache",
    "CARGO_HOME",
    "GOCACHE",
    "GOMODCACHE",
]


def test_caches_are_ours_writable_and_kept(product):
    line = "; ".join(f'mkdir -p "${name}" && echo x > "${name}/x" && echo "${name}"' for name in CACHES)
    done = _run(product, "/bin/sh", "-c", line, env={"PIP_CACHE_DIR": product.path("home/pip")})
    assert done.status == 0, done
    folders = done.text.split()
    assert len(set(folders)) == len(CACHES)
    assert all(folder.startswith(f"{product.cache}/work/") for folder in folders)
    assert _run(product, "/bin/sh", "-c", 'cat "$PIP_CACHE_DIR/x"').out == b"x\n"
    assert not os.path.exists(product.path("home/pip"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('temp = "none"', b"TMPDIR unset XDG_CACHE_HOME set"),
        ('caches = "none"', b"TMPDIR set XDG_CACHE_HOME unset"),
        ('temp = "shared"\ncaches = "shared"', b"TMPDIR unset XDG_CACHE_HOME unset"),
    ],
)
def test_what_the_policy_says_of_temp_and_caches(product, text, expected):
    product.write("home/.config/ringfence/ringfence.toml", text + "\n")
    line = 'echo "TMPDIR ${TMPDIR+set}" "XDG_CACHE_HOME ${XDG_CACHE_HOME+set}"'
    done = _run(product, "/bin/sh", "-c", line)
    assert b" ".join(done.out.split()) == expected.replace(b" unset", b"")


# --- what is said ------------------------------------------------------------------------------------


def test_a_refusal_by_the_text_names_path_rule_and_way_out(product):
    done = _shell(product, "-c", f"touch {product.out}/a")
    why = f"writing {product.out}/a: it lies outside the workspace {product.ws}"
    first, second = done.complaint.splitlines()
    assert first == f"ringfence: nothing was run: {why}"
    assert second.startswith(f"ringfence deny [outside.write]: {why}. Rule: built in (default). Next: ")


def _to_file(product: Product, line: str, cwd: str = ""):
    """A shell whose stderr is a file, as an agent's is: what was said there can be read back."""
    path = product.path("said")
    with open(path, "wb") as file:
        done = subprocess.run(
            product.words("shell", "--workspace", product.ws, "-c", line),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=cwd or product.ws,
            env=product.env,
            timeout=TIMEOUT,
        )
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return done.returncode, [line for line in file.read().splitlines() if line.startswith("ringfence:")]


def test_with_a_file_as_stderr_the_refusal_is_certain_and_said_once(product):
    status, said = _to_file(product, _unread(product, f"{product.out}/a"))
    assert status == 1
    assert said[0] == (
        f"ringfence: refused by the fence [outside.write]: writing {product.out}/a: it lies outside the workspace "
        f"{product.ws}. Rule: built in (default)."
    )
    assert len(said) == 2
    assert said[1].startswith("ringfence:   next: ")
    (entry,) = product.log()
    assert (entry["door"], entry["code"], entry["path"]) == ("shell", "outside.write", f"{product.out}/a")
    assert entry["strength"] == "kernel"


def test_a_relative_path_is_said_once(product):
    _unread(product, "out/a")
    status, said = _to_file(product, UNREAD.replace("target", "ws/target"), cwd=product.base)
    assert status == 1
    assert len([line for line in said if "refused" in line]) == 1, said


ORDINARY = {
    "false": "false",
    "a status": "exit 3",
    "a missing file": "cat nothing-here",
    "a missing program": "no-such-program-here",
    "a wrong option": "ls --no-such-option",
    "a failing test": "test -f nothing-here",
    "a missing file outside": 'p=$(cat target)/nothing-here; cat "$p"',
    "a folder in the way": "mkdir d; cat d",
    "a file in the way": "touch f; ls f/x",
    "talk of permissions": "echo 'Permission denied' >&2; false",
    "talk of an inside path": "echo \"cat: '{ws}/a': Permission denied\" >&2; false",
    "a grep without a match": 'p=$(cat target); grep -r no-such-word "$p"',
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_failure_is_never_called_a_refusal(product, name):
    product.write("ws/target", product.out)
    status, said = _to_file(product, ORDINARY[name].replace("{ws}", product.ws))
    assert status != 0
    assert said == []


PIPED = ("false", "a status", "a missing file", "a missing program", "talk of permissions")
FALSELY = {
    "a missing file outside": "cat {out}/nothing-here",
    "a search without a match": "grep no-such-word /etc/passwd",
    "a test of a file outside": "test -f /etc/no-such-file",
}


@pytest.mark.parametrize("name", PIPED)
def test_nor_where_stderr_cannot_be_read_back(product, name):
    done = _shell(product, "-c", ORDINARY[name])
    assert done.status != 0
    assert "ringfence" not in done.complaint


@pytest.mark.parametrize("name", FALSELY)
def test_nor_for_paths_that_were_only_to_be_read(product, name):
    # By `run`: what a text says is read there by nobody but the explanation.
    done = _run(product, "sh", "-c", FALSELY[name].replace("{out}", product.out))
    assert done.status == 1
    assert "ringfence" not in done.complaint


def test_nor_for_the_program_itself(product):
    assert _run(product, "/bin/sh", "-c", "exit 1") == (1, b"", b"")


def test_a_success_is_never_commented(product):
    line = f"{_unread(product, f'{product.out}/a')} 2>/dev/null; true"
    assert _shell(product, "-c", line) == (0, b"", b"")
    status, said = _to_file(product, "echo fine")
    assert (status, said) == (0, [])


def test_a_file_closed_by_its_own_mode_is_no_refusal_of_ours(product):
    path = product.write("ws/closed", "x")
    os.chmod(path, 0)
    line = "cat closed"
    if os.geteuid() == 0:
        line = 'echo "cat: closed: Permission denied" >&2; exit 1'  # root reads it; the words are what counts
    status, said = _to_file(product, line)
    assert status == 1
    assert said == []


# --- without a fence, and words that make no sense ---------------------------------------------------


@pytest.mark.parametrize("door", ["run", "shell"])
def test_without_a_workspace_it_says_so(product, door):
    tail = ["--", "true"] if door == "run" else ["-c", "true"]
    done = product.run(door, *tail)
    assert done.status == 0
    assert done.complaint.startswith("ringfence: NO FENCE around this ")


@pytest.mark.parametrize("door", ["run", "shell"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workspce", "."], "ringfence: unknown option --workspce\n  did you mean --workspace?\n"),
        (["--restrict-paths", "--no-restrict-paths"], "ringfence: --restrict-paths and --no-restrict-paths contradict each other\n  give one of them\n"),
        (["--restrict-paths=yes"], "ringfence: --restrict-paths takes no value\n"),
        (["--allow-all-tools"], "ringfence: --allow-all-tools is no longer an option\n  the fence is the boundary: name it with --workspace\n"),
        (["--protect"], "ringfence: --protect needs a value\n"),
    ],
)  # fmt: skip
def test_words_that_make_no_sense_run_nothing(product, door, words, said):
    tail = [] if words == ["--protect"] else ["--", "touch", "ran"] if door == "run" else ["-c", "touch ran"]
    done = product.run(door, *words, *tail)
    assert done == (2, b"", said.encode())
    assert not os.path.exists(product.path("ws/ran"))


@pytest.mark.parametrize("door", ["run", "shell"])
def test_an_unknown_engine_runs_nothing(product, door):
    tail = ["--", "touch", "ran"] if door == "run" else ["-c", "touch ran"]
    done = product.run(door, "--workspace", product.ws, "--engine", "mount", *tail)
    assert done == (2, b"", b"ringfence: unknown engine 'mount'\n  one of: auto, mounts, landlock\n")
    assert not os.path.exists(product.path("ws/ran"))


def test_run_without_a_program(product):
    done = product.run("run", "--workspace", product.ws)
    assert done == (
        2,
        b"",
        "ringfence: no program to run\n  ringfence run --workspace DIR -- PROGRAM ARGUMENTS\u2026\n".encode(),
    )


def test_a_workspace_that_is_not_there_runs_nothing(product):
    done = product.run("run", "--workspace", product.path("wss"), "--", "touch", f"{product.out}/a")
    assert done.status == 2
    assert product.path("wss") in done.complaint
    assert os.listdir(product.out) == []


@needs_mounts
def test_the_report_is_said_before_the_program_starts(product):
    done = product.run("run", "--report", "--workspace", product.ws, "--", "sh", "-c", "echo started >&2")
    lines = done.complaint.splitlines()
    assert lines[0].startswith("ringfence: held by ")
    assert f"  kernel: workspace: {product.ws}" in lines
    assert lines[-1] == "started"


@needs_mounts
def test_too_weak_an_engine_runs_nothing_and_says_what_to_write(product):
    product.write("ws/main/f", "x")
    words = ("--workspace", product.ws, "--protect", product.path("ws/main"), "--engine", "landlock")
    done = product.run("run", *words, "--", "touch", "ran")
    assert done.status == 3
    assert "nothing was run: the landlock engine" in done.complaint
    assert 'minimum = "' in done.complaint
    assert not os.path.exists(product.path("ws/ran"))


# --- after the fact ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".mcp.json", ".claude/hooks/x", ".codex/config.toml", "ringfence.toml"])
def test_a_guarded_file_that_appears_is_moved_away_and_reported(product, name):
    done = _run(product, "sh", "-c", f"mkdir -p $(dirname {name}) && echo evil > {name}")
    assert done.status == 0, "the command's own status stays"
    assert not os.path.exists(product.path(f"ws/{name}"))
    (line,) = [line for line in done.complaint.splitlines() if "after the fact" in line]
    assert "did not exist before and is guarded" in line
    target = line.partition("it was moved to ")[2].partition(" after the command ended")[0]
    assert target.startswith(product.state)
    whole = (
        target if os.path.isfile(target) else f"{target}/{name.split('/', 2 if 'hooks' in name else 1)[-1]}"
    )
    with open(whole, encoding="utf-8") as file:
        assert file.read() == "evil\n"


def _git(product: Product, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", product.ws, *words],
        capture_output=True,
        env={**product.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
        timeout=TIMEOUT,
        check=False,
    )
    return done.stdout.decode()


def test_a_git_key_that_names_code_is_put_back_and_a_harmless_one_stays(product):
    assert "Initialized" in _git(product, "init")
    line = "git config user.email a@b.invalid && git config branch.x.remote origin"
    assert _shell(product, "-c", line) == (0, b"", b"")
    assert _git(product, "config", "user.email") == "a@b.invalid\n"

    with open(product.path("ws/.git/config"), "rb") as file:
        before = file.read()
    words = ("git config core.fsmonitor ./evil && git config user.name b",)
    assert _shell(product, "-c", *words).status == 1, "the text tells it"
    done = _run(product, "sh", "-c", *words)
    assert done.status == 0
    (said,) = [line for line in done.complaint.splitlines() if "after the fact" in line]
    assert "core.fsmonitor changed, which can name code that git runs" in said
    with open(product.path("ws/.git/config"), "rb") as file:
        assert file.read() == before


@needs_mounts
def test_hooks_of_a_repository_are_held_and_those_of_a_new_one_moved(product):
    done = _run(product, "sh", "-c", "git init -q . && echo '#!/bin/sh' > .git/hooks/pre-commit")
    assert done.status == 0, done
    assert os.path.exists(product.path("ws/.git/HEAD"))
    assert not os.path.exists(product.path("ws/.git/hooks/pre-commit"))
    assert "pre-commit did not exist before and is guarded (git-hooks)" in done.complaint
    again = _run(product, "sh", "-c", "echo '#!/bin/sh' > .git/hooks/pre-commit")
    assert again.status != 0
    assert not os.path.exists(product.path("ws/.git/hooks/pre-commit"))
    told = _shell(product, "-c", "echo '#!/bin/sh' > .git/hooks/pre-commit")
    assert "[guard.git-hooks]" in told.complaint


# --- as an ordinary user ------------------------------------------------------------------------------


@pytest.fixture(name="someone", scope="module")
def _someone():
    if "user" not in users.names() and os.geteuid() == 0:
        pytest.skip("no interpreter or account that is not root's")
    with users.someone("user" if os.geteuid() == 0 else "self") as one:
        yield one


@pytest.fixture(name="theirs")
def _theirs(someone):
    """The product in the hands of a user who is not root."""
    with users.open_folder(someone) as base:
        made = Product(
            base, os.path.join(someone.checkout, "src/ringfence/start.py"), someone.python, someone.popen()
        )
        subprocess.run(["chown", "-R", f"{someone.uid}:{someone.gid}", base], check=True, timeout=TIMEOUT)
        yield made
        subprocess.run(["rm", "-rf", f"/tmp/ringfence-{someone.uid}"], timeout=TIMEOUT)


def _own(product: Product, name: str, text: str, mode: int, someone) -> None:
    path = product.write(name, text)
    os.chown(path, someone.uid, someone.gid)
    os.chmod(path, mode)


def test_a_users_command_is_fenced(theirs, someone):
    _own(theirs, "ws/target", f"{theirs.out}/a\n", 0o644, someone)
    line = f"touch a; {UNREAD}"
    alone = subprocess.run(["/bin/sh", "-c", line], cwd=theirs.ws, timeout=TIMEOUT, **someone.popen())
    assert alone.returncode == 0
    assert os.listdir(theirs.out) == ["a"]
    for name in ("out/a", "ws/a"):
        os.unlink(theirs.path(name))
    done = _run(theirs, "/bin/sh", "-c", line)
    assert done.status == 1, done
    assert os.listdir(theirs.out) == []
    assert os.path.exists(theirs.path("ws/a"))


@pytest.mark.parametrize("line", ["cat closed", "echo x > closed", "ls closed.d", "rm closed.d/x"])
def test_a_users_own_closed_file_is_no_refusal_of_ours(theirs, someone, line):
    _own(theirs, "ws/closed", "x", 0, someone)
    os.mkdir(theirs.path("ws/closed.d"), 0)
    os.chown(theirs.path("ws/closed.d"), someone.uid, someone.gid)
    path = theirs.path("said")
    for door in (
        ("run", "--workspace", theirs.ws, "--", "sh", "-c", line),
        ("shell", "--workspace", theirs.ws, "-c", line),
    ):
        with open(path, "wb") as file:
            done = subprocess.run(
                theirs.words(*door), stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=theirs.ws, env=theirs.env,
                timeout=TIMEOUT, **theirs.popen,
            )  # fmt: skip
        with open(path, encoding="utf-8") as file:
            said = file.read()
        assert done.returncode != 0
        assert "ermission denied" in said
        assert "ringfence" not in said


def test_a_file_that_is_roots_is_no_refusal_of_ours(theirs):
    path = theirs.path("said")
    with open(path, "wb") as file:
        done = subprocess.run(
            theirs.words("run", "--workspace", theirs.ws, "--", "sh", "-c", "echo x > /etc/not-mine"),
            stdin=subprocess.DEVNULL,
            stderr=file,
            cwd=theirs.ws,
            env=theirs.env,
            timeout=TIMEOUT,
            **theirs.popen,
        )
    with open(path, encoding="utf-8") as file:
        said = file.read()
    assert done.returncode != 0
    assert "/etc/not-mine" in said
    assert "ringfence" not in said


@needs_engine
@pytest.mark.parametrize(
    "words", [("run", "--", "touch"), ("try", "--json", "--", "touch"), ("shell", "-c")], ids=str
)
def test_what_nobody_trusted_is_named_where_it_was_missed(product, words):
    path = product.write(
        "ws/ringfence.toml", 'workspace = ["."]\n[[zone]]\npath = "../out"\naccess = "write"\n'
    )
    target = "touch ../out/x" if words[0] == "shell" else "../out/x"
    said = f"{path}:3: left out zone"
    trust = f"ringfence policy trust {path}"
    done = product.run(*words, target)
    assert done.status == 1, done
    both = (done.text + done.complaint).replace("\\", "")
    assert said in both
    assert trust in both
    inside = "touch ok" if words[0] == "shell" else "ok"
    if words[0] != "try":
        assert "left out" not in product.run(*words, inside).complaint
    assert product.run("policy", "trust", path).status == 0
    done = product.run(*words, target)
    assert "left out" not in done.text + done.complaint
