"""Every type that crosses a door between rooms. Frozen; methods only derive.

Paths are `str` holding UTF-8 with undecodable bytes as lone surrogates (PEP 383, `surrogateescape`),
whatever the locale, because agents write UTF-8 whatever the locale.
"""

from __future__ import annotations

from ringfence.records import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def shown(path: str) -> str:
    """A path that cannot fool a terminal or a log: control characters, odd bytes and blanks at the ends escaped."""
    if path and path.isprintable() and path == path.strip():
        return path
    out = []
    for char in path:
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif char.isprintable():
            out.append("\\\\" if char == "\\" else char)
        else:
            out.append(char.encode("unicode_escape").decode("ascii"))
    return "'" + "".join(out) + "'"


class Op(Choice):
    """What would be done to a path. All but READ are writes for the fence."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    LINK = "link"
    METADATA = "metadata"


class Verdict(Choice):
    """ALLOW, ASK (a person, or the policy's `unattended` answer) or DENY."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Access(Choice):
    """What a zone grants below its root: nothing, reading, or everything."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


class ZoneKind(Choice):
    """Where a zone comes from; it shapes the message and the engine's work, never the comparison."""

    WORKSPACE = "workspace"
    PROTECT = "protect"
    GUARD = "guard"
    ZONE = "zone"
    TEMP = "temp"
    CACHE = "cache"
    SCRATCH = "scratch"
    OWN = "own"


class Audience(Choice):
    """Whom a rule is for: every door; only programs that an engine holds (git in a linked worktree); or only file
    tools and the paths that a command's text names, because programs write there every day (git its own config)."""

    ALL = "all"
    PROGRAMS = "programs"
    TEXT = "text"


class Mode(Choice):
    """What a session may use. SAFE: no shell, edits inside the workspace; POWER: a shell too, fenced to it."""

    SAFE = "safe"
    POWER = "power"


class Lane(Choice):
    """What a session is for. FULL: the whole tool set, the fence is the boundary; REVIEWER: edit tools denied, the
    shell kept because the gate must be run again, and nothing that it writes lands."""

    FULL = "full"
    REVIEWER = "reviewer"


class Posture(Choice):
    """Whether a person may approve a call while the session runs."""

    ATTENDED = "attended"
    UNATTENDED = "unattended"


class Strength(Choice):
    """What holds a rule while a program runs."""

    KERNEL = "kernel"
    HOOK = "hook"
    AFTER = "after the fact"
    NOT_HERE = "not here"


STRENGTH_ORDER: Mapping[Strength, int] = {
    Strength.KERNEL: 3,
    Strength.AFTER: 2,
    Strength.HOOK: 1,
    Strength.NOT_HERE: 0,
}


# What programs may always read, and all that they may read outside under `shell_reads = "system"`.
SYSTEM_PREFIXES = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/snap", "/proc", "/sys", "/dev",
    # Below /run and /var only what resolvers, loaders and package tools read; the rest is others' state.
    "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system",
    "/run/wrappers", "/run/opengl-driver", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
)  # fmt: skip


# Kinds of helpers outside that would write on a program's behalf; enforce/control_sockets.py has the sockets of each.
# Hidden by the mounts engine unless the policy says `unguard = ["helper-docker"]`.
HELPERS = (
    "docker", "podman", "containerd", "machines", "service-manager", "system-bus", "session-bus", "multiplexers",
    "terminals", "editors", "display", "nix", "agents",
)  # fmt: skip
HELPER_GUARD = "helper-"


class Rule(Record):
    """What decided. `source` is a file, a flag, an environment key or "built in"; `line` is 1-based, 0 = none."""

    id: str
    source: str
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where} ({self.id})"


class Zone(Record):
    """One root and one access. `root` is absolute and physical (resolved when the policy was loaded)."""

    root: str
    access: Access
    kind: ZoneKind
    rule: Rule
    audience: Audience = Audience.ALL


