"""What the tests of the throwaway layer share: the product as somebody, a document of `try --json`, a full hash."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess

from tests.support.product import Product


def product_of(who, base):
    """The installed command, as `who`, with a home and a workspace of theirs below `base`."""
    made = Product(base, os.path.join(who.checkout, "src/ringfence/start.py"), who.python, who.popen())
    made.env["PYTHONDONTWRITEBYTECODE"] = "1"
    subprocess.run(["chown", "-hR", f"{who.uid}:{who.gid}", base], check=True)
    return made


def tried(product, *words, options=(), **more):
    """(the run, its document). Fails if there is none."""
    done = product.run("try", "--json", *options, "--workspace", product.ws, "--", *words, **more)
    assert done.out, done
    return done, json.loads(done.out)


def sh(product, text, *options, **more):
    return tried(product, "/bin/sh", "-c", text, options=options, **more)


def listed(product, document):
    """{(kind, way below the workspace)}; a rename counts as both of its halves."""
    found = set()
    for change in document["changes"]:
        way = os.path.relpath(change["path"], product.ws)
        kind = change["kind"]
        if kind == "renamed":
            found |= {("created", way), ("deleted", os.path.relpath(change["from"], product.ws))}
        else:
            found.add(("metadata" if kind == "mode-changed" else kind, way))
    return found


def full_hash(top):
    """Names, kinds, modes, owners, contents, attributes, link counts, inode numbers, and times of files and folders."""
    total = hashlib.sha256()
    for root, folders, files in os.walk(top):
        folders.sort()
        for name in ["."] * (root == top) + sorted((*folders, *files)):
            path = os.path.join(root, name)
            known = os.lstat(path)
            row = [
                path,
                known.st_mode,
                known.st_uid,
                known.st_gid,
                known.st_size,
                known.st_nlink,
                known.st_ino,
                known.st_mtime_ns,
                known.st_ctime_ns,
            ]
            if stat.S_ISLNK(known.st_mode):
                row.append(os.readlink(path))
            elif stat.S_ISREG(known.st_mode):
                with open(path, "rb") as file:
                    row.append(hashlib.sha256(file.read()).hexdigest())
            if not stat.S_ISLNK(known.st_mode):
                row.append([(n, os.getxattr(path, n)) for n in os.listxattr(path)])
            total.update(repr(row).encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def leftovers(product):
    """What a killed run could leave: records, folders on the disk, staged files, processes with a layer in their table."""
    found = []
    for folder in (f"{product.state}/layers", f"{product.cache}/layers"):
        if os.path.isdir(folder):
            found += [f"{folder}/{name}" for name in os.listdir(folder) if name != "lock"]
    for root, _, files in os.walk(product.ws):
        found += [f"{root}/{name}" for name in files if name.startswith(".ringfence-")]
    found += inhabitants(product)
    return found


def inhabitants(product):
    """Processes of other mount namespaces that show this product's workspace as an overlay."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/mountinfo", "rb") as file:
                table = file.read()
        except OSError:
            continue
        needle = b" " + os.fsencode(product.ws) + b" "
        if any(needle in line and b" - overlay ringfence-layer" in line for line in table.splitlines()):
            found.append(f"process {pid}")
    return found


_REVIEW = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ringfence.errors import FenceError
from ringfence.pipelines import review
from ringfence.policy.asked import Flags
from ringfence.render.changes import change_json
verb, session, workspace = sys.argv[2:5]
try:
    if verb == "drop":
        made = [list(row) for row in review.dropped(session)]
    elif verb == "list":
        made = [one._asdict() for one in review.listed()]
    else:
        shown = review.shown(Flags((workspace,)), session, with_diff=True)
        made = [{"changes": [change_json(c) for c in one.changes], "diff": one.diff} for one in shown]
except FenceError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
print(json.dumps(made))
"""


def review(product, who, verb, session=""):
    """(status, value): the pipeline behind `ringfence review`; an account's own interpreter may have no click."""
    words = [who.python, "-I", "-c", _REVIEW, os.path.join(who.checkout, "src"), verb, session, product.ws]
    done = subprocess.run(
        words, cwd=product.ws, env=product.env, capture_output=True, text=True, **product.popen
    )
    assert done.returncode in (0, 2), done
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr
