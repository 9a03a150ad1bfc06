"""Evidence: how strongly each candidate of a search answers the query, on one scale for every
catalogue.

A strength is between 0 and 1. Three things are evidence:
- nearness: by how much the cosine is above that of unrelated queries in the same catalogue, which
  is measured when it is built, by probes about many topics (`calibrate`);
- words: which share of the query the record has, each word weighed by its rarity, and how many
  words that are; words that no record of the catalogue has speak against all of them, values that
  the query names for those that have them;
- names: a query that is the name of a record, exactly or misspelt, or a part of it. Nearness and
  words are joined by a logistic function whose weights were fitted on judged questions about
  catalogues of several kinds (`docs/reference/quality.md`). A name is evidence by itself. Nothing
  depends on other candidates, so a filter that leaves one record does not make it certain.

The strength of one candidate can be explained by parts that add up to it. Those of the logistic
function share its rise above the base, the strength of no evidence at all, in proportion to their
addends.
"""

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from stackroom.checksums import dump_checked, load_checked
from stackroom.embed.port import Embedder
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.library import FileWatch, replace_file
from stackroom.model.scope import SEES_PUBLIC, WHOLE
from stackroom.model.vectors import ModelId
from stackroom.search.fuse import Candidates, Floats
from stackroom.shelf.port import ShelfReader
from stackroom.text.analyser import ORDINARY_TOKENS, TextQuery


@dataclass(frozen=True, slots=True)
class WeighedWords:
    """The terms of a query, each with its inverse document frequency times its weight in the
    query.
    """

    query: TextQuery
    weights: Mapping[str, float]
    unknown: frozenset[str]  # the words that no record has
    terms: TextQuery  # the same with synonyms, by which a record has a word too

    @property
    def total(self) -> float:
        """The score by BM25 of a record of average length that has every word once."""
        return sum(self.weights.values())

    def share_of(self, words: Collection[str]) -> float:
        """Return the share of the query's weight that some of its words have."""
        here = [self.weights.get(word, 0.0) for word in words]
        return sum(here) / self.total if self.weights else 0.0


def weigh_words(reader: ShelfReader, query: TextQuery, terms: TextQuery) -> WeighedWords:
    """Weigh the words of a query and its terms, as BM25 does; an ordinary word counts only for
    records that have it.
    """
    count = reader.count(WHOLE)
    weighed = dict((*terms.terms, *query.terms))
    having = dict(zip(weighed, reader.frequencies(list(weighed)), strict=True))
    weights = {
        token: weighed[token] * math.log(1 + (max(count, some) - some + 0.5) / (some + 0.5))
        for token, some in having.items()
    }
    unknown = {token for token, some in having.items() if not some}
    asked = [token for token, _ in query.terms]
    telling = [token for token in asked if token not in unknown & ORDINARY_TOKENS] or asked
    told = {token: weights[token] for token in telling}
    unknown_words = frozenset(unknown.intersection(telling))
    return WeighedWords(query, told, unknown_words, TextQuery(terms=tuple(weights.items())))


logger = logging.getLogger(__name__)

PROBES_FILE = "probes.txt"
LOWER_SHARES = (0.05, 0.25)
LOWER_SPREADS = 0.97
LOW_TO_MIDDLE = 0.67
"""Two quantiles of a normal distribution, their distance, and that from the second to the middle,
both in standard deviations. Only the lower side is measured, since probes that are related to the
catalogue widen the upper side.
"""
LEAST_SPREAD = 0.03


