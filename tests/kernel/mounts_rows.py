"""What an agent might try against the mounts engine, and what it does every day. Data; the tests replay it.

Every attack is a shell text that runs as the fenced user in the workspace with these names in its environment:
WS the workspace, OUT a folder outside it, BASE the folder of both, PEER a process outside the fence that
stands in OUT (same user), PY an interpreter, TOOL mounts_tool.py, HOOK the hook that a plant would write.
`landed` is judged outside afterwards, by `sh` in BASE: exit 0 means that the attack worked.
`prelude` runs before the fence, in the shell that starts it (what a careless caller hands in).

`alone`: whether the mounts hold it without Landlock on top. `who`: "any", or "root" for what only root can do
without a fence (for others there would be nothing to show).
"""

from typing import NamedTuple


class Attack(NamedTuple):
    id: str
    origin: str
    how: str
    landed: str
    where: str = "mounts"
    remains: str = ""
    prelude: str = ""
    alone: bool = True
    who: str = "any"


class Elsewhere(NamedTuple):
    """A row of docs/escapes.md with a test of its own. `test` is a file below tests/kernel and a function."""

    id: str
    origin: str
    where: str
    test: str
    remains: str = ""


class Everyday(NamedTuple):
    id: str
    how: str
    needs: tuple[str, ...] = ()


_CHANGED = "! grep -qx original out/kept 2>/dev/null"
_PLANTED = "grep -qs evil ws/.git/hooks/pre-commit"
_MARK = "test -e ws/landed"
_PROTECTED = "! grep -qx original ws/deep/main/code 2>/dev/null"

