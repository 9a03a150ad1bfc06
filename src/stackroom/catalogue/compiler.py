"""Compilation of a declaration to a `CatalogueSpec`: semantic checks, and defaults that depend on
several keys.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from stackroom.catalogue.column_template import parse_column_template
from stackroom.catalogue.declaration import (
    Declaration,
    DeclaredField,
    DeclaredSearch,
    parse_declaration,
)
from stackroom.catalogue.spec import (
    LIST_TYPES,
    NUMERIC_TYPES,
    ROLES_OF_ANSWERS,
    TERM_TYPES,
    CatalogueSpec,
    FieldRole,
    FieldSpec,
    FieldType,
    FilterKind,
    Texts,
    WordsOf,
)
from stackroom.errors import SpecError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.record import DEFAULT_KIND


@frozen
class LoadedSpec:
    """A compiled spec, and the text of the declaration it came from."""

    spec: CatalogueSpec
    declaration: str

    @classmethod
    def of(cls, declaration: str, *, origin: str) -> "LoadedSpec":
        """Check and compile a declaration."""
        return cls(spec=compile_text(declaration, origin=origin), declaration=declaration)


def load_spec(path: Path) -> LoadedSpec:
    """Read, check and compile a `catalogue.toml`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    return LoadedSpec.of(text, origin=str(path))


def compile_text(text: str, *, origin: str) -> CatalogueSpec:
    """Return the spec compiled from a declaration, or refuse with every problem found; `origin`
    names it in errors.
    """
    declaration = parse_declaration(text, origin=origin)
    fields = {name: _field(name, declared) for name, declared in declaration.fields.items()}
    problems = [
        *chain.from_iterable(map(_field_problems, fields.values())),
        *_role_problems(fields.values()),
        *_kind_problems(declaration, fields),
        *_relation_problems(declaration, fields),
        *_reading_problems(declaration),
        *_reference_problems(declaration, fields),
    ]
    if problems:
        raise SpecError(f"{origin}: " + "; ".join(problems))
    id_template = parse_column_template(declaration.id)
    return CatalogueSpec(
        **{name: getattr(declaration, name) for name in AS_DECLARED},
        fields=fields,
        kinds=tuple(declaration.kinds) or (DEFAULT_KIND,),
        kinds_hidden_from_search=tuple(
            name for name, kind in declaration.kinds.items() if not kind.found
        ),
        kind_path=declaration.kind,
        kind_sources={
            name: kind.sources for name, kind in declaration.kinds.items() if kind.sources
        },
        relations=tuple(declaration.relations.values()),
        telling=tuple(dict.fromkeys(declaration.telling)),
        samples=tuple(dict.fromkeys(declaration.samples)),
        id_path="" if declaration.group or id_template else declaration.id,
        id_template=id_template,
        group_path=declaration.group,
        synonyms=_symmetric(declaration.synonyms),
        other_words=_other_words(declaration),
        digest=_digest(declaration),
    )


Fields = Mapping[str, FieldSpec]
FIELD_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,62}")

DEFAULT_FILTER = {
    **dict.fromkeys(FieldType, FilterKind.EQUALS),
    **dict.fromkeys((FieldType.TEXTS, FieldType.ENUM), FilterKind.ANY_OF),
    **dict.fromkeys(NUMERIC_TYPES, FilterKind.RANGE),
    FieldType.TAGS: FilterKind.ALL_OF,
}

NOT_INDEXED = frozenset(
    str.split("""
    path split template marked take unit decimal_comma date_order description shown at_least
    at_most names_file brackets
    """)
)
"""The keys of a field that affect how it is read or shown, and nothing that is indexed."""
BOUNDED_TYPES = (FieldType.INT, FieldType.FLOAT)
TEXT_TYPES = (FieldType.TEXT, FieldType.TEXTS)
READ_TYPES = {
    **dict.fromkeys(("unit", "decimal_comma"), BOUNDED_TYPES),
    **{"brackets": (FieldType.TEXT,), "take": (FieldType.INT,)},
}
"""Keys that say how cells are read → the types that they are for."""
COMPOSED_TYPES = (FieldType.TEXT, FieldType.URL, FieldType.TEXTS, FieldType.TAGS)

