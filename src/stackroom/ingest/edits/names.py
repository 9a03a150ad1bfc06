"""Names given where ids are meant: the record that a name means, or a refusal with those that it could mean.

A name means the record of the batch that has it, else the only stored one. Where several have it, those remain that
have a relation to the same records as the record that names them: of two books of a name, the one by the author of
the chapter.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldType, RelationSpec
from stackroom.errors import InputError
from stackroom.ingest.edits.draft import Draft
from stackroom.ingest.edits.relations import named_by, relations_of
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.search.ids import id_forms
from stackroom.search.names import describe, find_namesakes, resolve_name
from stackroom.shelf.port import ShelfReader
from stackroom.text.normalise import meant
from stackroom.text.titles import MatchedBy, name_spellings

LISTS = (FieldType.TEXTS, FieldType.TAGS)
TITLES = ("title", "name")


def spelt_fields(given: Mapping[str, Any], kind: str, spec: CatalogueSpec) -> dict[str, Any]:
    """Return the given values by the names of the kind's fields; a name that means none, or one given too, stays."""
    own = [field.name for field in spec.fields.values() if field.is_of(kind)]
    spelt: dict[str, Any] = {}
    for name, value in given.items():
        field = _field_meant(name, own, spec)
        if field in given and field != name:
            field = name
        spelt[field] = _as_list(value, name, field, kind, spec) if field in own else value
    return spelt


def _field_meant(name: str, own: list[str], spec: CatalogueSpec) -> str:
    """Return the field that a name means."""
    found = meant(name, own)
    if found in own:
        return found
    plural = meant(f"{name}s", own)
    if plural in own and spec.fields[plural].type in LISTS:
        return plural
    return spec.title_field.name if name.lower() in TITLES else name


def _as_list(value: Any, name: str, field: str, kind: str, spec: CatalogueSpec) -> Any:
    """Return a value as the field holds it: one text given for a list, where one may be meant, and the reverse."""
    related = {one for relation in relations_of(kind, spec) for one in (relation.field, relation.copies)}
    is_list = spec.fields[field].type in LISTS
    if is_list and isinstance(value, str) and (field in related or name != field):
        return [value]
    if not is_list and field in related and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


NAMES_LISTED = 5
SHOWN = 80


def scope_of(scope: Scope, kind: str | None) -> Scope:
    """Return a scope narrowed to a kind, if one is given."""
    return scope.narrowed(AnyOf(KIND_FIELD, (kind,))) if kind else scope


def nearest_labels(reader: ShelfReader, spec: CatalogueSpec, name: str, *, scope: Scope) -> list[str]:
    """Return the records whose names are most like a name that none has."""
    like = resolve_name(reader, spec, name, scope=scope)
    return [*([like.label] if like.label else []), *like.suggestions][:NAMES_LISTED]


class RelatedNames:
    """Finds the records that an edit names, among those of the catalogue as the edit would leave it."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._stored: dict[tuple[str, str], list[Record]] = {}

    def find_ids(self, texts: Iterable[str], relation: RelationSpec, record: Record, *, field: str) -> list[RecordId]:
        """Return the ids of the records that ids or names given in a field mean; refuse a text that means none."""
        found = [self._find_id(text, relation, record, field) for text in texts]
        return list(dict.fromkeys(found))

    def _find_id(self, text: str, relation: RelationSpec, record: Record, field: str) -> RecordId:
        by_id = self._by_id(text, relation.to)
        if by_id is not None and field == relation.field:
            return by_id
        named = _related_alike(self._named(text, relation.to), record, self._draft.spec)
        if len(named) == 1:
            return named[0].id
        if by_id is not None:
            return by_id
        raise InputError(self._describe_refusal(text, named, relation, field))

    def _by_id(self, text: str, kind: str) -> RecordId | None:
        """Return the id that a text is, as it is stored or as a tool has shown it."""
        for form in id_forms(text, catalogue=self._draft.spec.name):
            found = self._draft.find(form)
            if found is not None and found.kind == kind and self._draft.is_visible(found):
                return form
        return None

    def _named(self, text: str, kind: str) -> list[Record]:
        """Return the records of a kind with a name: those that the edit puts, else the stored ones."""
        spec, spelt = self._draft.spec, set(name_spellings(text))
        put = [one for one in self._draft.changed() if one.kind == kind and self._draft.is_visible(one)]
        mine = [one for one in put if spelt.intersection(name_spellings(spec.title_of(one)))]
        if mine:
            return mine
        stored = [self._draft.find(one.id) for one in self._stored_with(text, kind)]
        return [one for one in stored if one is not None and _has_name(one, spelt, spec)]

    def _stored_with(self, text: str, kind: str) -> list[Record]:
        """Return the stored records of a name; those that have it as their title, where there are any."""
        if (text, kind) not in self._stored:
            scope = scope_of(Scope(visibility=self._draft.visibility), kind)
            found = find_namesakes(self._draft.reader, self._draft.spec, text, scope=scope)
            titled = [one.record for one in found if one.by is MatchedBy.TITLE]
            self._stored[text, kind] = titled or [one.record for one in found]
        return self._stored[text, kind]

    def _describe_refusal(self, text: str, named: Sequence[Record], relation: RelationSpec, field: str) -> str:
        draft, shown = self._draft, text[:SHOWN]
        if named:
            listed = "; ".join(describe(draft.spec, one) for one in named[:NAMES_LISTED])
            return f"'{field}': several are called '{shown}'; give the id of one in '{relation.field}': {listed}"
        scope = scope_of(Scope(visibility=draft.visibility), relation.to)
        near = nearest_labels(draft.reader, draft.spec, text, scope=scope)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        title = draft.spec.title_field.name
        how = f'add {{"action": "create", "kind": "{relation.to}", "fields": {{"{title}": "…"}}}} to \'changes\''
        return f"'{field}': there is no {relation.to} '{shown}'{hint}; to create it in the same call, {how}"


def _has_name(record: Record, spelt: set[str], spec: CatalogueSpec) -> bool:
    return any(spelt.intersection(name_spellings(name)) for name in spec.names_of(record))


def _related_alike(found: list[Record], record: Record, spec: CatalogueSpec) -> list[Record]:
    """Return those of several records that name the same others as this one does; all where none does."""
    if len(found) < 2:
        return found
    own = named_by(record, spec)
    alike = [one for one in found if own & named_by(one, spec)]
    return alike or found
