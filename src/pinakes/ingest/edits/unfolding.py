"""Requests unfolded: a record that is created with the records that name it is one request for each of them.

A book is given with its chapters as the value of `chapters`, the name of the relation from the book's side.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, RelationSpec
from pinakes.errors import ExpectedError, InputError
from pinakes.ingest.edits.draft import EditAction, EditRequest
from pinakes.ingest.edits.places import ARGUMENTS, Place
from pinakes.text.spelling import meant

MOST_CHANGES = 100
"""The most records that one request may create, update or delete by name; what follows from it is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Change:
    """A request for one record, and the change that creates the record it is listed in, if there is one."""

    request: EditRequest
    within: "Change | None" = None
    relation: RelationSpec | None = None
    """The relation by which it names that record."""
    number: int = 0
    """Its place in the list, from 1."""


def unfold(requests: Sequence[EditRequest], spec: CatalogueSpec) -> list[Change]:
    """Return the changes of requests, each record before those that are listed in it; refuse too many."""
    changes: list[Change] = []
    for request in requests:
        changes += _unfolded(Change(request=request), spec)
        if len(changes) > MOST_CHANGES:
            raise InputError(f"more than {MOST_CHANGES} records at once; give them in several calls")
    if not changes:
        raise InputError(f"'changes' is empty; give 1 to {MOST_CHANGES} changes")
    return changes


def listings(kind: str | None, spec: CatalogueSpec) -> dict[str, RelationSpec]:
    """Return the names under which a record of a kind lists those that name it, with their relations."""
    return {
        relation.inverse: relation
        for relation in spec.relations
        if relation.to == kind and relation.inverse and not _has_field(kind, relation.inverse, spec)
    }


def _has_field(kind: str, name: str, spec: CatalogueSpec) -> bool:
    return name in spec.fields and spec.fields[name].is_of(kind)


def _unfolded(change: Change, spec: CatalogueSpec) -> Iterator[Change]:
    """Yield a change without its lists, and then one for each record in them."""
    request = change.request
    kind = meant(request.kind, spec.kinds) if request.kind else next(iter(spec.kinds), "")
    found = listings(kind, spec) if request.action is EditAction.CREATE else {}
    lists = {name: request.fields[name] for name in found if name in request.fields}
    if not lists:
        yield change
        return
    own = {name: value for name, value in request.fields.items() if name not in lists}
    parent = replace(change, request=replace(request, fields=own))
    yield parent
    for name, items in lists.items():
        try:
            listed = _items(items, name)
        except ExpectedError as error:
            raise type(error)(request.place.locate(error.message, {name})) from error
        for index, item in enumerate(listed):
            path = f"{request.place.fields or 'fields'}.{name}.{index}"
            inner = _request_of(item, found[name], spec, Place(path, path))
            yield from _unfolded(Change(request=inner, within=parent, relation=found[name], number=index + 1), spec)


def _items(given: Any, name: str) -> list[Mapping[str, Any] | str]:
    """Return the records of a list, each a name or an object of its fields."""
    items = [] if given is None else given
    if not isinstance(items, list) or not all(isinstance(item, Mapping | str) for item in items):
        raise InputError(f"'{name}': expected a list of names, or of objects with the fields of each")
    return items


def _request_of(
    item: Mapping[str, Any] | str, relation: RelationSpec, spec: CatalogueSpec, place: Place
) -> EditRequest:
    """Return the request to create a record that is listed in another."""
    if isinstance(item, str):
        item = {spec.title_field.name: item}
    is_whole = "fields" in item and "fields" not in spec.fields and set(item) <= set(ARGUMENTS)
    stated = item["fields"] if is_whole and isinstance(item["fields"], Mapping) else item
    fields = {name: value for name, value in stated.items() if name != "id"}
    record_id = item.get("id")
    return EditRequest(
        action=EditAction.CREATE,
        kind=relation.kind,
        id=record_id if isinstance(record_id, str) else None,
        fields=fields,
        place=place,
    )
