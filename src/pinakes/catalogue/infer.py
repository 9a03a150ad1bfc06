"""A table's columns → a `catalogue.toml` that a person can read and change, with the reason for each choice.

Choices go by what the cells are, and by the words in a column's name where cells could be more than one thing. Where
a type would have rows refused (a price column with one "on request"), the column stays text, and it is said.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from pinakes.catalogue.compiler import FIELD_NAME
from pinakes.catalogue.profile import LIST_WORD, ColumnProfile, Form, name_words
from pinakes.catalogue.spec import NUMERIC_TYPES, FieldType, Role
from pinakes.errors import InputError
from pinakes.text.normalise import clean

WIDE_TABLE = 200
KEPT_OF_WIDE = 60
LONGEST_ID = 100
LONG_TEXT = 100
SHORT_NAME = 120
NAME_LENGTH = 60
DAYS_A_YEAR = 365
RESERVED = frozenset({"id", "kind", "catalogue", "score", "json", "limit"})
"""Names that a record or a command already has for something else."""

TITLE_NAMES = name_words(
    "title name headline label heading product item film movie book song track album game recipe work term question "
    "titel titre titulo titolo nombre nome nom название 標題 标题 タイトル 書名 제목"
)
"""What the column of titles is called, the surest first."""
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
ID_WORD = re.compile(r"ids?|key|uuid|guid|isbn(10|13)?|issn|sku|asin|ean|gtin|upc|mpn|doi|slug|handle|barcode")
FIRST_ID_WORD = re.compile(r"\w*(const|code|number|nummer|numero)|no|nr|num")
"""What ends the name of a first column that identifies rows, where its values are all different."""
LINK_WORD = re.compile(r"ids?|uuid|guid")
"""What ends the names of columns that point to rows of a table; other codes mean something to people."""
YEAR_WORD = re.compile(
    r"years?|yr|released?|published|publication|vintage|premiered|founded|date|jahr|annee|ano|год|年"
)
HANDLED_WORD = re.compile(r"updated?|modified|added|created|read|checked|imported|scraped|accessed")
"""A word in the names of columns that say when a row was worked on, and not when the thing itself was."""
GROUP_WORD = re.compile(
    r"(authors?|artists?|directors?|actors?|cast|starring|writers?|composers?|creators?|publishers?|brands?|developers?"
    r"|manufacturers?|vendors?|studios?|designers?|illustrators?|translators?|narrators?|albums?|series|country|language)"
)
"""A word in the names of columns whose values group records, though many have few records each."""
BODY_WORD = re.compile(
    r"description|synopsis|summary|abstract|text|content|body|blurb|plot|overview|notes?|bio|about|review|story"
)

HEADER = """\
# What a record of this catalogue is, and what each field is for. It was made from the columns of a table.
# Change what is not right, and build with it:  pinakes add FILE --spec THIS_FILE
# Check it:  pinakes spec check THIS_FILE
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredField:
    """A field that is proposed for a column, and why."""

    name: str
    column: str
    type: FieldType
    reason: str
    role: Role | None = None
    searched: bool = False
    filtered: bool = False
    facet: bool = False
    split: str = ""

    @property
    def uses(self) -> str:
        """What the field is for, in words."""
        role = {Role.TITLE: "title", Role.BODY: "main text", Role.ALTERNATIVES: "other names", Role.TIME: "time"}
        filtered = "range" if self.type in NUMERIC_TYPES else "filter"
        uses = [role.get(self.role, "") if self.role else "", "search" if self.searched else ""]
        uses += [filtered if self.filtered else "", "browse" if self.facet else ""]
        return ", ".join(use for use in uses if use) or "shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """A proposed declaration: its text, its fields, and what a person should know about it."""

    declaration: str
    fields: tuple[InferredField, ...]
    left_out: tuple[tuple[str, str], ...]
    """The columns that have no field, each with the reason."""
    notes: tuple[str, ...]
    """What was decided about the table as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Which columns have a part of their own in a record."""

    title: InferredField
    id: ColumnProfile | None
    alternatives: ColumnProfile | None
    body: ColumnProfile | None
    time: ColumnProfile | None


def infer_declaration(columns: Sequence[ColumnProfile], *, name: str, id_column: str | None = None) -> Inferred:
    """Propose a declaration for a table, or refuse one that cannot be a catalogue; `name` is the catalogue's.

    `id_column` is the column that the source itself says identifies a row, where it says so.
    """
    if not columns or not columns[0].rows:
        raise InputError("it has no rows, so nothing can be told about its columns")
    usable, left_out = _usable(columns)
    names = _field_names(columns)
    id_profile, notes = _choose_id(usable, id_column)
    parts = _choose_parts(usable, id_profile, names)
    fields = [_with_part(_field_of(column, names[column.name]), column, parts) for column in usable]
    shown = [field for field, column in zip(fields, usable, strict=True) if not _is_bare_id(column, parts.id)]
    shown = [parts.title, *(field for field in shown if field.column != parts.title.column)]
    if len(shown) > WIDE_TABLE:
        shown, dropped = _most_useful(shown, {column.name: column for column in usable})
        left_out += [(column, "one of the less useful of very many columns") for column in dropped]
        notes.append(f"of {len(columns)} columns the {KEPT_OF_WIDE} most useful became fields")
    return Inferred(
        declaration=_toml(name, parts.id, shown),
        fields=tuple(shown),
        left_out=tuple(left_out),
        notes=tuple(notes),
    )


def catalogue_name(text: str) -> str:
    """Return a text, such as a file's name, as a legal name of a catalogue."""
    bare = "-".join(re.findall(r"[a-z0-9_]+", _latin(text).lower())).strip("-_")
    if not bare or not bare[0].isalpha():
        bare = f"catalogue-{bare}".rstrip("-")
    return bare[:NAME_LENGTH].rstrip("-_")


