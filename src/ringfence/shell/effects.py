"""Roles to uses: what a table entry's slots would do to which paths."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.slots import NoSubcommand, Slots, read_slots
from ringfence.shell.state import DIGITS, RESERVED, TILDE, UNKNOWN, clean, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call
    from ringfence.shell.slots import Entry
    from ringfence.shell.state import State

# Effects in a user's own caches: `caches = "private"` moves them, and no text can name them better.
_CACHES = ("~/.cache", "~/.npm", "~/.cargo", "~/go", "~/.gnupg", "~/.config/pip")
_PLAIN = {
    "read": Op.READ,
    "write": Op.WRITE,
    "append": Op.WRITE,
    "create": Op.CREATE,
    "delete": Op.DELETE,
    "move": Op.RENAME,
    "meta": Op.METADATA,
}
_COMPILERS = frozenset(("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "go", "gfortran", "tcc"))
MAX_SPREAD = 400  # names of a copied tree that are looked at
_RECURSIVE = frozenset(("-r", "-R", "-a", "--recursive", "--archive", "--all"))


def run_entry(call: Call, entry: Entry) -> str | None:
    """Interpret the words by the table and note the uses. Prints nothing that is known."""
    if call.name in _START_COMMANDS:
        _start_commands(call)
    slots = read_slots(entry, call.args)
    if call.stdin is not None or call.walk.stdin_file:
        from ringfence.shell.fedcode import fed_program

        fed_program(call, () if isinstance(slots, NoSubcommand) else slots.pairs)
    if isinstance(slots, NoSubcommand):
        _unlisted(call, slots)
        return None
    apply(call, slots)
    return None


_START_COMMANDS = frozenset(("vim", "vi", "nvim", "ex", "view", "less", "more", "most", "zless", "zmore"))


def _start_commands(call: Call) -> None:
    """`vim +CMD`, `less +CMD`: run before the first key."""
    scripted = "-s" in call.args and not any(w in ("-e", "-E") for w in call.args)
    if scripted and call.name in ("vim", "vi", "nvim"):
        call.walk.unknown("opaque.runs-file", f"{call.name} -s: keys from a file")
    for word in call.args:
        if not word.startswith("+") or len(word) == 1:
            continue
        if call.name in ("less", "more", "most", "zless", "zmore"):
            if any(c in word for c in "!|s") and not word[1:].startswith("/"):
                call.walk.unknown("opaque.inline-code", f"{call.name} {word}")
        elif not word[1:].isdigit() and not word.startswith("+/"):
            from ringfence.shell.inline import inline_code

            inline_code(call, call.state, "vim", word[1:])
    call.args = [w for w in call.args if not w.startswith("+")]


def _unlisted(call: Call, missing: NoSubcommand) -> None:
    if missing.verdict == "read" or not missing.name:
        return
    if missing.verdict == "project":
        outside_arguments(call, call.args)
        return
    code = "opaque.system-command" if missing.verdict == "system" else "opaque.unlisted-subcommand"
    call.walk.unknown(code, f"{call.name} {missing.name}")


def apply(call: Call, slots: Slots) -> None:
    walk = call.walk
    if slots.doubt:
        walk.unknown("opaque.dynamic-argument", f"{call.name}: a word that may be an option")
    state = call.state
    if slots.cwds:
        state = inside(call, slots.cwds)
    deep = bool(slots.present & _RECURSIVE)
    sources = [w for r, w in slots.pairs if r in ("read", "move", "link-target", "remote-read")]
    for role, word in slots.pairs:
        use(call, state, role, word, deep=deep, sources=sources, project=slots.runs == "project")
    if call.name in ("perl", "ruby"):
        for option, value in slots.values:
            if option == "-i" and "/" in value:  # the suffix names the backup, as with sed
                walk.touch(Op.CREATE, value.replace("*", "x"), state, f"{call.name} backup")
    for effect in slots.effects:
        _effect(call, state, effect)
    for argv in slots.commands:
        nested(call, state, list(argv))
    _runs(call, slots, state)
    if call.name in _COMPILERS and len(call.state.cwds) == 1:
        for option, value in slots.values:
            if option == "-o" and not any(c in value for c in RESERVED):
                call.state.built |= {fold(call.state.cwds[0], value)}


def inside(call: Call, folders: tuple[str, ...]) -> State:
    """A copy of the state after the tool's own `-C DIR`, each relative to the one before."""
    state = call.state.copy()
    for folder in folders:
        if UNKNOWN in folder or TILDE in folder:
            state.cwds = (UNKNOWN,)
        else:
            plain = folder.replace(DIGITS, "0")
            # A system call's `..` is physical: keep it in the text instead of folding it.
            state.cwds = tuple(
                c
                if c == UNKNOWN and not plain.startswith("/")
                else plain
                if plain.startswith("/")
                else f"{c}/{plain}"
                for c in state.cwds
            )
    return state


