"""Inference of a readable `catalogue.toml` from the columns of a table, with a reason for each choice.

Choices depend on the form of the cells, and on the words of a column's name where cells are ambiguous. `columns` says
which columns become fields and which is the id, `roles` chooses the title and the other roles, `fields` the types and
uses, `grouping` which rows or columns are one, and `toml` writes it all down.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackroom.catalogue.compiler import ROLE_TYPES
from stackroom.catalogue.infer.choices import NO_CHOICES, Choices, with_choices
from stackroom.catalogue.infer.columns import KEPT_OF_WIDE, WIDE_TABLE, choose_columns, choose_id, chosen_id
from stackroom.catalogue.infer.fields import InferredField, field_of, field_of_main_unit
from stackroom.catalogue.infer.grouping import (
    Family,
    Question,
    ask_to_group,
    counting_columns,
    family_field,
    find_families,
    find_grouping,
    find_title_of_group,
    group_fields,
    grouping_by,
)
from stackroom.catalogue.infer.roles import choose_roles, choose_title, chosen_title, title_columns
from stackroom.catalogue.infer.toml import Draft, write_toml
from stackroom.catalogue.infer.words import catalogue_title, field_names, gaps, is_code, is_link, is_survey
from stackroom.catalogue.profile import PLAIN_NUMBERS, ColumnProfile, Form
from stackroom.catalogue.spec import NUMERIC_TYPES, FieldType, Role
from stackroom.errors import InputError

WIDE_GRID = 6
KEY_WORD = re.compile(r"keys?|property|properties|field|attribute|parameter|setting|variable|item|name", re.IGNORECASE)
VALUE_WORD = re.compile(r"values?|setting|content|data", re.IGNORECASE)
WORDLESS = PLAIN_NUMBERS | {Form.DATE, Form.CODE, Form.QUANTITY, Form.BOOLEAN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """A proposed declaration: its text, its fields, and remarks for people."""

    declaration: str
    fields: tuple[InferredField, ...]
    left_out: tuple[tuple[str, str], ...]
    """The columns that have no field, each with the reason."""
    notes: tuple[str, ...]
    """Decisions about the table as a whole."""
    id_column: str | None = None
    """The column that identifies a row; None where ids are made of the rows."""
    group: str | None = None
    """The column that all rows of one record have in common, if they are grouped."""
    questions: tuple[Question, ...] = ()
    """Decisions that only the user can make, each with its default."""
    verdict: str = ""
    """Why the table is no catalogue, and what would make it one; empty if it is one."""


def infer_declaration(
    columns: Sequence[ColumnProfile],
    *,
    name: str,
    title: str = "",
    id_column: str | None = None,
    choices: Choices = NO_CHOICES,
) -> Inferred:
    """Propose a declaration for a table, or refuse one without a value; `name` and `title` are the catalogue's.

    `id_column` is the primary key that the source declares, if it does; `choices` are the user's, and come first.
    """
    if not columns or not columns[0].rows:
        raise InputError("it has no rows, so the types of its columns cannot be inferred")
    names = field_names(columns)
    inference = _Inference(columns, names, choices.resolved(names), id_column)
    fields, dropped = inference.choose_fields()
    if dropped:
        inference.notes.append(f"of {len(columns)} columns the {KEPT_OF_WIDE} most useful became fields")
    left_out = inference.left_out | dict.fromkeys(dropped, "one of the less useful of very many columns")
    sampled = f" (in a sample of {columns[0].rows:,} rows)" if columns[0].is_sample else ""
    draft = Draft(
        name=name,
        title=title or catalogue_title(name),
        fields=[replace(field, reason=f"{field.reason}{sampled}") for field in fields],
        id_path=inference.id.name if inference.id else "",
        group=inference.grouping.column.name if inference.grouping else "",
        most_popular=_most_popular(fields, columns),
    )
    return Inferred(
        declaration=write_toml(draft),
        fields=tuple(draft.fields),
        left_out=tuple(left_out.items()),
        notes=tuple(f"{note}{sampled}" for note in inference.notes),
        id_column=draft.id_path or None,
        group=draft.group or None,
        questions=tuple(inference.list_questions()),
        verdict=judge(columns),
    )


class _Inference:
    """The decisions about one table, made one after another: columns, grouping, id, title, roles."""

    def __init__(
        self, columns: Sequence[ColumnProfile], names: Mapping[str, str], choices: Choices, stated_id: str | None
    ) -> None:
        self.names = names
        self.choices = choices
        usable, self.left_out = choose_columns(columns, choices, id_column=stated_id)
        self.families: Sequence[Family] = find_families(usable, names, apart=choices.named_columns)
        self.left_out |= {
            column.name: f"it is part of '{family.name}'" for family in self.families for column in family.columns
        }
        single = [column for column in usable if column.name not in self.left_out]
        self.grouping = next((grouping_by(column, single) for column in single if column.name == choices.group), None)
        self.left_out |= counting_columns(self.grouping) if self.grouping is not None else {}
        self.usable = [column for column in single if column.name not in self.left_out]
        self.id, self.notes = self._choose_id(stated_id)
        self.title, self.roles = self._choose_roles()

    def _choose_id(self, stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
        """Return the id: of grouped rows the column that they share, else the user's choice, else the best column."""
        if self.grouping is not None:
            column = self.grouping.column
            return column, [f"rows with the same '{column.name}' are one record: {column.distinct:,} records"]
        return chosen_id(self.usable, self.choices.id) if self.choices.id else choose_id(self.usable, stated)

    def _choose_roles(self) -> tuple[InferredField, Mapping[Role, ColumnProfile]]:
        """Return the title, and the columns of other roles: of grouped rows, among those that are the same in all."""
        columns, wanted = self.usable, self.choices.title
        if self.grouping is not None and self.grouping.same:
            columns = [column for column in columns if column in (self.grouping.column, *self.grouping.same)]
        if self.grouping is not None and wanted is None:
            naming = find_title_of_group(self.grouping)
            wanted = naming.name if naming is not None else None
        title = chosen_title(columns, self.names, wanted) if wanted else choose_title(columns, self.id, self.names)
        used = [self.id] if title.template else [self.id, *title_columns(title, columns)]
        return title, choose_roles([column for column in columns if column not in used])

    def choose_fields(self) -> tuple[list[InferredField], list[str]]:
        """Return the fields, the title first, and the columns of a wide table that have none."""
        by_name = {column.name: column for column in self.usable}
        made = [
            self._with_role(field_of(column, self.names[column.name]), column)
            for column in self.usable
            if not (column is self.id and is_link(column)) or column.name in self.choices.keep
        ]
        typed: list[InferredField] = []
        for field in with_choices(made, by_name, self.choices):
            extra = field_of_main_unit(field, by_name[field.column])
            typed += [field, extra] if extra and extra.name not in self.names.values() else [field]
        fields = [self.title, *(field for field in typed if field.column != self.title.column)]
        kept, dropped = self._keep_most_useful(fields, by_name) if len(fields) > WIDE_TABLE else (fields, [])
        kept = [*kept, *(family_field(family) for family in self.families)]
        return group_fields(kept, self.grouping) if self.grouping is not None else kept, dropped

    def _with_role(self, field: InferredField, column: ColumnProfile) -> InferredField:
        """Return the field with the role that its column was chosen for."""
        role = next((role for role, chosen in self.roles.items() if chosen is column), None)
        if role is Role.ALTERNATIVES:
            kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
            return replace(field, type=kind, role=role, searched=True, filtered=False, facet=False)
        if role is Role.BODY:
            reason = f"the most text: {column.mean_length:.0f} characters per cell{gaps(column)}"
            return replace(field, role=role, searched=True, filtered=False, facet=False, reason=reason)
        return replace(field, role=role) if role is not None and field.type in ROLE_TYPES[role] else field

    def _keep_most_useful(
        self, fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile]
    ) -> tuple[list[InferredField], list[str]]:
        """Return the most useful fields of a wide table, in its order, and the columns of the others."""
        needed = {column.name for column in title_columns(self.title, self.usable)}
        needed |= self.choices.keep | set(self.choices.types)

        def worth(field: InferredField) -> tuple[bool, float]:
            return field.role is not None or field.column in needed, _worth(field, columns.get(field.column))

        kept = {field.name for field in sorted(fields, key=worth, reverse=True)[:KEPT_OF_WIDE]}
        dropped = [field.column for field in fields if field.name not in kept]
        return [field for field in fields if field.name in kept], dropped

    def list_questions(self) -> list[Question]:
        """Return the questions to the user: of grouping, where rows have no id or no name of their own."""
        is_open = self.grouping is None and (self.id is None or bool(self.title.template))
        grouping = find_grouping(self.usable) if is_open else None
        return [ask_to_group(grouping, name=self.names[grouping.column.name])] if grouping else []


