"""Numbers as tables write them."""

import math

import pytest

from stackroom.text.cells.values import in_unit, number_and_unit, read_number, same_unit

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("91 min", 91, "min"),
        ("0.71 m", 0.71, "m"),
        ("6.9 kg", 6.9, "kg"),
        ("173cm", 173, "cm"),
        ("4.2M", 4_200_000, ""),
        ("€105M", 105_000_000, "€"),
        ("$4.2m", 4_200_000, "$"),
        ("$1.5 billion", 1_500_000_000, "$"),
        ("3 Mio. €", 3_000_000, "€"),
        ("3.2 million views", 3_200_000, "views"),
        ("10k", 10_000, ""),
        ("$30,000", 30_000, "$"),
        ("RUR 700", 700, "RUR"),
        ("1,234", 1234, ""),
        ("1,23,456", 123_456, ""),
        ("1'234.5", 1234.5, ""),
        ("1\u202f234,5", 1234.5, ""),
        ("1.234,50", 1234.5, ""),
        ("1.234.567", 1_234_567, ""),
        ("~50", 50, ""),
        ("ca. 50 km", 50, "km"),
        ("10+", 10, ""),
        ("<18 years old", 18, "years old"),
        ("more than $20", 20, "$"),
        ("-$5", -5, "$"),
        ("−5 °C", -5, "°C"),
        ("12 km/h", 12, "km/h"),
        ("5 m²", 5, "m²"),
        ("12 fl oz", 12, "fl oz"),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, number: float, unit: str) -> None:
    found = number_and_unit(text)
    assert found is not None
    assert (found.number, found.unit, found.is_range) == (number, unit, False)


@pytest.mark.parametrize(
    ("text", "bounds", "unit", "number"),
    [
        ("40-46%", (40, 46), "%", None),
        ("10 to 15 years", (10, 15), "years", None),
        ("$50,000 - $99,999", (50_000, 99_999), "$", None),
        ("$25k – $50k", (25_000, 50_000), "$", None),
        ("$150,000+", (150_000, math.inf), "$", 150_000),
        ("65 and over", (65, math.inf), "", 65),
        ("under 18", (-math.inf, math.nextafter(18, 0)), "", 18),
        ("bis 17", (-math.inf, 17), "", 17),
        ("60 Jahre und älter", (60, math.inf), "Jahre", None),
        ("45 %", (45, 45), "%", 45),
    ],
)
def test_a_range_has_bounds_and_is_no_number(
    text: str, bounds: tuple[float, float], unit: str, number: float | None
) -> None:
    found = number_and_unit(text)
    assert found is not None
    assert (found.bounds, found.unit, read_number(text)) == (bounds, unit, number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "many",
        "12:30",
        "16 June 1997",
        "26-Oct-12",
        "10-5%",
        "$5 kg",
        "5 of the best cooks",
        "1e999",
        "v1.2",
        "7 8",
        "9th Circuit",
    ],
)
def test_other_texts_are_no_number(text: str) -> None:
    assert number_and_unit(text) is None


@pytest.mark.parametrize("text", ["91 min", "1-2", "2010-11", "3 Musketeers"])
def test_a_number_without_a_declared_unit_has_no_unit_and_is_no_range(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("one", "other"), [("min", "Minutes"), ("season", "Seasons"), ("kg", "KG"), ("$", "$")]
)
def test_spellings_of_a_unit_are_the_same(one: str, other: str) -> None:
    assert same_unit(one, other)
    assert not same_unit(one, "m")


@pytest.mark.parametrize(
    ("unit", "shown"), [("min", "30 min"), ("%", "30 %"), ("$", "$30"), ("EUR", "30 EUR")]
)
def test_a_number_is_shown_with_its_unit(unit: str, shown: str) -> None:
    assert in_unit("30", unit) == shown
