"""Series of records (parts, sequels, films), recognised by the pages that records name and by their
titles.
"""

import html
import re
from functools import cache, lru_cache
from typing import NamedTuple

import orjson

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, RecommendSpec, texts_of
from stackroom.model.record import Record
from stackroom.text.normalise import fold

MIN_STEM_CHARS = 5  # the length from which a stem that begins another title shows a series
MIN_SHARED_CHARS = 6
"""The length from which a stem counts wherever it stands: of an alternative title, or after a
colon.
"""
MIN_SHARED_WIDE_CHARS = 3  # the same for scripts without spaces, where three characters say as much
MIN_INNER_CHARS = 10  # the length from which a stem of several words counts anywhere in a title

_BREAK = re.compile(r"[:：;([〜~]|\s[-–—~]")
_NOISE = re.compile(r"[\W_]+")
_ORDINAL = r"\d|[ivx]+\b|(?:first|second|third|fourth|fifth|2nd|3rd|4th|5th)\b"


class Work(NamedTuple):
    """The evidence of a record's series."""

    stem: str  # the stem of the title
    marks: frozenset[str]
    """Its pages, the pages it names, and the stems of its titles that are long enough to tell
    apart.
    """
    # the stem as it stands in the title of another part of the series; empty where it is too short
    # to tell
    sought: str
    title: str  # the words of the title, its parts on lines of their own, a space around each word


def work_of(record: Record, spec: CatalogueSpec) -> Work:
    """Return the series evidence of a record."""
    recommend = spec.recommend or RecommendSpec()
    markers = recommend.series_markers if spec.recommend else ()
    title, alternatives = spec.title_of(record), spec.field_with_role(FieldRole.ALTERNATIVES)
    others = texts_of(record.fields.get(alternatives.name)) if alternatives else []
    stem, size = title_stem(title, markers=markers), MIN_SHARED_CHARS
    marks = {record.id, *texts_of(record.fields.get(recommend.related.pages))}
    marks.update(texts_of(record.fields.get(recommend.related.field)))
    stems = {stem, *[title_stem(name, markers=markers) for name in others]}
    marks.update(
        [one for one in stems if len(one) >= (size if one.isascii() else MIN_SHARED_WIDE_CHARS)]
    )
    return Work(stem, frozenset(marks), _sought(stem), _lines(title))


@lru_cache(maxsize=50_000)
def title_stem(title: str, *, markers: tuple[str, ...]) -> str:
    """Return a title without its subtitle and what says which part it is: `Cosmos Season Two:
    Stars` → `cosmos`.
    """
    folded = fold(html.unescape(title)).strip()
    whole = _part_pattern(markers).sub("", _BREAK.split(folded, maxsplit=1)[0].rstrip())
    return _words(whole) or _words(folded)


def _words(folded: str) -> str:
    is_plain = folded.replace(" ", "").isalnum() and "  " not in folded
    return (folded if is_plain else _NOISE.sub(" ", folded)).strip()


@cache
def _part_pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return the end of a title from the first marker or ordinal on."""
    named = "|".join(re.escape(marker.lower()) for marker in markers)
    marker = rf"(?:the\s+)?(?:{named})\b|" if named else ""
    return re.compile(rf"\s+(?:{marker}{_ORDINAL}).*$")


def _sought(stem: str) -> str:
    """Return what a title of the same series has: a long stem anywhere, a shorter one at the
    beginning of a part.
    """
    if len(stem) >= MIN_INNER_CHARS and " " in stem:
        return f" {stem} "
    if len(stem) >= MIN_SHARED_CHARS:
        return f"\n {stem} "
    return f"\n\n {stem} " if len(stem) >= MIN_STEM_CHARS else ""


def _lines(title: str) -> str:
    """Return the words of a title and of its parts; two line ends are before the first part."""
    parts = _BREAK.split(fold(html.unescape(title)))
    return "\n" + "".join([f"\n {_words(part)} " for part in parts])


def same_franchise(one: Work, other: Work) -> bool:
    """Tell whether two records are of one series."""
    if one.stem == other.stem or not one.marks.isdisjoint(other.marks):
        return True
    return bool(
        (one.sought and one.sought in other.title) or (other.sought and other.sought in one.title)
    )


def encode_work(work: Work) -> bytes:
    """Return the evidence as a shelf keeps it."""
    return orjson.dumps([work.stem, work.title, *sorted(work.marks)])


@lru_cache(maxsize=10_000)
def decode_work(kept: bytes) -> Work:
    """Return the evidence that was kept."""
    stem, title, *marks = orjson.loads(kept)
    return Work(stem, frozenset(marks), _sought(stem), title)
