"""The text content of the anime tools: all that the structured answer has, for clients that read text alone."""

from collections.abc import Iterable, Sequence

from pinakes.api import describe_degraded, shown_id, why_lines
from pinakes_catalogues.anime.shapes import (
    AnimeDetails,
    AnimeShape,
    BrowseResult,
    CategoryShape,
    DetailsResult,
    OtherSignalShape,
    RecommendedAnime,
    RecommendResult,
    SearchHit,
    SearchResult,
    TagShape,
)


def search_text(result: SearchResult) -> str:
    """Return the text of `search_anime`."""
    head = f"{result.total_matches} matches, evidence: {result.evidence} ({result.search_mode})"
    degraded = [describe_degraded(result.degraded)] if result.degraded else []
    lines = [head, *degraded, *_numbered(map(_hit_lines, result.results)), *result.remarks]
    return result.with_evidence("\n".join(lines))


def recommend_text(result: RecommendResult) -> str:
    """Return the text of `recommend_similar`."""
    found = _numbered(map(_recommended_lines, result.recommendations)) or ["nothing fits these preferences"]
    taste = [f"taste: {', '.join(result.taste_centroid)}"] if result.taste_centroid else []
    understood = [*result.understood, *(f"not understood: {one}" for one in result.not_understood)]
    return "\n".join([*found, *taste, *understood, *result.remarks])


def details_text(result: DetailsResult) -> str:
    """Return the text of `get_anime_details`."""
    if result.anime is None:
        hint = [f"did you mean {' or '.join(result.suggestions)}?"] if result.suggestions else []
        return "\n".join(["no such anime", *result.remarks, *hint])
    sure = [f"confidence: {result.confidence}"] if result.confidence is not None else []
    others = [f"it could also be {' or '.join(result.suggestions)}"] if result.suggestions else []
    return "\n".join([*_details_lines(result.anime), *sure, *others, *result.remarks])


def browse_text(result: BrowseResult) -> str:
    """Return the text of `browse_taxonomy`."""
    return "\n".join([*map(_category_line, result.categories), *result.remarks]) or "no tags"


def _numbered(entries: Iterable[Sequence[str]]) -> list[str]:
    lines: list[str] = []
    for number, (first, *rest) in enumerate(entries, start=1):
        lines += [f"{number}. {first}", *(f"   {line}" for line in rest)]
    return lines


def _hit_lines(hit: SearchHit) -> list[str]:
    label = f", {hit.relevance}" if hit.relevance else ""
    names = [f"also called: {', '.join(hit.alternatives)}"] if hit.alternatives else []
    return [
        f"{_head(hit)} {hit.score}{label}, {hit.match_type}, {hit.status}",
        *names,
        *_body_lines(hit),
        *why_lines(hit.why),
    ]


def _recommended_lines(item: RecommendedAnime) -> list[str]:
    parts, others = item.signals, item.other_signals
    signals = f"semantic {parts.semantic}, tags {parts.taxonomy}, time {parts.temporal}, format {parts.format}"
    chosen = [*_other_signal("wish", others.wish), *_other_signal("known", others.known)]
    by = f"; chosen by {', '.join(chosen)}" if chosen else ""
    return [f"{_head(item)} {item.similarity_score} ({signals}{by})", *_body_lines(item), *why_lines(item.why)]


def _other_signal(name: str, signal: OtherSignalShape | None) -> list[str]:
    return [] if signal is None else [f"{name} {signal.value} (weight {signal.weight})"]


def _head(anime: AnimeShape) -> str:
    shown = shown_id(anime.id, anime.catalogue)
    return f"{anime.title} ({anime.type}, {anime.year or 'year unknown'}, {_episodes(anime.episodes)} ep) [{shown}]"


def _episodes(count: int) -> str:
    """Return how many episodes there are, which no source counts from 0."""
    return str(count or "0 known")


def _body_lines(anime: AnimeShape) -> list[str]:
    lines = [_tags(anime.tags), " ".join((anime.synopsis or "").split())]
    return [line for line in lines if line]


def _details_lines(anime: AnimeDetails) -> list[str]:
    """Return every field of an anime, those without a value left out."""
    season = " ".join(str(part) for part in (anime.season.season, anime.season.year) if part)
    fields = {
        "id": shown_id(anime.id, anime.catalogue),
        "also called": ", ".join(anime.titles.alternatives),
        "type": anime.type,
        "episodes": _episodes(anime.episodes),
        "status": anime.status,
        "season": season or "unknown",
        "minutes an episode": str(anime.duration if anime.duration is not None else ""),
        "tags": _tags(anime.tags),
        "sources": ", ".join(anime.sources),
        "relations": ", ".join(anime.relations),
        "synopsis": anime.synopsis or "",
    }
    return [anime.titles.canonical, *(f"{name}: {value}" for name, value in fields.items() if value)]


def _category_line(shape: CategoryShape) -> str:
    shown = f" ({len(shape.tags)} of {shape.total} tags)" if shape.total else ""
    return f"{shape.category}{shown}: " + ", ".join(f"{tag.value} ({tag.count})" for tag in shape.tags)


def _tags(tags: Sequence[TagShape]) -> str:
    """Return the tags of each category after its name."""
    by_category: dict[str, list[str]] = {}
    for tag in tags:
        by_category.setdefault(tag.category, []).append(tag.value)
    return "; ".join(f"{category or 'tags'}: {', '.join(values)}" for category, values in by_category.items())
