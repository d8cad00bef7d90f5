"""The public Fence: raw path -> spell -> resolve -> decide. The hook, the shell and the audit walk this line too.

Hot: `check` on an existing path without links costs one O_PATH open, one readlink and one fstat.
"""

from __future__ import annotations

import sys

from ringfence.decide import ALLOWED, Index, judge, judge_names, nearest, worst
from ringfence.model import (
    SYSTEM_PREFIXES,
    Access,
    CommandDecision,
    Decision,
    Located,
    Op,
    Rule,
    Unresolved,
    Verdict,
    ZoneKind,
)

TYPE_CHECKING = False
if sys.platform == "linux":
    from ringfence.resolve.descriptor import ProcUnavailableError, is_plain_file, locate
    from ringfence.resolve.spell import absolute

    FOLD = None
else:
    from ringfence.resolve.elsewhere import FOLD, ProcUnavailableError, absolute, is_plain_file, locate
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from ringfence.model import LinkNames, Policy, Site

    PathText = str | bytes | os.PathLike[str] | os.PathLike[bytes]

FOLLOWS = frozenset(op for op in Op if op not in (Op.DELETE, Op.RENAME))
IN_PLACE = frozenset((Op.WRITE, Op.CREATE, Op.METADATA, Op.LINK))
_QUICK = IN_PLACE | {Op.READ}
_NO_RULE = Rule("resolve", "built in")
_new = tuple.__new__


