"""Tools whose effect on links, folders and known contents needs more than the table says."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import apply, destination, inside, spread
from ringfence.shell.patchtext import patched_names
from ringfence.shell.slots import NoSubcommand, read_slots
from ringfence.shell.state import DIGITS, RESERVED, UNKNOWN, State, fold
from ringfence.shell.table import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call
    from ringfence.shell.slots import Slots


def slots_of(call: Call, name: str) -> Slots | None:
    entry = entry_of(name)
    assert entry is not None  # noqa: S101  # part of the shipped table
    slots = read_slots(entry, call.args)
    if isinstance(slots, NoSubcommand):
        return None
    if slots.doubt:
        call.walk.unknown("opaque.dynamic-argument", f"{call.name}: a word that may be an option")
    return slots


def _absolute(state: State, path: str) -> str:
    """One absolute name, or UNKNOWN."""
    if any(c in path for c in RESERVED) or (len(state.cwds) != 1 and not path.startswith("/")):
        return UNKNOWN
    if not path.startswith("/") and state.cwds[0] == UNKNOWN:
        return UNKNOWN
    return fold(state.cwds[0], path)


def _final(call: Call, dest: str, source: str, *, into: bool) -> str:
    """The name a source gets at a destination, absolute."""
    state = call.state
    whole = _absolute(state, dest)
    if whole == UNKNOWN:
        return UNKNOWN
    if into or call.walk.disk.is_dir(whole) or whole in state.links:
        base = source.rstrip("/").rpartition("/")[2]
        if base in ("", ".", ".."):
            return whole
        return f"{whole.rstrip('/')}/{base}"
    return whole


def _operands(slots: Slots) -> tuple[list[str], str, bool]:
    """(sources, destination, destination is certainly a folder)."""
    into = next((v for o, v in slots.values if o in ("-t", "--target-directory")), None)
    if into is not None:
        return list(slots.operands), into, True
    if len(slots.operands) < 2:
        return list(slots.operands), "", False
    return list(slots.operands[:-1]), slots.operands[-1], len(slots.operands) > 2


def _ln(call: Call) -> str | None:
    slots = slots_of(call, "ln")
    if slots is None or not slots.operands:
        return None
    state, walk = call.state, call.walk
    sources, dest, into = _operands(slots)
    symbolic = bool(slots.present & {"-s", "--symbolic"})
    plain = bool(slots.present & {"-n", "--no-dereference", "-T", "--no-target-directory"})
    if not dest:
        dest, into = ".", True
    if not symbolic:
        for source in sources:
            walk.touch(Op.LINK, source, state, call.name)
    if plain and not into:
        walk.touch(Op.RENAME, dest.rstrip("/"), state, call.name, entry=True)
        name = _absolute(state, dest)
    else:
        if into:
            for source in sources:
                base = source.rstrip("/").rpartition("/")[2] or "x"
                if UNKNOWN in base or base in (".", ".."):
                    walk.touch(Op.WRITE, dest, state, call.name)
                else:
                    walk.touch(Op.RENAME, f"{dest.rstrip('/')}/{base}", state, call.name, entry=True)
        else:
            destination(call, state, dest, sources, deep=False, entry=True)
        name = ""
    for given in sources:
        made = name or _final(call, dest, given, into=into)
        # With -r the link's text will lead to the same place from wherever the link is.
        source = _absolute(state, given) if symbolic and slots.present & {"-r", "--relative"} else given
        if symbolic:
            if made == UNKNOWN:
                walk.unknown("opaque.planted-link", f"{call.name} {source} {dest}")
            else:
                state.links[made] = UNKNOWN if any(c in source for c in RESERVED) else source
                if walk.disk.is_dir(fold(made.rpartition("/")[0], source)):
                    state.folders |= {made}
        elif made != UNKNOWN:
            _mirror(call, made, source)
    return ""


def _mirror(call: Call, made: str, source: str) -> None:
    """A copy may hold the original's links."""
    original = _absolute(call.state, source)
    if original == UNKNOWN:
        return
    if source.endswith("/.") or source == ".":
        original += "/."  # the folder behind the name, not a link of that name
    call.state.mirrors = (*call.state.mirrors, (made, original))[-64:]
    for link, target in list(call.state.links.items()):
        if link == original or link.startswith(original + "/"):
            call.state.links[made + link[len(original) :]] = target


