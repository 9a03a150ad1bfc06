"""Collections that went through a store, compared with those that were published: the same ten best
each time.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from object_storage.stores import Store
from stackroom.assembly.app import App
from stackroom.assembly.sync import publish_catalogue, sync_place
from stackroom.grading.golden_set import default_scope, write_golden_set
from stackroom.settings import EmbeddingSettings, Settings

TOP = 10
OUTSIDE_CLIENT = Path(__file__).with_name("outside_client.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How many of a collection's questions have the same ten best, in the same order, from the
    store as before.
    """

    collection: str
    records: int
    questions: int
    same: int
    same_scores: int
    """Those whose scores are the same too: not where the library was calibrated by an earlier
    version.
    """


def compare(
    library: Path, names: Sequence[str], store: Store, folder: Path, *, questions: int
) -> list[Agreement]:
    """Publish collections to a store, sync them into an empty library, and ask both the same
    questions.
    """
    os.environ.update(store.environment)
    models = EmbeddingSettings(models=str(library / "models"))
    with (
        closing(App(Settings(home=library))) as here,
        closing(App(Settings(home=folder, embedding=models))) as there,
    ):
        for name in names:
            publish_catalogue(here, name, store.place, progress=lambda _rows: None)
        state = sync_place(there, store.place)
        assert not state.problems(), state.problems()
        return [_compare(here, there, name, questions) for name in names]


def _compare(here: App, there: App, name: str, count: int) -> Agreement:
    catalogue = here.open_catalogue(name)
    reader = catalogue.shelf.reader()
    asked = write_golden_set(reader, catalogue.spec, count)
    queries = [question.query for question in asked]
    answers = [(_top_ten(here, name, query), _top_ten(there, name, query)) for query in queries]
    return Agreement(
        collection=name,
        records=reader.count(default_scope(catalogue.spec)),
        questions=len(queries),
        same=sum(list(before) == list(after) for before, after in answers),
        same_scores=sum(before == after for before, after in answers),
    )


def _top_ten(app: App, name: str, query: str) -> dict[str, float]:
    catalogue = app.open_catalogue(name)
    found = catalogue.view().search(query, scope=default_scope(catalogue.spec))
    return {hit.record.id: round(hit.score, 6) for hit in found.hits(TOP)}


def read_outside(store: Store, name: str) -> str:
    """Read and search a collection with LanceDB's own client, in a process that has no Stackroom;
    return its output.
    """
    done = subprocess.run(
        [sys.executable, "-I", str(OUTSIDE_CLIENT), store.place, f"{name}_documents"],
        env={**os.environ, **store.environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else f"FAILED: {done.stderr[-500:]}"
