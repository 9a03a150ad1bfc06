"""The plan of an update: what a source would change in a catalogue, found by updating a copy of it
without vectors.
"""

import shutil
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stackroom.assembly.build import Recipe, add_catalogue
from stackroom.assembly.workshop import Workshop
from stackroom.errors import BusyError
from stackroom.jobs.backup import copy_store
from stackroom.library import LEDGER_FILE, PLACE_FILE
from stackroom.model.record import Record
from stackroom.shelf.embedded.shelf_index import INDEX_FOLDER
from stackroom.shelf.opening import open_followed
from stackroom.shelf.port import Op, PastChange, never_stop
from stackroom.shelf.store_place import STORE_FILE, find_place
from stackroom.sources.port import RowSource

SHOWN = 10  # how many records of each kind of change, and how many rejected rows, are shown
AT_ONCE = 1_000
OF_ITS_OWN = (
    PLACE_FILE,
    f"{STORE_FILE}*",
    f"{LEDGER_FILE}*",
    INDEX_FOLDER,
    "golden.jsonl",
    "*lock",
)
"""Files that are not copied: copied apart, built anew, or not needed to see what changes."""


def plan_update(
    workshop: Workshop, source: RowSource, *, recipe: Recipe, name: str, replaces: bool
) -> dict[str, Any]:
    """Return the number of records that a source would add, change and remove, with examples, and
    rejected rows.
    """
    place = workshop.library.get_installed(name)
    with TemporaryDirectory(prefix=".plan-", dir=workshop.settings.home) as folder:
        copied = Workshop(
            workshop.settings.model_copy(update={"home": Path(folder)}), packages=workshop.packages
        )
        target = copied.library.folder / name
        shutil.copytree(place.folder, target, ignore=shutil.ignore_patterns(*OF_ITS_OWN))
        for file in (LEDGER_FILE, STORE_FILE):
            if (place.folder / file).is_file():
                copy_store(place.folder / file, target / file, never_stop)
        if (database := find_place(place.folder)) is not None:
            with closing(open_followed(target, workshop.spec_of(place).spec, database)) as store:
                store.require_tables()
                store.state()
                if (stale := store.why_stale()) is not None:
                    raise BusyError(f"{stale}; ask again")
        with closing(copied.open_shelf(copied.library.get_installed(name))) as shelf:
            last = shelf.history().list_changes(limit=1)
        add = partial(
            add_catalogue, copied, source, recipe=recipe, name=name, progress=lambda _report: None
        )
        report = add(embed=False, force=True, replaces=replaces)
        counts, shown = _read_changes(copied, name, since=last[0].change_no if last else 0)
    return {
        "added": counts[Op.INSERT],
        "changed": counts[Op.UPDATE],
        "removed": counts[Op.DELETE],
        "unchanged": report.unchanged,
        "rejected": report.rejected + report.duplicates,
        "rejects": report.rejects[:SHOWN],
        "examples": shown,
        "notes": report.notes,
    }


def _read_changes(
    workshop: Workshop, name: str, *, since: int
) -> tuple[Counter[Op], list[dict[str, Any]]]:
    """Return how many records changed since a change number, by operation, and the first few of
    each.
    """
    counts: Counter[Op] = Counter()
    shown: list[dict[str, Any]] = []
    before: int | None = None
    with closing(workshop.open_shelf(workshop.library.get_installed(name))) as shelf:
        while page := shelf.history().list_changes(limit=AT_ONCE, before=before):
            for change in page:
                if change.change_no <= since:
                    return counts, shown
                counts[change.op] += 1
                if counts[change.op] <= SHOWN:
                    record = change.after or change.before
                    title = shelf.spec.title_of(record) if record else str(change.id)
                    shown.append(
                        {
                            "op": change.op,
                            "id": change.id,
                            "title": title,
                            "fields": _fields_of(change),
                        }
                    )
            before = page[-1].change_no
    return counts, shown


def _fields_of(change: PastChange) -> list[dict[str, Any]]:
    """Return the fields of a changed record that differ, with both values; none for a new or
    removed one.
    """
    old, new = change.before, change.after
    if old is None or new is None:
        return []
    texts = (
        (name, _text(old, name), _text(new, name))
        for name in dict.fromkeys([*old.fields, *new.fields])
    )
    return [
        {"field": name, "before": before, "after": after}
        for name, before, after in texts
        if before != after
    ]


def _text(record: Record, name: str) -> str:
    value = record.get(name)
    parts = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return ", ".join(str(getattr(part, "value", part)) for part in parts)
