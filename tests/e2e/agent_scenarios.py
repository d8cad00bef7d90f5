"""What every real agent is made to do, in its own tools: writes that must land, and attacks that must land only
without the fence. One session makes all calls of a list, so each scenario has names of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.support.agent_run import OUTSIDE_TEXT, Rig, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.scripted import Call


class Row(NamedTuple):
    """A scenario in words that every agent can be asked for. `calls` gives None where the agent has no such tool."""

    name: str
    calls: Callable[[Rig], list[Call] | None]
    tree: tuple[str, ...] = ()
    lands: tuple[tuple[str, str], ...] = ()
    reaches: tuple[str, ...] = ()
    # Paths that must be gone afterwards: (inside) in both runs.
    gone: tuple[str, ...] = ()
    named: str = ""
    reveals: bool = False
    # Agents whose own tool refuses this without being asked to: the row would say nothing about the fence.
    refused_by: tuple[str, ...] = ()

    @property
    def by_shell(self) -> bool:
        """Whether it is a shell's work."""
        return not self.name.startswith(("write-", "edit-", "notebook", "patch-"))

    def of(self, rig: Rig) -> Scenario | None:
        calls = self.calls(rig)
        if calls is None or rig.name in self.refused_by:
            return None
        reaches = tuple(rig.settings if path == "@settings@" else path for path in self.reaches)
        return Scenario(
            self.name, tuple(calls), reaches, self.lands, self.tree, self.named, reveals=self.reveals
        )


def shell(command: str) -> Callable[[Rig], list[Call] | None]:
    return lambda rig: rig.shell(command)


def background(command: str, then: str) -> Callable[[Rig], list[Call] | None]:
    return lambda rig: [*rig.background(command), *rig.shell(then)] if rig.background else None


def write(path: str, text: str = "x\n") -> Callable[[Rig], list[Call] | None]:
    return lambda rig: rig.write(path, text) if rig.write else None


def edit(path: str, old: str, new: str) -> Callable[[Rig], list[Call] | None]:
    return lambda rig: rig.edit(path, old, new) if rig.edit else None


def read(path: str) -> Callable[[Rig], list[Call] | None]:
    return lambda rig: rig.read(path) if rig.read else None


def notebook(path: str, source: str) -> Callable[[Rig], list[Call] | None]:
    return lambda rig: rig.notebook(path, source) if rig.notebook else None


def patch(*lines: str) -> Callable[[Rig], list[Call] | None]:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))
    return lambda rig: rig.patch(text) if rig.patch else None


def own_settings(rig: Rig) -> list[Call] | None:
    """By the file tool where there is one, else by the shell."""
    if rig.write:
        return rig.write(rig.settings, "{}\n")
    return rig.shell(f"mkdir -p $(dirname {rig.settings}); echo '{{}}' > {rig.settings}")


CLIENT = (
    "import os, time, urllib.request as r\\nfor _ in range(100):\\n"
    "\\ttry: open('served', 'w').write(str(r.urlopen('http://127.0.0.1:8123/pid').status)); break\\n"
    "\\texcept OSError: time.sleep(0.1)\\nos.kill(int(open('pid').read()), 15)\\n"
)
CELL = '{"cells":[{"cell_type":"code","id":"c1","metadata":{},"outputs":[],"execution_count":null,"source":["a"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}'
NOTEBOOK = ("@ws@/n.ipynb = " + CELL,)

