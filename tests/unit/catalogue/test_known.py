"""How much is known of a record, as its declaration counts it."""

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import known_of
from stackroom.errors import SpecError
from stackroom.model.record import Record, RecordId

DECLARED = """
name = "films"
title = "Films"
summary = "Films."
[fields.title]
type = "text"
role = "title"
[fields.plot]
type = "text"
[fields.sources]
type = "text[]"
[known]
plot = { weight = 0.5, full = 100 }
sources = { weight = 0.5, full = 3 }
"""


def film(**fields: object) -> Record:
    return Record(id=RecordId("1"), fields={"title": "A", **fields})  # type: ignore[arg-type]


def test_nothing_is_known_of_a_record_without_the_named_fields() -> None:
    assert known_of(compile_text(DECLARED, origin="films"), film()) == 0.0


def test_a_full_record_counts_as_one_however_much_more_it_has() -> None:
    spec = compile_text(DECLARED, origin="films")
    assert known_of(spec, film(plot="x" * 400, sources=tuple("abcdefgh"))) == 1.0


def test_texts_count_by_length_and_lists_by_magnitude() -> None:
    spec = compile_text(DECLARED, origin="films")
    assert known_of(spec, film(plot="x" * 50)) == pytest.approx(0.25)
    assert known_of(spec, film(sources=("a",))) == pytest.approx(0.25)


def test_a_field_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(SpecError, match=r"'known\.plots': no field 'plots'"):
        compile_text(DECLARED.replace("plot = {", "plots = {"), origin="films")


def test_without_named_fields_a_record_is_known_as_far_as_its_fields_have_values() -> None:
    spec = compile_text(DECLARED.partition("[known]")[0], origin="films")
    assert known_of(spec, film(plot="A plot.", sources=())) == pytest.approx(2 / 3)
    assert known_of(spec, film(plot="A plot.", sources=("x",))) == 1.0