def _cp(call: Call) -> str | None:
    slots = slots_of(call, "cp")
    if slots is None:
        return None
    state, walk = call.state, call.walk
    sources, dest, into = _operands(slots)
    if not dest:
        return ""
    present = slots.present
    deep = bool(present & {"-r", "-R", "-a", "--recursive", "--archive"})
    keeps_links = bool(present & {"-P", "-d", "-a", "--no-dereference", "--archive"}) or (
        deep and not present & {"-L", "--dereference"}
    )
    entry = bool(present & {"--remove-destination"})
    hard = bool(present & {"-l", "--link"})
    for source in sources:
        walk.touch(Op.LINK if hard else Op.READ, source, state, call.name)
    if "--parents" in present:
        for source in sources:
            if UNKNOWN in source or UNKNOWN in dest:
                walk.touch(Op.WRITE, dest if UNKNOWN in dest else dest + "/" + source, state, call.name)
            else:
                walk.touch(Op.WRITE, f"{dest.rstrip('/')}/{source.lstrip('/')}", state, call.name, deep=deep)
    elif into or dest.endswith("/"):
        for source in sources:
            base = source.rstrip("/").rpartition("/")[2]
            if base in ("", ".", "..") or UNKNOWN in base or UNKNOWN in dest:
                walk.touch(Op.WRITE, dest, state, call.name, deep=deep)
            else:
                name = f"{dest.rstrip('/')}/{base}"
                walk.touch(Op.RENAME if entry else Op.WRITE, name, state, call.name, deep=deep, entry=entry)
    elif present & {"-T", "--no-target-directory"}:
        walk.touch(Op.WRITE, dest, state, call.name, deep=deep)
    else:
        destination(call, state, dest, sources, deep=deep, entry=entry)
    if deep and len(state.touched) < 64:
        for source in sources:
            spread(call, state, source, dest)
    for source in sources:
        made = _final(call, dest, source, into=into)
        if present & {"-s", "--symbolic-link"}:
            if made == UNKNOWN or UNKNOWN in source:
                walk.unknown("opaque.planted-link", f"cp -s {source} {dest}")
            else:
                state.links[made] = source
        elif keeps_links:
            if made == UNKNOWN:
                continue
            if source.endswith(("/.", "/..", "/")) or source in (".", ".."):
                _mirror(call, made, source.rstrip("/.") + "/." if source.strip("./") else source)
            else:
                _mirror(call, made, source)
    return ""


def _mv(call: Call) -> str | None:
    slots = slots_of(call, "mv")
    if slots is None:
        return None
    state, walk = call.state, call.walk
    sources, dest, into = _operands(slots)
    if not dest:
        return ""
    if "--exchange" in slots.present:
        for name in (*sources, dest):
            walk.touch(Op.RENAME, name, state, call.name)
    made = [_final(call, dest, s, into=into) for s in sources]
    plain = bool(slots.present & {"-T", "--no-target-directory"})
    if plain:
        walk.touch(Op.RENAME, dest, state, call.name, entry=True)
    elif into or dest.endswith("/"):
        for source in sources:
            base = source.rstrip("/").rpartition("/")[2]
            if base in ("", ".", "..") or UNKNOWN in base or UNKNOWN in dest:
                walk.touch(Op.WRITE, dest, state, call.name)
            else:
                walk.touch(Op.RENAME, f"{dest.rstrip('/')}/{base}", state, call.name, entry=True)
    else:
        destination(call, state, dest, sources, deep=False, entry=True)
    for source, name in zip(sources, made, strict=True):
        walk.touch(Op.RENAME, source, state, call.name)
        if name != UNKNOWN:
            _mirror(call, name, source)
            original = _absolute(state, source)
            if original in state.files:
                state.files[name] = state.files.pop(original)
    return ""


