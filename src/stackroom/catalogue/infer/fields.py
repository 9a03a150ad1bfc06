"""The field that is proposed for a column, with the reason for its type and its uses."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from stackroom.catalogue.column_words import is_about, words_about
from stackroom.catalogue.compiler import BOUNDED_TYPES
from stackroom.catalogue.infer.columns import (
    MARK,
    Family,
    Names,
    gaps,
    is_alternative,
    is_code,
    is_link,
    is_title_name,
    is_unnamed,
    is_year,
    is_yes_no,
    names_pictures,
    percent,
)
from stackroom.catalogue.profile import (
    PLAIN_NUMBER,
    URL,
    ColumnProfile,
    Columns,
    Form,
    distinct_together,
)
from stackroom.catalogue.spec import NUMERIC_TYPES, DateOrder, FieldRole, FieldType
from stackroom.errors import InputError
from stackroom.frozen import frozen

LONG_TEXT = 100
SHORT_VALUE = 60
# fewer different numbers with a unit are sizes to choose from, as `2 km` and `5 km`
FEWEST_QUANTITIES = 6
MOST_OTHER_UNITS = 0.05
"""The share of cells that may be in another unit or currency, which cannot be compared; each costs
the cell.
"""
CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr"}
NUMBER_FORMS = frozenset({Form.QUANTITY, Form.NUMBER, Form.WHOLE})
# the share of cells in one of several units that makes them a field of their own
LEAST_OF_UNIT = 0.3
LONGEST_CODE, FEWEST_CODES = 12, 10
SMALL_TABLE = 200
GROUPING = ("groups", "lists", "people", "kinds", "regions")
"""Topics of columns whose values are filtered by, even if few come twice."""
YES_NO = ("yes", "no")
LIST_MARKS = (",", ";", "|", "/")
"""The separators that are looked for where a column is declared a list; the first if there is
none.
"""


ROLE_WORDS = {
    FieldRole.BODY: "main text",
    FieldRole.ALTERNATIVES: "other names",
    FieldRole.LINK: "web page",
}


@frozen
class InferredField:
    """A field that is proposed for a column, and why."""

    name: str
    column: str
    type: FieldType
    reason: str
    role: FieldRole | None = None
    searched: bool = False
    filtered: bool = False
    facet: bool = False
    split: str = ""
    template: str = ""  # the columns that the field is composed of, where it is not one column
    unit: str = ""
    decimal_comma: bool = False
    brackets: bool = False
    values: tuple[str, ...] = ()
    marked: Mapping[str, str] = field(default_factory=dict)
    """The tag of each column that says yes or no, where the field has those of all that say yes."""
    date_order: DateOrder | None = None
    description: str = ""  # what assistants are told of the field

    @property
    def uses(self) -> str:
        """The uses of the field, in words."""
        uses = {
            ROLE_WORDS.get(self.role, self.role) if self.role else "": self.role,
            "search": self.searched,
            "range" if self.type in NUMERIC_TYPES else "filter": self.filtered,
            "browse": self.facet,
        }
        return ", ".join(use for use, is_so in uses.items() if is_so) or "shown"


_new_title = partial(InferredField, type=FieldType.TEXT, role=FieldRole.TITLE, searched=True)


def field_of(column: ColumnProfile, name: str) -> InferredField:
    """Return the field for a column, without a role."""
    base = InferredField(name=name, column=column.name, type=FieldType.TEXT, reason="")
    if is_link(column) and column.form is not Form.OBJECT:
        kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
        reason = f"ids, kept as they are{gaps(column)}"
        return replace(base, type=kind, filtered=True, split=column.separator, reason=reason)
    if column.is_list:
        return _list(base, column)
    if column.form in PLAIN_FIELDS:
        kind, reason = PLAIN_FIELDS[column.form]
        is_term = kind is FieldType.TEXT
        return replace(
            base, type=kind, filtered=is_term, facet=is_term, reason=f"{reason}{gaps(column)}"
        )
    made = MAKERS.get(column.form, _text)(base, column)
    if made.type not in BOUNDED_TYPES or not column.decimal_marks.has_comma:
        return made
    marks = "dots between thousands" if made.type is FieldType.INT else "a comma before decimals"
    return replace(made, decimal_comma=True, reason=f"{made.reason}, with {marks}")


def field_of_type(column: ColumnProfile, name: str, kind: FieldType) -> InferredField:
    """Return the field for a column whose type was chosen, with the uses that the type allows."""
    made = field_of(column, name)
    if made.type is kind:
        return made
    # `2.644` is whole with dots between thousands
    is_whole, marks = kind is FieldType.INT, column.decimal_marks
    has_comma = marks.has_comma and made.type is not FieldType.INT
    is_list = kind in (FieldType.TEXTS, FieldType.TAGS)
    is_term = is_list or kind is FieldType.TEXT
    having = {mark: sum(mark in text for text in column.texts) for mark in LIST_MARKS}
    return replace(
        made,
        type=kind,
        searched=is_term,
        filtered=is_list or kind in NUMERIC_TYPES or (is_term and column.has_few_values),
        facet=is_list or (is_term and column.has_few_values),
        split=(column.separator or max(LIST_MARKS, key=lambda mark: having[mark]))
        if is_list
        else "",
        decimal_comma=kind in BOUNDED_TYPES and ((is_whole and any(marks)) or has_comma),
        brackets=False,
        reason="your choice",
    )


def family_field(family: Family) -> InferredField:
    """Return the field that collects the values of a family's columns."""
    template = MARK.join(f"{{{column.name}}}" for column in family.columns)
    values = len({text for column in family.columns for text in column.texts})
    told = "tags of what is marked" if family.tags else f"{values:,} values"
    return InferredField(
        name=family.name,
        column=template,
        template="" if family.tags else template,
        marked=family.tags,
        type=FieldType.TAGS,
        split="" if family.tags else MARK,
        searched=True,
        filtered=True,
        facet=True,
        reason=(
            f"{len(family.columns)} columns, '{family.columns[0].name}' and so on, as one list:"
            f" {told}"
        ),
    )


