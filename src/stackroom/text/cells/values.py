"""Cells as values: texts, numbers with currencies, magnitudes and units (`12,50 EUR`, `€105M`, `6.9
kg`), and lists.

A range of numbers, as "40–46 %", is no number but has bounds. A number after "about", "more than"
or "<", or before "+", is that number, and a bound.
"""

import html
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from stackroom.text.cells.dates import WORDS, cell_pattern

ANSWERS = {**dict.fromkeys(WORDS["yes"].split(), True), **dict.fromkeys(WORDS["no"].split(), False)}
NOTHING = frozenset({"", "[]", "{}"})
"""Texts without a value; words such as `NA` are for the readers of text tables to judge."""
TAG, HTML, FORMULA_TEXT = map(cell_pattern, ("tag", "html", "formula_text"))


def read_boolean(raw: Any) -> bool | None:
    """Return whether a cell says yes, or None: `yes`, `Y`, `true`, `ja`, `oui`, `x`, `1`, and their
    opposites.
    """
    return raw if isinstance(raw, bool) else ANSWERS.get(text_of(raw).casefold())


def is_nothing(raw: Any) -> bool:
    """Tell whether a cell has no value."""
    if isinstance(raw, str):
        return (unwrapped(raw) if "=" in raw else raw.strip()) in NOTHING
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return True
    return isinstance(raw, list | tuple | dict) and not raw


def unwrapped(text: str) -> str:
    """Return a cell's text without surrounding spaces and without a spreadsheet's formula around
    it.
    """
    bare = text.strip()
    if not bare.startswith("="):
        return bare
    formula = FORMULA_TEXT.fullmatch(bare)
    return formula[1].strip() if formula else bare


