"""More attack rows, by kind of system call. See tests/kernel/attacks.py for the world that they run in."""

from __future__ import annotations

import errno

from tests.kernel.attack_row import Attack

_USER_EPERM = (("user", errno.EPERM),)
_USER_EACCES = (("user", errno.EACCES),)
# Landlock has no right over mode, owner, times and attributes; its report says so under this rule.
_METADATA = (("landlock", "engine.metadata"),)
_HELPERS = (("landlock", "engine.helpers"),)
_OPEN = (("landlock", "engine.helpers"), ("mounts", "engine.helpers"))

_NAMESPACE = (
    "uid, gid = os.getuid(), os.getgid()\n"
    "check(libc.unshare(0x10020000))\n"
    "open('/proc/self/setgroups', 'w').write('deny')\n"
    "open('/proc/self/uid_map', 'w').write(f'0 {uid} 1')\n"
    "open('/proc/self/gid_map', 'w').write(f'0 {gid} 1')\n"
)

CONTENT = (
    Attack("pwrite", "pwrite(2)", "os.pwrite(os.open(SECRET, os.O_WRONLY), b'X', 0)", "py"),
    Attack("writev", "writev(2)", "os.writev(os.open(SECRET, os.O_WRONLY), [b'X', b'Y'])", "py"),
    Attack("pwritev2-append", "pwritev2(RWF_APPEND)", "os.pwritev(os.open(SECRET, os.O_WRONLY), [b'X'], 0, 0x10)", "py"),
    Attack("creat", "creat(2)", "check(libc.creat(os.fsencode(OUT + '/new'), 0o600))", "py"),
    Attack("ftruncate", "ftruncate(2) of a file opened for writing", "os.ftruncate(os.open(SECRET, os.O_RDWR), 1)", "py"),
    Attack("truncate-grow", "truncate(2) to a greater length", "os.truncate(SECRET, 9000)", "py", since=3),
    Attack("fallocate", "fallocate(2)", "check(libc.fallocate(os.open(SECRET, os.O_RDWR), 0, ctypes.c_long(0), ctypes.c_long(9000)))", "py"),
    Attack("fallocate-hole", "fallocate(FALLOC_FL_PUNCH_HOLE)", "check(libc.fallocate(os.open(SECRET, os.O_RDWR), 3, ctypes.c_long(0), ctypes.c_long(4)))", "py"),
    Attack("posix-fallocate", "posix_fallocate(3)", "os.posix_fallocate(os.open(SECRET, os.O_WRONLY), 0, 9000)", "py"),
    Attack("copy-file-range", "copy_file_range(2)", "os.copy_file_range(os.open('inside.txt', 0), os.open(SECRET, os.O_WRONLY), 7)", "py"),
    Attack("sendfile", "sendfile(2) into a file", "os.sendfile(os.open(SECRET, os.O_WRONLY), os.open('inside.txt', 0), 0, 7)", "py"),
    Attack("splice", "splice(2) from a pipe", "r, w = os.pipe()\nos.write(w, b'pwned')\nos.splice(r, os.open(SECRET, os.O_WRONLY), 5)", "py"),
    Attack("vmsplice", "vmsplice(2) into a pipe, then splice", "class V(ctypes.Structure): _fields_ = [('b', ctypes.c_void_p), ('n', ctypes.c_size_t)]\nr, w = os.pipe()\nb = ctypes.create_string_buffer(b'pwned')\ncheck(libc.vmsplice(w, ctypes.byref(V(ctypes.addressof(b), 5)), 1, 0))\nos.splice(r, os.open(SECRET, os.O_WRONLY), 5)", "py"),
    Attack("mmap-fresh", "a shared mapping of a new file", "import mmap\nfd = os.open(OUT + '/new', os.O_RDWR | os.O_CREAT)\nos.ftruncate(fd, 9)\nmmap.mmap(fd, 9)[0:1] = b'X'", "py"),
    Attack("openat2", "openat2(2)", "import struct\nh = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o600, 0)\ncheck(libc.syscall(437, -100, os.fsencode(OUT + '/new'), h, ctypes.c_long(24)))", "py"),
    Attack("openat-folder", "openat(2) below a folder opened for reading", "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("fchdir-own", "fchdir(2) into a folder opened for reading", "os.fchdir(os.open(OUT, os.O_RDONLY))\nopen('new', 'w')", "py"),
    Attack("path-handle", "an O_PATH handle of one's own, reopened", "open('/proc/self/fd/%d' % os.open(SECRET, os.O_PATH), 'w')", "py"),
    Attack("read-handle", "a file opened for reading, reopened for writing", "open('/proc/self/fd/%d' % os.open(SECRET, os.O_RDONLY), 'a').write('X')", "py"),
    Attack("thread", "from a second thread", "import threading\nt = threading.Thread(target=lambda: open(OUT + '/new', 'w'))\nt.start()\nt.join()", "py"),
    Attack("io-uring-open", "IORING_OP_OPENAT, which no system call filter sees", "import mmap, struct\np = ctypes.create_string_buffer(120)\nfd = check(libc.syscall(425, 4, p))\nw = struct.unpack('30I', p.raw)\nring = mmap.mmap(fd, w[16] + 64, offset=0)\nsqes = mmap.mmap(fd, 4 * 64, offset=0x10000000)\nname = ctypes.create_string_buffer(os.fsencode(OUT + '/new'))\nsqes[:64] = struct.pack('<BBHiQQIIQHHiQQ', 18, 0, 0, -100, 0, ctypes.addressof(name), 0o600, os.O_CREAT | os.O_WRONLY, 1, 0, 0, 0, 0, 0)\nstruct.pack_into('I', ring, w[16], 0)\nstruct.pack_into('I', ring, w[11], 1)\ncheck(libc.syscall(426, fd, 1, 1, 1, None, ctypes.c_long(0)))", "py"),
    Attack("memory-file", "a program that never lay on a disk", "fd = os.memfd_create('x', 0)\nos.write(fd, b'#!/bin/sh\\necho pwned > \"$OUT/new\"\\n')\nos.execve('/proc/self/fd/%d' % fd, ['x'], dict(os.environ))", "py"),
    Attack("compiled", "a program compiled just now", "printf 'int creat(const char*,int); char*getenv(const char*); int main(){creat(getenv(\"T\"),384);return 0;}' > c.c && cc -o c c.c && T=\"$OUT/new\" ./c", needs=("cc",)),
    Attack("perl", "perl", "perl -e 'open(F, \">$ENV{OUT}/new\") or die $!'", needs=("perl",)),
    Attack("awk", "awk's own redirection", "awk 'BEGIN { print 1 > (ENVIRON[\"OUT\"] \"/new\") }'"),
    Attack("node", "node", "node -e 'require(\"fs\").writeFileSync(process.env.OUT + \"/new\", \"\")'", needs=("node",)),
    Attack("sqlite", "a database outside", "import sqlite3\nc = sqlite3.connect(OUT + '/new')\nc.execute('create table t(x)')\nc.commit()", "py"),
    Attack("exec-redirection", "exec 3>, then the descriptor", 'exec 3> "$OUT/new" && echo pwned >&3'),
    Attack("split", "names made by the program", 'split -b 2 inside.txt "$OUT/part-"'),
    Attack("sort-output", "an option that names the output", 'sort -o "$OUT/secret.txt" inside.txt'),
    Attack("install", "install -D", 'install -D inside.txt "$OUT/a/b"'),
    Attack("patch", "a patch that climbs", "printf -- '--- a\\n+++ b\\n@@ -1 +1 @@\\n-secret\\n+pwned\\n' | patch -s \"$OUT/secret.txt\"", needs=("patch",)),
    Attack("shell-start-up", "the user's shell start-up file", 'echo evil >> "$HOME/.bashrc"'),
    Attack("authorized-keys", "ssh's authorized_keys", 'mkdir -p "$HOME/.ssh" && echo evil >> "$HOME/.ssh/authorized_keys"'),
    Attack("user-service", "a unit of the user's service manager", 'mkdir -p "$HOME/.config/systemd/user" && echo evil > "$HOME/.config/systemd/user/a.service"'),
    Attack("git-global", "git config --global", "git config --global core.hooksPath /x", needs=("git",)),
    Attack("cron-spool", "the system's cron folder", "os.open('/etc/cron.d', os.O_TMPFILE | os.O_WRONLY, 0o600)\nprint('PWNED')", "py", needs=("cron",), na=_USER_EACCES),
    Attack("cron-spool-user", "the spool of crontab and at", "os.open('/var/spool', os.O_TMPFILE | os.O_WRONLY, 0o600)\nprint('PWNED')", "py", na=_USER_EACCES),
)  # fmt: skip

NAMES = (
    Attack("mknod-file", "mknod(2) of an ordinary file", "os.mknod(OUT + '/new', 0o100600)", "py"),
    Attack("mkfifo-at", "mkfifoat(2) below a descriptor", "os.mkfifo('new', dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("char-device", "a character device outside", "os.mknod(OUT + '/new', 0o020600, os.makedev(1, 3))", "py", na=_USER_EPERM),
    Attack("block-device", "a block device outside", "os.mknod(OUT + '/new', 0o060600, os.makedev(7, 0))", "py", na=_USER_EPERM),
    Attack("mkdir-at", "mkdirat(2) below a descriptor", "os.mkdir('new', dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("symlink-at", "symlinkat(2) below a descriptor", "os.symlink('x', 'new', dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("unlink-at", "unlinkat(2) below a descriptor", "os.unlink('secret.txt', dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("rmdir-at", "unlinkat(AT_REMOVEDIR)", "os.rmdir('empty', dir_fd=os.open(OUT, os.O_RDONLY))", "py"),
    Attack("rename-noreplace", "renameat2(RENAME_NOREPLACE)", "check(libc.renameat2(-100, b'inside.txt', -100, os.fsencode(OUT + '/new'), 1))", "py"),
    Attack("rename-folder-out", "move our folder out", 'mv dir "$OUT/new"'),
    Attack("rename-folder-over", "move our folder over an empty one outside", "open('dir/x', 'w')\nos.rename('dir', OUT + '/empty')", "py"),
    Attack("rename-folder-in", "move a folder in", 'mv "$OUT/dir" taken'),
    Attack("rename-folder-exchange", "exchange two folders", "check(libc.renameat2(-100, b'dir', -100, os.fsencode(OUT + '/dir'), 2))", "py"),
    Attack("rename-neighbour", "rename the neighbour itself", 'mv "$OUT" "$OUT-away"'),
    Attack("rename-whiteout", "renameat2(RENAME_WHITEOUT) outside", "check(libc.renameat2(-100, os.fsencode(SECRET), -100, os.fsencode(OUT + '/new'), 4))", "py"),
    Attack("workspace-exchanged", "put a link in the workspace's place", 'mv "$WS" "$WS-away" && ln -s "$OUT" "$WS"'),
    Attack("workspace-removed", "remove the workspace and what it stands in", 'rm -rf "$WS" "$OUT"'),
    Attack("link-by-descriptor", "linkat(AT_SYMLINK_FOLLOW) of an open file", "fd = os.open(SECRET, os.O_RDONLY)\ncheck(libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'h', 0x400))", "py"),
    Attack("link-beside", "a second name outside for a file outside", 'ln "$OUT/secret.txt" "$OUT/new"'),
    Attack("socket-relative", "bind(2) relative to a folder outside", "import socket\nos.chdir(OUT)\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind('new')", "py"),
)  # fmt: skip

METADATA = (
    Attack("chmod", "chmod(2)", 'chmod 600 "$OUT/secret.txt" && chmod 640 "$OUT/secret.txt"', open_in=_METADATA),
    Attack("fchmod", "fchmod(2) of a file opened for reading", "os.fchmod(os.open(SECRET, os.O_RDONLY), 0o640)", "py", open_in=_METADATA),
    Attack("chmod-through-link", "through a link of ours", "chmod 640 filelink", open_in=_METADATA),
    Attack("chmod-setuid", "the setuid bit", 'chmod 4755 "$OUT/secret.txt"', open_in=_METADATA),
    Attack("chmod-folder", "the mode of a folder", 'chmod 711 "$OUT/dir"', open_in=_METADATA),
    Attack("chown", "chown(2)", 'chown 12:12 "$OUT/secret.txt"', na=_USER_EPERM, open_in=_METADATA),
    Attack("lchown", "lchown(2) of a link outside", "os.lchown(OUT + '/dir', 12, 12)", "py", na=_USER_EPERM, open_in=_METADATA),
    Attack("touch-times", "utimensat(2)", 'touch -d 2001-01-01 "$OUT/secret.txt"', open_in=_METADATA),
    Attack("futimens", "futimens(3) of a file opened for reading", "os.utime(os.open(SECRET, os.O_RDONLY), (1, 1))", "py", open_in=_METADATA),
    Attack("xattr", "setxattr(2)", "os.setxattr(SECRET, 'user.evil', b'1')", "py", needs=("xattr",), open_in=_METADATA),
    Attack("fsetxattr", "fsetxattr(2) of a file opened for reading", "os.setxattr(os.open(SECRET, os.O_RDONLY), 'user.evil', b'1')", "py", needs=("xattr",), open_in=_METADATA),
    Attack("file-capability", "a file capability", "import struct\nos.setxattr(SECRET, 'security.capability', struct.pack('<5I', 0x02000000, 1 << 21, 0, 0, 0))", "py", needs=("xattr",), na=_USER_EPERM, open_in=_METADATA),
    Attack("trusted-xattr", "an attribute only root may set", "os.setxattr(SECRET, 'trusted.evil', b'1')", "py", needs=("xattr",), na=_USER_EPERM),
    Attack("acl", "an access control list", "import struct\nacl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', t, p, i) for t, p, i in ((1, 6, 0xFFFFFFFF), (2, 6, 12), (4, 4, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF), (32, 4, 0xFFFFFFFF)))\nos.setxattr(SECRET, 'system.posix_acl_access', acl)", "py", needs=("acl",), open_in=_METADATA),
    Attack("inode-flags", "ioctl(FS_IOC_SETFLAGS)", "import fcntl\nfd = os.open(SECRET, os.O_RDONLY)\nf = ctypes.c_long()\ncheck(libc.ioctl(fd, ctypes.c_ulong(0x80086601), ctypes.byref(f)))\nf.value ^= 0x40\ncheck(libc.ioctl(fd, ctypes.c_ulong(0x40086602), ctypes.byref(f)))\nprint('PWNED')", "py", needs=("inode-flags",), open_in=_METADATA),
)  # fmt: skip

PROCESSES = (
    Attack("job-after-the-call", "a background job after the call has ended", '(sleep 0.3; echo pwned > "$OUT/new") >/dev/null 2>&1 &', settle=0.8),
    Attack("daemon", "a daemon after the call has ended", "if os.fork() or (os.setsid() and os.fork()): os._exit(0)\nimport time\nos.close(1), os.close(2)\ntime.sleep(0.3)\nopen(OUT + '/new', 'w')", "py", settle=0.8),
    Attack("nohup", "nohup", "nohup sh -c 'sleep 0.3; echo pwned > \"$OUT/new\"' >/dev/null 2>&1 &", settle=0.8),
    Attack("ptrace-attach", "PTRACE_ATTACH, which stops it", "check(libc.ptrace(16, int(VICTIM), 0, 0))\nprint('PWNED')", "py"),
    Attack("proc-victim-task", "another process's folder by its thread", 'echo pwned > "/proc/$VICTIM/task/$VICTIM/cwd/new"'),
    Attack("setns-mounts", "setns(2) into the mounts outside", "check(libc.setns(os.open(f'/proc/{VICTIM}/ns/mnt', os.O_RDONLY), 0x20000))\nopen(OUT + '/new', 'w')", "py", na=_USER_EPERM),
    Attack("setns-user", "setns(2) into the user namespace outside", "_ = os.open(f'/proc/{VICTIM}/ns/user', os.O_RDONLY)\ncheck(libc.setns(os.open(f'/proc/{VICTIM}/ns/mnt', os.O_RDONLY), 0))\nopen(OUT + '/new', 'w')", "py", na=_USER_EPERM),
    Attack("setns-pidfd", "the same by a process descriptor", "check(libc.setns(os.pidfd_open(int(VICTIM)), 0x20000))\nopen(OUT + '/new', 'w')", "py", na=_USER_EPERM),
    Attack("accounting", "process accounting into a file outside", "check(libc.acct(os.fsencode(SECRET)))\nlibc.acct(None)\nprint('PWNED')", "py", na=(("user", errno.EPERM), ("any", errno.ENOSYS))),
    Attack("kernel-settings-sysfs", "a setting in /sys", "open('/sys/kernel/mm/transparent_hugepage/enabled', 'r+').close()\nprint('PWNED')", "py", needs=("hugepages",), na=_USER_EACCES),
    Attack("sysrq", "the machine's emergency key", "open('/proc/sysrq-trigger', 'w').close()\nprint('PWNED')", "py", needs=("sysrq",), na=_USER_EACCES),
    Attack("typing", "TIOCSTI: typing into the caller's terminal", "import fcntl, termios\nos.setsid()\nfcntl.ioctl(int(os.environ['FD']), termios.TIOCSCTTY, 0)\nfcntl.ioctl(int(os.environ['FD']), termios.TIOCSTI, b'x')\nprint('PWNED')", "py", inherit="terminal", na=(("user", errno.EIO),)),
    Attack("console-paste", "TIOCLINUX: pasting into a console", "import fcntl\nfcntl.ioctl(int(os.environ['FD']), 0x541C, b'\\3')\nprint('PWNED')", "py", inherit="terminal", na=(("any", errno.ENOTTY),)),
)  # fmt: skip

LETTERS = (
    Attack("letter-folder", "a folder's descriptor that waits in an inherited socket", "import socket\ns = socket.socket(fileno=int(os.environ['FD']))\n_, fds, _, _ = socket.recv_fds(s, 1, 2)\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=fds[0])", "py", inherit="letter"),
    Attack("letter-file", "a file's descriptor, open for writing, that waits there", "import socket\ns = socket.socket(fileno=int(os.environ['FD']))\n_, fds, _, _ = socket.recv_fds(s, 1, 2)\nos.write(fds[1], b'pwned')", "py", inherit="letter", open_in=(("landlock", "-"), ("mounts", "-"))),
    Attack("container-engine", "a container engine that DOCKER_HOST names", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['HELPER'])\ns.sendall(b'x')\ns.recv(1)", "py", inherit="engine", open_in=_HELPERS),
    Attack("unknown-helper", "a helper on a socket that no table knows", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['HELPER'])\ns.sendall(b'x')\ns.recv(1)", "py", inherit="helper", open_in=_OPEN),
    Attack("abstract-helper", "a helper on an abstract socket", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['HELPER'][1:])\ns.sendall(b'x')\ns.recv(1)", "py", inherit="abstract", since=6),
    Attack("abstract-courier", "a helper there that hands over descriptors", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['HELPER'][1:])\n_, fds, _, _ = socket.recv_fds(s, 1, 2)\nos.write(fds[1], b'pwned')", "py", inherit="courier", since=6),
)  # fmt: skip

NAMESPACES = (
    Attack("mount-by-root", "a mount namespace of root's", "unshare -m sh -c 'mount --bind \"$OUT\" \"$WS/dir\" && echo pwned > \"$WS/dir/new\"'", na=_USER_EPERM),
    Attack("pivot-root", "pivot_root(2) into the outside", "unshare -Urm sh -c 'mount --bind \"$OUT\" \"$OUT\" && cd \"$OUT\" && pivot_root . dir && echo pwned > /new'", needs=("userns",)),
    Attack("overlay-upper", "an overlay whose changes land outside", "unshare -Urm sh -c 'mkdir m && mount -t overlay -o \"lowerdir=dir,upperdir=$OUT/dir,workdir=$OUT/empty\" none m && echo pwned > m/new'", needs=("overlay",)),
    Attack("open-tree", "open_tree(CLONE) in a namespace of one's own", _NAMESPACE + "tree = check(libc.syscall(428, -100, os.fsencode(OUT), 1 | 0o2000000))\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=tree)", "py", needs=("userns",)),
    Attack("move-mount", "open_tree(CLONE) and move_mount(2) over a folder of ours", _NAMESPACE + "tree = check(libc.syscall(428, -100, os.fsencode(OUT), 1 | 0o2000000))\ncheck(libc.syscall(429, tree, b'', -100, b'dir', 4))\nopen('dir/new', 'w')", "py", needs=("userns",)),
    Attack("open-tree-attr", "open_tree_attr(2), Linux 6.15: a writable copy", _NAMESPACE + "import struct\na = struct.pack('QQQQ', 0, 1, 0, 0)\ntree = check(libc.syscall(467, -100, os.fsencode(OUT), 1 | 0o2000000, a, ctypes.c_long(32)))\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=tree)", "py", needs=("userns",), na=(("any", errno.ENOSYS),)),
    Attack("mount-setattr", "mount_setattr(2) on a copy, then write", _NAMESPACE + "import struct\na = struct.pack('QQQQ', 0, 1, 0, 0)\ntree = check(libc.syscall(428, -100, os.fsencode(OUT), 1 | 0o2000000))\ncheck(libc.syscall(442, tree, b'', 0x1000, a, ctypes.c_long(32)))\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=tree)", "py", needs=("userns",)),
    Attack("fsopen-overlay", "the new mount calls: an overlay made by fsopen(2)", _NAMESPACE + "fs = check(libc.syscall(430, b'overlay', 0))\nfor k, v in ((b'lowerdir', os.fsencode(WS + '/dir')), (b'upperdir', os.fsencode(OUT + '/dir')), (b'workdir', os.fsencode(OUT + '/empty'))):\n    check(libc.syscall(431, fs, 1, k, v, 0))\ncheck(libc.syscall(431, fs, 6, None, None, 0))\nm = check(libc.syscall(432, fs, 0, 0))\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=m)", "py", needs=("overlay",)),
    Attack("clone-namespace", "clone(2) instead of unshare(2)", "unshare -Ur --fork --mount-proc --pid sh -c 'mount --bind \"$OUT\" dir && echo pwned > dir/new'", needs=("userns",)),
    Attack("chroot-descriptor", "out of a chroot by a descriptor kept", "fd = os.open(OUT, os.O_RDONLY)\nos.chroot('dir')\nos.fchdir(fd)\nopen('new', 'w')", "py", na=_USER_EPERM),
)  # fmt: skip

KINDS = (*CONTENT, *NAMES, *METADATA, *PROCESSES, *LETTERS, *NAMESPACES)
