"""A row of an anime-offline-database file → a record.

The file's rows have `sources`, `title`, `type`, `episodes`, `status`, `animeSeason`, `synonyms`,
`relatedAnime`, `tags` and, where they were added, `synopsis` or `synopses` (by provider),
`duration` and `popularity`.
"""

import html
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from stackroom.api import InputError, Record, RecordId, RowMapping, Tag

PROVIDERS = {
    "myanimelist.net/anime/": "mal",
    "anilist.co/anime/": "anilist",
    "kitsu.io/anime/": "kitsu",
    "kitsu.app/anime/": "kitsu",
    "anidb.net/anime/": "anidb",
    "anime-planet.com/anime/": "anime-planet",
    "anisearch.com/anime/": "anisearch",
    "livechart.me/anime/": "livechart",
    "notify.moe/anime/": "notify",
}
"""Providers in the order in which they give a record its id."""

TYPES = ("TV", "MOVIE", "OVA", "ONA", "SPECIAL")
STATUSES = ("FINISHED", "ONGOING", "UPCOMING")
SEASONS = ("WINTER", "SPRING", "SUMMER", "FALL")
MACHINE_WRITTEN = "modb_llm"
CREDIT = re.compile(
    r"\s*[\[(](?:source|written by|adapted from|edited by)\b[^\])]*[\])]\s*$", re.IGNORECASE
)


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record of a row, or refuse a row without a title or a source."""
    title = _text(row.get("title"))
    if not title:
        raise InputError("'title' is missing; every anime needs one")
    sources = _texts(row, "sources")
    season = _object(row, "animeSeason")
    synopses = _synopses(row)
    fields = {
        "title": title,
        "alternatives": tuple(name for name in _texts(row, "synonyms") if name != title),
        "type": _choice(row.get("type"), TYPES),
        "episodes": _positive(row, "episodes"),
        "status": _choice(row.get("status"), STATUSES),
        "season": season.get("season") if season.get("season") in SEASONS else None,
        "year": _positive(season, "year"),
        "duration": _minutes(row.get("duration")),
        "tags": tags_of(_texts(row, "tags")),
        "synopsis": synopses[0] if synopses else None,
        "other_synopses": tuple(synopses[1:]),
        "popularity": _positive(row, "popularity"),
        "sources": sources,
        "relations": _texts(row, "relatedAnime"),
    }
    return Record(
        id=_id_of(sources, title), fields={name: value for name, value in fields.items() if value}
    )


def identities_of(record: Record) -> tuple[str, ...]:
    """Return the unique keys of a record: its pages at the providers."""
    return record.get("sources") or (record.id,)


def is_metadata(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is the file's own description rather than an anime."""
    return "title" not in row and ("$schema" in row or "license" in row)


MAPPING = RowMapping(
    records_of=lambda row: (record_of(row),), identities_of=identities_of, is_metadata=is_metadata
)


def tags_of(names: Iterable[str]) -> tuple[Tag, ...]:
    """Return tags in canonical spelling and category; an unknown tag gets the category `other`."""
    aliases, split, categories = _taxonomy()
    found: dict[Tag, None] = {}
    for name in names:
        lowered = " ".join(name.lower().split())
        for part in split.get(lowered, (lowered,)):
            value = aliases.get(part, part)
            found[Tag(categories.get(value, "other"), value)] = None
    return tuple(found)


@cache
def _taxonomy() -> tuple[dict[str, str], dict[str, list[str]], dict[str, str]]:
    table = tomllib.loads(
        resources.files(__package__).joinpath("taxonomy.toml").read_text(encoding="utf-8")
    )
    aliases, split = table.pop("aliases"), table.pop("split")
    return (
        aliases,
        split,
        {value: category for category, values in table.items() for value in values},
    )


def _id_of(sources: tuple[str, ...], title: str) -> RecordId:
    for place, provider in PROVIDERS.items():
        for source in sources:
            if place in source:
                return RecordId(f"{provider}-{source.split(place)[1].strip('/')}")
    if not sources:
        raise InputError(
            f"'sources' of '{title}' is empty; give at least one page, which identifies the record"
        )
    return RecordId(re.sub(r"^https?://", "", sources[0]))


def _synopses(row: Mapping[str, Any]) -> list[str]:
    """Return every synopsis once, the longest that a person wrote first."""
    synopses = dict(_object(row, "synopses"))
    if row.get("synopsis"):
        synopses["own"] = row["synopsis"]
    cleaned = {provider: CREDIT.sub("", _text(text)) for provider, text in synopses.items()}
    ordered = sorted(
        cleaned, key=lambda provider: (provider == MACHINE_WRITTEN, -len(cleaned[provider]))
    )
    return list(dict.fromkeys(cleaned[provider] for provider in ordered if cleaned[provider]))


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    return value if value in choices else "UNKNOWN"


def _text(value: Any) -> str:
    return html.unescape(value).strip() if isinstance(value, str) else ""


def _texts(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    values = row.get(field) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f'\'{field}\' is not a list of texts, such as ["a", "b"]: {values!r:.60}')
    return tuple(dict.fromkeys(text for value in values if (text := _text(value))))


def _object(row: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = row.get(field) or {}
    if not isinstance(value, dict):
        raise InputError(f"'{field}' is {value!r}, not an object such as {{\"year\": 1998}}")
    return value


def _positive(row: Mapping[str, Any], field: str) -> int | None:
    """Return a count or a year; 0 in the files means unknown."""
    value = row.get(field)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value if value and value > 0 else None
    raise InputError(f"'{field}' is {value!r}, not a whole number such as 12")


def _minutes(duration: Any) -> int | None:
    """Return minutes from a number of minutes or the file's own {value, unit: SECONDS}."""
    if isinstance(duration, dict):
        value = duration.get("value")
        return round(value / 60) or 1 if isinstance(value, int | float) and value > 0 else None
    return duration if isinstance(duration, int) and duration > 0 else None
