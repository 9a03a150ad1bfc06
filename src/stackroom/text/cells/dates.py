"""Dates of day, month or year precision, as ISO text: `1963-07-16`, `1963-07`, `1963`.

A quarter is its first month. Of the two numbers before a year the first is the day, unless the caller says otherwise
for the whole column. Two-digit years are 1930 to 2029, as in spreadsheets. The time of day is dropped.
"""

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache
from typing import Literal

from stackroom.text.normalise import fold
from stackroom.toml_text import load_packaged

LONGEST = 60
REMEMBERED = 8192
"""The number of texts whose dates are remembered: the cells of a column repeat."""
PIVOT = 30
"""Two-digit years from here on are of the twentieth century, lower ones of the twenty-first."""

WORDS = load_packaged("stackroom.text.cells", "words.toml")
MONTHS = {name: number for number, names in enumerate(WORDS["months"], start=1) for name in names.split()}
PASSED_OVER = frozenset(f"{WORDS['weekdays']} {WORDS['particles']}".split()) - MONTHS.keys()

TIME = re.compile(
    r"(?:T|,?\s+(?:at\s+|um\s+|à\s+)?)\d{1,2}(?::\d{2}){1,2}(?:[.,]\d{1,9})?\s*(?:[AaPp]\.?[Mm]\.?)?"
    r"\s*(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?(?:\d{2})?)?(?:\s*\([^)]{1,30}\))?$"
)
"""The time of day after a date."""
ISO_DAY = re.compile(r"[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])", re.ASCII)  # as most dates of tables are
YEAR_FIRST = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?", re.ASCII)
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})", re.ASCII)
MONTH_AND_YEAR = re.compile(r"(\d{1,2})[-/.](\d{4})", re.ASCII)
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T\d{4,6}Z?)?", re.ASCII)
QUARTER = re.compile(r"(?:Q([1-4])|([1-4])Q)[ \-/]?(\d{4})|(\d{4})[ \-/]?Q([1-4])", re.I | re.A)
ABOUT = re.compile(r"^(?:c\.?|ca\.?|circa|about|~)\s*(?=[0-9])", re.IGNORECASE)
SHORT_MONTH = re.compile(r"([^\W\d_]{3,9})\.?(?:-|\s?['’])([0-9]{2})")
"""A month and a two-digit year, as in `Oct-12`."""
TOKEN = re.compile(r"([0-9]+)|([^\W\d_]+)|[\s.,\-/'’ªº°()]+|(.)", re.DOTALL)
DIGIT = re.compile(r"[0-9]")
ANY_YEAR = re.compile(r"(?<!\d)[12][0-9]{3}(?!\d)")

Order = Literal["dmy", "mdy", "either"]


def find_date(text: str, *, month_first: bool = False) -> str | None:
    """Return a text as an ISO date of its precision, or None; `3/4/2019` is 3 April unless the month comes first."""
    if ISO_DAY.fullmatch(text):
        return text
    if len(text) > LONGEST or not DIGIT.search(text):
        return None
    return _found_date(text, month_first)


@lru_cache(maxsize=REMEMBERED)
def _found_date(text: str, month_first: bool) -> str | None:
    bare = ABOUT.sub("", text.strip(), count=1) if text[:1] in "CcAa~" else text.strip()
    if ":" in bare:
        bare = TIME.sub("", bare)
    if bare[:4].isdecimal():
        return _year_first(bare) or _spelt(bare)
    return _year_last(bare, month_first=month_first) or _spelt(bare)


def find_year(text: str) -> int | None:
    """Return the year of a date, or the first year from 1000 to 2999 in a text, or None."""
    found = ANY_YEAR.search(find_date(text) or text)
    return int(found[0]) if found else None


def date_order_of(text: str) -> Order | None:
    """Return the order of day and month that a date such as `3/4/2019` can have; None for dates of other forms."""
    found = YEAR_LAST.fullmatch(TIME.sub("", text.strip())) if len(text) <= LONGEST else None
    if not found:
        return None
    first, second = int(found[1]), int(found[3])
    if max(first, second) > 31 or min(first, second) < 1 or min(first, second) > 12:
        return None
    if first <= 12 and second <= 12:
        return "either"
    return "dmy" if second <= 12 else "mdy"


def first_day(iso: str) -> date:
    """Return the first day of an ISO date of any precision; a text that is none is a ValueError."""
    return date.fromisoformat(f"{iso}-01-01"[:10] if len(iso) in (4, 7) else iso)


def _iso(year: int, month: int = 0, day: int = 0) -> str | None:
    """Return an ISO date of the precision that is given, or None where there is no such day."""
    if year < 1 or month > 12:
        return None
    if not month:
        return f"{year:04d}" if not day else None
    if not day:
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}" if day <= monthrange(year, month)[1] else None


def _year_first(text: str) -> str | None:
    found = YEAR_FIRST.fullmatch(text)
    if found:
        numbers = [int(found[place]) for place in (1, 3, 4) if found[place]]
        return _iso(*numbers) if all(numbers) else None
    compact = COMPACT.fullmatch(text)
    if compact:
        numbers = [int(digits) for digits in compact.groups()]
        return _iso(*numbers) if all(numbers) else None
    quarter = QUARTER.fullmatch(text)
    return _iso(int(quarter[4]), _first_month(quarter[5])) if quarter else None


def _first_month(quarter: str) -> int:
    return 3 * int(quarter) - 2


def _year_last(text: str, *, month_first: bool) -> str | None:
    found = YEAR_LAST.fullmatch(text)
    if found:
        first, second = int(found[1]), int(found[3])
        day, month = (second, first) if month_first else (first, second)
        return _iso(_full_year(found[4]), month, day) if day and month else None
    return _month_and_year(text) or _quarter(text)


def _month_and_year(text: str) -> str | None:
    found = MONTH_AND_YEAR.fullmatch(text)
    return _iso(int(found[2]), int(found[1])) if found and int(found[1]) else None


def _quarter(text: str) -> str | None:
    quarter = QUARTER.fullmatch(text)
    return _iso(int(quarter[3]), _first_month(quarter[1] or quarter[2])) if quarter else None


def _full_year(digits: str) -> int:
    """Return a year of two or four digits in full."""
    year = int(digits)
    return year if len(digits) > 2 else year + (1900 if year >= PIVOT else 2000)


def _spelt(text: str) -> str | None:
    """Return a date with the name of its month: `16 June 1997`, `June 16, 1997`, `July 1963`, `26-Oct-12`."""
    short = SHORT_MONTH.fullmatch(text)
    if short:
        month = MONTHS.get(fold(short[1]))
        return _iso(_full_year(short[2]), month) if month else None
    month, numbers = _month_and_numbers(text)
    if not month:
        return None
    if len(numbers) == 1 and len(numbers[0]) == 4:
        return _iso(int(numbers[0]), month)
    if len(numbers) != 2:
        return None
    day, year = (numbers[1], numbers[0]) if len(numbers[0]) == 4 else numbers
    is_right = len(day) <= 2 and len(year) in (2, 4) and int(day)
    return _iso(_full_year(year), month, int(day)) if is_right else None


def _month_and_numbers(text: str) -> tuple[int, list[str]]:
    """Return the month that a text names and its numbers; month 0 if it has any other word, or not one month."""
    month, numbers = 0, []
    for token in TOKEN.finditer(text):
        digits, word, other = token.groups()
        if digits:
            numbers.append(digits)
        elif word and (plain := fold(word)) not in PASSED_OVER:
            if month or plain not in MONTHS:
                return 0, []
            month = MONTHS[plain]
        elif other:
            return 0, []
    return month, numbers
