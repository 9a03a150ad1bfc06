"""Mapping of rows to records, validation of records against the spec, and detection of fields
without a column.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from stackroom.catalogue.codec import encode_record
from stackroom.catalogue.column_template import compose
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType
from stackroom.errors import InputError, SpecError, did_you_mean, list_some
from stackroom.frozen import frozen
from stackroom.ingest.values import READERS, has_path, is_plain, value_at
from stackroom.model.record import Record, RecordId, Tag, Value
from stackroom.sources.location import without_settings
from stackroom.sources.port import RowValues
from stackroom.text.cells.dates import first_day
from stackroom.text.cells.values import is_nothing, plain_text, read_boolean, text_of

MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00(:00(\.0+)?)?(Z|\+00:00)?")
"""A day as databases write it; texts composed of columns show the day alone."""
ID_DIGITS = 16
NAMED_COLUMNS = 10
LONGEST_COMPOSED = 300
LONGEST_WRITTEN = 1_000  # how much is kept of a text whose markup was removed
# how long a cell is at most whose value is kept, and how many of each field are
LONGEST_KEPT, CELLS_KEPT = 60, 10_000


def require_derivable_kinds(spec: CatalogueSpec, *, origin: str) -> None:
    """Refuse a spec with several kinds that does not say which kind a row is; `origin` names it in
    the error.
    """
    if len(spec.kinds) > 1 and not (spec.kind_path or spec.kind_sources):
        kinds = ", ".join(spec.kinds)
        raise SpecError(
            f"{origin}: it has several kinds ({kinds}) and does not say which of them a row is; say"
            " where a row has "
            'its kind, as in kind = "type", or which files have rows of one kind, as in'
            f" [kinds.{spec.kinds[-1]}] "
            f'sources = ["{spec.kinds[-1]}s.csv"]'
        )


def find_source_kind(spec: CatalogueSpec, source_name: str) -> str | None:
    """Return the kind of all rows of a source, or None if each row has its own; refuse a source of
    unknown kind.
    """
    bare = without_settings(source_name)
    names = (source_name, PurePath(source_name).name, bare, PurePath(bare).name)
    kinds = [
        kind
        for kind, patterns in spec.kind_sources.items()
        if any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
    ]
    if len(kinds) > 1:
        raise InputError(
            f"{source_name}: the 'sources' of several kinds match it ({', '.join(kinds)}); make"
            " them match for one kind"
        )
    if kinds:
        return kinds[0]
    if spec.kind_path or len(spec.kinds) == 1:
        return None
    known = "; ".join(
        f"{kind}: {', '.join(patterns)}" for kind, patterns in spec.kind_sources.items()
    )
    raise InputError(
        f"{source_name}: the kind of its rows is unknown: the 'sources' of no kind match it"
        f" ({known}); add its name to one of them, and pass the changed declaration with --spec"
    )


def read_kind(row: RowValues, spec: CatalogueSpec) -> str:
    """Return the kind in a row; refuse a row whose kind is missing or not declared."""
    if not spec.kind_path:
        return spec.kinds[0]
    stated = value_at(row, spec.kind_path)
    if is_nothing(stated):
        raise InputError(
            f"'{spec.kind_path}', the record's kind, is missing; kinds: {', '.join(spec.kinds)}"
        )
    if isinstance(stated, list | tuple) and len(stated) > 1:
        values = text_of(stated)[:60]
        raise InputError(
            f"'{spec.kind_path}', the record's kind, has several values: {values!r}; one is right"
        )
    name = text_of(stated)
    known = {kind.lower(): kind for kind in spec.kinds}
    if name.lower() not in known:
        raise InputError(
            f"no kind '{name[:60]}'{did_you_mean(name, list(spec.kinds))}; kinds:"
            f" {', '.join(spec.kinds)}"
        )
    return known[name.lower()]


class UnreadCell(NamedTuple):
    """A cell that is left out of its record, and why."""

    field: str
    reason: str
    place: str = ""  # the place of its row, where several rows are one record


class ReadRow(NamedTuple):
    """The records of a row, its cells that could not be read, and the texts of those that say more
    than their value.
    """

    records: tuple[Record, ...]
    unread: tuple[UnreadCell, ...] = ()
    written: Mapping[str, str] = MappingProxyType({})


@frozen
class RowMapping:
    """Functions from a row to its records, from a record to its unique keys, and to recognise rows
    of metadata.
    """

    records_of: Callable[[RowValues], Iterable[Record]]
    records_of_chunk: Callable[[RowValues], Iterable[Record]] | None = None
    """The records of a row that is a piece of a longer text; None: those of any row."""
    read_row: Callable[[RowValues], ReadRow] | None = None
    """The records of a row and its unreadable cells; None: `records_of`, which rejects a row with
    such a cell.
    """
    identities_of: Callable[[Record], tuple[str, ...]] = lambda record: (record.id,)
    is_metadata: Callable[[RowValues], bool] = lambda _row: False
    # whether each field is read from its path in the row, by the spec alone
    is_by_spec: bool = False
    kind: str | None = None  # the kind of every record; None: each row has its own
    version: int = 1  # raise it when the mapping changes, so that unchanged rows are mapped again


def require_valid(record: Record, spec: CatalogueSpec, *, is_fitting: bool = False) -> None:
    """Refuse a record that lacks a required value, or whose values do not fit the spec or cannot be
    stored.
    """
    require_fitting(record, spec, fields=() if is_fitting else spec.fields.values())
    for field in spec.fields.values():
        if field.required and field.is_of(record.kind) and record.get(field.name) is None:
            raise InputError(f"'{field.name}' is missing; every {record.kind} needs one")


def require_fitting(
    record: Record, spec: CatalogueSpec, *, fields: Iterable[FieldSpec] | None = None
) -> None:
    """Refuse a record whose values do not fit the spec, or these fields of it, or cannot be
    stored.
    """
    if not record.id or len(record.id) > 512:
        raise InputError("the record's id is empty or longer than 512 characters; give it another")
    if record.kind not in spec.kinds:
        raise InputError(f"no kind '{record.kind}'; kinds: {', '.join(spec.kinds)}")
    for field in spec.fields.values() if fields is None else fields:
        value = record.get(field.name)
        if value is not None and (problem := _problem(value, field)):
            raise InputError(f"'{field.name}' {problem}")
    encoded(record)


def encoded(record: Record) -> bytes:
    """Return a record as shelves store it; refuse one with an id or a value that cannot be
    stored.
    """
    try:
        record.id.encode()
        return encode_record(record)
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(
            f"a value cannot be stored: {error}; leave it out, or write it as text"
        ) from error


def _is_date(text: str) -> bool:
    with suppress(ValueError):
        return bool(first_day(text))
    return False


def _problem(value: Value, field: FieldSpec) -> str | None:
    """Return why a value does not fit its field, or None."""
    match field.type:
        case FieldType.INT | FieldType.FLOAT as type_:
            fits = isinstance(
                value, int if type_ is FieldType.INT else int | float
            ) and not isinstance(value, bool)
        case FieldType.TEXTS | FieldType.TAGS as type_:
            item_type = str if type_ is FieldType.TEXTS else Tag
            fits = isinstance(value, tuple) and all(isinstance(item, item_type) for item in value)
        case FieldType.DATE:
            fits = isinstance(value, str) and _is_date(value)
        case FieldType.JSON:
            fits = True
        case FieldType.ENUM:
            return (
                None
                if value in field.values
                else f"is {value!r}; expected one of {', '.join(field.values)}"
            )
        case _:
            fits = isinstance(value, str)
    if not fits:
        return f"is {value!r}, not {field.type}"
    if isinstance(value, int | float) and not field.allows(value):
        return f"is {value}; expected {field.bounds}"
    return None


def build_mapping(spec: CatalogueSpec, *, kind: str | None = None) -> RowMapping:
    """Return the mapping that a spec alone describes: one record a row, of this kind or else of the
    row's own kind.
    """
    require_derivable_kinds(spec, origin=f"the spec '{spec.name}'")
    fields_of = {
        one: [_FieldCells(field) for field in spec.fields.values() if field.is_of(one)]
        for one in spec.kinds
    }

    def read_row(row: RowValues) -> ReadRow:
        if all(map(is_nothing, row.values())):
            raise InputError("empty row: no column has a value; a record needs one")
        of_kind = kind or read_kind(row, spec)
        fields, unread, written = _read_fields(row, fields_of[of_kind])
        if not spec.group_path:  # another row of the group may have the values
            if not fields:
                raise InputError("empty row: no field has a value; a record needs one")
            for cell in unread:
                if spec.fields[cell.field].required:
                    raise InputError(cell.reason)
        records = (Record(id=_id_of(row, spec, fields), fields=fields, kind=of_kind),)
        return ReadRow(records, tuple(unread), written)

    return RowMapping(
        records_of=lambda row: read_row(row).records, read_row=read_row, is_by_spec=True, kind=kind
    )


class _FieldCells(dict[str, Value]):
    """The values of a field by the text of its cell, as far as they are kept: the cells of a column
    repeat.
    """

    def __init__(self, field: FieldSpec) -> None:
        self.field = field
        self.column = None if field.template or field.marked else field.source_path
        """The column that has the value, if the row has one of that name; None where several
        columns make it.
        """
        self._read = READERS[field.type]
        self._is_bounded = (
            field.type is FieldType.ENUM or field.at_least is not None or field.at_most is not None
        )
        """Whether not every value of the field's type fits it."""
        self.has_converted = False
        """Whether a cell was read that is not plainly written."""

    def __missing__(self, cell: str) -> Value:
        value = self.read(cell)
        if len(cell) <= LONGEST_KEPT and len(self) < CELLS_KEPT:
            self[cell] = value
        return value

    def read(self, cell: Any) -> Value:
        """Return the value of a cell; None where it has none. One that does not fit the field is an
        InputError.
        """
        value = None if is_nothing(cell) else self._read(cell, self.field)
        if self._is_bounded and value is not None and (problem := _problem(value, self.field)):
            raise InputError(f"'{self.field.name}' {problem}")
        if not self.has_converted:
            self.has_converted = value is not None and not is_plain(cell, self.field)
        return value


