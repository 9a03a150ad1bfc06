"""The columns with a role: main text, other names, time, popularity, people, place, picture and web page."""

import re
from collections.abc import Callable, Iterable, Sequence

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.columns import has_word, is_code, is_link, is_question, is_year
from pinakes.catalogue.infer.fields import LONG_TEXT
from pinakes.catalogue.infer.title_words import is_alternative
from pinakes.catalogue.infer.titles import HANDLED_WORD
from pinakes.catalogue.list_marks import PEOPLE_WORD
from pinakes.catalogue.profile import ColumnProfile
from pinakes.catalogue.spec import Role

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
LINK_WORD = re.compile(r"urls?|links?|website|homepage|page|web|site|href|permalink|uri|wikipedia")
OTHER_LINK_WORD = re.compile(
    r"videos?|youtube|trailer|tweets?|api|audio|license|licence|map|maps|inspired|spoonacular|credit"
)
PICTURE_FILE = re.compile(r".*\.(jpe?g|png|gif|webp|svg|avif)(\?.*)?", re.IGNORECASE)
POPULARITY_NAMES = (
    r"popularity",
    r"((num|number|no|total) (of )?)?(user )?(votes|ratings|voters|raters)( (count|counts|num|number|total))?",
    r"(user )?(vote|rating) (count|counts|num|number|total)",
    r"(users?|num|number) rated|rated by|(num|number of|total) (user )?(ratings|reviews|votes)",
    r"(user|users|num|owned|own) (owned|users|owners)|owners|owned",
    r"(\w+ )?(downloads|views|plays|listeners|followers|subscribers|streams|members|sales|favou?rites|likes|stars"
    r"|stargazers|backers|copies sold|playcount|view|sold|readers)( count| counts| total)?",
    r"(\w+ )?(view|play|like|follower|member|download|review|favou?rite|backers|citation|citations) count",
    r"(\w+ )?(review|reviews|citations?) counts?|(num|number of) reviews|reviews",
)
"""Names of columns that count how many people know a thing, the surest first."""
LEAST_FILLED = 0.3
FEWEST_KNOWN = 10
"""The fewest different numbers, and the least greatest one, of a popularity."""

Found = dict[Role, ColumnProfile]


def choose_roles(columns: Sequence[ColumnProfile]) -> Found:
    """Return the column of each role but the title, as far as the table has one; no column has two."""
    found: Found = {}
    for role, find in FINDERS:
        free = [column for column in columns if column not in found.values()]
        column = find(free)
        if column is not None:
            found[role] = column
    return found


def _find_alternatives(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    return next((one for one in columns if one.form in (Form.TEXT, Form.LIST) and is_alternative(one)), None)


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
    named = [column for column in links if has_word(column, LINK_WORD)]
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
