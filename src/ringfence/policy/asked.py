"""What a policy is asked for with: the flags, and everything else it is made from. Hot, hence apart from texts.py."""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.model import Folders


class Flags(Record):
    """What the command line (or a caller of the library) says.

    `settings` are (key, value) pairs of words and switches, for the library's keyword arguments.
    """

    workspace: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    policy: str | None = None
    restrict: bool = False
    no_restrict: bool = False
    settings: tuple[tuple[str, str], ...] = ()


class Sources(Record):
    """Everything a policy is made from, captured once at the door.

    `env` need hold only the RINGFENCE_* variables and TMPDIR. `home` None: HOME unset. `site` is the folder
    of the site's file, "" for none. `system` is `sys.platform`. `installation` are the folders our own code
    runs from. `files` False: no policy file is looked for, except one that `flags` or `env` name.
    """

    flags: Flags
    env: Mapping[str, str]
    cwd: str
    home: str | None
    folders: Folders
    site: str = ""
    system: str = "linux"
    installation: tuple[str, ...] = ()
    files: bool = True
