"""The attacker's toolbox: what a shell cannot say. `python mounts_tool.py VERB ARG...`; exit 0 = done."""

import ctypes
import os
import socket
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    result = LIBC.syscall(
        ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args)
    )
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def bind(path):
    socket.socket(socket.AF_UNIX).bind(path)


def ask(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect("\0" + path[1:] if path.startswith("@") else path)
    client.sendall(b"write")
    client.recv(1)


def tmpfile(folder, name):
    fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY)
    if LIBC.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, name.encode(), 0x400) == -1:
        raise OSError(ctypes.get_errno(), "linkat")


def xattr(path):
    os.setxattr(path, "user.evil", b"1")


def has_xattr(path):
    os.getxattr(path, "user.evil")


def fchdir(fd, name):
    os.fchdir(int(fd))
    write(name)


def pipe(path):
    os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"evil")


def open_rw(path):
    os.close(os.open(path, os.O_RDWR))


def open_ro(path):
    os.close(os.open(path, os.O_RDONLY))


def poke(pid):
    """Write one byte of another process's memory: the byte that is there already."""
    with open(f"/proc/{pid}/maps") as maps:
        start = next(int(line.split("-")[0], 16) for line in maps if " rw" in line)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        byte = memory.read(1)
        memory.seek(start)
        memory.write(byte)


def exchange(one, other):
    if LIBC.renameat2(-100, one.encode(), -100, other.encode(), 2) == -1:
        raise OSError(ctypes.get_errno(), "renameat2")


def by_handle(path, mount):
    handle = ctypes.create_string_buffer(8 + 128)
    struct.pack_into("II", handle, 0, 128, 0)
    identity = ctypes.c_int()
    if LIBC.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(identity), 0) == -1:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    fd = LIBC.open_by_handle_at(os.open(mount, os.O_RDONLY), handle, os.O_WRONLY | os.O_TRUNC)
    if fd == -1:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    os.write(fd, b"evil")


def setattr_rw(path):
    attr = struct.pack("QQQQ", 0, 1, 0, 0)
    call(442, -100, path.encode(), 0x8000, attr, len(attr))


def clone_write(tree, name):
    """Copy the mount of `tree` without those on it, and write below the copy."""
    fd = call(428, -100, tree.encode(), 1)
    with open(f"/proc/self/fd/{fd}/{name}", "w") as out:
        out.write("evil")


def nested(verb, *args):
    """The verb as root of a user and mount namespace of one's own."""
    uid, gid = os.getuid(), os.getgid()
    if LIBC.unshare(0x10000000 | 0x20000) == -1:
        raise OSError(ctypes.get_errno(), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"0 {uid} 1")
    write("/proc/self/gid_map", f"0 {gid} 1")
    run(verb, *args)


def nested_write(path):
    nested("write", path)


def ring():
    """Set up an io_uring: what it is asked to do no filter sees."""
    call(425, 2, ctypes.create_string_buffer(120))


def rename(old, new):
    os.rename(old, new)


def umount(path):
    if LIBC.umount2(path.encode(), 2) == -1:
        raise OSError(ctypes.get_errno(), "umount2")


def write(path, text="evil"):
    with open(path, "w") as file:
        file.write(text)


def compat_umount(path):
    """umount2(2) by its 32-bit number through int 0x80: a filter that knows one table only would miss it."""
    import mmap

    low = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)  # MAP_32BIT
    low.write(path.encode() + b"\0")
    base = ctypes.addressof(ctypes.c_char.from_buffer(low))
    code = (
        b"\x53\xb8" + struct.pack("<I", 52) + b"\xbb" + struct.pack("<I", base) + b"\x31\xc9\xcd\x80\x5b\xc3"
    )
    low.seek(2048)
    low.write(code)
    result = ctypes.CFUNCTYPE(ctypes.c_int)(base + 2048)()
    if result:
        raise OSError(-result, "umount2 through int 0x80")


def wheel(folder):
    """A wheel of one empty module."""
    import zipfile

    info = "tiny-1.dist-info"
    with zipfile.ZipFile(f"{folder}/tiny-1-py3-none-any.whl", "w") as made:
        made.writestr("tiny.py", "")
        made.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        made.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{info}/RECORD", "tiny.py,,\n")


def run(verb, *args):
    verbs = {
        function.__name__.replace("_", "-"): function
        for function in (
            bind, ask, tmpfile, xattr, has_xattr, fchdir, pipe, open_rw, open_ro, poke, exchange, by_handle, setattr_rw,
            clone_write, nested, nested_write, write, rename, umount, ring, wheel, compat_umount,
        )
    }  # fmt: skip
    verbs[verb](*args)


if __name__ == "__main__":
    try:
        run(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
