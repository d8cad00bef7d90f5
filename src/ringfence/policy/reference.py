"""docs/policy.md and the JSON Schema, written from the tables that the reader itself uses."""

from __future__ import annotations

from ringfence.model import HELPER_GUARD
from ringfence.policy.gather import KNOWN_VARIABLES
from ringfence.policy.guards import GUARD_IDS, GUARDS, PLACED, Hold
from ringfence.policy.schema import KEYS, TABLES, Key, Shape
from ringfence.records import assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_HEAD = """\
# Policy files

<!-- Written by ringfence.policy.reference.markdown(): edit the tables in src/ringfence/policy instead. -->

A policy is TOML. It is read from, the first that says something winning:

1. the flags of the call,
2. the environment,
3. the project: `ringfence.toml` at each workspace root that flags or environment name, else the nearest
   one upward from the working directory; `--policy FILE` takes its place,
4. the user: `ringfence.toml` in the user's configuration folder,
5. the site: `ringfence.toml` in the machine's configuration folder.

`protect`, `[[zone]]`, `[[test]]` and `unguard` of all layers add up. Relative paths start from the
file's own folder (in flags and variables: from the working directory), `~` is your home, variables are
not expanded. A key that is not known, a wrong type or value, a workspace that does not exist: an error
with file, line and column, and nothing runs.

A project's file comes with a clone. Until its owner runs `ringfence policy trust FILE` it may only
narrow the fence; what would widen it is left out, with a note. Trust is kept for these very bytes at
this very path. A file named by `--policy` is trusted because its owner named it. User and site files
must not be writable by anyone else (but root).
"""

_TAIL = """\
## An example

```toml
workspace = ["."]
protect = ["../main"]          # no call changes it; reading is fine
reads = "workspace"
[[zone]]
path = "~/.cache/pip"          # before `ringfence policy trust` left out: it widens
access = "write"
[[zone]]
path = "**/.env"               # applies at once: it narrows
access = "none"
[[test]]                       # `ringfence policy check` runs these
path = ".env"
op = "read"
expect = "deny"
```

## Which rule wins

The longest root, on a tie the stricter: a writable tree may lie inside a protected one and the other way
round. A guard or a rule with access `none` or `read` also covers the links that its path runs through,
so that nobody can point the name elsewhere. A path that grants writing may not run through such a link
at all.

Patterns: `**/` any number of folders, `*` and `?` within one. A match owns everything below it. A
pattern that begins with `**/` means below the file's own folder in a project's file, and anywhere in the
user's and the site's (where it may not grant writing). Braces and `[...]` are refused, because they
would silently match nothing.
"""

_TEXT = {"type": "string", "minLength": 1}

_ENVIRONMENT = """\
Any other variable that begins with `RINGFENCE_` is an error: a typo must not weaken the fence. Lists are
separated as in PATH. The two RESTRICT variables take `1` or `0`.
"""

_GUARDS = """\
Read-only inside every writable tree, at any depth. Switch one off by its id: `unguard = ["git-hooks"]`. Held
"all": by every door. Held "text": against file tools and the commands that name the path; programs may write
it, because everyday git does so itself.
"""

_HELPERS = """\
Programs outside that write on behalf of whoever reaches their socket (a container engine, a service manager, the
session bus, a terminal multiplexer, another agent's daemon) are hidden from fenced programs by the mounts engine;
Landlock alone cannot. `ringfence doctor` lists what it hid. Open a kind by its id, for example
`unguard = ["helper-docker"]`; who may start containers can then write every file of the machine.
"""

HELPER_OPENS: dict[str, str] = {
    "docker": "a container with any folder mounted, as root",
    "podman": "a container with any folder mounted",
    "containerd": "a container with any folder mounted, as root",
    "machines": "a virtual machine or system container with any folder shared",
    "service-manager": "a service started outside the fence",
    "system-bus": "whatever a system service does for its callers",
    "session-bus": "a service or desktop program started outside the fence",
    "multiplexers": "typing into the user's other shells",
    "terminals": "typing into the user's other terminals, or opening one that runs a command",
    "editors": "code run by an editor outside the fence",
    "display": "keystrokes sent to other windows, commands run by the window manager",
    "nix": "anything, for a trusted user of the daemon",
    "agents": "a command run by another agent's daemon",
}
"""What each kind would give a program that reached it; enforce/control_sockets.py says the same of the sockets."""

