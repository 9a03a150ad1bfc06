"""The text content of the anime tools: what the structured answer has, for clients that read text alone.

Every result is there with its id, form, tags and a shortened synopsis; the details of one anime are there in full.
"""

from collections.abc import Iterable, Sequence

from pinakes.api import shown_id
from pinakes_catalogues.anime.shapes import (
    AnimeDetails,
    AnimeShape,
    BrowseResult,
    CategoryShape,
    DetailsResult,
    RecommendedAnime,
    RecommendResult,
    SearchHit,
    SearchResult,
    TagShape,
)

SYNOPSIS_CHARS = 240
"""The length at which the synopsis of one of several results is cut."""


def search_text(result: SearchResult) -> str:
    """Return the text of `search_anime`."""
    head = f"{result.total_matches} matches, evidence: {result.evidence} ({result.search_mode})"
    degraded = [f"searched by words alone: {result.degraded}"] if result.degraded else []
    lines = [head, *degraded, *result.notes, *_numbered(map(_hit_lines, result.results))]
    return result.with_evidence("\n".join(lines))


def recommend_text(result: RecommendResult) -> str:
    """Return the text of `recommend_similar`."""
    found = _numbered(map(_recommended_lines, result.recommendations)) or ["nothing fits these preferences"]
    taste = [f"taste: {', '.join(result.taste_centroid)}"] if result.taste_centroid else []
    notes = [*result.understood, *(f"not understood: {one}" for one in result.not_understood)]
    return "\n".join([*found, *taste, *notes])


def details_text(result: DetailsResult) -> str:
    """Return the text of `get_anime_details`."""
    if result.anime is None:
        hint = [f"did you mean {' or '.join(result.suggestions)}?"] if result.suggestions else []
        return "\n".join(["no such anime", *result.notes, *hint])
    return "\n".join([*_details_lines(result.anime), *result.notes])


def browse_text(result: BrowseResult) -> str:
    """Return the text of `browse_taxonomy`."""
    return "\n".join([*map(_category_line, result.categories), *result.notes]) or "no tags"


def _numbered(entries: Iterable[Sequence[str]]) -> list[str]:
    lines: list[str] = []
    for number, (first, *rest) in enumerate(entries, start=1):
        lines += [f"{number}. {first}", *(f"   {line}" for line in rest)]
    return lines


def _hit_lines(hit: SearchHit) -> list[str]:
    return [f"{_head(hit)} {hit.score}, {hit.match_type}, {hit.status}", *_body_lines(hit)]


def _recommended_lines(item: RecommendedAnime) -> list[str]:
    parts = item.signals
    signals = f"semantic {parts.semantic}, tags {parts.taxonomy}, time {parts.temporal}, format {parts.format}"
    return [f"{_head(item)} {item.similarity_score} ({signals})", *_body_lines(item)]


def _head(anime: AnimeShape) -> str:
    shown = shown_id(anime.id, anime.catalogue)
    return f"{anime.title} ({anime.type}, {anime.year or 'year unknown'}, {anime.episodes or '?'} ep) [{shown}]"


def _body_lines(anime: AnimeShape) -> list[str]:
    lines = [_tags(anime.tags), _shortened(anime.synopsis or "")]
    return [line for line in lines if line]


def _details_lines(anime: AnimeDetails) -> list[str]:
    """Return every field of an anime, those without a value left out."""
    season = " ".join(str(part) for part in (anime.season.season, anime.season.year) if part)
    fields = {
        "id": shown_id(anime.id, anime.catalogue),
        "also called": ", ".join(anime.titles.alternatives),
        "type": anime.type,
        "episodes": str(anime.episodes or "unknown"),
        "status": anime.status,
        "season": season or "unknown",
        "minutes an episode": str(anime.duration or ""),
        "tags": _tags(anime.tags),
        "sources": ", ".join(anime.sources),
        "relations": ", ".join(anime.relations),
        "synopsis": anime.synopsis or "",
    }
    return [anime.titles.canonical, *(f"{name}: {value}" for name, value in fields.items() if value)]


def _category_line(shape: CategoryShape) -> str:
    return f"{shape.category}: " + ", ".join(f"{tag.value} ({tag.count})" for tag in shape.tags)


def _tags(tags: Sequence[TagShape]) -> str:
    return ", ".join(tag.value for tag in tags)


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SYNOPSIS_CHARS else f"{plain[:SYNOPSIS_CHARS].rsplit(' ', 1)[0]} …"
