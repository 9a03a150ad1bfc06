"""The one form of a record to show, on every surface: as a result with its telling fields, and
whole, with text, page, origin, picture, relations.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.column_words import label_of
from stackroom.catalogue.spec import (
    CatalogueSpec,
    FieldRole,
    FieldSpec,
    FieldType,
    FilterKind,
    RelationSpec,
    texts_of,
)
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.generic.record_text import (
    BETWEEN_FIELDS,
    field_line,
    has_value,
    record_text,
    short_value,
    stems_of,
    table_columns,
    telling_of,
)
from stackroom.generic.shapes import (
    FetchResult,
    RecordField,
    Relation,
    ShownRecord,
    Tile,
    TileField,
    pieces_of,
)
from stackroom.ingest.ledger import find_places, find_written
from stackroom.ingest.values import READERS
from stackroom.library import LEDGER_FILE
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.search.question import View
from stackroom.search.result_set import Hit
from stackroom.sources.location import shown_name
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, address_of, uri_of
from stackroom.tools.media import CallerMedia, MediaKind
from stackroom.tools.spec import shape_why

# the fields of a passage that say which lines of its file it has
FIRST_LINE, LAST_LINE = "first_line", "last_line"


def list_places(folder: Path | None, records: Iterable[Record]) -> dict[RecordId, str]:
    """Return the file and place of each of these records that came from a source, as `films.csv,
    line 12`.
    """
    if folder is None:
        return {}
    by_id = {record.id: record for record in records}
    places, names = dict[RecordId, str](), dict[str, str]()
    for record_id, (source, row) in find_places(folder / LEDGER_FILE, by_id).items():
        fields = by_id[record_id].fields
        first, last = fields.get(FIRST_LINE), fields.get(LAST_LINE)
        lines = f"lines {first}-{last}" if isinstance(first, int) and isinstance(last, int) else ""
        if source not in names:
            names[source] = shown_name(source)
        name = names[source] if names[source] != row else ""
        places[record_id] = ", ".join(filter(None, (name, row, lines)))
    return places


def list_written(catalogue: OpenCatalogue, record: Record) -> dict[str, str]:
    """Return the texts that values of a record were read from, where they say more and were not
    edited since.
    """
    texts = find_written(catalogue.folder / LEDGER_FILE, record.id) if catalogue.folder else {}
    shown, fields = {}, catalogue.spec.fields
    for name in texts.keys() & fields.keys():
        with suppress(InputError):
            if fields[name].shown and READERS[fields[name].type](
                texts[name], fields[name]
            ) == record.get(name):
                shown[name] = texts[name]
    return shown


MEDIA_PATH = "/v1/media"
# the roles whose values make the line below a title
LINE_ROLES = (FieldRole.PEOPLE, FieldRole.TIME)


@frozen
class RecordForm:
    """The form of a call's results: whole texts or parts of them, fields that it asks for, and
    tiles for pages.
    """

    whole: bool = False
    asked: Sequence[str] = ()
    query: str = ""  # the words whose place in a long text is shown
    media: CallerMedia | None = None  # the files of records for tiles; None: no tiles
    has_cells: bool = False


def shape_records(view: View, records: Iterable[Record], form: RecordForm) -> list[ShownRecord]:
    """Return records that are named, not found, as results."""
    return shape_hits([Hit(view, Key(0), record, 1.0) for record in records], form)


def shape_hits(hits: Sequence[Hit], form: RecordForm) -> list[ShownRecord]:
    """Return records as results; which file each is from is read once for each catalogue."""
    by_catalogue: dict[str, list[Hit]] = {}
    for hit in hits:
        by_catalogue.setdefault(hit.view.name, []).append(hit)
    shapes = {name: _shape_in(some, form) for name, some in by_catalogue.items()}
    return [shapes[hit.view.name](hit) for hit in hits]


def _shape_in(hits: Sequence[Hit], form: RecordForm) -> Callable[[Hit], ShownRecord]:
    """Return the function that makes results of these records of a catalogue."""
    view, stems = hits[0].view, stems_of(form.query)
    spec = view.spec
    name = view.name
    origins = list_places(view.folder, [one.record for one in hits])
    asked = [meant(one, spec.fields) for one in form.asked]

    def shape(hit: Hit) -> ShownRecord:
        record, telling = hit.record, telling_of(spec, hit.record.kind)
        fields = telling.fields_of(record, asked)
        return ShownRecord(
            id=address_of(name, record.id),
            title=spec.title_of(record),
            url=telling.page_of(record) or uri_of(name, record.id),
            catalogue=name,
            score=round(hit.score, 4),
            relevance=hit.label,
            fields=fields,
            line=partial(field_line, record, spec, fields),
            text=telling.body_of(record) if form.whole else telling.snippet_of(record, stems),
            origin=origins.get(record.id),
            why=shape_why(hit.why) if hit.why else None,
            tile=shape_tile(spec, name, record, form.media, has_cells=form.has_cells)
            if form.media
            else None,
        )

    return shape


def url_of(spec: CatalogueSpec, catalogue: str, record: Record) -> str:
    """Return the record's own page, to be cited; the address of its resource where it has none."""
    return telling_of(spec, record.kind).page_of(record) or uri_of(catalogue, record.id)


