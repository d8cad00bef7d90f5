"""A small machine for policy tests: a home, a workspace, folders of ours, all below one tmp_path."""

from __future__ import annotations

import os

from ringfence.decide import Index, judge
from ringfence.model import Decision, Folders, Op, Policy, Site
from ringfence.policy.asked import Flags, Sources
from ringfence.policy.load import Loaded, load
from ringfence.resolve.descriptor import locate
from tests.support.tree import Tree


def resolve(path: str) -> Site:
    return locate(path, True)


class Rig(Tree):
    """Writes files, loads policies, asks the real decision."""

    def __init__(self, base) -> None:
        self.base = os.path.realpath(base)
        for name in ("ws", "home/.config/ringfence", "home/.local/state/ringfence", "main", "site"):
            os.makedirs(self.path(name), exist_ok=True)
            os.chmod(self.path(name), 0o755)
        home = self.path("home")
        self.folders = Folders(
            f"{home}/.config/ringfence",
            f"{home}/.local/state/ringfence",
            f"{home}/.cache/ringfence",
            f"{home}/run/ringfence",
        )

    def project(self, text: str) -> str:
        return self.write("ws/ringfence.toml", text)

    def user(self, text: str) -> str:
        return self.write("home/.config/ringfence/ringfence.toml", text)

    def sources(self, *, cwd: str = "ws", env=None, home: str | None = "home", **given) -> Sources:
        more = {key: given.pop(key) for key in ("installation", "system", "files") if key in given}
        return Sources(
            Flags(**given),
            env or {},
            self.path(cwd),
            home and self.path(home),
            self.folders,
            site=self.path("site"),
            **more,
        )

    def load(self, **given) -> Loaded:
        return load(self.sources(**given), resolve)

    def policy(self, **given) -> Policy:
        return self.load(**given).policy

    def short(self, text: object) -> str:
        """The text with the temporary folder taken out, to compare whole messages."""
        return str(text).replace(self.base, "@")


def ask(policy: Policy, op: Op, path: str) -> Decision:
    return judge(Index(policy), op, locate(path, op not in (Op.DELETE, Op.RENAME)))


def verdict(policy: Policy, op: Op, path: str) -> str:
    return ask(policy, op, path).verdict.value
