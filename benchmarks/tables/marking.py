"""The truth about a table as somebody wrote it down, and the mark of a catalogue that was inferred
from it.

Truth and questions name the columns of the file; which field has a column is read from the
catalogue's spec. README.md has the points. Nothing here reads files or asks questions.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType
from stackroom.catalogue.telling import telling_fields

KINDS: Mapping[str, tuple[FieldType, ...]] = {
    "text": (FieldType.TEXT, FieldType.ENUM),
    "yes/no": (FieldType.TEXT, FieldType.ENUM, FieldType.TAGS),
    "number": (FieldType.INT, FieldType.FLOAT),
    "date": (FieldType.DATE,),
    "year": (FieldType.INT, FieldType.DATE),
    "list": (FieldType.TEXTS, FieldType.TAGS),
    "url": (FieldType.URL,),
}
"""The kind of a column, as truth names it → the types of a field that are right for it."""
ANY = "*"
"""In place of a title: the rows have no name, so that any is right."""
OR = " | "
"""Between columns of which one has to be shown."""
LOST_ROWS_SHARE = 0.02
MOST_WITH_LOST_ROWS = 4.0


class Question(BaseModel):
    """A question with one right answer: a count, a figure of a number, or the record that comes
    first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: str = ""
    first: str = ""
    """A text that the first hit of `words` has."""
    where: dict[str, Any] = Field(default={})
    """Column → a value, true or false, or `{min = …, max = …}`."""
    by: str = ""
    group: str | int | float | None = None
    of: str = ""
    count: int | None = None
    min: float | str | None = None
    max: float | str | None = None
    mean: float | None = None
    sum: float | None = None

    @property
    def figures(self) -> dict[str, float | str]:
        """The right figures by name."""
        return self.model_dump(include={"count", "min", "max", "mean", "sum"}, exclude_none=True)


class TableTruth(BaseModel):
    """A table: where it is, and what somebody who knows it says of it.

    Of the columns for id, title, time and popularity each is right; an empty one means that none is
    right too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    file: str
    sha256: str
    recode: str = ""
    """The encoding that the file is written in before it is added; empty: as it is."""
    rows: int
    id: list[str] = Field(default=[])
    """The columns that identify a row; no list: none does, and ids may be made in any way that
    keeps all rows.
    """
    title: list[str]
    time: list[str] = Field(default=[])
    popularity: list[str] = Field(default=[])
    types: dict[str, str]
    """Column → its kind, one of `KINDS`."""
    shown: list[str]
    hidden: list[str] = Field(default=[])
    questions: list[Question] = Field(min_length=5, max_length=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The mark of a table from 0 to 10, and what was wrong."""

    points: float
    wrong: tuple[str, ...] = ()


def fields_of(spec: CatalogueSpec, column: str) -> list[FieldSpec]:
    """Return the fields that have a column, nearest first: by its path, by the last step of a path,
    by its name.
    """
    fields = [
        field
        for field in spec.fields.values()
        if field.role is not FieldRole.TITLE or not field.template
    ]
    found = [
        *(
            field
            for field in fields
            if not field.template and (field.source_path or field.name) == column
        ),
        *(field for field in fields if column in field.source_paths),
        *(
            field
            for field in fields
            if any(path.rpartition(".")[2] == column for path in field.source_paths)
        ),
        *(field for field in fields if _letters(field.name) == _letters(column)),
    ]
    return list({field.name: field for field in found}.values())


def mark_table(
    truth: TableTruth, spec: CatalogueSpec, *, records: int, wrong_answers: Sequence[str]
) -> Mark:
    """Return the mark of a catalogue with so many records, that answered some of the questions
    wrongly.
    """
    lost = truth.rows - records
    right_rows = 1.0 if not lost else 0.5 if abs(lost) <= LOST_ROWS_SHARE * truth.rows else 0.0
    parts = [
        (1.0, right_rows, [f"rows: {records:,} records of {truth.rows:,}"] if lost else []),
        (1.0, *_shared(_id_problems(truth, spec), 1)),
        (1.0, *_shared(_title_problems(truth, spec), 1)),
        (0.5, *_shared(_role_problems(spec, FieldRole.TIME, truth.time), 1)),
        (0.5, *_shared(_role_problems(spec, FieldRole.POPULARITY, truth.popularity), 1)),
        (1.5, *_shared(_type_problems(truth, spec), len(truth.types))),
        (1.5, *_shared(_shown_problems(truth, spec), len(truth.shown) + len(truth.hidden))),
        (3.0, *_shared(wrong_answers, len(truth.questions))),
    ]
    points = sum(weight * share for weight, share, _ in parts)
    wrong = tuple(problem for _, _, problems in parts for problem in problems)
    return Mark(
        points=round(points if right_rows else min(points, MOST_WITH_LOST_ROWS), 1), wrong=wrong
    )


def _shared(problems: Iterable[str], total: int) -> tuple[float, list[str]]:
    """Return the share that is right of so many things, and the problems."""
    found = list(problems)
    return (1 - len(found) / total if total else 1.0), found


def _id_problems(truth: TableTruth, spec: CatalogueSpec) -> Iterator[str]:
    stated = spec.id_path or spec.group_path
    columns = [stated] if stated else ["", *(part.column for part in spec.id_template)]
    if truth.id and not set(columns) & set(truth.id):
        yield f"id: {' '.join(columns).strip() or 'none'}, not {' or '.join(truth.id)}"


def _title_problems(truth: TableTruth, spec: CatalogueSpec) -> Iterator[str]:
    columns = _columns(spec.title_field)
    if columns[0] not in truth.title and ANY not in truth.title:
        yield f"title: {', '.join(columns)}, not {' or '.join(truth.title)}"


def _role_problems(spec: CatalogueSpec, role: FieldRole, right: Sequence[str]) -> Iterator[str]:
    field = spec.field_with_role(role)
    columns = _columns(field) if field else ("",)
    if not set(columns) & set(right or ("",)):
        yield f"{role}: {', '.join(columns) or 'none'}, not {' or '.join(right) or 'any'}"


def _type_problems(truth: TableTruth, spec: CatalogueSpec) -> Iterator[str]:
    for column, kind in truth.types.items():
        fields = fields_of(spec, column)
        if not any(field.type in KINDS[kind] for field in fields):
            yield f"type: {column} is {fields[0].type if fields else 'left out'}, not {kind}"


def _shown_problems(truth: TableTruth, spec: CatalogueSpec) -> Iterator[str]:
    shown = {field.name for field in (spec.title_field, *telling_fields(spec))}
    in_title = _columns(spec.title_field)

    def is_shown(column: str) -> bool:
        return column in in_title or any(field.name in shown for field in fields_of(spec, column))

    for columns in truth.shown:
        if not any(map(is_shown, columns.split(OR))):
            yield f"shown: not {columns}"
    yield from (f"shown: {column}" for column in truth.hidden if is_shown(column))


def _columns(field: FieldSpec) -> tuple[str, ...]:
    return tuple(path or field.name for path in field.source_paths)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