ROLE_TYPES = {
    FieldRole.TITLE: {FieldType.TEXT},
    FieldRole.ALTERNATIVES: {FieldType.TEXT, FieldType.TEXTS},
    FieldRole.BODY: {FieldType.TEXT},
    FieldRole.TIME: {FieldType.INT, FieldType.DATE},
    FieldRole.POPULARITY: {FieldType.INT, FieldType.FLOAT},
    FieldRole.PEOPLE: {FieldType.TEXT, FieldType.TEXTS, FieldType.TAGS},
    FieldRole.PLACE: {FieldType.TEXT, FieldType.TEXTS, FieldType.TAGS, FieldType.ENUM},
    FieldRole.PICTURE: {FieldType.URL, FieldType.TEXT},
    FieldRole.LINK: {FieldType.URL, FieldType.TEXT},
}


AS_DECLARED = str.split("""
name title summary editable embed search recommend preferences known adult
""")


def _digest(declaration: Declaration) -> str:
    """Return a digest of the keys that affect the index; how rows are read into fields does not."""
    left_out: dict[str, dict[str, Any]] = {}
    fields: dict[str, DeclaredField] = {}
    for name, declared in declaration.fields.items():
        is_shown = declared.role in ROLES_OF_ANSWERS
        fields[name] = declared.model_copy(update={"role": None}) if is_shown else declared
        left_out[name] = dict.fromkeys(NOT_INDEXED, True)
        if isinstance(declared.search, DeclaredSearch) and not declared.search.as_name:
            # a later key: left out unless set, so that old indexes stay valid
            left_out[name]["search"] = {"as_name"}
    not_indexed: dict[str, Any] = {"fields": left_out, "kinds": {"__all__": {"found", "sources"}}}
    included = {"fields", "kinds", *({"known"} if declaration.known else ())}
    indexed = declaration.model_copy(update={"fields": fields}).model_dump_json(
        include=included, exclude=not_indexed
    )
    return hashlib.sha256(indexed.encode()).hexdigest()


def _field(name: str, declared: DeclaredField) -> FieldSpec:
    search = declared.search if isinstance(declared.search, DeclaredSearch) else DeclaredSearch()
    filtered = declared.filter if isinstance(declared.filter, FilterKind) else None
    return FieldSpec(
        name=name,
        searched=declared.search is not False and not search.as_name,
        boost=search.boost,
        fuzzy=search.fuzzy,
        as_name=search.as_name,
        filter=DEFAULT_FILTER[declared.type] if declared.filter is True else filtered,
        source_path=declared.path or name,
        template=parse_column_template(declared.template),
        marked=tuple(declared.marked.items()),
        **declared.model_dump(exclude={"search", "filter", "path", "template", "marked"}),
    )


def _field_problems(field: FieldSpec) -> Iterable[str]:
    kind, least, most = field.type, field.at_least, field.at_most
    is_term, is_range = kind in TERM_TYPES, field.filter is FilterKind.RANGE
    is_crossed = least is not None and most is not None and least > most
    role_types = ROLE_TYPES[field.role] if field.role else {kind}
    named = "a field name starts with a lower-case letter and has letters, digits and '_' only"
    checks = (
        (not FIELD_NAME.fullmatch(field.name), named),
        (
            (field.searched or field.as_name) and not is_term,
            f"a field of type {kind} cannot be searched as text",
        ),
        (is_range and is_term, "only int, float and date fields can be filtered by range"),
        (
            field.filter and not is_range and field.is_numeric,
            f"a field of type {kind} can be filtered by range only",
        ),
        (field.filter and kind is FieldType.JSON, "a field of type json cannot be filtered"),
        (field.facet and not is_term, f"a field of type {kind} has no facets"),
        (field.split and kind not in LIST_TYPES, "'split' is for text[] and tag[]"),
        (kind is FieldType.ENUM and not field.values, "an enum lists its 'values'"),
        (
            field.bounds and kind not in BOUNDED_TYPES,
            "'at_least' and 'at_most' are for int and float",
        ),
        (is_crossed, f"'at_least' is more than 'at_most': {field.bounds}"),
        (field.names_file and kind is not FieldType.TEXT, "'names_file' is for text"),
        (
            kind not in role_types,
            f"role '{field.role}' needs type {' or '.join(sorted(role_types))}, not {kind}",
        ),
    )
    yield from (f"'fields.{field.name}': {problem}" for is_wrong, problem in checks if is_wrong)


