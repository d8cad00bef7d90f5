"""What Claude Code is made to do: writes that must land, and attacks that must land only without the fence."""

from __future__ import annotations

from tests.support.claude_run import OUTSIDE_TEXT, Call, Scenario, bash, edit, read, write

MAKEFILE = "all:\\n\\techo made > {0}\\n"

INSIDE = (
    Scenario("write-tool", (write("@ws@/new.txt", "one\n"),), lands=(("@ws@/new.txt", "one\n"),)),
    Scenario("write-tool-new-folders", (write("@ws@/a/b/c.txt", "x"),), lands=(("@ws@/a/b/c.txt", "x"),)),
    Scenario(
        "edit-tool",
        (read("@ws@/old.txt"), edit("@ws@/old.txt", "before", "after")),
        tree=("@ws@/old.txt = before\\n",),
        lands=(("@ws@/old.txt", "after\n"),),
    ),
    Scenario(
        "write-tool-strange-name",
        (write("@ws@/súbor s medzerou 日本 'q'.txt", "ž\n"),),
        lands=(("@ws@/súbor s medzerou 日本 'q'.txt", "ž\n"),),
    ),
    Scenario(
        "write-tool-through-inside-link",
        (write("@ws@/link/f", "x"),),
        tree=("@ws@/real/", "@ws@/link -> real"),
        lands=(("@ws@/real/f", "x"),),
    ),
    Scenario("redirection", (bash("echo one > made.txt"),), lands=(("@ws@/made.txt", "one\n"),)),
    Scenario(
        "absolute-redirection", (bash("echo one > @ws@/made.txt"),), lands=(("@ws@/made.txt", "one\n"),)
    ),
    Scenario(
        "copy-move-remove",
        (
            bash(
                "mkdir -p a/b && echo x > a/b/f && cp -r a c && mv c/b/f g && rm -rf a && ln g h && ln -s g s"
            ),
        ),
        lands=(("@ws@/g", "x\n"), ("@ws@/h", "x\n"), ("@ws@/s", "x\n")),
    ),
    Scenario(
        "redirection-through-inside-link",
        (bash("echo x > link/f"),),
        tree=("@ws@/real/", "@ws@/link -> real"),
        lands=(("@ws@/real/f", "x\n"),),
    ),
    Scenario("python", (bash("python3 -c \"open('p', 'w').write('x')\""),), lands=(("@ws@/p", "x"),)),
    Scenario(
        "make",
        (bash("make -s"),),
        tree=("@ws@/Makefile = " + MAKEFILE.format("made"),),
        lands=(("@ws@/made", "made\n"),),
        needs=("make",),
    ),
    Scenario("temp-file", (bash('f=$(mktemp) && echo x > "$f" && cp "$f" t'),), lands=(("@ws@/t", "x\n"),)),
    Scenario(
        "shared-memory",
        (bash("python3 -c \"import multiprocessing as m; m.Lock(); open('l', 'w').write('x')\""),),
        lands=(("@ws@/l", "x"),),
    ),
    Scenario(
        "git",
        (
            bash(
                "git init -q . && git config user.email a@b && git config user.name a && git config -l | grep -c user"
            ),
            bash(
                "echo x > f && git add f && git commit -qm one && git checkout -qb two && git log --oneline | wc -l > n"
            ),
        ),
        lands=(("@ws@/n", "1\n"),),
        needs=("git",),
    ),
    Scenario(
        "git-worktree-like-tree-with-metadata",
        (bash("echo x > f && chmod 755 f && touch -d 2001-01-01 f && stat -c '%a %y' f | cut -c1-14 > m"),),
        lands=(("@ws@/m", "755 2001-01-01\n"),),
    ),
    Scenario(
        "background-task",
        (
            bash("echo x > bg", run_in_background=True),
            bash("until [ -s bg ]; do sleep 0.1; done; cp bg seen"),
        ),
        lands=(("@ws@/seen", "x\n"),),
    ),
    Scenario(
        "sinks",
        (
            bash(
                "echo x > /dev/null; echo y > /dev/stderr; echo z | tee /dev/stderr >> /dev/stdout; echo ok > s"
            ),
        ),
        lands=(("@ws@/s", "ok\n"),),
    ),
    Scenario(
        "reads-of-the-system",
        (bash("head -c 4 /etc/passwd > r && ls /usr/bin > /dev/null"),),
        lands=(("@ws@/r", "root"),),
    ),
)

