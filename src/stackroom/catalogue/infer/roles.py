"""The parts of a record: its title, from one column or several, and the columns with another role."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from stackroom.catalogue.column_words import is_about, words_about
from stackroom.catalogue.infer.fields import LONG_TEXT, InferredField
from stackroom.catalogue.infer.words import (
    gaps,
    is_alternative,
    is_code,
    is_link,
    is_title_name,
    is_unnamed,
    is_year,
    names_pictures,
    percent,
)
from stackroom.catalogue.profile import ColumnProfile, Form, distinct_together
from stackroom.catalogue.spec import FieldRole, FieldType
from stackroom.errors import InputError

SHORT_NAME, SHORT_PART = 120, 60
GOOD_DISTINCT, GOOD_FILLED = 0.8, 0.9
"""The shares of different values, and of rows with one, from which a column names records by itself."""
ENOUGH_OF_PARTS = (1.0, 0.95, 0.85)
"""Of a title of so many parts, the share of rows that they must tell apart, or one more is added."""
LEAST_GAIN = 0.03
LEAST_NAMING = 0.3
"""The share of distinct values below which a column that is not named as a title names nothing."""
LONGEST_ABBREVIATION = 4
TITLE_FIELD_NAMES = ("title", "name", "label", "heading", "record_title", "name_of_record")
PERSON_NAMES = (re.compile(r"first ?name|given ?name|forename"), re.compile(r"last ?name|sur ?name|family ?name"))
BRACES = re.compile(r"[{}]")
COLUMN_IN_TEMPLATE = re.compile(r"\{([^{}]+)\}")
POPULARITY_NAME = re.compile(
    r"(\w+ )?popularity|\w+ (votes|voters|sales)"
    r"|((num|number|no|total) (of )?)?(users? )?(votes|ratings|voters|raters|rated|reviews|owned|owners)"
    r"( (count|counts|number|total|users))?"
    r"|(\w+ )?(downloads|views|plays|listeners|followers|subscribers|streams|members|favou?rites|likes|stars"
    r"|stargazers|backers|copies sold|playcount|readers|citations)( counts?| total)?"
    r"|(user )?(vote|rating|view|play|like|follower|download|review|favou?rite|citation) (counts?|number|total)"
)
"""The name of a column that counts how many people know a thing."""
LEAST_FILLED = 0.3
FEWEST_KNOWN = 10
"""The fewest different numbers, and the least greatest one, of a popularity."""


def choose_title(
    columns: Sequence[ColumnProfile], id_column: ColumnProfile | None, names: Mapping[str, str]
) -> InferredField:
    """Return the title: of people both names, else the column that names a record, else several columns together."""
    others = [column for column in columns if column is not id_column] or list(columns)
    named = [[one for one in others if pattern.fullmatch(" ".join(one.words))][:1] for pattern in PERSON_NAMES]
    whole = [column.name for some in named for column in some if not BRACES.search(column.name)]
    if len(whole) == len(PERSON_NAMES):
        template = " ".join(f"{{{name}}}" for name in whole)
        return _template_field(template, names, reason="first and last name together")
    base = _find_title(others)
    is_good = base is not None and base.distinct_share >= GOOD_DISTINCT and base.filled_share >= GOOD_FILLED
    if base is not None and (is_good or base.rows <= 10):
        return title_field(base, names)
    parts = [id_column] if base is None and id_column is not None else _parts_of_title(base, others)
    if base is not None and (len(parts) < 2 or _share(parts) < _share([base]) + LEAST_GAIN):
        return title_field(base, names)
    parts = parts or [column for column in others if column.filled][:3]
    if not parts:
        raise InputError("it has no column with a value, so no record can be named; give a table with values")
    return _composed_field(parts, base, names)


def chosen_title(columns: Sequence[ColumnProfile], names: Mapping[str, str], stated: str) -> InferredField:
    """Return the title that the user chose: a column, or a template of columns."""
    if "{" in stated:
        return _template_field(stated, names, reason="composed as you chose")
    return title_field(next(column for column in columns if column.name == stated), names)


def title_columns(title: InferredField, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that the title is made of."""
    named = COLUMN_IN_TEMPLATE.findall(title.template) or [title.column]
    return [column for column in columns if column.name in named]


