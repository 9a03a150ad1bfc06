"""Records, counts and model identities."""

import dataclasses

import pytest

from stackroom.model.hits import FacetCount
from stackroom.model.record import DEFAULT_KIND, Record, RecordId
from stackroom.model.vectors import ModelId


def test_a_field_without_a_value_is_none() -> None:
    record = Record(id=RecordId("one"), fields={"title": "A"})
    assert (record.get("title"), record.get("year"), record.kind) == ("A", None, DEFAULT_KIND)


def test_values_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        FacetCount("", "x", 1).count = 2  # type: ignore[misc]


def test_models_of_one_name_but_another_dimension_are_different() -> None:
    assert ModelId(name="m", dimension=2) != ModelId(name="m", dimension=3)
    assert str(ModelId(name="m", dimension=2)) == "m (2 dimensions)"
