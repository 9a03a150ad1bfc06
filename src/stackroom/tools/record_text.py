"""A record in words: all of its fields, the few that say most on one line, its page on the web, its file."""

import json
import re
from collections.abc import Collection, Iterable
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, Role, texts_of
from stackroom.catalogue.telling import FEWEST, rank_fields, telling_fields
from stackroom.ingest.ledger import find_places
from stackroom.library import LEDGER_FILE
from stackroom.model.record import Record, RecordId, Value
from stackroom.sources.location import shown_name
from stackroom.text.cells import in_unit
from stackroom.tools.budget import shorten
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.schema import is_none
from stackroom.tools.spec import ToolResult

VALUES_ON_A_LINE = 5
VALUE_CHARS = 80
SNIPPET_CHARS = 240
DECIMALS = 4

BETWEEN_FIELDS = " · "
PAGE = re.compile(r"https?://\S+", re.IGNORECASE)
MEDIA = re.compile(r"\.(jpe?g|png|gif|webp|svg|mp3|mp4|wav|ogg|webm)([?#]\S*)?$", re.IGNORECASE)


def label_of(name: str) -> str:
    """Return the name of a field in words: `release_date` is `Release date`."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def record_text(record: Record, spec: CatalogueSpec) -> str:
    """Return a record as text, one line per field; a text with which another one begins is left out."""
    fields = [field for field in spec.fields.values() if field.shown]
    shown = [(field, _value_text(record.fields.get(field.name), field)) for field in fields]
    texts = [text for _, text in shown]
    return "\n".join(f"{field.name}: {text}" for field, text in shown if text and not _begins_another(text, texts))


def told_fields(record: Record, spec: CatalogueSpec, *, asked: Collection[str] = ()) -> list[FieldSpec]:
    """Return the telling fields that a record has, those that were asked for, and others where it lacks some.

    Of a record that has none of these and no body text, they are any that it has.
    """
    kind = record.kind if len(spec.kinds) > 1 else ""
    named = [spec.fields[name] for name in asked if name in spec.fields]
    stated = {field.name: field for field in (*telling_fields(spec, kind=kind), *named)}
    told = [field for field in stated.values() if field.shown and has_value(record, field)]
    if len(told) < FEWEST and not (told and spec.telling):
        others = [field for field in rank_fields(spec, kind=kind) if field.name not in stated]
        told += [field for field in others if has_value(record, field)][: FEWEST - len(told)]
    return told or _any_fields(record, spec)


def field_line(record: Record, fields: Iterable[FieldSpec]) -> str:
    """Return fields of a record, with their names, on one line."""
    return BETWEEN_FIELDS.join([f"{one.name}: {short_value(record.fields.get(one.name), one)}" for one in fields])


def plain_fields(record: Record, fields: Iterable[FieldSpec]) -> dict[str, Any]:
    """Return fields of a record as values: numbers as they are, texts cut, and the first values of a list."""
    return {field.name: _plain_value(record.fields.get(field.name), field) for field in fields}


def short_value(value: Value, field: FieldSpec) -> str:
    """Return a value on part of a line: the first of a list, texts cut, numbers without needless decimals."""
    if field.type is FieldType.JSON:
        return shorten(json.dumps(value, ensure_ascii=False), VALUE_CHARS)
    if isinstance(value, int | float):
        return with_unit(number_text(value), field)
    texts = [text for text in texts_of(value) if text.strip()]
    more = [f"… ({len(texts)})"] if len(texts) > VALUES_ON_A_LINE else []
    return ", ".join([*_short_lines(texts[:VALUES_ON_A_LINE]), *more])


def number_text(number: float) -> str:
    """Return a number as people write it."""
    short = round(number, DECIMALS)
    return str(int(short) if float(short).is_integer() else short)


def with_unit(text: str, field: FieldSpec) -> str:
    """Return a number of a field with its unit, if it has one."""
    return in_unit(text, field.unit) if field.unit else text


def has_value(record: Record, field: FieldSpec) -> bool:
    """Tell whether a record has something to show in a field."""
    value = record.fields.get(field.name)
    if isinstance(value, str):
        return bool(value.strip())
    if not isinstance(value, tuple | list):
        return value is not None
    return bool("".join(texts_of(value)).strip())


def body_of(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's description or passage; empty where it has none."""
    body = spec.field_with_role(Role.BODY)
    return str(record.fields.get(body.name) or "").strip() if body else ""


def summary_of(record: Record, spec: CatalogueSpec, fields: Iterable[FieldSpec], *, whole: bool = False) -> str:
    """Return the line of these fields of a record, and its description, cut unless it is wanted whole."""
    described = body_of(record, spec) if whole else snippet_of(record, spec)
    return "\n".join([part for part in (field_line(record, fields), described) if part])


def snippet_of(record: Record, spec: CatalogueSpec) -> str:
    """Return the beginning of a record's description or passage."""
    return shorten(" ".join(body_of(record, spec).split()), SNIPPET_CHARS)


def find_page(record: Record, spec: CatalogueSpec) -> str | None:
    """Return the record's own page on the web: its first link, or one of its pages at the sources; None without any."""
    for name in spec.link_names:
        for link in texts_of(record.fields.get(name)):
            if PAGE.fullmatch(link) and not MEDIA.search(link):
                return link
    return None


def _any_fields(record: Record, spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the first fields of any sort that a record has, if it has no body text to show."""
    shown = [field for field in spec.fields.values() if field.shown and field.role is not Role.TITLE]
    return [] if body_of(record, spec) else [field for field in shown if has_value(record, field)][:FEWEST]


def _plain_value(value: Value, field: FieldSpec) -> Any:
    if field.type is FieldType.JSON:
        return short_value(value, field)
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
    longer = [one[: 2 * len(text)] for one in others if len(one) > len(text)]
    return any(" ".join(one.split()).startswith(words) for one in longer)


def _short_lines(texts: Iterable[str]) -> list[str]:
    lines = [" ".join(text.split()) for text in texts]
    return [line if len(line) <= VALUE_CHARS else shorten(line, VALUE_CHARS) for line in lines]


FIRST_LINE, LAST_LINE = "first_line", "last_line"
"""The fields of a passage that say which lines of its file it has."""


class FromFile(ToolResult):
    """A part of an answer that says which file and place its text is from, where that is known; not in the schema."""

    origin: Annotated[str | None, SkipJsonSchema()] = Field(default=None, exclude_if=is_none)


def list_places(catalogue: OpenCatalogue, records: Iterable[Record]) -> dict[RecordId, str]:
    """Return the file and place of each of these records that came from a source."""
    if catalogue.folder is None:
        return {}
    by_id = {record.id: record for record in records}
    found = find_places(catalogue.folder / LEDGER_FILE, by_id)
    names = {source: shown_name(source) for source in {source for source, _ in found.values()}}
    return {one: _place(names[source], row, by_id[one]) for one, (source, row) in found.items()}


def find_place(catalogue: OpenCatalogue, record: Record) -> str | None:
    """Return the file and place of a record; None where they are not known."""
    return list_places(catalogue, [record]).get(record.id)


def _place(name: str, row: str, record: Record) -> str:
    """Return a place as `films.csv, line 12`; of the source the name alone."""
    first, last = record.fields.get(FIRST_LINE), record.fields.get(LAST_LINE)
    lines = f"lines {first}-{last}" if isinstance(first, int) and isinstance(last, int) else ""
    return ", ".join([part for part in (name if name != row else "", row, lines) if part])
