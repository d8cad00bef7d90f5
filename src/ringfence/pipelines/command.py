"""One command text to one verdict: parse, walk, judge each use."""

from __future__ import annotations

import sys

from ringfence.kernel.local_disk import LocalDisk
from ringfence.model import Access, CommandDecision, Decision, Op, Surroundings, Verdict, ZoneKind
from ringfence.shell.parsing import read_script
from ringfence.shell.reading import read

TYPE_CHECKING = False
if sys.platform == "win32":
    import os as posix
else:
    import posix  # `os` costs 1.6 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.model import Policy
    from ringfence.shell.disk import Disk
    from ringfence.shell.reading import Parse, Reading, Unknown, Use
    from ringfence.shell.tree import Refusal, Script

    Check = Callable[..., Decision]  # (path, op, *, cwd)
    Below = Callable[
        [str, str], Decision | None
    ]  # (path, cwd): a refusal for something strictly below, or None

MAX_CACHE = 1024
_BOUNDARY = (ZoneKind.PROTECT, ZoneKind.ZONE)


def parser_with(program: str) -> Parse:
    """A parse function around the shfmt at `program`, remembering what it has read (a pure function's memory)."""
    known: dict[tuple[str, str], Script | Refusal] = {}

    def exchange(source: bytes, dialect: str) -> tuple[bool, str, str, str]:
        from ringfence.kernel.parser_process import run_parser

        answer = run_parser(program, dialect, source)
        return answer.ok, answer.json, answer.code, answer.detail

    def parse(text: str, dialect: str) -> Script | Refusal:
        key = (dialect, text)
        made = known.get(key)
        if made is None:
            if len(known) >= MAX_CACHE:
                known.clear()
            made = known[key] = read_script(text, dialect, exchange)
        return made

    return parse


def find_parser(prefix: str, scripts: str = "") -> str:
    """The absolute path of shfmt beside the interpreter, "" if there is none. PATH is never asked.

    `prefix` is sys.prefix, `scripts` the folder of sys.executable. Costs one or two lstat; the slow way, through
    the distribution's RECORD, is taken only where those fail (`pip install --user`).
    """
    for folder in (f"{prefix}/bin", scripts):
        path = f"{folder}/shfmt"
        if folder.startswith("/") and posix.access(path, posix.X_OK):
            return path
    try:
        from importlib.metadata import PackageNotFoundError, files
    except ImportError:
        return ""
    try:
        for file in files("shfmt-py") or ():
            if file.name == "shfmt":
                import os

                path = os.path.normpath(str(file.locate()))
                if posix.access(path, posix.X_OK):
                    return path
    except PackageNotFoundError:
        return ""
    return ""


_parsers: dict[str, Parse] = {}  # one for each shfmt, so that a resident process reads a text once


def judge_text(
    text: str,
    check: Check,
    *,
    cwd: str,
    home: str | None,
    env: Mapping[str, str],
    shell: str,
    policy: Policy | None = None,
    parser: str = "",
    disk: Disk | None = None,
) -> CommandDecision:
    """`judge` with the parser that was installed and, unless another is given, the disk of this machine.

    `shell` is "bash", "zsh" or "sh"; `parser` an absolute path of shfmt, "" for the one beside the interpreter.
    Without `policy` a recursive use is judged by its own path only.
    """
    if not parser:
        parser = find_parser(sys.prefix, sys.executable.rpartition("/")[0])
    parse = _parsers.get(parser)
    if parse is None:
        parse = _parsers[parser] = parser_with(parser)
    if disk is None:
        disk = LocalDisk()
    return judge(
        text,
        check=check,
        below=below_of(policy, disk) if policy is not None else _nothing_below,
        cwd=cwd,
        home=home,
        env=env,
        dialect=shell,
        parse=parse,
        disk=disk,
    )


def _nothing_below(path: str, cwd: str) -> Decision | None:
    del path, cwd
    return None


