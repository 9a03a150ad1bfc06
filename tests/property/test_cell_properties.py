"""Cells read back as they were written, and no text that breaks the reading."""

import calendar
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.catalogue.spec import DateOrder, FieldSpec, FieldType, Take
from stackroom.errors import InputError
from stackroom.ingest.values import READERS
from stackroom.text.cells.dates import date_order_of, find_date, find_year, first_day
from stackroom.text.cells.values import (
    find_literal,
    find_written_list,
    is_nothing,
    list_in,
    number_and_unit,
    plain_text,
    read_boolean,
    read_number,
    text_of,
)

pytestmark = pytest.mark.row("N1")

CELLS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="0123456789.,-+/: '\"[](){}$€%kMmeEQ~–\\ab", max_size=40),
    st.from_regex(re.compile(r"[0-9]{1,4}[-/. ]?(Jun|juin|Q)?[-/. ]?[0-9]{1,4}"), fullmatch=True),
    st.from_regex(re.compile(r"\[('a' ?|\"b\",|1 |\{'c': |\}|array\(|\))*\]"), fullmatch=True),
)
FIELDS = [
    *(FieldSpec(name="f", type=kind, values=("yes", "no")) for kind in FieldType),
    FieldSpec(name="f", type=FieldType.FLOAT, unit="kg"),
    FieldSpec(name="f", type=FieldType.INT, take=Take.YEAR),
    FieldSpec(name="f", type=FieldType.DATE, date_order=DateOrder.MONTH_FIRST),
    FieldSpec(name="f", type=FieldType.TEXTS, split=","),
]
DAYS = st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 31))
MONTHS = calendar.month_name[1:]
WORDS = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@given(CELLS)
def test_no_text_breaks_the_reading_of_cells(text: str) -> None:
    for read in (
        find_date,
        find_year,
        date_order_of,
        number_and_unit,
        find_written_list,
        find_literal,
        is_nothing,
    ):
        read(text)
    for read_any in (read_number, read_boolean, plain_text, text_of):
        read_any(text)
    list_in(text, ",")


@given(CELLS, st.sampled_from(FIELDS))
def test_a_cell_is_read_or_refused_by_the_name_of_its_field(text: str, field: FieldSpec) -> None:
    refusal = ""
    try:
        READERS[field.type](text, field)
    except InputError as error:
        refusal = error.message
    assert not refusal or refusal.startswith("'f' is ")


@given(CELLS)
def test_a_date_that_is_read_is_an_iso_date_and_is_read_again_as_itself(text: str) -> None:
    iso = find_date(text)
    if iso is not None:
        first_day(iso)
        assert find_date(iso) == iso


@given(DAYS)
def test_a_day_is_read_as_it_was_written(day: date) -> None:
    iso, month = day.isoformat(), MONTHS[day.month - 1]
    written = [
        iso,
        iso.replace("-", "/"),
        f"{iso}T12:30:00Z",
        f"{day.day} {month} {day.year}",
        f"{day:%Y%m%d}",
    ]
    written += [
        f"{month} {day.day}, {day.year}",
        f"{day.day}-{month[:3]}-{day.year}",
        f"{day.day}/{day.month}/{day.year}",
    ]
    assert {find_date(one) for one in written} == {iso}
    assert find_date(f"{day.month}/{day.day}/{day.year}", month_first=True) == iso
    assert find_date(f"{month} {day.year}") == iso[:7]
    assert find_year(f"{day.day} {month} {day.year}") == day.year


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_is_read_as_it_was_written(number: int) -> None:
    for written in (
        f"{number}",
        f"{number:,}",
        f"{number:_}".replace("_", "\u202f"),
        f"{number} %",
        f"{number:,} USD",
    ):
        assert read_number(written) == number


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_an_amount_is_read_with_a_point_and_with_a_comma(amount: object) -> None:
    written = f"{amount:,.2f}"
    swapped = written.translate(str.maketrans(",.", ".,"))
    assert read_number(written) == read_number(swapped) == float(str(amount))


@given(st.lists(WORDS, max_size=5))
def test_a_list_is_read_as_python_and_numpy_wrote_it(words: list[str]) -> None:
    assert find_written_list(repr(words)) == words
    numpy = "[" + " ".join(repr(word) for word in words) + "]"
    assert find_written_list(numpy) == words
    assert find_written_list(f"array({words!r}, dtype=object)") == words
