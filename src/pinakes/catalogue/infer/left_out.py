"""The columns that get no field, each with the reason."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.choices import Choices
from pinakes.catalogue.infer.columns import is_code, is_link, is_unnamed
from pinakes.catalogue.infer.fields import InferredField
from pinakes.catalogue.infer.title_words import is_alternative
from pinakes.catalogue.profile import PLAIN_NUMBERS, ColumnProfile, distinct_together
from pinakes.catalogue.spec import NUMERIC_TYPES, FieldType

WIDE_TABLE = 80
KEPT_OF_WIDE = 60
MANY_CONSTANTS = 3
FEWEST_ROWS = 20
"""The fewest rows in which a column with one value says nothing."""
TRANSLATION = re.compile(r"translations?|translated|i18n|localized|locales?|native|transliterations?")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?")
MANY_LANGUAGES = 8
ROUNDED = re.compile(r"\d[.,]\d+[eE]\+\d+")
"""A long code as spreadsheets show it: `9.78E+12`."""
MOST_ROUNDED = 0.5
SIZE_WORD = re.compile(
    r"small|medium|large|big|tiny|mini|thumb|thumbnail|preview|full|original|hires|lowres|sm|md|lg|xl"
)
"""A word in the names of columns with another size of a picture."""

Reasons = dict[str, str]


def choose_columns(
    columns: Sequence[ColumnProfile], choices: Choices, *, id_column: str | None = None
) -> tuple[list[ColumnProfile], Reasons]:
    """Return the columns that can become fields, and the others with the reason why not.

    `id_column` is the key that the source declares, if it does.
    """
    reasons: Reasons = {}
    finders = (
        _unusable,
        _counts_of_rows,
        _repeated,
        _constant,
        _translations,
        _rounded,
        _numbers_of_names,
        _other_sizes,
    )
    for find in (*finders, _other_ids):
        rest = [column for column in columns if column.name not in reasons]
        reasons |= {name: reason for name, reason in find(rest) if name not in reasons}
    kept = named_columns(choices) | {id_column}
    reasons = {name: reason for name, reason in reasons.items() if name not in kept}
    reasons |= dict.fromkeys(choices.drop, "you left it out")
    ordered = {column.name: reasons[column.name] for column in columns if column.name in reasons}
    return [column for column in columns if column.name not in reasons], ordered


def named_columns(choices: Choices) -> set[str]:
    """Return the columns that the user named: they are kept, whatever they hold."""
    named = {choices.id, choices.title, choices.body, choices.group}
    return {name for name in named if name} | choices.keep | set(choices.types) | set(choices.roles)


def _unusable(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    for column in columns:
        if not column.filled:
            yield column.name, "it is empty"
        elif not column.name.strip() or column.name.encode(errors="replace").decode() != column.name:
            yield column.name, "its name is empty or cannot be encoded"
        elif column.form is Form.BYTES:
            yield column.name, "it holds bytes, not text"


def _counts_of_rows(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns without a name that number the rows, as exports of data frames have them."""
    for column in columns:
        if is_unnamed(column) and column.is_unique and column.form in PLAIN_NUMBERS and column.rows > 1:
            numbers = column.numbers[column.codes]
            if np.all(np.diff(numbers) > 0) and column.least in (0.0, 1.0):
                yield column.name, "it only counts the rows"