def _list(base: InferredField, column: ColumnProfile) -> InferredField:
    separated = f" separated by '{column.separator}'" if column.separator else ""
    items = column.items
    reason = f"lists{separated}: {len(items):,} values{gaps(column)}"
    field = replace(base, type=FieldType.TEXTS, split=column.separator, reason=reason)
    if any(map(URL.fullmatch, items)):
        return replace(field, reason=f"lists of links{gaps(column)}")
    has_numbers = bool(items) and all(map(PLAIN_NUMBER.fullmatch, items))
    if has_numbers and not column.is_about("lists"):
        return replace(field, reason=f"lists of numbers{gaps(column)}")
    if sum(len(item) * count for item, count in items.items()) > LONG_TEXT * sum(items.values()):
        return replace(field, searched=True)
    is_people = column.is_about("groups", "people")
    kind = FieldType.TEXTS if is_people else FieldType.TAGS
    return replace(field, type=kind, searched=True, filtered=True, facet=True)


def _number(base: InferredField, column: ColumnProfile) -> InferredField:
    if is_yes_no(column):
        answers = f"yes or no, as 1 and 0{gaps(column)}"
        return replace(
            base, type=FieldType.ENUM, values=YES_NO, filtered=True, facet=True, reason=answers
        )
    if is_code(column):
        return _code(base, column)
    if column.units:
        return _quantity(base, column)
    is_whole = column.form in (Form.WHOLE, Form.YEAR)
    called = "years" if is_year(column) else "whole numbers" if is_whole else "numbers"
    reason = f"{called}{_extent(column)}{gaps(column)}"
    return replace(
        base, type=FieldType.INT if is_whole else FieldType.FLOAT, filtered=True, reason=reason
    )


