"""`changelog://recent`: the changes of editable catalogues, newest first, one line each.

Changes by calls of tools are listed one by one. Changes without a call, as a build or an import makes by the thousand,
are one entry for each run of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from stackroom.ingest.edits.apply import is_visible, record_change
from stackroom.model.principal import Action, Principal
from stackroom.shelf.port import Op, PastChange
from stackroom.text.safe import shorten
from stackroom.tools.budget import json_text
from stackroom.tools.catalogue import OpenCatalogue, ask_each
from stackroom.tools.resources.resource import ContentList, ResourceEntry, ResourceSpec, wrong_cursor

SCHEME = "changelog://"
RECENT = "recent"
CHANGES_AT_ONCE = 500
CHANGES_READ = 5_000
"""At most this many changes of each catalogue are read."""
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
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
        by = {"at": _time(newest), "principal": newest.author.principal}
        shown = {"catalogue": self.catalogue, "change_no": newest.change_no, **by}
        if newest is oldest:
            call = {"call_id": newest.author.call_id} if newest.author.call_id else {}
            return {**shown, **call, **_told(newest)}
        kinds = Counter(record.kind for change in self.changes if (record := change.after or change.before))
        return {
            **shown,
            "op": "import",
            "first_change_no": oldest.change_no,
            "first_at": _time(oldest),
            **Counter(str(change.op) for change in self.changes),
            "kinds": dict(kinds.most_common()),
        }


def read_changelog(catalogues: Sequence[OpenCatalogue], principal: Principal, rest: str) -> ContentList | None:
    """Return the changes of these catalogues that the principal may see, newest first."""
    if rest != RECENT:
        return None
    by_name = {catalogue.name: catalogue for catalogue in catalogues}
    changes = ask_each(by_name, lambda catalogue: list(_iter_visible(catalogue, principal)))
    entries: list[_Entry] = []
    for name, some in changes.found.items():  # those by calls one by one, others by the run
        for (is_called, _), run in groupby(some, key=lambda one: (bool(one.author.call_id), one.author.principal)):
            made = list(run)
            parts = [[change] for change in made] if is_called else [made]
            entries += [_Entry(catalogue=name, changes=part) for part in parts]
    entries.sort(key=lambda one: (one.changes[0].at, one.changes[0].change_no, one.catalogue), reverse=True)

    def after(cursor: str | None) -> Iterator[tuple[str, Any]]:
        start = 0
        if cursor is not None:
            cursors = [entry.cursor for entry in entries]
            if cursor not in cursors:
                raise wrong_cursor()
            start = cursors.index(cursor) + 1
        return ((entry.cursor, entry.plain()) for entry in entries[start:])

    older = [name for name in changes.found if by_name[name].shelf.reader().change_no > CHANGES_READ]
    head = {"not_listed": f"changes of {', '.join(older)} before the last {CHANGES_READ:,}"} if older else {}
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
    """Yield the changes of a catalogue that the principal may see, without those of vectors alone, newest first."""
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
