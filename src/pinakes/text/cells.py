"""Parsing of table cells: empty cells, numbers, dates, lists and texts, in the many ways that tables write them.

A cell is parsed by its form alone; `ingest.values` converts it to the type of its field.
"""

import ast
import html
import math
import re
import sys
from datetime import date, datetime
from typing import Any

import orjson

NOTHING = frozenset({"", "-", "–", "n/a", "na", "none", "null", "nan", "unknown", "?", "\\n", "[]", "{}"})
"""The ways in which tables write a missing value."""

TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<!--.*?-->", re.DOTALL)
HTML = re.compile(
    r"</?(p|br|div|span|b|i|em|strong|ul|ol|li|a|h[1-6]|table|tr|td)\b[^<>]*>|&(#\d+|[a-z]{2,8});", re.IGNORECASE
)

FORMULA_TEXT = re.compile(r'="([^"]*)"')
"""A formula that keeps leading zeros in a spreadsheet: `="0439023483"`."""

NUMBER = re.compile(r"[-+]?((\d{1,3}([,\u00a0\u202f' ]\d{3})+|\d+)(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}([.\u00a0\u202f' ]\d{3})+,\d+|\d+,\d{1,2})")
GROUPING = re.compile(r"[,\u00a0\u202f' ]")
CURRENCY = "USD EUR GBP JPY CHF CAD AUD CNY INR SEK NOK DKK PLN BRL"
UNIT = re.compile(rf"^({CURRENCY.replace(' ', '|')}|[$€£¥₹%])\s*|\s*({CURRENCY.replace(' ', '|')}|[$€£¥₹%])$")
WHOLE = re.compile(r"[-+]?\d{1,300}")
GREATEST = sys.float_info.max
"""The greatest number accepted; greater ones fit no column."""

DATE_FORMS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%Y%m%d")


def is_nothing(raw: Any) -> bool:
    """Tell whether a cell has no value."""
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return True
    if isinstance(raw, list | tuple | dict):
        return not raw
    return isinstance(raw, str) and unwrapped(raw).lower() in NOTHING


def unwrapped(text: str) -> str:
    """Return a cell's text without surrounding spaces and without a spreadsheet's formula around it."""
    bare = text.strip()
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
        return orjson.dumps(raw, default=str).decode()
    return str(raw)


def plain_text(raw: Any) -> str:
    """Return a cell as plain text, without HTML tags and entities."""
    text = text_of(raw)
    if not HTML.search(text):
        return text
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


def read_number(raw: Any) -> int | float | None:
    """Return a cell as a number, or None: `1,234`, `$9.99`, `12,50 EUR`, `45 %`, `1 200`."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        return raw if abs(raw) <= GREATEST else None
    text = UNIT.sub("", unwrapped(str(raw)))
    if DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    if not NUMBER.fullmatch(text):
        return None
    digits = GROUPING.sub("", text)
    number = int(digits) if WHOLE.fullmatch(digits) else float(digits)
    return number if abs(number) <= GREATEST else None


def find_date(text: str) -> str | None:
    """Return a text as an ISO date, or None; a year or a month alone is its first day."""
    for read in (date.fromisoformat, lambda one: datetime.fromisoformat(one.replace("Z", "+00:00")).date()):
        try:
            return read(text).isoformat()
        except ValueError:
            continue
    for form in DATE_FORMS:
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    if re.fullmatch(r"\d{4}", text):
        return f"{text}-01-01"
    month = re.fullmatch(r"(\d{4})-(\d{1,2})", text)
    return f"{month[1]}-{int(month[2]):02d}-01" if month and 1 <= int(month[2]) <= 12 else None


def list_in(raw: Any, split: str) -> list[Any]:
    """Return the items of a cell: a list, a JSON or Python list in a text, or a text split at `split`."""
    if isinstance(raw, list | tuple):
        return list(raw)
    text = str(raw).strip()
    written = find_written_list(text)
    if written is not None:
        return written
    return text.split(split.strip() or split) if split else [raw]


def find_written_list(text: str) -> list[Any] | None:
    """Return the list in a text, as JSON or as Python writes it, or None."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    for read in (orjson.loads, ast.literal_eval):
        try:
            items = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(items, list):
            return items
    return None
