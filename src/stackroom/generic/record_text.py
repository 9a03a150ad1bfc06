"""Records in words: all of their fields, or the few that say most on one line."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
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
    """What records of one kind tell about themselves, compiled once for their catalogue."""

    def __init__(self, spec: CatalogueSpec, kind: str) -> None:
        telling = telling_fields(spec, kind=kind)
        shown = [field for field in spec.fields.values() if field.shown]
        body = spec.field_with_role(FieldRole.BODY)
        self._telling = [field.name for field in telling if field.shown]
        self._others = [one.name for one in rank_fields(spec, kind=kind) if one not in telling]
        self._shown = [one.name for one in shown if one.role is not FieldRole.TITLE]
        self._is_stated = bool(spec.telling)
        self._body = body.name if body else ""
        self._links = spec.link_names
        self._read = {field.name: partial(plain_value, field) for field in shown}

    def fields_of(self, record: Record, asked: Iterable[str] = ()) -> dict[str, Any]:
        """Return the telling fields that a record has, those that were asked for, and others where
        it lacks some, as values: texts cut, and the first of a list.

        Of a record that has none of these and no body text, they are any that it has.
        """
        stated = self._values(record, dict.fromkeys((*self._telling, *asked)))
        told = stated
        if len(stated) < FEWEST and not (stated and self._is_stated):
            others = self._values(record, [one for one in self._others if one not in stated])
            told = {**stated, **dict(islice(others.items(), FEWEST - len(stated)))}
        if told or self.body_of(record):
            return told
        return dict(islice(self._values(record, self._shown).items(), FEWEST))

    def _values(self, record: Record, names: Iterable[str]) -> dict[str, Any]:
        values, read = record.fields, self._read
        return {
            name: value
            for name in names
            if name in read and (value := read[name](values.get(name))) is not None
        }

    def body_of(self, record: Record) -> str:
        """Return a record's description or passage; empty where it has none."""
        return str(record.fields.get(self._body) or "").strip()

    def snippet_of(self, record: Record, stems: re.Pattern[str] | None = None) -> str:
        """Return the part of a record's description or passage that has most words of a query, else
        its beginning.
        """
        text = " ".join(self.body_of(record).split())
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
    telling: Telling = spec.made.get(key) or spec.made.setdefault(key, Telling(spec, key[1]))
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
    values = [(spec.fields[name], record.fields.get(name)) for name in names]
    texts = [
        with_unit(number_text(value), field)
        if isinstance(value, int | float)
        else short_value(value, field)
        for field, value in values
    ]
    return BETWEEN_FIELDS.join(
        [f"{field.name}: {text}" for (field, _), text in zip(values, texts, strict=True)]
    )


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
    found = [(match.start(), match[0]) for match in islice(stems.finditer(folded), MOST_PLACES)]
    rarity = {stem: 1 / count for stem, count in Counter([stem for _, stem in found]).items()}
    last = len(text) - SNIPPET_CHARS
    best, most = 0, 0.0
    for start in dict.fromkeys([0, *[min(max(at - 60, 0), last) for at, _ in found]]):
        here = {stem for at, stem in found if start <= at < start + SNIPPET_CHARS}
        # the same in whichever order a set has them
        worth = math.fsum(map(rarity.__getitem__, here))
        if worth > most:
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
    shown = [
        field for field in spec.fields.values() if field.shown and field.type not in NOT_IN_TABLES
    ]
    telling = [field for field in telling_fields(spec) if field in shown]
    rest = [
        field
        for field in shown
        if field not in telling and field.needs_column and field.role not in NOT_CELLS
    ]
    return [*telling, *rest][:MOST_COLUMNS]