class Glob(Record):
    """A zone that is a pattern below `base`: `**/` any depth, `*` and `?` within one component.

    `parts` are the components after a leading `**` (if `deep`); the match ends at a component, and everything
    below a matching folder belongs to it. `exact`: only the entry itself, not what lies below it (a `.git` pointer).
    """

    base: str
    deep: bool
    parts: tuple[str, ...]
    access: Access
    kind: ZoneKind
    rule: Rule
    exact: bool = False
    audience: Audience = Audience.ALL


class Folders(Record):
    """Where ringfence keeps its own things, absolute. None of them may be written by an agent."""

    config: str
    state: str
    cache: str
    runtime: str


class Worktree(Record):
    """A workspace that is a linked worktree: programs may run git in it (docs/adr/0008). All paths physical.

    Read once when the policy is loaded, from files that no agent can have changed: `git_dir` is its own folder below
    `worktrees/` of `common_dir`, and both were found to point at each other and at the workspace.
    """

    workspace: str
    git_dir: str
    common_dir: str


class Policy(Record):
    """A compiled policy. Nothing in it is read again from text that an agent could have changed since."""

    workspace: tuple[str, ...]
    restricted: bool
    zones: tuple[Zone, ...]
    globs: tuple[Glob, ...]
    reads: str  # "workspace" | "anywhere": file and search tools
    shell_reads: str  # "anywhere" | "system": what a program may read under an engine
    opaque: Verdict
    unattended: Verdict
    minimum: Strength
    strict: bool
    temp: str  # "private" | "shared" | "none"
    caches: str  # "private" | "shared" | "none"
    git_config: str  # "vet" | "guard" | "open"
    folders: Folders
    default: Rule
    notes: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()  # of HELPERS: those whose sockets stay open
    worktrees: tuple[Worktree, ...] = ()


class Surroundings(Record):
    """What a call stands in, captured once at the door. `home` None: HOME unset; nothing is guessed."""

    cwd: str
    home: str | None


class Located(Record):
    """Where a path really lands. `path` is physical; a missing tail is kept in it.

    `folded` is the second reading of `..` behind a missing component, "" when both readings agree.
    `links` is st_nlink of a regular file, 0 for anything else. `magic` names the procfs or /dev/fd door the path
    went through ("" for none): such names mean different things in checker and writer.
    """

    path: str
    exists: bool
    is_dir: bool
    links: int
    dev: int
    ino: int
    sink: bool
    magic: str
    folded: str = ""


class Unresolved(Record):
    """A path that no system call would reach, or that means nothing here. `code` is `invalid.*`."""

    code: str
    why: str


Site = Located | Unresolved


class LinkNames(Record):
    """The names of one hard-linked inode below the roots. `complete`: as many as st_nlink were found."""

    names: tuple[str, ...]
    complete: bool
    timed_out: bool


