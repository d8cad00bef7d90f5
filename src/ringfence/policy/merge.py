"""Layers to one set of words, and what an untrusted project file may not say. Pure."""

from __future__ import annotations

from ringfence.policy.schema import WORD_KEYS, defaults, is_wider
from ringfence.policy.texts import LAYER_ORDER, Layer, LayerText, Place, Word
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class LeftOut(Record):
    """Something an untrusted file said that was not applied. `what` is the text, `why` a clause."""

    what: str
    place: Place
    why: str

    def __str__(self) -> str:
        return (
            f"{self.place}: left out {self.what}: {self.why}; to accept the file: "
            f"ringfence policy trust {self.place.source}"
        )


WIDENS = "it widens the fence and the file is not trusted"


def merge_words(layers: Sequence[LayerText], system: str) -> tuple[Mapping[str, Word], tuple[LeftOut, ...]]:
    """The word that counts for every key, and what was left out.

    Within one layer (several workspaces, each with its own file) the strictest counts.
    """
    words: dict[str, Word] = {}
    left_out: list[LeftOut] = []
    for key in WORD_KEYS:
        word = Word(key, defaults(system)[key], Place(Layer.BUILT_IN.value))
        for layer in reversed(LAYER_ORDER):
            own = [(each, w) for each in layers if each.layer is layer for w in each.words if w.key == key]
            if sure := [w for each, w in own if each.trusted]:
                word = _strictest(sure)
            for candidate in [w for each, w in own if not each.trusted]:
                if is_wider(key, candidate.value, word.value):
                    left_out.append(LeftOut(f'{key} = "{candidate.value}"', candidate.place, WIDENS))
                elif candidate.value != word.value:
                    word = candidate
        words[key] = word
    return words, tuple(left_out)


def _strictest(words: Iterable[Word]) -> Word:
    first, *rest = words
    for word in rest:
        if is_wider(first.key, first.value, word.value):
            first = word
    return first


def merge_unguard(layers: Sequence[LayerText]) -> tuple[Mapping[str, Place], tuple[LeftOut, ...]]:
    """The guards that are switched off, each with the place that says so, and what was left out."""
    off: dict[str, Place] = {}
    left_out = []
    for layer in layers:
        for guard, place in layer.unguard:
            if layer.trusted:
                off.setdefault(guard, place)
            else:
                left_out.append(LeftOut(f'unguard = ["{guard}"]', place, WIDENS))
    return off, tuple(left_out)
