"""Edits: plan, apply and undo, over any catalogue whose spec says `editable`.

`plan` reads and writes nothing. `apply` plans, embeds new texts, and then, holding the writer lock,
checks that the request still results in the same plan; otherwise it plans again (optimistic
concurrency). An edit is one transaction, and the indexes contain it before the caller gets an
answer. With the token of a plan, exactly that plan is applied, or a ConflictError names who changed
what.

If the embedder fails, the edit succeeds without vectors, which the next build or job makes.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.errors import ConflictError, ExpectedError, InputError, NotFoundError, StorageError
from stackroom.frozen import frozen
from stackroom.ingest.edits.changes import plan_changes
from stackroom.ingest.edits.draft import (
    MOST_RECORDS,
    Draft,
    EditAction,
    EditPlan,
    EditRequest,
    RecordChange,
    are_alike,
)
from stackroom.ingest.edits.relations import (
    follow_rename,
    ids_in,
    named_by,
    relations_of,
    take_out,
    titles_of,
    with_value,
)
from stackroom.ingest.embedding import build_puts, iter_vectors, missing_texts, with_vectors
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import SEES_EVERYTHING, Visibility
from stackroom.model.vectors import Vector
from stackroom.shelf.port import LOCAL, Author, Delete, Op, PastChange, Put, Shelf

# the number of times that an edit without a plan's token is planned again after a conflict
ATTEMPTS = 10
EMBEDDED_AT_ONCE = 64
SEEN_OF_HISTORY = 500


@frozen
class Applied:
    """An applied plan, and notes for the caller."""

    plan: EditPlan
    notes: tuple[str, ...] = ()


@frozen
class Edits:
    """The edits of one catalogue."""

    shelf: Shelf
    embedder: Embedder | None = None

    def plan(self, *requests: EditRequest, visibility: Visibility = SEES_EVERYTHING) -> EditPlan:
        """Return the plan of requests that are made together, or refuse them with what would be
        valid.
        """
        shelf = self.shelf
        if not shelf.spec.editable:
            raise InputError(
                f"'{shelf.spec.name}' cannot be edited: its catalogue.toml does not say editable ="
                " true"
            )
        draft = Draft(shelf.spec, shelf.reader(), shelf.history(), visibility)
        if len(requests) == 1 and requests[0].action is EditAction.UNDO:
            plan_undo(draft, requests[0])
        else:
            plan_changes(draft, requests)
        return draft.plan()

    def apply(
        self,
        *requests: EditRequest,
        author: Author = LOCAL,
        token: str | None = None,
        visibility: Visibility = SEES_EVERYTHING,
    ) -> Applied:
        """Apply requests together; with a plan's token as that plan only, else planned again after
        other edits.
        """
        for _ in range(ATTEMPTS if token is None else 1):
            plan = self._planned(requests, token, visibility)
            if not plan.changes:
                return Applied(plan=plan)
            left = [change.after for change in plan.changes if change.after is not None]
            puts, problem = embed_records(left, self.shelf, self.embedder)
            with self.shelf.writer().exclusive():
                if self._holds(plan, requests, visibility):
                    unindexed = self._write(puts, plan, author)
                    return Applied(
                        plan=plan, notes=tuple(note for note in (problem, unindexed) if note)
                    )
        raise ConflictError(
            f"{self._describe_conflict(plan.change_no, plan.versions, visibility)}; nothing was"
            " changed, ask again"
        )

    def _planned(
        self, requests: Sequence[EditRequest], token: str | None, visibility: Visibility
    ) -> EditPlan:
        """Return the plan of requests; refuse one that differs from the plan of the token."""
        if token is None:
            return self.plan(*requests, visibility=visibility)
        known, dash, digest = token.partition("-")
        if not (known.isdecimal() and known.isascii() and len(known) < 19 and dash and digest):
            raise InputError("'plan' is not valid; give the plan of a preview, or leave it out")
        change_no = int(known)
        try:
            plan = self.plan(*requests, visibility=visibility)
        except ExpectedError as error:
            if self.shelf.reader().change_no == change_no:
                raise
            moved = self._describe_conflict(
                change_no, [request.id for request in requests], visibility
            )
            raise ConflictError(f"{moved}; now: {error.message}") from error
        if plan.digest == digest:
            return plan
        if plan.change_no == change_no:
            raise InputError("'plan' was given for another request; ask for a preview of this one")
        moved = self._describe_conflict(change_no, plan.versions, visibility)
        raise ConflictError(f"{moved}; nothing was changed, ask for a new preview")

    def _holds(
        self, plan: EditPlan, requests: Sequence[EditRequest], visibility: Visibility
    ) -> bool:
        """Tell whether the requests still result in this plan; the caller holds the writer lock."""
        if self.shelf.reader().change_no == plan.change_no:
            return True
        try:
            return self.plan(*requests, visibility=visibility).digest == plan.digest
        except ExpectedError:
            return False

    def _write(self, puts: Sequence[Put], plan: EditPlan, author: Author) -> str | None:
        """Store the plan and index it; return a note where it is stored, and cannot be indexed
        yet.
        """
        writer = self.shelf.writer()
        deletes = [Delete(change.id) for change in plan.changes if change.after is None]
        # commit point of an edit
        writer.apply([*puts, *deletes], author=author, expected=plan.versions)
        try:
            writer.publish()
        except StorageError as error:
            return f"the change is stored, and shown once it can be indexed: {error.message}"
        return None

    def _describe_conflict(
        self, change_no: int, ids: Iterable[str | None], visibility: Visibility
    ) -> str:
        """Describe a change made after `change_no`, to the first of these records that has one, and
        its author.
        """
        since: dict[str | None, PastChange] = {}
        for change in self.shelf.history().list_changes(limit=SEEN_OF_HISTORY):
            if change.change_no > change_no and is_visible(change, visibility):
                since.setdefault(change.id, change)
        if not since:
            return "the catalogue has changed since"
        newest = next(iter(since))
        return describe_change(
            since[next((record_id for record_id in ids if record_id in since), newest)]
        )


def embed_records(
    records: Sequence[Record], shelf: Shelf, embedder: Embedder | None
) -> tuple[list[Put], str | None]:
    """Return the puts of records with vectors by the shelf's model, and a note if some have none
    yet.
    """
    spec, model = shelf.spec, shelf.reader().model
    if spec.embed is None or model is None or embedder is None:
        return [Put(record=record) for record in records], None
    puts, texts = build_puts(records, spec)
    missing = missing_texts(puts, texts, shelf.writer())
    vectors: dict[bytes, Vector] = {}
    problem = ""
    if embedder.model != model:
        problem = f"the catalogue's vectors are by {model}, the embedder is {embedder.model}"
    else:
        try:
            vectors.update(iter_vectors(missing, embedder, batch_size=EMBEDDED_AT_ONCE))
        except ExpectedError as error:
            problem = error.message
    without = missing.keys() - vectors.keys()
    lacking = sum(put.embedding is not None and put.embedding.digest in without for put in puts)
    if not lacking:
        return with_vectors(puts, vectors), None
    subject = "1 record has" if lacking == 1 else f"{lacking} records have"
    note = f"{subject} no vector yet and can be found by words alone: {problem}"
    return with_vectors(puts, vectors), note


@frozen
class UndoneRecord:
    """A record before and after the call that is undone, and as it is now."""

    id: RecordId
    started: Record | None
    ended: Record | None
    now: Record | None

    @property
    def is_undone(self) -> bool:
        """Whether the fields that the call changed are as they were before it."""
        if self.ended is None:
            return self.now is not None
        if self.started is None or self.now is None:
            return are_alike(self.now, self.started)
        return self.now.audiences == self.started.audiences and _agree(
            self.now, self.started, self.changed
        )

    @property
    def changed(self) -> list[str]:
        """The fields that the call changed."""
        return [
            field.field
            for field in RecordChange(id=self.id, before=self.started, after=self.ended).fields
        ]

    def touched(self, spec: CatalogueSpec) -> list[str]:
        """Return the fields among these that were changed since, beyond the names of related
        records.
        """
        if self.started is None or self.ended is None or self.now is None:
            return []
        copying = (
            (ids_in(self.now, one), ids_in(self.ended, one), one)
            for one in relations_of(self.now.kind, spec)
        )
        # of records that are still named
        copies = {one.copies for now, ended, one in copying if now and now == ended}
        return [
            name
            for name in self.changed
            if name not in copies and not _agree(self.now, self.ended, [name])
        ]

    def can_restore(self, spec: CatalogueSpec) -> bool:
        """Tell whether nothing that the call did was changed since."""
        if self.started is None or self.ended is None or self.now is None:
            return are_alike(self.now, self.ended)
        return self.now.audiences == self.ended.audiences and not self.touched(spec)

    def restored(self, spec: CatalogueSpec) -> Record | None:
        """Return the record as the undo leaves it; None where it is deleted, or its copied names
        follow others.
        """
        if (
            self.started is None
            or self.ended is None
            or self.now is None
            or are_alike(self.now, self.ended)
        ):
            return self.started
        copies = {relation.copies for relation in relations_of(self.now.kind, spec)}
        if copies.issuperset(self.changed) and not _agree(self.now, self.ended, self.changed):
            return None
        record = replace(self.now, audiences=self.started.audiences)
        for name in self.changed:
            record = with_value(record, name, self.started.get(name))
        return record


def plan_undo(draft: Draft, request: EditRequest) -> None:
    """Draft the inverse of a call; refuse if a field that it changed has changed since, or if it is
    undone already.

    Of a record that was changed since, the fields that the call changed are restored, and the
    others stay. What is as it was before the call already is left alone.
    """
    if request.fields or request.kind:
        raise InputError(
            "an undo takes an 'id' alone: the id of the call or the number of the change to undo"
        )
    group = _group_of(draft, str(request.get_id()))
    last = max(change.change_no for change in group)
    records = _records_of(draft, group)
    left = [record for record in records if not record.is_undone]
    if not left:
        raise ConflictError(_describe_undone(draft, records, after=last))
    for one in left:
        if not one.can_restore(draft.spec):
            raise ConflictError(f"{_describe_conflict(draft, one, after=last)}; undo that first")
    _restore(draft, records, last=last, cascade=request.cascade)


def _restore(draft: Draft, records: Iterable[UndoneRecord], *, last: int, cascade: bool) -> None:
    """Put the records as they were, and update the names that follow from it."""
    left = {one.id: one for one in records if not one.is_undone}
    restored = {
        one.id: record for one in left.values() if (record := one.restored(draft.spec)) is not None
    }
    for record in restored.values():
        draft.put(record)
    take_out(
        draft,
        [one.now for one in left.values() if one.started is None and one.now is not None],
        cascade=cascade,
    )
    named = {one for record in restored.values() for one in named_by(record, draft.spec)}
    ours = {one.id for one in records}
    renamed = {one for one in named - ours if _is_renamed(draft, one, since=last)}
    for record in restored.values():
        _settle_restored(draft, record, renamed=renamed)
    following = left.keys() - restored.keys()
    for one in left.values():
        if one.ended is not None:
            follow_rename(draft, one.ended, but=ours - following)


def _records_of(draft: Draft, group: Iterable[PastChange]) -> list[UndoneRecord]:
    """Return the records of a call's changes, which are given newest first."""
    changes = list(group)
    # oldest first: the last after stays
    ended = {change.id: change.after for change in reversed(changes)}
    started: Mapping[RecordId, Record | None] = {change.id: change.before for change in changes}
    return [
        UndoneRecord(id=one, started=started[one], ended=end, now=draft.find(one))
        for one, end in ended.items()
    ]


