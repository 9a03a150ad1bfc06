"""Inference of a readable `catalogue.toml` from the columns of a table, with a reason for each
choice.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import orjson

from stackroom.catalogue.column_template import COLUMN, parse_column_template
from stackroom.catalogue.column_words import is_about, label_of, name_words
from stackroom.catalogue.compiler import DEFAULT_FILTER, ROLE_TYPES
from stackroom.catalogue.infer.columns import (
    QUESTION_WORDS,
    Names,
    catalogue_title,
    choose_id,
    choose_key,
    chosen_id,
    counts_parts,
    field_names,
    find_families,
    find_left_out,
    find_marks,
    gaps,
    id_of,
    is_link,
    is_title_name,
    names_pictures,
)
from stackroom.catalogue.infer.fields import (
    InferredField,
    choose_roles,
    choose_title,
    chosen_title,
    family_field,
    field_of,
    field_of_main_unit,
    field_of_type,
    title_columns,
)
from stackroom.catalogue.profile import (
    PLAIN_NUMBERS,
    ColumnProfile,
    Columns,
    Form,
    distinct_together,
)
from stackroom.catalogue.spec import LIST_TYPES, NUMERIC_TYPES, FieldRole, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.text.normalise import clean

Fields = Sequence[InferredField]
NONE = "none"  # the word for no column, and for no role
COLUMNS_SHOWN = 12


@frozen
class Choices:
    """Decisions about columns; each may be named as in the table, or by its proposed field."""

    # the column that identifies a row; `none`: ids are made of the row's values
    id: str | None = None
    # the column that names a record, or a template of columns, as in `{from} – {to}`
    title: str | None = None
    body: str | None = None  # the column with the main text; `none`: there is none
    group: str | None = None  # the column that all rows of one record have in common
    types: Mapping[str, FieldType] = dataclasses.field(default_factory=dict)
    roles: Mapping[str, FieldRole | None] = dataclasses.field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()  # the columns that are kept although they would be left out

    def resolved(self, names: Names) -> "Choices":
        """Return the choices with each column as the table names it; `names` has the field of each
        column.
        """
        known = {name.casefold(): column for column, name in names.items()}
        known |= {column.casefold(): column for column in names}

        def find(choice: str, stated: str) -> str:
            found = known.get(stated.strip().casefold())
            if found is None and (stated != NONE or choice not in ("id", "body")):
                shown = ", ".join(list(names)[:COLUMNS_SHOWN]) + (
                    ", …" if len(names) > COLUMNS_SHOWN else ""
                )
                hint = did_you_mean(stated, list(names))
                raise InputError(
                    f"{choice}: the table has no column '{stated[:80]}'{hint}; columns: {shown}"
                )
            return found or NONE

        def find_in_template(stated: str) -> str:
            if "{" not in stated:
                return find("title", stated)
            if not parse_column_template(stated):
                example = '"{departure} – {arrival}"'
                raise InputError(
                    f"title: {stated[:80]!r} is no template of columns, as in {example}"
                )
            return COLUMN.sub(lambda column: f"{{{find('title', column[1])}}}", stated)

        return Choices(
            id=self.id and find("id", self.id),
            title=self.title and find_in_template(self.title),
            body=self.body and find("body", self.body),
            group=self.group and find("group", self.group),
            types={find("type", column): kind for column, kind in self.types.items()},
            roles={find("role", column): role for column, role in self.roles.items()},
            drop=frozenset(find("drop", column) for column in self.drop),
            keep=frozenset(find("keep", column) for column in self.keep),
        )

    @property
    def named_columns(self) -> set[str]:
        """The columns that the user named: they are kept, whatever they hold."""
        named = {self.id, self.title, self.body, self.group}
        return {name for name in named if name} | self.keep | set(self.types) | set(self.roles)


NO_CHOICES = Choices()


def with_choices(
    fields: Fields, columns: Mapping[str, ColumnProfile], choices: Choices
) -> list[InferredField]:
    """Return the fields with the types and roles that were chosen; a role has one field."""
    roles = dict(choices.roles) | (
        {choices.body: FieldRole.BODY} if choices.body not in (None, NONE) else {}
    )
    taken = set(roles.values()) | ({FieldRole.BODY} if choices.body == NONE else set())
    typed = [_typed(field, columns.get(field.column), choices.types) for field in fields]
    freed = [replace(field, role=None) if field.role in taken else field for field in typed]
    return [
        _with_role(field, roles[field.column]) if field.column in roles else field
        for field in freed
    ]


def _typed(
    field: InferredField, column: ColumnProfile | None, types: Mapping[str, FieldType]
) -> InferredField:
    if (kind := types.get(field.column)) is None or column is None:
        return field
    if kind is FieldType.ENUM:
        raise InputError(
            f"type: '{field.column}' cannot be enum here: its values belong in a catalogue.toml;"
            " use text"
        )
    role = field.role if field.role is None or kind in ROLE_TYPES.get(field.role, {kind}) else None
    return replace(field_of_type(column, field.name, kind), role=role)


def _with_role(field: InferredField, role: FieldRole | None) -> InferredField:
    right = ROLE_TYPES.get(role, set()) if role else set()
    if right and field.type not in right:
        fitting = " or ".join(sorted(right))
        raise InputError(
            f"role: '{field.column}' is {field.type}, and {role} needs {fitting}; choose its type"
            " as well"
        )
    is_text = role in (FieldRole.TITLE, FieldRole.BODY, FieldRole.ALTERNATIVES)
    return replace(
        field, role=role, searched=field.searched or is_text, reason=f"{field.reason}; your choice"
    )


MOST_FIELDS = 60
LONG_ITEM, LONG_TAG = 60, 30
LEAST_NAMED = 0.8  # the share of groups that a column names with a value of their own
QUESTION = re.compile(
    r"(have|has|do|does|did|are|is|was|were|which|what|how|who|why|when|where|would|should|can)\b.*"
)
MANY_QUESTIONS, FEW_ANSWERS, MANY_COLUMNS = 3, 12, 15
WIDE_GRID = 6
NO_ORIGINS: Mapping[str, str] = {}
WORDLESS = PLAIN_NUMBERS | {Form.DATE, Form.CODE, Form.QUANTITY, Form.BOOLEAN}


@frozen
class Inferred:
    """A proposed declaration: its text, its fields, and remarks for people."""

    declaration: str
    fields: tuple[InferredField, ...]
    left_out: tuple[tuple[str, str], ...]  # the columns that have no field, each with the reason
    notes: tuple[str, ...]  # decisions about the table as a whole
    # the column that identifies a row; None where ids are made of the rows
    id_column: str | None = None
    # the column that all rows of one record have in common, if they are grouped
    group: str | None = None
    # why the table is no catalogue, and what would make it one; empty if it is one
    verdict: str = ""


def infer_declaration(
    columns: Columns,
    *,
    name: str,
    title: str = "",
    id_column: str | None = None,
    choices: Choices = NO_CHOICES,
    origins: Mapping[str, str] = NO_ORIGINS,
) -> Inferred:
    """Propose a declaration for a table, or refuse one without a value; `choices` are the user's,
    and come first.
    """
    if not columns or not columns[0].rows:
        raise InputError(
            "it has no rows, so the types of its columns cannot be inferred; give a table with rows"
        )
    names = field_names(columns)
    inference = _Inference(columns, names, choices.resolved(names), id_column)
    fields = inference.choose_fields()
    sampled = f" (in a sample of {columns[0].rows:,} rows)" if columns[0].is_sample else ""
    popularity = next((field.column for field in fields if field.role is FieldRole.POPULARITY), "")
    most_popular = (
        next((column.most for column in columns if column.name == popularity), None) or 0.0
    )
    for place, field in enumerate(fields):
        reason, told = f"{field.reason}{sampled}", field.description
        if origin := origins.get(field.column):
            reason, told = f"{origin}; {reason}", f"{origin[0].upper()}{origin[1:]}."
        fields[place] = replace(field, reason=reason, description=told)
    id_path = id_of(inference.id, columns) if inference.id else inference.key or None
    group = inference.choices.group
    identity = {"group": group} if group else {"id": id_path}
    title = title or catalogue_title(name)
    return Inferred(
        declaration=write_toml(name, title, fields, identity=identity, most_popular=most_popular),
        fields=tuple(fields),
        left_out=tuple(inference.left_out.items()),
        notes=tuple(
            f"{note}{sampled}" for note in (*inference.notes, *_dotted_numbers(fields, columns))
        ),
        id_column=id_path,
        group=group,
        verdict=judge([column for column in columns if column.filled]),
    )


class _Inference:
    """The decisions about one table, made one after another: columns, id, title, roles, fields."""

    def __init__(
        self, columns: Columns, names: Names, choices: Choices, stated_id: str | None
    ) -> None:
        self.names = names
        self.choices = choices
        self.left_out: dict[str, str] = {}
        self.usable = list(columns)
        kept = choices.named_columns | ({stated_id} if stated_id else set())
        self._leave_out(
            {name: why for name, why in find_left_out(columns).items() if name not in kept}
            | dict.fromkeys(sorted(choices.drop), "you left it out")
        )
        self.families = [
            *find_families(self.usable, names, apart=kept),
            *find_marks(self.usable, names, apart=kept),
        ]
        self._leave_out(
            {
                column.name: f"it is part of '{family.name}'"
                for family in self.families
                for column in family.columns
            }
        )
        group = next((column for column in self.usable if column.name == choices.group), None)
        self.differing: dict[str, ColumnProfile] = {}
        if group is not None:
            others = [one for one in self.usable if one is not group and one.distinct > 1]
            self.differing = {
                one.name: one for one in others if distinct_together([group, one]) > group.distinct
            }
            self._leave_out(
                {
                    name: "it only counts the rows of a record"
                    for name, column in self.differing.items()
                    if name not in kept and counts_parts(column, group)
                }
            )
        self.id: ColumnProfile | None = group
        if group is not None:
            self.notes = [
                f"rows with the same '{group.name}' are one record: {group.distinct:,} records"
            ]
        else:
            stated, free = choices.id, [one for one in self.usable if not names_pictures(one)]
            self.id, self.notes = (
                chosen_id(self.usable, stated) if stated else choose_id(free, stated_id)
            )
        same = [column for column in self.usable if column.name not in self.differing]
        stated_title = choices.title or (group and _name_of_group(group, same))
        self.title = (
            chosen_title(same, names, stated_title)
            if stated_title
            else choose_title(same, self.id, names)
        )
        self.key = ""
        if self.id is None and choices.id is None:
            self.key, note = choose_key(self.usable, title_columns(self.title, same))
            self.notes.append(note)
        used = [self.id] if self.title.template else [self.id, *title_columns(self.title, same)]
        self.roles = choose_roles([column for column in same if column not in used])

    def _leave_out(self, reasons: Mapping[str, str]) -> None:
        self.left_out |= reasons
        self.usable = [column for column in self.usable if column.name not in self.left_out]

    def choose_fields(self) -> list[InferredField]:
        """Return the fields, the title first; of a wide table the most useful ones."""
        by_name = {column.name: column for column in self.usable}
        made = [
            self._with_role(field_of(column, self.names[column.name]), column)
            for column in self.usable
            if not (column is self.id and is_link(column)) or column.name in self.choices.keep
        ]
        fields = [self.title]
        for field in with_choices(made, by_name, self.choices):
            extra = field_of_main_unit(field, by_name[field.column])
            more = [field, extra] if extra and extra.name not in self.names.values() else [field]
            fields += more if field.column != self.title.column else []
        fields = [_collected(field, self.differing.get(field.column)) for field in fields]
        fields += map(family_field, self.families)
        return self._keep_most_useful(fields, by_name) if len(fields) > MOST_FIELDS else fields

    def _with_role(self, field: InferredField, column: ColumnProfile) -> InferredField:
        """Return the field with the role that its column was chosen for."""
        role = next((role for role, chosen in self.roles.items() if chosen is column), None)
        shown = partial(replace, field, role=role, filtered=False, facet=False)
        if role is FieldRole.ALTERNATIVES:
            kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
            return shown(type=kind, searched=True)
        if role is FieldRole.BODY:
            reason = f"the most text: {column.mean_length:.0f} characters per cell{gaps(column)}"
            return shown(searched=True, reason=reason)
        if role is None or field.type not in ROLE_TYPES[role]:
            return field
        if role is FieldRole.PICTURE and field.type is FieldType.TEXT:
            return shown(searched=False, reason=f"files of pictures{gaps(column)}")
        is_event = role is FieldRole.TIME and not column.is_about("lifetimes")
        reason = f"{field.reason}; when it happened" if is_event else field.reason
        return replace(field, role=role, reason=reason)

    def _keep_most_useful(
        self, fields: Fields, columns: Mapping[str, ColumnProfile]
    ) -> list[InferredField]:
        """Return the most useful fields of a wide table, in its order: with a role, filled, varied,
        filtered by.
        """
        titled = {column.name for column in title_columns(self.title, self.usable)}
        needed = titled | self.choices.named_columns

        def worth(field: InferredField) -> tuple[bool, float]:
            column = columns.get(field.column)
            use = field.facet + 0.6 * (field.type in NUMERIC_TYPES) + 0.3 * field.searched
            filled = 2.0 if column is None else column.filled_share * (column.distinct > 1)
            return field.role is not None or field.column in needed, use + filled

        kept = sorted(fields, key=worth, reverse=True)[:MOST_FIELDS]
        dropped = [field.column for field in fields if field not in kept]
        self.left_out |= dict.fromkeys(dropped, "one of the less useful of very many columns")
        self.notes.append(f"of {len(fields)} columns the {MOST_FIELDS} most useful became fields")
        return [field for field in fields if field in kept]


def _dotted_numbers(fields: Fields, columns: Columns) -> Iterator[str]:
    """Yield a note for each field of numbers such as `2.644` alone: which they are, and how to have
    the other.
    """
    dotted = {column.name: column.decimal_marks.dotted for column in columns}
    for field in fields:
        expected = FieldType.INT if field.decimal_comma else FieldType.FLOAT
        if (number := dotted.get(field.column)) and field.type is expected:
            readings = [(number, FieldType.FLOAT), (number.replace(".", ""), FieldType.INT)]
            (read, _), (other, kind) = readings[::-1] if field.decimal_comma else readings
            yield (
                f"{field.name}: '{number}' is read as {read}; if it is {other}: --type"
                f" '{field.name}={kind}'"
            )


def _name_of_group(group: ColumnProfile, columns: Columns) -> str | None:
    """Return the column that names the thing that a group of rows is: a short text that nearly each
    has of its own.
    """
    texts = [
        column
        for column in columns
        if column.form is Form.TEXT and not column.is_list and not is_link(column)
    ]
    naming = [column for column in texts if column.distinct >= LEAST_NAMED * group.distinct]
    return next((column.name for column in naming if column.mean_length <= LONG_ITEM), None)


def _collected(field: InferredField, column: ColumnProfile | None) -> InferredField:
    """Return a field that collects the values of all rows of a record; numbers and dates have the
    first.
    """
    if column is None or field.role is not None or field.type in LIST_TYPES:
        return field
    if field.type is not FieldType.TEXT:
        return replace(field, reason=f"{field.reason}; the first of a record's rows")
    is_short = column.mean_length <= LONG_ITEM and column.form is Form.TEXT
    is_people = column.is_about("people")
    return replace(
        field,
        type=FieldType.TAGS
        if column.mean_length <= LONG_TAG and is_short and not is_people
        else FieldType.TEXTS,
        searched=True,
        filtered=is_short,
        facet=is_short,
        brackets=False,
        reason=f"{field.reason}; a list, since it differs within a record",
    )


def judge(columns: Columns) -> str:
    """Return why a table is no catalogue and what would make it one; empty if it is one."""
    if _is_survey(columns):
        return (
            f"it looks like a survey: a row has one respondent's answers in {len(columns)} columns,"
            " and nothing names it. It can be filtered and counted, hardly searched; a row for"
            " each thing that was asked about would make it a catalogue"
        )
    numbers = [column for column in columns if column.form in PLAIN_NUMBERS]
    labels = {text for column in columns if column.form is Form.TEXT for text in column.texts}
    grid = [column for column in numbers if column.name in labels or column.name.strip().isdigit()]
    if len(numbers) >= WIDE_GRID and len(grid) >= 0.6 * len(columns):
        return (
            f"it looks like a matrix: {len(grid)} columns of numbers are named by values, as"
            f" '{grid[0].name}'. One row for each number, with its row, its column and its value,"
            " would make it a catalogue (in pandas: melt)"
        )
    if all(column.form in WORDLESS for column in columns):
        return (
            "it has numbers and dates alone, so there are no words to search: its records can be"
            " filtered and counted. A column that names each row would make it a catalogue; give it"
            " with --title"
        )
    return ""


def _is_survey(columns: Columns) -> bool:
    """Tell whether most columns have few different answers, and are named by questions or belong to
    a respondent.
    """
    if 2 * sum(column.distinct <= FEW_ANSWERS for column in columns) < len(columns):
        return False
    names = [(column.name.strip(), len(column.words)) for column in columns]
    asked = [
        (name.endswith("?") and words > 2)
        or (words >= QUESTION_WORDS and QUESTION.match(name.lower()))
        for name, words in names
    ]
    if sum(map(bool, asked)) >= MANY_QUESTIONS:
        return True
    has_title = any(is_title_name(column) and column.distinct_share >= 0.5 for column in columns)
    is_wide = len(columns) >= MANY_COLUMNS and not has_title
    return is_wide and any(column.is_about("respondents") for column in columns)


DAYS_A_YEAR = 365
KNOWN, POPULAR = 0.45, 0.1
"""The weights of how many people know a record: in the ranking of a search, and in a
recommendation.
"""
HEADER = """\
# The fields of this catalogue and their uses, inferred from the columns of a table.
# Change what is wrong, and build with it:  stackroom add FILE --spec THIS_FILE
# Check it:  stackroom spec check THIS_FILE
"""
SEARCH_IN_TOML = {
    FieldRole.TITLE: "{ boost = 0.25, fuzzy = true }",
    FieldRole.ALTERNATIVES: "{ boost = 0.25 }",
}


def write_toml(
    name: str,
    title: str,
    fields: Fields,
    *,
    identity: Mapping[str, str | None],
    most_popular: float,
) -> str:
    """Return the declaration as TOML; `identity` has the column of the `id` or of the `group`."""
    head = {"name": name, "title": title, "summary": _summary(title, fields), **identity}
    lines = [f"{key} = {_text_in_toml(text)}" for key, text in head.items() if text]
    blocks = [
        "\n".join(lines),
        *map(field_in_toml, fields),
        *_signals_in_toml(fields, most_popular),
    ]
    return HEADER + "\n" + "\n\n".join(blocks) + "\n"


def _text_in_toml(text: str) -> str:
    """Return a text as a TOML string: a JSON string with one more character escaped."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _summary(title: str, fields: Fields) -> str:
    searched = [label_of(field.name).lower() for field in fields if field.searched][:4]
    filtered = [label_of(field.name).lower() for field in fields if field.filtered][:4]
    return f"{title}: found by {', '.join(searched)}" + (
        f"; filtered by {', '.join(filtered)}." if filtered else "."
    )