def _quantity(base: InferredField, column: ColumnProfile) -> InferredField:
    """Return the field for numbers with a unit, if nearly all are of one unit and they are no few
    fixed sizes.
    """
    of_unit = column.units[column.unit]
    others = sum(column.units.values()) - of_unit
    is_size = column.form is Form.QUANTITY and column.distinct < FEWEST_QUANTITIES
    if is_size and len(column.units) == 1:
        return _bracket(base, column)
    if is_size or is_code(column) or others > MOST_OTHER_UNITS * column.filled:
        return _text(base, column)
    is_named = 2 * of_unit >= column.share_of(*NUMBER_FORMS, Form.YEAR) * column.filled
    called = f"numbers in '{column.unit}'" if is_named else "numbers"
    reason = f"{called}{_extent(column)}{gaps(column)}"
    return replace(
        base,
        type=_number_type(column),
        unit=column.unit if is_named else "",
        filtered=True,
        reason=reason,
    )


def _bracket(base: InferredField, column: ColumnProfile) -> InferredField:
    reason = f"ranges: {column.distinct:,} values, in the order of their bounds{gaps(column)}"
    return replace(base, searched=True, filtered=True, facet=True, brackets=True, reason=reason)


def field_of_main_unit(field: InferredField, column: ColumnProfile) -> InferredField | None:
    """Return a field for the numbers in the main unit, where a text has numbers in several: `91
    min`, `2 Seasons`.
    """
    unit = CURRENCIES.get(column.unit) or re.sub(r"[^a-z]+", "", column.unit.lower())
    is_mixed = field.type is FieldType.TEXT and field.role is None and column.form in NUMBER_FORMS
    if not is_mixed or len(column.units) < 2 or len(unit) < 3:
        return None
    if column.units[column.unit] < LEAST_OF_UNIT * column.filled:
        return None
    share = column.units[column.unit] / column.rows
    return replace(
        field,
        name=f"{field.name}_{unit}",
        type=_number_type(column),
        unit=column.unit,
        decimal_comma=column.decimal_marks.has_comma,
        searched=False,
        filtered=True,
        facet=False,
        reason=(
            f"the numbers of '{field.column}' in '{column.unit}', in {percent(share)} of the rows"
        ),
    )


def _number_type(column: ColumnProfile) -> FieldType:
    """Return INT where all numbers are whole, and not written with decimals, as `$25.00` is."""
    known = column.numbers[~np.isnan(column.numbers)]
    is_whole = Form.NUMBER not in column.forms and bool(np.all(known == np.floor(known)))
    return FieldType.INT if is_whole else FieldType.FLOAT


def _extent(column: ColumnProfile) -> str:
    """Return the range of numbers as a part of a reason; thousands are grouped unless they could be
    years.
    """
    if column.least is None or column.most is None:
        return ""
    grouping, ends = "," if column.most > 9999 else "", (column.least, column.most)
    return ", " + " to ".join(
        f"{end:{grouping}{'.0f' if end.is_integer() else '.6g'}}" for end in ends
    )