def _agree(one: Record, other: Record, fields: Iterable[str]) -> bool:
    """Tell whether two records have the same values in these fields, as they are stored."""
    names = set(fields)
    fields_of = [
        {name: record.get(name) for name in names & record.fields.keys()} for record in (one, other)
    ]
    return are_alike(*(Record(id=one.id, fields=some) for some in fields_of))


def _settle_restored(draft: Draft, record: Record, *, renamed: Container[RecordId]) -> None:
    """Require that the records a restored one names exist, and update the titles of those renamed
    since.
    """
    before = draft.find_before(record.id)
    for relation in relations_of(record.kind, draft.spec):
        named = ids_in(record, relation)
        gone = [
            one
            for one in named
            if (target := draft.find(one)) is None or target.kind != relation.to
        ]
        if gone and (before is None or ids_in(before, relation) != named):
            raise ConflictError(
                f"'{record.id}' cannot be restored: the {relation.to} '{gone[0]}' no longer exists;"
                " restore it first"
            )
        for one in named if relation.copies else ():
            if one in renamed:
                now = draft.find(record.id) or record
                draft.put(
                    with_value(now, relation.copies, titles_of(draft, now, relation, only=one))
                )


def _is_renamed(draft: Draft, record_id: RecordId, *, since: int) -> bool:
    """Tell whether a record was renamed after a change."""
    now = draft.find(record_id)
    later = _later_changes(draft, record_id, after=since)
    was = later[-1].before if later else None
    return (
        now is not None and was is not None and draft.spec.title_of(now) != draft.spec.title_of(was)
    )


