"""Run a program under a fence in a process of its own, as somebody, and see what was reported.

Two halves of one file. `run` is called by a test: it starts this file again, as the user asked for, with the
fence described in JSON. That inner half builds the confinement and launches the program; what it confines is
itself and its children only, so nothing irreversible happens to the test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

HERE = os.path.abspath(__file__)
LIMIT = 60.0  # seconds; a hung program is a failed test, not a hung run


class Fence:
    """What to hold, in the words of model.Confinement, and on which kernel (`abi` None: the real one)."""

    def __init__(self, *writable, mode="launch", abi=None, report=None, **more):
        self.words = {"writable": list(writable), "mode": mode, "abi": abi, "report": report, **more}

    def command(self, who, argv):
        return [who.python, "-I", inner_script(who), json.dumps(self.words), *argv]


def inner_script(who):
    return os.path.join(who.checkout, "tests", "support", "children.py")


def run(who, argv, fence=None, *, cwd, env=None, hide=(), **more):
    """Run `argv` as `who`, fenced or not; the finished process with its output as text."""
    command = fence.command(who, argv) if fence else list(argv)
    if hide:
        script = os.path.join(who.checkout, "scripts", "fake_enosys.py")
        command = [who.python, "-I", script, "--hide", ",".join(hide), "--", *command]
    env = plain_environment(cwd) if env is None else env
    defaults = {"capture_output": True, "text": True, "timeout": LIMIT, "errors": "surrogateescape"}
    if "stdin" not in more and "input" not in more:
        defaults["stdin"] = subprocess.DEVNULL
    if "stdout" in more or "stderr" in more:
        del defaults["capture_output"]
    return subprocess.run(command, cwd=cwd, env=env, **who.popen(), **{**defaults, **more})


def plain_environment(home, **more):
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": home,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


# ---- the inner half


def inner(argv):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "src"))
    from ringfence.enforce import landlock, launch, plan, report
    from ringfence.kernel import probe
    from ringfence.model import EnforcementReport, Strength

    words = json.loads(argv[1])
    here = probe.capabilities(("landlock", "seccomp"))
    if words["abi"] is not None:
        here = here._replace(landlock=words["abi"])
    confinement = described(words)
    planned = plan.plan(confinement, here, tuple(words.get("readable", ())))
    for path, target in words.get("swap", ()):
        # What somebody else does between the plan and the fence.
        os.rename(path, path + ".away")
        if target:
            os.symlink(target, path)

    def confine():
        return planned if isinstance(planned, EnforcementReport) else landlock.confine_self(planned)

    def accept(held):
        if words["report"]:
            with open(words["report"], "w", encoding="utf-8") as file:
                json.dump([held.engine, held.detail, [told(rule) for rule in held.rules], held.notes], file)
        minimum = Strength(words.get("minimum", "kernel"))
        return not report.accepts(held, minimum, words.get("strict", False))

    def after(status):
        if words.get("after"):
            with open(words["after"], "w", encoding="utf-8") as file:
                file.write(str(status))

    program = launch.Program(argv[2:], dict(os.environ), words.get("cwd"))
    if words["mode"] == "become":
        outcome = launch.become(program, confine, accept)
    else:
        outcome = launch.launch(program, confine, accept, after, by_thread=words["mode"] == "thread")
    if launch.explain(outcome) and sys.stderr:
        print("ringfence:", launch.explain(outcome), file=sys.stderr, flush=True)
    if isinstance(outcome, launch.Finished):
        return launch.imitate(outcome.status)
    return launch.exit_code(outcome)


def told(rule):
    return [rule.rule.id, rule.subject, str(rule.strength), rule.why, rule.boundary]


def described(words):
    from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind

    def zones(key, kind, access):
        return tuple(
            Zone(root, access, ZoneKind(words.get(f"{key}_kind", kind)), Rule(f"{key}.{index}", "test"))
            for index, root in enumerate(words.get(key, ()))
        )

    return Confinement(
        writable=zones("writable", "workspace", Access.WRITE),
        files=tuple(words.get("files", ())),
        carve_outs=zones("carve_outs", "guard", Access.READ),
        masked=zones("masked", "zone", Access.NONE),
        absent=zones("absent", "guard", Access.READ),
        reads=words.get("reads", "anywhere"),
    )


if __name__ == "__main__":
    raise SystemExit(inner(sys.argv))
