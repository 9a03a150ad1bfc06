"""Records in words."""

from pathlib import Path
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.generic.record_text import field_line, record_text, short_value, stems_of, telling_of
from stackroom.model.record import Record, RecordId, Tag

FILMS = Path(__file__).with_name("films.toml").read_text("utf-8")
PLOT = "A keeper tends the light, and the sea tends the keeper. " * 8


@pytest.fixture(scope="module")
def spec() -> CatalogueSpec:
    return compile_text(FILMS, origin="films")


def film(**fields: Any) -> Record:
    return Record(id=RecordId("one"), fields={"title": "The Light", **fields})


def line_of(record: Record, spec: CatalogueSpec) -> str:
    return field_line(record, spec, fields_of(record, spec))


def fields_of(record: Record, spec: CatalogueSpec) -> dict[str, Any]:
    return telling_of(spec, record.kind).fields_of(record)


def told(record: Record, spec: CatalogueSpec, *, whole: bool = False) -> str:
    line = line_of(record, spec)
    telling = telling_of(spec, record.kind)
    return f"{line}\n{telling.body_of(record) if whole else telling.snippet_of(record)}".strip()


def test_a_snippet_shows_the_words_that_were_searched_for_and_else_the_beginning(
    spec: CatalogueSpec,
) -> None:
    body = (
        "Stats and saves. " * 30
        + "Its fiery breath melts the armour of knights. "
        + "More of the same. " * 30
    )
    record = film(plot=body)
    telling = telling_of(spec, record.kind)
    stems = stems_of("who melts armour with breath?")
    assert "fiery breath melts" in telling.snippet_of(record, stems)
    for query in ("", "nothing of it", "stats"):
        assert telling.snippet_of(record, stems_of(query)).startswith("Stats and saves.")


def test_a_line_has_the_six_fields_that_say_most_with_their_names(spec: CatalogueSpec) -> None:
    genres = tuple(Tag("", name) for name in ("drama", "sea", "ghost", "slow", "quiet", "old"))
    record = film(
        code="x1",
        year=1999,
        genres=genres,
        country="Norway",
        minutes=90,
        tagline="Who " * 40,
        studio="North",
        score=7.5,
        notes="hidden",
        plot=PLOT,
    )
    assert (
        line_of(record, spec)
        == "studio: North · year: 1999 · genres: drama, sea, ghost, slow, quiet, … (6) · country:"
        " Norway · score: 7.5 · minutes: 90"
    )


def test_a_line_of_few_fields_is_filled_up_with_those_that_say_less(spec: CatalogueSpec) -> None:
    assert (
        line_of(film(code="x1", year=1999, tagline="Who knows"), spec)
        == "year: 1999 · tagline: Who knows"
    )
    assert line_of(film(plot=PLOT), spec) == ""


@pytest.mark.row("N1")
def test_a_record_with_nothing_but_a_code_or_a_link_is_told_by_it(spec: CatalogueSpec) -> None:
    assert (
        told(film(code="x1", page="https://example.org/1"), spec)
        == "code: x1 · page: https://example.org/1"
    )


def test_the_fields_of_a_record_are_values_with_texts_and_lists_cut(spec: CatalogueSpec) -> None:
    genres = tuple(Tag("", f"genre {number}") for number in range(9))
    fields = fields_of(film(year=1999, score=7.25, genres=genres, studio="North " * 40), spec)
    assert fields == {
        "studio": f"{'North ' * 13}…",
        "year": 1999,
        "genres": [f"genre {number}" for number in range(5)],
        "score": 7.25,
    }


@pytest.mark.parametrize(
    ("number", "text"), [(265.0, "265"), (85.1337792642, "85.1338"), (1999, "1999"), (-0.5, "-0.5")]
)
def test_numbers_are_written_without_needless_decimals(
    spec: CatalogueSpec, number: float, text: str
) -> None:
    assert short_value(number, spec.fields["score"]) == text


def test_the_text_of_a_record_has_every_shown_field_and_no_text_twice(spec: CatalogueSpec) -> None:
    script = "\n\n".join([PLOT.replace(". ", ".\n"), "Then the storm comes."])
    text = record_text(
        film(cast=[{"name": "Åse", "role": "keeper"}], notes="hidden", plot=PLOT, script=script),
        spec,
    )
    assert (
        text == f'title: The Light\ncast: [{{"name": "Åse", "role": "keeper"}}]\nscript: {script}'
    )


@pytest.mark.parametrize(
    ("links", "page"),
    [
        (
            {"poster": "https://example.org/p.png", "page": "https://example.org/1"},
            "https://example.org/1",
        ),
        ({"poster": "https://example.org/p.PNG?size=2"}, None),
        ({"page": "ftp://example.org/1"}, None),
        ({"page": "http://example.org/1"}, "http://example.org/1"),
        ({}, None),
    ],
)
def test_the_page_of_a_record_is_its_first_link_that_is_no_picture(
    spec: CatalogueSpec, links: dict[str, str], page: str | None
) -> None:
    assert telling_of(spec, "record").page_of(film(**links)) == page


def test_fields_that_were_asked_for_are_told_too(spec: CatalogueSpec) -> None:
    record = film(
        year=1999, tagline="Who knows", country="Norway", minutes=90, score=7.5, studio="North"
    )
    telling = telling_of(spec, record.kind)
    assert list(telling.fields_of(record, ["tagline"]))[-1] == "tagline"
    assert "tagline" not in telling.fields_of(record)
