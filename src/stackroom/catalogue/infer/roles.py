"""The parts of a record: its title, from one column or several, and the columns with another role."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from stackroom.catalogue.infer.fields import LONG_TEXT, InferredField
from stackroom.catalogue.infer.words import (
    KIND_WORD,
    LINK_WORD,
    TITLE_NAMES,
    ends_as_title,
    gaps,
    has_word,
    is_alternative,
    is_code,
    is_link,
    is_question,
    is_survey,
    is_title_name,
    is_unnamed,
    is_year,
    percent,
)
from stackroom.catalogue.profile import PEOPLE_WORD, ColumnProfile, Form, distinct_together
from stackroom.catalogue.spec import FieldType, Role
from stackroom.errors import InputError

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
FIRST_NAME = re.compile(r"first ?name|given ?name|forename")
LAST_NAME = re.compile(r"last ?name|sur ?name|family ?name")
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
BODY_WORD = re.compile(
    r"description|synopsis|summary|abstract|text|content|body|blurb|plot|overview|notes?|bio|about|review|story|instructions"
)
WORDS_OF_PEOPLE = (
    r"authors?|auteurs?|autor(es|en)?",
    r"artists?|bands?|performers?|singers?|interpreten?",
    r"directors?|directed|regisseure?",
    r"creators?|created|writers?|written|composers?",
    r"designers?|developers?|inventors?|architects?|painters?|photographers?|illustrators?",
    r"cast|starring|stars|actors?",
    r"producers?|editors?|presenters?|hosts?|speakers?|players?|laureates?|winners?|contributors?",
)
"""Words in the names of columns with people, those who made the thing first."""
WORDS_OF_PLACES = (
    r"countr(y|ies)|pays|land|pais",
    r"place|location|lieu|ort",
    r"cit(y|ies)|town|ville|stadt",
    r"region|state|province|county|subregion|continent",
    r"origin|nationality|venue|birthplace|headquarters|address",
)
NO_PLACE_WORD = re.compile(r"code|id|url|number|lat|lon|latitude|longitude|type|population|area km2?")
PICTURE_WORD = re.compile(
    r"images?|img|pictures?|pics?|photos?|photograph|thumbnails?|thumb|posters?|covers?|artwork|logos?|flags?|icons?|avatar"
)
SMALL_WORD = re.compile(r"small|thumb(nail)?s?|mini|icon|back|backdrop")
PAGE_WORD = re.compile(r"urls?|links?|website|homepage|page|web|site|href|permalink|uri|wikipedia")
OTHER_LINK_WORD = re.compile(
    r"videos?|youtube|trailer|tweets?|api|audio|license|licence|map|maps|inspired|spoonacular|credit"
)
PICTURE_FILE = re.compile(r".*\.(jpe?g|png|gif|webp|svg|avif)(\?.*)?", re.IGNORECASE)
POPULARITY_NAMES = (
    r"popularity|\w+ popularity",
    r"((num|number|no|total) (of )?)?(user |users )?(votes|ratings|voters|raters|rated)( (count|counts|number|total))?",
    r"(user )?(vote|rating) (count|counts|number|total)|(num|number of|total) (user )?(ratings|reviews|votes)",
    r"(user |users |num )?(owned|owners)|owned users",
    r"(\w+ )?(downloads|views|plays|listeners|followers|subscribers|streams|members|sales|favou?rites|likes|stars"
    r"|stargazers|backers|copies sold|playcount|readers)( count| counts| total)?",
    r"(view|play|like|follower|download|review|favou?rite|citation|citations) counts?|(num|number of) reviews|reviews",
)
"""Names of columns that count how many people know a thing, the surest first."""
LEAST_FILLED = 0.3
FEWEST_KNOWN = 10
"""The fewest different numbers, and the least greatest one, of a popularity."""


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
    links = [column for column in columns if is_link(column)]
    named = {tuple(word for word in link.words if not LINK_WORD.fullmatch(word)) for link in links}
    texts = [column for column in columns if column.form is Form.TEXT and column.distinct > 1 and column not in links]
    return next((column for column in texts if column.words in named), None)


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
    template = " ".join(f"{{{column.name}}}" for column in found if column)
    free = next(name for name in ("name", "full_name", "person_name", "name_of_record") if name not in names.values())
    return _template_field(template, names, reason="first and last name together", name=free)


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
        return max(ending, key=lambda column: round(column.naming_share, 2))
    plain = [column for column in texts if column.form is Form.TEXT and not is_code(column)]
    short = [column for column in plain if column.mean_length <= SHORT_NAME and not column.is_list]
    naming = [column for column in short if column.naming_share >= LEAST_NAMING or column.rows <= 10]
    if naming:
        return max(naming, key=lambda column: round(column.naming_share, 1) - (0.6 if _is_figure(column) else 0))
    if short:
        return None
    last_resort = [column for column in columns if column.form in (Form.TEXT, Form.URL, Form.LIST)]
    return min(plain or last_resort, key=lambda column: column.mean_length, default=None)


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
    places = {column.name: place for place, column in enumerate(columns)}
    chosen = [*parts, *_partners(parts, possible)]
    return sorted(chosen, key=lambda part: (part is not base, _is_figure(part), places[part.name]))


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
    is_ordinal = bool(column.words) and bool(ORDINAL_WORD.fullmatch(column.words[-1]))
    return _is_time(column) or (column.form in (Form.WHOLE, Form.CODE) and is_ordinal)


def _is_time(column: ColumnProfile) -> bool:
    return column.form is Form.YEAR or _is_date(column)


def _is_date(column: ColumnProfile) -> bool:
    return column.form is Form.DATE and not has_word(column, HANDLED_WORD)


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
    free = next(candidate for candidate in (*TITLE_FIELD_NAMES, *numbered) if candidate not in taken)
    return InferredField(
        name=name or free,
        column=template,
        template=template,
        type=FieldType.TEXT,
        role=Role.TITLE,
        searched=True,
        reason=reason,
    )


def choose_roles(columns: Sequence[ColumnProfile]) -> dict[Role, ColumnProfile]:
    """Return the column of each role but the title, as far as the table has one; no column has two."""
    chosen: dict[Role, ColumnProfile] = {}
    for role, find in FINDERS:
        column = find([column for column in columns if column not in chosen.values()])
        if column is not None:
            chosen[role] = column
    return chosen


def _find_alternatives(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    texts = [column for column in columns if column.form in (Form.TEXT, Form.LIST)]
    return next((column for column in texts if is_alternative(column)), None)


def _find_body(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column with the most text, if its cells are longer than a few words; a name counts too."""
    texts = [
        column
        for column in columns
        if column.form is Form.TEXT and not column.is_list and not is_code(column) and not is_question(column)
        if column.filled_share >= LEAST_FILLED or column.mean_length >= LONG_TEXT
    ]
    long = [column for column in texts if column.mean_length >= (20 if has_word(column, BODY_WORD) else LONG_TEXT)]

    def text_in(column: ColumnProfile) -> float:
        return column.mean_length * column.filled * (3 if has_word(column, BODY_WORD) else 1)

    return max(long, key=text_in, default=None)


