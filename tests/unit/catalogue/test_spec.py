"""Questions to a compiled spec."""

from typing import Any

import pytest

from stackroom.catalogue.spec import EmbedSpec, embedding_text, texts_of
from stackroom.errors import NotFoundError
from stackroom.model.record import Record, RecordId, Tag
from stackroom.packages import PACKAGES

TEMPLATE = EmbedSpec(template="{title}. {tags}. {synopsis}")


def record(**fields: Any) -> Record:
    return Record(id=RecordId("one"), fields=fields)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"title": "A", "tags": (Tag("x", "b"), Tag("", "c")), "synopsis": "D"}, "A. b, c. D"),
        ({"title": "A", "tags": (), "synopsis": "  \n "}, "A"),
        ({"title": "A\n  b", "synopsis": "c\td"}, "A b. c d"),
        ({}, ""),
    ],
)
def test_parts_of_a_template_without_a_value_fall_out_with_their_joint(
    fields: dict[str, Any], text: str
) -> None:
    assert embedding_text(TEMPLATE, record(**fields)) == text


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, []),
        ("a", ["a"]),
        (("a", "b"), ["a", "b"]),
        ((Tag("x", "a"),), ["a"]),
        (7, ["7"]),
        (["a"], ["a"]),
    ],
)
def test_any_value_has_its_texts(value: Any, texts: list[str]) -> None:
    assert texts_of(value) == texts


def test_a_record_goes_by_its_title_and_its_alternatives_and_without_them_by_its_id() -> None:
    spec = PACKAGES.get("anime").spec
    assert spec.names_of(record(title="A", alternatives=("B", "", "C"))) == ["A", "B", "C"]
    assert spec.names_of(record()) == []
    assert spec.title_of(record(title="A")) == "A"
    assert spec.title_of(record()) == "one"


def test_columns_are_kept_for_filters_facets_time_and_popularity() -> None:
    columns = {field.name for field in PACKAGES.get("anime").spec.column_fields}
    assert columns == {
        "type",
        "episodes",
        "status",
        "season",
        "year",
        "duration",
        "tags",
        "popularity",
    }


def test_a_built_in_catalogue_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(NotFoundError) as refused:
        PACKAGES.get("anmie")
    assert "(did you mean 'anime'?)" in refused.value.message
    assert "judoka" in refused.value.message
