"""Edits: plan, apply and undo, over any catalogue whose spec says `editable`.

`plan` reads and writes nothing. `apply` plans, embeds new texts, and then, holding the writer lock, checks that the
request still results in the same plan; otherwise it plans again (optimistic concurrency). An edit is one transaction,
and the indexes contain it before the caller gets an answer. With the token of a plan, exactly that plan is applied, or
a ConflictError names who changed what.

If the embedder fails, the edit succeeds without vectors, which the next build or job makes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackroom.embed.port import Embedder
from stackroom.errors import ConflictError, ExpectedError, InputError, StorageError
from stackroom.ingest.edits.changes import plan_changes
from stackroom.ingest.edits.draft import Draft, EditAction, EditPlan, EditRequest
from stackroom.ingest.edits.undo import describe_change, is_visible, plan_undo
from stackroom.ingest.embedding import build_puts, iter_vectors, missing_digests, with_vectors
from stackroom.model.record import Record
from stackroom.model.scope import SEES_EVERYTHING, Visibility
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.port import LOCAL, Author, Delete, PastChange, Put, Shelf

ATTEMPTS = 10
"""The number of times that an edit without a plan's token is planned again after a conflict."""
EMBEDDED_AT_ONCE = 64
SEEN_OF_HISTORY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An applied plan, and notes for the caller."""

    plan: EditPlan
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """The edits of one catalogue."""

    shelf: Shelf
    embedder: Embedder | None = None

    def plan(self, *requests: EditRequest, visibility: Visibility = SEES_EVERYTHING) -> EditPlan:
        """Return the plan of requests that are made together, or refuse them with what would be valid."""
        shelf = self.shelf
        if not shelf.spec.editable:
            raise InputError(f"'{shelf.spec.name}' cannot be edited: its catalogue.toml does not say editable = true")
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
        """Apply requests together; with a plan's token as that plan only, else planned again after other edits."""
        for _ in range(ATTEMPTS if token is None else 1):
            plan = self._planned(requests, token, visibility)
            if not plan.changes:
                return Applied(plan=plan)
            left = [change.after for change in plan.changes if change.after is not None]
            puts, problem = embed_records(left, self.shelf, self.embedder, self.shelf.reader().model)
            with self.shelf.writer().exclusive():
                if self._holds(plan, requests, visibility):
                    unindexed = self._write(puts, plan, author)
                    return Applied(plan=plan, notes=tuple(note for note in (problem, unindexed) if note))
        raise ConflictError(
            f"{self._describe_conflict(plan.change_no, plan.versions, visibility)}; nothing was changed, ask again"
        )

    def _planned(self, requests: Sequence[EditRequest], token: str | None, visibility: Visibility) -> EditPlan:
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
            moved = self._describe_conflict(change_no, [request.id for request in requests], visibility)
            raise ConflictError(f"{moved}; now: {error.message}") from error
        if plan.digest == digest:
            return plan
        if plan.change_no == change_no:
            raise InputError("'plan' was given for another request; ask for a preview of this one")
        moved = self._describe_conflict(change_no, plan.versions, visibility)
        raise ConflictError(f"{moved}; nothing was changed, ask for a new preview")

    def _holds(self, plan: EditPlan, requests: Sequence[EditRequest], visibility: Visibility) -> bool:
        """Tell whether the requests still result in this plan; the caller holds the writer lock."""
        if self.shelf.reader().change_no == plan.change_no:
            return True
        try:
            return self.plan(*requests, visibility=visibility).digest == plan.digest
        except ExpectedError:
            return False

    def _write(self, puts: Sequence[Put], plan: EditPlan, author: Author) -> str | None:
        """Store the plan and index it; return a note where it is stored, and cannot be indexed yet."""
        writer = self.shelf.writer()
        deletes = [Delete(change.id) for change in plan.changes if change.after is None]
        writer.apply([*puts, *deletes], author=author, expected=plan.versions)  # commit point of an edit
        try:
            writer.publish()
        except StorageError as error:
            return f"the change is stored, and shown once it can be indexed: {error.message}"
        return None

    def _describe_conflict(self, change_no: int, ids: Iterable[str | None], visibility: Visibility) -> str:
        """Describe a change made after `change_no`, to the first of these records that has one, and its author."""
        recent = self.shelf.history().list_changes(limit=SEEN_OF_HISTORY)
        since: dict[str | None, PastChange] = {}
        for change in recent:
            if change.change_no > change_no and is_visible(change, visibility):
                since.setdefault(change.id, change)
        if not since:
            return "the catalogue has changed since"
        newest = next(iter(since))
        return describe_change(since[next((record_id for record_id in ids if record_id in since), newest)])


def embed_records(
    records: Sequence[Record], shelf: Shelf, embedder: Embedder | None, model: ModelId | None
) -> tuple[list[Put], str | None]:
    """Return the puts of records with vectors by the shelf's `model`, and a note if some have none yet."""
    spec = shelf.spec
    if spec.embed is None or model is None or embedder is None:
        return [Put(record=record) for record in records], None
    puts, texts = build_puts(records, spec)
    missing = missing_digests(puts, shelf.writer())
    vectors: dict[bytes, Vector] = {}
    problem = ""
    if embedder.model != model:
        problem = f"the catalogue's vectors are by {model}, the embedder is {embedder.model}"
    else:
        wanted = {digest: text for digest, text in texts.items() if digest in missing}
        try:
            vectors.update(iter_vectors(wanted, embedder, batch_size=EMBEDDED_AT_ONCE))
        except ExpectedError as error:
            problem = error.message
    without = missing.difference(vectors)
    lacking = sum(put.embedding is not None and put.embedding.digest in without for put in puts)
    if not lacking:
        return with_vectors(puts, vectors), None
    subject = "1 record has" if lacking == 1 else f"{lacking} records have"
    return with_vectors(puts, vectors), f"{subject} no vector yet and can be found by words alone: {problem}"
