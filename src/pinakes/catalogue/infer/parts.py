"""The columns with a special part in a record: id, title, other names, main text and time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pinakes.catalogue.infer.columns import gaps, has_word, is_code, is_link, is_year, percent
from pinakes.catalogue.infer.fields import LONG_TEXT, InferredField
from pinakes.catalogue.profile import ColumnProfile, Form, name_words
from pinakes.catalogue.spec import FieldType, Role
from pinakes.errors import InputError

LONGEST_ID = 100
SHORT_NAME = 120

TITLE_NAMES = name_words(
    "title name headline label heading product item film movie book song track album game recipe work term question "
    "titel titre titulo titolo nombre nome nom название 標題 标题 タイトル 書名 제목"
)
"""Names of title columns, the most certain first."""
NOT_A_TITLE = frozenset(
    name_words(
        "first last middle given family sur user author artist file brand publisher company vendor country city meta"
    )
)
"""Words before `name` or `title` that make it the name of something else."""
ALTERNATIVE = re.compile(
    r"alternatives?|aliase?s?|aka|also known as|synonyms|(alt|alternative|other|original|native|english|international) "
    r"(titles?|names?)|(titles?|names?) (alt|alternative|original|native|english)"
)
FIRST_NAME = re.compile(r"first ?name|given ?name|forename")
LAST_NAME = re.compile(r"last ?name|sur ?name|family ?name")
FIRST_ID_WORD = re.compile(r"\w*(const|code|number|nummer|numero)|no|nr|num")
"""The last word of the name of a first column that identifies rows, if its values are unique."""
HANDLED_WORD = re.compile(r"updated?|modified|added|created|read|checked|imported|scraped|accessed")
"""A word in the names of columns with the time of a change to the row, not of the thing itself."""
BODY_WORD = re.compile(
    r"description|synopsis|summary|abstract|text|content|body|blurb|plot|overview|notes?|bio|about|review|story"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordParts:
    """The columns with a special part in a record."""

    title: InferredField
    id: ColumnProfile | None
    alternatives: ColumnProfile | None
    body: ColumnProfile | None
    time: ColumnProfile | None


def choose_id(columns: Sequence[ColumnProfile], stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that identifies a row, or None, and notes on the choice."""
    candidates = [
        column
        for place, column in enumerate(columns)
        if column.name == stated or _may_be_id(column, is_first=not place)
    ]
    notes: list[str] = []
    for column in sorted(candidates, key=lambda one: _id_rank(one, stated)):
        problem = _id_problem(column)
        if problem is None:
            return column, notes
        notes.append(f"'{column.name}' cannot be the id: {problem}")
    notes.append("no column identifies a row; ids are made of what the row says")
    return None, notes