class Decision(Record):
    """One verdict. `code` is stable and dotted; `path` is the resolved path ("" if there is none)."""

    verdict: Verdict
    code: str
    path: str
    rule: Rule
    message: str
    op: Op = Op.WRITE
    hint: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the verdict is ALLOW. A decision itself is always true: never test it bare."""
        return self.verdict is Verdict.ALLOW


class PathUse(Record):
    """One path as the agent wrote it, and what would be done to it."""

    op: Op
    path: str
    what: str = ""  # where in the call it stood: a field's name, a span's text


class CommandDecision(Record):
    """The verdict on one command text. `uses` holds the decision on every path that the text names."""

    verdict: Verdict
    code: str
    uses: tuple[Decision, ...]
    message: str
    command: str = ""


class ToolCall(Record):
    """One agent request in neutral form."""

    agent: str
    event: str
    session: str
    cwd: str
    tool: str
    mode: str  # the agent's own permission mode, "" if it does not say
    uses: tuple[PathUse, ...]
    commands: tuple[str, ...]
    understood: bool  # False: a tool whose input we cannot judge


class Reply(Record):
    """What a hook answers: whole texts for both streams, and the exit status. "" writes nothing."""

    stdout: str
    stderr: str = ""
    status: int = 0


class Capabilities(Record):
    """What this kernel offers; a pure input, so that tests can pin it. `landlock` is the ABI, 0 = none."""

    system: str  # "linux" | "darwin" | ...
    landlock: int
    userns: bool
    mount_api: bool  # open_tree, move_mount and mount_setattr (Linux 5.12)
    seccomp: bool
    overlay: bool
    why_not: tuple[tuple[str, str], ...] = ()  # (feature, reason) for each that is missing


class Shadow(Record):
    """A tree outside that a program sees as writable, and whose changes go to a private folder instead.

    root    the tree, existing and outside every writable one
    store   a folder of ours, out of the program's reach, with empty `upper` and `work` in it
    open    folders below `root` that the program changes for real
    fixed   what stays read-only below `root` or `open`, existing
    blocked folders in `upper` that cannot be removed: a lock that nobody gets
    """

    root: str
    store: str
    open: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class Confinement(Record):
    """What an engine must hold for one program, engine-neutral; every path absolute, physical and existing.

    writable    trees the program may change (workspaces, write zones, private temp and caches)
    files       single files or devices it may write (/dev/null, /dev/tty, one file named by a caller)
    carve_outs  trees or files below a writable one that stay read-only (protected checkouts, guards, read zones)
    masked      trees or files it may not even read
    absent      carve-outs and masks that do not exist yet: nothing to hold, only to watch
    reads       "anywhere", or "system": only the writable trees and the system's own prefixes
    shadowed    trees that seem writable and are not (only an engine with mounts can do that)
    """

    writable: tuple[Zone, ...]
    files: tuple[str, ...]
    carve_outs: tuple[Zone, ...]
    masked: tuple[Zone, ...]
    absent: tuple[Zone, ...]
    reads: str
    shadowed: tuple[Shadow, ...] = ()


class RuleStrength(Record):
    """How one rule of the policy is held for a running program, and why not more strongly."""

    rule: Rule
    subject: str
    strength: Strength
    why: str = ""
    boundary: bool = False  # True: part of the boundary itself, which `minimum` governs


class EnforcementReport(Record):
    """What was really applied, known before the program starts. `engine` "none": nothing was."""

    engine: str
    detail: str
    rules: tuple[RuleStrength, ...]
    notes: tuple[str, ...] = ()


class ChangeKind(Choice):
    """What became of one path. METADATA: mode, owner, times or attributes alone."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    RENAMED = "renamed"
    METADATA = "metadata"


class Entry(Record):
    """What stands at a path, of one lstat. `kind`: file, folder, link, fifo, socket or device; times in ns."""

    kind: str
    size: int
    mode: int
    uid: int
    gid: int
    mtime: int
    ctime: int
    dev: int
    ino: int
    links: int


class Change(Record):
    """One path that a program on a throwaway layer changed. Paths absolute; `source`: where a renamed file was.

    `what` names what differs beside the name: content, target, mode, owner, times, attributes, kind.
    """

    kind: ChangeKind
    path: str
    before: Entry | None
    after: Entry | None
    what: tuple[str, ...] = ()
    source: str = ""


class JudgedChange(Record):
    """A change and its verdict; `applied` once it is on the real tree, `why_not` if it was to be and is not."""

    change: Change
    decision: Decision
    applied: bool = False
    why_not: str = ""


class Attempt(Record):
    """What a program tried outside what it may write, heard as it was tried: reported, and refused by the engine."""

    decision: Decision
    program: str


class LayerLimit(Record):
    """A place where the layer behaves unlike the real tree, met by this program. `code` is stable: `layer.*`."""

    code: str
    path: str
    message: str
