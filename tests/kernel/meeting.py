"""What an attack starts with, or meets: descriptors that its caller left open, and helpers that listen outside."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import threading


@contextlib.contextmanager
def met(kind, base):
    """(descriptors to pass, more environment) for an attack row's `inherit`; all gone afterwards.

    file, directory, handle   a descriptor on $OUT/secret.txt (for writing), on $OUT, an O_PATH one on the file
    terminal                  a terminal of the caller's
    letter                    a socket whose other end sent a descriptor on $OUT and one on the file, FD is its number
    engine                    a container engine: DOCKER_HOST names its socket, and it writes outside when asked
    helper                    the same on a socket that nothing names but $HELPER
    abstract, courier         the same on an abstract socket; a helper there that hands over a descriptor on $OUT
    """
    with contextlib.ExitStack() as stack:
        if kind in _OPENED:
            name, flags = _OPENED[kind]
            fd = os.open(f"{base}/{name}", flags)
            stack.callback(os.close, fd)
            yield (fd,), {"FD": str(fd)}
        elif kind == "terminal":
            ours, theirs = pty.openpty()
            stack.callback(os.close, ours)
            stack.callback(os.close, theirs)
            yield (theirs,), {"FD": str(theirs)}
        elif kind == "letter":
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            stack.enter_context(theirs)
            _send_descriptors(ours, base)
            yield (theirs.fileno(),), {"FD": str(theirs.fileno())}
        elif kind:
            yield (), stack.enter_context(_helper(kind, base))
        else:
            yield (), {}


_OPENED = {
    "file": ("out/secret.txt", os.O_RDWR),
    "directory": ("out", os.O_RDONLY),
    "handle": ("out/secret.txt", os.O_PATH),
}


def _send_descriptors(channel, base):
    folder, file = os.open(f"{base}/out", os.O_RDONLY), os.open(f"{base}/out/secret.txt", os.O_RDWR)
    try:
        socket.send_fds(channel, [b"."], [folder, file])
    finally:
        os.close(folder)
        os.close(file)


@contextlib.contextmanager
def _helper(kind, base):
    """A server outside the fence that does what it is asked, as container engines and session buses do."""
    address = f"\0ringfence-{base}" if kind in {"abstract", "courier"} else f"{base}/out/{kind}.sock"
    env = {"HELPER": address.replace("\0", "@")}
    if kind == "engine":
        env["DOCKER_HOST"] = f"unix://{address}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        if not address.startswith("\0"):
            os.chmod(address, 0o777)
        server.listen()
        thread = threading.Thread(target=_serve, args=(server, kind, base), daemon=True)
        thread.start()
        try:
            yield env
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            if not address.startswith("\0"):
                os.unlink(address)


def _serve(server, kind, base):
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            with client:
                if kind == "courier":
                    _send_descriptors(client, base)
                    client.recv(1)
                elif client.recv(16):
                    with open(f"{base}/out/secret.txt", "a", encoding="utf-8") as out:
                        out.write("by helper\n")
                    client.sendall(b".")
