"""Tables in which several rows are one thing: a row for each ingredient of a drink, or line of a song."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.columns import has_word, is_code, is_link, is_question
from pinakes.catalogue.infer.fields import InferredField
from pinakes.catalogue.infer.title_words import is_title_name
from pinakes.catalogue.list_marks import PEOPLE_WORD
from pinakes.catalogue.profile import ColumnProfile, distinct_together
from pinakes.catalogue.spec import LIST_TYPES, FieldType, Role

FEWEST_GROUPS = 5
MOST_GROUPS = 0.95
"""The share of rows above which a value in several rows is a repetition."""
LEAST_SAME = 0.4
"""The share of the other columns that are the same in all rows of a group."""
FEWEST_SAME = 3
LONG_ITEM, LONG_TAG = 60, 30
LEAST_NAMED = 0.8
"""The share of groups that a column names with a value of their own."""
COUNTING_WORDS = frozenset(("number", "no", "nr", "num", "line", "index", "position", "row", "order"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A decision that only the user can make: what is asked, the default, and the option that chooses otherwise."""

    asks: str
    default: str
    option: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """A column whose equal values make rows one thing, with the columns that are the same in its rows, or differ."""

    column: ColumnProfile
    same: tuple[ColumnProfile, ...]
    differing: tuple[ColumnProfile, ...]


def find_grouping(columns: Sequence[ColumnProfile]) -> Grouping | None:
    """Return the column by which several rows seem to be one thing, or None."""
    likely = [
        one for one in (grouping_by(column, columns) for column in columns if _may_group(column)) if _is_likely(one)
    ]
    return max(likely, key=_likelihood, default=None)


def _likelihood(grouping: Grouping) -> tuple[int, bool, bool, int]:
    column = grouping.column
    return len(grouping.same), "row" not in column.words, is_link(column), column.distinct


def grouping_by(column: ColumnProfile, columns: Sequence[ColumnProfile]) -> Grouping:
    """Return which other columns are the same in all rows with the same value of a column."""
    others = [one for one in columns if one is not column and one.distinct > 1]
    same = tuple(one for one in others if distinct_together([column, one]) == column.distinct)
    return Grouping(column=column, same=same, differing=tuple(one for one in others if one not in same))


def ask_to_group(grouping: Grouping, *, name: str) -> Question:
    """Return the question whether rows are to be one record; `name` is that of the column's field."""
    column = grouping.column
    differing = [one.name for one in grouping.differing if not _counts_rows(one)]
    lists = ", ".join(differing[:4]) + (", …" if len(differing) > 4 else "")
    return Question(
        asks=f"several rows seem to be one thing: {column.rows:,} rows have {column.distinct:,} different "
        f"'{column.name}'; one record for each, with lists of {lists}?",
        default="one record per row",
        option=f"--group {column.name if ' ' not in column.name else name}",
    )


def find_title_of_group(grouping: Grouping) -> ColumnProfile | None:
    """Return the column that names the thing that a group of rows is: the column itself, or one that is as distinct."""
    texts = [one for one in (grouping.column, *grouping.same) if one.form is Form.TEXT and not one.is_list]
    named = [one for one in texts if is_title_name(one) and not is_link(one)]
    telling = [one for one in texts if one.mean_length <= LONG_ITEM and not is_link(one) and not is_code(one)]
    likely = [one for one in (*named, *telling) if one.distinct >= LEAST_NAMED * grouping.column.distinct]
    return likely[0] if likely else None


def group_fields(fields: Iterable[InferredField], grouping: Grouping) -> list[InferredField]:
    """Return the fields with lists for the columns that differ within a group."""
    differing = {column.name: column for column in grouping.differing}
    return [_grouped_title(field) or _collected(field, differing.get(field.column)) for field in fields]


def _grouped_title(field: InferredField) -> InferredField | None:
    return replace(field, reason="names the rows that are one record") if field.role is Role.TITLE else None


def counting_columns(grouping: Grouping) -> dict[str, str]:
    """Return the columns that number the rows of a group, each with the reason why it has no field."""
    return {one.name: "it counts the rows of a record" for one in grouping.differing if _counts_rows(one)}


def _counts_rows(column: ColumnProfile) -> bool:
    """Tell whether a column numbers the rows of a group."""
    return column.form is Form.WHOLE and bool(column.words) and column.words[-1] in COUNTING_WORDS


def _collected(field: InferredField, column: ColumnProfile | None) -> InferredField:
    """Return a field that collects the values of all rows of a record; numbers and dates have the first."""
    if column is None or field.role is not None or field.type in LIST_TYPES:
        return field
    if field.type is not FieldType.TEXT:
        return replace(field, reason=f"{field.reason}; the first of a record's rows")
    is_short = column.mean_length <= LONG_ITEM and not is_link(column)
    is_tag = is_short and column.mean_length <= LONG_TAG and not has_word(column, PEOPLE_WORD)
    reason = f"{field.reason}; a list, since it differs within a record"
    return replace(
        field,
        type=FieldType.TAGS if is_tag else FieldType.TEXTS,
        searched=True,
        filtered=is_short,
        facet=is_short,
        reason=reason,
    )


def _may_group(column: ColumnProfile) -> bool:
    """Tell whether a column may say which thing a row is about: an id or a name that several rows share."""
    if column.filled_share < 0.98 or not FEWEST_GROUPS <= column.distinct <= MOST_GROUPS * column.rows:
        return False
    if is_question(column) or column.form not in (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT) or column.is_list:
        return False
    return is_link(column) or is_code(column) or is_title_name(column)


def _is_likely(grouping: Grouping) -> bool:
    """Tell whether enough is the same in all rows of a group, among it something as telling as the column itself."""
    same, others = len(grouping.same), len(grouping.same) + len(grouping.differing)
    distinct = grouping.column.distinct
    has_name = any(column.distinct >= 0.9 * distinct for column in grouping.same) or is_title_name(grouping.column)
    return same >= FEWEST_SAME and same >= LEAST_SAME * others and has_name
