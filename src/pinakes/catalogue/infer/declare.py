"""Inference of a readable `catalogue.toml` from the columns of a table, with a reason for each choice.

Choices depend on the form of the cells, and on the words of a column's name where cells are ambiguous. Each decision
is a function of its own: the columns left out, the id, the title, the roles, the fields, the grouping, the verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pinakes.catalogue.infer.choices import NO_CHOICES, Choices, with_choices
from pinakes.catalogue.infer.families import Family, family_field, find_families
from pinakes.catalogue.infer.fields import InferredField, field_of, field_of_main_unit
from pinakes.catalogue.infer.grouping import (
    Grouping,
    Question,
    ask_to_group,
    counting_columns,
    find_grouping,
    find_title_of_group,
    group_fields,
    grouping_by,
)
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
    chosen = _choose_columns(columns, names, choices, id_column)
    id_profile, notes = _choose_id(chosen, choices, id_column)
    parts = _choose_parts(chosen, id_profile, names, choices)
    fields, dropped = _choose_fields(chosen, parts, names, choices)
    left_out = chosen.left_out | dict.fromkeys(dropped, "one of the less useful of very many columns")
    if dropped:
        notes.append(f"of {len(columns)} columns the {KEPT_OF_WIDE} most useful became fields")
    draft = _draft(name, title, _with_sample(fields, columns[0]), parts, chosen)
    return Inferred(
        declaration=write_toml(draft),
        fields=tuple(draft.fields),
        left_out=tuple(left_out.items()),
        notes=tuple(_sampled(note, columns[0]) for note in notes),
        id_column=draft.id_path or None,
        group=draft.group or None,
        questions=tuple(_questions(chosen, parts, names)),
        verdict=judge(columns),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """The columns that become fields: each one, those that are one list, and by which rows are one record."""

    usable: Sequence[ColumnProfile]
    families: Sequence[Family]
    grouping: Grouping | None
    left_out: dict[str, str]


def _choose_columns(
    columns: Sequence[ColumnProfile], names: Mapping[str, str], choices: Choices, id_column: str | None
) -> _Chosen:
    usable, reasons = choose_columns(columns, choices, id_column=id_column)
    families = find_families(usable, names, apart=named_columns(choices))
    reasons |= {one.name: f"it is part of '{family.name}'" for family in families for one in family.columns}
    single = [column for column in usable if column.name not in reasons]
    grouping = next((grouping_by(column, single) for column in single if column.name == choices.group), None)
    reasons |= counting_columns(grouping) if grouping is not None else {}
    kept = [column for column in single if column.name not in reasons]
    return _Chosen(usable=kept, families=families, grouping=grouping, left_out=reasons)


def _choose_id(chosen: _Chosen, choices: Choices, stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
    """Return the id: of grouped rows the column that they share, else the user's choice, else the best column."""
    if chosen.grouping is not None:
        column = chosen.grouping.column
        return column, [f"rows with the same '{column.name}' are one record: {column.distinct:,} records"]
    return chosen_id(chosen.usable, choices.id) if choices.id else choose_id(chosen.usable, stated)


def _choose_parts(
    chosen: _Chosen, id_column: ColumnProfile | None, names: Mapping[str, str], choices: Choices
) -> RecordParts:
    """Return the parts of a record: of grouped rows, among the columns that are the same in all of them."""
    grouping = chosen.grouping
    if grouping is None:
        return choose_parts(chosen.usable, id_column, names, title=choices.title)
    naming = find_title_of_group(grouping)
    same = [column for column in chosen.usable if column is grouping.column or column in grouping.same]
    title = choices.title or (naming.name if naming is not None else None)
    return choose_parts(same if grouping.same else chosen.usable, id_column, names, title=title)


def _choose_fields(
    chosen: _Chosen, parts: RecordParts, names: Mapping[str, str], choices: Choices
) -> tuple[list[InferredField], list[str]]:
    """Return the fields, the title first, and the columns of a wide table that have none."""
    by_name = {column.name: column for column in chosen.usable}
    made = [
        with_part(field_of(column, names[column.name]), column, parts)
        for column in chosen.usable
        if not is_bare_id(column, parts.id) or column.name in choices.keep
    ]
    typed = _with_main_units(with_choices(made, by_name, choices), by_name, set(names.values()))
    fields = [parts.title, *(field for field in typed if field.column != parts.title.column)]
    needed = {column.name for column in title_columns(parts.title, chosen.usable)} | choices.keep | set(choices.types)
    kept, dropped = keep_most_useful(fields, by_name, needed=needed) if len(fields) > WIDE_TABLE else (fields, [])
    kept = [*kept, *(family_field(family) for family in chosen.families)]
    return group_fields(kept, chosen.grouping) if chosen.grouping is not None else kept, dropped


def _draft(name: str, title: str, fields: Sequence[InferredField], parts: RecordParts, chosen: _Chosen) -> Draft:
    popularity = next((one.column for one in fields if one.role is Role.POPULARITY), "")
    most = next((column.most for column in chosen.usable if column.name == popularity), None)
    return Draft(
        name=name,
        title=title or catalogue_title(name),
        fields=fields,
        id_path=parts.id.name if parts.id else "",
        group=chosen.grouping.column.name if chosen.grouping else "",
        most_popular=most or 0.0,
    )


def _with_main_units(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile], taken: set[str]
) -> list[InferredField]:
    """Return the fields, each that has numbers in several units followed by one for those in the main unit."""
    found: list[InferredField] = []
    for field in fields:
        extra = field_of_main_unit(field, columns[field.column])
        found += [field, extra] if extra and extra.name not in taken else [field]
    return found


def _questions(chosen: _Chosen, parts: RecordParts, names: Mapping[str, str]) -> list[Question]:
    """Return the questions to the user: of grouping, where rows have no id of their own or no name of their own."""
    is_open = chosen.grouping is None and (parts.id is None or bool(parts.title.template))
    found = find_grouping(chosen.usable) if is_open else None
    return [ask_to_group(found, name=names[found.column.name])] if found else []


def _with_sample(fields: Sequence[InferredField], column: ColumnProfile) -> list[InferredField]:
    """Return the fields with reasons that say so where they are of a sample."""
    return [replace(field, reason=_sampled(field.reason, column)) for field in fields]


def _sampled(text: str, column: ColumnProfile) -> str:
    return f"{text} (in a sample of {column.rows:,} rows)" if column.is_sample else text
