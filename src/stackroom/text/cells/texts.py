"""Cells as texts, and cells without a value."""

import html
import math
import re
from typing import Any

import orjson

YES = frozenset(
    {"yes", "y", "true", "t", "ja", "j", "oui", "o", "si", "sí", "sì", "sim", "s", "x", "✓", "✔", "1", "on"}
)
NO = frozenset({"no", "n", "false", "f", "nein", "non", "nee", "não", "nao", "✗", "✘", "0", "off"})


def read_boolean(raw: Any) -> bool | None:
    """Return whether a cell says yes, or None: `yes`, `Y`, `true`, `ja`, `oui`, `x`, `1`, and their opposites."""
    if isinstance(raw, bool):
        return raw
    word = text_of(raw).casefold()
    return True if word in YES else False if word in NO else None


NOTHING = frozenset(
    {"", "-", "–", "—", "n/a", "n.a.", "#n/a", "na", "<na>", "none", "null", "nan", "unknown", "?", "\\n", "[]", "{}"}
)
"""The ways in which tables write a missing value."""
NO_TIME = "NaT"
"""A missing moment as pandas writes it; in other letters it is a name."""
LONGEST_NOTHING = max(map(len, NOTHING))

TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<!--.*?-->", re.DOTALL)
HTML = re.compile(
    r"</?(p|br|div|span|b|i|em|strong|ul|ol|li|a|h[1-6]|table|tr|td)\b[^<>]*>|&(#\d+|[a-z]{2,8});", re.IGNORECASE
)

FORMULA_TEXT = re.compile(r'="([^"]*)"')
"""A formula that keeps leading zeros in a spreadsheet: `="0439023483"`."""


def is_nothing(raw: Any) -> bool:
    """Tell whether a cell has no value."""
    if isinstance(raw, str):
        bare = unwrapped(raw) if "=" in raw else raw.strip()
        return len(bare) <= LONGEST_NOTHING and (bare.lower() in NOTHING or bare == NO_TIME)
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return True
    return isinstance(raw, list | tuple | dict) and not raw


def unwrapped(text: str) -> str:
    """Return a cell's text without surrounding spaces and without a spreadsheet's formula around it."""
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
