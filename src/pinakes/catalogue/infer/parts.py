"""The parts of a record: its id, its title, and the columns with other roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pinakes.catalogue.compiler import ROLE_TYPES
from pinakes.catalogue.infer.columns import gaps
from pinakes.catalogue.infer.fields import InferredField
from pinakes.catalogue.infer.roles import choose_roles
from pinakes.catalogue.infer.titles import choose_title, chosen_title, title_columns
from pinakes.catalogue.profile import ColumnProfile
from pinakes.catalogue.spec import FieldType, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordParts:
    """The columns with a special part in a record."""

    title: InferredField
    id: ColumnProfile | None
    roles: Mapping[Role, ColumnProfile]
    """The column of each other role."""


def choose_parts(
    columns: Sequence[ColumnProfile],
    id_column: ColumnProfile | None,
    names: Mapping[str, str],
    *,
    title: str | None = None,
) -> RecordParts:
    """Return the column for each part of a record; `title` is the user's choice of a column or template."""
    field = chosen_title(columns, names, title) if title else choose_title(columns, id_column, names)
    used = [id_column] if field.template else [id_column, *title_columns(field, columns)]
    rest = [column for column in columns if column not in used]
    return RecordParts(title=field, id=id_column, roles=choose_roles(rest))


def with_part(field: InferredField, column: ColumnProfile, parts: RecordParts) -> InferredField:
    """Return the field with the role that its column was chosen for."""
    role = next((role for role, one in parts.roles.items() if one is column), None)
    if role is Role.ALTERNATIVES:
        kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
        return replace(field, type=kind, role=role, searched=True, filtered=False, facet=False)
    if role is Role.BODY:
        reason = f"the most text: {column.mean_length:.0f} characters per cell{gaps(column)}"
        return replace(field, role=role, searched=True, filtered=False, facet=False, reason=reason)
    return replace(field, role=role) if role is not None and field.type in ROLE_TYPES[role] else field