@frozen
class Calibration:
    """The cosine of unrelated queries to their nearest record, by one model: its middle, and its
    spread.
    """

    model: ModelId
    middle: Annotated[float, Field(ge=-1, le=1)]
    spread: Annotated[float, Field(gt=0)]

    def nearness_of(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance of each cosine above the middle, in spreads."""
        return (cosines - self.middle) / self.spread


def calibrate(reader: ShelfReader, embedder: Embedder) -> Calibration | None:
    """Measure the public records of a catalogue; return None if it has no vectors by
    this embedder.
    """
    reader = reader.seen_by(SEES_PUBLIC)
    if reader.model != embedder.model or not reader.count(WHOLE):
        return None
    probes = np.array([embedder.embed_query(probe) for probe in load_probes()])
    rankings = reader.nearest(probes, scope=WHOLE, limit=1)
    nearest = [ranking.scores[0] for ranking in rankings if ranking.total]
    if not nearest:
        return None
    lowest, low = (float(one) for one in np.quantile(nearest, LOWER_SHARES))
    spread = max((low - lowest) / LOWER_SPREADS, LEAST_SPREAD)
    return Calibration(
        model=embedder.model, middle=min(low + LOW_TO_MIDDLE * spread, 1.0), spread=spread
    )


@cache
def load_probes() -> tuple[str, ...]:
    """Return short questions about many topics, used as probes."""
    text = resources.files("stackroom.search").joinpath(PROBES_FILE).read_text(encoding="utf-8")
    return tuple(text.splitlines())


MEMBERS = ("model", "middle", "spread")  # the members of the file
STORED = TypeAdapter(Calibration)


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration to a file atomically."""
    replace_file(path, dump_checked(asdict(calibration), option=orjson.OPT_INDENT_2))


def find_calibration(path: Path) -> Calibration | None:
    """Read a calibration, or return None if there is none."""
    if not path.is_file():
        return None
    try:
        return STORED.validate_python(load_checked(path.read_bytes(), MEMBERS))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path} is damaged; build the catalogue again, or remove the file"
        ) from error


def watch_calibration(path: Path) -> Callable[[ModelId | None], Calibration | None]:
    """Follow the calibration of a catalogue for vectors of a model; None if none was measured, or
    it is damaged.
    """

    def read() -> Calibration | None:
        try:
            return find_calibration(path)
        except StorageError as error:
            logger.warning(
                "results of catalogue '%s' are not graded: %s", path.parent.name, error.message
            )
            return None

    watch = FileWatch(path, read)
    return lambda model: (
        known if (known := watch.find()) is not None and known.model == model else None
    )


OFFSET = -2.18
NEARNESS = 0.6
SHARE_OF_WORDS = 2.4
AMOUNT_OF_WORDS = 5.35
UNKNOWN_WORDS = -2.5
NAMED_VALUES = 0.67
MOODS = 3.0
WHOLE_MOOD, KNOWN_MOOD, NEAR_MOOD = 0.65, 0.1, 0.1
"""The strength of a record that fully meets a query of moods alone, and the additions for how well
known it is and for its nearness.
"""
MANY_WORDS = 10  # the number of words from which a description counts as long

WORDS_ALONE = (0.6, 0.2)
"""The strength of a record with every word of the query, without vectors: the first number, plus a
share of the second, which is half for a record of average length with each word once.
"""
PRESSED_FROM, PRESSED_BY = 0.85, 0.79
"""Only the same text is identical with the query: above the first number, other strengths are
compressed by the second, so that none reaches the label IDENTICAL.
"""
SAME_TEXT = 0.95  # the cosine from which two texts are the same

LATIN = re.compile("[a-z]")

FEW_RECORDS = 300
"""Among fewer records than this, the nearest record to an unrelated query is less near, so more
nearness is required.
"""


BASE, WORDS, NAME = "base", "words", "name"
MEANING, FEW, UNKNOWN, NAMED = "meaning", "few_records", "unknown_words", "named_values"
MOOD = "mood"  # the addends of the logistic function beside the words
AT_MOST, SAME = "at_most", "same_text"
"""The parts that lower a strength to the limit for content, or raise it to that of the
same text.
"""


