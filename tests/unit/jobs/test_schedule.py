"""When jobs are due."""

from datetime import UTC, datetime, timedelta

import pytest

from stackroom.errors import InputError
from stackroom.jobs.board import parse_schedule

pytestmark = pytest.mark.row("Z9")

NOON = datetime(2026, 11, 15, 12, 0, 30, 500, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("60s", timedelta(minutes=1)),
        ("30m", timedelta(minutes=30)),
        (" 6 h ", timedelta(hours=6)),
        ("1D", timedelta(days=1)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_an_interval_counts_from_the_moment_before(text: str, interval: timedelta) -> None:
    schedule = parse_schedule(text)
    assert schedule.next_after(NOON) == NOON + interval
    assert schedule.text == text.replace(" ", "").lower()


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("* * * * *", datetime(2026, 11, 15, 12, 1, tzinfo=UTC)),
        ("0 3 * * *", datetime(2026, 11, 16, 3, 0, tzinfo=UTC)),
        ("*/15  12  * *  sun", datetime(2026, 11, 15, 12, 15, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        ("30 4 L * *", datetime(2026, 11, 30, 4, 30, tzinfo=UTC)),
    ],
)
def test_a_cron_line_is_due_at_its_next_minute_in_utc(text: str, due: datetime) -> None:
    assert parse_schedule(text).next_after(NOON) == due


def test_a_manual_schedule_is_never_due() -> None:
    assert parse_schedule("Manual").next_after(NOON) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty; write an interval such as 30m"),
        ("   ", "empty"),
        ("x" * 101, "too long"),
        ("soon", "'soon' is not understood; write an interval such as 30m, 6h or 1d"),
        ("5", "not understood"),
        ("6 hours", "not understood"),
        ("-5m", "not understood"),
        ("0 0 3 * * *", "not understood"),
        ("10s", "not between a minute and a year"),
        ("999999w", "not between a minute and a year"),
        ("99999999d", "not between a minute and a year"),
        (f"{'9' * 99}s", "not between a minute and a year"),
        ("0h", "not between a minute and a year"),
        ("１h", "not understood"),
        ("٠ ٣ * * *", "not understood"),
        ("*/0 * * * *", "bad minute"),
        ("61 * * * *", "bad minute; write an interval"),
        ("* 24 * * *", "bad hour"),
        ("* * 32 * *", "bad day-of-month"),
        ("* * * 13 *", "bad month"),
        ("* * * * 8", "bad day-of-week"),
        ("* * * * \0", "bad day-of-week"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("0 0 * 2 MON#6", "bad day-of-week"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_would_be_right(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(text)
    assert says in caught.value.message
