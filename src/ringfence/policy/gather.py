"""All sources of one policy, each read into a LayerText: flags, environment, project, user, site."""

from __future__ import annotations

import os

from ringfence.errors import PolicyError, UsageError
from ringfence.model import Located
from ringfence.policy import trust
from ringfence.policy.ownership import current_uid, stranger, stranger_above
from ringfence.policy.paths import LIST_SEPARATOR, PathTextError, spell
from ringfence.policy.read import check_word, nearest, read
from ringfence.policy.schema import BY_NAME
from ringfence.policy.texts import FILE_NAME, Layer, LayerText, PathText, Place, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.policy.asked import Flags, Sources
    from ringfence.policy.evidence import Evidence
    from ringfence.policy.roots import Locator

_PREFIX = "RINGFENCE_"
_LIST_VARIABLES = ("RINGFENCE_WORKSPACE", "RINGFENCE_PROTECT")
_WORD_VARIABLES = {"RINGFENCE_READS": "reads", "RINGFENCE_TEMP": "temp"}
_SWITCH_VARIABLES = ("RINGFENCE_RESTRICT_PATHS", "RINGFENCE_NO_RESTRICT_PATHS")
# Set by ringfence itself for the programs it starts; they say nothing about the policy.
_OWN_VARIABLES = ("RINGFENCE_SESSION", "RINGFENCE_FENCE")
KNOWN_VARIABLES: tuple[str, ...] = (
    *_LIST_VARIABLES,
    "RINGFENCE_POLICY",
    *_WORD_VARIABLES,
    *_SWITCH_VARIABLES,
    *_OWN_VARIABLES,
)


def restriction(flags: Flags, env_restrict: bool, env_free: bool) -> tuple[bool, bool]:
    """(restrict, no_restrict) of the highest layer that says either. UsageError: one layer says both."""
    if flags.restrict and flags.no_restrict:
        raise UsageError(
            "--restrict-paths and --no-restrict-paths contradict each other", "give one of the two"
        )
    if env_restrict and env_free:
        raise UsageError(
            "RINGFENCE_RESTRICT_PATHS and RINGFENCE_NO_RESTRICT_PATHS contradict each other",
            "unset one of the two",
        )
    if flags.restrict or flags.no_restrict:
        return flags.restrict, flags.no_restrict
    return env_restrict, env_free


def env_switches(sources: Sources) -> tuple[bool, bool]:
    """The two restriction variables as switches. Raises PolicyError on anything but "1" and "0"."""
    values = []
    for name in _SWITCH_VARIABLES:
        value = sources.env.get(name, "0")
        if value not in ("0", "1"):
            raise PolicyError(f'takes "1" or "0", not "{value}"', name)
        values.append(value == "1")
    return values[0], values[1]


def gather(sources: Sources, evidence: Evidence, locator: Locator) -> list[LayerText]:
    """Read every source, highest layer first. Raises PolicyError or UsageError at the first thing wrong."""
    flags = _flags(sources)
    env = _environment(sources)
    layers = [flags, env]
    named = sources.flags.policy if sources.flags.policy is not None else sources.env.get("RINGFENCE_POLICY")
    if named is not None:
        source = "--policy" if sources.flags.policy is not None else "RINGFENCE_POLICY"
        layers.append(_named_file(named, source, sources, evidence, locator))
    elif sources.files:
        given = flags.workspace or env.workspace
        layers += _project_files(given, sources, evidence, locator)
    if sources.files:
        layers += _kept_files(sources, evidence, locator)
    return layers


def _flags(sources: Sources) -> LayerText:
    flags = sources.flags
    words = tuple(_word(key, value, Place(f"{key}=")) for key, value in flags.settings)
    return LayerText(
        Layer.FLAGS,
        "flags",
        sources.cwd,
        trusted=True,
        workspace=tuple(_path(text, "--workspace", sources) for text in flags.workspace),
        protect=tuple(_path(text, "--protect", sources) for text in flags.protect),
        words=words,
    )


