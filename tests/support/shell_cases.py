"""Builds the trees that tests/corpus/shell.jsonl describes. `@` is the temporary root."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus"
GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.com",
}  # fmt: skip


def rows(name="shell.jsonl"):
    with (CORPUS / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def fill(text, root):
    return root if text == "@" else text.replace("@/", root + "/")


def place(root, relative):
    if relative.startswith("/"):
        return relative
    return root if relative in ("", ".") else f"{root}/{relative}"


def run_git(args, cwd):
    subprocess.run(
        ["git", *args], cwd=cwd, env=GIT_ENV, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def build(setup, root):
    for step in setup:
        verb = next(
            k
            for k in step
            if k in ("mkdir", "file", "symlink", "hardlink", "fifo", "chmod", "git", "worktree")
        )
        path = place(root, step[verb])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if verb == "mkdir":
            os.makedirs(path, exist_ok=True)
        elif verb == "file":
            data = (
                base64.b64decode(step["b64"])
                if "b64" in step
                else fill(step.get("text", "x\n"), root).encode("utf-8", "surrogateescape")
            )
            with open(path, "wb") as out:
                out.write(data)
        elif verb == "symlink":
            os.symlink(fill(step["to"], root), path)
        elif verb == "hardlink":
            os.link(place(root, step["to"]), path)
        elif verb == "fifo":
            os.mkfifo(path)
        elif verb == "chmod":
            os.chmod(path, int(step["mode"], 8))
        elif verb == "git":
            os.makedirs(path, exist_ok=True)
            run_git(["init", "-q", "-b", "main"], path)
            run_git(["add", "-A"], path)
            run_git(["commit", "-q", "--allow-empty", "-m", "init"], path)
        elif verb == "worktree":
            run_git(["worktree", "add", "-q", "-b", step["branch"], path], place(root, step["of"]))


def tree_key(row):
    return json.dumps([row["setup"], row["workspace"], row["protected"]])
