"""The words of a map: those of the records' texts that are typical of a place, and the records that have them.

The texts are those that were embedded, without the values of fields that are counted as they are. Forms of a word are
one word, written as most records write it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, texts_of
from stackroom.maps.labels import SIDES, MappedValues, find_typical, squares_of
from stackroom.maps.map_file import Keys, Places
from stackroom.model.hits import Occurrences
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader
from stackroom.text.analyser import FUNCTION_TOKENS, stem
from stackroom.text.normalise import fold

WORD = re.compile(r"[^\W\d_]{3,24}")
BLOCK = 2_000
MOST_WORDS = 1_500


def find_words(reader: ShelfReader, keys: Keys, places: Places) -> Occurrences:
    """Return the words of these records that are most typical of some place."""
    blocks = (keys[start : start + BLOCK].tolist() for start in range(0, len(keys), BLOCK))
    written = [words for block in blocks for words in _read(reader, block)]
    counts = Counter(word for words in written for word in words)
    stems = _stems({word: count for word, count in counts.items() if count > 1})
    values = sorted(set(stems.values()))
    numbers = {value: number for number, value in enumerate(values)}
    each = [sorted({numbers[stems[word]] for word in words if word in stems}) for words in written]
    rows = np.repeat(np.arange(len(each)), list(map(len, each)))
    indexes = np.array([index for one in each for index in one], dtype=np.int64)
    clarity: dict[str, float] = {}
    for side in SIDES:
        for one in find_typical(MappedValues("", values, indexes, rows), places, squares_of(places, side)):
            clarity[one.text] = clarity.get(one.text, 0.0) + one.score
    clearest = sorted(clarity, key=lambda word: (-clarity[word], word))[:MOST_WORDS]
    chosen = sorted(numbers[word] for word in clearest)
    is_kept = np.isin(indexes, chosen)
    return Occurrences(
        values=[values[one] for one in chosen],
        indexes=np.searchsorted(chosen, indexes[is_kept]),
        keys=keys[rows[is_kept]],
    )


def _read(reader: ShelfReader, keys: Sequence[Key]) -> Iterator[set[str]]:
    """Yield the words of each record; none of one that is gone."""
    found = reader.fetch(keys, scope=WHOLE)
    return (_words_of(found[key], reader.spec) if key in found else set() for key in keys)


def _words_of(record: Record, spec: CatalogueSpec) -> set[str]:
    names = [part.field for part in spec.embed.parts] if spec.embed else []
    fields = [name for name in names if name in spec.fields and not spec.fields[name].facet]
    texts = [text for name in fields or [spec.title_field.name] for text in texts_of(record.get(name))]
    return set(WORD.findall(" ".join(texts).lower()))


def _stems(counts: dict[str, int]) -> dict[str, str]:
    """Return the usual form of each word; function words have none."""
    stems = {word: stem(fold(word)) for word in counts}
    usual: dict[str, str] = {}
    for word in sorted(counts, key=lambda word: (counts[word], word)):
        usual[stems[word]] = word
    return {word: usual[token] for word, token in stems.items() if token not in FUNCTION_TOKENS}
