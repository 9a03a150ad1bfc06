"""What a read looks at."""

import pytest

from stackroom.model.scope import (
    AUDIENCE_FIELD,
    PUBLIC,
    SEES_EVERYTHING,
    WHOLE,
    AnyOf,
    Range,
    Scope,
    Visibility,
)

STAFF = Visibility(frozenset({"staff"}))


@pytest.mark.parametrize(
    ("visibility", "audiences", "seen"),
    [
        (SEES_EVERYTHING, ("board",), True),
        (STAFF, (), True),
        (STAFF, ("staff", "board"), True),
        (STAFF, ("board",), False),
        (STAFF, ("Staff",), False),
        (STAFF, (PUBLIC,), True),
        (Visibility(frozenset()), (), True),
        (Visibility(frozenset()), ("staff",), False),
    ],
)
def test_a_record_is_seen_by_everybody_or_by_its_audiences(
    visibility: Visibility, audiences: tuple[str, ...], seen: bool
) -> None:
    assert visibility.sees(audiences) is seen


def test_what_may_be_seen_is_one_of_the_conditions_in_a_fixed_order() -> None:
    scope = Scope(conditions=(Range("year", 1),), visibility=Visibility(frozenset({"b", "a"})))
    assert scope.all_conditions() == (Range("year", 1), AnyOf(AUDIENCE_FIELD, (PUBLIC, "a", "b")))


def test_who_sees_everything_has_no_further_condition() -> None:
    assert WHOLE.all_conditions() == ()


def test_narrowing_keeps_what_may_be_seen() -> None:
    narrowed = Scope(conditions=(Range("year", 1),), visibility=STAFF).narrowed(
        AnyOf("type", ("TV",))
    )
    assert narrowed == Scope(
        conditions=(Range("year", 1), AnyOf("type", ("TV",))), visibility=STAFF
    )
