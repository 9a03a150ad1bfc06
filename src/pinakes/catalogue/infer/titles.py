"""The title of a record: a column that names it, or a text composed of several columns."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.columns import (
    KIND_WORD,
    LINK_WORD,
    gaps,
    has_word,
    is_code,
    is_link,
    is_question,
    is_unnamed,
    percent,
)
from pinakes.catalogue.infer.fields import InferredField
from pinakes.catalogue.infer.survey import is_survey
from pinakes.catalogue.infer.title_words import (
    FIRST_NAME,
    LAST_NAME,
    TITLE_NAMES,
    ends_as_title,
    is_alternative,
    is_title_name,
)
from pinakes.catalogue.profile import ColumnProfile, distinct_together
from pinakes.catalogue.spec import FieldType, Role
from pinakes.errors import InputError

SHORT_NAME = 120
SHORT_PART = 60
LONGEST_WORD = 15
GOOD_DISTINCT, GOOD_FILLED = 0.8, 0.9
"""The shares of different values, and of rows with one, from which a column names records by itself."""
ENOUGH = 0.95
ENOUGH_OF_PARTS = {0: 1.0, 1: ENOUGH, 2: 0.85, 3: 0.6}
"""Number of parts of a title → the share of rows that they must tell apart, or one more is added."""
LEAST_GAIN = 0.03
TITLE_FIELD_NAMES = ("title", "name", "label", "heading", "record_title", "name_of_record")
BRACES = re.compile(r"[{}]")
COLUMN_IN_TEMPLATE = re.compile(r"\{([^{}]+)\}")
ORDINAL_WORD = re.compile(
    r"months?|days?|weeks?|quarters?|hours?|number|no|nr|line|episodes?|seasons?|chapters?|volumes?|rounds?|parts?|mois"
)
"""The last word of the names of whole numbers that tell one record from another."""
FEWEST_NAMES = 5
LEAST_NAMING = 0.3
"""The share of distinct values below which a column that is not named as a title names nothing."""
CODE_WORD = re.compile(r"codes?|src|path|file|hash|lat|lon|latitude|longitude|price|cost|amount|phone|email|zip|alt")
FROM_WORD = re.compile(r"from|origin|source|start|departures?|depart|home|von|abfahrt")
TO_WORD = re.compile(r"to|destination|target|end|arrivals?|arrivee|away|nach|ankunft")
HANDLED_WORD = re.compile(r"updated?|modified|added|created|read|checked|imported|scraped|accessed|entry")
"""A word in the names of columns with the time of a change to the row, not of the thing itself."""


def choose_title(
    columns: Sequence[ColumnProfile], id_column: ColumnProfile | None, names: Mapping[str, str]
) -> InferredField:
    """Return the title: of people both names, else the column that names a record, else several columns together."""
    others = [column for column in columns if column is not id_column] or list(columns)
    person = _person_title(others, names)
    if person is not None:
        return person
    if id_column is not None and is_survey(columns):
        return _composed_field([id_column], None, names)
    base = _find_title(others)
    if base is not None and _names_records(base):
        return _title_field(base, names)
    base = _find_named_by_id(columns) or base
    parts = _parts_of_title(base, others)
    if base is not None and (len(parts) < 2 or _share(parts) < _share([base]) + LEAST_GAIN):
        return _title_field(base, names)
    parts = parts or _any_parts(id_column, others)
    if not parts:
        raise InputError("it has no column with a value, so no record can be named")
    return _composed_field(parts, base, names)


def chosen_title(columns: Sequence[ColumnProfile], names: Mapping[str, str], stated: str) -> InferredField:
    """Return the title that the user chose: a column, or a template of columns."""
    if "{" in stated:
        return _template_field(stated, names, reason="composed as you chose")
    return _title_field(next(column for column in columns if column.name == stated), names)


def title_columns(title: InferredField, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that the title is made of."""
    named = COLUMN_IN_TEMPLATE.findall(title.template) or [title.column]
    return [column for column in columns if column.name in named]