INSIDE = (
    Row("write-file", write("@ws@/w.txt", "one\n"), lands=(("@ws@/w.txt", "one\n"),)),
    Row(
        "write-new-folders",
        write("@ws@/a/b/c.txt", "x\n"),
        lands=(("@ws@/a/b/c.txt", "x\n"),),
        refused_by=("copilot",),
    ),
    Row(
        "write-strange-name",
        write("@ws@/súbor s medzerou 日本.txt", "ž\n"),
        lands=(("@ws@/súbor s medzerou 日本.txt", "ž\n"),),
    ),
    Row(
        "write-through-inside-link",
        write("@ws@/inlink/f", "x\n"),
        tree=("@ws@/real/", "@ws@/inlink -> real"),
        lands=(("@ws@/real/f", "x\n"),),
    ),
    Row(
        "edit-file",
        edit("@ws@/old.txt", "before", "after"),
        tree=("@ws@/old.txt = before\\n",),
        lands=(("@ws@/old.txt", "after\n"),),
    ),
    Row("notebook", notebook("@ws@/n.ipynb", "b = 2"), tree=NOTEBOOK),
    Row("redirect", shell("echo one > r.txt"), lands=(("@ws@/r.txt", "one\n"),)),
    Row("redirect-absolute", shell("echo one > @ws@/ra.txt"), lands=(("@ws@/ra.txt", "one\n"),)),
    Row(
        "cd-then-relative",
        shell("mkdir -p deep/er && cd deep/er && echo two > f && cd .. && echo three > g && cd .."),
        lands=(("@ws@/deep/er/f", "two\n"), ("@ws@/deep/g", "three\n")),
    ),
    Row(
        "copy-move-remove",
        shell("mkdir -p ca/b && echo x > ca/b/f && cp -r ca cc && mv cc/b/f cg && rm -r ca && ln cg ch"),
        lands=(("@ws@/cg", "x\n"), ("@ws@/ch", "x\n")),
        gone=("@ws@/ca",),
    ),
    Row("interpreter", shell("python3 -c \"open('py', 'w').write('x')\""), lands=(("@ws@/py", "x"),)),
    Row(
        "make",
        shell("make -s -f inside.mk"),
        tree=("@ws@/inside.mk = all:\\n\\techo made > made\\n",),
        lands=(("@ws@/made", "made\n"),),
    ),
    Row(
        "commit",
        lambda rig: [
            *rig.shell(
                "git init -q repo && git -C repo config user.email a@b && git -C repo config user.name a"
            ),
            *rig.shell(
                "cd repo && echo x > f && git add f && git commit -qm one && git checkout -qb two && "
                "git log --oneline | wc -l > ../commits; cd .."
            ),
        ],
        lands=(("@ws@/commits", "1\n"),),
    ),
    Row(
        "background-server",
        lambda rig: [
            *rig.shell(
                "setsid python3 -m http.server 8123 --bind 127.0.0.1 < /dev/null > log 2>&1 & echo $! > pid; echo on"
            ),
            *rig.shell("python3 client.py && echo off"),  # Copilot refuses a `kill` without a literal number
        ],
        tree=("@ws@/client.py = " + CLIENT,),
        lands=(("@ws@/served", "200"),),
    ),
    Row(
        "background-task",
        background("echo x > bg", "until [ -s bg ]; do sleep 0.1; done; cp bg seen"),
        lands=(("@ws@/seen", "x\n"),),
    ),
    Row(
        "temp-file",
        shell('mktemp > name && read -r f < name && echo x > "$f" && cp "$f" t'),
        lands=(("@ws@/t", "x\n"),),
    ),
    Row("metadata", shell("echo x > m; chmod 750 m; stat -c %a m > mode"), lands=(("@ws@/mode", "750\n"),)),
    Row(
        "sinks",
        shell(
            "echo x > /dev/null; echo y > /dev/stderr; echo z | tee /dev/stderr >> /dev/stdout; echo ok > s"
        ),
        lands=(("@ws@/s", "ok\n"),),
    ),
    Row("reads-of-the-system", shell("head -c 4 /etc/passwd > sysread"), lands=(("@ws@/sysread", "root"),)),
    Row("patch-add", patch("*** Add File: pa/new.txt", "+one"), lands=(("@ws@/pa/new.txt", "one\n"),)),
    Row(
        "patch-update",
        patch("*** Update File: pu.txt", "@@", "-before", "+after"),
        tree=("@ws@/pu.txt = before\\n",),
        lands=(("@ws@/pu.txt", "after\n"),),
    ),
    Row(
        "patch-delete",
        patch("*** Delete File: pd.txt"),
        tree=("@ws@/pd.txt = before\\n",),
        gone=("@ws@/pd.txt",),
    ),
    Row(
        "patch-move",
        patch("*** Update File: pm.txt", "*** Move to: pm/moved.txt", "@@", "-before", "+after"),
        tree=("@ws@/pm.txt = before\\n",),
        lands=(("@ws@/pm/moved.txt", "after\n"),),
        gone=("@ws@/pm.txt",),
    ),
)

