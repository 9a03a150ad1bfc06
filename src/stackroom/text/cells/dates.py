"""Dates of day, month or year precision, as ISO text: `1963-07-16`, `1963-07`, `1963`.

A quarter is its first month. Of the two numbers before a year the first is the day, unless the
caller says otherwise for the whole column. Two-digit years are 1930 to 2029, as in spreadsheets.
The time of day is dropped.
"""

from calendar import monthrange
from datetime import date
from functools import lru_cache, partial
from typing import Literal

from stackroom.text.normalise import fold
from stackroom.text.patterns import compose
from stackroom.toml_text import load_packaged

LONGEST = 60
REMEMBERED = 8192  # the number of texts whose dates are remembered: the cells of a column repeat
# two-digit years from here on are of the twentieth century, lower ones of the twenty-first
PIVOT = 30

WORDS = load_packaged("stackroom.text.cells", "words.toml")
MONTHS = {
    name: number for number, names in enumerate(WORDS["months"], start=1) for name in names.split()
}
PASSED_OVER = frozenset(f"{WORDS['weekdays']} {WORDS['particles']}".split()) - MONTHS.keys()

PARTS = load_packaged("stackroom.text.cells", "patterns.toml") | {
    "currencies": "|".join(WORDS["currencies"].split())
}
cell_pattern = partial(compose, PARTS)
TIME, ISO_DAY, YEAR_LAST = map(cell_pattern, ("time", "iso_day", "year_last"))
FORMS_BY_YEAR = [*map(cell_pattern, ("year_first", "compact", "year_and_quarter"))]
FORMS_BY_DAY = [YEAR_LAST, *map(cell_pattern, ("month_and_year", "quarter_and_year"))]
ABOUT, SHORT_MONTH, TOKEN, ANY_YEAR = map(
    cell_pattern, ("about", "short_month", "date_token", "any_year")
)
Order = Literal["dmy", "mdy", "either"]


def find_date(text: str, *, month_first: bool = False) -> str | None:
    """Return a text as an ISO date of its precision, or None; `3/4/2019` is 3 April unless the
    month comes first.
    """
    if ISO_DAY.fullmatch(text):
        return text
    if len(text) > LONGEST or not any(map(text.__contains__, "0123456789")):
        return None
    return _found_date(text, month_first)


@lru_cache(maxsize=REMEMBERED)
def _found_date(text: str, month_first: bool) -> str | None:
    bare = ABOUT.sub("", text.strip(), count=1) if text[:1] in "CcAa~" else text.strip()
    if ":" in bare:
        bare = TIME.sub("", bare)
    return _numeric(bare, month_first=month_first) or _spelt(bare)


def find_year(text: str) -> int | None:
    """Return the year of a date, or the first year from 1000 to 2999 in a text, or None."""
    found = ANY_YEAR.search(find_date(text) or text)
    return int(found[0]) if found else None


def date_order_of(text: str) -> Order | None:
    """Return the order of day and month that a date such as `3/4/2019` can have; None for dates of
    other forms.
    """
    found = YEAR_LAST.fullmatch(TIME.sub("", text.strip())) if len(text) <= LONGEST else None
    if not found:
        return None
    first, second = int(found["day"]), int(found["month"])
    if max(first, second) > 31 or min(first, second) < 1 or min(first, second) > 12:
        return None
    if first <= 12 and second <= 12:
        return "either"
    return "dmy" if second <= 12 else "mdy"


def first_day(iso: str) -> date:
    """Return the first day of an ISO date of any precision; raise ValueError for any other text."""
    return date.fromisoformat(f"{iso}-01-01"[:10] if len(iso) in (4, 7) else iso)


def _iso(year: int, month: int = 0, day: int = 0) -> str | None:
    """Return an ISO date of the given precision, or None if there is no such day."""
    if year < 1 or month > 12:
        return None
    if not month:
        return f"{year:04d}" if not day else None
    if not day:
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}" if day <= monthrange(year, month)[1] else None


def _numeric(text: str, *, month_first: bool) -> str | None:
    """Return a date in digits: `1963-07-16`, `3/4/2019`, `7/1963`, `Q3 1963`."""
    has_year_first = text[:4].isdecimal()
    forms = FORMS_BY_YEAR if has_year_first else FORMS_BY_DAY
    said = next((found.groupdict() for form in forms if (found := form.fullmatch(text))), None)
    if said is None:
        return None
    numbers = [int(said[name]) for name in ("month", "day") if said.get(name)]
    if "quarter" in said:
        numbers = [3 * int(said["quarter"]) - 2]
    elif month_first and not has_year_first:
        numbers.reverse()
    return _iso(_full_year(said["year"]), *numbers) if all(numbers) else None


def _full_year(digits: str) -> int:
    """Return a year of two or four digits in full."""
    year = int(digits)
    return year if len(digits) > 2 else year + (1900 if year >= PIVOT else 2000)


def _spelt(text: str) -> str | None:
    """Return a date with the name of its month: `16 June 1997`, `June 16, 1997`, `July 1963`,
    `26-Oct-12`.
    """
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
    """Return the month that a text names and its numbers; month 0 if it has any other word, or not
    one month.
    """
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