def text_of(raw: Any) -> str:
    """Return a cell as text; a list as its items, separated by commas."""
    if isinstance(raw, str):
        return unwrapped(raw)
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, list | tuple):
        return ", ".join(text_of(item) for item in raw if not is_nothing(item))
    if isinstance(raw, float) and raw.is_integer():
        return str(int(raw))
    if isinstance(raw, dict):
        return orjson.dumps(raw, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    return str(raw)


def plain_text(raw: Any) -> str:
    """Return a cell as plain text, without HTML tags and entities."""
    text = text_of(raw)
    if ("<" not in text and "&" not in text) or not HTML.search(text):
        return text
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


GREATEST = sys.float_info.max  # the greatest number accepted; greater ones fit no column
LONGEST = 60
REMEMBERED = 8192  # the number of texts whose numbers are remembered: the cells of a column repeat

PLAIN, WHOLE, NUMERIC, QUANTITY = map(cell_pattern, ("plain", "whole", "numeric", "quantity"))
MONEY, SIGN_BEFORE, UP_TO, UNIT = map(cell_pattern, ("money", "sign_before", "up_to", "unit"))
MAGNITUDE, SMALL_MILLION, ORDINAL = map(cell_pattern, ("magnitude", "small_million", "ordinal"))
GROUPING, THOUSANDS = map(cell_pattern, ("grouping", "thousands"))
MULTIPLES = {
    word: int(size) for size, words in WORDS["multiples"].items() for word in words.split()
}
FULL_WIDTH = str.maketrans("０１２３４５６７８９，．％－", "0123456789,.%-")
SPELLINGS: dict[str, str] = WORDS["units"]
UNITS = {other: unit for unit, others in SPELLINGS.items() for other in others.split()}


class Quantity(NamedTuple):
    """A number with its unit or currency, or an empty unit.

    The bounds differ for a bracket: `18–24`, `under 18`, `150+`; its number is the first that it
    states.
    """

    number: int | float
    unit: str
    bounds: tuple[float, float]

    @property
    def is_bracket(self) -> bool:
        """Tell whether it stands for several numbers."""
        return self.bounds[0] < self.bounds[1]

    @property
    def is_range(self) -> bool:
        """Tell whether it states two numbers and so is not one number."""
        return self.is_bracket and all(map(math.isfinite, self.bounds))

    @property
    def is_money(self) -> bool:
        """Tell whether the unit is a currency or a percentage, which any number may be written
        with.
        """
        return bool(MONEY.fullmatch(self.unit))


def read_number(raw: Any) -> int | float | None:
    """Return a cell as a number, or None: `1,234`, `$9.99`, `12,50 EUR`, `45 %`, `1 200`,
    `4.2M`.
    """
    if not isinstance(raw, str):
        return _figure(raw)
    text = unwrapped(raw)
    if PLAIN.fullmatch(text):
        return _parsed(text)
    found = number_and_unit(text)
    return (
        None
        if found is None or (found.unit and not found.is_money) or found.is_range
        else found.number
    )


def read_quantity(raw: Any, unit: str) -> int | float | None:
    """Return a cell as a number in this unit, or None; a number without a unit is in it, one in
    another is None.
    """
    if not isinstance(raw, str):
        return _figure(raw)
    text = unwrapped(raw)
    found = number_and_unit(text)
    if found is None and unit and text.startswith(unit):  # a unit before the number, as in `SR 175`
        found = number_and_unit(text[len(unit) :])
    is_number = (
        found is not None and not found.is_range and (not found.unit or same_unit(found.unit, unit))
    )
    return found.number if found and is_number else None


def bounds_of(text: str) -> tuple[float, float]:
    """Return the least and the greatest number that a text stands for, as `18–24`, `150+` or `45
    %`.

    Both are infinite for other texts, which come last in the order of bounds.
    """
    found = number_and_unit(text.strip())
    return found.bounds if found else (math.inf, math.inf)


def number_and_unit(text: str) -> Quantity | None:
    """Return the number in a text and its unit, or None; a text with anything else in it is
    None.
    """
    narrow = text if text.isascii() else text.translate(FULL_WIDTH)
    return _found_quantity(narrow) if len(narrow) <= LONGEST and NUMERIC.match(narrow) else None


@lru_cache(maxsize=REMEMBERED)
def _found_quantity(text: str) -> Quantity | None:
    bare = text.strip()
    if PLAIN.fullmatch(bare):
        number = _parsed(bare)
        return None if number is None else Quantity(number, "", (number, number))
    found = QUANTITY.fullmatch(bare)
    if found is None:
        return None
    before = found["before"] or ""
    multiple, unit = _magnitude(found["after"], has_currency=bool(before))
    if unit is None or (before and unit and not same_unit(before, unit)):
        return None
    is_negative = "+" not in (found["sign"] or found["inner"] or "+")
    first = _scaled(found["number"], -multiple if is_negative else multiple)
    last = _scaled(found["second"], multiple) if found["second"] else first
    if first is None or last is None or last < first:
        return None
    return Quantity(first, before or unit, _bounds(found, first, last))


def _bounds(found: re.Match[str], first: float, last: float) -> tuple[float, float]:
    """Return the bounds of a number or a range; `under 18` does not have 18."""
    if found["under"] or found["less"]:
        is_below = found["under"] and not UP_TO.match(found["under"])
        return -math.inf, math.nextafter(first, -math.inf) if is_below else first
    if found["over"]:
        return first if found["over"] == "≥" else math.nextafter(first, math.inf), math.inf
    return first, math.inf if found["more"] or found["plus"] else last


def in_unit(number: str, unit: str) -> str:
    """Return a number with its unit, as in `91 min`, `45 %`, `$30`."""
    return f"{unit}{number}" if SIGN_BEFORE.fullmatch(unit) else f"{number} {unit}"


def same_unit(one: str, other: str) -> bool:
    """Tell whether two units are the same: `min` and `Minutes`, `season` and `Seasons`."""
    return one == other or _unit_key(one) == _unit_key(other)


def spellings_of(unit: str) -> list[str]:
    """Return the words for a unit, in lower case: `min`, `minute`, `minutes`, …; none for a sign
    such as `$`.
    """
    known = canonical_unit(unit).casefold()
    words = (
        known,
        *SPELLINGS.get(known, "").split(),
        known.removesuffix("s"),
        f"{known.removesuffix('s')}s",
    )
    return list(dict.fromkeys(word for word in words if word.isalpha()))


def canonical_unit(unit: str) -> str:
    """Return the usual spelling of a unit: `min` for `Minutes`; others as they are."""
    return UNITS.get(unit.casefold().rstrip("."), unit)


def _unit_key(unit: str) -> str:
    known = canonical_unit(unit).casefold().rstrip(".")
    return known[:-1] if len(known) > 3 and known.endswith("s") else known


def _figure(raw: Any) -> int | float | None:
    """Return a number that is no text, or None."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return read_number(str(raw)) if not isinstance(raw, bool | list | tuple | dict) else None
    return raw if abs(raw) <= GREATEST else None


def _magnitude(after: str, *, has_currency: bool) -> tuple[int, str | None]:
    """Return the factor and the unit of the text after a number; the unit is None for any other
    text.
    """
    found = MAGNITUDE.match(after) or (SMALL_MILLION.match(after) if has_currency else None)
    name = found[found.lastindex or 1] if found else ""
    multiple = MULTIPLES[name if len(name) == 1 else name.casefold()] if name else 1
    rest = after[found.end() :].strip() if found else after.strip()
    if not rest or MONEY.fullmatch(rest):
        return multiple, rest
    return multiple, rest if UNIT.fullmatch(rest) and not ORDINAL.match(after) else None


def _scaled(figure: str, multiple: int) -> int | float | None:
    """Return the number that a figure writes, times a factor, or None if it is too large."""
    number = _parsed(figure)
    if number is None:
        return None
    product = number * multiple
    is_whole = abs(multiple) > 1 and abs(product - round(product)) < 1e-6 * abs(multiple)
    exact = round(product) if is_whole else product
    return exact if abs(exact) <= GREATEST else None


def _parsed(text: str) -> int | float | None:
    """Return the number that a figure writes."""
    digits = text if PLAIN.fullmatch(text) else _with_point(GROUPING.sub("", text))
    try:
        number = int(digits) if WHOLE.fullmatch(digits) else float(digits)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= GREATEST else None


def _with_point(figure: str) -> str:
    """Return a figure without marks between thousands, and with a decimal point."""
    if figure.count(".") > 1 or figure.rfind(",") > figure.rfind("."):
        figure = figure.replace(".", "")
    if figure.count(",") == 1 and "." not in figure and not THOUSANDS.search(figure):
        return figure.replace(",", ".")
    return figure.replace(",", "")


FLAT, TOKEN, TEXT, ESCAPE = map(cell_pattern, ("flat", "token", "text", "escape"))
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}
LAST_CHARACTER = 0x10FFFF
CONSTANTS = {
    "None": None,
    "True": True,
    "False": False,
    "nan": None,
    "null": None,
    "true": True,
    "false": False,
}
CUT = "..."
CLOSING = {"[": "]", "(": ")", "{": "}", "array(": ")"}
BRACKETS = {"[": "[]", "(": "[]", "{": "{}", "array(": ""}  # brackets that open → the pair of JSON
OPENED = ("[", "{", ":")
NAMES = str.split("name title value text display_text display_name label description step")
"""The keys of an object in a list by which it is named, in order of preference."""


def list_in(raw: Any, split: str) -> list[Any]:
    """Return the items of a cell: a list, a written list in a text, or a text split at `split`."""
    if isinstance(raw, list | tuple):
        return list(raw)
    text = str(raw).strip()
    written = find_written_list(text)
    if written is not None:
        return written
    return text.split(split.strip() or split) if split else [raw]


def name_of_item(item: Any) -> Any:
    """Return an item of a list; of an object its name, or None if it has none."""
    if not isinstance(item, dict):
        return item
    return next((item[key] for key in NAMES if item.get(key)), None)


def has_name(item: dict[str, Any]) -> bool:
    """Tell whether an object in a list has a key by which it is named."""
    return any(key in item for key in NAMES)


def find_written_list(text: str) -> list[Any] | None:
    """Return the list in a text, as JSON, Python or numpy writes it, or None."""
    is_list = (text.startswith("[") and text.endswith("]")) or (
        text.startswith("array(") and text.endswith(")")
    )
    if not is_list:
        return None
    if text.startswith("['") and FLAT.fullmatch(text):  # no JSON begins like this
        return _flat(text)
    try:
        items = orjson.loads(text)
    except orjson.JSONDecodeError:
        items = _flat(text) if FLAT.fullmatch(text) else find_literal(text)
    return items if isinstance(items, list) else None


def find_literal(text: str) -> Any:
    """Return the value of a Python or numpy literal, or None for other text.

    Adjacent texts are separate items, as numpy writes lists, and not one text as in Python.
    """
    try:
        return json.loads(_as_json(text))
    except (ValueError, IndexError, RecursionError):
        return None


def _flat(text: str) -> list[Any]:
    return [_unquoted(one) for one in TEXT.findall(text)]


def _unquoted(written: str) -> str:
    """Return the text between quotes, with its escapes resolved as in Python."""
    text = written[1:-1]
    return ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)) if int(code[1:], 16) <= LAST_CHARACTER else found[0]
    return ESCAPES.get(code, found[0])


def _as_json(text: str) -> str:
    """Return a value of Python or numpy as JSON: with a comma between any two values, and without
    `array(…)`.
    """
    parts: list[str] = []
    opened: list[str] = []
    encode = json.JSONEncoder().encode
    for kind, token in _tokens(text):
        value = ""
        if token == ":":
            parts += [parts.pop() if parts[-1].startswith('"') else encode(parts.pop()), ":"]
        elif token in BRACKETS:
            opened.append(token)
            value = BRACKETS[token][:1]
        elif kind == "mark" and token != ",":
            if CLOSING[opened[-1]] != token:
                raise ValueError(f"{token!r} closes nothing")
            parts += BRACKETS[opened.pop()][1:]
        elif kind in ("text", "word") and token != CUT:
            value = encode(_unquoted(token) if kind == "text" else _constant(token))
        if value:
            parts += [",", value] if parts and parts[-1] not in OPENED else [value]
    if opened:
        raise ValueError(f"{opened[-1]!r} is not closed")
    return "".join(parts)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        if (found := TOKEN.match(text, place)) is None or found.lastgroup is None:
            raise ValueError(f"nothing can be read at {place}")
        yield found.lastgroup, found[found.lastgroup]
        place = found.end()


def _constant(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    return int(word) if WHOLE.fullmatch(word) else float(word)


# how many numbers below a thousand, and how many that end in 0, tell that a dot is between
# thousands
FEWEST_TOLD = 2
FIGURE = re.compile(r"[^\d.,]{0,6}(\d[\d.,]*)[^\d]{0,20}")
COMMA = re.compile(
    r"\d{1,3}(\.\d{3})+,\d+|[1-9]\d{0,2}(\.\d{3}){2,}|\d+,(\d{1,2}|\d{4,})|(0\d*|\d{4,}),\d+"
)
"""A number that has a comma before its decimals, or two dots between thousands."""
POINT = re.compile(
    r"\d{1,3}(,\d{3})+\.\d+|[1-9]\d{0,2}(,\d{3}){2,}|\d+\.(\d{1,2}|\d{4,})|(0\d*|\d{4,})\.\d+"
)
DOTTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
"""A number that is one of thousands with a comma before decimals, and below a thousand with a point
before them.
"""
THOUSANDS_DOT = re.compile(r"(?<=\d)\.(?=\d{3}(?!\d))")
COMMA_BEFORE_DECIMALS = re.compile(r"(?<=\d),(?=\d)")


class DecimalMarks(NamedTuple):
    """The decimal mark of the numbers in a column."""

    has_comma: bool = False  # whether a comma comes before the decimals, and dots between thousands
    # a number such as `2.644`, which is another one with a comma before decimals than with a point
    dotted: str = ""


PLAIN_MARKS = DecimalMarks()


def with_point(text: str) -> str:
    """Return a number that is written with a comma before its decimals as one with a point."""
    return COMMA_BEFORE_DECIMALS.sub(".", THOUSANDS_DOT.sub("", text))


def find_decimal_marks(columns: Mapping[str, Sequence[str]]) -> dict[str, DecimalMarks]:
    """Return the decimal marks of the columns whose numbers depend on them.

    An ambiguous column has a comma if another column has one and none has a point.
    """
    found = {name: _told_by(texts) for name, texts in columns.items()}
    commas, points, _ = (
        map(any, zip(*found.values(), strict=True)) if found else (False, False, False)
    )
    return {
        name: DecimalMarks(has_comma=has_comma or (commas and not points), dotted=dotted)
        for name, (has_comma, has_point, dotted) in found.items()
        if has_comma or (dotted and not has_point)
    }


def _told_by(texts: Sequence[str]) -> tuple[bool, bool, str]:
    """Return whether numbers of a column have a decimal comma or a decimal point, and an ambiguous
    number.
    """
    figures = [figure[1] for text in texts if (figure := FIGURE.fullmatch(text))]
    figures = figures if 2 * len(figures) > len(texts) else []
    marked = [figure for figure in figures if "." in figure or "," in figure]
    dotted = [figure for figure in marked if DOTTED.fullmatch(figure)]
    has_point = any(map(POINT.fullmatch, marked))
    has_comma = not has_point and (
        any(map(COMMA.fullmatch, marked)) or _are_thousands(dotted, figures)
    )
    return has_comma, has_point, next(iter(dotted), "")


def _are_thousands(dotted: Sequence[str], figures: Sequence[str]) -> bool:
    """Tell whether numbers with a dot are whole: decimals are cut after the last digit, or each
    number has three.
    """
    whole = [figure for figure in figures if figure.isdigit()]
    small = [figure for figure in whole if len(figure) <= 3]
    rounded = [figure for figure in dotted if figure.endswith("0")]
    return len(small) == len(whole) and min(len(small), len(rounded)) >= FEWEST_TOLD
