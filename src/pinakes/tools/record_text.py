"""A record in words: all of its fields, the few that say most on one line, its description, and its page on the web."""

import json
import re
from collections.abc import Iterator

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, Role, texts_of
from pinakes.model.record import Record, Value
from pinakes.tools.budget import shorten

FIELDS_ON_A_LINE = 6
LEAST_FIELDS = 4
"""The number of fields up to which a line has fields that are neither filtered, counted nor searched."""
VALUES_ON_A_LINE = 5
VALUE_CHARS = 80
SNIPPET_CHARS = 240

NAMING_ROLES = (Role.TITLE, Role.ALTERNATIVES, Role.BODY)
PAGE = re.compile(r"https?://\S+", re.IGNORECASE)
MEDIA = re.compile(r"\.(jpe?g|png|gif|webp|svg|mp3|mp4|wav|ogg|webm)([?#]\S*)?$", re.IGNORECASE)


def record_text(record: Record, spec: CatalogueSpec) -> str:
    """Return a record as text, one line per field; a text with which another one begins is left out."""
    shown = [(field, _value_text(record.get(field.name), field)) for field in spec.fields.values() if field.shown]
    texts = [text for _, text in shown]
    return "\n".join(f"{field.name}: {text}" for field, text in shown if text and not _begins_another(text, texts))


def field_line(record: Record, spec: CatalogueSpec) -> str:
    """Return the few fields that say most of a record, with their names, on one line."""
    having = [(field, _short_value(record.get(field.name))) for field in _line_fields(record, spec)]
    filled = [(field, text) for field, text in having if text]
    best = sorted(filled, key=lambda one: -_telling(one[0]))[:FIELDS_ON_A_LINE]
    telling = [one for place, one in enumerate(best) if place < LEAST_FIELDS or _telling(one[0])]
    return "; ".join(f"{field.name}: {text}" for field, text in filled if (field, text) in telling)


def body_of(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's description or passage; empty where it has none."""
    body = spec.field_with_role(Role.BODY)
    return str(record.get(body.name) or "").strip() if body else ""


def summary_of(record: Record, spec: CatalogueSpec, *, whole: bool = False) -> str:
    """Return the line of a record's fields, and its description, cut unless it is wanted whole."""
    body = body_of(record, spec)
    described = body if whole else shorten(_collapsed(body), SNIPPET_CHARS)
    return "\n".join(part for part in (field_line(record, spec), described) if part)


def find_page(record: Record, spec: CatalogueSpec) -> str | None:
    """Return the record's own page on the web: its first link, or one of its pages at the sources; None without any."""
    names = [field.name for field in spec.fields.values() if field.type is FieldType.URL and field.shown]
    pages = spec.recommend.related.pages if spec.recommend else ""
    links = [link for name in (*names, pages) if name for link in texts_of(record.get(name))]
    return next((link for link in links if PAGE.fullmatch(link) and not MEDIA.search(link)), None)


def _line_fields(record: Record, spec: CatalogueSpec) -> Iterator[FieldSpec]:
    """Yield the fields that a line may have: no names or descriptions, links, files, or ids of other records."""
    ids = {relation.field for relation in spec.relations}
    for field in spec.fields.values():
        is_value = field.type not in (FieldType.URL, FieldType.JSON) and not field.names_file and field.name not in ids
        if field.shown and is_value and field.role not in NAMING_ROLES and field.is_of(record.kind):
            yield field


def _telling(field: FieldSpec) -> int:
    """Return how much a field says of a record: people filter by it, count it, or search it."""
    by_role = 4 if field.role in (Role.TIME, Role.POPULARITY) else 0
    return by_role + 2 * ((field.filter is not None) + field.facet + field.searched)


def _short_value(value: Value) -> str:
    texts = [_collapsed(text) for text in texts_of(value)]
    more = [f"… ({len(texts)})"] if len(texts) > VALUES_ON_A_LINE else []
    return ", ".join([*(shorten(text, VALUE_CHARS) for text in texts[:VALUES_ON_A_LINE] if text), *more])


def _value_text(value: Value, field: FieldSpec) -> str:
    if field.type is FieldType.JSON and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(texts_of(value))


def _begins_another(text: str, others: list[str]) -> bool:
    """Tell whether a long text is the beginning of a longer one, whatever their blanks."""
    if len(text) <= SNIPPET_CHARS:
        return False
    words = _collapsed(text).removesuffix(" …")
    return any(len(one) > len(text) and _collapsed(one[: 2 * len(text)]).startswith(words) for one in others)


def _collapsed(text: str) -> str:
    return " ".join(text.split())
