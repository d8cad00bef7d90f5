"""The execution oracle: what a command really changes must have been predicted, and plain forms nothing more."""

from __future__ import annotations

import os
import shutil

import oracle
import pytest
import shell_cases
from shell_rig import PARSE, needs_parser

from ringfence.model import Op, Surroundings
from ringfence.pipelines.command import LocalDisk
from ringfence.shell.reading import read

pytestmark = [needs_parser]

# Each writes the new name N below the scratch tree; the second field says whether one use per change is exact.
FORMS = {
    "redirect": "echo x > N",
    "append": "echo x >> N",
    "clobber": "echo x >| N",
    "both": "echo x &> N",
    "bare": "> N",
    "readwrite": ": <> N",
    "numbered": "echo x 1>N",
    "descriptor": "exec 7> N; echo x >&7; exec 7>&-",
    "tee": "echo x | tee N",
    "cp": "cp A N",
    "cp-r": "cp -r S N",
    "mv": "mv B N",
    "touch": "touch N",
    "mkdir": "mkdir N",
    "mkdir-p": "mkdir -p N/deep/er",
    "dd": "dd if=A of=N 2>/dev/null",
    "sort": "sort -o N A",
    "sort-attached": "sort -oN A",
    "truncate": "truncate -s 3 N",
    "ln-s": "ln -s A N",
    "ln": "ln A N",
    "install": "install -m 644 A N",
    "uniq": "uniq A N",
    "find": "find S -name '*.py' -fprint N",
    "tar": "tar -cf N -C S main.py",
    "gzip": "gzip -c A > N",
    "python": 'python3 -c \'open("N", "w").write("x")\'',
    "awk": "awk '{print > \"N\"}' A",
    "sed-w": "sed -n 'w N' A",
    "split": "split -b 4 A N",
    "heredoc": "cat > N <<'END'\ntext\nEND",
    "herestring": "cat > N <<< text",
    "mkfifo": "mkfifo N",
    "csplit": "csplit -s -f N A 2",
    "curl": "curl -s -o N file://$PWD/A",
    "rm": "rm B",
    "rm-rf": "rm -rf S",
    "unlink": "unlink B",
    "rmdir": "rmdir D",
    "find-delete": "find S -name '*.tmp' -delete",
    "find-exec": "find S -name '*.tmp' -exec rm {} +",
    "sed-i": "sed -i s/alpha/omega/ A",
    "sed-backup": "sed -i.bak s/alpha/omega/ A",
    "perl-i": "perl -pi -e 's/alpha/omega/' A",
    "chmod": "chmod 700 A",
    "chmod-R": "chmod -R go-rwx S",
}
PLACES = {
    "plain": "FORM",
    "and": "true && FORM",
    "or": "false || { FORM\n}",
    "subshell": "(\nFORM\n)",
    "group": "{ FORM\n}",
    "if": "if true; then\nFORM\nfi",
    "else": "if false; then :; else\nFORM\nfi",
    "for": "for one in 1; do\nFORM\ndone",
    "while": "n=0; while [ $n -lt 1 ]; do n=1\nFORM\ndone",
    "case": "case x in x)\nFORM\n;; esac",
    "function": "f() {\nFORM\n}\nf",
    "substitution": ': "$(\nFORM\n)"',
    "pipe": ": | {\nFORM\n}",
    "background": "{\nFORM\n} &\nwait",
    "trap": "f() {\nFORM\n}\ntrap f EXIT",
    "cd": "cd d && cd .. && {\nFORM\n}",
}  # fmt: skip
EXACT = ("plain", "subshell", "group", "cd")
SPELLINGS = ("new", "./new", "d/new", "$PWD/new", "d/../new")


def fill(form, name):
    for letter, known in (("A", "a.txt"), ("B", "b.txt"), ("S", "src"), ("D", "d")):
        form = form.replace(letter, known)
    return form.replace("N", name)


def commands():
    for index, (form_id, form) in enumerate(FORMS.items()):
        for place_id, place in PLACES.items():
            if "\nEND" in form and place_id == "and":
                continue
            name = SPELLINGS[(index + len(place_id)) % len(SPELLINGS)]
            if "'" in form or form_id in ("split", "csplit", "curl"):
                name = "new"
            text = fill(form.replace("END", "eof").replace("$PWD", "@p@"), name).replace("@p@", "$PWD")
            yield f"{form_id}-{place_id}", place.replace("FORM", text), place_id in EXACT


CASES = list(commands())


def test_there_are_enough_of_them():
    assert len(CASES) >= 400


@pytest.mark.parametrize(("name", "command", "exact"), CASES, ids=[c[0] for c in CASES])
def test_every_change_was_predicted(name, command, exact, tmp_path):
    root = str(tmp_path / "tree")
    os.makedirs(root)
    oracle.plant(root)
    reading = read(
        command, parse=PARSE, dialect="bash", at=Surroundings(root, root), env={}, disk=LocalDisk()
    )
    assert not reading.unknowns
    predicted = oracle.spots(reading.uses)
    before = oracle.snapshot(root)
    status, output = oracle.run(command, root)
    assert status == 0, output
    real = oracle.changed(before, oracle.snapshot(root))
    assert real, "the command was meant to change something"
    assert oracle.uncovered(real, predicted) == []
    if exact:
        for spot, below, use in predicted:
            touched = any(
                p == spot
                or (below and p.startswith(spot + "/"))
                or (use.op is Op.CREATE and p.startswith(spot[:-2]))
                for p in real
            )
            assert touched or use.op is Op.LINK or use.soft or os.path.isdir(spot), f"{use} never happens"
    shutil.rmtree(root)


ALLOWED = [
    r
    for r in shell_cases.rows()
    if r["expect"] == "allow" and "norun" not in r and r.get("shell", "bash") == "bash"
]


@pytest.mark.parametrize("row", ALLOWED, ids=[r["id"] for r in ALLOWED])
def test_allowed_rows_change_what_was_predicted(row, tmp_path):
    """The corpus rows whose verdict is allow, for real; their trees lie wholly inside the temporary folder."""
    root = str(tmp_path / "tree")
    os.makedirs(root)
    shell_cases.build(row["setup"], root)
    cwd = shell_cases.place(root, row["cwd"])
    home = None if row["home"] is None else shell_cases.place(root, row["home"])
    env = {k: shell_cases.fill(v, root) for k, v in row.get("env", {}).items()}
    command = shell_cases.fill(row["command"], root)
    reading = read(
        command, parse=PARSE, dialect="bash", at=Surroundings(cwd, home), env=env, disk=LocalDisk()
    )
    assert not reading.unknowns
    predicted = oracle.spots(reading.uses)
    before = oracle.snapshot(root)
    oracle.run(command, cwd, home=home)
    real = oracle.changed(before, oracle.snapshot(root))
    # Files that a tool writes beside its work as a matter of course: byte code, git's own bookkeeping.
    real = {p for p in real if "/.git/" not in p and not p.endswith((".git", ".pyc", "__pycache__"))}
    assert oracle.uncovered(real, predicted) == []
