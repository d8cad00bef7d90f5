"""What a caller may say about an input. Frozen; every reader takes it whole."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.records import Record


class Options(Record):
    """op      what would be done to a path that comes without one
    agent   whose calls these are, "" = as the record says
    strip   leading components taken off a diff's names, -1 = as git and patch would (`a/`, `b/`)
    cwd     folder that relative names start from where the record does not say; "" = the audit's own
    shell   dialect of command texts
    path    the input's own absolute path, "" for a pipe: some formats say things by their place
    """

    op: Op = Op.WRITE
    agent: str = ""
    strip: int = -1
    cwd: str = ""
    shell: str = "bash"
    path: str = ""