def _install(call: Call) -> str | None:
    slots = slots_of(call, "install")
    if slots is None:
        return None
    if slots.present & {"-d", "--directory"}:
        for name in slots.operands:
            call.walk.touch(Op.CREATE, name, call.state, call.name)
        return ""
    sources, dest, into = _operands(slots)
    for source in sources:
        call.walk.touch(Op.READ, source, call.state, call.name)
    if any(o == "--strip-program" for o, _ in slots.values):
        call.walk.unknown("opaque.runs-file", "install --strip-program")
    if not dest:
        return ""
    if into:
        for source in sources:
            base = source.rstrip("/").rpartition("/")[2]
            name = dest if UNKNOWN in base else f"{dest.rstrip('/')}/{base}"
            call.walk.touch(Op.RENAME, name, call.state, call.name, entry=True)
    else:
        destination(call, call.state, dest, sources, deep=False, entry=True)
    return ""


def _touch(call: Call) -> str | None:
    slots = slots_of(call, "touch")
    if slots is None:
        return None
    link = bool(slots.present & {"-h", "--no-dereference"})
    for role, word in slots.pairs:
        if role == "read":
            call.walk.touch(Op.READ, word, call.state, call.name)
        elif link:
            call.walk.touch(Op.RENAME, word, call.state, call.name, entry=True)
        else:
            call.walk.touch(Op.WRITE, word, call.state, call.name)
    return ""


def _tee(call: Call) -> str | None:
    slots = slots_of(call, "tee")
    if slots is None:
        return None
    for word in slots.operands:
        call.walk.touch(Op.WRITE, word, call.state, call.name)
        name = _absolute(call.state, word)
        if call.stdin is not None and UNKNOWN not in call.stdin and name != UNKNOWN and not slots.present:
            call.state.files[name] = call.stdin
    return call.stdin


def _mktemp(call: Call) -> str | None:
    slots = slots_of(call, "mktemp")
    if slots is None:
        return None
    template = slots.operands[0] if slots.operands else "tmp.XXXXXXXXXX"
    folder = next((v for o, v in slots.values if o in ("-p", "--tmpdir")), None)
    in_temp = not slots.operands or bool(slots.present & {"-t", "--tmpdir"})
    made: list[str] = []
    head = template.rstrip("X") if template.endswith("X") else template
    suffix = next((v for o, v in slots.values if o == "--suffix"), "")
    name = f"{head}{DIGITS}{suffix}"
    if folder is not None:
        made.append(f"{folder.rstrip('/')}/{name}")
    elif in_temp:
        for value in call.variable("TMPDIR"):
            base = value if isinstance(value, str) and value else "/tmp" if value in (None, "") else UNKNOWN  # noqa: S108  # mktemp's own default
            made.append(f"{base}/{name}" if base != UNKNOWN else UNKNOWN)
    else:
        made.append(name)
    for path in made:
        if not slots.present & {"-u", "--dry-run"}:
            call.walk.touch(Op.CREATE, path, call.state, call.name)
    return made[0] + "\n" if len(made) == 1 and UNKNOWN not in made[0] else None


def _sed(call: Call) -> str | None:
    from ringfence.shell.sedcode import sed_script

    slots = slots_of(call, "sed")
    if slots is None:
        return None
    walk, state = call.walk, call.state
    scripts = [w for r, w in slots.pairs if r == "code:sed"]
    suffix = ""
    for option, value in slots.values:
        if option in ("-f", "--file"):
            text = call.stdin if value in ("-", "/dev/stdin") else walk.known_text([value], state)
            if text is None and value not in ("-", "/dev/stdin") and len(state.cwds) == 1:
                name = _absolute(state, value)
                text = walk.disk.read_text(name) if name not in (UNKNOWN, *state.touched) else None
            scripts.append(UNKNOWN if text is None else text)
        elif option in ("-i", "--in-place"):
            suffix = value
    sed_script(call, "\n".join(scripts))
    for role, word in slots.pairs:
        if suffix and role == "write":
            _backup(call, word, suffix)
    edits = bool(slots.present & {"-i", "--in-place", "-I"})
    follows = "--follow-symlinks" in slots.present
    for role, word in slots.pairs:
        if role == "write" and edits:
            walk.touch(Op.WRITE if follows else Op.RENAME, word, state, call.name, entry=not follows)
        elif role in ("read", "write"):
            walk.touch(Op.READ, word, state, call.name)
    return None


