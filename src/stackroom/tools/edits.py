"""The tool `catalog.mutate` over editable catalogues, and `changelog://recent`, their changes,
newest first.

The tool finds which catalogue is meant, and which records, by id or name. Changes by calls of tools
are listed one by one. Changes without a call, as a build or an import makes by the thousand, are
one entry for each run of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BeforeValidator, Field

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ExpectedError, InputError, NotFoundError, did_you_mean
from stackroom.frozen import frozen
from stackroom.ingest.edits.apply import Edits, is_visible, record_change
from stackroom.ingest.edits.changes import MOST_CHANGES, NAMES_LISTED, nearest_labels
from stackroom.ingest.edits.changes import scope_of as scope_of_kind
from stackroom.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction, EditPlan, EditRequest
from stackroom.ingest.edits.values import WHOLE_REQUEST, Place, require_id, run_each
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.scope import Scope
from stackroom.search.names import example_id, find_by_id, find_namesakes
from stackroom.shelf.port import Author, Op, PastChange, Shelf
from stackroom.text.normalise import meant
from stackroom.text.safe import shorten
from stackroom.tools.budget import Continuation, PricedParams, PricedResult, json_text
from stackroom.tools.catalogue import OpenCatalogue, ask_each
from stackroom.tools.faces.mcp import Words
from stackroom.tools.operation import AnyOperation, Audit, Faces, Needs, Operation, Tool
from stackroom.tools.own_storage import OwnChange, OwnKinds
from stackroom.tools.resources import (
    ContentList,
    ResourceEntry,
    ResourceSpec,
    wrong_cursor,
)
from stackroom.tools.spec import BARE_LIST, GenericParams, GenericResult, one_of, optional

EDIT_TOOL = "catalog.mutate"
LONGEST_GUIDE = 220  # the most characters of the names of fields in the tool's description
# the actions on a record, which may be given by its name
BY_NAME = (EditAction.UPDATE, EditAction.DELETE)
UNCHANGED = "nothing to change: it is so already"
SCHEME = "changelog://"
RECENT = "recent"
CHANGES_AT_ONCE = 500
CHANGES_READ = 5_000  # at most this many changes of each catalogue are read
LONGEST_VALUE = 60


def _parsed(value: Any) -> Any:
    """Return an object or a list that a client has sent as JSON text; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


Fields = Annotated[dict[str, Any] | None, BeforeValidator(_parsed)]


class ChangeParams(GenericParams):
    """One of several changes."""

    action: EditAction | None = None
    kind: str | None = None
    id: str | None = None
    fields: Fields = None
    cascade: bool = False


class MutateParams(PricedParams, GenericParams):
    """The arguments of `catalog.mutate`: one change, or several that take what they lack from
    it.
    """

    action: Annotated[EditAction | None, one_of(EditAction)] = None
    kind: str | None = None
    id: str | None = optional("Id or name of the record; for undo the call_id")
    fields: Fields = None
    changes: Annotated[list[ChangeParams] | None, BeforeValidator(_parsed), BARE_LIST] = optional(
        "Several, all or none: [{action, kind, id, fields}]", max_length=MOST_CHANGES
    )
    preview: bool = Field(default=False, description="Show what would change")
    plan: str | None = optional("From a preview, to apply exactly it")
    cascade: bool = Field(default=False, description="Also delete records that refer to it")

    def after(self, count: int) -> Continuation:
        """Return how to get the changes after the first ones: once made, from the changelog."""
        return (
            super().after(count)
            if self.preview
            else Continuation("changelog://recent has the others")
        )


class MutateInCatalogueParams(MutateParams):
    """The arguments of `catalog.mutate` where several catalogues may be edited."""

    catalogue: str | None = None


class ChangedField(GenericResult):
    """A field before and after."""

    field: str
    before: Any
    after: Any


class ChangedRecord(GenericResult):
    """A record that changed."""

    id: str
    kind: str
    op: Op
    fields: list[ChangedField]


class MutateResult(PricedResult, GenericResult):
    """The answer of `catalog.mutate`."""

    paged: ClassVar[str] = "changes"
    long_texts: ClassVar[tuple[str, ...]] = ("fields.before", "fields.after")

    applied: bool
    plan: str | None
    changes: list[ChangedRecord]
    total: int
    has_more: bool
    call_id: str | None
    notes: list[str]