class Fence:
    """One policy and one home, asked many times. Safe to share between threads; holds no descriptor.

    A verdict is about a moment and a string that somebody opens later (docs/adr/0003): only the engine of
    `ringfence run` and `ringfence shell` holds while a program runs.
    """

    __slots__ = ("_env", "_home", "_index", "cwd", "policy")

    def __init__(
        self,
        workspace: PathText | Iterable[PathText] | None = None,
        protect: PathText | Iterable[PathText] = (),
        *,
        reads: str = "workspace",
        home: str | None = "",  # "" stands for "HOME of the environment"
        env: Mapping[str, str] | None = None,
        temp: str = "private",
        cwd: PathText | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Fence `workspace` (one path or several) and keep `protect` unchanged.

        reads: "workspace" or "anywhere", for file and search tools. home: None means unset; left out, it is HOME
        of `env`, or of the process where `env` is not given either. temp: "private", "shared" or "none".
        Raises PolicyError for a workspace that does not exist and UsageError for words that are none of these.
        """
        from ringfence.pipelines.compose import build

        made = build(workspace, protect, reads=reads, home=home, env=env, temp=temp, cwd=cwd, policy=policy)
        self.policy, self._home, self._env, self.cwd = made

    @classmethod
    def load(cls, cwd: PathText | None = None, *, env: Mapping[str, str] | None = None) -> Fence:
        """The fence that the policy files and the environment describe for `cwd`.

        Raises PolicyError (file, line, column) for a file that cannot be taken at its word.
        """
        from ringfence.pipelines.compose import load

        return cls._of(*load(cwd, env))

    @classmethod
    def _of(cls, policy: Policy, home: str | None, env: Mapping[str, str], cwd: str) -> Fence:
        made = object.__new__(cls)
        made.policy, made._home, made._env, made.cwd = policy, home, env, cwd
        return made

    if TYPE_CHECKING:
        _index: Index
    else:

        def __getattr__(self, name: str) -> Index:
            # Asked only for what is not there: the first check makes the index. Most commands need none.
            if name != "_index":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self._index = Index(self.policy, FOLD)
            return self._index

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Travels to other processes as its policy and surroundings; the index is made again there."""
        return Fence._of, (self.policy, self._home, dict(self._env), self.cwd)

    @property
    def home(self) -> str | None:
        """HOME as the calls see it; None: unset."""
        return self._home

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that the calls would see."""
        return self._env

    @property
    def index(self) -> Index:
        """The policy arranged for lookup, for those who explain or audit."""
        return self._index

    def with_policy(self, policy: Policy, env: Mapping[str, str] | None = None) -> Fence:
        """The same surroundings under another policy; `env`: what a command would see, if that differs."""
        return Fence._of(policy, self._home, self._env if env is None else env, self.cwd)

    def holds_anything(self) -> bool:
        """Whether any rule stands even without a workspace: a protected checkout, a read-only or closed zone."""
        return any(
            zone.access is not Access.WRITE and zone.kind is not ZoneKind.OWN for zone in self.policy.zones
        )

    def check(self, path: PathText, op: Op | str = Op.WRITE, *, cwd: PathText | None = None) -> Decision:
        """The verdict on one use of one path. Relative paths are joined to `cwd` (default: the fence's own)."""
        if not isinstance(op, Op):
            op = Op(op)  # a word, from those who do not import Op
        text = path if type(path) is str else text_of(path)
        base = self.cwd if cwd is None else cwd if type(cwd) is str else text_of(cwd)
        if text[:1] == "/" and "\0" not in text and FOLD is None:
            whole: str | Unresolved = text
        else:
            whole = absolute(text, base, self._home)
        if isinstance(whole, Unresolved):
            return judge(self._index, op, whole)
        if op in _QUICK:
            quick = self._quick(whole, op)
            if quick is not None:
                return quick
        return self._full(whole, op)

    def _quick(self, whole: str, op: Op) -> Decision | None:
        """An existing regular file with one name, no link and no dot on its path, below a writable root.

        Anything else is None and takes the whole walk. tests/property/test_resolvers.py holds the two together.
        """
        if not is_plain_file(whole):
            return None
        zone, _ = nearest(self._index, whole, reading=op is Op.READ)
        if zone is None or (
            zone.access is not Access.WRITE and (op is not Op.READ or zone.access is Access.NONE)
        ):
            return None
        allowed: Decision = _new(
            Decision,
            (Verdict.ALLOW, "allow." + zone.kind.value, whole, zone.rule, ALLOWED[zone.kind], op, ""),
        )
        return allowed

    def _full(self, whole: str, op: Op) -> Decision:
        site = self._site(whole, op in FOLLOWS)
        decision = self._judge(op, site)
        if isinstance(site, Located) and site.folded and decision.verdict is Verdict.ALLOW:
            # The other reading of `..` is another object, with names and links of its own.
            return self._judge(op, self._site(site.folded, op in FOLLOWS))
        return decision

    def locate(self, path: PathText, *, follow: bool = True, cwd: PathText | None = None) -> Site:
        """Where a path lands, links followed or (`follow` False) the entry itself; no verdict."""
        whole = absolute(text_of(path), self.cwd if cwd is None else text_of(cwd), self._home)
        return whole if isinstance(whole, Unresolved) else self._site(whole, follow)

    def _site(self, whole: str, follow: bool) -> Site:
        """Where absolute text lands. Only `audit` of a tree that is not here looks elsewhere than at the disk."""
        return site_of(whole, follow)

    def _other_names(self, site: Located) -> LinkNames:
        """The other names of a file with several, below the policy's roots."""
        from ringfence.resolve.hardlinks import other_names

        return other_names(site, [zone.root for zone in self.policy.zones])

    def _judge(self, op: Op, site: Site) -> Decision:
        decision = judge(self._index, op, site)
        if (
            op in IN_PLACE
            and decision.verdict is Verdict.ALLOW
            and isinstance(site, Located)
            and site.links > 1
            and decision.code != "allow.unfenced"
        ):
            return judge_names(self._index, op, decision, self._other_names(site))
        return decision

    def check_command(
        self, text: str, *, cwd: PathText | None = None, shell: str = "bash"
    ) -> CommandDecision:
        """The verdict on a command text: `ask` with a code `opaque.*` where the text does not tell."""
        from ringfence.pipelines.command import judge_text

        base = self.cwd if cwd is None else text_of(cwd)
        return judge_text(
            text,
            self.check_in_command,
            cwd=base,
            home=self._home,
            env=self._env,
            shell=shell,
            policy=self.policy,
        )

    def check_in_command(self, path: PathText, op: Op = Op.WRITE, *, cwd: PathText | None = None) -> Decision:
        """`check` for a path that a command names: a command may always read the system's own files."""
        decision = self.check(path, op, cwd=cwd)
        if decision.code == "outside.read" and any(
            decision.path == root or decision.path.startswith(root + "/") for root in SYSTEM_PREFIXES
        ):
            why = "commands may read the system's own files"
            return Decision(Verdict.ALLOW, "allow.system", decision.path, decision.rule, why, op)
        return decision

    def worst(self, decisions: Iterable[Decision]) -> Decision:
        """The strictest of several decisions; an empty list is refused, since nothing was judged."""
        found = worst(decisions)
        if found is None:
            return Decision(Verdict.DENY, "invalid.nothing", "", _NO_RULE, "there was nothing to judge")
        return found


def site_of(whole: str, follow: bool) -> Site:
    try:
        return locate(whole, follow)
    except ProcUnavailableError:
        from ringfence.resolve.walk import locate_walk

        return locate_walk(whole, follow)


def text_of(path: PathText) -> str:
    """UTF-8 with surrogateescape, whatever the locale: agents write UTF-8."""
    if isinstance(path, str):
        return path
    if isinstance(path, bytes):
        return path.decode("utf-8", "surrogateescape")
    return text_of(path.__fspath__())