def _backup(call: Call, word: str, suffix: str) -> None:
    """`sed -iSUFFIX`: beside the file, or with a slash wherever it says; a `*` in it stands for the file's name."""
    folder, slash, base = word.rpartition("/")
    name = suffix.replace("*", base) if "*" in suffix else base + suffix
    if UNKNOWN in word or UNKNOWN in suffix:
        name, folder, slash = UNKNOWN, "", ""
    call.walk.touch(Op.CREATE, f"{folder}{slash}{name}", call.state, "sed backup")
    if "/" in name and folder:
        call.walk.touch(Op.CREATE, name, call.state, "sed backup")


def _patch(call: Call) -> str | None:
    slots = slots_of(call, "patch")
    if slots is None:
        return None
    walk = call.walk
    state = inside(call, slots.cwds) if slots.cwds else call.state
    for role, word in slots.pairs:
        if role == "write" and word != "-":
            walk.touch(Op.WRITE, word, state, call.name)
    named = bool(slots.operands) or any(o in ("-o", "--output") for o, _ in slots.values)
    source = next((v for o, v in slots.values if o in ("-i", "--input")), "")
    if len(slots.operands) > 1:
        source = slots.operands[-1]
    if named or slots.present & {"--dry-run"}:
        return None
    walk.touch(Op.WRITE, ".", state, call.name)
    text = patch_source(call, source)
    strip = next((v for o, v in slots.values if o in ("-p", "--strip")), "")
    names = None if text is None else patched_names(text, int(strip) if strip.isdigit() else -1)
    if names is None:
        walk.unknown("opaque.paths-from-file", f"{call.name}: names from the patch")
        return None
    for name in names:
        walk.touch(Op.RENAME, name, state, call.name, entry=True)
        walk.touch(Op.WRITE, name, state, call.name)
    return None


def patch_source(call: Call, name: str) -> str | None:
    """The text of a patch: a file on disk that this text did not touch, or what the command is fed."""
    walk, state = call.walk, call.state
    if not name or name == "-":
        if call.stdin is not None:
            return None if UNKNOWN in call.stdin else call.stdin
        name = walk.stdin_file
    if not name:
        return None
    known = walk.known_text([name], state)
    if known is not None:
        return known
    whole = _absolute(state, name)
    if whole in (UNKNOWN, *state.touched):
        return None
    return walk.disk.read_text(whole)


def _tar(call: Call) -> str | None:
    slots = slots_of(call, "tar")
    if slots is None:
        return None
    walk, state = call.walk, call.state
    there = inside(call, slots.cwds) if slots.cwds else state
    extracts = bool(slots.present & {"-x", "--extract", "--get"}) and not slots.present & {
        "-O",
        "--to-stdout",
    }
    from ringfence.shell.effects import use

    for role, word in slots.pairs:
        if role == "list":
            walk.touch(Op.READ, word, state, call.name)
        elif role == "move":
            walk.touch(Op.RENAME, word, there, call.name)
        elif role not in ("cwd", "code") and not (word == "-" and role in ("read", "write")):
            if ":" in word and "/" not in word.partition(":")[0] and role in ("read", "write"):
                continue  # host:file
            use(call, there if role == "write-into" else state, role, word, deep=False, sources=[])
        elif role == "code":
            walk.code(word, call.child_state(), "tar --to-command")
    for option, value in slots.values:
        if option == "--checkpoint-action" and value.startswith("exec="):
            walk.code(value[5:], call.child_state(), "tar --checkpoint-action")
    if not extracts:
        return None
    into = [v for o, v in slots.values if o == "--one-top-level"]
    walk.touch(Op.WRITE, ".", there, call.name, deep=True)
    for option, value in slots.values:
        if option in ("--transform", "--xform"):
            fields = value[2:].split(value[1:2]) if len(value) > 2 else []
            if len(fields) > 1 and fields[1]:
                walk.touch(Op.WRITE, fields[1] + "x", there, "tar --transform")
    del into
    if slots.present & {"-P", "--absolute-names", "--unlink-first", "--keep-directory-symlink"}:
        walk.unknown("opaque.archive-members", f"{call.name}: member names decide")
    _plant(call, there)
    return None