def _find_time(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column of the record's time: years before dates, the best filled first."""
    years = [column for column in columns if is_year(column)]
    dates = [column for column in columns if column.form is Form.DATE and not has_word(column, HANDLED_WORD)]
    return max(years or dates, key=lambda column: column.filled, default=None)


def _find_popularity(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    counts = [column for column in columns if _may_be_popularity(column)]
    for name in POPULARITY_NAMES:
        named = [column for column in counts if re.fullmatch(name, " ".join(column.words))]
        if named:
            return max(named, key=lambda column: column.filled)
    return None


def _may_be_popularity(column: ColumnProfile) -> bool:
    """Tell whether a column counts people, or scores how well known a thing is, beyond a scale from 1 to 10."""
    is_number = column.form in (Form.WHOLE, Form.NUMBER, Form.YEAR)
    if not is_number or column.distinct < FEWEST_KNOWN or column.least is None or column.least < 0:
        return False
    return (column.most or 0) > FEWEST_KNOWN and column.filled_share >= 0.5


def _find_people(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    people = [column for column in columns if _has_terms(column) and _is_of_people(column)]
    return _first_named(people, WORDS_OF_PEOPLE)


def _is_of_people(column: ColumnProfile) -> bool:
    """Tell whether the last word that says something is one for people: `artist_name`, not `artist_type`."""
    words = [word for word in column.words if word not in ("name", "names", "by", "s")]
    return bool(words) and bool(PEOPLE_WORD.fullmatch(words[-1]))


def _find_place(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    places = [column for column in columns if _has_terms(column) and not has_word(column, NO_PLACE_WORD)]
    return _first_named(places, WORDS_OF_PLACES)


def _has_terms(column: ColumnProfile) -> bool:
    in_form = column.form in (Form.TEXT, Form.LIST) and column.filled_share >= LEAST_FILLED
    return in_form and column.distinct > 1 and not is_code(column) and not is_link(column) and not is_question(column)


def _first_named(columns: Sequence[ColumnProfile], patterns: Iterable[str]) -> ColumnProfile | None:
    """Return the column named by the first pattern that names one: by a whole name before a word in it, the fullest."""
    for pattern in patterns:
        whole = [column for column in columns if re.fullmatch(pattern, " ".join(column.words))]
        partly = [column for column in columns if has_word(column, re.compile(pattern))]
        if whole or partly:
            return max(whole or partly, key=lambda column: round(column.filled_share, 1))
    return None


def _find_picture(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    links = [column for column in columns if column.form is Form.URL]
    named = [column for column in links if has_word(column, PICTURE_WORD) or _are_picture_files(column)]
    return max(named, key=lambda column: (column.filled_share >= 0.1, not has_word(column, SMALL_WORD)), default=None)


def _are_picture_files(column: ColumnProfile) -> bool:
    some = column.texts[:50]
    return bool(some) and all(PICTURE_FILE.fullmatch(text) for text in some)


def _find_link(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    links = [column for column in columns if column.form is Form.URL and not _points_elsewhere(column)]
    named = [column for column in links if has_word(column, PAGE_WORD)]
    return max(named or links, key=lambda column: round(column.filled_share, 1), default=None)


def _points_elsewhere(column: ColumnProfile) -> bool:
    return has_word(column, PICTURE_WORD) or has_word(column, OTHER_LINK_WORD) or _are_picture_files(column)


FINDERS: tuple[tuple[Role, Callable[[Sequence[ColumnProfile]], ColumnProfile | None]], ...] = (
    (Role.ALTERNATIVES, _find_alternatives),
    (Role.BODY, _find_body),
    (Role.TIME, _find_time),
    (Role.POPULARITY, _find_popularity),
    (Role.PEOPLE, _find_people),
    (Role.PLACE, _find_place),
    (Role.PICTURE, _find_picture),
    (Role.LINK, _find_link),
)