def _find_title(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that names a record best: by its name, else the short text with the most distinct values."""
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
    naming = [column for column in short if column.naming_share >= LEAST_NAMING or column.rows <= 10]
    if naming or short:
        return max(naming, key=lambda column: round(column.naming_share, 1) - 0.6 * _is_figure(column), default=None)
    return min(plain, key=lambda column: column.mean_length, default=None)


def _parts_of_title(base: ColumnProfile | None, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns whose combination tells records apart: greedily the one that adds most, until enough do."""
    possible = [column for column in columns if _may_be_part(column) and column is not base]
    parts = [base] if base is not None and not BRACES.search(base.name) else []
    while len(parts) < len(ENOUGH_OF_PARTS) and _share(parts) < ENOUGH_OF_PARTS[len(parts)]:
        best = max(possible, key=lambda column: _worth(parts, column), default=None)
        if best is None or _share([*parts, best]) < _share(parts) + LEAST_GAIN:
            break
        parts.append(best)
        possible = [column for column in possible if column is not best]
    for here, there in (("from", "to"), ("to", "from")):  # one without the other says half
        if any(is_about(part.words, here) for part in parts) and not any(is_about(part.words, there) for part in parts):
            parts += [column for column in possible if column.form is Form.TEXT and is_about(column.words, there)][:1]
    places = {column.name: place for place, column in enumerate(columns)}
    return sorted(parts, key=lambda part: (part is not base, _is_figure(part), places[part.name]))


def _worth(parts: Sequence[ColumnProfile], column: ColumnProfile) -> float:
    """Return how much a column adds to a title: rows told apart, less for long, gappy and numeric ones."""
    has_gaps = bool(parts) and max(part.filled_share for part in parts) < GOOD_FILLED
    cost = column.mean_length / 400 + (0.5 if has_gaps else 0.15) * _is_figure(column) + 0.3 * (1 - column.filled_share)
    named = 0.3 if is_title_name(column) else 0.1 if is_about(column.words, "kinds") else 0
    is_abbreviation = column.longest == column.shortest <= LONGEST_ABBREVIATION and column.form is Form.TEXT
    return _share([*parts, column]) - cost + named - 0.1 * is_abbreviation


def _share(parts: Sequence[ColumnProfile]) -> float:
    """Return the share of rows that the columns together tell apart."""
    return distinct_together(parts) / parts[0].rows if parts else 0.0


def _may_be_part(column: ColumnProfile) -> bool:
    """Tell whether a column can be a part of a composed title: a short text, a year or a date."""
    if BRACES.search(column.name) or column.distinct < 2 or column.filled_share < LEAST_FILLED:
        return False
    if is_link(column) or is_code(column) or is_unnamed(column) or is_about(column.words, "title_noise"):
        return False
    if column.form is Form.TEXT:
        return column.mean_length <= SHORT_PART and not column.is_list and not is_alternative(column)
    return column.form is Form.YEAR or _is_date(column)


def _is_date(column: ColumnProfile) -> bool:
    return column.form is Form.DATE and not is_about(column.words, "handled")


def _is_figure(column: ColumnProfile) -> bool:
    return column.form is not Form.TEXT or column.texts[0][:1].isdigit()


def title_field(column: ColumnProfile, names: Mapping[str, str]) -> InferredField:
    """Return the title that is one column."""
    reason = f"names a record: {percent(column.distinct_share)} are distinct{gaps(column)}"
    return InferredField(
        name=names[column.name],
        column=column.name,
        type=FieldType.TEXT,
        role=FieldRole.TITLE,
        searched=True,
        reason=reason,
    )


def _composed_field(
    parts: Sequence[ColumnProfile], base: ColumnProfile | None, names: Mapping[str, str]
) -> InferredField:
    template = f"{{{parts[0].name}}}"
    for before, part in pairwise(parts):
        is_pair = is_about(before.words, "from") and is_about(part.words, "to")
        template += f"{' – ' if is_pair else ', '}{{{part.name}}}"
    why = f"'{base.name}' alone tells {percent(_share([base]))} of the rows apart" if base in parts and base else ""
    reason = f"composed, since {why or 'no column names a record'}; together {percent(_share(parts))} are distinct"
    return _template_field(template, names, reason=reason)


def _template_field(template: str, names: Mapping[str, str], *, reason: str) -> InferredField:
    taken = set(names.values())
    numbered = (f"title_{number}" for number in range(2, len(taken) + 3))
    return InferredField(
        name=next(name for name in (*TITLE_FIELD_NAMES, *numbered) if name not in taken),
        column=template,
        template=template,
        type=FieldType.TEXT,
        role=FieldRole.TITLE,
        searched=True,
        reason=reason,
    )


def choose_roles(columns: Sequence[ColumnProfile]) -> dict[FieldRole, ColumnProfile]:
    """Return the column of each role but the title, as far as the table has one; no column has two."""
    chosen: dict[FieldRole, ColumnProfile] = {}
    for role, worth_of in WORTHS.items():
        free = [column for column in columns if column not in chosen.values()]
        worths = [(worth_of(column), -place, column) for place, column in enumerate(free)]
        best = max(worths, key=lambda found: found[:2], default=None)
        if best is not None and best[0] > 0:
            chosen[role] = best[2]
    return chosen


def _worth_as_body(column: ColumnProfile) -> float:
    """Return the amount of text of a column whose cells are longer than a few words; a name counts too."""
    is_named = is_about(column.words, "body")
    is_text = column.form is Form.TEXT and not column.is_list and not is_code(column) and not is_unnamed(column)
    is_filled = column.filled_share >= LEAST_FILLED or column.mean_length >= LONG_TEXT
    if not is_text or not is_filled or column.mean_length < (20 if is_named else LONG_TEXT):
        return 0.0
    return column.mean_length * column.filled * (3 if is_named else 1)


def _worth_as_time(column: ColumnProfile) -> float:
    """Return how well a column tells when a thing happened: its event before its maker's birth, years before dates."""
    named = 0.1 if is_about(column.words, "lifetimes") else 1.5 if is_about(column.words, "events") else 1.0
    return column.filled_share * named * (2 if is_year(column) else 1 if _is_date(column) else 0)


def _worth_as_popularity(column: ColumnProfile) -> float:
    """Return how well a column counts people, or scores how well known a thing is, beyond a scale from 1 to 10."""
    is_number = column.form in (Form.WHOLE, Form.NUMBER, Form.YEAR) and (column.least or 0) >= 0
    is_spread = column.distinct >= FEWEST_KNOWN and (column.most or 0) > FEWEST_KNOWN and column.filled_share >= 0.5
    name = " ".join(column.words)
    if not is_number or not is_spread or not POPULARITY_NAME.fullmatch(name):
        return 0.0
    return column.filled_share + ("popularity" in name)


def _worth_as_people(column: ColumnProfile) -> float:
    """Return how well a column names people: by the last word that says something, as `artist_name`."""
    words = [word for word in column.words if word not in ("name", "names", "by", "s")]
    return _worth_as_terms(column, "makers") if is_about(words[-1:], "people") else 0.0


def _worth_as_place(column: ColumnProfile) -> float:
    is_place = is_about(column.words, "locations") and not is_about(column.words, "coded_locations")
    return _worth_as_terms(column, "countries") if is_place else 0.0


def _worth_as_terms(column: ColumnProfile, surest: str) -> float:
    is_term = column.form in (Form.TEXT, Form.LIST) and column.filled_share >= LEAST_FILLED and column.distinct > 1
    if not is_term or is_code(column) or is_link(column) or is_unnamed(column):
        return 0.0
    return round(column.filled_share, 1) + (len(column.words) == 1) + 2 * is_about(column.words, surest)


def _worth_as_picture(column: ColumnProfile) -> float:
    size = 0.5 if is_about(column.words, "small_pictures") else 1.0
    is_file = column.form is Form.TEXT and not column.is_list and names_pictures(column)
    return column.filled_share * size * (is_file or (column.form is Form.URL and _shows_pictures(column)))


def _worth_as_link(column: ColumnProfile) -> float:
    if column.form is not Form.URL or _shows_pictures(column) or is_about(column.words, "other_links"):
        return 0.0
    return round(column.filled_share, 1) + is_about(column.words, "pages")


def _shows_pictures(column: ColumnProfile) -> bool:
    return is_about(column.words, "pictures") or names_pictures(column)


WORTHS: Mapping[FieldRole, Callable[[ColumnProfile], float]] = {
    FieldRole.ALTERNATIVES: lambda column: float(column.form in (Form.TEXT, Form.LIST) and is_alternative(column)),
    FieldRole.BODY: _worth_as_body,
    FieldRole.TIME: _worth_as_time,
    FieldRole.POPULARITY: _worth_as_popularity,
    FieldRole.PEOPLE: _worth_as_people,
    FieldRole.PLACE: _worth_as_place,
    FieldRole.PICTURE: _worth_as_picture,
    FieldRole.LINK: _worth_as_link,
}
"""Role → how well a column fits it; 0 where it does not."""