def _plant(call: Call, there: State) -> None:
    """An archive may hold links: what is later written through its folders is not known."""
    for cwd in there.cwds:
        folder = fold("/", cwd) if cwd != UNKNOWN else "/"
        for other in call.state.planted:
            if (folder + "/").startswith(other.rstrip("/") + "/") or (other + "/").startswith(
                folder.rstrip("/") + "/"
            ):
                call.walk.unknown(
                    "opaque.planted-link", f"{call.name}: an earlier archive may have put links there"
                )
        call.state.planted = tuple(dict.fromkeys((*call.state.planted, folder)))


def _unzip(call: Call) -> str | None:
    slots = slots_of(call, "unzip")
    if slots is None:
        return None
    for name in slots.operands[:1]:
        call.walk.touch(Op.READ, name, call.state, call.name)
    if slots.present & {"-l", "-t", "-p", "-c", "-z", "-Z", "-v"}:
        return None
    folder = next((v for o, v in slots.values if o == "-d"), ".")
    call.walk.touch(Op.WRITE, folder, call.state, call.name, deep=True)
    call.walk.unknown("opaque.archive-members", f"{call.name}: member names decide")
    return None


def _curl(call: Call) -> str | None:
    slots = slots_of(call, "curl")
    if slots is None:
        return None
    folder = next((v for o, v in slots.values if o == "--output-dir"), "")
    state = inside(call, (folder,)) if folder else call.state
    for option, value in slots.values:
        if option in ("-w", "--write-out") and "%output{" in value:
            name = value.partition("%output{")[2].partition("}")[0].removeprefix(">>")
            call.walk.touch(Op.WRITE, name, call.state, "curl -w")
    outputs = {v for o, v in slots.values if o in ("-o", "--output")}
    for name in outputs:
        if name != "-":
            call.walk.touch(Op.WRITE, name, state, call.name)
    if folder and slots.present & {"-O", "--remote-name", "--remote-name-all", "-J"}:
        call.walk.touch(Op.WRITE, ".", state, call.name)
    apply(call, slots._replace(doubt=False, pairs=tuple((r, w) for r, w in slots.pairs if w not in outputs)))
    return None


def _mkdir(call: Call) -> str | None:
    slots = slots_of(call, "mkdir")
    if slots is None:
        return None
    apply(call, slots._replace(doubt=False))
    for name in slots.operands:
        whole = _absolute(call.state, name)
        parent = whole.rpartition("/")[0]
        if whole != UNKNOWN and (
            slots.present & {"-p", "--parents"}
            or call.walk.disk.is_dir(parent)
            or parent in call.state.folders
        ):
            call.state.folders |= {whole}
    return ""


TOOLS: dict[str, Callable[[Call], str | None]] = {
    "ln": _ln,
    "gln": _ln,
    "cp": _cp,
    "gcp": _cp,
    "mv": _mv,
    "gmv": _mv,
    "install": _install,
    "ginstall": _install,
    "touch": _touch,
    "gtouch": _touch,
    "mkdir": _mkdir,
    "gmkdir": _mkdir,
    "tee": _tee,
    "gtee": _tee,
    "mktemp": _mktemp,
    "gmktemp": _mktemp,
    "sed": _sed,
    "gsed": _sed,
    "patch": _patch,
    "gpatch": _patch,
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "curl": _curl,
}