def _environment(sources: Sources) -> LayerText:
    env = sources.env
    for name in env:
        if name.startswith(_PREFIX) and name not in KNOWN_VARIABLES:
            # A typo in RINGFENCE_WORKSPACE would otherwise switch the fence off without a word.
            raise PolicyError(
                f"unknown variable; {nearest(name, KNOWN_VARIABLES)}", name, hint="correct or unset it"
            )

    def paths(name: str) -> tuple[PathText, ...]:
        return (
            tuple(_path(item, name, sources) for item in env[name].split(LIST_SEPARATOR))
            if name in env
            else ()
        )

    words = tuple(_word(key, env[name], Place(name)) for name, key in _WORD_VARIABLES.items() if name in env)
    workspace, protect = map(paths, _LIST_VARIABLES)
    return LayerText(
        Layer.ENVIRONMENT,
        "environment",
        sources.cwd,
        trusted=True,
        workspace=workspace,
        protect=protect,
        words=words,
    )


def _word(key: str, value: str, place: Place) -> Word:
    row = BY_NAME.get(key)
    if row is None or not row.values:
        words = [name for name, each in BY_NAME.items() if each.values]
        raise PolicyError(f'unknown setting "{key}"; {nearest(key, words)}', place.source)
    if why := check_word(row, value):
        raise PolicyError(why, place.source)
    return Word(key, value, place)


def _path(text: str, source: str, sources: Sources) -> PathText:
    try:
        return PathText(text, spell(text, sources.cwd, sources.home), Place(source))
    except PathTextError as error:
        raise PolicyError(str(error), source, hint=error.hint) from None


def _named_file(text: str, source: str, sources: Sources, evidence: Evidence, locator: Locator) -> LayerText:
    """The file that the owner named: it replaces the project's files, and naming it is trusting it."""
    path = _path(text, source, sources).spelled
    found = evidence.read_with_facts(path)
    if found is None:
        raise PolicyError(f'there is no file "{text}"', source, hint=_near_file(path))
    _refuse_stranger(path, found[1], locator)
    return read(found[0], path, os.path.dirname(path), sources.home, Layer.PROJECT, trusted=True)


def _near_file(path: str) -> str:
    try:
        names = os.listdir(os.path.dirname(path))
    except OSError:
        return f"there is no folder {os.path.dirname(path)} either"
    known = [name for name in names if name.endswith(".toml")]
    if not known:
        return f"name a policy file; {os.path.dirname(path)} holds none (no *.toml)"
    return nearest(os.path.basename(path), known)


def _project_files(
    given: tuple[PathText, ...], sources: Sources, evidence: Evidence, locator: Locator
) -> list[LayerText]:
    """The file at each workspace root that is given, else every one upward from the cwd, the outermost first.

    Never only the nearest: an agent could plant one in a folder below and so take the outer one's rules away.
    """
    layers = []
    if given:
        folders = dict.fromkeys(
            site.path
            for each in given
            if isinstance(site := locator.locate(each.spelled), Located) and site.is_dir
        )
        for folder in folders:
            layers += _project_file(folder, sources, evidence)
        return layers
    site = locator.locate(sources.cwd)
    folder = site.path if isinstance(site, Located) else ""
    while folder:
        layers = [*_project_file(folder, sources, evidence), *layers]
        folder = os.path.dirname(folder) if folder != os.path.dirname(folder) else ""
    return layers


def _project_file(folder: str, sources: Sources, evidence: Evidence) -> list[LayerText]:
    path = os.path.join(folder, FILE_NAME)
    content = evidence.read(path)
    if content is None:
        return []
    trusted = bool(sources.folders.state) and trust.is_trusted(sources.folders.state, path, content, evidence)
    return [read(content, path, folder, sources.home, Layer.PROJECT, trusted)]


def _kept_files(sources: Sources, evidence: Evidence, locator: Locator) -> list[LayerText]:
    """The user's and the site's file; both are believed, so both must be nobody else's to write."""
    layers = []
    for layer, folder in ((Layer.USER, sources.folders.config), (Layer.SITE, sources.site)):
        path = os.path.join(folder, FILE_NAME)
        if folder and (found := evidence.read_with_facts(path)):
            _refuse_stranger(path, found[1], locator)
            layers.append(read(found[0], path, folder, sources.home, layer, trusted=True))
    return layers


def _refuse_stranger(path: str, facts: os.stat_result, locator: Locator) -> None:
    """Both ways to the file count: the one that was spelled, and where its links really lead."""
    uid = current_uid()
    site = locator.locate(path)
    physical = site.path if isinstance(site, Located) else path
    if why := stranger(facts, uid) or stranger_above(path, uid) or stranger_above(physical, uid):
        raise PolicyError(
            f"cannot be believed: {why}",
            path,
            hint="make it yours (or root's) and writable by you alone: chmod go-w",
        )