def use(
    call: Call, state: State, role: str, word: str, *, deep: bool, sources: list[str], project: bool = False
) -> None:
    walk, name = call.walk, call.name
    op = _PLAIN.get(role)
    if op is not None:
        if word == "-" and op in (Op.READ, Op.WRITE):
            return
        walk.touch(op, word, state, name, deep=deep and op in (Op.METADATA, Op.WRITE))
    elif role == "replace":
        walk.touch(Op.RENAME, word, state, name, entry=True)
    elif role == "dest":
        destination(call, state, word, sources, deep=deep)
    elif role == "write-into" or role == "delete-under":
        walk.touch(Op.WRITE, word, state, name, deep=True)
    elif role == "prefix":
        walk.touch(Op.CREATE, word + "aa", state, name)
    elif role == "sibling":
        walk.touch(Op.CREATE, word + ".gz", state, name)
        walk.touch(Op.RENAME, word, state, name, entry=True)
    elif role == "link-target":
        walk.touch(Op.LINK, word, state, name)
    elif role == "at-read":
        at = word.find("@")
        if at >= 0 and word[at + 1 :] not in ("", "-"):
            walk.touch(Op.READ, word[at + 1 :].split(";", 1)[0], state, name)
    else:
        _use_other(call, state, role, word, sources=sources, project=project)


def _use_other(call: Call, state: State, role: str, word: str, *, sources: list[str], project: bool) -> None:
    """Roles that are more than a path: other machines, mounts, code."""
    walk, name = call.walk, call.name
    if role in ("remote-read", "remote-dest"):
        _remote(call, state, role, word, sources)
    elif role == "mount":
        _mount(call, state, word)
    elif role == "docker-output":
        fields = dict(p.partition("=")[::2] for p in word.split(","))
        target = fields.get("dest", "" if "type" in fields else word)
        if target and target != "-":
            walk.touch(Op.WRITE, target, state, name, deep=True)
    elif role == "code":
        walk.code(word, call.child_state(), name, stdin=call.stdin)
    elif role.startswith("code:"):
        from ringfence.shell.inline import inline_code

        inline_code(call, state, role[5:], word)
    elif role == "tests":
        walk.touch(Op.WRITE, word.partition("::")[0], state, name)
    elif role == "project-of":
        walk.touch(Op.WRITE, word.rpartition("/")[0] or ".", state, name, soft=True)
    elif role == "list":
        walk.touch(Op.READ, word, state, name)
        walk.unknown("opaque.paths-from-file", f"{name}: names from {word}")
    elif role == "exec":
        if project and (word == "-" or word.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))):
            walk.unknown("opaque.piped-to-shell", f"{name} reads its program from {word}")
        elif project:
            outside_arguments(call, [word], state)  # a tool's own configuration is project code
        else:
            _exec(call, state, word)
    elif role == "awk-include":
        if word not in ("inplace", "inplace.awk"):
            walk.unknown("opaque.runs-file", f"{name} -i {word}")
    elif role == "ssh-opt":
        key = word.replace("=", " ").split(" ", 1)[0].lower()
        if key in ("proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand"):
            walk.code(word.replace("=", " ", 1).partition(" ")[2], call.child_state(), f"{name} -o {key}")
    elif role == "cmake-e":
        nested(call, state, _cmake(call, word))
    elif role in ("remote-cmd", "container-cmd", "cwd", "value", "none", "maybe"):
        return
    elif role in ("chroot", "unknown"):
        outside_arguments(call, [word], state)
        walk.unknown("opaque.unmodelled-arguments", f"{name} {word}")
    else:
        walk.unknown("opaque.unmodelled-arguments", f"{name}: {role} {word}")


def _cmake(call: Call, word: str) -> list[str]:
    rest = call.args[call.args.index(word) + 1 :] if word in call.args else []
    table = {
        "copy": "cp", "copy_directory": "cp", "copy_if_different": "cp", "rm": "rm", "remove": "rm", "rename": "mv",
        "remove_directory": "rm", "touch": "touch", "make_directory": "mkdir", "create_symlink": "ln", "tar": "tar",
        "echo": "echo", "env": "env", "time": "time", "sleep": "sleep", "cat": "cat",
    }  # fmt: skip
    if word == "create_symlink":
        return ["ln", "-s", *rest]
    return [table.get(word, "cmake-e"), *rest]