def _find_named_by_id(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that names what an id in another column stands for: `drink` beside `id_drink`."""
    named = {tuple(word for word in one.words if not LINK_WORD.fullmatch(word)) for one in columns if is_link(one)}
    texts = [one for one in columns if one.form is Form.TEXT and one.distinct > 1 and not is_link(one)]
    return next((one for one in texts if one.words in named), None)


def _names_records(column: ColumnProfile) -> bool:
    """Tell whether nearly every row has a value in the column, and most have another; of a few rows, any."""
    if column.distinct_share < GOOD_DISTINCT and column.rows > 10:
        return False
    return column.filled_share >= GOOD_FILLED or column.rows <= 10


def _person_title(columns: Sequence[ColumnProfile], names: Mapping[str, str]) -> InferredField | None:
    """Return the title of a table of people with first and last names in two columns, or None."""
    found = [_find_named(columns, pattern) for pattern in (FIRST_NAME, LAST_NAME)]
    if any(column is None or BRACES.search(column.name) for column in found):
        return None
    taken = set(names.values())
    name = next(one for one in ("name", "full_name", "person_name", "name_of_record") if one not in taken)
    reason = "first and last name together"
    if any(" " in column.name for column in found if column):
        template = " ".join(f"{{{column.name}}}" for column in found if column)
        return _template_field(template, names, reason=reason, name=name)
    path = " ".join(column.name for column in found if column)
    return InferredField(name=name, column=path, type=FieldType.TEXT, role=Role.TITLE, searched=True, reason=reason)


def _find_named(columns: Sequence[ColumnProfile], pattern: re.Pattern[str]) -> ColumnProfile | None:
    return next((column for column in columns if pattern.fullmatch(" ".join(column.words))), None)


def _find_title(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that names a record best: by its name, else the short text with the most distinct values."""
    texts = [column for column in columns if _is_name_like(column)]
    named = [column for column in texts if column.filled_share >= 0.5 and column.longest <= 1000]
    for word in TITLE_NAMES:
        exact = next((column for column in named if column.words == (word,)), None)
        if exact is not None:
            return exact
    ending = [column for column in named if ends_as_title(column)]
    if ending:
        return max(ending, key=lambda column: round(_naming(column), 2))
    plain = [column for column in texts if column.form is Form.TEXT and not is_code(column)]
    short = [column for column in plain if column.mean_length <= SHORT_NAME and not column.is_list]
    naming = [column for column in short if _naming(column) >= LEAST_NAMING or column.rows <= 10]
    if naming:
        return max(naming, key=lambda column: round(_naming(column), 1) - (0.6 if _is_figure(column) else 0))
    if short:
        return None
    last_resort = [column for column in columns if column.form in (Form.TEXT, Form.URL, Form.LIST)]
    return min(plain or last_resort, key=lambda column: column.mean_length, default=None)


def _naming(column: ColumnProfile) -> float:
    """Return the share of rows that a column names with a value of their own."""
    return column.distinct / column.rows if column.rows else 0.0


def _is_name_like(column: ColumnProfile) -> bool:
    in_form = column.form in (Form.TEXT, Form.BOOLEAN, Form.CODE)
    return in_form and not is_link(column) and not is_question(column) and not (is_unnamed(column) and column.rows > 10)


def _parts_of_title(base: ColumnProfile | None, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns whose combination tells records apart: greedily the one that adds most, until enough do."""
    possible = [column for column in columns if _may_be_part(column) and column is not base]
    parts = [base] if base is not None and not BRACES.search(base.name) and not is_question(base) else []
    while _share(parts) < ENOUGH_OF_PARTS.get(len(parts), 0.0):
        if any(_is_time(part) for part in parts):
            possible = [column for column in possible if not _is_date(column)]
        best = max(possible, key=lambda column: _worth(parts, column), default=None)
        if best is None or not _tells_more([*parts, best], parts):
            break
        parts.append(best)
        possible = [column for column in possible if column is not best]
    return _in_reading_order([*parts, *_partners(parts, possible)], base, columns)


def _partners(parts: Sequence[ColumnProfile], others: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns without which a part says half: where something starts beside where it ends."""
    found: list[ColumnProfile] = []
    for one, other in ((FROM_WORD, TO_WORD), (TO_WORD, FROM_WORD)):
        if any(has_word(part, one) for part in parts) and not any(has_word(part, other) for part in parts):
            found += [column for column in others if column.form is Form.TEXT and has_word(column, other)][:1]
    return found


def _worth(parts: Sequence[ColumnProfile], column: ColumnProfile) -> float:
    """Return how much a column adds to a title: combinations told apart, less for long, odd and numeric ones."""
    cost = column.mean_length / 400 + _cost_of_form(column) + 0.3 * (1 - column.filled_share)
    has_gaps = bool(parts) and max(part.filled_share for part in parts) < GOOD_FILLED
    fills = has_gaps and column.form is Form.TEXT and column.filled_share >= ENOUGH and column.distinct >= FEWEST_NAMES
    told_apart = max(distinct_together([*parts, column]), 1)
    worth = told_apart / column.rows + 0.5 * math.log(told_apart) / math.log(column.rows + 1)
    named = 0.3 if is_title_name(column) else 0.1 if has_word(column, KIND_WORD) else 0
    return worth - cost + (0.3 if fills else 0) + named


def _cost_of_form(column: ColumnProfile) -> float:
    """Return how much less telling figures are than words: a date less than a year, and a number of a month most."""
    if column.form is Form.DATE:
        return 0.1
    return 0.2 if column.form in (Form.WHOLE, Form.CODE) else 0.15 if _is_figure(column) else 0.0


def _tells_more(parts: Sequence[ColumnProfile], fewer: Sequence[ColumnProfile]) -> bool:
    return _share(parts) >= min(_share(fewer) + LEAST_GAIN, 1.3 * _share(fewer))


def _share(parts: Sequence[ColumnProfile]) -> float:
    """Return the share of rows that the columns together tell apart."""
    return distinct_together(parts) / parts[0].rows if parts else 0.0


def _may_be_part(column: ColumnProfile) -> bool:
    """Tell whether a column can be a part of a composed title."""
    if BRACES.search(column.name) or column.distinct < 2 or column.filled_share < 0.3:
        return False
    if is_link(column) or is_code(column) or has_word(column, CODE_WORD) or is_alternative(column):
        return False
    if is_question(column) or is_unnamed(column):
        return False
    if column.form is Form.TEXT:
        is_address = column.is_spaceless and column.mean_length > LONGEST_WORD
        return column.mean_length <= SHORT_PART and not column.is_list and not is_address
    return _is_time(column) or (column.form in (Form.WHOLE, Form.CODE) and _is_ordinal(column))


def _is_ordinal(column: ColumnProfile) -> bool:
    return bool(column.words) and bool(ORDINAL_WORD.fullmatch(column.words[-1]))


def _is_time(column: ColumnProfile) -> bool:
    return column.form is Form.YEAR or _is_date(column)


def _is_date(column: ColumnProfile) -> bool:
    return column.form is Form.DATE and not has_word(column, HANDLED_WORD)


def _in_reading_order(
    parts: Sequence[ColumnProfile], base: ColumnProfile | None, columns: Sequence[ColumnProfile]
) -> list[ColumnProfile]:
    """Return the parts with the base first, then texts, then times and numbers, each as the table has them."""
    places = {column.name: place for place, column in enumerate(columns)}

    return sorted(parts, key=lambda part: (part is not base, _is_figure(part), places[part.name]))


def _is_figure(column: ColumnProfile) -> bool:
    return column.form is not Form.TEXT or column.texts[0][:1].isdigit()


def _any_parts(id_column: ColumnProfile | None, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the id, or else the first columns, for a table without words or dates."""
    if id_column is not None:
        return [id_column]
    filled = [column for column in columns if column.filled and not BRACES.search(column.name)]
    return [column for column in filled if column.form not in (Form.OBJECT, Form.BYTES)][:3] or filled[:1]


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


def _composed_field(
    parts: Sequence[ColumnProfile], base: ColumnProfile | None, names: Mapping[str, str]
) -> InferredField:
    template = f"{{{parts[0].name}}}"
    for before, part in pairwise(parts):
        is_pair = has_word(before, FROM_WORD) and has_word(part, TO_WORD)
        template += f"{' – ' if is_pair else ', '}{{{part.name}}}"
    told = f"{percent(_share(parts))} are distinct"
    if base is not None and len(parts) > 1 and base in parts:
        alone = f"'{base.name}' alone tells {percent(_share([base]))} of the rows apart"
        return _template_field(template, names, reason=f"composed, since {alone}; together {told}")
    return _template_field(template, names, reason=f"composed, since no column names a record; {told}")


def _template_field(template: str, names: Mapping[str, str], *, reason: str, name: str = "") -> InferredField:
    taken = set(names.values())
    numbered = (f"title_{number}" for number in range(2, len(taken) + 3))
    free = next(one for one in (*TITLE_FIELD_NAMES, *numbered) if one not in taken)
    return InferredField(
        name=name or free,
        column=template,
        template=template,
        type=FieldType.TEXT,
        role=Role.TITLE,
        searched=True,
        reason=reason,
    )