def shape_tile(
    spec: CatalogueSpec, name: str, record: Record, media: CallerMedia, *, has_cells: bool = False
) -> Tile:
    """Return a record as pages draw it."""
    line = [
        field
        for role in LINE_ROLES
        if (field := spec.field_with_role(role)) and has_value(record, field)
    ]
    telling = telling_of(spec, record.kind)
    told = [spec.fields[one] for one in telling.fields_of(record)]
    kind = label_of(record.kind) if len(spec.kinds) > 1 else ""
    return Tile(
        kind=record.kind,
        line=BETWEEN_FIELDS.join(
            filter(None, [kind, *(short_value(record.get(one.name), one) for one in line)])
        ),
        text=telling.snippet_of(record),
        fields=[
            TileField(
                field=field.name,
                label=spec.labels[field.name],
                value=short_value(record.get(field.name), field),
            )
            for field in told
            if field not in line
        ],
        image=find_image(name, record.id, media),
        audio=media.find_file_in(name, record.id, MediaKind.AUDIO) is not None,
        cells={
            field.name: short_value(record.get(field.name), field) for field in table_columns(spec)
        }
        if has_cells
        else None,
    )


def find_image(catalogue: str, record_id: RecordId, media: CallerMedia) -> str | None:
    """Return the address of the picture of a record on this server; None where it has none."""
    found = media.find_file_in(catalogue, record_id, MediaKind.COVER)
    if found is None:
        return None
    folder = f"{MEDIA_PATH}/{quote(catalogue, safe='')}/{MediaKind.COVER}"
    return f"{folder}/{quote(record_id)}?v={found.version}"


def shape_fields(
    spec: CatalogueSpec, record: Record, *, related: Collection[str]
) -> list[RecordField]:
    """Return the fields of a record; those in `related` only have ids, names or pages of records
    shown themselves.
    """
    plain = plain_record(record, spec)
    copied = {relation.field for relation in spec.relations if relation.copies}
    return [
        RecordField(
            **describe_field(spec, field.name, field),
            value=plain.get(field.name),
            text=_text(record, field),
            is_shown=has_value(record, field)
            and field.name not in related
            and (field.role, field.type) != (FieldRole.PICTURE, FieldType.TEXT),
            is_edited=field.is_of(record.kind)
            and field.type is not FieldType.JSON
            and field.name not in copied,
            required=field.required,
            choices=list(field.values),
            description=field.description,
        )
        for field in spec.fields.values()
        if field.shown
    ]


def _text(record: Record, field: FieldSpec) -> str:
    value = record.get(field.name)
    return (
        short_value(value, field)
        if field.is_numeric
        else ", ".join(map(field.in_words, texts_of(value)))
    )


def describe_field(spec: CatalogueSpec, name: str, field: FieldSpec) -> dict[str, Any]:
    """Return a field under a name, with its label, its type and role, and how it is filtered by."""
    by = "range" if field.filter is FilterKind.RANGE else "values" if field.filter else None
    label = spec.labels.get(name) or label_of(name)
    return {"field": name, "label": label, "type": field.type, "role": field.role, "filter": by}