OUTSIDE = (
    Attack("write", "the plain case", "echo evil > $OUT/kept", _CHANGED),
    Attack("append", "the plain case", "echo evil >> $OUT/kept", "grep -q evil out/kept"),
    Attack("truncate", "Landlock before ABI 3", "truncate -s 0 $OUT/kept", _CHANGED),
    Attack("create", "the plain case", "touch $OUT/new", "test -e out/new"),
    Attack("mkdir", "the plain case", "mkdir $OUT/new", "test -e out/new"),
    Attack("symlink", "the plain case", "ln -s x $OUT/new", "test -L out/new"),
    Attack("fifo", "special files", "mkfifo $OUT/new", "test -p out/new"),
    Attack("socket", "special files", "$PY $TOOL bind $OUT/new", "test -S out/new"),
    Attack("unlink", "the plain case", "rm -f $OUT/kept", "test ! -e out/kept"),
    Attack("rmdir", "the plain case", "rmdir $OUT/empty", "test ! -e out/empty"),
    Attack("rename-out", "the plain case", "mv a $OUT/new", "test -e out/new"),
    Attack("rename-over", "the plain case", "mv -f a $OUT/kept", _CHANGED),
    Attack("rename-in", "a move is a delete outside", "mv $OUT/kept b", "test ! -e out/kept"),
    Attack("link-in", "hard link, then write the inside name", "ln $OUT/kept l && echo evil > l", _CHANGED),
    Attack("link-out", "hard link of an inside file", "ln a $OUT/new", "test -e out/new"),
    Attack("through-link", "CVE-2026-39861", "ln -s $OUT l && echo evil > l/kept", _CHANGED),
    Attack("dotdot", "CVE-2026-25722", "cd sub && echo evil > ../../out/kept", _CHANGED),
    Attack("sibling-prefix", "CVE-2025-53110", "touch $WS-evil/new", "test -e ws-evil/new"),
    Attack(
        "tmpfile-linkat",
        "O_TMPFILE has no name at first",
        "$PY $TOOL tmpfile $OUT $OUT/new",
        "test -e out/new",
    ),
    Attack("chmod", "CVE-2024-36137", "chmod 777 $OUT/kept", "test $(stat -c %a out/kept) = 777"),
    Attack(
        "utime",
        "CVE-2024-36137",
        "touch -d 2001-01-01 $OUT/kept",
        "test $(stat -c %Y out/kept) -lt 1000000000",
    ),
    Attack(
        "xattr",
        "metadata is a write",
        "$PY $TOOL xattr $OUT/kept",
        "getfattr -n user.evil out/kept || $PY $TOOL has-xattr out/kept",
    ),
    Attack(
        "chown",
        "metadata is a write",
        "chown 12:12 $OUT/kept",
        "test $(stat -c %u out/kept) = 12",
        who="root",
    ),
    Attack("own-root", "/proc/self/root", "echo evil > /proc/self/root$OUT/kept", _CHANGED),
    Attack("peer-root", "/proc/PID/root", "echo evil > /proc/$PEER/root$OUT/kept", _CHANGED),
    Attack("peer-cwd", "/proc/PID/cwd", "echo evil > /proc/$PEER/cwd/kept", _CHANGED),
    Attack("peer-fd", "/proc/PID/fd", "echo evil > /proc/$PEER/fd/8/kept", _CHANGED),
    Attack("peer-memory", "ptrace of a process outside", "$PY $TOOL poke $PEER && touch landed", _MARK),
    Attack(
        "folder-descriptor",
        "CVE-2024-21626",
        "echo evil > /proc/self/fd/9/kept",
        _CHANGED,
        prelude="exec 9<$OUT",
    ),
    Attack("folder-fchdir", "CVE-2024-21626", "$PY $TOOL fchdir 9 kept", _CHANGED, prelude="exec 9<$OUT"),
    Attack(
        "file-descriptor",
        "an inherited descriptor open for writing",
        "echo evil >&9",
        "grep -q evil out/kept",
        prelude="exec 9>>$OUT/kept",
    ),
    Attack(
        "reopen-stdin",
        "a file opened for reading, reopened by its magic link",
        "echo evil > /proc/self/fd/0",
        _CHANGED,
        where="Landlock",
        prelude="exec <$OUT/kept",
        alone=False,
        remains="without Landlock content, and always mode and times, of a file that the caller itself handed in",
    ),
    Attack(
        "named-pipe",
        "a read-only mount does not stop writing a pipe",
        "timeout 5 $PY $TOOL pipe $OUT/pipe && touch landed",
        _MARK,
        where="Landlock",
        alone=False,
        remains="without Landlock, pipes outside that the user may write",
    ),
    Attack(
        "python", "an interpreter", '$PY -c \'import os; open(os.environ["OUT"] + "/kept", "w")\'', _CHANGED
    ),
    Attack(
        "make", "a build tool", "printf 'all:\\n\\techo evil > $$OUT/kept\\n' > Makefile; make -s", _CHANGED
    ),
    Attack(
        "git-dash-c",
        "git in another tree",
        "git -C $OUT/repo commit -q --allow-empty -m evil",
        "test $(git -C out/repo rev-list --count HEAD) = 2",
    ),
    Attack(
        "background",
        "a job that outlives the call",
        "(setsid sh -c 'sleep 0.2; echo evil > $OUT/kept; touch $WS/done' &) ; while [ ! -e done ]; do sleep 0.05; done",
        _CHANGED,
    ),
    Attack("file-handle", "open_by_handle_at", "$PY $TOOL by-handle $OUT/kept $WS", _CHANGED, who="root"),
    Attack(
        "machine-device",
        "a device of the machine: a read-only mount does not stop writing it",
        "for d in /dev/loop-control /dev/tty1 /dev/fuse /dev/net/tun; do test -e $d && break; done; "
        "$PY $TOOL open-rw $d && touch landed",
        _MARK,
        who="root",
    ),
    Attack(
        "planted-device-node",
        "a device node that lies in the workspace already",
        "$PY $TOOL open-rw node && touch landed",
        _MARK,
        prelude="rm -f $WS/node; mknod $WS/node c 5 1 || exit 9",
        who="root",
    ),
    Attack(
        "new-device-node",
        "mknod",
        "mknod node c 1 11 && $PY $TOOL open-rw node && touch landed",
        _MARK,
        who="root",
    ),
    Attack(
        "kernel-settings",
        "core_pattern names a program",
        "$PY $TOOL open-rw /proc/sys/kernel/core_pattern && touch landed",
        _MARK,
        who="root",
    ),
    Attack(
        "sysfs",
        "settings in /sys",
        "$PY $TOOL open-rw /sys/kernel/mm/transparent_hugepage/enabled && touch landed",
        _MARK,
        who="root",
    ),
    Attack(
        "setuid-helper",
        "a program with more rights",
        "su nobody -s /bin/sh -c 'echo evil > '$OUT/open",
        "grep -q evil out/open",
        who="root",
    ),
    Attack(
        "runtime-bus",
        "systemd-run --user",
        "$PY $TOOL ask $XDG_RUNTIME_DIR/bus",
        _CHANGED,
        remains="helpers on sockets that no row of control_sockets.py names",
    ),
    Attack(
        "container-engine",
        "docker run -v /:/host",
        "$PY $TOOL ask $BASE/engine.sock",
        _CHANGED,
        remains="engines reached by TCP: the network is not fenced",
    ),
    Attack(
        "abstract-socket",
        "X11, older session buses",
        "$PY $TOOL ask @ringfence-$BASE",
        _CHANGED,
        where="Landlock",
        alone=False,
        remains="before ABI 6 (Linux 6.12)",
    ),
)