def field_in_toml(field: InferredField) -> str:
    """Return the table of a field, below its reason as a comment."""
    lines = [f"# {clean(field.reason)}", f"[fields.{field.name}]"]
    path = "" if field.template or field.marked or field.column == field.name else field.column
    read = {
        "type": field.type,
        "role": field.role,
        "path": path,
        "template": field.template,
        "split": field.split,
        "unit": field.unit,
        "description": clean(field.description),
        "date_order": field.date_order,
    }
    lines += [f"{key} = {_text_in_toml(text)}" for key, text in read.items() if text]
    if field.values:
        lines.append(f"values = [{', '.join(map(_text_in_toml, field.values))}]")
    lines += [f"{key} = true" for key in ("decimal_comma", "brackets") if getattr(field, key)]
    if field.searched:
        lines.append(f"search = {SEARCH_IN_TOML.get(field.role, 'true') if field.role else 'true'}")
    if field.filtered:
        lines.append(f'filter = "{DEFAULT_FILTER[field.type]}"')
    if field.facet:
        lines.append("facet = true")
    if field.marked:
        lines.append(f"[fields.{field.name}.marked]")
        lines += [
            f"{_text_in_toml(column)} = {_text_in_toml(tag)}"
            for column, tag in field.marked.items()
        ]
    return "\n".join(lines)