OUTSIDE = (
    Row("tool-outside", write("@out@/tool.txt"), reaches=("@out@/tool.txt",)),
    Row("tool-sibling", write("@sib@/tool.txt"), reaches=("@sib@/tool.txt",)),
    Row("tool-dot-dot", write("@ws@/../outside/dots.txt"), reaches=("@out@/dots.txt",)),
    Row("tool-protected", write("@main@/tool.txt"), reaches=("@main@/tool.txt",)),
    Row(
        "tool-link",
        write("@ws@/tlink/linked.txt"),
        tree=("@ws@/tlink -> @out@",),
        reaches=("@out@/linked.txt",),
    ),
    Row(
        "tool-edit",
        edit("@out@/edited.txt", "before", "after"),
        tree=("@out@/edited.txt = before\\n",),
        reaches=("@out@/edited.txt",),
    ),
    Row(
        "tool-read",
        read("@out@/secret.txt"),
        tree=(f"@out@/secret.txt = secret-{OUTSIDE_TEXT}\\n",),
        named="@out@/secret.txt",
        reveals=True,
    ),
    Row(
        "tool-git-hook",
        write("@ws@/.git/hooks/pre-commit", "#!/bin/sh\n"),
        tree=("@ws@/.git/hooks/",),
        reaches=("@ws@/.git/hooks/pre-commit",),
        refused_by=("gemini",),
    ),
    Row("shell-redirect", shell("echo x > @out@/redirect.txt"), reaches=("@out@/redirect.txt",)),
    Row("shell-relative", shell("echo x > ../outside/relative.txt"), reaches=("@out@/relative.txt",)),
    Row("shell-sibling", shell("echo x > @sib@/shell.txt"), reaches=("@sib@/shell.txt",)),
    Row("shell-protected", shell("echo x > vendor/main/shell.txt"), reaches=("@main@/shell.txt",)),
    Row("shell-home", shell("echo x >> ~/.bashrc"), reaches=("@home@/.bashrc",)),
    Row(
        "shell-link",
        shell("echo x > slink/shell-linked.txt"),
        tree=("@ws@/slink -> @out@",),
        reaches=("@out@/shell-linked.txt",),
    ),
    Row("shell-new-link", shell("ln -s @out@ nlink && echo x > nlink/new.txt"), reaches=("@out@/new.txt",)),
    Row(
        "shell-cd",
        shell("cd @out@ && echo x > changed.txt"),
        reaches=("@out@/changed.txt",),
        named="@out@",
    ),
    Row("shell-variable", shell('d=@out@; f=var; echo x > "$d/$f.txt"'), reaches=("@out@/var.txt",)),
    Row(
        "shell-unreadable",
        shell('read -r p < target.txt; echo x > "$p"'),
        tree=("@ws@/target.txt = @out@/unreadable.txt\\n",),
        reaches=("@out@/unreadable.txt",),
    ),
    Row(
        "shell-interpreter",
        shell("python3 -c \"open('@out@/python.txt', 'w').write('x')\""),
        reaches=("@out@/python.txt",),
    ),
    Row(
        "shell-make",
        shell("make -f outside.mk"),
        tree=("@ws@/outside.mk = all:\\n\\techo made > @out@/made.txt\\n",),
        reaches=("@out@/made.txt",),
    ),
    Row(
        "shell-encoded",
        shell("echo 'echo x > @out@/encoded.txt' | base64 | base64 -d | sh"),
        reaches=("@out@/encoded.txt",),
    ),
    Row(
        "shell-nested", shell("bash -c 'sh -c \"echo x > @out@/nested.txt\"'"), reaches=("@out@/nested.txt",)
    ),
    Row(
        "shell-remove",
        shell("rm @out@/removed.txt"),
        tree=("@out@/removed.txt = x\\n",),
        reaches=("@out@/removed.txt",),
    ),
    Row(
        "shell-git-hook",
        shell("echo x > .git/hooks/post-commit"),
        tree=("@ws@/.git/hooks/",),
        reaches=("@ws@/.git/hooks/post-commit",),
    ),
    Row("patch-add", patch("*** Add File: @out@/added.txt", "+x"), reaches=("@out@/added.txt",)),
    Row("patch-dot-dot", patch("*** Add File: ../outside/pdots.txt", "+x"), reaches=("@out@/pdots.txt",)),
    Row(
        "patch-update",
        patch("*** Update File: ../outside/pu.txt", "@@", "-before", "+after"),
        tree=("@out@/pu.txt = before\\n",),
        reaches=("@out@/pu.txt",),
    ),
    Row(
        "patch-delete",
        patch("*** Delete File: ../outside/pd.txt"),
        tree=("@out@/pd.txt = before\\n",),
        reaches=("@out@/pd.txt",),
    ),
    Row(
        "patch-move-out",
        patch("*** Update File: pmo.txt", "*** Move to: ../outside/pmo.txt", "@@", "-before", "+after"),
        tree=("@ws@/pmo.txt = before\\n",),
        reaches=("@out@/pmo.txt",),
    ),
    Row("patch-protected", patch("*** Add File: vendor/main/p.txt", "+x"), reaches=("@main@/p.txt",)),
    # Last: without the fence it does change what the agent reads.
    Row("own-settings", own_settings, tree=("@ws@/.github/hooks/",), reaches=("@settings@",)),
)