def _usable(columns: Sequence[ColumnProfile]) -> tuple[list[ColumnProfile], list[tuple[str, str]]]:
    """Return the columns that can become fields, and the others with the reason."""
    usable: list[ColumnProfile] = []
    left_out: list[tuple[str, str]] = []
    first_with: dict[str, str] = {}
    for column in columns:
        twin = first_with.setdefault(column.fingerprint, column.name)
        if not column.filled:
            left_out.append((column.name, "it is empty"))
        elif not column.name.strip() or not _is_writable(column.name):
            left_out.append((column.name, "it has no name that can be written"))
        elif column.form is Form.BYTES:
            left_out.append((column.name, "it holds bytes, not text"))
        elif twin != column.name and column.distinct >= 10:
            left_out.append((column.name, f"it holds the same as '{twin}'"))
        else:
            usable.append(column)
    return usable, left_out


def _is_writable(name: str) -> bool:
    return name.encode(errors="replace").decode() == name


def _latin(text: str) -> str:
    """Return a text's Latin letters and digits without their accents; other scripts fall out."""
    spelt = text.replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("ł", "l")
    return unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()


def _field_names(columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return a legal field name for each column: its own where it is one, else made of its words, each once."""
    names: dict[str, str] = {}
    taken = set(RESERVED)
    for place, column in enumerate(columns, start=1):
        wanted = column.name if FIELD_NAME.fullmatch(column.name) else _legal(column, place)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:NAME_LENGTH]}_{number}", number + 1
        taken.add(name)
        names[column.name] = name
    return names


def _legal(column: ColumnProfile, place: int) -> str:
    letters = [character for character in column.name if character.isalnum()]
    words = [_latin(word) for word in column.words]
    kept = "_".join(word for word in ("".join(re.findall(r"\w+", one)) for one in words) if word)[:NAME_LENGTH]
    if 2 * len(kept.replace("_", "")) < len(letters) or not kept:
        return f"column_{place}"
    return kept if kept[0].isalpha() else f"column_{kept}"


def _choose_id(columns: Sequence[ColumnProfile], stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that identifies a row, and what is to be said about it."""
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


def _may_be_id(column: ColumnProfile, *, is_first: bool) -> bool:
    """Tell whether a column is named as ids are; ids that come again, further on, are those of another table."""
    is_own = column.is_unique or is_first or column.words == ("id",)
    if is_first and column.is_unique and column.words and FIRST_ID_WORD.fullmatch(column.words[-1]):
        return True
    return _is_code(column) and (is_own or not _is_link(column))


def _id_rank(column: ColumnProfile, stated: str | None) -> int:
    if column.name == stated:
        return 0
    if column.words == ("id",):
        return 1
    return 2 if _is_link(column) else 3


def _id_problem(column: ColumnProfile) -> str | None:
    if column.filled < column.rows:
        return f"{_percent(1 - column.filled_share)} of the rows have none"
    if column.distinct < column.filled:
        return f"{column.filled - column.distinct} of {column.filled} rows have one that is there already"
    if column.form not in (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT) or column.longest > LONGEST_ID:
        return "its values are no names"
    return None


def _is_bare_id(column: ColumnProfile, id_column: ColumnProfile | None) -> bool:
    """Tell whether a column is the id and nothing that people would look for."""
    return column is id_column and _is_link(column)


def _choose_parts(
    columns: Sequence[ColumnProfile], id_column: ColumnProfile | None, names: Mapping[str, str]
) -> _Parts:
    others = [column for column in columns if column is not id_column] or list(columns)
    title = _person_title(others, names) or _column_title(others, names)
    rest = [column for column in others if column.name != title.column]
    alternatives = next(
        (column for column in rest if column.form in (Form.TEXT, Form.LIST) and _is_alternative(column)), None
    )
    return _Parts(
        title=title,
        id=id_column,
        alternatives=alternatives,
        body=_find_body([column for column in rest if column is not alternatives]),
        time=_find_time(rest),
    )


def _is_alternative(column: ColumnProfile) -> bool:
    return bool(ALTERNATIVE.fullmatch(" ".join(column.words)))


def _person_title(columns: Sequence[ColumnProfile], names: Mapping[str, str]) -> InferredField | None:
    """Return the title of a table of people, whose names stand in two columns."""
    found = [_find_named(columns, pattern) for pattern in (FIRST_NAME, LAST_NAME)]
    if any(column is None or " " in column.name for column in found):
        return None
    name = next(one for one in ("name", "full_name", "person_name", "name_of_record") if one not in names.values())
    path = " ".join(column.name for column in found if column)
    reason = "first and last name together"
    return InferredField(name=name, column=path, type=FieldType.TEXT, role=Role.TITLE, searched=True, reason=reason)


def _find_named(columns: Sequence[ColumnProfile], pattern: re.Pattern[str]) -> ColumnProfile | None:
    return next((column for column in columns if pattern.fullmatch(" ".join(column.words))), None)


def _column_title(columns: Sequence[ColumnProfile], names: Mapping[str, str]) -> InferredField:
    column = _find_title(columns)
    if column is None:
        raise InputError(
            "it has no column of text that could name a record; numbers and dates alone cannot be searched"
        )
    reason = f"names a record: {_percent(column.distinct_share)} are distinct{_gaps(column)}"
    return InferredField(
        name=names[column.name],
        column=column.name,
        type=FieldType.TEXT,
        role=Role.TITLE,
        searched=True,
        reason=reason,
    )


def _find_title(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that names a record: by its own name, else the short text with the most distinct values."""
    texts = [
        column for column in columns if column.form in (Form.TEXT, Form.BOOLEAN, Form.CODE) and not _is_link(column)
    ]
    named = [column for column in texts if column.filled_share >= 0.5 and column.longest <= 1000]
    for word in TITLE_NAMES:
        exact = next((column for column in named if column.words == (word,)), None)
        if exact is not None:
            return exact
    ending = [column for column in named if _ends_as_title(column)]
    if ending:
        return max(ending, key=lambda column: round(column.distinct_share * column.filled_share, 2))
    plain = [column for column in texts if column.form is Form.TEXT and not _is_code(column)]
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
    """Return the column with the most text, where its cells are more than a few words."""
    texts = [column for column in columns if column.form is Form.TEXT and not column.is_list and not _is_code(column)]
    long = [column for column in texts if column.mean_length >= (20 if _has_word(column, BODY_WORD) else LONG_TEXT)]
    return max(long, key=lambda column: column.mean_length * column.filled, default=None)


def _find_time(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that says when: years before dates, the best filled first."""
    years = [column for column in columns if _is_year(column)]
    dates = [column for column in columns if column.form is Form.DATE and not _has_word(column, HANDLED_WORD)]
    return max(years or dates, key=lambda column: column.filled, default=None)


def _is_year(column: ColumnProfile) -> bool:
    in_form = column.form in (Form.YEAR, Form.WHOLE) and column.share_of(Form.YEAR) >= 0.9
    return in_form and _has_word(column, YEAR_WORD)


def _has_word(column: ColumnProfile, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in column.words)


def _is_code(column: ColumnProfile) -> bool:
    return bool(column.words) and bool(ID_WORD.fullmatch(column.words[-1]))


def _is_link(column: ColumnProfile) -> bool:
    return bool(column.words) and bool(LINK_WORD.fullmatch(column.words[-1]))


def _with_part(field: InferredField, column: ColumnProfile, parts: _Parts) -> InferredField:
    """Return the field with the role that its column was chosen for."""
    if column is parts.alternatives:
        kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
        return replace(field, type=kind, role=Role.ALTERNATIVES, searched=True, filtered=False, facet=False)
    if column is parts.body:
        reason = f"the most text: {column.mean_length:.0f} characters a cell{_gaps(column)}"
        return replace(field, role=Role.BODY, searched=True, filtered=False, facet=False, reason=reason)
    if column is parts.time:
        return replace(field, role=Role.TIME)
    return field


def _field_of(column: ColumnProfile, name: str) -> InferredField:
    """Return the field that a column makes, whatever part it has."""
    base = InferredField(name=name, column=column.name, type=FieldType.TEXT, reason="")
    if _is_link(column) and column.form is not Form.OBJECT:
        return _links(base, column)
    if column.is_list:
        return _list(base, column)
    return MAKERS.get(column.form, _text)(base, column)


def _links(base: InferredField, column: ColumnProfile) -> InferredField:
    kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
    return replace(
        base, type=kind, filtered=True, split=column.separator, reason=f"ids, kept as they are{_gaps(column)}"
    )


def _list(base: InferredField, column: ColumnProfile) -> InferredField:
    parted = f" parted by '{column.separator}'" if column.separator else ""
    reason = f"lists{parted}: {column.distinct_items:,} values{_gaps(column)}"
    field = replace(base, type=FieldType.TEXTS, split=column.separator, reason=reason)
    if column.has_url_items:
        return replace(field, reason=f"lists of links{_gaps(column)}")
    if column.mean_item_length > LONG_TEXT:
        return replace(field, searched=True)
    kind = FieldType.TEXTS if _has_word(column, GROUP_WORD) else FieldType.TAGS
    return replace(field, type=kind, searched=True, filtered=True, facet=True)


def _number(base: InferredField, column: ColumnProfile) -> InferredField:
    kind = FieldType.FLOAT if column.form is Form.NUMBER else FieldType.INT
    if _is_code(column):
        return _code(base, column)
    called = "years" if _is_year(column) else "numbers" if column.form is Form.NUMBER else "whole numbers"
    extent = f", {_extent(column.least, column.most)}" if column.least is not None and column.most is not None else ""
    return replace(base, type=kind, filtered=True, reason=f"{called}{extent}{_gaps(column)}")


def _extent(least: float, most: float) -> str:
    """Return from where to where numbers go; thousands are grouped where none could be a year."""
    grouping = "," if most > 9999 else ""
    return " to ".join(
        f"{value:{grouping}.0f}" if float(value).is_integer() else f"{value:{grouping}.6g}" for value in (least, most)
    )


def _code(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, searched=True, filtered=True, reason=f"a code, kept as it is written{_gaps(column)}")


def _date(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, type=FieldType.DATE, filtered=True, reason=f"dates{_gaps(column)}")


def _url(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, type=FieldType.URL, reason=f"links{_gaps(column)}")


def _object(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, type=FieldType.JSON, reason=f"objects, kept whole{_gaps(column)}")


def _boolean(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, filtered=True, facet=True, reason=f"yes or no{_gaps(column)}")


def _text(base: InferredField, column: ColumnProfile) -> InferredField:
    field = replace(base, searched=True)
    if _is_code(column) and not column.has_few_values:
        return _code(field, column)
    if column.mean_length > LONG_TEXT:
        return replace(field, reason=f"long text: {column.mean_length:.0f} characters a cell{_gaps(column)}")
    if column.has_few_values:
        reason = f"{_count(column.distinct, 'value')} in {_percent(column.filled_share)} of the rows{_mixed(column)}"
        return replace(field, filtered=True, facet=column.distinct > 1, reason=reason)
    repeats = 5 * column.distinct <= 4 * column.filled and column.mean_length <= NAME_LENGTH
    groups = repeats or _has_word(column, GROUP_WORD) or _has_word(column, LIST_WORD)
    counted = f"{column.distinct:,} different texts" if groups else "text"
    reason = f"{counted}{_mixed(column)}{_gaps(column)}"
    return replace(field, filtered=groups, facet=groups, reason=reason)


MAKERS: Mapping[Form, Callable[[InferredField, ColumnProfile], InferredField]] = {
    Form.YEAR: _number,
    Form.WHOLE: _number,
    Form.NUMBER: _number,
    Form.CODE: _code,
    Form.DATE: _date,
    Form.URL: _url,
    Form.OBJECT: _object,
    Form.BOOLEAN: _boolean,
    Form.TEXT: _text,
}


def _mixed(column: ColumnProfile) -> str:
    """Say what keeps a column of numbers or dates from being one."""
    for called, forms in (("numbers", (Form.NUMBER, Form.WHOLE, Form.YEAR)), ("dates", (Form.DATE,))):
        share = sum(column.share_of(form) for form in forms)
        if share >= 0.5:
            odd = next(text for form, text in column.examples.items() if form not in forms)
            return f"; {_percent(share)} are {called}, but not {_quoted(odd)}"
    return ""


def _gaps(column: ColumnProfile) -> str:
    return f", in {_percent(column.filled_share)} of the rows" if column.filled_share < 0.95 else ""


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 or not share else "under 1 %"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def _quoted(text: str) -> str:
    line = " ".join(clean(text).split())
    return f"'{line[:29]}…'" if len(line) > 30 else f"'{line}'"


def _most_useful(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile]
) -> tuple[list[InferredField], list[str]]:
    """Return the fields worth most, in the table's order, and the columns of the others."""

    def worth(field: InferredField) -> tuple[bool, float]:
        column = columns.get(field.column)
        filled = column.filled_share if column else 1.0
        varied = column is None or column.distinct > 1
        return field.role is not None, (filled + 0.5 * field.searched + 0.5 * field.facet) * (1 if varied else 0.1)

    kept = {field.name for field in sorted(fields, key=worth, reverse=True)[:KEPT_OF_WIDE]}
    return (
        [field for field in fields if field.name in kept],
        [field.column for field in fields if field.name not in kept],
    )


def _toml(name: str, id_column: ColumnProfile | None, fields: Sequence[InferredField]) -> str:
    """Write the declaration."""
    title = name.replace("-", " ").replace("_", " ").capitalize()
    head = [f"name = {_text_in_toml(name)}", f"title = {_text_in_toml(title)}"]
    head.append(f"summary = {_text_in_toml(_summary(title, fields))}")
    if id_column is not None:
        head.append(f"id = {_text_in_toml(id_column.name)}")
    blocks = ["\n".join(head), *(_field_in_toml(field) for field in fields), *_signals_in_toml(fields)]
    return HEADER + "\n" + "\n\n".join(blocks) + "\n"


def _text_in_toml(text: str) -> str:
    """Return a text in TOML's quotes, which are JSON's but for one character."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _summary(title: str, fields: Sequence[InferredField]) -> str:
    searched = [field.name.replace("_", " ") for field in fields if field.searched][:4]
    filtered = [field.name.replace("_", " ") for field in fields if field.filtered][:4]
    return f"{title}: found by {', '.join(searched)}" + (f"; filtered by {', '.join(filtered)}." if filtered else ".")


def _field_in_toml(field: InferredField) -> str:
    lines = [f"# {clean(field.reason)}", f"[fields.{field.name}]", f'type = "{field.type}"']
    if field.role is not None:
        lines.append(f'role = "{field.role}"')
    if field.column != field.name:
        lines.append(f"path = {_text_in_toml(field.column)}")
    if field.split:
        lines.append(f"split = {_text_in_toml(field.split)}")
    if field.searched:
        lines.append(f"search = {SEARCH_IN_TOML.get(field.role, 'true') if field.role else 'true'}")
    if field.filtered:
        lines.append('filter = "range"' if field.type in NUMERIC_TYPES else f'filter = "{TERM_FILTERS[field.type]}"')
    if field.facet:
        lines.append("facet = true")
    return "\n".join(lines)


SEARCH_IN_TOML = {Role.TITLE: "{ boost = 0.25, fuzzy = true }", Role.ALTERNATIVES: "{ boost = 0.25 }"}
TERM_FILTERS = {FieldType.TEXT: "equals", FieldType.TEXTS: "any-of", FieldType.TAGS: "all-of"}


def _signals_in_toml(fields: Sequence[InferredField]) -> Iterable[str]:
    """Yield what is embedded and how it recommends."""
    topics = _topics(fields)
    groups = [field for field in fields if field.facet and field not in topics and _is_group(field)]
    title, body = (next((field for field in fields if field.role is role), None) for role in (Role.TITLE, Role.BODY))
    parts = [part for part in (title, *groups[:2], *topics, body) if part is not None]
    if len(parts) == 1:
        parts += [field for field in fields if field.searched and field not in parts][:3]
    template = ". ".join(f"{{{part.name}}}" for part in parts)
    yield f"# The text whose meaning is compared.\n[embed]\ntemplate = {_text_in_toml(template)}"
    yield _recommend_in_toml(topics, next((field for field in fields if field.role is Role.TIME), None))


def _topics(fields: Sequence[InferredField]) -> list[InferredField]:
    """Return the fields that say what a record is about: tags; without any, what is named like them."""
    tags = [field for field in fields if field.type is FieldType.TAGS]
    hinted = [field for field in tags if _named(field, LIST_WORD)]
    alike = [field for field in fields if field.type is FieldType.TEXT and field.facet and _named(field, LIST_WORD)]
    return (hinted or tags or alike)[:3]


def _named(field: InferredField, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in name_words(field.column))


def _is_group(field: InferredField) -> bool:
    words = name_words(field.column)
    return bool(words) and bool(GROUP_WORD.fullmatch(words[-1]))


def _recommend_in_toml(topics: Sequence[InferredField], time: InferredField | None) -> str:
    taxonomy, temporal = (0.25 if topics else 0.0), (0.15 if time else 0.0)
    lines = ["# What makes two records alike; the weights add up to 1.", "[recommend]"]
    lines.append(f"semantic = {1 - taxonomy - temporal:.2f}")
    if topics:
        names = ", ".join(_text_in_toml(field.name) for field in topics)
        lines.append(f"taxonomy = {{ weight = {taxonomy}, fields = [{names}] }}")
    if time:
        sigma = 5 * DAYS_A_YEAR if time.type is FieldType.DATE else 5
        lines.append(f'temporal = {{ weight = {temporal}, field = "{time.name}", sigma = {sigma} }}')
    return "\n".join(lines)