def _signals_in_toml(fields: Fields, most_popular: float) -> Iterable[str]:
    """Yield the `[embed]`, `[search]`, `[known]` and `[recommend]` tables."""
    topics = _topics(fields)
    by_role = {field.role: field for field in fields if field.role is not None}
    other = [field for field in fields if field.facet and field not in topics]
    groups = [field for field in other if is_about(name_words(field.column)[-1:], "groups")]
    body = by_role.get(FieldRole.BODY)
    parts = [by_role[FieldRole.TITLE], *groups[:2], *topics, *([body] if body else [])]
    if len(parts) == 1:
        parts += [field for field in fields if field.searched and field not in parts][:3]
    template = ". ".join(f"{{{part.name}}}" for part in parts)
    yield f"# The text whose meaning is compared.\n[embed]\ntemplate = {_text_in_toml(template)}"
    if (popularity := by_role.get(FieldRole.POPULARITY)) is not None and most_popular > 0:
        yield (
            "# Of records that answer alike, the better known come first.\n[search]\nknown_weight"
            f" = {KNOWN}"
        )
        yield f"[known]\n{popularity.name} = {{ weight = 1, full = {most_popular:.6g} }}"
    yield _recommend_in_toml(topics, by_role.get(FieldRole.TIME), popularity)