def destination(
    call: Call, state: State, word: str, sources: list[str], *, deep: bool, entry: bool = False
) -> None:
    """`cp a b dir`: inside the folder if there is one, else the name itself."""
    walk = call.walk
    if UNKNOWN in word or word.startswith(TILDE):
        walk.touch(Op.WRITE, word, state, call.name)
        return
    plain = word.replace(DIGITS, "0")
    for cwd in state.cwds:
        one = state
        if len(state.cwds) > 1:
            one = state.copy()
            one.cwds = (cwd,)
        whole = plain if plain.startswith("/") else f"{cwd}/{plain}"
        is_folder = cwd != UNKNOWN and (
            walk.disk.is_dir(whole) or _links_to_folder(call, state, fold("/", whole))
        )
        if is_folder or plain.endswith("/") or len(sources) > 1:
            for source in sources:
                base = source.rstrip("/").rpartition("/")[2]
                if base in ("", ".", "..") or UNKNOWN in source:
                    walk.touch(Op.WRITE, word, one, call.name, deep=deep)
                else:
                    joined = f"{plain.rstrip('/')}/{base}" if plain.rstrip("/") else f"/{base}"
                    walk.touch(
                        Op.RENAME if entry else Op.WRITE, joined, one, call.name, deep=deep, entry=entry
                    )
            if not sources:
                walk.touch(Op.WRITE, word, one, call.name, deep=deep)
        else:
            walk.touch(Op.RENAME if entry else Op.WRITE, word, one, call.name, deep=deep, entry=entry)
        if one is not state:
            state.touched = one.touched


def _copied_links(state: State, source: str, dest: str) -> None:
    """rsync keeps symbolic links: what is later written through the copy goes where the original leads."""
    if len(state.cwds) != 1 or UNKNOWN in (state.cwds[0], *source, *dest):
        return
    original, copy = fold(state.cwds[0], source), fold(state.cwds[0], dest)
    if source.endswith("/"):
        state.mirrors = (*state.mirrors, (copy, original + "/."))[-64:]
    else:
        base = original.rpartition("/")[2]
        state.mirrors = (*state.mirrors, (f"{copy.rstrip('/')}/{base}", original), (copy, original))[-64:]


def spread(call: Call, state: State, source: str, dest: str) -> None:
    """Name by name what a recursive copy of a folder on disk would write, as far as a guard could care.

    Guards are dot folders, dot files and our own file; a small tree is named whole, a large one by those.
    """
    disk = call.walk.disk
    if len(state.cwds) != 1 or UNKNOWN in (state.cwds[0], *source, *dest) or source.startswith(TILDE):
        return
    base = fold(state.cwds[0], source)
    whole = dest if dest.startswith("/") else f"{state.cwds[0]}/{dest}"
    if not disk.is_dir(base) or not disk.exists(whole):
        return  # a new folder: nothing that is guarded stands there yet
    target = dest.rstrip("/") or "/"
    if not source.endswith(("/", "/.")) and source != "." and disk.is_dir(whole):
        target = f"{target}/{base.rpartition('/')[2]}"
    pending = [(base, target, False)]
    seen = 0
    while pending and seen < MAX_SPREAD:
        folder, to, dotted = pending.pop()
        for name in disk.names(folder) or ():
            seen += 1
            path = f"{folder}/{name}"
            special = dotted or name.startswith(".") or name == "ringfence.toml"
            if disk.is_dir(path) and disk.readlink(path) is None:
                pending.append((path, f"{to}/{name}", special))
            if special or seen <= 40:
                call.walk.touch(Op.WRITE, f"{to}/{clean(name)}", state, call.name)


def _links_to_folder(call: Call, state: State, name: str) -> bool:
    """A link made by this text, to a folder or to something that is not there yet."""
    target = state.links.get(name)
    if target is None:
        return False
    there = UNKNOWN if UNKNOWN in target else fold(name.rpartition("/")[0], target)
    return there == UNKNOWN or call.walk.disk.is_dir(there) or not call.walk.disk.exists(there)


def _remote(call: Call, state: State, role: str, word: str, sources: list[str]) -> None:
    host, colon, rest = word.partition(":")
    if colon and "/" not in host and host:
        here = host in ("localhost", "127.0.0.1", "::1") or host.endswith("@localhost")
        if here and role == "remote-dest":  # the same disk through another door
            call.walk.touch(Op.WRITE, rest or TILDE, state, call.name, deep=True)
        return
    if word.startswith(("rsync://", "ssh://")) or word == "-":
        return
    if role == "remote-read":
        call.walk.touch(Op.READ, word, state, call.name)
    else:
        destination(call, state, word, sources, deep=True)
        for source in sources:
            if ":" not in source:
                spread(call, state, source, word)
                _copied_links(state, source, word)


