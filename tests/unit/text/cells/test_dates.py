"""Dates of day, month and year precision as tables write them."""

from datetime import date

import pytest

from stackroom.text.cells.dates import date_order_of, find_date, find_year, first_day

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("July 1963", "1963-07"),
        ("1983", "1983"),
        ("16 June 1997", "1997-06-16"),
        ("June 16, 1997", "1997-06-16"),
        ("June 16th, 1997", "1997-06-16"),
        ("16th of June 1997", "1997-06-16"),
        ("Monday, 16 Jun 1997 12:00:00 GMT", "1997-06-16"),
        ("26-Oct-12", "2012-10-26"),
        ("26-Oct-82", "1982-10-26"),
        ("Oct-12", "2012-10"),
        ("2012 Oct 26", "2012-10-26"),
        ("31/12/2019", "2019-12-31"),
        ("31/12/2019 14:05", "2019-12-31"),
        ("1.1.99", "1999-01-01"),
        ("5/2019", "2019-05"),
        ("2019/5/1", "2019-05-01"),
        ("Q3 2019", "2019-07"),
        ("2019-Q3", "2019-07"),
        ("2019Q3", "2019-07"),
        ("c. 1850", "1850"),
        ("C 1850", "1850"),
        ("circa 12/3/1850", "1850-03-12"),
        ("1997-06-16 00:00:00+00:00", "1997-06-16"),
        ("1997-06-16T00:00:00.000Z", "1997-06-16"),
        ("3/1/2020 9:05 PM", "2020-01-03"),
        ("16. Juli 1997", "1997-07-16"),
        ("1 März 2012", "2012-03-01"),
        ("1er janvier 2020", "2020-01-01"),
        ("10 août 2012", "2012-08-10"),
        ("16 de junio de 1997", "1997-06-16"),
        ("3 dicembre 2001", "2001-12-03"),
        ("4 mei 1999", "1999-05-04"),
        ("7 de março de 2010", "2010-03-07"),
    ],
)
def test_a_date_keeps_its_precision(text: str, iso: str) -> None:
    assert find_date(text) == iso


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "Summer 2012",
            "March 8",
            "12 May",
            "May 12",
            "May of the year 2012",
            "July July 1963",
            "1 2 June 1963",
        ),
        *(
            "2015-02-30",
            "31/2/2019",
            "2019-06-31",
            "2015-13",
            "2015-00",
            "0000",
            "12:30",
            "12",
            "8/16/1982",
        ),
        *("1990s", "Q5 2019"),
    ],
)
def test_other_texts_are_no_date(text: str) -> None:
    assert find_date(text) is None


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("8/16/1982", "mdy"),
        ("31/12/2019", "dmy"),
        ("3/4/2019", "either"),
        ("3/4/2019 10:00", "either"),
        ("2019-04-03", None),
        ("3 April 2019", None),
        ("32/1/2019", None),
        ("13/13/2019", None),
    ],
)
def test_a_number_above_twelve_proves_the_order_of_day_and_month(
    text: str, order: str | None
) -> None:
    assert date_order_of(text) == order


def test_the_month_comes_first_where_the_column_has_it_so() -> None:
    assert find_date("3/4/2019", month_first=True) == "2019-03-04"
    assert find_date("31/12/2019", month_first=True) is None


@pytest.mark.parametrize(
    ("iso", "first"),
    [("2016", date(2016, 1, 1)), ("2016-02", date(2016, 2, 1)), ("2016-02-03", date(2016, 2, 3))],
)
def test_a_date_of_any_precision_has_a_first_day(iso: str, first: date) -> None:
    assert first_day(iso) == first


@pytest.mark.parametrize(
    ("text", "year"),
    [("Alien (1979)", 1979), ("26-Oct-12", 2012), ("1990-1995", 1990), ("12345", None), ("", None)],
)
def test_a_year_is_found_in_a_date_or_a_text(text: str, year: int | None) -> None:
    assert find_year(text) == year
