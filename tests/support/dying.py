"""The work of processes that tests kill: edits of a catalogue, jobs, the sending of an index."""

import random
from itertools import count, cycle
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import MaintainedLibrary, list_builtin_jobs
from stackroom.control import audit as audit_log
from stackroom.control.control import Control
from stackroom.errors import ConflictError
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.jobs.board import JobBoard
from stackroom.jobs.scheduler import Scheduler, SchedulerTimes
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.embedded import shelf_index
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Author
from support.embedders import WordEmbedder
from support.kills import die_at, say

SPEC = PACKAGES.get("music").spec
MODEL = ModelId(name="m", dimension=8)


class EditingChild:
    """Edits a catalogue, and says what it is about to do and what was acknowledged."""

    def __init__(self, folder: Path, *, tail_rows: int = 5) -> None:
        shelf_index.TAIL_ROWS, shelf_index.TAIL_SHARE = tail_rows, 0
        self.shelf = create_shelf(folder, SPEC, model=MODEL)
        self.calls: list[str] = []
        self._edits = Edits(shelf=self.shelf, embedder=WordEmbedder(MODEL))

    def edit(self, action: str, **request: Any) -> None:
        asked = EditRequest(action=EditAction(action), **request)
        call_id = f"c{self.shelf.reader().change_no}"
        try:
            plan = self._edits.plan(asked)
        except ConflictError:
            return
        if plan.changes:
            say("plan", call_id, ",".join(sorted(change.id for change in plan.changes)))
            self._edits.apply(
                asked, author=Author(principal="ed", call_id=call_id), token=plan.token
            )
            say("done", call_id)
            self.calls.append(call_id)

    def make_group(self) -> None:
        self.edit("create", id="a", kind="artist", fields={"name": "Bach"})
        for number in range(4):
            self.edit(
                "create",
                id=f"b{number}",
                kind="album",
                fields={"name": f"Suite {number}", "artist_ids": ["a"]},
            )

    def ids(self, kind: str) -> list[str]:
        view = self.shelf.reader()
        records = view.fetch(view.scan(scope=WHOLE, limit=10_000), scope=WHOLE).values()
        return sorted(record.id for record in records if record.kind == kind)

    def edit_something(self, drawn: random.Random) -> None:
        artists, albums = self.ids("artist"), self.ids("album")
        choice = drawn.random()
        if choice < 0.2 or not artists:
            self.edit("create", kind="artist", fields={"name": f"Artist {drawn.randint(1, 9)}"})
        elif choice < 0.4 or not albums:
            some = drawn.sample(artists, min(len(artists), drawn.randint(1, 2)))
            self.edit(
                "create",
                kind="album",
                fields={"name": f"Album {drawn.randint(1, 9)}", "artist_ids": some},
            )
        elif choice < 0.6:
            named = {"album_id": drawn.choice(albums), "artist_ids": [drawn.choice(artists)]}
            self.edit(
                "create", kind="track", fields={"name": f"Track {drawn.randint(1, 9)}", **named}
            )
        elif choice < 0.85:
            self.edit(
                "update",
                id=drawn.choice([*artists, *albums]),
                fields={"name": f"Renamed {drawn.randint(1, 9)}"},
            )
        elif choice < 0.93:
            self.edit("delete", id=drawn.choice([*artists, *albums]), cascade=True)
        elif self.calls:
            self.edit("undo", id=self.calls[-1])


def edit_for_ever(folder: Path, seed: int) -> None:
    """Edit at random until somebody kills this process."""
    child, drawn = EditingChild(folder), random.Random(seed)
    for _ in count():
        child.edit_something(drawn)


def rename_group(folder: Path, moment: tuple[str, int], tail_rows: int) -> None:
    """Rename an artist whose albums repeat the name, and die at a moment of it."""
    child = EditingChild(folder)
    child.make_group()
    shelf_index.TAIL_ROWS = tail_rows
    die_at(*moment)
    child.edit("update", id="a", fields={"name": "J. S. Bach"})


def delete_group(folder: Path, moment: tuple[str, int]) -> None:
    """Delete an artist with its albums, and die at a moment of it."""
    child = EditingChild(folder)
    child.make_group()
    die_at(*moment)
    child.edit("delete", id="a", cascade=True)


def undo_deletion(folder: Path, moment: tuple[str, int]) -> None:
    """Delete an artist with its albums, undo it, and die at a moment of the undoing."""
    child = EditingChild(folder)
    child.edit("delete", id="a", cascade=True)
    die_at(*moment)
    child.edit("undo", id=child.calls[-1])


def run_jobs(home: Path) -> None:
    """Run jobs of a library one after the other until somebody kills this process."""
    audit_log.PRUNED_AT_ONCE = 10
    settings = Settings(home=home, offline=True)
    control = Control.open(settings)
    maintained = MaintainedLibrary(app=App(settings), control=control, backups=2)
    board = JobBoard(control.database, list_builtin_jobs(maintained))
    say("ready")
    for name in cycle(["backup", "prune_audit", "rebuild_indexes"]):
        scheduler = Scheduler(board, times=SchedulerTimes(look_every_s=0.01))
        run = scheduler.run_now(name, by="local", show=lambda *_: None)
        say(run.id, run.state)
