"""Time in the control database: whole microseconds since 1970, so that it is exact on every database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the time of day, aware, in UTC."""
    return datetime.now(UTC)


def to_microseconds(moment: datetime) -> int:
    """Return the whole microseconds from 1970 to an aware moment."""
    return (moment - EPOCH) // MICROSECOND


def from_microseconds(count: int) -> datetime:
    """Return the moment so many microseconds after 1970."""
    return EPOCH + count * MICROSECOND


class Moment(TypeDecorator[datetime]):
    """A column of aware moments."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Return what is stored."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return what was stored."""
        return None if value is None else from_microseconds(int(value))
