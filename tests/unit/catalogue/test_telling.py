"""The few fields that tell most about a record."""

from collections.abc import Mapping

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.catalogue.telling import MOST, rank_fields, telling_fields
from stackroom.errors import SpecError

FACET = 'type = "text"\nsearch = true\nfilter = true\nfacet = true'
RANGE = 'filter = "range"'
COUNT = f'type = "int"\n{RANGE}'
SHARE = f'type = "float"\n{RANGE}'
TAGS = 'type = "tag[]"\nsearch = true\nfilter = true\nfacet = true'
TEXT = 'type = "text"\nsearch = true'

BOOKS = {
    "best_book_id": 'type = "text"\nfilter = true',
    "isbn13": FACET,
    "authors": FACET,
    "original_publication_year": f'{COUNT}\nrole = "time"',
    "language_code": FACET,
    "average_rating": SHARE,
    "ratings_count": COUNT,
    "work_ratings_count": COUNT,
    "work_text_reviews_count": COUNT,
    **{f"ratings_{number}": COUNT for number in range(1, 6)},
    "image_url": 'type = "url"',
}
WINES = {
    "country": FACET,
    "description": f'{TEXT}\nrole = "body"',
    "designation": TEXT,
    "points": COUNT,
    "price": COUNT,
    "province": FACET,
    "region_1": FACET,
    "region_2": FACET,
    "taster_twitter_handle": FACET,
    "variety": FACET,
    "winery": FACET,
}
GAMES = {
    "year_published": f'{COUNT}\nrole = "time"',
    "min_players": COUNT,
    "play_time": COUNT,
    "users_rated": COUNT,
    "rating_average": SHARE,
    "bgg_rank": COUNT,
    "mechanics": TAGS,
    "domains": TAGS,
}
ARTISTS = {
    "gender": FACET,
    "yearOfBirth": f'{COUNT}\nrole = "time"',
    "placeOfBirth": f'{FACET}\nrole = "place"',
    "placeOfDeath": FACET,
    "url": 'type = "url"',
}
MONSTERS = {
    "category": 'type = "text"\nfilter = true',
    "sort_name": FACET,
    "clean_name": FACET,
    "type": FACET,
    "size": FACET,
    "artist_gender": FACET,
    **dict.fromkeys(("str", "initiative", "cr", "ac", "hp"), COUNT),
}
DRINKS = {
    "row_id": COUNT,
    "date_modified": f'type = "date"\n{RANGE}',
    "alcoholic": FACET,
    "category": FACET,
    "glass": FACET,
    "thumbnail": TEXT,
}


def spec_of(fields: Mapping[str, str], *, head: str = "") -> CatalogueSpec:
    tables = [
        f"[fields.{name}]\n{keys}"
        for name, keys in {"title": 'type = "text"\nrole = "title"', **fields}.items()
    ]
    return compile_text(
        "\n\n".join(['name = "own"\ntitle = "Own"\nsummary = "Own."', head, *tables]), origin="own"
    )


def names(spec: CatalogueSpec) -> list[str]:
    return [field.name for field in telling_fields(spec)]


@pytest.mark.row("N1")
@pytest.mark.parametrize(
    ("fields", "telling"),
    [
        (BOOKS, ["authors", "original_publication_year", "average_rating", "ratings_count"]),
        (WINES, ["winery", "variety", "country", "province", "points", "price"]),
        (
            GAMES,
            [
                "year_published",
                "mechanics",
                "domains",
                "rating_average",
                "min_players",
                "users_rated",
            ],
        ),
        (ARTISTS, ["yearOfBirth", "gender", "placeOfBirth", "placeOfDeath"]),
        (MONSTERS, ["clean_name", "type", "size", "cr", "ac", "hp"]),
        (DRINKS, ["category", "alcoholic", "glass", "date_modified"]),
    ],
)
def test_people_time_kind_place_rating_and_price_tell_more_than_ids_codes_links_and_repeated_counts(
    fields: Mapping[str, str], telling: list[str]
) -> None:
    assert names(spec_of(fields)) == telling


def test_there_are_never_more_than_six_and_the_same_spec_gives_the_same_ones() -> None:
    fields = {f"genre{letter}": FACET for letter in "abcdefghij"} | WINES | GAMES
    first, again = (telling_fields(spec_of(fields)) for _ in range(2))
    assert len(first) == MOST
    assert first == again


def test_a_spec_may_name_its_telling_fields_itself() -> None:
    assert names(spec_of(WINES, head='telling = ["price", "designation"]')) == [
        "price",
        "designation",
    ]


def test_a_telling_field_that_the_spec_does_not_have_is_refused_with_its_name() -> None:
    with pytest.raises(
        SpecError, match="'telling': no field 'prize' \\(did you mean 'price'\\?\\)"
    ):
        spec_of(WINES, head='telling = ["prize"]')


def test_after_the_telling_fields_come_those_that_tell_less_and_no_ids_and_pictures() -> None:
    ranked = [field.name for field in rank_fields(spec_of({**DRINKS, "served": TEXT}))]
    assert ranked == ["category", "alcoholic", "glass", "date_modified", "served"]


def test_records_of_a_kind_are_told_by_the_fields_of_that_kind() -> None:
    fields = {
        "year": f'{COUNT}\nkinds = ["film"]',
        "born": f'{COUNT}\nkinds = ["person"]',
        "country": FACET,
    }
    spec = spec_of(fields, head="[kinds.film]\n\n[kinds.person]")
    assert [field.name for field in telling_fields(spec, kind="person")] == ["born", "country"]
