"""Inference of a readable `catalogue.toml` from the columns of a table, with a reason for each choice.

Choices depend on the form of the cells, and on the words of a column's name where cells are ambiguous. Each decision
is a function of its own: the columns left out, the id, the title, the roles, the fields, the grouping, the verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pinakes.catalogue.infer.choices import NO_CHOICES, Choices, with_choices
from pinakes.catalogue.infer.families import family_field, find_families
from pinakes.catalogue.infer.fields import InferredField, field_of, field_of_main_unit
from pinakes.catalogue.infer.grouping import Grouping, Question, ask_to_group, find_grouping, group_fields, grouping_by
from pinakes.catalogue.infer.ids import choose_id, chosen_id, is_bare_id
from pinakes.catalogue.infer.left_out import KEPT_OF_WIDE, WIDE_TABLE, choose_columns, keep_most_useful, named_columns
from pinakes.catalogue.infer.names import catalogue_name, catalogue_title, field_names
from pinakes.catalogue.infer.parts import RecordParts, choose_parts, with_part
from pinakes.catalogue.infer.titles import title_columns
from pinakes.catalogue.infer.toml import Draft, write_toml
from pinakes.catalogue.infer.verdict import judge
from pinakes.catalogue.profile import ColumnProfile
from pinakes.catalogue.spec import Role
from pinakes.errors import InputError

__all__ = ["Inferred", "Question", "catalogue_name", "infer_declaration"]


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
    choices = choices.resolved(names)
    usable, left_out = choose_columns(columns, choices)
    families = find_families(usable, names, apart=named_columns(choices))
    usable = [column for column in usable if not any(column in family.columns for family in families)]
    left_out |= {one.name: f"it is part of '{family.name}'" for family in families for one in family.columns}
    grouping = _chosen_grouping(usable, choices)
    id_profile, notes = _choose_id(usable, choices, id_column, grouping)
    parts = choose_parts(_titled_by(usable, grouping), id_profile, names, title=choices.title)
    fields, dropped = _choose_fields(usable, parts, names, choices)
    fields += [family_field(family) for family in families]
    if grouping is not None:
        fields = group_fields(fields, grouping)
    if dropped:
        left_out |= dict.fromkeys(dropped, "one of the less useful of very many columns")
        notes.append(f"of {len(columns)} columns the {KEPT_OF_WIDE} most useful became fields")
    fields = _with_sample(fields, columns[0])
    popularity = next((one.column for one in fields if one.role is Role.POPULARITY), "")
    most = next((column.most for column in usable if column.name == popularity), None)
    draft = Draft(
        name=name,
        title=title or catalogue_title(name),
        fields=fields,
        id_path=parts.id.name if parts.id else "",
        group=grouping.column.name if grouping else "",
        most_popular=most or 0.0,
    )
    return Inferred(
        declaration=write_toml(draft),
        fields=tuple(fields),
        left_out=tuple(left_out.items()),
        notes=tuple(_sampled(note, columns[0]) for note in notes),
        id_column=parts.id.name if parts.id else None,
        group=draft.group or None,
        questions=tuple(_questions(usable, parts, grouping, names)),
        verdict=judge(columns),
    )


def _chosen_grouping(columns: Sequence[ColumnProfile], choices: Choices) -> Grouping | None:
    column = next((column for column in columns if column.name == choices.group), None)
    return grouping_by(column, columns) if column is not None else None


def _choose_id(
    columns: Sequence[ColumnProfile], choices: Choices, stated: str | None, grouping: Grouping | None
) -> tuple[ColumnProfile | None, list[str]]:
    """Return the id: of grouped rows the column that they share, else the user's choice, else the best column."""
    if grouping is not None:
        count = grouping.column.distinct
        return grouping.column, [f"rows with the same '{grouping.column.name}' are one record: {count:,} records"]
    return chosen_id(columns, choices.id) if choices.id else choose_id(columns, stated)


def _titled_by(columns: Sequence[ColumnProfile], grouping: Grouping | None) -> Sequence[ColumnProfile]:
    """Return the columns that may name a record: of grouped rows, those that are the same in all of them."""
    if grouping is None or not grouping.same:
        return columns
    return [column for column in columns if column is grouping.column or column in grouping.same]


def _choose_fields(
    columns: Sequence[ColumnProfile], parts: RecordParts, names: Mapping[str, str], choices: Choices
) -> tuple[list[InferredField], list[str]]:
    """Return the fields, the title first, and the columns of a wide table that have none."""
    made = [
        with_part(field_of(column, names[column.name]), column, parts)
        for column in columns
        if not is_bare_id(column, parts.id) or column.name in choices.keep
    ]
    by_name = {column.name: column for column in columns}
    chosen = _with_main_units(with_choices(made, by_name, choices), by_name, set(names.values()))
    fields = [parts.title, *(field for field in chosen if field.column != parts.title.column)]
    if len(fields) <= WIDE_TABLE:
        return fields, []
    needed = {column.name for column in title_columns(parts.title, columns)} | choices.keep | set(choices.types)
    return keep_most_useful(fields, by_name, needed=needed)


def _with_main_units(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile], taken: set[str]
) -> list[InferredField]:
    """Return the fields, each that has numbers in several units followed by one for those in the main unit."""
    found: list[InferredField] = []
    for field in fields:
        extra = field_of_main_unit(field, columns[field.column])
        found += [field, extra] if extra and extra.name not in taken else [field]
    return found


def _questions(
    columns: Sequence[ColumnProfile], parts: RecordParts, grouping: Grouping | None, names: Mapping[str, str]
) -> list[Question]:
    """Return the questions to the user: of grouping, where rows have no id of their own or no name of their own."""
    is_open = grouping is None and (parts.id is None or bool(parts.title.template))
    found = find_grouping(columns) if is_open else None
    return [ask_to_group(found, name=names[found.column.name])] if found else []


def _with_sample(fields: Sequence[InferredField], column: ColumnProfile) -> list[InferredField]:
    """Return the fields with reasons that say so where they are of a sample."""
    return [replace(field, reason=_sampled(field.reason, column)) for field in fields]


def _sampled(text: str, column: ColumnProfile) -> str:
    return f"{text} (in a sample of {column.rows:,} rows)" if column.is_sample else text