def _role_problems(fields: Iterable[FieldSpec]) -> Iterable[str]:
    named = [(field.role, field.name) for field in fields if field.role]
    roles = [role for role, _ in named]
    if FieldRole.TITLE not in roles:
        yield 'no field has role = "title": one text field must'
    for role in dict.fromkeys(roles):
        if roles.count(role) > 1:
            names = ", ".join(name for one, name in named if one is role)
            yield f"role '{role}' is on more than one field: {names}"


def _kind_problems(declaration: Declaration, fields: Fields) -> Iterable[str]:
    kinds = list(declaration.kinds) or [DEFAULT_KIND]
    if declaration.kind and not declaration.kinds:
        yield "'kind': no kinds are declared; declare each as [kinds.NAME]"
    if declaration.kind and "kind" in fields:
        yield "'fields.kind': 'kind' is reserved for the record's kind; rename the field"
    named = [
        (f"fields.{field.name}.kinds", kind) for field in fields.values() for kind in field.kinds
    ]
    for name, relation in declaration.relations.items():
        named += [(f"relations.{name}", kind) for kind in (relation.kind, relation.to)]
    for place, kind in named:
        if kind not in kinds:
            yield f"'{place}': no kind '{kind}'{did_you_mean(kind, kinds)}"


def _relation_problems(declaration: Declaration, fields: Fields) -> Iterable[str]:
    """Yield relations whose integrity edits could not preserve."""
    for name, relation in declaration.relations.items():
        place = f"'relations.{name}"
        naming, copying = fields.get(relation.field), fields.get(relation.copies)
        if naming is not None and naming.type not in TEXT_TYPES:
            yield f"{place}.field': ids are text or text[], not {naming.type}"
        if naming is not None and declaration.editable and naming.filter is None:
            yield (
                f"{place}.field': '{naming.name}' needs a filter, by which edits find the records"
                " that name another"
            )
        if copying is not None and (
            copying.type not in TEXT_TYPES or copying.role is FieldRole.TITLE
        ):
            yield (
                f"{place}.copies': titles are copied to a field of type text or text[] that is not"
                " itself the title"
            )
        if relation.order in fields and fields[relation.order].type is not FieldType.INT:
            yield f"{place}.order': places are of type int, not {fields[relation.order].type}"


def _reading_problems(declaration: Declaration) -> Iterable[str]:
    """Yield what is wrong with the text to embed, the id, and the keys that say how cells are
    read.
    """
    if declaration.embed and not declaration.embed.parts:
        yield (
            "'embed.template': it names no field, as in \"{title}. {tags}\", or has an unmatched"
            " brace"
        )
    if declaration.group and declaration.id not in ("", declaration.group):
        yield (
            f"'group': the value of '{declaration.group}' is the record's id; remove 'id', or name"
            " the same column"
        )
    for name, field in declaration.fields.items():
        yield from (f"'fields.{name}': {problem}" for problem in _cell_problems(field))


def _cell_problems(field: DeclaredField) -> Iterable[str]:
    for key, types in READ_TYPES.items():
        if getattr(field, key) and field.type not in types:
            yield f"'{key}' is for {' and '.join(types)}, not {field.type}"
    if field.unit and (
        field.unit != field.unit.strip() or any(char.isdigit() for char in field.unit)
    ):
        yield f"'unit' is {field.unit!r}; expected the unit alone, as in \"min\""
    if field.marked and (field.type is not FieldType.TAGS or field.path or field.template):
        yield "'marked' is for tag[] without 'path' and 'template'"
    if field.date_order and field.type is not FieldType.DATE and not field.take:
        yield f"'date_order' is for date, not {field.type}"
    if not field.template:
        return
    if not parse_column_template(field.template):
        yield (
            "'template' names no column, as in \"{departure} – {arrival}\", or has an unmatched"
            " brace"
        )
    if field.type not in COMPOSED_TYPES:
        yield f"'template' is for text, url, text[] and tag[], not {field.type}"
    if field.path:
        yield "'template' takes the place of 'path'; remove one of them"