GUARDED = (
    Attack("hook", "navikt/cplt#212", "echo evil > $HOOK", _PLANTED),
    Attack(
        "hook-new",
        "navikt/cplt#212",
        "echo evil > .git/hooks/post-commit",
        "test -e ws/.git/hooks/post-commit",
    ),
    Attack(
        "git-away",
        "anthropic-experimental/sandbox-runtime#8",
        "mv .git old && mkdir -p .git/hooks && echo evil > $HOOK",
        _PLANTED,
    ),
    Attack(
        "hooks-away",
        "safedep/pmg#446",
        "mv .git/hooks .git/old && mkdir .git/hooks && echo evil > $HOOK",
        _PLANTED,
    ),
    Attack(
        "hooks-over",
        "safedep/pmg#446",
        "mkdir h && echo evil > h/pre-commit && rm -rf .git/hooks; mv -T h .git/hooks",
        _PLANTED,
    ),
    Attack(
        "git-exchange",
        "renameat2 with RENAME_EXCHANGE",
        "mkdir -p new/hooks && echo evil > new/hooks/pre-commit && $PY $TOOL exchange new .git",
        _PLANTED,
    ),
    Attack(
        "git-removed", "rm -rf and rebuild", "rm -rf .git; mkdir -p .git/hooks && echo evil > $HOOK", _PLANTED
    ),
    Attack(
        "hook-linked",
        "a second name for a guarded file",
        "ln .git/hooks/pre-commit l && echo evil > l",
        _PLANTED,
    ),
    Attack(
        "hook-chmod",
        "metadata is a write",
        "chmod 4755 .git/hooks/pre-commit",
        "test $(stat -c %a ws/.git/hooks/pre-commit) = 4755",
    ),
    Attack(
        "hook-unlink",
        "take the guard's file away",
        "rm -f .git/hooks/pre-commit",
        "test ! -e ws/.git/hooks/pre-commit",
    ),
    Attack(
        "settings-over",
        "rename over a guarded file",
        "echo evil > e && mv -f e .claude/settings.json",
        "grep -q evil ws/.claude/settings.json",
    ),
    Attack(
        "settings-sed",
        "sed -i renames",
        "sed -i s/original/evil/ .claude/settings.json",
        "grep -q evil ws/.claude/settings.json",
    ),
    Attack(
        "settings-parent",
        "move the carve-out's parent",
        "mv .claude x && mkdir .claude && echo evil > .claude/settings.json",
        "grep -q evil ws/.claude/settings.json",
    ),
    Attack(
        "nested-hook",
        "hooks of a nested repository",
        "echo evil > vendor/lib/.git/hooks/pre-commit",
        "grep -qs evil ws/vendor/lib/.git/hooks/pre-commit",
    ),
    Attack(
        "nested-away",
        "move a nested repository's parent",
        "mv vendor v && mkdir -p vendor/lib/.git/hooks && echo evil > vendor/lib/.git/hooks/pre-commit",
        "grep -qs evil ws/vendor/lib/.git/hooks/pre-commit",
    ),
    Attack("protected-shell", "mfittko/dev-loops#1994", "echo evil > deep/main/code", _PROTECTED),
    Attack(
        "protected-python",
        "akaszubski/autonomous-dev#589",
        '$PY -c \'open("deep/main/code", "w")\'',
        _PROTECTED,
    ),
    Attack(
        "protected-make",
        "akaszubski/autonomous-dev#589",
        "printf 'all:\\n\\techo evil > deep/main/code\\n' > Makefile; make -s",
        _PROTECTED,
    ),
    Attack(
        "protected-git",
        "objectstack-ai/objectstack#5742",
        "git -C deep/main commit -q --allow-empty -m evil",
        "test $(git -C ws/deep/main rev-list --count HEAD) = 2",
    ),
    Attack("protected-away", "tomcounsell/ai#880", "mv deep/main away", "test ! -e ws/deep/main/code"),
    Attack("protected-parent", "R4", "mv deep away", "test ! -e ws/deep/main/code"),
    Attack("protected-removed", "R4", "rm -rf deep", "test ! -e ws/deep/main/code"),
    Attack("protected-link", "hard link, then write", "ln deep/main/code l && echo evil > l", _PROTECTED),
)

