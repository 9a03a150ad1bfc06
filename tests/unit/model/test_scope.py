"""What a read looks at."""

import pytest

from stackroom.model.scope import (
    PUBLIC,
    SEES_EVERYTHING,
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
