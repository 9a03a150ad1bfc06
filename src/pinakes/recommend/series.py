"""Records of one work: parts and sequels, recognised by what they name and by their titles."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pinakes.catalogue.spec import CatalogueSpec, RecommendSpec, texts_of
from pinakes.model.record import Record
from pinakes.text.normalise import fold, fold_name

MIN_STEM_CHARS = 5

_SUBTITLE = re.compile(r"\s*(?:[:：;]|\s[-–—~]|[(\[〜~]).*$")
_ORDINAL = r"\d|[ivx]+\b|(?:first|second|third|fourth|fifth|2nd|3rd|4th|5th)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The evidence of a record's series: its pages, the pages it names, and the stems of its title."""

    pages: frozenset[str]
    related: frozenset[str]
    stem: str


def work_of(record: Record, spec: CatalogueSpec) -> Work:
    """Return the series evidence of a record."""
    recommend = spec.recommend or RecommendSpec()
    related = texts_of(record.get(recommend.related.field))
    pages = texts_of(record.get(recommend.related.pages))
    markers = recommend.series_markers if spec.recommend else ()
    return Work(
        pages=frozenset((record.id, *pages)),
        related=frozenset(related),
        stem=title_stem(spec.title_of(record), markers=markers),
    )


def title_stem(title: str, *, markers: tuple[str, ...]) -> str:
    """Return a title without its subtitle and what says which part it is: `Cosmos Season Two: Stars` → `cosmos`."""
    folded = fold(title).strip()
    stem = fold_name(_part_pattern(markers).sub("", _SUBTITLE.sub("", folded)))
    return stem or fold_name(folded)


@cache
def _part_pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return the end of a title from the first marker or ordinal on."""
    named = rf"(?:the\s+)?(?:{'|'.join(re.escape(marker.lower()) for marker in markers)})\b|" if markers else ""
    return re.compile(rf"\s+(?:{named}{_ORDINAL}).*$")


def same_franchise(one: Work, other: Work) -> bool:
    """Tell whether two records are of one work."""
    if not one.related.isdisjoint(other.pages) or not other.related.isdisjoint(one.pages):
        return True
    return _starts_with(one.stem, other.stem) or _starts_with(other.stem, one.stem)


def pick_diverse(works: Iterable[Work], *, limit: int, per_franchise: int) -> list[int]:
    """Return the first indexes, in order, with a bounded number per series; reads no further than needed."""
    chosen: dict[int, Work] = {}
    for index, work in enumerate(works):
        alike = sum(same_franchise(work, other) for other in chosen.values())
        if alike < per_franchise:
            chosen[index] = work
        if len(chosen) == limit:
            break
    return list(chosen)


def _starts_with(longer: str, stem: str) -> bool:
    if len(stem) < MIN_STEM_CHARS:
        return longer == stem
    return longer == stem or longer.startswith(f"{stem} ")
