"""The form in which a proposal is answered: columns in the table's order, each with its field or why it has none."""

from collections.abc import Iterator, Sequence
from typing import Any

from stackroom.assembly.proposal import ProfiledTable, Proposal
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.profile import ColumnProfile
from stackroom.catalogue.spec import FieldType, Role
from stackroom.model.principal import LOCAL_USER
from stackroom.sources.port import RowSource, TableSource
from stackroom.text.safe import safe_line
from stackroom.tools.budget import shorten
from stackroom.tools.generic.record import RecordForm, shape_record
from stackroom.tools.media import CallerMedia

EXAMPLES = 3
EXAMPLE_CHARS = 60
SHOWN_HITS = 5
WITH_TILES = RecordForm(media=CallerMedia(LOCAL_USER, ()))
TYPES = [kind.value for kind in FieldType if kind is not FieldType.ENUM]
ROLES = [role.value for role in Role]


def describe_proposal(table: ProfiledTable, proposal: Proposal, source: RowSource, *, name: str) -> dict[str, Any]:
    """Return a proposal as the fields of `ProposalResult`, but for the changes that led to it."""
    inferred, spec = proposal.inferred, proposal.loaded.spec
    title = inferred.fields[0]
    by_column = _by_column(inferred.fields, table.columns)
    body = next((field.column for field in inferred.fields if field.role is Role.BODY), None)
    return {
        "name": name,
        "title": spec.title,
        "rows": len(table.rows),
        "is_sample": table.columns[0].is_sample,
        "record_title": title.template or title.column,
        "id": inferred.id_column,
        "body": body,
        "group": inferred.group,
        "columns": [
            _column(column, by_column.get(column.name), _why_left_out(proposal, column)) for column in table.columns
        ],
        "composed": [_composed(field) for field in inferred.fields if field not in by_column.values()],
        "tables": list(source.other_tables) if isinstance(source, TableSource) else [],
        "notes": [safe_line(note) for note in (*inferred.notes, *proposal.notes)],
        "results": [
            shape_record(spec, name, record, WITH_TILES).model_dump(mode="json")
            for record in proposal.records[:SHOWN_HITS]
        ],
        "declaration": proposal.loaded.declaration,
        "types": TYPES,
        "roles": ROLES,
    }


def _by_column(fields: Sequence[InferredField], columns: Sequence[ColumnProfile]) -> dict[str, InferredField]:
    """Return the field of each column that has one of its own."""
    names = {column.name for column in columns}
    found: dict[str, InferredField] = {}
    for field in fields:
        if field.column in names and not field.template:
            found.setdefault(field.column, field)
    return found


def _why_left_out(proposal: Proposal, column: ColumnProfile) -> str:
    if column.name == proposal.inferred.id_column:
        return "it identifies the rows"
    return dict(proposal.inferred.left_out).get(column.name, "it has no field")


def _column(column: ColumnProfile, field: InferredField | None, why_left_out: str) -> dict[str, Any]:
    return {
        "column": column.name,
        **_field(field, why_left_out),
        "examples": list(_examples(column)),
        "filled": round(column.filled_share, 4),
    }


def _composed(field: InferredField) -> dict[str, Any]:
    return {"column": field.template or field.column, **_field(field, ""), "examples": [], "filled": 1.0}


def _field(field: InferredField | None, why_left_out: str) -> dict[str, Any]:
    return {
        "field": field.name if field else None,
        "type": str(field.type) if field else None,
        "role": str(field.role) if field and field.role else None,
        "uses": field.uses if field else "",
        "reason": safe_line(field.reason if field else why_left_out),
    }


def _examples(column: ColumnProfile) -> Iterator[str]:
    for text in column.texts[:EXAMPLES]:
        yield safe_line(shorten(" ".join(text.split()), EXAMPLE_CHARS))
