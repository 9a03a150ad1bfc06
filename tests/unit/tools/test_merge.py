"""Merging the hits of several catalogues by strength."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.model.hits import Evidence, Hit, MatchType, SearchMode, SearchPage
from stackroom.model.record import Key, Record, RecordId
from stackroom.tools.merge import NEAREST_SHOWN, MergedHit, MergedPage, merge

pytestmark = [pytest.mark.row("N9"), pytest.mark.row("N2")]

STRENGTHS = st.lists(st.floats(0, 1), max_size=25).map(lambda some: sorted(some, reverse=True))


class NamedView:
    """A view of which only the name matters."""

    def __init__(self, name: str) -> None:
        self.name = name


def hits(name: str, strengths: Sequence[float]) -> list[MergedHit]:
    """Return the hits of one catalogue, in its order."""
    view = cast("Any", NamedView(name))
    return [
        MergedHit(
            view=view,
            hit=Hit(
                key=Key(rank),
                record=Record(id=RecordId(f"{name}{rank}"), fields={}),
                score=strength,
                match_type=MatchType.HYBRID,
                reasons={},
            ),
        )
        for rank, strength in enumerate(strengths)
    ]


def ids(items: Sequence[MergedHit]) -> list[str]:
    return [str(item.hit.record.id) for item in items]


def page(strengths: Sequence[float]) -> SearchPage:
    return SearchPage(
        hits=(),
        total_matches=sum(strength >= 0.5 for strength in strengths),
        mode=SearchMode.HYBRID,
        evidence=Evidence.of(max(strengths, default=0.0)),
    )


@given(one=STRENGTHS, other=STRENGTHS)
def test_each_catalogue_keeps_its_order_and_nothing_is_lost(
    one: list[float], other: list[float]
) -> None:
    merged = ids(merge([hits("a", one), hits("b", other)]))
    assert sorted(merged) == sorted(ids(hits("a", one)) + ids(hits("b", other)))
    for name, strengths in (("a", one), ("b", other)):
        assert [record for record in merged if record.startswith(name)] == ids(
            hits(name, strengths)
        )


@given(one=STRENGTHS, other=STRENGTHS)
def test_the_order_of_the_catalogues_does_not_matter(one: list[float], other: list[float]) -> None:
    assert ids(merge([hits("a", one), hits("b", other)])) == ids(
        merge([hits("b", other), hits("a", one)])
    )


@given(one=STRENGTHS, other=STRENGTHS, length=st.integers(10, 25))
def test_a_longer_list_begins_as_a_shorter_one_does(
    one: list[float], other: list[float], length: int
) -> None:
    whole = ids(merge([hits("a", one), hits("b", other)]))
    shorter = ids(merge([hits("a", one[:length]), hits("b", other[:length])]))
    assert shorter[:length] == whole[:length]


def test_falling_strengths_are_merged_as_they_are_and_equals_take_turns() -> None:
    assert ids(merge([hits("a", [0.9, 0.3]), hits("b", [0.6, 0.2])])) == ["a0", "b0", "a1", "b1"]
    assert ids(merge([hits("b", [0.5, 0.5]), hits("a", [0.5, 0.5])])) == ["a0", "b0", "a1", "b1"]
    assert merge([]) == merge([[]]) == []


def test_without_evidence_a_merged_page_shows_a_few_and_with_it_as_many_as_asked_for() -> None:
    weak = [0.4] * 20
    nothing = MergedPage(items=hits("a", weak), pages={"a": page(weak)}, unread=[])
    assert (nothing.evidence, nothing.total_matches) == (Evidence.NONE, 0)
    assert len(nothing.first(10)) == NEAREST_SHOWN
    assert len(nothing.first(2)) == 2
    strong = [0.9, *weak]
    some = MergedPage(
        items=hits("a", weak) + hits("b", strong),
        pages={"a": page(weak), "b": page(strong)},
        unread=[],
    )
    assert (some.evidence, some.total_matches) == (Evidence.STRONG, 1)
    assert len(some.first(10)) == 10