def _code(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(
        base, searched=True, filtered=True, reason=f"a code, kept as it is written{gaps(column)}"
    )


def _date(base: InferredField, column: ColumnProfile) -> InferredField:
    """Return the field for dates, with the order of day and month if it is not the usual one."""
    day_first, month_first = (column.date_orders.get(order, 0) for order in DateOrder)
    order = DateOrder.MONTH_FIRST if month_first > day_first else None
    told = " with the month first" if order else " with the day first" if day_first else ""
    if column.date_orders and not told:
        told = " taken with the day first, which no cell tells"
    against = min(day_first, month_first)
    told += f", but {against:,} the other way round" if against else ""
    return replace(
        base,
        type=FieldType.DATE,
        date_order=order,
        filtered=True,
        reason=f"dates{told}{gaps(column)}",
    )


def _text(base: InferredField, column: ColumnProfile) -> InferredField:
    field = replace(base, searched=True)
    is_even = (
        column.is_spaceless
        and column.longest <= LONGEST_CODE
        and column.longest - column.shortest <= 2
    )
    are_signs = is_even and all(
        text.replace("-", "").replace(".", "").isalnum() for text in column.texts[:100]
    )
    # as those of countries
    are_codes = are_signs and column.distinct_share >= 0.9 and column.rows >= FEWEST_CODES
    if (is_code(column) or are_codes) and not column.has_few_values:
        return _code(field, column)
    if column.mean_length > LONG_TEXT:
        return replace(
            field, reason=f"long text: {column.mean_length:.0f} characters per cell{gaps(column)}"
        )
    if column.has_few_values:
        values = "1 value" if column.distinct == 1 else f"{column.distinct:,} values"
        reason = f"{values} in {percent(column.filled_share)} of the rows"
        return replace(field, filtered=True, facet=column.distinct > 1, reason=reason)
    is_small = column.rows <= SMALL_TABLE and column.mean_length <= SHORT_VALUE / 2
    repeats = (
        column.distinct <= (0.95 if is_small else 0.8) * column.filled
        and column.mean_length <= SHORT_VALUE
    )
    groups = repeats or column.is_about(*GROUPING)
    reason = f"{f'{column.distinct:,} different texts' if groups else 'text'}{gaps(column)}"
    return replace(field, filtered=groups, facet=groups, reason=reason)


PLAIN_FIELDS: Mapping[Form, tuple[FieldType, str]] = {
    Form.URL: (FieldType.URL, "links"),
    Form.OBJECT: (FieldType.JSON, "objects, kept whole"),
    Form.BOOLEAN: (FieldType.TEXT, "yes or no"),
}
"""Form of a column → the type of its field, and why."""
MAKERS: Mapping[Form, Callable[[InferredField, ColumnProfile], InferredField]] = {
    **dict.fromkeys((Form.YEAR, Form.WHOLE, Form.NUMBER), _number),
    **{Form.QUANTITY: _quantity, Form.BRACKET: _bracket, Form.CODE: _code, Form.DATE: _date},
}


SHORT_NAME, SHORT_PART = 120, 60
GOOD_DISTINCT, GOOD_FILLED = 0.8, 0.9
"""The shares of different values, and of rows with one, from which a column names records by
itself.
"""
ENOUGH_OF_PARTS = (1.0, 0.95, 0.85)
"""Of a title of so many parts, the share of rows that they must tell apart, or one more is
added.
"""
LEAST_GAIN = 0.03
# the share of distinct values below which a column that is not named as a title names nothing
LEAST_NAMING = 0.3
LONGEST_ABBREVIATION = 4
TITLE_FIELD_NAMES = ("title", "name", "label", "heading", "record_title", "name_of_record")
PERSON_NAMES = (
    re.compile(r"first ?name|given ?name|forename"),
    re.compile(r"last ?name|sur ?name|family ?name"),
)
BRACES = re.compile(r"[{}]")
COLUMN_IN_TEMPLATE = re.compile(r"\{([^{}]+)\}")
POPULARITY_NAME = re.compile(
    r"(\w+ )?popularity|\w+ (votes|voters|sales)"
    r"|((num|number|no|total) (of )?)?"
    r"(users? )?(votes|ratings|voters|raters|rated|reviews|owned|owners)"
    r"( (count|counts|number|total|users))?"
    r"|(\w+ )?"
    r"(downloads|views|plays|listeners|followers|subscribers|streams|members|favou?rites|likes"
    r"|stars|stargazers|backers|copies sold|playcount|readers|citations)( counts?| total)?"
    r"|(user )?(vote|rating|view|play|like|follower|download|review|favou?rite|citation)"
    r" (counts?|number|total)"
)
"""The name of a column that counts how many people know a thing."""
LEAST_FILLED = 0.3
FEWEST_KNOWN = 10  # the fewest different numbers, and the least greatest one, of a popularity


def choose_title(columns: Columns, id_column: ColumnProfile | None, names: Names) -> InferredField:
    """Return the title: of people both names, else the column that names a record, else several
    columns together.
    """
    others = [column for column in columns if column is not id_column] or list(columns)
    named = [
        [one for one in others if pattern.fullmatch(" ".join(one.words))][:1]
        for pattern in PERSON_NAMES
    ]
    whole = [column.name for some in named for column in some if not BRACES.search(column.name)]
    if len(whole) == len(PERSON_NAMES):
        template = " ".join(f"{{{name}}}" for name in whole)
        return _template_field(template, names, reason="first and last name together")
    base = _find_title(others)
    is_good = (
        base is not None
        and base.distinct_share >= GOOD_DISTINCT
        and base.filled_share >= GOOD_FILLED
    )
    if base is not None and (is_good or base.rows <= 10):
        return title_field(base, names)
    parts = [id_column] if base is None and id_column is not None else _parts_of_title(base, others)
    if base is not None and (len(parts) < 2 or _share(parts) < _share([base]) + LEAST_GAIN):
        return title_field(base, names)
    if not (parts := parts or [column for column in others if column.filled][:3]):
        raise InputError(
            "it has no column with a value, so no record can be named; give a table with values"
        )
    return _composed_field(parts, base, names)


def chosen_title(columns: Columns, names: Names, stated: str) -> InferredField:
    """Return the title that the user chose: a column, or a template of columns."""
    if "{" in stated:
        return _template_field(stated, names, reason="composed as you chose")
    return title_field(next(column for column in columns if column.name == stated), names)


def title_columns(title: InferredField, columns: Columns) -> list[ColumnProfile]:
    """Return the columns that the title is made of."""
    named = COLUMN_IN_TEMPLATE.findall(title.template) or [title.column]
    return [column for column in columns if column.name in named]


def _find_title(columns: Columns) -> ColumnProfile | None:
    """Return the column that names a record best: by its name, else the short text with the most
    distinct values.
    """
    forms = (Form.TEXT, Form.BOOLEAN, Form.CODE)
    texts = [column for column in columns if column.form in forms and not is_link(column)]
    texts = [column for column in texts if not is_unnamed(column) or column.rows <= 10]
    named = [column for column in texts if column.filled_share >= 0.5 and column.longest <= 1000]
    best = max((column.naming_share for column in named if is_title_name(column)), default=0.0)
    for word in words_about("titles"):
        exact = next((column for column in named if column.words == (word,)), None)
        if exact is not None and exact.naming_share >= best / 2:  # the title of a job names nobody
            return exact
    if ending := [column for column in named if is_title_name(column)]:
        return max(ending, key=lambda column: round(column.naming_share, 2))
    plain = [column for column in texts if column.form is Form.TEXT and not is_code(column)]
    short = [column for column in plain if column.mean_length <= SHORT_NAME and not column.is_list]
    naming = [
        column for column in short if column.naming_share >= LEAST_NAMING or column.rows <= 10
    ]
    if naming or short:
        return max(
            naming,
            key=lambda column: round(column.naming_share, 1) - 0.6 * _is_figure(column),
            default=None,
        )
    return min(plain, key=lambda column: column.mean_length, default=None)


def _parts_of_title(base: ColumnProfile | None, columns: Columns) -> list[ColumnProfile]:
    """Return the columns whose combination tells records apart: greedily the one that adds most,
    until enough do.
    """
    possible = [column for column in columns if _may_be_part(column) and column is not base]
    parts = [base] if base is not None and not BRACES.search(base.name) else []
    while len(parts) < len(ENOUGH_OF_PARTS) and _share(parts) < ENOUGH_OF_PARTS[len(parts)]:
        best = max(possible, key=lambda column: _worth(parts, column), default=None)
        if best is None or _share([*parts, best]) < _share(parts) + LEAST_GAIN:
            break
        parts.append(best)
        possible = [column for column in possible if column is not best]
    for here, there in (("from", "to"), ("to", "from")):  # one without the other says half
        if any(part.is_about(here) for part in parts) and not any(
            part.is_about(there) for part in parts
        ):
            parts += [
                column for column in possible if column.form is Form.TEXT and column.is_about(there)
            ][:1]
    places = {column.name: place for place, column in enumerate(columns)}
    return sorted(parts, key=lambda part: (part is not base, _is_figure(part), places[part.name]))


def _worth(parts: Columns, column: ColumnProfile) -> float:
    """Return how much a column adds to a title: rows told apart, less for long, gappy and numeric
    ones.
    """
    has_gaps = bool(parts) and max(part.filled_share for part in parts) < GOOD_FILLED
    cost = (
        column.mean_length / 400
        + (0.5 if has_gaps else 0.15) * _is_figure(column)
        + 0.3 * (1 - column.filled_share)
    )
    named = 0.3 if is_title_name(column) else 0.1 if column.is_about("kinds") else 0
    is_abbreviation = (
        column.longest == column.shortest <= LONGEST_ABBREVIATION and column.form is Form.TEXT
    )
    return _share([*parts, column]) - cost + named - 0.1 * is_abbreviation


def _share(parts: Columns) -> float:
    """Return the share of rows that the columns together tell apart."""
    return distinct_together(parts) / parts[0].rows if parts else 0.0


def _may_be_part(column: ColumnProfile) -> bool:
    """Tell whether a column can be a part of a composed title: a short text, a year or a date."""
    if BRACES.search(column.name) or column.distinct < 2 or column.filled_share < LEAST_FILLED:
        return False
    if is_link(column) or is_code(column) or is_unnamed(column) or column.is_about("title_noise"):
        return False
    if column.form is Form.TEXT:
        return (
            column.mean_length <= SHORT_PART and not column.is_list and not is_alternative(column)
        )
    return column.form is Form.YEAR or _is_date(column)


def _is_date(column: ColumnProfile) -> bool:
    return column.form is Form.DATE and not column.is_about("handled")


def _is_figure(column: ColumnProfile) -> bool:
    return column.form is not Form.TEXT or column.texts[0][:1].isdigit()


def title_field(column: ColumnProfile, names: Names) -> InferredField:
    """Return the title that is one column."""
    reason = f"names a record: {percent(column.distinct_share)} are distinct{gaps(column)}"
    return _new_title(name=names[column.name], column=column.name, reason=reason)


def _composed_field(parts: Columns, base: ColumnProfile | None, names: Names) -> InferredField:
    template = f"{{{parts[0].name}}}"
    for before, part in pairwise(parts):
        is_pair = before.is_about("from") and part.is_about("to")
        template += f"{' – ' if is_pair else ', '}{{{part.name}}}"
    why = (
        f"'{base.name}' alone tells {percent(_share([base]))} of the rows apart"
        if base in parts and base
        else ""
    )
    reason = (
        f"composed, since {why or 'no column names a record'}; together {percent(_share(parts))}"
        " are distinct"
    )
    return _template_field(template, names, reason=reason)


def _template_field(template: str, names: Names, *, reason: str) -> InferredField:
    taken = set(names.values())
    numbered = (f"title_{number}" for number in range(2, len(taken) + 3))
    name = next(name for name in (*TITLE_FIELD_NAMES, *numbered) if name not in taken)
    return _new_title(name=name, column=template, template=template, reason=reason)


def choose_roles(columns: Columns) -> dict[FieldRole, ColumnProfile]:
    """Return the column of each role but the title, as far as the table has one; no column has
    two.
    """
    chosen: dict[FieldRole, ColumnProfile] = {}
    for role, worth_of in WORTHS.items():
        free = [column for column in columns if column not in chosen.values()]
        worths = [(worth_of(column), -place, column) for place, column in enumerate(free)]
        worth, _, best = max(worths, key=lambda found: found[:2], default=(0.0, 0, None))
        if best is not None and worth > 0:
            chosen[role] = best
    return chosen


def _worth_as_body(column: ColumnProfile) -> float:
    """Return the amount of text of a column whose cells are longer than a few words; a name counts
    too.
    """
    is_named = column.is_about("body")
    is_text = (
        column.form is Form.TEXT
        and not column.is_list
        and not is_code(column)
        and not is_unnamed(column)
    )
    is_filled = column.filled_share >= LEAST_FILLED or column.mean_length >= LONG_TEXT
    if not is_text or not is_filled or column.mean_length < (20 if is_named else LONG_TEXT):
        return 0.0
    return column.mean_length * column.filled * (3 if is_named else 1)


def _worth_as_time(column: ColumnProfile) -> float:
    """Return how well a column tells when a thing happened: its event before its maker's birth,
    years before dates.
    """
    named = 0.1 if column.is_about("lifetimes") else 1.5 if column.is_about("events") else 1.0
    return column.filled_share * named * (2 if is_year(column) else 1 if _is_date(column) else 0)


def _worth_as_popularity(column: ColumnProfile) -> float:
    """Return how well a column counts people, or scores how well known a thing is, beyond a scale
    from 1 to 10.
    """
    is_number = column.form in (Form.WHOLE, Form.NUMBER, Form.YEAR) and (column.least or 0) >= 0
    is_spread = (
        column.distinct >= FEWEST_KNOWN
        and (column.most or 0) > FEWEST_KNOWN
        and column.filled_share >= 0.5
    )
    name = " ".join(column.words)
    if not is_number or not is_spread or not POPULARITY_NAME.fullmatch(name):
        return 0.0
    return column.filled_share + ("popularity" in name)


def _worth_as_people(column: ColumnProfile) -> float:
    """Return how well a column names people: by the last word that says something, as
    `artist_name`.
    """
    words = [word for word in column.words if word not in ("name", "names", "by", "s")]
    return _worth_as_terms(column, "makers") if is_about(words[-1:], "people") else 0.0


def _worth_as_place(column: ColumnProfile) -> float:
    is_place = column.is_about("locations") and not column.is_about("coded_locations")
    return _worth_as_terms(column, "countries") if is_place else 0.0


def _worth_as_terms(column: ColumnProfile, surest: str) -> float:
    is_term = (
        column.form in (Form.TEXT, Form.LIST)
        and column.filled_share >= LEAST_FILLED
        and column.distinct > 1
    )
    if not is_term or is_code(column) or is_link(column) or is_unnamed(column):
        return 0.0
    return round(column.filled_share, 1) + (len(column.words) == 1) + 2 * column.is_about(surest)


def _worth_as_picture(column: ColumnProfile) -> float:
    size = 0.5 if column.is_about("small_pictures") else 1.0
    is_file = column.form is Form.TEXT and not column.is_list and names_pictures(column)
    return (
        column.filled_share
        * size
        * (is_file or (column.form is Form.URL and _shows_pictures(column)))
    )


def _worth_as_link(column: ColumnProfile) -> float:
    if column.form is not Form.URL or _shows_pictures(column) or column.is_about("other_links"):
        return 0.0
    return round(column.filled_share, 1) + column.is_about("pages")


def _shows_pictures(column: ColumnProfile) -> bool:
    return column.is_about("pictures") or names_pictures(column)


WORTHS: Mapping[FieldRole, Callable[[ColumnProfile], float]] = {
    FieldRole.ALTERNATIVES: lambda column: float(
        column.form in (Form.TEXT, Form.LIST) and is_alternative(column)
    ),
    FieldRole.BODY: _worth_as_body,
    FieldRole.TIME: _worth_as_time,
    FieldRole.POPULARITY: _worth_as_popularity,
    FieldRole.PEOPLE: _worth_as_people,
    FieldRole.PLACE: _worth_as_place,
    FieldRole.PICTURE: _worth_as_picture,
    FieldRole.LINK: _worth_as_link,
}
"""Role → how well a column fits it; 0 where it does not."""
