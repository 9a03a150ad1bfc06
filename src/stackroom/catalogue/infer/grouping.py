"""Several rows that are one thing, as a row for each ingredient of a drink, and several columns that are one field."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stackroom.catalogue.compiler import FIELD_NAME
from stackroom.catalogue.infer.fields import InferredField
from stackroom.catalogue.infer.words import has_word, is_code, is_link, is_question, is_title_name
from stackroom.catalogue.profile import PEOPLE_WORD, ColumnProfile, Form, distinct_together
from stackroom.catalogue.spec import LIST_TYPES, FieldType, Role

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
NUMBERED = re.compile(r"(.*?[^\W\d])[\s_.-]*(\d{1,2})", re.DOTALL)
FEWEST_MEMBERS = 3
LONGEST_ITEM = 40
LEAST_SHARED = 0.05
"""The share of the second column's values that the first one has as well."""
MARK = "|"
PLAIN_NAME = re.compile(r"[^{}|]+")


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
    groupings = [grouping_by(column, columns) for column in columns if _may_group(column)]
    likely = [grouping for grouping in groupings if _is_likely(grouping)]
    return max(likely, key=_likelihood, default=None)


def _likelihood(grouping: Grouping) -> tuple[int, bool, bool, int]:
    column = grouping.column
    return len(grouping.same), "row" not in column.words, is_link(column), column.distinct


def grouping_by(column: ColumnProfile, columns: Sequence[ColumnProfile]) -> Grouping:
    """Return which other columns are the same in all rows with the same value of a column."""
    others = [other for other in columns if other is not column and other.distinct > 1]
    same = tuple(other for other in others if distinct_together([column, other]) == column.distinct)
    return Grouping(column=column, same=same, differing=tuple(other for other in others if other not in same))


def ask_to_group(grouping: Grouping, *, name: str) -> Question:
    """Return the question whether rows are to be one record; `name` is that of the column's field."""
    column = grouping.column
    differing = [other.name for other in grouping.differing if not _counts_rows(other)]
    lists = ", ".join(differing[:4]) + (", …" if len(differing) > 4 else "")
    return Question(
        asks=f"several rows seem to be one thing: {column.rows:,} rows have {column.distinct:,} different "
        f"'{column.name}'; one record for each, with lists of {lists}?",
        default="one record per row",
        option=f"--group {column.name if ' ' not in column.name else name}",
    )


def find_title_of_group(grouping: Grouping) -> ColumnProfile | None:
    """Return the column that names the thing that a group of rows is: the column itself, or one that is as distinct."""
    shared = [column for column in (grouping.column, *grouping.same) if not is_link(column)]
    texts = [column for column in shared if column.form is Form.TEXT and not column.is_list]
    telling = [column for column in texts if column.mean_length <= LONG_ITEM and not is_code(column)]
    named = [column for column in texts if is_title_name(column)]
    likely = [column for column in (*named, *telling) if column.distinct >= LEAST_NAMED * grouping.column.distinct]
    return likely[0] if likely else None


def group_fields(fields: Iterable[InferredField], grouping: Grouping) -> list[InferredField]:
    """Return the fields with lists for the columns that differ within a group."""
    differing = {column.name: column for column in grouping.differing}
    return [_collected(field, differing.get(field.column)) for field in fields]


def counting_columns(grouping: Grouping) -> dict[str, str]:
    """Return the columns that number the rows of a group, each with the reason why it has no field."""
    return {other.name: "it counts the rows of a record" for other in grouping.differing if _counts_rows(other)}


def _counts_rows(column: ColumnProfile) -> bool:
    """Tell whether a column numbers the rows of a group."""
    return column.form is Form.WHOLE and bool(column.words) and column.words[-1] in COUNTING_WORDS


def _collected(field: InferredField, column: ColumnProfile | None) -> InferredField:
    """Return a field that collects the values of all rows of a record; numbers and dates have the first."""
    if field.role is Role.TITLE:
        return replace(field, reason="names the rows that are one record")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Numbered columns with values of one kind, and the name of the field that has all of them."""

    name: str
    columns: tuple[ColumnProfile, ...]


def find_families(
    columns: Sequence[ColumnProfile], names: Mapping[str, str], *, apart: Iterable[str] = ()
) -> list[Family]:
    """Return the families of numbered columns; `apart` are columns that stay fields of their own."""
    own = set(apart)
    members: dict[str, list[ColumnProfile]] = {}
    for column in columns:
        found = NUMBERED.fullmatch(column.name)
        if found and column.name not in own and _may_belong(column):
            members.setdefault(found[1], []).append(column)
    taken = set(names.values())
    families = []
    for some in members.values():
        if len(some) >= FEWEST_MEMBERS and _share_values(some):
            name = _name_of(names[some[0].name], taken)
            taken.add(name)
            families.append(Family(name=name, columns=tuple(some)))
    return families


def family_field(family: Family) -> InferredField:
    """Return the field that collects the values of a family's columns."""
    template = MARK.join(f"{{{column.name}}}" for column in family.columns)
    values = {text for column in family.columns for text in column.texts}
    reason = f"{len(family.columns)} columns, '{family.columns[0].name}' and so on, as one list: {len(values):,} values"
    return InferredField(
        name=family.name,
        column=template,
        template=template,
        type=FieldType.TAGS,
        split=MARK,
        searched=True,
        filtered=True,
        facet=True,
        reason=reason,
    )


def _may_belong(column: ColumnProfile) -> bool:
    """Tell whether a column has short texts that can be items of a list."""
    if column.form is not Form.TEXT or column.mean_length > LONGEST_ITEM or is_code(column) or is_link(column):
        return False
    is_plain = PLAIN_NAME.fullmatch(column.name) is not None and not any(MARK in text for text in column.texts)
    return is_plain and not column.is_list


def _share_values(columns: Sequence[ColumnProfile]) -> bool:
    """Tell whether the first two columns draw on the same values, too many to be grades."""
    first, second = set(columns[0].texts), set(columns[1].texts)
    return len(first | second) > FEWEST_MEMBERS and len(first & second) >= LEAST_SHARED * len(second)


def _name_of(numbered: str, taken: set[str]) -> str:
    """Return a name for the field: that of the first column without its number, unless another has it."""
    bare = numbered.rstrip("0123456789").rstrip("_")
    wanted = (bare, f"{bare}s", f"all_{bare}", f"{numbered}_list")
    return next((name for name in wanted if name not in taken and FIELD_NAME.fullmatch(name)), numbered)
