"""Records in words: all of their fields, or the few that say most on one line."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from stackroom.catalogue.column_words import TIME_UNITS, length_in_words
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType, texts_of
from stackroom.catalogue.telling import FEWEST, rank_fields, telling_fields
from stackroom.model.record import Record, Value
from stackroom.text.cells.values import in_unit
from stackroom.text.safe import shorten

VALUES_ON_A_LINE = 5
VALUE_CHARS = 80
SNIPPET_CHARS = 240
DECIMALS = 4
MOST_PLACES = 200  # how many places of words are looked at for the best part of a text
QUERY_WORD = re.compile(r"[^\W_]{3,}")
BETWEEN_FIELDS = " · "
PAGE = re.compile(r"https?://\S+", re.IGNORECASE)
MEDIA = re.compile(r"\.(jpe?g|png|gif|webp|svg|mp3|mp4|wav|ogg|webm)([?#]\S*)?$", re.IGNORECASE)
NOT_IN_TABLES = (FieldType.JSON, FieldType.URL)
NOT_CELLS = (FieldRole.TITLE, FieldRole.BODY)
MOST_COLUMNS = 12


def record_text(record: Record, spec: CatalogueSpec) -> str:
    """Return a record as text, one line per field; a text with which another one begins is left
    out.
    """
    fields = [field for field in spec.fields.values() if field.shown]
    shown = [(field, _value_text(record.fields.get(field.name), field)) for field in fields]
    texts = [text for _, text in shown]
    return "\n".join(
        f"{field.name}: {text}"
        for field, text in shown
        if text and not _begins_another(text, texts)
    )


class Telling:
    """The telling fields of one kind of record, compiled once for its catalogue."""

    def __init__(self, spec: CatalogueSpec, kind: str) -> None:
        body = spec.field_with_role(FieldRole.BODY)
        self._fields = {field.name: field for field in spec.fields.values() if field.shown}
        self._telling = [field.name for field in telling_fields(spec, kind=kind)]
        self._ranked = [field.name for field in rank_fields(spec, kind=kind)]
        self._is_stated = bool(spec.telling)
        self._shown = [one.name for one in self._fields.values() if one.role is not FieldRole.TITLE]
        self._body = body.name if body else ""
        self._links = spec.link_names

    def fields_of(self, record: Record, asked: Iterable[str] = ()) -> dict[str, Any]:
        """Return the telling fields that a record has, those that were asked for, and others where
        it lacks some, as values: texts cut, and the first of a list.

        Of a record that has none of these and no body text, they are any that it has.
        """
        told = self._tell({}, record, (*self._telling, *asked), most=len(self._fields))
        if len(told) < FEWEST and not (told and self._is_stated):
            self._tell(told, record, self._ranked, most=FEWEST)
        if told or self.body_of(record):
            return told
        return self._tell(told, record, self._shown, most=FEWEST)

    def _tell(
        self, told: dict[str, Any], record: Record, names: Iterable[str], *, most: int
    ) -> dict[str, Any]:
        """Add the values of these fields, until they are so many."""
        for name in names:
            if len(told) == most:
                break
            field = None if name in told else self._fields.get(name)
            if field and (value := plain_value(field, record.fields.get(name))) is not None:
                told[name] = value
        return told

    def body_of(self, record: Record) -> str:
        """Return a record's description or passage; empty where it has none."""
        return str(record.fields.get(self._body) or "").strip()

    def snippet_of(self, record: Record, stems: re.Pattern[str] | None = None) -> str:
        """Return the part of a record's description or passage that has most words of a query, else
        its beginning.
        """
        text = " ".join(str(record.fields.get(self._body) or "").split())
        start = _find_passage(text, stems) if stems and len(text) > SNIPPET_CHARS else 0
        return (
            f"… {shorten(text[start:], SNIPPET_CHARS)}" if start else shorten(text, SNIPPET_CHARS)
        )

    def page_of(self, record: Record) -> str | None:
        """Return the record's own page on the web: its first link, or one of its pages at the
        sources; None without any.
        """
        for name in self._links:
            for link in texts_of(record.fields.get(name)):
                if PAGE.fullmatch(link) and not MEDIA.search(link):
                    return link
        return None


def telling_of(spec: CatalogueSpec, kind: str) -> Telling:
    """Return what records of a kind tell about themselves."""
    key = (Telling, kind if len(spec.kinds) > 1 else "")
    telling: Telling = spec.derived.get(key) or spec.derived.setdefault(key, Telling(spec, key[1]))
    return telling


