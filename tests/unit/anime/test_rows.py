"""Rows of an anime-offline-database file → records."""

import tomllib
from importlib import resources
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.ingest.mapping import require_valid
from stackroom.model.record import Tag
from stackroom.packages import PACKAGES
from stackroom_catalogues.anime.rows import identities_of, is_metadata, record_of, tags_of

pytestmark = pytest.mark.row("A10")

ROW: dict[str, Any] = {
    "sources": ["https://anidb.net/anime/23", "https://myanimelist.net/anime/1"],
    "title": " Cowboy Bebop ",
    "type": "TV",
    "episodes": 26,
    "status": "FINISHED",
    "animeSeason": {"season": "SPRING", "year": 1998},
    "synonyms": [
        "カウボーイビバップ",
        "Cowboy Bebop",
        "",
        "カウボーイビバップ",
        "Spike&#039;s Bebop",
    ],
    "relatedAnime": ["https://myanimelist.net/anime/5"],
    "tags": ["Space", "drama"],
    "synopsis": "Bounty hunters drift.",
    "duration": {"value": 1440, "unit": "SECONDS"},
}


def test_a_row_becomes_a_record_of_the_declared_shape() -> None:
    record = record_of(ROW)
    assert record.id == "mal-1"
    assert record.fields == {
        "title": "Cowboy Bebop",
        "alternatives": ("カウボーイビバップ", "Spike's Bebop"),
        "type": "TV",
        "episodes": 26,
        "status": "FINISHED",
        "season": "SPRING",
        "year": 1998,
        "duration": 24,
        "tags": (Tag("setting", "space"), Tag("genre", "drama")),
        "synopsis": "Bounty hunters drift.",
        "sources": ("https://anidb.net/anime/23", "https://myanimelist.net/anime/1"),
        "relations": ("https://myanimelist.net/anime/5",),
    }
    require_valid(record, PACKAGES.get("anime").spec)


def test_what_the_file_does_not_know_is_left_out_or_called_unknown() -> None:
    odd = {
        "type": "UNKNOWN",
        "status": "",
        "episodes": 0,
        "animeSeason": {"season": "UNDEFINED", "year": 0},
    }
    record = record_of({"title": "A", "sources": ["https://myanimelist.net/anime/2"], **odd})
    assert (record.get("type"), record.get("status")) == ("UNKNOWN", "UNKNOWN")
    for field in ("episodes", "season", "year", "duration", "synopsis", "tags", "popularity"):
        assert record.get(field) is None


@pytest.mark.parametrize(
    ("sources", "record_id"),
    [
        (["https://kitsu.app/anime/12", "https://anidb.net/anime/23"], "kitsu-12"),
        (["https://anime-planet.com/anime/cowboy-bebop"], "anime-planet-cowboy-bebop"),
        (["https://example.org/x"], "example.org/x"),
    ],
)
def test_the_id_is_of_the_first_provider_there_is(sources: list[str], record_id: str) -> None:
    assert record_of({"title": "A", "sources": sources}).id == record_id


@pytest.mark.parametrize(
    ("duration", "minutes"),
    [
        ({"value": 1440, "unit": "SECONDS"}, 24),
        ({"value": 10, "unit": "SECONDS"}, 1),
        ({"value": 0, "unit": "SECONDS"}, None),
        (24, 24),
        ("24 min", None),
    ],
)
def test_durations_are_minutes_whatever_their_form(duration: Any, minutes: int | None) -> None:
    assert record_of({**ROW, "duration": duration}).get("duration") == minutes


@pytest.mark.parametrize(
    ("changes", "synopsis"),
    [
        ({"synopsis": "Text. [Written by MAL Rewrite]"}, "Text."),
        ({"synopsis": "Text. (Source: ANN)"}, "Text."),
        (
            {"synopsis": None, "synopses": {"mal": "Short.", "anilist": "Rather longer."}},
            "Rather longer.",
        ),
        (
            {
                "synopsis": None,
                "synopses": {"modb_llm": "By a machine, at great length.", "mal": "Ours."},
            },
            "Ours.",
        ),
    ],
)
def test_the_synopsis_is_the_longest_that_a_person_wrote_without_its_credits(
    changes: dict[str, Any], synopsis: str | None
) -> None:
    assert record_of({**ROW, **changes}).get("synopsis") == synopsis


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": None}, "'title' is missing"),
        ({"sources": []}, "'sources' of 'Cowboy Bebop' is empty"),
        ({"sources": "https://x"}, "'sources' is not a list of texts"),
        ({"tags": [7]}, "'tags' is not a list of texts"),
        ({"episodes": "26"}, "'episodes' is '26', not a whole number"),
        ({"episodes": True}, "'episodes' is True"),
        ({"animeSeason": "SPRING 1998"}, "'animeSeason' is 'SPRING 1998', not an object"),
        ({"synopses": ["a", "b"]}, "'synopses' is"),
    ],
)
def test_a_row_of_another_shape_is_refused_with_the_field(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem.replace("[", r"\[")):
        record_of({**ROW, **changes})


def test_records_are_the_same_when_they_share_a_page() -> None:
    assert identities_of(record_of(ROW)) == tuple(ROW["sources"])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"$schema": "https://x", "license": {}, "lastUpdate": "2026"}, True),
        ({"title": "A", "license": {}}, False),
        ({}, False),
    ],
)
def test_the_line_that_describes_the_file_is_told_from_the_anime(
    row: dict[str, Any], expected: bool
) -> None:
    assert is_metadata(row) is expected


@pytest.mark.row("A9")
@pytest.mark.parametrize(
    ("names", "tags"),
    [
        (["Action", "action", " ACTION "], [("genre", "action")]),
        (["Cooking", "food"], [("theme", "gourmet")]),
        (["sci-fi & fantasy"], [("genre", "sci-fi"), ("genre", "fantasy")]),
        (["made up tag"], [("other", "made up tag")]),
    ],
)
def test_tags_are_spelt_alike_and_fall_into_categories_and_unknown_ones_are_kept(
    names: list[str], tags: list[tuple[str, str]]
) -> None:
    assert list(tags_of(names)) == [Tag(*tag) for tag in tags]


@pytest.mark.row("A9")
def test_the_table_of_tags_names_each_once_and_its_aliases_lead_into_it() -> None:
    text = (
        resources.files("stackroom_catalogues.anime")
        .joinpath("taxonomy.toml")
        .read_text(encoding="utf-8")
    )
    table = tomllib.loads(text)
    aliases, split = table.pop("aliases"), table.pop("split")
    assert set(table) == {"genre", "theme", "demographic", "setting"}
    known = [value for values in table.values() for value in values]
    assert len(known) == len(set(known))
    assert not set(aliases) & set(known)
    assert set(aliases.values()) <= set(known)
    assert {part for parts in split.values() for part in parts} <= set(known)