_OPEN = """\
What the guards do not see, so that nobody counts on it: guarded names below a *nested* folder that are
links (at the top of a writable tree the guard also stands where the link leads); bare repositories that
are neither the root itself nor named by its `.git` file; git's files included from a config
(`include.path`); a submodule whose name has more than two parts, below the first level. `.envrc`,
`Makefile`, `package.json` and their like are not guarded: they run when somebody asks, or ask again
after a change.
"""


def markdown() -> str:
    """The whole of docs/policy.md."""
    parts = [_HEAD, "## Keys\n", "Words are listed from the strictest to the widest.\n"]
    parts += [_key(key) for key in KEYS]
    parts += ["## Tables\n", *(_table_keys(name) for name in TABLES)]
    parts += ["## Environment\n", ", ".join(f"`{name}`" for name in KNOWN_VARIABLES) + ".\n", _ENVIRONMENT]
    parts += [_TAIL, "## Guards\n", _GUARDS, _table(("id", "held", "paths", "why"), _guard_rows()), _OPEN]
    helpers = ((f"`{HELPER_GUARD}{name}`", opens) for name, opens in HELPER_OPENS.items())
    parts += ["## Helpers\n", _HELPERS, _table(("id", "who reaches it can have"), helpers)]
    return "\n".join(parts)


def _key(key: Key) -> str:
    rows = [key.meaning, f"- takes: {_takes(key)}"]
    if key.default:
        rows.append(
            f"- default: `{key.default}`" if "on Linux" not in key.default else f"- default: {key.default}"
        )
    rows.append(f"- in a project's file before trust: {key.before_trust}")
    return f"### `{key.name}`\n\n{rows[0]}\n\n" + "\n".join(rows[1:]) + "\n"


def _takes(key: Key) -> str:
    match key.shape:
        case Shape.WORD:
            return ", ".join(f'`"{value}"`' for value in key.values)
        case Shape.SWITCH:
            return ", ".join(f"`{value}`" for value in key.values)
        case Shape.PATHS | Shape.IDS:
            return f"an {key.shape}"
        case Shape.TABLES:
            return f"`[[{key.name}]]` tables, see below"
    return assert_never(key.shape)


def _table_keys(name: str) -> str:
    rows = [
        (
            f"`{field.name}`",
            ", ".join(f"`{value}`" for value in field.values) or "text",
            "yes" if field.required else "no",
            field.meaning,
        )
        for field in TABLES[name]
    ]
    return f"### `[[{name}]]`\n\n" + _table(("key", "values", "required", "meaning"), rows)


def _guard_rows() -> Iterator[tuple[str, ...]]:
    for guard in (*GUARDS, *PLACED):
        held = "text" if guard.hold is Hold.TEXT else "all"
        yield f"`{guard.id}`", held, ", ".join(f"`{p}`" for p in guard.patterns) or "as found", guard.why


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines)


def json_schema() -> dict[str, Any]:
    """The same as JSON Schema (2020-12), for editors that check TOML by one."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ringfence.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: {"description": key.meaning, **_schema(key)} for key in KEYS},
    }


def _schema(key: Key) -> dict[str, Any]:
    match key.shape:
        case Shape.WORD:
            return {"enum": list(key.values)}
        case Shape.SWITCH:
            return {"type": "boolean"}
        case Shape.PATHS:
            return {"type": "array", "items": _TEXT}
        case Shape.IDS:
            return {"type": "array", "items": {"enum": list(GUARD_IDS)}}
        case Shape.TABLES:
            fields = TABLES[key.name]
            entry = {
                "type": "object",
                "additionalProperties": False,
                "required": [field.name for field in fields if field.required],
                "properties": {
                    field.name: {
                        "description": field.meaning,
                        **(
                            {"enum": list(field.values)}
                            if field.values
                            else {"type": "string", "minLength": 1}
                        ),
                    }
                    for field in fields
                },
            }
            return {"type": "array", "items": entry}
    return assert_never(key.shape)