def chosen_id(columns: Sequence[ColumnProfile], stated: str) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that the user chose as the id, None for `none`, and notes on what it costs."""
    column = next((one for one in columns if one.name == stated), None)
    problem = _id_problem(column) if column is not None else None
    return column, [f"'{stated}' is the id by your choice, although {problem}"] if problem else []


def _may_be_id(column: ColumnProfile, *, is_first: bool) -> bool:
    """Tell whether a column is named like an id; repeated ids in later columns refer to another table."""
    is_own = column.is_unique or is_first or column.words == ("id",)
    if is_first and column.is_unique and column.words and FIRST_ID_WORD.fullmatch(column.words[-1]):
        return True
    return is_code(column) and (is_own or not is_link(column))


def _id_rank(column: ColumnProfile, stated: str | None) -> int:
    if column.name == stated:
        return 0
    if column.words == ("id",):
        return 1
    return 2 if is_link(column) else 3


def _id_problem(column: ColumnProfile) -> str | None:
    if column.filled < column.rows:
        return f"{percent(1 - column.filled_share)} of the rows have none"
    if column.distinct < column.filled:
        return f"{column.filled - column.distinct} of {column.filled} rows repeat an earlier one"
    if column.form not in (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT) or column.longest > LONGEST_ID:
        return "its values are not names"
    return None


def is_bare_id(column: ColumnProfile, id_column: ColumnProfile | None) -> bool:
    """Tell whether a column is the id and of no interest to people."""
    return column is id_column and is_link(column)


def choose_parts(
    columns: Sequence[ColumnProfile],
    id_column: ColumnProfile | None,
    names: Mapping[str, str],
    *,
    title: str | None = None,
) -> RecordParts:
    """Return the column for each part of a record; refuse a table without a title, unless one was chosen by name."""
    others = [column for column in columns if column is not id_column] or list(columns)
    title_field = _chosen_title(columns, names, title) or _person_title(others, names) or _column_title(others, names)
    rest = [column for column in others if column.name != title_field.column]
    alternatives = next(
        (column for column in rest if column.form in (Form.TEXT, Form.LIST) and _is_alternative(column)), None
    )
    return RecordParts(
        title=title_field,
        id=id_column,
        alternatives=alternatives,
        body=_find_body([column for column in rest if column is not alternatives]),
        time=_find_time(rest),
    )


def _is_alternative(column: ColumnProfile) -> bool:
    return bool(ALTERNATIVE.fullmatch(" ".join(column.words)))


def _person_title(columns: Sequence[ColumnProfile], names: Mapping[str, str]) -> InferredField | None:
    """Return the title of a table of people with first and last names in two columns, or None."""
    found = [_find_named(columns, pattern) for pattern in (FIRST_NAME, LAST_NAME)]
    if any(column is None or " " in column.name for column in found):
        return None
    name = next(one for one in ("name", "full_name", "person_name", "name_of_record") if one not in names.values())
    path = " ".join(column.name for column in found if column)
    reason = "first and last name together"
    return InferredField(name=name, column=path, type=FieldType.TEXT, role=Role.TITLE, searched=True, reason=reason)


def _find_named(columns: Sequence[ColumnProfile], pattern: re.Pattern[str]) -> ColumnProfile | None:
    return next((column for column in columns if pattern.fullmatch(" ".join(column.words))), None)


def _chosen_title(
    columns: Sequence[ColumnProfile], names: Mapping[str, str], stated: str | None
) -> InferredField | None:
    """Return the title by the column or the template that the user chose."""
    if stated is not None and "{" in stated:
        return composed_title(stated, names, reason="composed as you chose")
    column = next((column for column in columns if column.name == stated), None)
    return None if column is None else _title_field(column, names)


def composed_title(template: str, names: Mapping[str, str], *, reason: str) -> InferredField:
    """Return a title composed of several columns, under a name that no column has."""
    wanted = ("title", "name", "record_title")
    name = next((one for one in wanted if one not in names.values()), "title_of_record")
    return InferredField(
        name=name,
        column=template,
        template=template,
        type=FieldType.TEXT,
        role=Role.TITLE,
        searched=True,
        reason=reason,
    )


def _column_title(columns: Sequence[ColumnProfile], names: Mapping[str, str]) -> InferredField:
    column = _find_title(columns)
    if column is None:
        raise InputError(
            "it has no column of text that could name a record; numbers and dates alone cannot be searched"
        )
    return _title_field(column, names)


def _title_field(column: ColumnProfile, names: Mapping[str, str]) -> InferredField:
    reason = f"names a record: {percent(column.distinct_share)} are distinct{gaps(column)}"
    return InferredField(
        name=names[column.name],
        column=column.name,
        type=FieldType.TEXT,
        role=Role.TITLE,
        searched=True,
        reason=reason,
    )


def _find_title(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the title column: by its name, else the short text with the most distinct values."""
    texts = [
        column for column in columns if column.form in (Form.TEXT, Form.BOOLEAN, Form.CODE) and not is_link(column)
    ]
    named = [column for column in texts if column.filled_share >= 0.5 and column.longest <= 1000]
    for word in TITLE_NAMES:
        exact = next((column for column in named if column.words == (word,)), None)
        if exact is not None:
            return exact
    ending = [column for column in named if _ends_as_title(column)]
    if ending:
        return max(ending, key=lambda column: round(column.distinct_share * column.filled_share, 2))
    plain = [column for column in texts if column.form is Form.TEXT and not is_code(column)]
    short = [column for column in plain if column.mean_length <= SHORT_NAME and not column.is_list]
    if short:
        return max(short, key=lambda column: round(column.distinct_share * column.filled_share, 1))
    last_resort = [column for column in columns if column.form in (Form.TEXT, Form.URL, Form.LIST)]
    return min(plain or last_resort, key=lambda column: column.mean_length, default=None)


def _ends_as_title(column: ColumnProfile) -> bool:
    return (
        len(column.words) > 1
        and (column.words[-1] in TITLE_NAMES[:2] or column.words[0] in TITLE_NAMES[:1])
        and not NOT_A_TITLE.intersection(column.words[:-1])
        and not _is_alternative(column)
    )


def _find_body(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column with the most text, if its cells are longer than a few words."""
    texts = [column for column in columns if column.form is Form.TEXT and not column.is_list and not is_code(column)]
    long = [column for column in texts if column.mean_length >= (20 if has_word(column, BODY_WORD) else LONG_TEXT)]
    return max(long, key=lambda column: column.mean_length * column.filled, default=None)


def _find_time(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column of the record's time: years before dates, the best filled first."""
    years = [column for column in columns if is_year(column)]
    dates = [column for column in columns if column.form is Form.DATE and not has_word(column, HANDLED_WORD)]
    return max(years or dates, key=lambda column: column.filled, default=None)


def with_part(field: InferredField, column: ColumnProfile, parts: RecordParts) -> InferredField:
    """Return the field with the role that its column was chosen for."""
    if column is parts.alternatives:
        kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
        return replace(field, type=kind, role=Role.ALTERNATIVES, searched=True, filtered=False, facet=False)
    if column is parts.body:
        reason = f"the most text: {column.mean_length:.0f} characters per cell{gaps(column)}"
        return replace(field, role=Role.BODY, searched=True, filtered=False, facet=False, reason=reason)
    if column is parts.time:
        return replace(field, role=Role.TIME)
    return field
