"""Times in the control database: whole microseconds since 1970, which are exact on every database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)


def to_microseconds(moment: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def from_microseconds(count: int) -> datetime:
    """Return the aware time of microseconds since 1970."""
    return EPOCH + count * MICROSECOND


class Moment(TypeDecorator[datetime]):
    """A column of aware times."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Return the stored form of a value."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the value of a stored form."""
        return None if value is None else from_microseconds(int(value))
