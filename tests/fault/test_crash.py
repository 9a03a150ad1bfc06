"""A process that dies while it edits loses nothing acknowledged and leaves no edit half made; an
index is rebuilt.

The embedded shelf is written to by edits, which are its hardest changes: many records at once, or
none.
"""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.spec import texts_of
from stackroom.ingest.edits.relations import ids_in
from stackroom.model.record import Record
from stackroom.model.scope import KIND_FIELD, WHOLE
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import open_shelf
from stackroom.text.analyser import analyse_query
from support.dying import (
    SPEC,
    delete_group,
    edit_for_ever,
    rename_group,
    undo_deletion,
)
from support.kills import KILLED, run_child

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

KILLS = int(os.environ.get("STACKROOM_KILLS", "4"))
"""How often the editing process is killed; many more by the environment, for a long run."""
LOG = "stackroom.shelf.embedded.store:Store._log"


class Told:
    """What the editing process said: what it was about to do, and what it acknowledged."""

    def __init__(self) -> None:
        self.planned: dict[str, list[str]] = {}
        self.done: list[str] = []

    def hear(self, lines: list[str]) -> None:
        for line in lines:
            match line.split():
                case ["plan", call_id, ids]:
                    self.planned[call_id] = ids.split(",")
                case ["done", call_id]:
                    self.done.append(call_id)


def run_dying(told: Told, work: Callable[..., object], *arguments: Any) -> None:
    """Run an editing process that dies by itself, and hear what it says."""
    ended = run_child(work, *arguments)
    assert ended.code == KILLED
    told.hear(ended.said)


def answers(shelf: CatalogueShelf) -> dict[str, Any]:
    """Return what the shelf answers to every kind of read, by ids."""
    view = shelf.reader()
    keys = view.scan(scope=WHOLE, limit=10_000)
    (near,) = view.nearest(
        np.eye(1, 8, dtype=np.float32) + np.float32(0.01), scope=WHOLE, limit=10_000
    )
    words = [
        view.lexical(analyse_query(text, synonyms={}), scope=WHOLE, limit=10_000)
        for text in ("artist", "renamed album", "suite", "bach")
    ]
    return {
        "records": {record.id: record for record in view.fetch(keys, scope=WHOLE).values()},
        "words": [(sorted(view.ids([hit.key for hit in one.best])), one.total) for one in words],
        "near": sorted((round(hit.score, 4), str(view.ids([hit.key])[0])) for hit in near.best),
        "like": [match.key for match in view.titles_like("suite 3", scope=WHOLE, limit=1)],
        "kinds": view.facets(KIND_FIELD, scope=WHOLE),
        "artists": view.facets("artists", scope=WHOLE),
        "count": view.count(WHOLE),
    }


def require_whole(folder: Path, told: Told) -> dict[str, Record]:
    """Check that all that was acknowledged is there, that nothing is half there, and that answers
    are a rebuild's.
    """
    shelf = open_shelf(folder, SPEC)
    found = answers(shelf)
    made: dict[str, set[str]] = {}
    for change in shelf.history().list_changes(limit=100_000):
        made.setdefault(change.author.call_id, set()).add(change.id)
    assert list(shelf.check()) == []
    assert set(told.done) <= set(made), "something acknowledged is lost"
    assert {call_id: set(told.planned.get(call_id, [])) for call_id in made} == made, (
        "something is half made"
    )
    assert len(set(made) - set(told.done)) <= len(told.planned) - len(told.done)
    require_kept_up(found["records"])
    shelf.close()
    shutil.rmtree(folder / "index")
    rebuilt = open_shelf(folder, SPEC)
    assert answers(rebuilt) == found
    rebuilt.close()
    records: dict[str, Record] = found["records"]
    return records


def require_kept_up(records: dict[str, Record]) -> None:
    """Every record names others that are there, by their titles of now."""
    for record in records.values():
        for relation in SPEC.relations:
            if relation.kind == record.kind:
                titles = [SPEC.title_of(records[one]) for one in ids_in(record, relation)]
                assert texts_of(record.get(relation.copies)) == titles


def test_kills_at_random_moments_of_editing_lose_nothing_and_leave_nothing_half_made(
    tmp_path: Path,
) -> None:
    told = Told()
    for seed in range(KILLS):
        ended = run_child(
            edit_for_ever, tmp_path, seed, kill_after_lines=random.Random(seed).randint(1, 40)
        )
        assert ended.code == -signal.SIGKILL
        told.hear(ended.said)
        require_whole(tmp_path, told)
    assert len(told.done) > KILLS
    assert len(told.planned) - len(told.done) <= KILLS


@pytest.mark.parametrize("call", [1, 3, 5])
def test_dying_before_a_rename_of_many_records_is_committed_makes_none_of_it(
    tmp_path: Path, call: int
) -> None:
    told = Told()
    run_dying(told, rename_group, tmp_path, (LOG, call), 5)
    require_named(require_whole(tmp_path, told), "Bach")


@pytest.mark.parametrize(
    ("moment", "call", "tail_rows"),
    [
        ("stackroom.shelf.embedded.text_index:TextIndex.update", 1, 5),
        ("stackroom.shelf.catalogue_shelf:CatalogueShelf.publish", 1, 5),
        ("stackroom.shelf.embedded.index_files:save_segment", 1, 0),
        ("os:fsync", 4, 0),
        *(("os:replace", number, 0) for number in (1, 2, 3, 4)),
        ("shutil:rmtree", 2, 0),
    ],
)
def test_dying_after_it_is_committed_and_before_it_is_indexed_makes_all_of_it(
    tmp_path: Path, moment: str, call: int, tail_rows: int
) -> None:
    told = Told()
    run_dying(told, rename_group, tmp_path, (moment, call), tail_rows)
    require_named(require_whole(tmp_path, told), "J. S. Bach")


def require_named(records: dict[str, Record], name: str) -> None:
    assert {texts_of(records[one].get("artists"))[0] for one in ("b0", "b1", "b2", "b3")} == {name}
    assert records["a"].get("name") == name


def test_dying_within_a_cascade_or_its_undo_makes_all_of_it_or_none(tmp_path: Path) -> None:
    told = Told()
    run_dying(told, delete_group, tmp_path, (LOG, 3))
    assert len(require_whole(tmp_path, told)) == 5
    run_dying(told, undo_deletion, tmp_path, (LOG, 3))
    assert require_whole(tmp_path, told) == {}


# Damaged files of the index