def _result_of(
    principal: Principal,
    plan: EditPlan,
    *,
    token: str | None = None,
    call_id: str | None = None,
    notes: list[str],
) -> MutateResult:
    """Return the answer of a plan that was applied (with a call id) or previewed (with a token)."""
    seen = [change for change in plan.changes if is_visible(change, principal.visibility)]
    hidden = len(plan.changes) - len(seen)
    said = [f"{_counted(hidden)} that you may not see follow too"] if hidden else []
    changed = list(map(ChangedRecord.model_validate, seen))
    return _answer(
        changed,
        [*notes, *said, *([] if plan.changes else [UNCHANGED])],
        call_id=call_id,
        plan=token,
    )


def _result_of_own(kind: str, change: OwnChange | None, call_id: str) -> MutateResult:
    """Return the answer of a change of something that belongs to the caller; None: it was so
    already.
    """
    if change is None:
        return _answer([], [UNCHANGED], call_id=None)
    before, after = change.before, change.after
    fields = [
        ChangedField(field=name, before=before.get(name), after=after.get(name))
        for name in {**before, **after}
    ]
    changed = ChangedRecord(id=change.id, kind=kind, op=change.op, fields=fields)
    return _answer([changed], list(change.notes), call_id=call_id)


def _answer(
    changes: list[ChangedRecord], notes: list[str], *, call_id: str | None, plan: str | None = None
) -> MutateResult:
    return MutateResult(
        applied=call_id is not None,
        plan=plan,
        changes=changes,
        total=len(changes),
        has_more=False,
        call_id=call_id,
        notes=notes,
    )