def _read_fields(
    row: RowValues, fields: Sequence[_FieldCells]
) -> tuple[dict[str, Value], list[UnreadCell], dict[str, str]]:
    """Return the values of a row's fields, the cells that do not fit their field, and texts not
    plainly written.
    """
    values: dict[str, Value] = {}
    unread = []
    written: dict[str, str] = {}
    for cells in fields:
        column = cells.column
        cell = row[column] if column is not None and column in row else _cell(row, cells.field)
        try:
            value = cells[cell] if type(cell) is str else cells.read(cell)
        except InputError as error:
            unread.append(UnreadCell(cells.field.name, error.message))
            continue
        if value is not None:
            values[cells.field.name] = value
            if cells.has_converted and not is_plain(cell, cells.field):
                written[cells.field.name] = text_of(cell)[:LONGEST_WRITTEN]
    return (
        values,
        _lost(unread, values, [cells.field for cells in fields]) if unread else unread,
        written,
    )


def _lost(
    unread: Sequence[UnreadCell], values: Mapping[str, Value], fields: Sequence[FieldSpec]
) -> list[UnreadCell]:
    """Return the unread cells but those that another field has read, as `2 Seasons` beside a field
    of minutes.
    """
    read = {field.source_paths for field in fields if field.name in values}
    kept = {field.name for field in fields if field.source_paths in read and not field.required}
    return [cell for cell in unread if cell.field not in kept]


