"""What the user says about a table, which takes the place of what would be inferred."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackroom.catalogue.column_template import parse_column_template
from stackroom.catalogue.compiler import ROLE_TYPES
from stackroom.catalogue.infer.fields import InferredField, field_of_type
from stackroom.catalogue.profile import ColumnProfile
from stackroom.catalogue.spec import NUMERIC_TYPES, FieldType, Role
from stackroom.errors import InputError, did_you_mean

NONE = "none"
"""The word for no column, and for no role."""
COLUMNS_SHOWN = 12
FILTERED_TYPES = NUMERIC_TYPES | {FieldType.TEXT, FieldType.TEXTS, FieldType.TAGS}
"""The types of fields by which records can be filtered."""


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
    roles: Mapping[str, Role | None] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()
    """The columns that are kept although they would be left out."""
    filters: Mapping[str, bool] = field(default_factory=dict)
    """Whether records can be filtered by a column."""

    def resolved(self, names: Mapping[str, str]) -> "Choices":
        """Return the choices with each column as the table names it; `names` has the field of each column."""
        columns = _Columns(names)
        return replace(
            self,
            id=columns.find_or_none("id", self.id),
            title=None if self.title is None else columns.find_in_template("title", self.title),
            body=columns.find_or_none("body", self.body),
            group=None if self.group is None else columns.find("group", self.group),
            types={columns.find("type", column): kind for column, kind in self.types.items()},
            roles={columns.find("role", column): role for column, role in self.roles.items()},
            drop=columns.find_all("drop", self.drop),
            keep=columns.find_all("keep", self.keep),
            filters={columns.find("filter", column): wanted for column, wanted in self.filters.items()},
        )

    @property
    def named_columns(self) -> set[str]:
        """The columns that the user named: they are kept, whatever they hold."""
        named = {self.id, self.title, self.body, self.group}
        return {name for name in named if name} | self.keep | set(self.types) | set(self.roles)

    @property
    def all_roles(self) -> dict[str, Role | None]:
        """The chosen roles of columns, with the main text."""
        body = {self.body: Role.BODY} if self.body not in (None, NONE) else {}
        return {**self.roles, **{column: role for column, role in body.items() if column is not None}}


NO_CHOICES = Choices()


class _Columns:
    """The columns of a table by their own names and by those of their fields, whatever the case."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._columns = list(names)
        self._known = {name.casefold(): column for column, name in names.items()}
        self._known |= {column.casefold(): column for column in names}

    def find(self, choice: str, stated: str) -> str:
        """Return the column that is meant; refuse a name that no column has."""
        found = self._known.get(stated.strip().casefold())
        if found is None:
            shown = ", ".join(self._columns[:COLUMNS_SHOWN]) + (", …" if len(self._columns) > COLUMNS_SHOWN else "")
            hint = did_you_mean(stated, self._columns)
            raise InputError(f"{choice}: the table has no column '{stated[:80]}'{hint}; columns: {shown}")
        return found

    def find_or_none(self, choice: str, stated: str | None) -> str | None:
        """Return the column that is meant, or the word for none."""
        if stated is None or (stated == NONE and NONE not in self._known):
            return stated
        return self.find(choice, stated)

    def find_in_template(self, choice: str, stated: str) -> str:
        """Return the column that is meant, or the template with the columns that are."""
        if "{" not in stated:
            return self.find(choice, stated)
        parts = parse_column_template(stated)
        if not parts:
            raise InputError(
                f'{choice}: {stated[:80]!r} is no template of columns, as in "{{departure}} – {{arrival}}"'
            )
        columns = [self.find(choice, part.column) for part in parts]
        return "".join(
            f"{part.joint}{part.opening}{{{column}}}{part.closing}" for part, column in zip(parts, columns, strict=True)
        )

    def find_all(self, choice: str, stated: Iterable[str]) -> frozenset[str]:
        """Return the columns that are meant."""
        return frozenset(self.find(choice, name) for name in stated)


def with_choices(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile], choices: Choices
) -> list[InferredField]:
    """Return the fields with the types and roles that were chosen; a role has one field."""
    typed = [_typed(field, columns.get(field.column), choices.types) for field in fields]
    roles = choices.all_roles
    taken = {role for role in roles.values() if role is not None}
    lost = taken | {Role.BODY} if choices.body == NONE else taken
    freed = [replace(field, role=None) if field.role in lost else field for field in typed]
    given = [_with_role(field, roles[field.column]) if field.column in roles else field for field in freed]
    filters = choices.filters
    return [_filtered(field, filters[field.column]) if field.column in filters else field for field in given]


def _filtered(field: InferredField, wanted: bool) -> InferredField:
    """Return a field by which records can be filtered, or not; terms are browsed by as well."""
    if wanted and field.type not in FILTERED_TYPES:
        raise InputError(f"filter: '{field.column}' is {field.type}, which cannot be filtered by; choose another type")
    is_term = field.type not in NUMERIC_TYPES
    return replace(field, filtered=wanted, facet=wanted and is_term, reason=f"{field.reason}; your choice")


def _typed(field: InferredField, column: ColumnProfile | None, types: Mapping[str, FieldType]) -> InferredField:
    kind = types.get(field.column)
    if kind is None or column is None:
        return field
    if kind is FieldType.ENUM:
        raise InputError(f"type: '{field.column}' cannot be enum here: its values belong in a catalogue.toml; use text")
    role = field.role if field.role is None or kind in ROLE_TYPES.get(field.role, {kind}) else None
    return replace(field_of_type(column, field.name, kind), role=role)


def _with_role(field: InferredField, role: Role | None) -> InferredField:
    right = ROLE_TYPES.get(role, set()) if role else set()
    if right and field.type not in right:
        fitting = " or ".join(sorted(right))
        raise InputError(f"role: '{field.column}' is {field.type}, and {role} needs {fitting}; choose its type as well")
    is_text = role in (Role.TITLE, Role.BODY, Role.ALTERNATIVES)
    return replace(field, role=role, searched=field.searched or is_text, reason=f"{field.reason}; your choice")