RELATED = "Related"
MOST_SHOWN = 60
PAGES_TRIED = 60
ID_ENDING = re.compile("_ids?$")


Related = tuple[str, list[Record], int]
"""The name of a relation, its records, and how many there are at least."""


def draw_record(
    view: CatalogueView, record: Record, scope: Scope, media: CallerMedia
) -> dict[str, Any]:
    """Return the parts of a record for pages, with the related records that the caller may see."""
    spec, form = view.spec, RecordForm(media=media)
    related = [
        Relation(
            name=label_of(name),
            results=shape_records(view, records[:MOST_SHOWN], form),
            total=max(total, len(records)),
        )
        for name, records, total in (
            *_named(view, record, scope),
            *_naming(view, record, scope),
            (RELATED, _by_pages(view, record, scope), 0),
        )
        if records
    ]
    shown = {one.name for one in related}
    by_pages = [spec.recommend.related.field] if spec.recommend and RELATED in shown else []
    copied = [one.copies for one in spec.relations if label_of(one.copies) in shown]
    own = {*(one.field for one in spec.relations), *copied, *by_pages}
    return {
        "tile": shape_tile(spec, view.name, record, media),
        "fields": shape_fields(spec, record, related=own),
        "relations": related,
        "has_vectors": view.reader.model is not None,
        "editable": spec.editable,
    }


def _named(view: CatalogueView, record: Record, scope: Scope) -> Iterator[Related]:
    """Yield the records that this one names by id, in its own order."""
    for relation in view.spec.relations:
        if relation.kind == record.kind:
            ids = dict.fromkeys(RecordId(one) for one in texts_of(record.get(relation.field)))
            keys = view.reader.find(list(ids), scope=scope)
            shown = [keys[record_id] for record_id in ids if record_id in keys][:MOST_SHOWN]
            records = view.reader.fetch(shown, scope=scope)
            name = relation.copies or ID_ENDING.sub("", relation.field)
            yield name, [records[key] for key in shown if key in records], len(keys)


def _naming(view: CatalogueView, record: Record, scope: Scope) -> Iterator[Related]:
    """Yield the records that name this one, in their declared order or by title."""
    for relation in view.spec.relations:
        if relation.to == record.kind and view.spec.fields[relation.field].needs_column:
            within = scope.narrowed(
                AnyOf(KIND_FIELD, (relation.kind,)), AnyOf(relation.field, (record.id,))
            )
            keys = view.reader.scan(scope=within, limit=MOST_SHOWN)
            records = sorted(
                view.reader.fetch(keys, scope=scope).values(),
                key=lambda one: _place(view, one, relation),
            )
            yield relation.inverse or relation.kind, records, view.reader.count(within)


def _by_pages(view: CatalogueView, record: Record, scope: Scope) -> list[Record]:
    """Return the records whose pages this one names, as sequels are named."""
    related = view.spec.recommend.related if view.spec.recommend else None
    pages = texts_of(record.get(related.field))[:PAGES_TRIED] if related and related.field else []
    found = (view.find_stated(page, scope=scope) for page in pages)
    return list({one.id: one for one in found if one and one.id != record.id}.values())


def _place(view: CatalogueView, record: Record, relation: RelationSpec) -> tuple[float, str]:
    number = record.get(relation.order) if relation.order else None
    return (float(number) if isinstance(number, int | float) else 0.0, view.spec.title_of(record))


def fetch_record(catalogue: OpenCatalogue, record: Record, *, start: int) -> FetchResult:
    """Return a whole record, or what follows so many words of its text."""
    spec, text = catalogue.spec, record_text(record, catalogue.spec)
    if start and not (text := "".join(pieces_of(text)[start:])):
        raise InputError(f"'cursor' is not valid here; this record has fewer than {start} words")
    return FetchResult(
        id=address_of(catalogue.name, record.id),
        title=spec.title_of(record),
        text=text,
        url=url_of(spec, catalogue.name, record),
        metadata={} if start else plain_record(record, spec),
        origin=list_places(catalogue.folder, [record]).get(record.id),
        written={} if start else list_written(catalogue, record),
    )