@frozen
class WeighedEvidence:
    """The evidence for each candidate."""

    addends: Mapping[str, Floats]
    """The addends of the logistic function by their kind; none if words alone count."""
    by_words: Floats  # the strength by words alone
    cosine: Floats
    name: Floats
    mood: Floats  # the strength of what is asked for by mood alone
    awaiting: NDArray[np.bool_] | None = None
    """The candidates without a vector yet: for them words alone count."""

    def strengths(self) -> Floats:
        """Return the strength of each candidate."""
        return np.maximum(np.maximum(self._by_content(slice(None)), self.mood), self.name)

    def parts_at(self, row: int) -> dict[str, float]:
        """Return the parts of one candidate's strength; their sum is the strength."""
        one = slice(row, row + 1)
        content = float(self._by_content(one)[0])
        has_meaning = bool(self.addends) and (self.awaiting is None or not self.awaiting[row])
        parts = self._logistic_parts(one, content) if has_meaning else {WORDS: content}
        felt = max(float(self.mood[row]), content)
        parts[MOOD] = parts.get(MOOD, 0.0) + felt - content
        return {**parts, NAME: max(float(self.name[row]) - felt, 0.0)}

    def _by_content(self, rows: slice) -> Floats:
        if not self.addends:
            return self.by_words[rows]
        reached = _logistic(self._sum(rows))
        pressed = np.minimum(reached, PRESSED_FROM + PRESSED_BY * (reached - PRESSED_FROM))
        strengths = np.where(self.cosine[rows] >= SAME_TEXT, 1.0, pressed)
        if self.awaiting is None:
            return strengths
        return np.where(self.awaiting[rows], self.by_words[rows], strengths)

    def _sum(self, rows: slice) -> Floats:
        total = np.full(len(self.name[rows]), OFFSET)
        for addend in self.addends.values():
            total += addend[rows]
        return total

    def _logistic_parts(self, one: slice, content: float) -> dict[str, float]:
        base, reached = float(_logistic(np.array([OFFSET]))[0]), float(_logistic(self._sum(one))[0])
        rise = float(self._sum(one)[0]) - OFFSET
        slope = (reached - base) / rise if rise else base * (1 - base)
        shares = {name: slope * float(addend[one][0]) for name, addend in self.addends.items()}
        beyond = SAME if content > reached else AT_MOST
        return {BASE: base, **shares, beyond: content - reached}


def weigh_evidence(
    candidates: Candidates,
    words: WeighedWords,
    calibration: Calibration | None,
    *,
    record_count: int,
) -> WeighedEvidence:
    """Return the evidence for each candidate."""
    # of others a model of English makes nothing
    has_meaning = candidates.has_cosines and any(map(LATIN.search, words.weights))
    mood = np.zeros(len(candidates.keys))
    if candidates.mood is not None and candidates.is_mood:  # the query is about nothing else
        nearness = np.clip(candidates.cosine, 0, 1)
        mood = candidates.mood * (WHOLE_MOOD + KNOWN_MOOD * candidates.known + NEAR_MOOD * nearness)
    least, more = WORDS_ALONE
    by_words = least + more * candidates.bm25 / (candidates.bm25 + (words.total or 1.0))
    addends: Mapping[str, Floats] = {}
    if calibration and has_meaning:
        addends = _addends(candidates, words, calibration, record_count)
    return WeighedEvidence(
        addends=addends,
        by_words=candidates.share * by_words,
        cosine=candidates.cosine,
        name=candidates.name,
        mood=mood,
        awaiting=candidates.awaiting,
    )


def _addends(
    candidates: Candidates, words: WeighedWords, calibration: Calibration, record_count: int
) -> dict[str, Floats]:
    amount = min(len(words.weights), MANY_WORDS) / MANY_WORDS
    count, fewest = len(candidates.keys), max(record_count, 2)
    allowance = max(0.0, math.sqrt(2 * math.log(FEW_RECORDS)) - math.sqrt(2 * math.log(fewest)))
    return {
        MEANING: NEARNESS * calibration.nearness_of(candidates.cosine),
        FEW: np.full(count, -NEARNESS * allowance),
        WORDS: (SHARE_OF_WORDS * candidates.share + AMOUNT_OF_WORDS * amount) * candidates.share,
        UNKNOWN: np.full(count, UNKNOWN_WORDS * words.share_of(words.unknown)),
        NAMED: NAMED_VALUES * candidates.named,
        **({} if candidates.mood is None else {MOOD: MOODS * candidates.mood}),
    }


def _logistic(values: Floats) -> Floats:
    logistic: Floats = 1 / (1 + np.exp(-values))
    return logistic