def _topics(fields: Fields) -> list[InferredField]:
    """Return the fields that describe topics: tags, or without any, text fields named like them."""
    tags = [field for field in fields if field.type is FieldType.TAGS]
    texts = [field for field in fields if field.type is FieldType.TEXT and field.facet]
    hinted, alike = (
        [one for one in some if is_about(name_words(one.column), "lists")] for some in (tags, texts)
    )
    return (hinted or tags or alike)[:3]


def _recommend_in_toml(
    topics: Fields, time: InferredField | None, popularity: InferredField | None
) -> str:
    taxonomy, temporal = (0.25 if topics else 0.0), (0.15 if time else 0.0)
    lines = ["# What makes two records alike; the weights add up to 1.", "[recommend]"]
    lines.append(f"semantic = {1 - taxonomy - temporal:.2f}")
    if topics:
        names = ", ".join(_text_in_toml(field.name) for field in topics)
        lines.append(f"taxonomy = {{ weight = {taxonomy}, fields = [{names}] }}")
    if time:
        sigma = 5 * DAYS_A_YEAR if time.type is FieldType.DATE else 5
        lines.append(
            f'temporal = {{ weight = {temporal}, field = "{time.name}", sigma = {sigma} }}'
        )
    if popularity:
        lines.append(f'popularity = {{ weight = {POPULAR}, field = "{popularity.name}" }}')
    return "\n".join(lines)
