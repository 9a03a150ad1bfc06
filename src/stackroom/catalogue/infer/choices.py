"""What the user says about a table, which takes the place of what would be inferred."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackroom.catalogue.column_template import COLUMN, parse_column_template
from stackroom.catalogue.compiler import ROLE_TYPES
from stackroom.catalogue.infer.fields import InferredField, field_of_type
from stackroom.catalogue.profile import ColumnProfile
from stackroom.catalogue.spec import FieldRole, FieldType
from stackroom.errors import InputError, did_you_mean

NONE = "none"
"""The word for no column, and for no role."""
COLUMNS_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Decisions about columns; each may be named as in the table, or by its proposed field."""

    id: str | None = None
    """The column that identifies a row; `none`: ids are made of the row's values."""
    title: str | None = None
    """The column that names a record, or a template of columns, as in `{from} – {to}`."""
    body: str | None = None
    """The column with the main text; `none`: there is none."""
    group: str | None = None
    """The column that all rows of one record have in common."""
    types: Mapping[str, FieldType] = field(default_factory=dict)
    roles: Mapping[str, FieldRole | None] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()
    """The columns that are kept although they would be left out."""

    def resolved(self, names: Mapping[str, str]) -> "Choices":
        """Return the choices with each column as the table names it; `names` has the field of each column."""
        known = {name.casefold(): column for column, name in names.items()}
        known |= {column.casefold(): column for column in names}

        def find(choice: str, stated: str) -> str:
            found = known.get(stated.strip().casefold())
            if found is None and (stated != NONE or choice not in ("id", "body")):
                shown = ", ".join(list(names)[:COLUMNS_SHOWN]) + (", …" if len(names) > COLUMNS_SHOWN else "")
                hint = did_you_mean(stated, list(names))
                raise InputError(f"{choice}: the table has no column '{stated[:80]}'{hint}; columns: {shown}")
            return found or NONE

        def find_in_template(stated: str) -> str:
            if "{" not in stated:
                return find("title", stated)
            if not parse_column_template(stated):
                example = '"{departure} – {arrival}"'
                raise InputError(f"title: {stated[:80]!r} is no template of columns, as in {example}")
            return COLUMN.sub(lambda column: f"{{{find('title', column[1])}}}", stated)

        return Choices(
            id=self.id and find("id", self.id),
            title=self.title and find_in_template(self.title),
            body=self.body and find("body", self.body),
            group=self.group and find("group", self.group),
            types={find("type", column): kind for column, kind in self.types.items()},
            roles={find("role", column): role for column, role in self.roles.items()},
            drop=frozenset(find("drop", column) for column in self.drop),
            keep=frozenset(find("keep", column) for column in self.keep),
        )

    @property
    def named_columns(self) -> set[str]:
        """The columns that the user named: they are kept, whatever they hold."""
        named = {self.id, self.title, self.body, self.group}
        return {name for name in named if name} | self.keep | set(self.types) | set(self.roles)


NO_CHOICES = Choices()


def with_choices(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile], choices: Choices
) -> list[InferredField]:
    """Return the fields with the types and roles that were chosen; a role has one field."""
    roles = dict(choices.roles) | ({choices.body: FieldRole.BODY} if choices.body not in (None, NONE) else {})
    taken = set(roles.values()) | ({FieldRole.BODY} if choices.body == NONE else set())
    typed = [_typed(field, columns.get(field.column), choices.types) for field in fields]
    freed = [replace(field, role=None) if field.role in taken else field for field in typed]
    return [_with_role(field, roles[field.column]) if field.column in roles else field for field in freed]


def _typed(field: InferredField, column: ColumnProfile | None, types: Mapping[str, FieldType]) -> InferredField:
    kind = types.get(field.column)
    if kind is None or column is None:
        return field
    if kind is FieldType.ENUM:
        raise InputError(f"type: '{field.column}' cannot be enum here: its values belong in a catalogue.toml; use text")
    role = field.role if field.role is None or kind in ROLE_TYPES.get(field.role, {kind}) else None
    return replace(field_of_type(column, field.name, kind), role=role)


def _with_role(field: InferredField, role: FieldRole | None) -> InferredField:
    right = ROLE_TYPES.get(role, set()) if role else set()
    if right and field.type not in right:
        fitting = " or ".join(sorted(right))
        raise InputError(f"role: '{field.column}' is {field.type}, and {role} needs {fitting}; choose its type as well")
    is_text = role in (FieldRole.TITLE, FieldRole.BODY, FieldRole.ALTERNATIVES)
    return replace(field, role=role, searched=field.searched or is_text, reason=f"{field.reason}; your choice")
