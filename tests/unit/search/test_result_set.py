"""Merging what several catalogues found by strength."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.errors import InputError
from stackroom.model.hits import Evidence
from stackroom.search.result_set import NEAREST_SHOWN, Hit, Part, ResultSet
from support.found import part_of

pytestmark = [pytest.mark.row("N9"), pytest.mark.row("N2")]

STRENGTHS = st.lists(st.floats(0, 1), max_size=25).map(lambda some: sorted(some, reverse=True))


def merged(*parts: Part, limit: int = 99) -> list[str]:
    return ids(ResultSet(parts=parts, is_whole=True).page(0, limit))


def ids(hits: Sequence[Hit]) -> list[str]:
    return [str(hit.record.id) for hit in hits]


@given(one=STRENGTHS, other=STRENGTHS)
def test_each_catalogue_keeps_its_order_and_nothing_is_lost(
    one: list[float], other: list[float]
) -> None:
    found = merged(part_of("a", one), part_of("b", other))
    alone = merged(part_of("a", one)), merged(part_of("b", other))
    assert [record for record in found if record.startswith("a")] == alone[0]
    assert [record for record in found if record.startswith("b")] == alone[1]
    assert len(found) == len(one) + len(other)


def test_falling_strengths_are_merged_as_they_are_and_equals_take_turns() -> None:
    assert merged(part_of("a", [0.9, 0.7]), part_of("b", [0.8, 0.6])) == ["a0", "b0", "a1", "b1"]
    assert merged(part_of("b", [0.9, 0.7]), part_of("a", [0.6, 0.2])) == ["b0", "b1", "a0", "a1"]
    assert merged(part_of("b", [0.5, 0.5]), part_of("a", [0.5, 0.5])) == ["a0", "b0", "a1", "b1"]
    assert merged() == merged(part_of("a", [])) == []


def test_a_list_has_one_catalogue_after_the_other_and_no_last_page() -> None:
    parts = [part_of("b", [0.9] * 60), part_of("a", [0.9] * 60)]
    listed = ResultSet(parts=parts, lists=True, page_size=50)
    assert (listed.total, listed.listed) == (120, 120)
    assert ids(listed.page(58, 4)) == ["b58", "b59", "a0", "a1"]
    assert [listed.cursor_after(start) for start in (0, 50, 100)] == ["50", "100", None]
    assert ids(list(listed.records())) == ids(listed.page(0, 120))


def test_without_evidence_a_set_shows_a_few_and_with_it_as_many_as_asked_for() -> None:
    weak = [0.4] * 20
    nothing = ResultSet(parts=[part_of("a", weak)])
    assert (nothing.evidence, nothing.total, nothing.listed) == (Evidence.NONE, 0, NEAREST_SHOWN)
    assert len(nothing.page(0, 10)) == len(nothing.keys()) == NEAREST_SHOWN
    assert len(nothing.page(0, 2)) == 2
    assert nothing.cursor_after(0) is None
    some = ResultSet(parts=[part_of("a", weak), part_of("b", [0.9, *weak])])
    assert (some.evidence, some.total, some.by_catalogue) == (Evidence.STRONG, 1, {"a": 0, "b": 1})
    assert len(some.page(0, 10)) == 10
    assert some.cursor_after(0) == "10"


def test_a_page_beyond_the_last_result_is_refused() -> None:
    found = ResultSet(parts=[part_of("a", [0.9] * 99)])
    assert ids(found.page(98, 10)) == ["a98"]
    assert found.cursor_after(89) is None
    with pytest.raises(InputError, match="pages up to its result 99"):
        found.page(100)


def test_a_rule_leaves_records_out_of_the_merged_set_and_says_why() -> None:
    parts = [part_of(name, [0.9] * 5) for name in "ab"]
    found = ResultSet(
        parts=parts,
        most=2,
        rule=lambda hits: ["it is the first" if hit.record.id == "a0" else "" for hit in hits],
    )
    assert ids(found.page(0, 10)) == ["b0", "a1", "b1", "a2"]
    assert [found.why_left_out(part, part.ranking.keys[0]) for part in parts] == [
        "it is the first",
        "",
    ]