def _group_of(draft: Draft, asked: str) -> list[PastChange]:
    """Return the changes of a call, given its id or the number of one of its changes; newest
    first.
    """
    history = draft.history
    group = history.list_changes(call_id=asked, limit=MOST_RECORDS + 1)
    if not group and asked.isdecimal() and len(asked) < 16:
        group = history.list_changes(before=int(asked) + 1, limit=1)
        if group and group[0].change_no != int(asked):
            group = []
        if group and group[0].author.call_id:
            group = history.list_changes(call_id=group[0].author.call_id, limit=MOST_RECORDS + 1)
    group = [change for change in group if change.change_no <= draft.reader.change_no]
    hidden = [change for change in group if not is_visible(change, draft.visibility)]
    if len(hidden) == len(group) or not all(
        _is_copied_title(change, draft.spec) for change in hidden
    ):
        raise NotFoundError(
            f"there is no change '{asked[:80]}'; changelog://recent has the calls and their changes"
        )
    if len(group) > MOST_RECORDS:
        raise InputError(
            f"more than {MOST_RECORDS} changes were made by '{asked}'; they cannot be undone in one"
            " call"
        )
    return group


def record_change(change: PastChange) -> RecordChange:
    """Return what a past change did to its record."""
    return RecordChange(id=change.id, before=change.before, after=change.after)


