"""Everyday shell work stays as it was: each scenario is pinned unfenced, and must read the same under the fence.

What the model is told is compared call by call, after names that differ from run to run are made equal.
"""

from __future__ import annotations

import re

import pytest

from tests.support.claude_run import Call, Run, Scenario, Stage, bash, normal, read, run_claude

pytestmark = pytest.mark.e2e

NO_OUTPUT = re.escape("(Bash completed with no output)")
OUTPUT_FILE = "@result0:written to: (\\S+\\.output)@"
SAVED_FILE = "@result0:saved to: (\\S+)@"
# Without this a command past its time limit goes on in the background and nothing is killed.
KILLS = (("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),)
# Claude refuses a long `sleep` in the foreground by itself, so waiting is a loop.
WAIT = "for i in $(seq 600); do sleep 0.1; done"


def case(name: str, calls: list[Call], said: list[str], **more) -> pytest.param:
    """`said`: a pattern for each result, as it is without the fence."""
    assert len(said) == len(calls)
    return pytest.param(Scenario(name, tuple(calls), **more), said, id=name)


# What is known to look different inside the fence (docs/threat-model.md).
DIFFERS = {
    "look-at-an-earlier-job": "each call is a user namespace and a Landlock domain of its own: /proc/PID/cwd is closed"
}

CASES = [
    case(
        "folder-stays-between-calls",
        [
            bash("mkdir -p 'a b'/c && cd 'a b'"),
            bash("pwd; cd c"),
            bash("pwd"),
            bash("cd c; cd nowhere"),
            bash("pwd"),
        ],
        [
            NO_OUTPUT,
            "@ws@/a b",
            "@ws@/a b/c",
            "(?s)Exit code 1\n.*nowhere: No such file or directory",
            "@ws@/a b/c",
        ],
    ),
    case(
        "folder-through-a-link-and-out",
        [bash("ln -s a l; mkdir a; cd l && pwd"), bash("pwd"), bash("cd /usr; pwd"), bash("pwd")],
        ["@ws@/l", "@ws@/a", "/usr\nShell cwd was reset to @ws@", "@ws@"],
    ),
    case(
        "folder-renamed",
        [bash("mkdir d; cd d"), bash("mv ../d ../e; pwd; pwd -P"), bash("pwd")],
        [NO_OUTPUT, "@ws@/d\n@ws@/e", "@ws@/e"],
    ),
    case(
        "exit-codes",
        [bash("exit 7"), bash("false"), bash("exit 300"), bash("no-such-program-x"), bash("/etc/passwd")],
        [
            "Exit code 7",
            "Exit code 1",
            "Exit code 44",
            "Exit code 127\n.*no-such-program-x: command not found",
            "Exit code 126\n.*/etc/passwd: Permission denied",
        ],
    ),
    case(
        "killed-by-a-signal",
        [
            bash("echo a; kill -TERM $$"),
            bash("echo a; kill -KILL $$"),
            bash("sh -c 'kill -SEGV $$'; echo $?"),
        ],
        [r"(?s)Exit code \d+\na", r"(?s)Exit code \d+\na", "(?s).*139"],
    ),
    case(
        "no-such-syntax",
        [bash("echo 'open"), bash("if true; then")],
        ["(?s)Exit code 2\n.*", "(?s)Exit code 2\n.*"],
    ),
    case(
        "both-streams-in-order",
        [bash("for i in 1 2 3; do echo out $i; echo err $i >&2; done")],
        ["out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3"],
    ),
    case(
        "several-lines",
        [bash('x=1\nif [ $x = 1 ]; then\n  echo "it\'s $x"\nfi # done\n'), bash("echo a \\\n  b")],
        ["it's 1", "a b"],
    ),
    case(
        "heredocs",
        [
            bash("cat <<'EOF'\nit's $HOME `x` \"q\" \\\nEOF"),
            bash("x=5; cat <<EOF | tr a-z A-Z\nval $x\nEOF\ncat <<< here"),
            bash("python3 - <<'EOF'\nimport sys\nprint(sys.stdin.read() == '', 2 + 3)\nEOF"),
        ],
        ['it\'s \\$HOME `x` "q" \\\\', "VAL 5\nhere", "True 5"],
    ),
    case(
        "standard-input",
        [bash("cat; echo end"), bash("read -r x || echo none"), bash("echo a | (read -r x; echo got $x)")],
        ["end", "none", "got a"],
    ),
    case(
        "not-ascii",
        [
            bash("echo 'žltý 日本 🦊' > 'súbor ž.txt'; cat s*; ls s*"),
            bash("printf '\\xff\\xfe'; printf %s end"),
        ],
        ["žltý 日本 🦊\nsúbor ž.txt", "��end"],
    ),
    case(
        "large-output",
        [
            bash("head -c 1000000 /dev/zero | tr '\\0' a | fold -w 79"),
            bash(f"wc -c < {SAVED_FILE}"),
            Call("Read", {"file_path": SAVED_FILE, "limit": 2}),
        ],
        ["(?s)<persisted-output>\nOutput too large \\(988.9KB\\).*", "1012658", "(?s)1\ta{79}\n2\ta{79}.*"],
    ),
    case(
        "devices",
        [
            bash("echo a > /dev/null; echo b > /dev/stderr; echo c | tee /dev/stderr; echo d >> /dev/stdout"),
            bash(
                "test -c /dev/urandom && head -c 3 /dev/zero | wc -c; python3 -c 'import os; os.openpty(); print(1)'"
            ),
        ],
        ["(?s).*c\nd", "3\n1"],
    ),
    case(
        "who-and-where",
        [
            bash("echo $(id -u) $(id -g); echo x > mine; stat -c '%u %g %a' mine; umask; id -un"),
            bash(
                "echo $SHLVL $# $0; echo $PWD; echo $HOME; test -t 1 || echo no-tty; echo ${#BASH_VERSION} | tr -d 0-9"
            ),
            bash("export STAYS=1; f() { echo f; }; set -u"),
            bash("echo ${STAYS-unset}; type f"),
        ],
        [
            r"\d+ \d+\n\d+ \d+ 644\n0022\n\w+",
            r"(?s)\d+ 0 \S+\n@ws@\n@home@\nno-tty\n*",
            NO_OUTPUT,
            "(?s)Exit code 1\nunset\n.*type: f: not found",
        ],
    ),
    case(
        "server-started-in-one-call-and-stopped-in-the-next",
        [
            bash("tail -f /dev/null > /dev/null 2>&1 & echo $! > pid; echo started"),
            bash("kill -0 $(cat pid) && kill $(cat pid) && echo stopped"),
            bash(
                "for i in $(seq 30); do kill -0 $(cat pid) 2>/dev/null || break; sleep 0.1; done; test $i != 30 && echo gone"
            ),
        ],
        ["started", "stopped", "gone"],
    ),
    case(
        "look-at-an-earlier-job",
        [
            bash("tail -f /dev/null > /dev/null 2>&1 & echo $! > pid; echo started"),
            bash("readlink /proc/$(cat pid)/cwd; tr '\\0' ' ' < /proc/$(cat pid)/cmdline; kill $(cat pid)"),
        ],
        ["started", "@ws@\ntail -f /dev/null ?"],
    ),
    case(
        "job-outlives-its-call",
        [
            bash("(for i in 1 2 3 4; do sleep 0.2; echo tick >> ticks; done) > /dev/null 2>&1 &"),
            bash("until [ $(cat ticks 2>/dev/null | wc -l) = 4 ]; do sleep 0.1; done; cat ticks"),
        ],
        [NO_OUTPUT, "tick\ntick\ntick\ntick"],
    ),
    case(
        "background-task",
        [
            bash(
                "echo begun; until [ -e go ]; do sleep 0.1; done; echo over; exit 3", run_in_background=True
            ),
            bash(
                f"until grep -q begun {OUTPUT_FILE}; do sleep 0.1; done; touch go; until grep -q exited {OUTPUT_FILE}; do sleep 0.1; done"
            ),
            read(OUTPUT_FILE),
        ],
        [
            "(?s)Command running in background with ID: @task@.*",
            NO_OUTPUT,
            "(?s).*begun.*over.*exited with code 3.*",
        ],
    ),
    case(
        "background-task-stopped",
        [
            bash(f"trap 'echo ending > ended' TERM; touch begun; {WAIT} & wait", run_in_background=True),
            bash("until [ -e begun ]; do sleep 0.1; done"),
            Call("TaskStop", {"task_id": "@result0:ID: (\\w+)@"}),
            bash("until [ -e ended ]; do sleep 0.1; done; cat ended"),
        ],
        ["(?s)Command running in background.*", NO_OUTPUT, "(?s).*Successfully stopped task.*", "ending"],
    ),
    case(
        "time-limit-kills",
        [bash(f"echo begun; (setsid sh -c '{WAIT}' &); {WAIT}", timeout=1200), bash("echo next")],
        ["(?s)Exit code 143\nCommand timed out after 1s.*", "next"],
        env=KILLS,
    ),
    case(
        "time-limit-moves-to-the-background",
        [
            bash("echo begun; until [ -e go ]; do sleep 0.1; done; echo over", timeout=1000),
            bash(
                "touch go; until grep -q exited @result0:written to: (\\S+\\.output)@; do sleep 0.1; done; echo seen"
            ),
        ],
        [
            "(?s)(begun\n)?Command did not complete within its 1s timeout and was moved to the background.*",
            "seen",
        ],
    ),
]


def results(run: Run, stage: Stage) -> list[tuple[str, bool]]:
    return [(normal(stage, result.text), result.is_error) for result in run.results]


def finished(run: Run, said: list[str]) -> None:
    assert run.outcome.exit == 0, (run.outcome.stdout, run.outcome.stderr)
    assert len(run.results) == len(said), run.said


def left(run: Run) -> list[str]:
    """Command lines that outlived the agent; a shell's line carries names that change from run to run."""
    return sorted(re.sub(r"^.*eval ", "", line) for _, line in run.outcome.outlived)


@pytest.mark.parametrize(("scenario", "said"), CASES)
def test_unfenced(claude, stage, scenario, said):
    run = run_claude(scenario, stage, claude)
    finished(run, said)
    for (text, _), pattern in zip(results(run, stage), said, strict=True):
        assert re.fullmatch(pattern, text), (pattern, text)


@pytest.mark.usefixtures("installer")
@pytest.mark.parametrize(("scenario", "said"), CASES)
def test_fenced_reads_the_same(claude, stage, other_stage, scenario, said, request):
    if scenario.name in DIFFERS:
        request.applymarker(pytest.mark.xfail(strict=True, reason=DIFFERS[scenario.name]))
    plain = run_claude(scenario, other_stage, claude)
    run = run_claude(scenario, stage, claude, fenced=True)
    finished(plain, said)
    finished(run, said)
    assert results(run, stage) == results(plain, other_stage)
    assert len(left(run)) == len(left(plain))