def _repeated(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    first_with: dict[str, str] = {}
    first_scaled: dict[bytes, list[ColumnProfile]] = {}
    for column in sorted(columns, key=is_alternative):
        twin = first_with.setdefault(column.fingerprint, column.name)
        if twin != column.name and (column.distinct >= 10 or (column.distinct > 2 and column.rows >= 50)):
            yield column.name, f"it holds the same as '{twin}'"
        elif column.form in PLAIN_NUMBERS | {Form.QUANTITY} and column.distinct >= 10 and not is_code(column):
            alike = first_scaled.setdefault(column.codes.tobytes(), [])
            scaled = next((one for one in alike if _is_scaled(one, column)), None)
            if scaled is not None:
                yield column.name, f"it holds the same as '{scaled.name}' in another unit"
            alike.append(column)


def _is_scaled(one: ColumnProfile, other: ColumnProfile) -> bool:
    """Tell whether the numbers of one column are those of another by a factor."""
    if np.isnan(one.numbers).any() or np.isnan(other.numbers).any() or one.rows < FEWEST_ROWS:
        return False
    divisor = np.where(one.numbers == 0, 1, one.numbers)
    ratios = np.where(one.numbers == 0, np.nan, other.numbers / divisor)
    known = ratios[~np.isnan(ratios)]
    zeros_agree = bool(np.all((one.numbers == 0) == (other.numbers == 0)))
    return zeros_agree and len(known) > 0 and bool(np.all(np.abs(known - known[0]) <= 1e-6 * abs(known[0])))


def _constant(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns with the same value in every row, where there are several."""
    constants = [column for column in columns if column.distinct == 1 and column.filled == column.rows >= FEWEST_ROWS]
    if len(constants) >= MANY_CONSTANTS or len(columns) > KEPT_OF_WIDE:
        for column in constants:
            yield column.name, f"it is '{column.texts[0][:40]}' in every row"


def _translations(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns that say the same in other languages, named by a word or by many language codes."""
    families = Counter(family for column in columns for family, _ in _families(column.name))
    for column in columns:
        steps = column.name.split(".")
        by_word = any(TRANSLATION.fullmatch(step.lower()) for step in steps[:-1])
        by_code = any(families[family] >= MANY_LANGUAGES for family, _ in _families(column.name))
        if column.form in (Form.TEXT, Form.OBJECT) and (by_word or by_code):
            yield column.name, "it is a translation"


def _rounded(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns with codes that a spreadsheet rounded, so that they tell nothing apart."""
    for column in columns:
        rounded = sum(bool(ROUNDED.fullmatch(text)) for text in column.texts)
        if is_code(column) and rounded > MOST_ROUNDED * column.distinct:
            yield column.name, f"its codes were rounded by a spreadsheet, as '{column.texts[0][:30]}'"


def _numbers_of_names(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns with ids of other tables, beside the columns with the names that they stand for.

    A single one may be the id of what several rows are.
    """
    by_words = {"".join(column.words): column for column in columns if column.form is Form.TEXT and not column.is_list}
    pairs = [(column, by_words.get("".join(column.words[:-1]))) for column in columns if _refers(column)]
    named = [(one, name) for one, name in pairs if name and distinct_together([one, name]) == one.distinct]
    if len(named) > 1:
        yield from ((column.name, f"it stands for '{name.name}'") for column, name in named)


def _refers(column: ColumnProfile) -> bool:
    """Tell whether a column has ids that many rows have in common."""
    return is_link(column) and 2 * column.distinct <= column.filled


def _other_sizes(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield the columns with the same picture in another size."""
    links = {column.words: column for column in columns if column.form is Form.URL}
    for words, column in links.items():
        bare = tuple(word for word in words if not SIZE_WORD.fullmatch(word))
        if bare != words and bare in links:
            yield column.name, f"it is another size of '{links[bare].name}'"


def _other_ids(columns: Sequence[ColumnProfile]) -> Iterable[tuple[str, str]]:
    """Yield all but the first of several columns that number the rows each in its own way, as other sites do."""
    numbers = [one for one in columns if is_link(one) and one.is_unique and one.form in PLAIN_NUMBERS]
    first = next((one for one in numbers if one.words == ("id",)), numbers[0] if numbers else None)
    for column in numbers:
        if column is not first and first is not None:
            yield column.name, f"it numbers the rows, as '{first.name}' does"


def _families(name: str) -> Iterable[tuple[str, str]]:
    """Yield the name of a column with each step that may be a language replaced, and that step."""
    steps = name.split(".")
    for place, step in enumerate(steps):
        if place and LANGUAGE.fullmatch(step):
            yield ".".join([*steps[:place], "*", *steps[place + 1 :]]), step


def keep_most_useful(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile], *, needed: Iterable[str] = ()
) -> tuple[list[InferredField], list[str]]:
    """Return the most useful fields of a wide table, in its order, and the columns of the others."""
    kept_always = set(needed)

    def worth(field: InferredField) -> tuple[bool, float]:
        return field.role is not None or field.column in kept_always, _worth(field, columns.get(field.column))

    kept = {field.name for field in sorted(fields, key=worth, reverse=True)[:KEPT_OF_WIDE]}
    return (
        [field for field in fields if field.name in kept],
        [field.column for field in fields if field.name not in kept],
    )


def _worth(field: InferredField, column: ColumnProfile | None) -> float:
    """Return how useful a field is: filled and varied, to filter or search by, not deep in objects."""
    if column is None:
        return 3.0
    use = 1.0 * field.facet + 0.6 * (field.type in NUMERIC_TYPES) + 0.3 * field.searched + 0.2 * is_code(column)
    use -= 0.8 * (field.type is FieldType.JSON) + 0.15 * column.name.count(".")
    varied = 1.0 if column.distinct > 1 else 0.1
    return (column.filled_share + use) * varied
