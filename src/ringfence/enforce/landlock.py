"""The landlock engine: put this process under a plan, for good. Called in the child, before exec."""

from __future__ import annotations

import errno
import posix
import sys

from ringfence.errors import KernelCallError
from ringfence.kernel import descriptors, landlock, libc, privileges, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.enforce.plan import LandlockPlan, PathGrant
    from ringfence.model import EnforcementReport

_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS = 0x02, 0x04
_O_PATH = 0o10000000
_TYPE_MASK, _DIRECTORY = 0o170000, 0o040000

_LOST = {
    errno.ENOENT: "it vanished after the plan was made",
    errno.ELOOP: "a symbolic link has taken the place of a folder on its way",
    errno.ENOTDIR: "a file has taken the place of a folder on its way",
    errno.EACCES: "we may not reach it ourselves",
    errno.EBADFD: "it is not on a file system that Landlock can watch",
}


def confine_self(plan: LandlockPlan) -> EnforcementReport:
    """Enter the plan's domain and return what really holds; from here on every exec stays in it.

    Descriptors that would cross the fence are closed. A grant that cannot be made any more leaves the fence
    tighter than planned, never wider: it is left out and named in the report's notes.
    Raises KernelCallError if the kernel refuses the fence itself; the caller must then run nothing.
    """
    notes = [
        f"closed inherited descriptor {leak.descriptor}: {leak.what}"
        for leak in descriptors.close_leaks(plan.writable, plan.read_only)
    ]
    landlock.no_new_privs()
    privileges.drop_root_powers()
    ruleset = landlock.create_ruleset(plan.abi, plan.handled, plan.scoped)
    try:
        for grant in plan.grants:
            lost = _add(ruleset, grant)
            if lost:
                notes.append(f"not granted: {grant.path}: {lost}")
        _add_redirections(ruleset, plan.handled)
        landlock.restrict_self(ruleset)
    except KernelCallError as failed:
        if failed.errno == errno.E2BIG:
            failed.hint = "sixteen fences are nested already: start fewer ringfence processes in one another"
        raise
    finally:
        posix.close(ruleset)
    if plan.refuse_terminal_input:
        seccomp.install(seccomp.TERMINAL_INPUT)
    return plan.report._replace(notes=(*plan.report.notes, *notes))


def _add(ruleset: int, grant: PathGrant) -> str:
    """Grant it, or say why not ("" also for a fixed system place that this machine does not have)."""
    try:
        descriptor = _open(grant)
    except (KernelCallError, OSError) as failed:
        if grant.system:
            return ""
        number = failed.errno or errno.EIO
        if number in {errno.ENOSYS, errno.EPERM} and isinstance(failed, KernelCallError):
            raise  # openat2 itself is hidden: every grant would be lost, and that is no fence to work in
        return _LOST.get(number, errno.errorcode.get(number, str(number)))
    try:
        is_folder = posix.fstat(descriptor).st_mode & _TYPE_MASK == _DIRECTORY
        rights = grant.rights if is_folder else grant.rights & landlock.FILE_RIGHTS
        if rights:
            landlock.add_path(ruleset, descriptor, rights, grant.path)
    except KernelCallError as failed:
        if failed.errno != errno.EBADFD:
            raise
        return _LOST[errno.EBADFD]
    finally:
        posix.close(descriptor)
    return ""


def _open(grant: PathGrant) -> int:
    """A handle on the very path that was planned.

    A granted path is physical, so a link on its way was put there since, perhaps by an earlier fenced program
    that could write the folder above: following it would grant whatever it points at. openat2 (Linux 5.6) is
    older than Landlock. Places of the system are root's own, and some are links (/bin, /dev/shm).
    """
    flags = _O_PATH | posix.O_CLOEXEC
    if grant.system:
        return posix.open(grant.path, flags)
    # struct open_how: u64 flags, mode, resolve.
    resolve = _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    how = b"".join(word.to_bytes(8, sys.byteorder) for word in (flags, 0, resolve))
    path = grant.path.encode("utf-8", "surrogateescape")
    return libc.call("openat2", _AT_FDCWD, path, how, len(how), doing=f"opening {grant.path} to grant it")


def _add_redirections(ruleset: int, handled: int) -> None:
    """Let /dev/stdout and /dev/stderr be reopened where the caller redirected them into files.

    Scripts write `> /dev/stderr` everywhere. The caller already handed over these files open for writing, so
    the program gains nothing but the way in by name.
    """
    rights = (landlock.WRITE_FILE | landlock.TRUNCATE) & handled
    for number in descriptors.STANDARD:
        if descriptors.reopenable(number):
            try:
                landlock.add_path(ruleset, number, rights, f"/dev/fd/{number}")
            except KernelCallError as failed:
                if failed.errno != errno.EBADFD:  # a memfd or the like needs no grant
                    raise
