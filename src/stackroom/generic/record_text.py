"""Records in words: all of their fields, or the few that say most on one line."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
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


def told_fields(
    record: Record, spec: CatalogueSpec, *, asked: Collection[str] = ()
) -> list[FieldSpec]:
    """Return the telling fields that a record has, those that were asked for, and others where it
    lacks some.

    Of a record that has none of these and no body text, they are any that it has.
    """
    kind = record.kind if len(spec.kinds) > 1 else ""
    named = [spec.fields[name] for name in asked if name in spec.fields]
    stated = {field.name: field for field in (*telling_fields(spec, kind=kind), *named)}
    told = [field for field in stated.values() if field.shown and has_value(record, field)]
    if len(told) < FEWEST and not (told and spec.telling):
        others = [field for field in rank_fields(spec, kind=kind) if field.name not in stated]
        told += [field for field in others if has_value(record, field)][: FEWEST - len(told)]
    if told or body_of(record, spec):
        return told
    shown = [
        field for field in spec.fields.values() if field.shown and field.role is not FieldRole.TITLE
    ]
    return [field for field in shown if has_value(record, field)][:FEWEST]


def field_line(record: Record, fields: Iterable[FieldSpec]) -> str:
    """Return fields of a record on one line, with their names, of which one may be that of its
    unit: `minutes: 90`.
    """
    values = [(field, record.fields.get(field.name)) for field in fields]
    texts = [
        with_unit(number_text(value), field)
        if isinstance(value, int | float)
        else short_value(value, field)
        for field, value in values
    ]
    return BETWEEN_FIELDS.join(
        [f"{field.name}: {text}" for (field, _), text in zip(values, texts, strict=True)]
    )


def plain_fields(record: Record, fields: Iterable[FieldSpec]) -> dict[str, Any]:
    """Return fields of a record as values: bare numbers as they are, texts cut, and the first
    values of a list.
    """
    return {field.name: _plain_value(record.fields.get(field.name), field) for field in fields}


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


def body_of(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's description or passage; empty where it has none."""
    body = spec.field_with_role(FieldRole.BODY)
    return str(record.fields.get(body.name) or "").strip() if body else ""


def snippet_of(record: Record, spec: CatalogueSpec, *, query: str = "") -> str:
    """Return the part of a record's description or passage that has most of a query's words, else
    its beginning.
    """
    text = " ".join(body_of(record, spec).split())
    if len(text) <= SNIPPET_CHARS or not query:
        return shorten(text, SNIPPET_CHARS)
    start = _find_passage(
        text, [word[: max(4, len(word) - 2)] for word in QUERY_WORD.findall(query.casefold())]
    )
    return f"… {shorten(text[start:], SNIPPET_CHARS)}" if start else shorten(text, SNIPPET_CHARS)


def _find_passage(text: str, stems: list[str]) -> int:
    """Return where to begin so that most words begin like one of the stems; a rare one counts more
    than a frequent.
    """
    folded = text.casefold()
    if len(folded) != len(text) or not stems:
        return 0
    places = re.finditer(rf"\b(?:{'|'.join(map(re.escape, stems))})", folded)
    found = [(match.start(), match[0]) for match in islice(places, MOST_PLACES)]
    counts = Counter(stem for _, stem in found)

    def worth(start: int) -> float:
        here = {stem for at, stem in found if start <= at < start + SNIPPET_CHARS}
        # the same in whichever order a set has them
        return math.fsum(1 / counts[stem] for stem in here)

    last = len(text) - SNIPPET_CHARS
    best = max((min(max(at - 60, 0), last) for at, _ in found), key=worth, default=0)
    return folded.find(" ", best) + 1 if best and worth(best) > worth(0) else 0


def find_page(record: Record, spec: CatalogueSpec) -> str | None:
    """Return the record's own page on the web: its first link, or one of its pages at the sources;
    None without any.
    """
    for name in spec.link_names:
        for link in texts_of(record.fields.get(name)):
            if PAGE.fullmatch(link) and not MEDIA.search(link):
                return link
    return None


def _plain_value(value: Value, field: FieldSpec) -> Any:
    if field.type is FieldType.JSON:
        return short_value(value, field)
    if field.unit and isinstance(value, int | float):
        return with_unit(number_text(value), field)
    if isinstance(value, tuple | list):
        return _short_lines(texts_of(value)[:VALUES_ON_A_LINE])
    return _short_lines([value])[0] if isinstance(value, str) else value


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
    lines = [" ".join(text.split()) for text in texts]
    return [line if len(line) <= VALUE_CHARS else shorten(line, VALUE_CHARS) for line in lines]


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
