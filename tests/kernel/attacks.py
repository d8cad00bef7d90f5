"""What a fenced program may try, as data; every engine and door replays the same rows.

`how` is a shell or Python text. It runs in $WS (the workspace, writable) and aims at $OUT, its neighbour. A row
has succeeded when anything below $OUT or $SIB is not as it was, or when the text printed PWNED. Each row must
succeed without a fence, or it proves nothing. The tree:

    base/ws/{inside.txt, dir/, link -> ../out, filelink -> ../out/secret.txt, dangling -> ../out/made}
    base/out/{secret.txt, dir/, empty/}   base/ws-sibling/{secret.txt}   base/helper, base/rootonly/ (of root)
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from tests.kernel.attack_row import Attack
from tests.kernel.attacks_kinds import KINDS

SYSCALLS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
OUT, WS, SIB, VICTIM = (os.environ[k] for k in ("OUT", "WS", "SIB", "VICTIM"))
SECRET = OUT + "/secret.txt"
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

ATTACKS = (
    # content
    Attack("write", "overwrite a file outside", 'echo pwned > "$OUT/secret.txt"'),
    Attack("append", "append to a file outside", 'echo pwned >> "$OUT/secret.txt"'),
    Attack("create", "create a file outside", 'echo pwned > "$OUT/new"'),
    Attack(
        "sibling-prefix", "a sibling whose name starts like ours", 'echo pwned > "${WS}-sibling/secret.txt"'
    ),
    Attack("dotdot", "climb out of the workspace", "echo pwned > dir/../../out/new"),
    Attack("through-link", "through a link to a folder", "echo pwned > link/new"),
    Attack("through-file-link", "through a link to a file", "echo pwned > filelink"),
    Attack("through-dangling", "through a link whose target is missing", "echo pwned > dangling"),
    Attack("planted-link", "through a link made just before", 'ln -s "$OUT" l2 && echo pwned > l2/new'),
    Attack("truncate", "truncate(2) by path", "os.truncate(SECRET, 1)", "py", since=3),
    Attack(
        "o-trunc", "open for reading with O_TRUNC", "os.open(SECRET, os.O_RDONLY | os.O_TRUNC)", "py", since=3
    ),
    Attack("dd", "dd over a file", 'dd if=/dev/zero of="$OUT/secret.txt" bs=1 count=4 status=none'),
    Attack(
        "sed-in-place", "a temporary file and a rename in one", 'sed -i s/secret/pwned/ "$OUT/secret.txt"'
    ),
    Attack("tee", "tee -a", 'echo pwned | tee -a "$OUT/secret.txt" >/dev/null'),
    Attack("cp", "copy over a file", 'cp inside.txt "$OUT/secret.txt"'),
    Attack("tar", "unpack outside", 'tar cf - inside.txt | tar xf - -C "$OUT"', needs=("tar",)),
    Attack("git-init", "a repository outside", 'git init -q "$OUT/repo"', needs=("git",)),
    Attack(
        "mmap",
        "a shared writable mapping",
        "import mmap\nf = open(SECRET, 'r+b')\nmmap.mmap(f.fileno(), 0)[0:1] = b'X'",
        "py",
    ),
    Attack("here-document", "from a here document", 'cat > "$OUT/new" <<END\npwned\nEND'),
    # names
    Attack("mkdir", "make a folder outside", 'mkdir "$OUT/newdir"'),
    Attack("symlink", "make a link outside", 'ln -s /etc/passwd "$OUT/newlink"'),
    Attack("unlink", "delete a file outside", 'rm -f "$OUT/secret.txt"'),
    Attack("rmdir", "delete a folder outside", 'rmdir "$OUT/empty"'),
    Attack("rm-rf", "delete a tree outside", 'rm -rf "$OUT/dir"'),
    Attack("find-delete", "find -delete", 'find "$OUT" -name secret.txt -delete'),
    Attack("rename-outside", "rename a file outside", 'mv "$OUT/secret.txt" "$OUT/renamed"'),
    Attack("rename-out", "move our file out", 'mv inside.txt "$OUT/moved"'),
    Attack("rename-out-over", "move our file over one outside", 'mv -f inside.txt "$OUT/secret.txt"'),
    Attack("rename-in", "move a file in", 'mv "$OUT/secret.txt" taken'),
    Attack("rename-in-over", "move a file in over ours", 'mv -f "$OUT/secret.txt" inside.txt'),
    Attack(
        "rename-exchange",
        "renameat2(RENAME_EXCHANGE)",
        "check(libc.renameat2(-100, b'inside.txt', -100, os.fsencode(SECRET), 2))",
        "py",
    ),
    Attack("move-workspace", "rename the workspace itself", 'mv "$WS" "$OUT/ws"'),
    Attack("hard-link-out", "a second name outside for our file", 'ln inside.txt "$OUT/linked"'),
    Attack("hard-link-in", "a second name inside, then write", 'ln "$OUT/secret.txt" h && echo pwned >> h'),
    Attack(
        "tmpfile-link",
        "O_TMPFILE inside, linkat outside",
        "fd = os.open(WS, os.O_TMPFILE | os.O_RDWR, 0o600)\n"
        "check(libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, os.fsencode(OUT + '/new'), 0x400))",
        "py",
    ),
    Attack(
        "tmpfile-outside",
        "O_TMPFILE outside, then linkat",
        "fd = os.open(OUT, os.O_TMPFILE | os.O_RDWR, 0o600)\n"
        "check(libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, os.fsencode(OUT + '/new'), 0x400))",
        "py",
    ),
    # other kinds of files
    Attack("fifo", "a named pipe outside", 'mkfifo "$OUT/fifo"'),
    Attack(
        "socket",
        "a socket file outside",
        "import socket\nsocket.socket(socket.AF_UNIX).bind(OUT + '/socket')",
        "py",
    ),
    Attack("whiteout", "a whiteout, which needs no privilege", 'mknod "$OUT/whiteout" c 0 0'),
    Attack(
        "device-inside",
        "a device node in the workspace",
        "mknod node c 1 3 && echo PWNED",
        na=(("user", errno.EPERM),),
    ),
    Attack(
        "block-device-inside",
        "a node for a disk in the workspace",
        "mknod disk b 7 0 && echo PWNED",
        na=(("user", errno.EPERM),),
    ),
    # processes
    Attack("python", "python -c", "\"$PYTHON\" -I -c \"import os; open(os.environ['OUT'] + '/new', 'w')\""),
    Attack(
        "make",
        "a recipe",
        "printf 'all:\\n\\techo pwned > \"$$OUT/new\"\\n' > Makefile && make -s",
        needs=("make",),
    ),
    Attack(
        "background",
        "a child that left the session",
        "setsid sh -c 'sleep 0.1; echo pwned > \"$OUT/new\"' & wait",
    ),
    Attack("double-fork", "an orphan", "(sh -c 'sleep 0.1; echo pwned > \"$OUT/new\"' &) ; sleep 0.4"),
    Attack("setuid-helper", "a setuid program of root", "../helper ../rootonly/new", needs=("user", "suid")),
    Attack(
        "nested-shells",
        "env, nohup, nice, xargs",
        'echo "$OUT/new" | env -u X nohup nice xargs touch 2>/dev/null',
    ),
    # /proc
    Attack("proc-self-root", "/proc/self/root", 'echo pwned > "/proc/self/root$OUT/new"'),
    Attack("proc-self-cwd", "/proc/self/cwd", "echo pwned > /proc/self/cwd/../out/new"),
    Attack("proc-victim-cwd", "another process's cwd", 'echo pwned > "/proc/$VICTIM/cwd/new"'),
    Attack("proc-victim-root", "another process's root", 'echo pwned > "/proc/$VICTIM/root$OUT/new"'),
    Attack("proc-victim-fd", "another process's descriptor", 'echo pwned > "/proc/$VICTIM/fd/0"'),
    Attack(
        "proc-victim-mem",
        "another process's memory",
        "open(f'/proc/{VICTIM}/mem', 'r+b')\nprint('PWNED')",
        "py",
    ),
    Attack(
        "ptrace",
        "attach to another process",
        "check(libc.ptrace(0x4206, int(VICTIM), 0, 0))\nprint('PWNED')",
        "py",
    ),
    Attack(
        "pidfd-getfd",
        "take another process's descriptor",
        "p = check(libc.syscall(434, int(VICTIM), 0))\nos.write(check(libc.syscall(438, p, 0, 0)), b'pwned')",
        "py",
    ),
    Attack(
        "process-vm-writev",
        "write another process's memory",
        "class V(ctypes.Structure): _fields_ = [('b', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "a = int(open(f'/proc/{VICTIM}/stat').read().rsplit(')', 1)[1].split()[25])  # top of its stack\n"
        "buf = ctypes.create_string_buffer(8)\n"
        "mine, theirs = V(ctypes.addressof(buf), 8), V(a, 8)\n"
        "check(libc.process_vm_readv(int(VICTIM), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))\n"
        "check(libc.process_vm_writev(int(VICTIM), ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))\n"
        "print('PWNED')",
        "py",
    ),
    Attack(
        "core-dump",
        "let the kernel write a core file into the working folder",
        'cd "$OUT" && ulimit -c unlimited && sh -c "kill -SEGV \\$\\$"; test -n "$(ls "$OUT"/core* 2>/dev/null)" && echo PWNED',
        needs=("core",),
    ),
    # descriptors that the caller left open
    Attack(
        "inherited-file", "a writable file", "os.write(int(os.environ['FD']), b'pwned')", "py", inherit="file"
    ),
    Attack("inherited-file-reopened", "the same, by name", 'echo pwned > "/dev/fd/$FD"', inherit="file"),
    Attack(
        "inherited-directory", "openat below a folder", 'echo pwned > "/dev/fd/$FD/new"', inherit="directory"
    ),
    Attack(
        "inherited-fchdir",
        "fchdir into a folder",
        "os.fchdir(int(os.environ['FD']))\nopen('new', 'w')",
        "py",
        inherit="directory",
    ),
    Attack("inherited-handle", "an O_PATH handle, reopened", 'echo pwned > "/dev/fd/$FD"', inherit="handle"),
    # namespaces and root's own ways
    Attack(
        "bind-mount",
        "bind the outside over a folder of ours",
        'unshare -Urm sh -c \'mount --bind "$OUT" "$WS/dir" && echo pwned > "$WS/dir/new"\'',
        needs=("userns",),
    ),
    Attack(
        "tmpfs-over",
        "cover a folder of ours, move the outside in",
        "unshare -Urm sh -c 'mount -t tmpfs none dir && mkdir dir/m && mount --bind \"$OUT\" dir/m && echo > dir/m/new'",
        needs=("userns",),
    ),
    Attack(
        "chroot",
        "make the outside the root",
        "os.chroot(OUT)\nopen('/new', 'w')",
        "py",
        na=(("user", errno.EPERM),),
    ),
    Attack(
        "chroot-userns",
        "the same with a user namespace's rights",
        "check(libc.unshare(0x10000000))\nos.chroot(OUT)\nopen('/new', 'w')",
        "py",
        needs=("userns",),
    ),
    Attack(
        "file-handle",
        "open_by_handle_at",
        "class H(ctypes.Structure): _fields_ = [('n', ctypes.c_uint), ('t', ctypes.c_int), ('b', ctypes.c_ubyte * 128)]\n"
        "h, m = H(128), ctypes.c_int()\n"
        "check(libc.name_to_handle_at(-100, os.fsencode(SECRET), ctypes.byref(h), ctypes.byref(m), 0))\n"
        "mount = os.open(OUT, os.O_RDONLY)\n"
        "os.write(check(libc.open_by_handle_at(mount, ctypes.byref(h), os.O_WRONLY)), b'pwned')",
        "py",
        na=(("user", errno.EPERM),),
    ),
    Attack(
        "file-handle-read",
        "open_by_handle_at, even for reading: it names files no path leads to",
        "class H(ctypes.Structure): _fields_ = [('n', ctypes.c_uint), ('t', ctypes.c_int), ('b', ctypes.c_ubyte * 128)]\n"
        "h, m = H(128), ctypes.c_int()\n"
        "check(libc.name_to_handle_at(-100, os.fsencode(SECRET), ctypes.byref(h), ctypes.byref(m), 0))\n"
        "mount = os.open(OUT, os.O_RDONLY)\n"
        "check(libc.open_by_handle_at(mount, ctypes.byref(h), os.O_RDONLY))\nprint('PWNED')",
        "py",
        na=(("user", errno.EPERM),),
    ),
    Attack(
        "detached-mount",
        "open_tree(CLONE) of the outside, opened through its descriptor",
        "tree = check(libc.syscall(428, -100, os.fsencode(OUT), 1 | 0o2000000))\n"
        "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=tree)",
        "py",
        na=(("user", errno.EPERM),),
    ),
    Attack(
        "kernel-settings",
        "a sysctl",
        "open('/proc/sys/kernel/core_pattern', 'r+').close()\nprint('PWNED')",
        "py",
        na=(("user", errno.EACCES),),
    ),
    Attack(
        "raw-disk",
        "the disk below the file system",
        "os.close(os.open(os.environ['DISK'], os.O_WRONLY))\nprint('PWNED')",
        "py",
        needs=("disk",),
        na=(("user", errno.EACCES),),
    ),
    Attack(
        "kernel-module",
        "load a module (an empty one: ENOEXEC means we were let in)",
        "import errno\n"
        "libc.syscall(175, b'', 0, b'')\n"
        "if ctypes.get_errno() not in (errno.ENOEXEC, errno.EINVAL): check(-1)\n"
        "print('PWNED')",
        "py",
        needs=("modules",),
        na=(("user", errno.EPERM),),
    ),
    *KINDS,
)


class Everyday(NamedTuple):
    """Work that must go on as without a fence: exit status 0, with and without."""

    id: str
    how: str
    language: str = "sh"
    needs: tuple[str, ...] = ()


EVERYDAY = (
    Everyday("read-outside", 'grep -q secret "$OUT/secret.txt" && ls "$OUT" >/dev/null'),
    Everyday(
        "edit", "echo x > new && mv new dir/n && cp dir/n m && rm m && sed -i s/x/y/ dir/n && grep -q y dir/n"
    ),
    Everyday("folders", "mkdir -p a/b && mv a/b c && rmdir c a"),
    Everyday(
        "links", "ln inside.txt dir/hard && ln -s inside.txt soft && mkfifo fifo && rm dir/hard soft fifo"
    ),
    Everyday("metadata", "chmod 700 dir && touch -d 2001-01-01 inside.txt && cp -a dir dir2"),
    Everyday("mktemp", 'mkdir t && f=$(TMPDIR="$WS/t" mktemp) && echo x > "$f"'),
    Everyday("pipes", "seq 100 | sort -R | sort -n | tail -1 | grep -qx 100"),
    Everyday("here-document", 'test "$(cat <<END\nx\nEND\n)" = x'),
    Everyday(
        "process-substitution",
        "diff <(echo a) <(echo a) && echo x | tee >(cat >/dev/null) >/dev/null",
        "bash",
    ),
    Everyday("sinks", "echo x > /dev/null; head -c 8 /dev/urandom > r; cat /dev/null; echo x > /dev/stderr"),
    Everyday("reopen-stdout", "echo x > /dev/stdout; echo y >> /dev/stderr; echo z >> /dev/fd/1"),
    Everyday("job-control", "sleep 5 & kill $! && ! wait $!"),
    Everyday(
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm x && git gc -q && git checkout -qb y",
        needs=("git",),
    ),
    Everyday(
        "make-jobs",
        "printf 'all: a b\\na b:\\n\\t@touch $@\\n' > Makefile && make -s -j4 && test -e b",
        needs=("make",),
    ),
    Everyday(
        "multiprocessing",
        "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]\n    m.Semaphore()",
        "py",
    ),
    Everyday(
        "shared-memory",
        "from multiprocessing.shared_memory import SharedMemory as S\ns = S(create=True, size=8)\ns.buf[0] = 1\ns.close()\ns.unlink()",
        "py",
    ),
    Everyday(
        "socket-file",
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('s')\ns.listen()\nc = socket.socket(socket.AF_UNIX)\nc.connect('s')",
        "py",
    ),
    Everyday(
        "abstract-socket",
        "import socket, os\nn = '\\0rf' + str(os.getpid())\ns = socket.socket(socket.AF_UNIX)\ns.bind(n)\ns.listen()\nc = socket.socket(socket.AF_UNIX)\nc.connect(n)",
        "py",
    ),
    Everyday(
        "loopback",
        "import socket\ns = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(s.getsockname())",
        "py",
    ),
    Everyday(
        "terminal",
        "import pty, sys\nraise SystemExit(pty.spawn(['sh', '-c', 'stty -a >/dev/null && echo x > /dev/tty && test -t 1'], lambda f: __import__('os').read(f, 99)) >> 8)",
        "py",
    ),
    Everyday(
        "sqlite",
        "import sqlite3\nc = sqlite3.connect('d.db')\nc.execute('pragma journal_mode=wal')\nc.execute('create table t(x)')\nc.commit()",
        "py",
    ),
    Everyday(
        "debugger",
        "import subprocess as s, ctypes, signal\np = s.Popen(['sleep', '9'])\nr = ctypes.CDLL(None).ptrace(0x4206, p.pid, 0, 0)\np.kill()\np.wait()\nassert r == 0",
        "py",
    ),
    Everyday("user-namespace", "unshare -U true", needs=("userns",)),
)
