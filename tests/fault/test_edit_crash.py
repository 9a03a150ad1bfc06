"""A process that dies while it edits loses nothing acknowledged and leaves no edit half made."""

import os
import random
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.spec import texts_of
from stackroom.ingest.edits.relations import ids_in
from stackroom.model.record import Record
from stackroom.model.scope import KIND_FIELD, WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.text.analyser import analyse_query

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

SPEC = PACKAGES.get("music").spec
KILLS = int(os.environ.get("STACKROOM_KILLS", "4"))
"""How often the editing process is killed; many more by the environment, for a long run."""
CHILD_TIMEOUT_S = 120.0

CHILD = """
import hashlib, os, pathlib, random, sys
import numpy as np
from stackroom.packages import PACKAGES
from stackroom.errors import ConflictError
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.ingest.edits.apply import Edits
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.shelf.embedded import index_files, shelf_index
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.text_index import TextIndex
from stackroom.shelf.port import Author

def die(*_args, **_kwargs):
    os._exit(9)

def die_at(count, real):
    calls = iter(range(1, 1_000_000))
    return lambda *args, **kwargs: die() if next(calls) == count else real(*args, **kwargs)

class Hashing:
    model = ModelId(name="m", dimension=8)

    def embed_documents(self, texts):
        return np.array([self.embed_query(text) for text in texts])

    def embed_query(self, text):
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        row = np.random.default_rng(seed).normal(size=8)
        return (row / np.linalg.norm(row)).astype(np.float32)

shelf_index.TAIL_ROWS = 5
shelf_index.TAIL_SHARE = 0
shelf = EmbeddedShelf.create(pathlib.Path(sys.argv[1]), PACKAGES.get("music").spec, model=Hashing.model)
edits = Edits(shelf=shelf, embedder=Hashing())
drawn = random.Random(sys.argv[2])
calls = []

def say(*words):
    print(*words, flush=True)

def edit(action, **request):
    asked = EditRequest(action=EditAction(action), **request)
    call_id = f"c{shelf.reader().change_no}"
    try:
        plan = edits.plan(asked)
    except ConflictError:
        return
    if plan.changes:
        say("plan", call_id, ",".join(sorted(change.id for change in plan.changes)))
        edits.apply(asked, author=Author(principal="ed", call_id=call_id), token=plan.token)
        say("done", call_id)
        calls.append(call_id)

def ids(kind):
    view = shelf.reader()
    records = view.fetch(view.scan(scope=WHOLE, limit=10_000), scope=WHOLE).values()
    return sorted(record.id for record in records if record.kind == kind)

def edit_something():
    artists, albums = ids("artist"), ids("album")
    choice = drawn.random()
    if choice < 0.2 or not artists:
        edit("create", kind="artist", fields={"name": f"Artist {drawn.randint(1, 9)}"})
    elif choice < 0.4 or not albums:
        some = drawn.sample(artists, min(len(artists), drawn.randint(1, 2)))
        edit("create", kind="album", fields={"name": f"Album {drawn.randint(1, 9)}", "artist_ids": some})
    elif choice < 0.6:
        named = {"album_id": drawn.choice(albums), "artist_ids": [drawn.choice(artists)]}
        edit("create", kind="track", fields={"name": f"Track {drawn.randint(1, 9)}", **named})
    elif choice < 0.85:
        edit("update", id=drawn.choice([*artists, *albums]), fields={"name": f"Renamed {drawn.randint(1, 9)}"})
    elif choice < 0.93:
        edit("delete", id=drawn.choice([*artists, *albums]), cascade=True)
    elif calls:
        edit("undo", id=calls[-1])
"""

ENDLESS = CHILD + "\nwhile True:\n    edit_something()\n"
GROUP = (
    CHILD
    + """
edit("create", id="a", kind="artist", fields={"name": "Bach"})
for number in range(4):
    edit("create", id=f"b{number}", kind="album", fields={"name": f"Suite {number}", "artist_ids": ["a"]})
"""
)


class Told:
    """What the editing process said: what it was about to do, and what it acknowledged."""

    def __init__(self) -> None:
        self.planned: dict[str, list[str]] = {}
        self.done: list[str] = []

    def hear(self, text: str) -> None:
        for line in text.splitlines():
            match line.split():
                case ["plan", call_id, ids]:
                    self.planned[call_id] = ids.split(",")
                case ["done", call_id]:
                    self.done.append(call_id)


def run_child(script: str, folder: Path, told: Told) -> int:
    """Run a script to its end, hear what it says, and return how it ended."""
    command = [sys.executable, "-c", script, str(folder), "0"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=CHILD_TIMEOUT_S, check=False)
    told.hear(done.stdout)
    return done.returncode


def kill_child(folder: Path, told: Told, seed: int) -> None:
    """Kill an endless editing process some moment after some edits, and hear all that it said."""
    drawn = random.Random(seed)
    command = [sys.executable, "-c", ENDLESS, str(folder), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(drawn.randint(1, 40))]
        deadline_s = drawn.uniform(0, 0.25)
        select.select([], [], [], deadline_s)
        child.send_signal(signal.SIGKILL)
        said.append(child.stdout.read())
    assert child.returncode == -signal.SIGKILL
    told.hear("".join(said))