def _cell(row: RowValues, field: FieldSpec) -> Any:
    """Return the cell that a field is read from: the value at its path, or what several columns
    make.
    """
    if field.marked:
        return [tag for column, tag in field.marked if read_boolean(value_at(row, column))]
    if not field.template:
        return value_at(row, field.source_path)
    return compose(field.template, lambda column: _words_at(row, column))


def _words_at(row: RowValues, column: str) -> str:
    cell = value_at(row, column)
    return "" if is_nothing(cell) else MIDNIGHT.sub(r"\1", " ".join(plain_text(cell).split()))


def mapping_of_source(mapping: RowMapping, spec: CatalogueSpec, source_name: str) -> RowMapping:
    """Return the mapping for the rows of one source; one by the spec alone uses the source's kind,
    if it has one.
    """
    return (
        build_mapping(spec, kind=find_source_kind(spec, source_name))
        if mapping.is_by_spec
        else mapping
    )


def _id_of(row: RowValues, spec: CatalogueSpec, fields: Mapping[str, Value]) -> RecordId:
    """Return the id in the row or composed of it, or a digest of its values if it has none."""
    if spec.id_template:
        composed = compose(spec.id_template, lambda column: _words_at(row, column))
        return RecordId(
            composed if composed and len(composed) <= LONGEST_COMPOSED else digest_of_values(fields)
        )
    path = spec.group_path or spec.id_path
    stated = value_at(row, path) if path else None
    return RecordId(digest_of_values(fields) if is_nothing(stated) else text_of(stated))


