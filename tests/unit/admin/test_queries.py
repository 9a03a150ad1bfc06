"""Times as arguments give them."""

from datetime import UTC, datetime, timedelta

import pytest

from stackroom.admin.declare import parse_moment
from stackroom.errors import InputError

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-15", datetime(2026, 11, 15, tzinfo=UTC)),
        ("2026-11-15T10:00:00+02:00", datetime(2026, 11, 15, 8, tzinfo=UTC)),
        ("2026-11-15 10:00", datetime(2026, 11, 15, 10, tzinfo=UTC)),
        ("30m", NOW - timedelta(minutes=30)),
        ("2 D", NOW - timedelta(days=2)),
    ],
)
def test_a_day_a_moment_and_an_age_are_understood(text: str, moment: datetime) -> None:
    assert parse_moment("since", text, is_end=False, now=NOW) == moment


def test_a_day_as_an_end_means_its_end() -> None:
    assert parse_moment("to", "2026-11-15", is_end=True, now=NOW) == datetime(
        2026, 11, 16, tzinfo=UTC
    )
    assert parse_moment("to", "9999-12-31", is_end=True, now=NOW) == datetime(
        9999, 12, 31, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "text", ["", "soon", "1y", "h", "-1h", "999999w", "0001-01-01T00:00:00+23:00", "2026-13-01"]
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(InputError, match="is not a day or a moment; write 2026-11-15"):
        parse_moment("since", text, is_end=False, now=NOW)