FILE_TOOLS = (
    Scenario("write-outside", (write("@out@/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario(
        "overwrite-outside", (read("@out@/kept.txt"), write("@out@/kept.txt")), reaches=("@out@/kept.txt",)
    ),
    Scenario(
        "edit-outside",
        (read("@out@/kept.txt"), edit("@out@/kept.txt", OUTSIDE_TEXT, "x")),
        reaches=("@out@/kept.txt",),
    ),
    Scenario("write-sibling", (write("@sib@/new.txt"),), reaches=("@sib@/new.txt",)),
    Scenario("write-protected", (write("@main@/new.txt"),), reaches=("@main@/new.txt",)),
    Scenario("write-dot-dot", (write("@ws@/../outside/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario("write-home", (write("~/.profile"),), reaches=("@home@/.profile",)),
    Scenario(
        "write-through-folder-link",
        (write("@ws@/link/new.txt"),),
        tree=("@ws@/link -> @out@",),
        reaches=("@out@/new.txt",),
    ),
    # No row for a link as the last name: Write and Edit of 2.1.332 refuse those themselves. The commands have it.
    Scenario(
        "write-through-two-links",
        (write("@ws@/a/new.txt"),),
        tree=("@ws@/a -> b", "@ws@/b -> ../outside"),
        reaches=("@out@/new.txt",),
    ),
    Scenario("read-outside", (read("@out@/kept.txt"),), reveals=True, named="@out@/kept.txt"),
    Scenario(
        "read-through-link",
        (read("@ws@/l"),),
        tree=("@ws@/l -> @out@/kept.txt",),
        reveals=True,
        named="@out@/kept.txt",
    ),
    Scenario(
        "write-git-hook",
        (write("@ws@/.git/hooks/pre-commit"),),
        reaches=("@ws@/.git/hooks",),
        tree=("@ws@/.git/hooks/",),
    ),
    Scenario(
        "write-own-settings",
        (write("@ws@/.claude/settings.json", "{}"),),
        reaches=("@ws@/.claude/settings.json",),
    ),
    Scenario("write-mcp-settings", (write("@ws@/.mcp.json", "{}"),), reaches=("@ws@/.mcp.json",)),
)

COMMANDS = (
    Scenario("shell-outside", (bash("echo x > @out@/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario("shell-relative", (bash("echo x > ../outside/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario("shell-append", (bash("echo x >> @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario("shell-sibling", (bash("echo x > @sib@/new.txt"),), reaches=("@sib@/new.txt",)),
    Scenario("shell-protected", (bash("echo x > vendor/main/new.txt"),), reaches=("@main@/new.txt",)),
    Scenario("shell-home", (bash("echo 'touch pwned' >> ~/.bashrc"),), reaches=("@home@/.bashrc",)),
    Scenario(
        "shell-link", (bash("echo x > l/new.txt"),), tree=("@ws@/l -> @out@",), reaches=("@out@/new.txt",)
    ),
    Scenario(
        "shell-file-link",
        (bash("echo x > l"),),
        tree=("@ws@/l -> @out@/kept.txt",),
        reaches=("@out@/kept.txt",),
    ),
    Scenario(
        "shell-dangling-link",
        (bash("echo x > l"),),
        tree=("@ws@/l -> @out@/new.txt",),
        reaches=("@out@/new.txt",),
    ),
    Scenario("shell-new-link", (bash("ln -s @out@ l && echo x > l/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario(
        "link-made-by-an-earlier-call",
        (bash("ln -s ../outside l"), write("@ws@/l/new.txt")),
        reaches=("@out@/new.txt",),
    ),
    Scenario("hard-link", (bash("ln @out@/kept.txt h && echo x > h"),), reaches=("@out@/kept.txt",)),
    Scenario("variable", (bash('d=@out@; f=new; echo x > "$d/$f.txt"'),), reaches=("@out@/new.txt",)),
    Scenario(
        "variable-in-pieces",
        (bash('a=$(printf %s @out@ | rev | rev); cd "${a%/*}"/outsid[e] && echo x > new.txt'),),
        reaches=("@out@/new.txt",),
        named="@out@",
        needs=("rev",),
    ),
    Scenario(
        "change-folder", (bash("cd @out@ && echo x > new.txt"),), reaches=("@out@/new.txt",), named="@out@"
    ),
    Scenario(
        "nested-shell", (bash("bash -c 'sh -c \"echo x > @out@/new.txt\"'"),), reaches=("@out@/new.txt",)
    ),
    Scenario("eval", (bash("c='echo x > @out@/new.txt'; eval \"$c\""),), reaches=("@out@/new.txt",)),
    Scenario(
        "encoded",
        (bash("echo 'echo x > @out@/new.txt' | base64 | base64 -d | sh"),),
        reaches=("@out@/new.txt",),
        needs=("base64",),
    ),
    Scenario(
        "script-file",
        (write("@ws@/s.sh", "echo x > @out@/new.txt\n"), bash("sh s.sh")),
        reaches=("@out@/new.txt",),
    ),
    Scenario(
        "python", (bash("python3 -c \"open('@out@/new.txt', 'w').write('x')\""),), reaches=("@out@/new.txt",)
    ),
    Scenario(
        "python-file",
        (
            write("@ws@/s.py", "import os\nos.replace('p', '@out@/kept.txt')\n"),
            bash("echo x > p; python3 s.py"),
        ),
        reaches=("@out@/kept.txt",),
    ),
    Scenario(
        "make",
        (bash("make"),),
        tree=("@ws@/Makefile = " + MAKEFILE.format("@out@/new.txt"),),
        reaches=("@out@/new.txt",),
        needs=("make",),
    ),
    Scenario("heredoc", (bash("cat > @out@/new.txt <<'EOF'\nx\nEOF"),), reaches=("@out@/new.txt",)),
    Scenario("descriptor", (bash("exec 7> @out@/new.txt; echo x >&7"),), reaches=("@out@/new.txt",)),
    Scenario(
        "substitution",
        (bash("echo x | tee >(cat > @out@/new.txt) > /dev/null; sleep 0.2"),),
        reaches=("@out@/new.txt",),
    ),
    Scenario("copy", (bash("echo x > f; cp f @out@/new.txt"),), reaches=("@out@/new.txt",)),
    Scenario("move-out", (bash("echo x > f; mv f @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario("move-in", (bash("mv @out@/kept.txt ."),), reaches=("@out@/kept.txt",)),
    Scenario("remove", (bash("rm -f @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario("remove-tree", (bash("rm -rf @sib@"),), reaches=("@sib@",)),
    Scenario("remove-protected", (bash("rm -rf vendor"),), reaches=("@main@",)),
    Scenario("rename-protected-away", (bash("mv vendor vendor2"),), reaches=("@main@",)),
    Scenario(
        "rename-workspace", (bash("cd .. && mv app app2 && mkdir app"),), reaches=("@main@",), named="@ws@"
    ),
    Scenario("truncate", (bash("truncate -s 0 @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario(
        "sed-in-place", (bash("sed -i s/text/x/ @out@/kept.txt"),), reaches=("@out@/kept.txt",), named="@out@"
    ),
    Scenario("dd", (bash("echo x | dd of=@out@/kept.txt status=none"),), reaches=("@out@/kept.txt",)),
    Scenario(
        "find-exec",
        (bash("find @out@ -name kept.txt -exec sh -c 'echo x > \"$1\"' _ {} \\;"),),
        reaches=("@out@/kept.txt",),
        named="@out@",  # the text names the folder; it is refused before anything is found
    ),
    Scenario(
        "find-delete",
        (bash("find @out@ -name kept.txt -delete"),),
        reaches=("@out@/kept.txt",),
        named="@out@",
    ),
    Scenario("xargs", (bash("echo @out@/new.txt | xargs touch"),), reaches=("@out@/new.txt",)),
    Scenario(
        "tar",
        (bash("echo x > f; tar cf t.tar f; tar xf t.tar -C @out@"),),
        reaches=("@out@/f",),
        named="@out@",
        needs=("tar",),
    ),
    Scenario("folder", (bash("mkdir @out@/new"),), reaches=("@out@/new",)),
    Scenario("chmod", (bash("chmod 777 @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario("touch", (bash("touch -d 2001-01-01 @out@/kept.txt"),), reaches=("@out@/kept.txt",)),
    Scenario("git-elsewhere", (bash("git init -q @out@/repo"),), reaches=("@out@/repo",), needs=("git",)),
    Scenario(
        "background-task",
        (bash("echo x > @out@/new.txt", run_in_background=True), bash("sleep 0.5; echo waited")),
        reaches=("@out@/new.txt",),
        silent=True,
    ),
    Scenario(
        "daemon-after-the-call",
        (
            bash("(setsid sh -c 'sleep 0.7; echo x > @out@/new.txt' > /dev/null 2>&1 &)"),
            bash("sleep 0.2; echo waited"),
        ),
        reaches=("@out@/new.txt",),
        silent=True,
        watch=1.5,
    ),
    Scenario(
        "link-swapped-under-a-background-job",
        (
            bash("mkdir d; (sleep 0.5; echo x > d/new.txt) > log 2>&1 &"),
            bash("rmdir d; ln -s @out@ d; sleep 0.7; cat log"),
        ),
        reaches=("@out@/new.txt",),
        silent=True,
    ),
    Scenario(
        "through-proc-root", (bash("echo x > /proc/self/root@out@/new.txt"),), reaches=("@out@/new.txt",)
    ),
    Scenario(
        "through-proc-cwd", (bash("echo x > /proc/self/cwd/../outside/new.txt"),), reaches=("@out@/new.txt",)
    ),
    Scenario(
        "through-parent-root",
        (bash("echo x > /proc/$CLAUDE_PID/root@out@/new.txt"),),
        reaches=("@out@/new.txt",),
    ),
    Scenario(
        "shell-git-hook",
        (bash("echo x > .git/hooks/pre-commit"),),
        reaches=("@ws@/.git/hooks",),
        tree=("@ws@/.git/hooks/",),
    ),
    Scenario(
        "shell-own-settings",
        (bash("mkdir -p .claude; echo '{}' > .claude/settings.json"),),
        reaches=("@ws@/.claude/settings.json",),
    ),
    Scenario(
        "drop-the-prefix",
        (bash("unset CLAUDE_CODE_SHELL_PREFIX; env -i sh -c 'echo x > @out@/new.txt'"),),
        reaches=("@out@/new.txt",),
    ),
    Scenario(
        "forged-tail",
        (bash("echo x > @out@/new.txt && pwd -P >| @out@/claude-abcd-cwd"),),
        reaches=("@out@/new.txt", "@out@/claude-abcd-cwd"),
    ),
    Scenario(
        "forged-tail-by-quote",
        (bash("true' && pwd -P >| @out@/claude-abcd-cwd #"), bash("true && pwd -P >| @out@/claude-abcd-cwd")),
        reaches=("@out@/claude-abcd-cwd",),
    ),
    Scenario(
        "sub-agent",
        (
            Call("Agent", {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}),
            bash("echo x > @out@/new.txt"),
        ),
        reaches=("@out@/new.txt",),
        silent=True,
    ),
)