def _mount(call: Call, state: State, word: str) -> None:
    source, writable = "", True
    if "=" in word.split(",", 1)[0]:
        fields = dict(p.partition("=")[::2] for p in word.split(","))
        if fields.get("type", "volume") != "bind":
            return
        source = fields.get("src", fields.get("source", ""))
        writable = not ("readonly" in fields or "ro" in fields)
    else:
        parts = word.split(":")
        if len(parts) < 2:
            return
        source = parts[0]
        writable = not (len(parts) > 2 and "ro" in parts[2].split(","))
        if "/" not in source and not source.startswith((".", "~", UNKNOWN)):
            return  # a named volume
    if writable and source:
        call.walk.touch(Op.WRITE, source, state, f"{call.name} mount", deep=True)


def _exec(call: Call, state: State, word: str) -> None:
    """A file that the tool would run or load: its own configuration is project code, a script is not known."""
    walk = call.walk
    walk.touch(Op.READ, word, state, call.name)
    entry_runs = call.name in ("bash", "sh")
    if word in ("/dev/null", "NONE") or (word.rpartition("/")[2] in ("sh", "bash") and not entry_runs):
        return
    walk.unknown("opaque.runs-file", f"{call.name} {word}")


def _effect(call: Call, state: State, effect: str) -> None:
    role, _, target = effect.partition(":")
    if target.startswith(_CACHES):
        return
    if target == "<npm-global>":
        call.walk.unknown("opaque.tool-prefix", f"{call.name}: its global prefix is configuration")
        return
    if target == "<site-packages>":
        site_packages(call, state)
        return
    if target in ("<git-dir>", "<work-tree>"):
        call.walk.touch(Op.WRITE, ".", state, call.name, deep=target == "<work-tree>", soft=True)
        return
    if target.startswith("~"):
        for home in call.state.get("HOME"):
            if isinstance(home, str):
                call.walk.touch(_PLAIN.get(role, Op.WRITE), home + target[1:], state, call.name)
        return
    if target == ".":
        call.walk.touch(Op.WRITE, ".", state, call.name)
        return
    call.walk.touch(_PLAIN.get(role, Op.WRITE), target.removeprefix("./"), state, call.name)


def site_packages(call: Call, state: State) -> None:
    """Where this pip installs: beside itself if it is a path, in an activated environment, else unknown."""
    if "/" in call.path:
        call.walk.touch(Op.WRITE, call.path.rpartition("/")[0] + "/..", state, call.name, deep=True)
        return
    for value in call.variable("VIRTUAL_ENV"):
        if isinstance(value, str) and UNKNOWN not in value and value:
            call.walk.touch(Op.WRITE, value, state, call.name, deep=True)
        else:
            call.walk.unknown("opaque.tool-prefix", f"{call.name}: which environment it installs into")


def nested(call: Call, state: State, argv: list[str]) -> str | None:
    """Run a command named by another command's words, as a child."""
    if not argv:
        return None
    inner = call.child_state()
    inner.cwds = state.cwds
    out = call.walk.call(argv, inner, call.stdin, call.extra, functions=False).out
    call.state.adopt_disk(inner)
    return out


def outside_arguments(call: Call, words: list[str], state: State | None = None) -> None:
    """Words handed to code that is not ours to read: a path among them that leaves the fence makes it unreadable."""
    where = state or call.state
    for word in words:
        value = word
        if word.startswith("-") or ("=" in word and "/" not in word.partition("=")[0]):
            value = word.partition("=")[2]
        if UNKNOWN in value or not value or "://" in value:
            continue
        if value.startswith(("/", "..", "~", TILDE)) or "/../" in value or value.endswith("/.."):
            call.walk.touch(Op.WRITE, value, where, f"{call.name} argument", soft=True)


def _runs(call: Call, slots: Slots, state: State) -> None:
    if slots.runs == "project":
        plain = [w for w in slots.operands if w != "--"]
        outside_arguments(call, [*plain, *(f"{o}={v}" for o, v in slots.values)], state)
        call.walk.touch(Op.WRITE, ".", state, f"{call.name} (project code)", soft=True)
    elif slots.runs == "system":
        call.walk.unknown("opaque.system-command", call.name)
    elif slots.runs == "network":
        call.walk.unknown("opaque.network-code", call.name)
    elif (
        slots.runs == "stdin" and not slots.operands and not any(r.startswith("code") for r, _ in slots.pairs)
    ):
        from ringfence.shell.scripts import program_on_stdin

        program_on_stdin(call)