def _counted(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _result_text(result: MutateResult) -> str:
    """Return what changed, or would change, one line for each record."""
    head = "nothing was changed: 0 records"
    if result.plan:
        head = f"preview: {_counted(result.total)} would change (plan {result.plan})"
    elif result.applied:
        head = f"applied to {_counted(result.total)} (call {result.call_id})"
    lines = [
        f"{change.op} {change.kind} {change.id}:"
        f" {'; '.join(_field_text(field, change.op) for field in change.fields)}"
        for change in result.changes
    ]
    more = (
        [f"has more: {len(result.changes)} of {result.total} records are shown"]
        if result.has_more
        else []
    )
    return "\n".join([head, *lines, *more, *result.notes])


def _field_text(change: ChangedField, op: Op) -> str:
    """Return a field's old and new value; of a created or deleted record, the only one."""
    before, after = json_text(change.before), json_text(change.after)
    values = {Op.INSERT: after, Op.DELETE: before, Op.UPDATE: f"{before} → {after}"}
    return f"{change.field} {values[op]}"


class EditTools:
    """The edit tool over editable catalogues."""

    def __init__(
        self, catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()
    ) -> None:
        self._edits = {
            one.name: Edits(shelf=one.shelf, embedder=one.searcher.embedder) for one in catalogues
        }
        self._own = {kind: kinds for kinds in own_kinds for kind in kinds.fields}

    def mutate(self, principal: Principal, params: MutateParams, call_id: str) -> MutateResult:
        """Plan an edit, and apply it unless only a preview is asked for."""
        requests = _requests_of(params)
        if any(request.kind in self._own for request in requests):
            return self._change_own(principal, params, requests[0], call_id)
        stated = params.catalogue if isinstance(params, MutateInCatalogueParams) else None
        name = _choose(self._edits, principal, stated, requests)
        edits, scope = self._edits[name], Scope(visibility=principal.visibility)
        meant, notes = _with_ids(
            requests, name, edits.shelf, scope, is_planned=params.plan is not None
        )
        if params.preview:
            plan = edits.plan(*meant, visibility=principal.visibility)
            return _result_of(
                principal, plan, token=plan.token if plan.changes else None, notes=notes
            )
        author = Author(principal=principal.name, call_id=call_id)
        applied = edits.apply(
            *meant, author=author, token=params.plan, visibility=principal.visibility
        )
        made = call_id if applied.plan.changes else None
        return _result_of(principal, applied.plan, call_id=made, notes=[*notes, *applied.notes])

    def _change_own(
        self, who: Principal, params: MutateParams, request: EditRequest, call_id: str
    ) -> MutateResult:
        """Change something that belongs to the caller, at once."""
        if params.preview or params.plan or params.changes or request.action is EditAction.UNDO:
            raise InputError(
                f"a {request.kind} is changed alone and at once: give 'action' (create, update,"
                " delete), 'kind', 'id' and 'fields'; delete takes a creation back"
            )
        return _result_of_own(
            str(request.kind), self._own[str(request.kind)].change(who, request), call_id
        )


def edit_tools(
    catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()
) -> list[AnyOperation]:
    """Declare the edit tool; none where no catalogue is editable."""
    editable = [one for one in catalogues if one.spec.editable]
    return [edit_operation(editable, own_kinds)] if editable else []


def edit_operation(
    editable: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()
) -> AnyOperation:
    """Declare how records of these catalogues, and what belongs to users, are changed."""
    tools, several = EditTools(editable, own_kinds), len(editable) > 1

    def words(_catalogues: Sequence[OpenCatalogue]) -> Words:
        of_users = {kind: names for kinds in own_kinds for kind, names in kinds.fields.items()}
        kinds = dict.fromkeys(
            [*(kind for catalogue in editable for kind in catalogue.spec.kinds), *of_users]
        )
        properties: dict[str, Any] = {
            "kind": {"type": "string", "enum": list(kinds)},
            "fields": {
                "type": "object",
                "description": f"Values to set; null removes. {_field_guide(editable, of_users)}",
            },
        }
        if several:
            properties["catalogue"] = {"type": "string", "enum": [one.name for one in editable]}
        return Words(properties=properties)

    return Operation(
        name=EDIT_TOOL,
        summary="Create, update, delete records; undo; preview first.",
        params=MutateInCatalogueParams if several else MutateParams,
        result=MutateResult,
        needs=Needs(any_of=(Action.EDIT_CATALOG,)),
        cost=Cost.WRITE,
        run=lambda call, params: tools.mutate(call.principal, params, call.call_id),
        only_looks=lambda given: given.get("preview") is True,
        faces=Faces(
            tool=Tool(words=words), audit=Audit(count_of=attrgetter("total")), text=_result_text
        ),
    )


def _field_guide(editable: Sequence[OpenCatalogue], of_users: Mapping[str, Sequence[str]]) -> str:
    """Return the fields that each kind has, in a bounded length: those of every kind first."""
    specs = list({one.spec.name: one.spec for one in editable}.values())
    own = [f"{kind}: {', '.join(names)}" for kind, names in of_users.items() if names]
    guide = "; ".join([*(part for spec in specs for part in _field_names(spec)), *own])
    return (
        guide if len(guide) <= LONGEST_GUIDE else f"{guide[:LONGEST_GUIDE].rsplit(', ', 1)[0]}, …"
    )


def _field_names(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the fields of every kind, and then those of each kind alone, with related records by
    name.
    """
    ids = {relation.field for relation in spec.relations if relation.copies}
    shown = [field for field in spec.fields.values() if field.shown and field.name not in ids]
    yield ", ".join(field.name for field in shown if all(field.is_of(kind) for kind in spec.kinds))
    for kind in spec.kinds:
        own = [field.name for field in shown if field.kinds and field.is_of(kind)]
        if own:
            yield f"{kind}: {', '.join(own)}"


def _requests_of(params: MutateParams) -> list[EditRequest]:
    """Return the requests of a call, with ids and names as they are given."""
    if params.changes is None:
        return [_request_of(params, params, WHOLE_REQUEST)]
    if params.id is not None or params.fields is not None:
        raise InputError(
            "'id' and 'fields' are given in each of 'changes', not next to it; move them there"
        )
    return [
        _request_of(change, params, Place(f"changes.{number}", f"changes.{number}.fields"))
        for number, change in enumerate(params.changes)
    ]


def _request_of(
    change: ChangeParams | MutateParams, params: MutateParams, place: Place
) -> EditRequest:
    action = change.action or params.action
    if action is None:
        raise InputError(place.locate(f"'action' is missing; one of {', '.join(EditAction)}", ()))
    kind, cascade = change.kind or params.kind, change.cascade or params.cascade
    return EditRequest(
        action=action,
        id=change.id,
        kind=kind,
        fields=change.fields or {},
        cascade=cascade,
        place=place,
    )


def _with_ids(
    requests: Sequence[EditRequest], catalogue: str, shelf: Shelf, scope: Scope, *, is_planned: bool
) -> tuple[list[EditRequest], list[str]]:
    """Return the requests with ids as the catalogue has them, and notes on names that were taken
    for ids.

    With the plan of a preview, a name that is not of exactly one record is left to the planner.
    """
    notes: list[str] = []

    def with_id(request: EditRequest) -> EditRequest:
        if not request.id or request.action not in BY_NAME:
            return request
        try:
            record_id, taken = _meant(request, catalogue, shelf, scope)
        except ExpectedError:
            if is_planned:
                return request
            raise
        notes.extend(taken)
        return replace(request, id=record_id)

    return run_each(
        requests, with_id, place_of=lambda one: one.place, fields=shelf.spec.fields
    ), notes


def _meant(
    request: EditRequest, catalogue: str, shelf: Shelf, scope: Scope
) -> tuple[str, list[str]]:
    """Return the id of the record that an id or a name means; refuse a name that is not of exactly
    one record.
    """
    stated, reader, spec = request.id or "", shelf.reader(), shelf.spec
    require_id(stated, longest=LONGEST_SOURCE_ID)
    key = find_by_id(reader, stated, scope=scope, catalogue=catalogue)
    if key is not None:
        return reader.ids([key])[0], []
    of_kind = scope_of_kind(scope, request.kind)
    named = find_namesakes(reader, spec, stated, scope=of_kind)
    if len(named) == 1:
        return named[0].record.id, [f"'{stated[:80]}' was taken for {named[0].label}"]
    if named:
        listed = "; ".join(one.label for one in named[:NAMES_LISTED])
        raise InputError(f"'id': several are called '{stated[:80]}'; give the id of one: {listed}")
    near = nearest_labels(reader, spec, stated, scope=of_kind)
    hint = (
        f"; did you mean {' or '.join(near)}?"
        if near
        else f"; an id looks like '{example_id(reader, scope=scope)}'"
    )
    raise NotFoundError(f"there is no record '{stated[:80]}' in '{catalogue}'{hint}")


def _choose(
    editable: Mapping[str, Edits],
    who: Principal,
    stated: str | None,
    requests: Sequence[EditRequest],
) -> str:
    """Return the catalogue that is meant: the named one, or the only one that the requests can be
    about.
    """
    known = list(editable)
    asked = meant(stated, known) if stated is not None else None
    if asked is not None and asked not in known:
        hint = did_you_mean(asked, known)
        raise NotFoundError(
            f"no editable catalogue {asked[:60]!r}{hint}; there are {', '.join(known)}"
        )
    if asked is not None or len(known) == 1:
        return asked or known[0]
    ids = [
        require_id(request.id, longest=LONGEST_SOURCE_ID).partition("/")
        for request in requests
        if request.id
    ]
    # as in `library/author-woolf`
    named = {name for name, _, rest in ids if name in known and rest}
    if len(named) == 1:
        return named.pop()
    scope = Scope(visibility=who.visibility)
    asked_each = ask_each(
        editable, lambda edits: all(_is_about(request, edits.shelf, scope) for request in requests)
    )
    able = [name for name, is_able in asked_each.found.items() if is_able]
    # one that cannot be read may be the one that is meant
    if len(able) == 1 and not asked_each.skipped:
        return able[0]
    raise InputError(f"'catalogue' is missing; one of {', '.join(known)}")


def _is_about(request: EditRequest, shelf: Shelf, scope: Scope) -> bool:
    """Tell whether a request can be about a catalogue: it has the record, the change or the kind
    that is named.
    """
    if request.action is EditAction.CREATE:
        return meant(request.kind or "", shelf.spec.kinds) in shelf.spec.kinds
    if not request.id:
        return False
    if request.action is EditAction.UNDO:
        return bool(shelf.history().list_changes(call_id=request.id, limit=1))
    return find_by_id(shelf.reader(), request.id, scope=scope) is not None


@frozen
class _Entry:
    """An entry of the changelog: a change by a call, or a run of changes without a call."""

    catalogue: str
    changes: Sequence[PastChange]

    @property
    def cursor(self) -> str:
        """Its name in a cursor."""
        return f"{self.catalogue}:{self.changes[0].change_no}"

    def plain(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        newest, oldest = self.changes[0], self.changes[-1]
        shown = {
            "catalogue": self.catalogue,
            "change_no": newest.change_no,
            "at": _time(newest),
            "principal": newest.author.principal,
        }
        if newest is oldest:
            call = {"call_id": newest.author.call_id} if newest.author.call_id else {}
            return {**shown, **call, **_told(newest)}
        kinds = Counter(
            record.kind for change in self.changes if (record := change.after or change.before)
        )
        return {
            **shown,
            "op": "import",
            "first_change_no": oldest.change_no,
            "first_at": _time(oldest),
            **Counter(str(change.op) for change in self.changes),
            "kinds": dict(kinds.most_common()),
        }


def read_changelog(
    catalogues: Sequence[OpenCatalogue], principal: Principal, rest: str
) -> ContentList | None:
    """Return the changes of these catalogues that the principal may see, newest first."""
    if rest != RECENT:
        return None
    by_name = {catalogue.name: catalogue for catalogue in catalogues}
    changes = ask_each(by_name, lambda catalogue: list(_iter_visible(catalogue, principal)))
    entries: list[_Entry] = []
    for name, some in changes.found.items():  # those by calls one by one, others by the run
        for (is_called, _), run in groupby(
            some, key=lambda one: (bool(one.author.call_id), one.author.principal)
        ):
            made = list(run)
            parts = [[change] for change in made] if is_called else [made]
            entries += [_Entry(catalogue=name, changes=part) for part in parts]
    entries.sort(
        key=lambda one: (one.changes[0].at, one.changes[0].change_no, one.catalogue), reverse=True
    )

    def after(cursor: str | None) -> Iterator[tuple[str, Any]]:
        start = 0
        if cursor is not None:
            cursors = [entry.cursor for entry in entries]
            if cursor not in cursors:
                raise wrong_cursor()
            start = cursors.index(cursor) + 1
        return ((entry.cursor, entry.plain()) for entry in entries[start:])

    older = [
        name for name in changes.found if by_name[name].shelf.reader().change_no > CHANGES_READ
    ]
    not_listed = f"changes of {', '.join(older)} before the last {CHANGES_READ:,}"
    head = {"not_listed": not_listed} if older else {}
    return ContentList(name="changes", total=len(entries), after=after, head=head)


def edit_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the recent changes as a resource; none where no catalogue is editable."""
    editable = [catalogue for catalogue in catalogues if catalogue.spec.editable]
    if not editable:
        return []
    entry = ResourceEntry(uri=SCHEME + RECENT, name="recent changes", mime_type="application/json")
    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.EDIT_CATALOG,
            entries=lambda _principal: [entry],
            read=partial(read_changelog, editable),
            template=SCHEME + RECENT + "{?max_tokens,cursor}",
            name="changes",
            description="The changes of the catalogues, newest first, in pages.",
        )
    ]


