"""The text of an inferred declaration."""

from collections.abc import Iterable, Mapping, Sequence

import orjson

from stackroom.catalogue.column_words import is_about, name_words
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.labels import label_of
from stackroom.catalogue.spec import NUMERIC_TYPES, FieldRole, FieldType
from stackroom.text.normalise import clean

DAYS_A_YEAR = 365
KNOWN, POPULAR = 0.45, 0.1
"""The weights of how many people know a record: in the ranking of a search, and in a recommendation."""
HEADER = """\
# The fields of this catalogue and their uses, inferred from the columns of a table.
# Change what is wrong, and build with it:  stackroom add FILE --spec THIS_FILE
# Check it:  stackroom spec check THIS_FILE
"""
SEARCH_IN_TOML = {FieldRole.TITLE: "{ boost = 0.25, fuzzy = true }", FieldRole.ALTERNATIVES: "{ boost = 0.25 }"}
TERM_FILTERS = {
    FieldType.TEXT: "equals",
    FieldType.TEXTS: "any-of",
    FieldType.TAGS: "all-of",
    FieldType.ENUM: "any-of",
}


def write_toml(
    name: str, title: str, fields: Sequence[InferredField], *, identity: Mapping[str, str | None], most_popular: float
) -> str:
    """Return the declaration as TOML.

    `identity` has the column of the `id` or of the `group`, `most_popular` the greatest number of a popularity.
    """
    head = {"name": name, "title": title, "summary": _summary(title, fields), **identity}
    lines = [f"{key} = {_text_in_toml(text)}" for key, text in head.items() if text]
    blocks = ["\n".join(lines), *map(field_in_toml, fields), *_signals_in_toml(fields, most_popular)]
    return HEADER + "\n" + "\n\n".join(blocks) + "\n"


def _text_in_toml(text: str) -> str:
    """Return a text as a TOML string: a JSON string with one more character escaped."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _summary(title: str, fields: Sequence[InferredField]) -> str:
    searched = [label_of(field.name).lower() for field in fields if field.searched][:4]
    filtered = [label_of(field.name).lower() for field in fields if field.filtered][:4]
    return f"{title}: found by {', '.join(searched)}" + (f"; filtered by {', '.join(filtered)}." if filtered else ".")


def field_in_toml(field: InferredField) -> str:
    """Return the table of a field, below its reason as a comment."""
    lines = [f"# {clean(field.reason)}", f"[fields.{field.name}]"]
    path = "" if field.template or field.marked or field.column == field.name else field.column
    read = {"type": field.type, "role": field.role, "path": path, "template": field.template, "split": field.split}
    read |= {"unit": field.unit, "description": clean(field.description), "date_order": field.date_order}
    lines += [f"{key} = {_text_in_toml(text)}" for key, text in read.items() if text]
    if field.values:
        lines.append(f"values = [{', '.join(map(_text_in_toml, field.values))}]")
    lines += [f"{key} = true" for key in ("decimal_comma", "brackets") if getattr(field, key)]
    if field.searched:
        lines.append(f"search = {SEARCH_IN_TOML.get(field.role, 'true') if field.role else 'true'}")
    if field.filtered:
        lines.append('filter = "range"' if field.type in NUMERIC_TYPES else f'filter = "{TERM_FILTERS[field.type]}"')
    if field.facet:
        lines.append("facet = true")
    if field.marked:
        lines.append(f"[fields.{field.name}.marked]")
        lines += [f"{_text_in_toml(column)} = {_text_in_toml(tag)}" for column, tag in field.marked.items()]
    return "\n".join(lines)


def _signals_in_toml(fields: Sequence[InferredField], most_popular: float) -> Iterable[str]:
    """Yield the `[embed]`, `[search]`, `[known]` and `[recommend]` tables."""
    topics = _topics(fields)
    by_role = {field.role: field for field in fields if field.role is not None}
    groups = [
        field
        for field in fields
        if field.facet and field not in topics and is_about(name_words(field.column)[-1:], "groups")
    ]
    parts = [part for part in (by_role.get(FieldRole.TITLE), *groups[:2], *topics, by_role.get(FieldRole.BODY)) if part]
    if len(parts) == 1:
        parts += [field for field in fields if field.searched and field not in parts][:3]
    template = ". ".join(f"{{{part.name}}}" for part in parts)
    yield f"# The text whose meaning is compared.\n[embed]\ntemplate = {_text_in_toml(template)}"
    popularity = by_role.get(FieldRole.POPULARITY)
    if popularity is not None and most_popular > 0:
        yield f"# Of records that answer alike, the better known come first.\n[search]\nknown_weight = {KNOWN}"
        yield f"[known]\n{popularity.name} = {{ weight = 1, full = {most_popular:.6g} }}"
    yield _recommend_in_toml(topics, by_role.get(FieldRole.TIME), popularity)


def _topics(fields: Sequence[InferredField]) -> list[InferredField]:
    """Return the fields that describe topics: tags, or without any, text fields named like them."""
    tags = [field for field in fields if field.type is FieldType.TAGS]
    hinted = [field for field in tags if is_about(name_words(field.column), "lists")]
    alike = [
        field
        for field in fields
        if field.type is FieldType.TEXT and field.facet and is_about(name_words(field.column), "lists")
    ]
    return (hinted or tags or alike)[:3]


def _recommend_in_toml(
    topics: Sequence[InferredField], time: InferredField | None, popularity: InferredField | None
) -> str:
    taxonomy, temporal = (0.25 if topics else 0.0), (0.15 if time else 0.0)
    lines = ["# What makes two records alike; the weights add up to 1.", "[recommend]"]
    lines.append(f"semantic = {1 - taxonomy - temporal:.2f}")
    if topics:
        names = ", ".join(_text_in_toml(field.name) for field in topics)
        lines.append(f"taxonomy = {{ weight = {taxonomy}, fields = [{names}] }}")
    if time:
        sigma = 5 * DAYS_A_YEAR if time.type is FieldType.DATE else 5
        lines.append(f'temporal = {{ weight = {temporal}, field = "{time.name}", sigma = {sigma} }}')
    if popularity:
        lines.append(f'popularity = {{ weight = {POPULAR}, field = "{popularity.name}" }}')
    return "\n".join(lines)