def below_of(policy: Policy, disk: Disk) -> Below:
    """Refuse a recursive use above a root that may not be written: a protected checkout, a closed or read zone.

    Guards do not count: everyday work is recursive around `.git` (`git clean`, `chmod -R .`), and what copies a
    tree over one is judged name by name.
    """
    closed = [z for z in policy.zones if z.access is not Access.WRITE and z.kind in _BOUNDARY]

    def below(path: str, cwd: str) -> Decision | None:
        real = disk.physical(path if path.startswith("/") else f"{cwd}/{path}")
        if real is None or not closed:
            return None
        prefix = real.rstrip("/") + "/"
        for zone in closed:
            if zone.root.startswith(prefix) and not zone.root.startswith("/proc/"):
                why = f"{zone.root} lies below {real} and may not be changed"
                return Decision(Verdict.DENY, f"deny.holds-{zone.kind.value}", real, zone.rule, why)
        return None

    return below


def judge(
    text: str,
    *,
    check: Check,
    below: Below,
    cwd: str,
    home: str | None,
    env: Mapping[str, str],
    dialect: str,
    parse: Parse,
    disk: Disk,
) -> CommandDecision:
    """Deny (some use is refused), ask with `opaque.*` (the text does not tell everything), or allow.

    `below(path, cwd)` answers for recursive uses: a refusal if something strictly below `path` may not be
    written. `dialect` is "bash", "zsh" or "sh". Never raises for what `text` holds.
    """
    if not text.strip():
        return CommandDecision(Verdict.ALLOW, "allow.nothing", (), "nothing to run", text)
    reading = read(text, parse=parse, dialect=dialect, at=Surroundings(cwd, home), env=env, disk=disk)
    return decide(text, reading, check, below)


def decide(text: str, reading: Reading, check: Check, below: Below) -> CommandDecision:
    """Judge what was read. The worst use gives the code; refusals first, then what is not known."""
    decisions: list[Decision] = []
    refused: Decision | None = None
    unknowns = list(reading.unknowns)
    for use in reading.uses:
        decision = judge_use(use, check, below)
        if use.soft and decision.verdict is not Verdict.ALLOW and _may_soften(use, decision):
            unknowns.append(_soften(use))
            continue
        decisions.append(decision)
        if decision.verdict is Verdict.DENY and refused is None:
            refused = decision
    if refused is not None:
        return CommandDecision(Verdict.DENY, refused.code, tuple(decisions), refused.message, text)
    asking = next((d for d in decisions if d.verdict is Verdict.ASK), None)
    if asking is not None:
        return CommandDecision(Verdict.ASK, asking.code, tuple(decisions), asking.message, text)
    if unknowns:
        first = unknowns[0]
        span = _span(text, first)
        message = f"the text does not tell what this would touch: {first.why}"
        return CommandDecision(Verdict.ASK, first.code, tuple(decisions), message + span, text)
    return CommandDecision(
        Verdict.ALLOW, "allow.command", tuple(decisions), "every named path is allowed", text
    )


def _may_soften(use: Use, decision: Decision) -> bool:
    """Of reads only one that no rule names: to start a program elsewhere (`~/.local/bin/uv`) is not to read it."""
    return use.op is not Op.READ or decision.code == "outside.read"


def _soften(use: Use) -> Unknown:
    from ringfence.shell.reading import Unknown

    return Unknown("opaque.outside-argument", f"{use.why}: {use.path}", use.start, use.end)


def _span(text: str, unknown: Unknown) -> str:
    part = (
        text.encode("utf-8", "surrogatepass")[unknown.start : unknown.end].decode("utf-8", "replace").strip()
    )
    return f" (in {part[:80]!r})" if part and part != text.strip() else ""


def judge_use(use: Use, check: Check, below: Below) -> Decision:
    op = use.op
    if use.entry and op not in (Op.DELETE, Op.RENAME):
        op = Op.RENAME  # the directory entry is replaced, whatever the leaf links to
    decision = check(use.path, op, cwd=use.cwd)
    if decision.verdict is Verdict.ALLOW and use.deep:
        return below(use.path, use.cwd) or decision
    return decision
