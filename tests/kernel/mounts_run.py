"""Run a program under the mounts engine: `python mounts_run.py SPEC PROG ARG...`, SPEC being JSON.

Used by the tests as another user with the system's interpreter, so it imports nothing of pytest's. Exits 3
with one line on stderr when the fence could not be built.
"""

import json
import os
import sys

from ringfence.enforce import launch, mounts, report
from ringfence.kernel import landlock, namespaces, seccomp
from ringfence.kernel.probe import capabilities
from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind


def zone(root, access, kind):
    return Zone(root, access, kind, Rule(kind.value, "test"))


def confinement(spec):
    kinds = {"workspace": Access.WRITE, "temp": Access.WRITE, "protect": Access.READ, "guard": Access.READ}
    zones = [zone(path, kinds[kind], ZoneKind(kind)) for path, kind in spec["zones"]]
    absent = [zone(path, Access.READ, ZoneKind.GUARD) for path in spec.get("absent", ())]
    return Confinement(
        writable=tuple(z for z in zones if z.access is Access.WRITE),
        files=("/dev/null", *spec.get("files", ())),
        carve_outs=tuple(z for z in zones if z.access is Access.READ),
        masked=tuple(zone(path, Access.NONE, ZoneKind.ZONE) for path in spec.get("masked", ())),
        absent=tuple(absent),
        reads=spec.get("reads", "anywhere"),
    )


def main(argv):
    spec = json.loads(argv[1])
    env = {**os.environ, **spec.get("env", {})}
    here = capabilities(("landlock", "seccomp"))
    if "landlock" in spec:
        here = here._replace(landlock=int(spec["landlock"]))
    if spec.get("close_userns"):
        landlock.no_new_privs()
        seccomp.install((seccomp.Refusal("unshare", spec["close_userns"]),))
    if spec.get("unsealed"):
        # The ablation: the same mounts, and nothing that keeps root from undoing them.
        mounts.seal = lambda: None
        here = here._replace(landlock=0)
    if spec.get("without") == "filter":
        mounts.seccomp.install = lambda refusals: None
        mounts.mounts.refuse_mount_calls = lambda: None
    elif spec.get("without") == "rights":
        mounts.namespaces.drop_rights = landlock.no_new_privs
    wanted = confinement(spec)
    mapper = namespaces.Mapper() if spec.get("wait") and not os.geteuid() else None
    standing = mounts.Standing(spec["cwd"], env, tuple(spec.get("keep", ())), mapper)

    def confine():
        applied = mounts.confine_self(wanted, standing, here)
        if spec.get("report"):
            with open(spec["report"], "wb") as told:
                told.write(report.encode(applied))
        return applied

    program = launch.Program(argv[2:], env, spec["cwd"])
    if spec.get("wait"):
        outcome = launch.launch(program, confine, assist=mapper.serve if mapper else None)
        if isinstance(outcome, launch.Finished):
            sys.stdout.flush()
            return launch.imitate(outcome.status)
    else:
        outcome = launch.become(program, confine)
    print(launch.explain(outcome), file=sys.stderr)
    return launch.exit_code(outcome)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