def _reference_problems(declaration: Declaration, fields: Fields) -> Iterable[str]:
    """Yield names of fields and values that there are not, and fields that lack the column that
    their use needs.
    """
    for place, name in _field_references(declaration):
        if name not in fields:
            yield f"'{place}': no field '{name}'{did_you_mean(name, list(fields))}"
    enums = {
        name: words
        for name, words in declaration.values.items()
        if name in fields and fields[name].values
    }
    preferences = declaration.preferences
    yield from _choice_problems("preferences.choices", preferences.choices, fields)
    yield from _choice_problems("preferences.seasons", preferences.seasons, fields)
    yield from _choice_problems("values", enums, fields)
    for place, name in _recommend_references(declaration):
        is_compared = name in fields and not place.startswith("recommend.related")
        if is_compared and not fields[name].needs_column:
            yield f"'{place}': field '{name}' must have a filter or a facet to be compared"
    for place in ("values", "adult"):
        for name in getattr(declaration, place):
            if name in fields and (fields[name].is_numeric or not fields[name].needs_column):
                yield f"'{place}.{name}': field '{name}' must have a filter by values or a facet"


def _choice_problems(place: str, choices: Mapping[str, WordsOf], fields: Fields) -> Iterable[str]:
    """Yield values with words of their own that the field's list does not have."""
    for name, words in choices.items():
        known = fields[name].values if name in fields else ()
        for value in words:
            if value not in known:
                yield f"'{place}.{name}': no value '{value}'{did_you_mean(value, list(known))}"


def _other_words(declaration: Declaration) -> Mapping[str, WordsOf]:
    """Return the other words for the values of each field: `[values]`, and those of
    `[preferences]`.
    """
    words: dict[str, dict[str, Texts]] = {}
    for name, values in (*declaration.values.items(), *declaration.preferences.choices.items()):
        merged = words.setdefault(name, {})
        for value, others in values.items():
            merged[value] = tuple(dict.fromkeys((*merged.get(value, ()), *others)))
    return words


def _field_references(declaration: Declaration) -> Iterable[tuple[str, str]]:
    """Yield every key that names a field, with the name."""
    if declaration.embed:
        yield from (("embed.template", part.column) for part in declaration.embed.parts)
    for name, relation in declaration.relations.items():
        named = (("field", relation.field), ("copies", relation.copies), ("order", relation.order))
        yield from ((f"relations.{name}.{key}", of) for key, of in named if of or key == "field")
    preferences = declaration.preferences
    yield from ((f"known.{name}", name) for name in declaration.known)
    yield from (("telling", name) for name in declaration.telling)
    yield from (("search.named", name) for name in declaration.search.named)
    yield from (
        (place, name) for place in ("values", "adult") for name in getattr(declaration, place)
    )
    for key in ("units", "multiples", "choices", "seasons", "lengths"):
        yield from ((f"preferences.{key}", name) for name in getattr(preferences, key))
    if preferences.length:
        yield "preferences.length.field", preferences.length.field
    if total := preferences.total:
        yield from (
            ("preferences.total.count", total.count),
            ("preferences.total.each", total.each),
        )
    yield from _recommend_references(declaration)


def _recommend_references(declaration: Declaration) -> Iterable[tuple[str, str]]:
    if (recommend := declaration.recommend) is None:
        return
    for signal in ("taxonomy", "format"):
        yield from (
            (f"recommend.{signal}.fields", name) for name in getattr(recommend, signal).fields
        )
    for signal, key in (
        ("temporal", "field"),
        ("popularity", "field"),
        ("related", "field"),
        ("related", "pages"),
    ):
        if name := getattr(getattr(recommend, signal), key):
            yield f"recommend.{signal}.{key}", name


def _symmetric(groups: WordsOf) -> WordsOf:
    """Return each word's synonyms; the relation is symmetric within a group."""
    table: dict[str, list[str]] = {}
    for word, others in groups.items():
        group = [word.lower(), *(other.lower() for other in others)]
        for member in group:
            known = table.setdefault(member, [])
            known += [other for other in group if other != member and other not in known]
    return {word: tuple(others) for word, others in table.items()}
