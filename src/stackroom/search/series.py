"""Records of one series: parts, sequels and films, recognised by the pages they name and by their titles."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from stackroom.catalogue.spec import CatalogueSpec, RecommendSpec, Role, texts_of
from stackroom.model.record import Record
from stackroom.text.normalise import fold

MIN_STEM_CHARS = 5
"""The length from which a stem that begins another title shows a series."""

MIN_SHARED_CHARS = 6
"""The length from which a stem counts wherever it stands: of an alternative title, or after a colon."""

MIN_SHARED_WIDE_CHARS = 3
"""The same for scripts without spaces, where three characters say as much."""

MIN_INNER_CHARS = 10
"""The length from which a stem of several words counts anywhere in a title."""

_BREAK = re.compile(r"[:：;([〜~]|\s[-–—~]")
_NOISE = re.compile(r"[\W_]+")
_ORDINAL = r"\d|[ivx]+\b|(?:first|second|third|fourth|fifth|2nd|3rd|4th|5th)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The evidence of a record's series: its pages, the pages it names, and the stems of its titles."""

    pages: frozenset[str]
    related: frozenset[str]
    stem: str
    """The stem of the title."""
    stems: frozenset[str]
    """The stems of all titles, those that are too short to tell apart left out."""
    parts: tuple[str, ...]
    """The words of the title and of its parts, a space around each word: they may begin with another's stem."""

    def opens_with(self, stem: str) -> bool:
        """Tell whether the title or a part of it begins with another's stem, or has a longer one inside."""
        if stem == self.stem:
            return True
        size = len(stem)
        if size < MIN_STEM_CHARS:
            return False
        phrase, is_inner = f" {stem} ", size >= MIN_INNER_CHARS and " " in stem
        for place, part in enumerate(self.parts):
            is_first = part.startswith(phrase) and (place == 0 or size >= MIN_SHARED_CHARS)
            if is_first or (is_inner and phrase in part):
                return True
        return False


def work_of(record: Record, spec: CatalogueSpec) -> Work:
    """Return the series evidence of a record."""
    recommend = spec.recommend or RecommendSpec()
    markers = recommend.series_markers if spec.recommend else ()
    title, alternatives = spec.title_of(record), spec.field_with_role(Role.ALTERNATIVES)
    others = texts_of(record.get(alternatives.name)) if alternatives else []
    stem = title_stem(title, markers=markers)
    stems = {stem, *(title_stem(name, markers=markers) for name in others)}
    return Work(
        pages=frozenset((record.id, *texts_of(record.get(recommend.related.pages)))),
        related=frozenset(texts_of(record.get(recommend.related.field))),
        stem=stem,
        stems=frozenset(one for one in stems if _is_telling(one)),
        parts=_parts(title),
    )


@lru_cache(maxsize=50_000)
def title_stem(title: str, *, markers: tuple[str, ...]) -> str:
    """Return a title without its subtitle and what says which part it is: `Cosmos Season Two: Stars` → `cosmos`."""
    folded = fold(html.unescape(title)).strip()
    return _bare(_part_pattern(markers).sub("", _BREAK.split(folded, maxsplit=1)[0].rstrip())) or _bare(folded)


@cache
def _part_pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return the end of a title from the first marker or ordinal on."""
    named = rf"(?:the\s+)?(?:{'|'.join(re.escape(marker.lower()) for marker in markers)})\b|" if markers else ""
    return re.compile(rf"\s+(?:{named}{_ORDINAL}).*$")


def _bare(folded: str) -> str:
    """Return the letters and digits of a folded title, its words separated by one space."""
    return _NOISE.sub(" ", folded).strip()


def _is_telling(stem: str) -> bool:
    return len(stem) >= (MIN_SHARED_CHARS if stem.isascii() else MIN_SHARED_WIDE_CHARS)


@lru_cache(maxsize=10_000)
def _parts(title: str) -> tuple[str, ...]:
    return tuple(f" {_bare(part)} " for part in _BREAK.split(fold(html.unescape(title))))


def same_franchise(one: Work, other: Work) -> bool:
    """Tell whether two records are of one series."""
    if not one.related.isdisjoint(other.related):
        return True
    if not one.pages.isdisjoint(other.related) or not one.related.isdisjoint(other.pages):
        return True
    if not one.stems.isdisjoint(other.stems):
        return True
    return other.opens_with(one.stem) or one.opens_with(other.stem)


@dataclass(slots=True, eq=False)
class _Series:
    """The records of one series among those read so far, and how many of them were picked."""

    works: list[Work] = field(default_factory=list)
    picked: int = 0

    def has(self, work: Work) -> bool:
        for other in self.works:  # noqa: SIM110  compared for each pair of hits
            if same_franchise(work, other):
                return True
        return False


def pick_diverse(works: Iterable[Work], *, limit: int, per_franchise: int, known: Sequence[Work] = ()) -> list[int]:
    """Return the first indexes, in order, with a bounded number per series; reads no further than needed.

    Records of one series with a third one, read before or `known`, are of one series with each other.
    """
    every = [_Series([work]) for work in known]
    chosen: list[int] = []
    for index, work in enumerate(works):
        if len(chosen) == limit:
            break
        series = _joined(every, work)
        if series.picked < per_franchise:
            series.picked += 1
            chosen.append(index)
    return chosen


def _joined(every: list[_Series], work: Work) -> _Series:
    """Return the series of a work, made of all that it connects, and put it in their place."""
    same = [series for series in every if series.has(work)]
    whole = _Series([work, *(one for series in same for one in series.works)], sum(series.picked for series in same))
    every[:] = [*(series for series in every if series not in same), whole]
    return whole