def plain_value(field: FieldSpec, value: Value) -> Any:
    """Return the value of a field as answers show it, None where it says nothing."""
    if isinstance(value, str):
        if not field.says(value):
            return None
        line = " ".join(value.split())
        plain: Any = line if len(line) <= VALUE_CHARS else shorten(line, VALUE_CHARS)
    elif isinstance(value, tuple | list):
        texts = texts_of(value)
        plain = _short_lines(texts[:VALUES_ON_A_LINE]) if "".join(texts).strip() else None
    elif field.unit and isinstance(value, int | float):
        plain = with_unit(number_text(value), field)
    else:
        plain = value
    is_json = field.type is FieldType.JSON and plain is not None
    return short_value(value, field) if is_json else plain


def field_line(record: Record, spec: CatalogueSpec, names: Iterable[str]) -> str:
    """Return fields of a record on one line, with their names, of which one may be that of its
    unit: `minutes: 90`.
    """
    told = []
    for name in names:
        field, value = spec.fields[name], record.fields.get(name)
        text = (
            with_unit(number_text(value), field)
            if isinstance(value, int | float)
            else short_value(value, field)
        )
        told.append(f"{name}: {text}")
    return BETWEEN_FIELDS.join(told)


def short_value(value: Value, field: FieldSpec) -> str:
    """Return a value on part of a line: the first of a list, texts cut, numbers without needless
    decimals.
    """
    if field.type is FieldType.JSON:
        return shorten(json.dumps(value, ensure_ascii=False), VALUE_CHARS)
    if isinstance(value, int | float):
        return number_in_words(value, field)
    texts = [field.in_words(text) for text in texts_of(value) if field.says(text)]
    more = [f"… ({len(texts)})"] if len(texts) > VALUES_ON_A_LINE else []
    return ", ".join([*_short_lines(texts[:VALUES_ON_A_LINE]), *more])


def number_text(number: float) -> str:
    """Return a number as people write it."""
    short = round(number, DECIMALS)
    return str(int(short) if float(short).is_integer() else short)


def number_in_words(number: float, field: FieldSpec) -> str:
    """Return a number of a field with its unit: `45 %`, `2 h 10 min`."""
    if (unit := field.time_unit) in TIME_UNITS:
        return length_in_words(number, unit)
    return with_unit(number_text(number), field)


def with_unit(text: str, field: FieldSpec) -> str:
    """Return a number of a field with its unit, if it has one."""
    return in_unit(text, field.unit) if field.unit else text


def has_value(record: Record, field: FieldSpec) -> bool:
    """Tell whether a record has something to show in a field."""
    value = record.fields.get(field.name)
    if isinstance(value, str):
        return field.says(value)
    if not isinstance(value, tuple | list):
        return value is not None
    return bool("".join(texts_of(value)).strip())


def stems_of(query: str) -> re.Pattern[str] | None:
    """Return a pattern of words that begin like one of a query's; None where it has none."""
    words = QUERY_WORD.findall(query.casefold())
    stems = [re.escape(word[: max(4, len(word) - 2)]) for word in words]
    return re.compile(rf"\b(?:{'|'.join(stems)})") if stems else None


def _find_passage(text: str, stems: re.Pattern[str]) -> int:
    """Return where to begin so that most words begin like one of the stems; a rare one counts more
    than a frequent.
    """
    folded = text.casefold()
    if len(folded) != len(text):
        return 0
    found = list(islice(stems.finditer(folded), MOST_PLACES))
    counts = Counter(map(re.Match.group, found))
    best, most, last = 0, 0.0, len(text) - SNIPPET_CHARS
    for begin in (0, *map(re.Match.start, found)):
        start, rarity = min(max(begin - 60, 0), last), dict[str, float]()
        for match in found:
            if start <= match.start() < start + SNIPPET_CHARS:
                rarity[match[0]] = 1 / counts[match[0]]
        if (worth := math.fsum(rarity.values())) > most:
            best, most = start, worth
    return folded.find(" ", best) + 1 if best else 0


def _value_text(value: Value, field: FieldSpec) -> str:
    if field.type is FieldType.JSON and value is not None:
        return json.dumps(value, ensure_ascii=False)
    text = ", ".join(texts_of(value))
    return with_unit(text, field) if text else ""


def _begins_another(text: str, others: list[str]) -> bool:
    """Tell whether a long text is the beginning of a longer one, whatever their blanks."""
    if len(text) <= SNIPPET_CHARS:
        return False
    words = " ".join(text.split()).removesuffix(" …")
    longer = [other[: 2 * len(text)] for other in others if len(other) > len(text)]
    return any(" ".join(one.split()).startswith(words) for one in longer)


def _short_lines(texts: Iterable[str]) -> list[str]:
    return [
        line if len(line := " ".join(text.split())) <= VALUE_CHARS else shorten(line, VALUE_CHARS)
        for text in texts
    ]


def table_columns(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that a table has columns for beside the title, the most telling first."""
    columns = [field for field in spec.column_fields if field.role not in NOT_CELLS]
    shown = {
        field.name: field
        for field in (*telling_fields(spec), *columns)
        if field.shown and field.type not in NOT_IN_TABLES
    }
    return list(shown.values())[:MOST_COLUMNS]