def _worth(field: InferredField, column: ColumnProfile | None) -> float:
    """Return how useful a field is: filled and varied, to filter or search by, not deep in objects."""
    if column is None:
        return 3.0
    use = 1.0 * field.facet + 0.6 * (field.type in NUMERIC_TYPES) + 0.3 * field.searched + 0.2 * is_code(column)
    use -= 0.8 * (field.type is FieldType.JSON) + 0.15 * column.name.count(".")
    varied = 1.0 if column.distinct > 1 else 0.1
    return (column.filled_share + use) * varied


def _most_popular(fields: Sequence[InferredField], columns: Sequence[ColumnProfile]) -> float:
    """Return the greatest number in the column with the role popularity."""
    popularity = next((field.column for field in fields if field.role is Role.POPULARITY), "")
    return next((column.most for column in columns if column.name == popularity), None) or 0.0


def judge(columns: Sequence[ColumnProfile]) -> str:
    """Return why a table is no catalogue and what would make it one; empty if it is one."""
    filled = [column for column in columns if column.filled]
    if is_survey(filled):
        return (
            f"it looks like a survey: a row has one respondent's answers in {len(filled)} columns, and nothing names "
            "it. It can be filtered and counted, hardly searched; a row for each thing that was asked about would "
            "make it a catalogue"
        )
    if grid := _find_grid(filled):
        return (
            f"it looks like a matrix: {len(grid)} columns of numbers are named by values, as '{grid[0].name}'. One row "
            "for each number, with its row, its column and its value, would make it a catalogue (in pandas: melt)"
        )
    if _are_key_and_value(filled):
        return (
            f"it looks like one thing described by keys and values ('{filled[0].name}', '{filled[1].name}'): each row "
            "is one fact about it. One row for each thing, with a column for each key, would make it a catalogue "
            "(in pandas: pivot)"
        )
    if filled and all(column.form in WORDLESS for column in filled):
        return (
            "it has numbers and dates alone, so there are no words to search: its records can be filtered and "
            "counted. A column that names each row would make it a catalogue; give it with --title"
        )
    if len(filled) == 1:
        return f"it has one column, '{filled[0].name}': a list to search in, with nothing to filter by"
    return ""


def _find_grid(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns of numbers that are named by values, as years or the names of the rows; none where few are."""
    numbers = [column for column in columns if column.form in PLAIN_NUMBERS]
    labels = {text for column in columns if column.form is Form.TEXT for text in column.texts}
    named_by_values = [column for column in numbers if column.name in labels or column.name.strip().isdigit()]
    is_grid = len(numbers) >= WIDE_GRID and len(named_by_values) >= 0.6 * len(columns)
    return named_by_values if is_grid else []


def _are_key_and_value(columns: Sequence[ColumnProfile]) -> bool:
    if len(columns) != 2 or columns[0].rows > 200 or not columns[0].is_unique:
        return False
    key, value = columns
    is_named = any(map(KEY_WORD.fullmatch, key.words)) and any(map(VALUE_WORD.fullmatch, value.words))
    return is_named and len(value.forms) > 1