def _iter_visible(catalogue: OpenCatalogue, principal: Principal) -> Iterator[PastChange]:
    """Yield the changes of a catalogue that the principal may see, without those of vectors alone,
    newest first.
    """
    history, before = catalogue.shelf.history(), None
    for _ in range(CHANGES_READ // CHANGES_AT_ONCE):
        page = history.list_changes(limit=CHANGES_AT_ONCE, before=before)
        for change in page:
            if change.before != change.after and is_visible(change, principal.visibility):
                yield change
        if len(page) < CHANGES_AT_ONCE:
            return
        before = page[-1].change_no


def _time(change: PastChange) -> str:
    return change.at.isoformat(timespec="seconds")


def _told(change: PastChange) -> dict[str, Any]:
    """Return what a change did to its record: of an update, each field before and after."""
    as_record = record_change(change)
    fields = {
        field.field: [_brief(field.before), _brief(field.after)]
        if change.op is Op.UPDATE
        else _brief(field.before if change.op is Op.DELETE else field.after)
        for field in as_record.fields
    }
    return {"op": change.op, "kind": as_record.kind, "id": change.id, "fields": fields}


def _brief(value: Any) -> Any:
    """Return a value for one line: a long one as a shortened text."""
    text = value if isinstance(value, str) else json_text(value)
    return value if len(text) <= LONGEST_VALUE else shorten(text, LONGEST_VALUE)