# First what would undo the fence, then what the guard forbids: unfenced the second part succeeds alone. That the
# first part does undo a fence that is not sealed is shown by test_mounts_seal.py.
UNDOING = (
    Attack(
        "umount-guard",
        "the sketch was undone by root",
        "umount $WS/.git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack("umount-lazy", "umount -l", "umount -l $WS/.git/hooks; echo evil > $HOOK", _PLANTED, where="seal"),
    Attack(
        "remount",
        "mount -o remount,rw",
        "mount -o remount,bind,rw $WS/.git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "remount-root",
        "mount -o remount,rw /",
        "mount -o remount,bind,rw /; echo evil > $OUT/kept",
        _CHANGED,
        where="seal",
    ),
    Attack(
        "mount-setattr",
        "Landlock does not stop it (seen)",
        "$PY $TOOL setattr-rw $WS/.git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "open-tree",
        "Landlock does not stop it (seen)",
        "$PY $TOOL clone-write $WS .git/hooks/pre-commit; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "bind-over",
        "put a writable tree over the guard",
        "mkdir -p h && mount --bind h .git/hooks && umount .git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "nested-remount",
        "a namespace of one's own",
        "unshare -rm sh -c 'mount -o remount,bind,rw $WS/.git/hooks; echo evil > $HOOK'; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "nested-setattr",
        "a namespace of one's own, without mount(8)",
        "$PY $TOOL nested setattr-rw $WS/.git/hooks; $PY $TOOL nested-write $HOOK; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "nested-bind",
        "see under a mask by a bind without its children",
        "unshare -rm sh -c 'mkdir -p n && mount --bind . n && cat n/.env > $WS/seen'; cat .env > seen",
        "grep -q secret ws/seen",
        where="seal",
    ),
    Attack(
        "nested-rename",
        "pins belong to one mount namespace",
        "$PY $TOOL nested rename .git old; mv .git old; mkdir -p .git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "nested-umount",
        "umount in a namespace of one's own",
        "$PY $TOOL nested umount $WS/.git/hooks; umount $WS/.git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
    Attack(
        "namespace-of-peer",
        "setns into the mounts outside",
        "nsenter -t $PEER -U -m sh -c 'echo evil > $OUT/kept'; nsenter -t $PEER -m sh -c 'echo evil > $OUT/kept'; echo evil > $OUT/kept",
        _CHANGED,
        where="user namespace",
    ),
    Attack(
        "io-uring",
        "what a ring submits is seen by no filter",
        "$PY $TOOL ring && touch landed",
        _MARK,
        where="filter",
    ),
    Attack(
        "compat-calls",
        "int 0x80 around a filter",
        "$PY $TOOL compat-umount $WS/.git/hooks; echo evil > $HOOK",
        _PLANTED,
        where="seal",
    ),
)

SECRETS = (
    Attack("mask-read", "the plain case", "cat .env > seen", "grep -q secret ws/seen"),
    Attack("mask-folder", "the plain case", "cat private/key > seen", "grep -q secret ws/seen"),
    Attack(
        "mask-link", "a second name for a masked file", "ln .env l; cat l > seen", "grep -q secret ws/seen"
    ),
    Attack("mask-away", "rename a masked file", "mv .env l; cat l > seen", "grep -q secret ws/seen"),
    Attack("mask-parent", "rename what holds it", "mv nest n2; cat n2/.env > seen", "grep -q secret ws/seen"),
    Attack("mask-umount", "umount of a mask", "umount $WS/.env; cat .env > seen", "grep -q secret ws/seen"),
    Attack("mask-peer", "/proc/PID/root", "cat /proc/$PEER/root$WS/.env > seen", "grep -q secret ws/seen"),
    Attack(
        "mask-outside", "a zone outside the workspace", "cat $OUT/secret > seen", "grep -q secret ws/seen"
    ),
    Attack(
        "mask-git", "the index reads it", "git add -f .env && git show :.env > seen", "grep -q secret ws/seen"
    ),
)

ATTACKS = (*OUTSIDE, *GUARDED, *UNDOING, *SECRETS)

ELSEWHERE = (
    Elsewhere(
        "typing",
        "a fenced child typed into its caller's terminal (seen)",
        "filter",
        "test_mounts_view.py::test_nothing_is_typed_into_the_callers_terminal",
        "what a program prints on the terminal it was given",
    ),
    Elsewhere(
        "other-terminals",
        "the user's other shells",
        "mounts",
        "test_mounts_view.py::test_other_terminals_cannot_be_reached",
    ),
    Elsewhere(
        "twin-mount",
        "a bind mount of the protected checkout inside the workspace",
        "mounts",
        "test_mounts_view.py::test_a_bind_mount_inside_the_workspace_leads_nowhere",
        "an overlay or a network share of the outside: it has another device number",
    ),
    Elsewhere(
        "late-mount",
        "propagation into the namespace",
        "mounts",
        "test_mounts_view.py::test_a_mount_made_later_outside_does_not_arrive_writable",
    ),
    Elsewhere(
        "earlier-job",
        "a background job of a call that was given more",
        "user namespace",
        "test_mounts_view.py::test_a_job_of_an_earlier_call_lends_nothing",
        "a job of an earlier call keeps what that call was given",
    ),
    Elsewhere(
        "swap",
        "folders swapped for links while the fence is built",
        "descriptors",
        "test_mounts_view.py::test_swapping_folders_while_the_fence_is_built_gains_nothing",
        "a job that runs since before a guard existed can still move it",
    ),
    Elsewhere(
        "link-for-root",
        "a link in the place of a root",
        "descriptors",
        "test_mounts_view.py::test_a_link_in_the_place_of_a_root_builds_no_fence",
    ),
    Elsewhere(
        "undone",
        "the sketch of this engine was undone by root (seen)",
        "seal",
        "test_mounts_seal.py::test_unsealed_mounts_are_undone_by_root_and_sealed_ones_are_not",
    ),
    Elsewhere(
        "capabilities",
        "rights that survive exec",
        "seal",
        "test_mounts_seal.py::test_nothing_survives_exec_that_could_change_mounts",
        "root keeps its other powers over files inside: it can leave a setuid program in the workspace",
    ),
    Elsewhere(
        "no-namespaces",
        "a fence that silently is none",
        "refusal",
        "test_mounts_seal.py::test_closed_user_namespaces_run_nothing_and_say_why",
    ),
    Elsewhere(
        "ghost-files",
        "anthropic-experimental/sandbox-runtime#139",
        "no placeholders",
        "test_mounts_trace.py::test_sigkill_at_any_step_leaves_nothing",
    ),
    Elsewhere(
        "absent-guard",
        "CVE-2026-25725",
        "not here",
        "test_mounts_trace.py::test_what_does_not_exist_yet_gets_no_placeholder",
        "a guarded name that does not exist yet can be made: reported as held after the fact",
    ),
    Elsewhere(
        "tracked-guard",
        "git replaces a guarded file that it tracks",
        "mounts",
        "test_mounts_view.py::test_git_that_replaces_a_guarded_tracked_file_cannot",
        "git exits 0 with the old file in place; the caller of the engine must say so",
    ),
)

EVERYDAY = (
    Everyday("commit", "echo 1 > new && git add . && git commit -qm one && git log --oneline | grep -q one"),
    Everyday(
        "branches",
        "git checkout -qb topic && echo 1 > f && git add f && git commit -qm f && git checkout -q main && git merge -q topic && git branch -d topic",
    ),
    Everyday(
        "stash",
        "echo 2 >> tracked && git stash -q && git stash pop -q && git diff --quiet && exit 1; git diff | grep -q '^+2'",
    ),
    Everyday(
        "rebase",
        "git checkout -qb t && echo 1 > f && git add f && git commit -qm f && git checkout -q main && echo 2 > g && git add g && git commit -qm g && git checkout -q t && git rebase -q main && git log --oneline | grep -q g",
    ),
    Everyday(
        "git-mv", "git mv packages/a/f packages/b/f && git mv tracked packages/a/t && git commit -qm moved"
    ),
    Everyday("git-gc", "git gc -q && git fsck"),
    Everyday("worktree", "git worktree add -q wt && test -e wt/tracked && git worktree remove wt"),
    Everyday("clone-local", "git clone -q . copy && test -e copy/tracked && rm -rf copy"),
    Everyday("git-config", "git config user.signingkey x && git config user.signingkey"),
    Everyday(
        "rename-between",
        '$PY -c \'import os; os.rename("a", ".git/a"); os.rename(".git/a", "vendor/a"); os.link("vendor/a", "deep/a"); os.rename("deep/a", ".claude/a")\'',
    ),
    Everyday(
        "replace-beside-guard",
        "echo x > .claude/t && mv .claude/t .claude/other.json && rm .claude/other.json",
    ),
    Everyday("mktemp", "f=$(mktemp) && echo x > $f && rm $f && cat <<< here > /dev/null", ("bash",)),
    Everyday(
        "devices", "echo x > /dev/null && head -c 4 /dev/urandom > r && test -s r && head -c 1 /dev/zero > z"
    ),
    Everyday(
        "make",
        "printf 'all: o\\no:\\n\\techo made > o\\n' > Makefile && make -s && grep -q made o",
        ("make",),
    ),
    Everyday("processes", "ps aux | grep -q ps && test -r /proc/self/maps && cat /proc/cpuinfo > c"),
    Everyday(
        "shared-memory",
        "f=/dev/shm/ringfence-$$ && echo x > $f && rm $f && $PY -c 'import multiprocessing as m; assert m.Pool(2).map(abs, [-1, -2]) == [1, 2]'",
    ),
    Everyday(
        "pseudo-terminal",
        '$PY -c \'import pty, os; assert pty.spawn(["sh", "-c", "tty | grep -q /dev/pts && test -t 0"]) == 0\'',
    ),
    Everyday("sandbox-inside", "unshare -r id -u | grep -qx 0", ("unshare",)),
    Everyday(
        "venv",
        "$PY -m venv --without-pip v && v/bin/python -c 'import sys; assert sys.prefix.endswith(\"/v\")'",
    ),
    Everyday(
        "wheel",
        "$PY $TOOL wheel . && $PY -m pip install -q --no-index --no-deps --root-user-action=ignore --target t ./tiny-1-py3-none-any.whl && PYTHONPATH=t $PY -c 'import tiny'",
        ("pip of the interpreter",),
    ),
    Everyday(
        "tests-in-parallel",
        "$PY -c 'import concurrent.futures as f, tempfile; p=f.ProcessPoolExecutor(3); assert sum(p.map(abs, range(-9, 0))) == 45; tempfile.TemporaryDirectory()'",
    ),
    Everyday(
        "npm",
        'npm init -y > /dev/null && node -e \'require("fs").writeFileSync("n", "1")\' && test -s n',
        ("npm", "node"),
    ),
    Everyday(
        "node-io",
        'node -e \'const fs=require("fs").promises; fs.writeFile("n","1").then(()=>fs.rename("n","m"))\' && test -s m',
        ("node",),
    ),
    Everyday("compiler", "printf 'int main(){return 0;}' > c.c && cc c.c -o c.out && ./c.out", ("cc",)),
    Everyday("tar", "mkdir t && echo 1 > t/f && tar cf t.tar t && rm -r t && tar xf t.tar && test -s t/f"),
    Everyday(
        "server-inside",
        "$PY -m http.server 0 --bind 127.0.0.1 > log 2>&1 & p=$!; sleep 0.5; kill $p; wait $p || test $? = 143",
    ),
    Everyday(
        "unix-socket",
        '$PY -c \'import socket as s; a=s.socket(s.AF_UNIX); a.bind("s"); a.listen(); b=s.socket(s.AF_UNIX); b.connect("s")\'',
    ),
    Everyday("runtime-folder", "echo 1 > $XDG_RUNTIME_DIR/mine && test -s $XDG_RUNTIME_DIR/mine"),
)