def digest_of_values(fields: Mapping[str, Value]) -> str:
    """Return a digest that records with the same values have."""
    values = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(values).hexdigest()[:ID_DIGITS]


def digest_of_reading(spec: CatalogueSpec, mapping: RowMapping) -> str:
    """Return a digest of the mapping and spec: when it changes, unchanged rows are mapped again."""
    paths = (spec.id_path, spec.group_path, spec.kind_path, *spec.id_template)
    known = (
        f"{mapping.version} {mapping.kind} {paths} {spec.kinds} {spec.embed}"
        f" {list(spec.fields.values())}"
    )
    return hashlib.sha256(known.encode()).hexdigest()[:12]


class ColumnCheck:
    """Collects the columns of rows until a column for each field was seen."""

    def __init__(self, spec: CatalogueSpec, *, kind: str | None = None) -> None:
        self._spec = spec
        self._missing = tuple(
            field for field in spec.fields.values() if kind is None or field.is_of(kind)
        )
        self._columns: dict[str, None] = {}

    def observe(self, row: RowValues) -> None:
        """Record the columns of a row."""
        if self._missing:
            self._columns.update(dict.fromkeys(row))
            self._missing = tuple(
                field
                for field in self._missing
                if not any(has_path(row, path) for path in field.source_paths)
            )

    def find_note(self) -> str | None:
        """Return a note on fields without a column and columns without a field, or None if every
        field has a column.
        """
        if not self._missing or not self._columns:
            return None
        paths = {
            field.name: ", ".join(f"'{path}'" for path in field.source_paths)
            for field in self._missing
        }
        fields = ", ".join(f"'{name}' (from {named})" for name, named in paths.items())
        note = f"no row has a column for these fields: {fields}"
        mapped = set(iter_mapped_columns(self._spec))
        free = [f"'{column}'" for column in self._columns if column not in mapped]
        if not free:
            return note
        return f"{note}; no field takes these columns: {list_some(free, NAMED_COLUMNS)}"


def iter_mapped_columns(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the names of the columns that the fields, the id and the kind are read from."""
    fields = (path for field in spec.fields.values() for path in field.source_paths)
    ids = (part.column for part in spec.id_template)
    for path in (spec.id_path, *ids, spec.kind_path, spec.group_path, *fields):
        yield from (path, path.split(".")[0].removesuffix("[]"))