def answers(shelf: EmbeddedShelf) -> dict[str, Any]:
    """Return what the shelf answers to every kind of read, by ids."""
    view = shelf.reader()
    keys = view.scan(scope=WHOLE, limit=10_000)
    (near,) = view.nearest(np.eye(1, 8, dtype=np.float32) + np.float32(0.01), scope=WHOLE, limit=10_000)
    words = [
        view.lexical(analyse_query(text, synonyms={}), scope=WHOLE, limit=10_000)
        for text in ("artist", "renamed album", "suite", "bach")
    ]
    return {
        "records": {record.id: record for record in view.fetch(keys, scope=WHOLE).values()},
        "words": [(sorted(view.ids([hit.key for hit in one.best])), one.total) for one in words],
        "near": sorted((round(hit.score, 4), str(view.ids([hit.key])[0])) for hit in near.best),
        "kinds": view.facets(KIND_FIELD, scope=WHOLE),
        "artists": view.facets("artists", scope=WHOLE),
        "count": view.count(WHOLE),
    }


def require_whole(folder: Path, told: Told) -> dict[str, Record]:
    """Check that all that was acknowledged is there, that nothing is half there, and that answers are a rebuild's."""
    shelf = EmbeddedShelf.open(folder, SPEC)
    found = answers(shelf)
    made: dict[str, set[str]] = {}
    for change in shelf.history().list_changes(limit=100_000):
        made.setdefault(change.author.call_id, set()).add(change.id)
    assert list(shelf.check()) == []
    assert lost(told, made) == set()
    assert halves(told, made) == set()
    assert len(set(made) - set(told.done)) <= len(told.planned) - len(told.done)
    require_kept_up(found["records"])
    shelf.close()
    shutil.rmtree(folder / "index")
    rebuilt = EmbeddedShelf.open(folder, SPEC)
    assert answers(rebuilt) == found
    rebuilt.close()
    records: dict[str, Record] = found["records"]
    return records


def lost(told: Told, made: dict[str, set[str]]) -> set[str]:
    return set(told.done) - set(made)


def halves(told: Told, made: dict[str, set[str]]) -> set[str]:
    return {call_id for call_id, ids in made.items() if ids != set(told.planned.get(call_id, []))}


def require_kept_up(records: dict[str, Record]) -> None:
    """Every record names others that are there, by their titles of now."""
    for record in records.values():
        for relation in SPEC.relations:
            if relation.kind == record.kind:
                titles = [SPEC.title_of(records[one]) for one in ids_in(record, relation)]
                assert texts_of(record.get(relation.copies)) == titles


def test_kills_at_random_moments_of_editing_lose_nothing_and_leave_nothing_half_made(tmp_path: Path) -> None:
    told = Told()
    for number in range(KILLS):
        kill_child(tmp_path, told, seed=number)
        require_whole(tmp_path, told)
    assert len(told.done) > KILLS
    unacknowledged = len(told.planned) - len(told.done)
    assert unacknowledged <= KILLS


@pytest.mark.parametrize(
    ("moment", "renamed"),
    [
        ("Store._log = die_at(1, Store._log)", False),
        ("Store._log = die_at(3, Store._log)", False),
        ("Store._log = die_at(5, Store._log)", False),
        ("TextIndex.update = die", True),
        ("EmbeddedShelf.publish = die", True),
        ("shelf_index.TAIL_ROWS = 0; index_files.save_segment = die", True),
        ("shelf_index.TAIL_ROWS = 0; os.replace = die_at(4, os.replace)", True),
    ],
    ids=["first", "third", "last", "before-the-text", "before-indexing", "before-the-base", "before-the-pointer"],
)
def test_dying_within_a_rename_of_many_records_makes_all_of_it_or_none(
    tmp_path: Path, moment: str, renamed: bool
) -> None:
    told = Told()
    dying = f"{GROUP}\n{moment}\nedit('update', id='a', fields={{'name': 'J. S. Bach'}})\n"
    assert run_child(dying, tmp_path, told) == 9
    records = require_whole(tmp_path, told)
    name = "J. S. Bach" if renamed else "Bach"
    assert {texts_of(records[one].get("artists"))[0] for one in ("b0", "b1", "b2", "b3")} == {name}
    assert records["a"].get("name") == name


def test_dying_within_a_cascade_or_its_undo_makes_all_of_it_or_none(tmp_path: Path) -> None:
    told = Told()
    cascade = f"{GROUP}\nStore._log = die_at(3, Store._log)\nedit('delete', id='a', cascade=True)\n"
    assert run_child(cascade, tmp_path, told) == 9
    assert len(require_whole(tmp_path, told)) == 5
    undo = (
        f"{CHILD}\nedit('delete', id='a', cascade=True)\n"
        "Store._log = die_at(3, Store._log)\nedit('undo', id=calls[-1])\n"
    )
    assert run_child(undo, tmp_path, told) == 9
    assert require_whole(tmp_path, told) == {}