def is_visible(change: RecordChange | PastChange, visibility: Visibility) -> bool:
    """Tell whether a caller may see a record both before and after a change."""
    return all(
        visibility.sees(record.audiences)
        for record in (change.before, change.after)
        if record is not None
    )


def _is_copied_title(change: PastChange, spec: CatalogueSpec) -> bool:
    """Tell whether a change only updated copied titles after a rename."""
    if change.before is None or change.after is None:
        return False
    copying = {relation.copies for relation in relations_of(change.after.kind, spec)}
    changed = record_change(change).fields
    return change.before.audiences == change.after.audiences and all(
        one.field in copying for one in changed
    )


def _describe_undone(draft: Draft, records: Iterable[UndoneRecord], *, after: int) -> str:
    """Say that a call is undone already, and by which change."""
    undoing = [
        change
        for record in records
        for change in _later_changes(draft, record.id, after=after)
        if is_visible(change, draft.visibility)
        and (change.op is not Op.UPDATE or _changes_any(change, record.changed))
    ]
    by = max(undoing, key=lambda change: change.change_no, default=None)
    if by is None:
        return "it is undone already; nothing was changed"
    return (
        f"it is undone already (change {by.change_no} by {by.author.principal}); to do it again,"
        " undo that change"
    )


def _describe_conflict(draft: Draft, one: UndoneRecord, *, after: int) -> str:
    """Describe who changed a record after a change."""
    later = _later_changes(draft, one.id, after=after)
    if not all(is_visible(change, draft.visibility) for change in later):
        return "a record that you may not see has changed since"
    touched = set(one.touched(draft.spec))
    moved = next((change for change in later if not touched or _changes_any(change, touched)), None)
    if moved is None:
        return f"'{one.id}' has changed since"
    return describe_change(moved) + (f" in {', '.join(sorted(touched))}" if touched else "")


def _changes_any(change: PastChange, fields: Container[str]) -> bool:
    return any(field.field in fields for field in record_change(change).fields)


def _later_changes(draft: Draft, record_id: RecordId, *, after: int) -> list[PastChange]:
    """Return the changes of a record after another one, newest first, without those of its vector
    alone.
    """
    changes = draft.history.list_changes(
        ids=[record_id], before=draft.reader.change_no + 1, limit=MOST_RECORDS
    )
    return [
        change
        for change in changes
        if change.change_no > after and not are_alike(change.before, change.after)
    ]


def describe_change(change: PastChange) -> str:
    """Describe who changed a record, and when."""
    done = "deleted" if change.op is Op.DELETE else "changed"
    return (
        f"'{change.id}' was {done} since by {change.author.principal} (change {change.change_no}, "
        f"{change.at:%Y-%m-%d %H:%M:%S} UTC)"
    )
