"""Updates and rebuilds of a graded catalogue: one that answers worse is refused, one that does not
never is.
"""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import rebuild_index
from stackroom.errors import RegressionError
from stackroom.grading.graded_catalogue import grade_catalogue
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import IngestReport
from stackroom.library import LEDGER_FILE
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.settings import Settings
from support.dishes import SPEC, make_dish, open_embedding, write_dishes
from support.embedders import word_vector
from support.loopback import EmbeddingServer

pytestmark = pytest.mark.row("N6")

AddDishes = Callable[..., IngestReport]

BROKEN = SPEC.replace('role = "body", search = true', 'role = "body"')
"""The spec without the search of the text."""


@pytest.fixture(scope="module")
def graded_home(dishes_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the catalogue of dishes, graded."""
    home = tmp_path_factory.mktemp("graded")
    shutil.copytree(dishes_home, home, dirs_exist_ok=True)
    with open_embedding(home) as app:
        grade_catalogue(app, "dishes", 60)
    return home


@pytest.fixture
def graded(settings: Settings, graded_home: Path, dishes_file: Path) -> Path:
    """The file of a catalogue of dishes that was graded."""
    shutil.copytree(graded_home, settings.home, dirs_exist_ok=True)
    return write_dishes(dishes_file, range(90))


def folder_of(app: App) -> Path:
    return app.library.get_installed("dishes").folder


def state_of(app: App) -> dict[str, Any]:
    """Return all that an answer depends on: records, vectors, rankings, the ledger and the spec."""
    reader = app.open_catalogue("dishes").shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=1_000)
    view = app.open_catalogue("dishes").view()
    with closing(Ledger(folder_of(app) / LEDGER_FILE)) as ledger:
        origins = ledger.origins(app.library.get_installed("dishes").sources[0])
    return {
        "records": {record.id: record for record in reader.fetch(keys, scope=WHOLE).values()},
        "vectors": dict(zip(reader.ids(keys), reader.vectors(keys).round(4).tolist(), strict=True)),
        "hits": [
            hit.record.id for hit in view.search("winter soup with honey", scope=WHOLE).hits(10)
        ],
        "model": reader.model,
        "origins": origins,
        "spec": (folder_of(app) / "catalogue.toml").read_text(encoding="utf-8"),
    }


def shuffle_vectors(app: App) -> None:
    """Give every stored text the vector of another."""
    with closing(sqlite3.connect(folder_of(app) / "records.sqlite")) as db, db:
        rows = db.execute("SELECT digest, vector FROM embeddings ORDER BY digest").fetchall()
        vectors = [vector for _, vector in rows]
        random.Random(1).shuffle(vectors)
        pairs = [(vector, digest) for (digest, _), vector in zip(rows, vectors, strict=True)]
        db.executemany("UPDATE embeddings SET vector = ? WHERE digest = ?", pairs)


def zero_vectors(app: App) -> None:
    """Replace every stored vector by zeros."""
    with closing(sqlite3.connect(folder_of(app) / "records.sqlite")) as db, db:
        db.execute("UPDATE embeddings SET vector = zeroblob(length(vector))")


@pytest.fixture
def spoiling_server() -> Iterator[EmbeddingServer]:
    """An endpoint of another model, whose vectors say nothing of the texts."""
    server = EmbeddingServer(ModelId(name="nonsense", dimension=64))
    server.vector_of = lambda text, dimension: word_vector(
        f"nonsense {len(text)} {text[-9:]}", dimension
    )
    yield server
    server.die()


@pytest.mark.usefixtures("graded")
@pytest.mark.parametrize("spoil", [shuffle_vectors, zero_vectors])
def test_an_index_rebuilt_from_spoilt_vectors_is_refused_and_the_former_one_kept(
    app: App, spoil: Callable[[App], None]
) -> None:
    before = state_of(app)
    spoil(app)
    with pytest.raises(
        RegressionError, match=r"the former one kept: .*vectors alone: 0\.\d+ → 0\.\d+"
    ):
        rebuild_index(app, "dishes")
    assert state_of(app) == before
    reopened = App(app.settings)
    assert state_of(reopened) == before
    reopened.close()


def test_a_model_that_spoils_the_vectors_is_refused_and_the_former_vectors_stay(
    app: App, graded: Path, add_dishes: AddDishes, spoiling_server: EmbeddingServer
) -> None:
    before = state_of(app)
    changed = App(app.settings.model_copy(update={"embedding": spoiling_server.settings()}))
    with pytest.raises(
        RegressionError, match="was refused, and its former records and index are kept"
    ):
        add_dishes(graded, app=changed)
    changed.close()
    assert state_of(app) == before


def test_an_update_whose_spec_no_longer_searches_the_text_is_undone_unless_forced(
    app: App, graded: Path, add_dishes: AddDishes
) -> None:
    before = state_of(app)
    with pytest.raises(RegressionError, match=r"descriptions: 0\.\d+ → 0\.\d+ .*--force"):
        add_dishes(graded, declaration=BROKEN)
    assert state_of(app) == before
    add_dishes(graded, declaration=BROKEN, force=True)
    assert (folder_of(app) / "catalogue.toml").read_text(encoding="utf-8") == BROKEN


def test_new_changed_and_removed_records_are_never_a_regression(
    app: App, graded: Path, add_dishes: AddDishes
) -> None:
    assert add_dishes(write_dishes(graded, range(400))).written == 310
    changed = write_dishes(
        graded, range(400), story=lambda row: make_dish(int(row["id"][5:]) + 5_000)["story"]
    )
    assert add_dishes(changed).written == 400
    assert add_dishes(write_dishes(graded, range(40, 400), title="Soup")).removed == 40
    assert app.open_catalogue("dishes").shelf.reader().count(WHOLE) == 360


def test_other_readers_stay_with_the_state_before_until_an_update_is_accepted(
    app: App, graded: Path, add_dishes: AddDishes, embedding_server: EmbeddingServer
) -> None:
    shelf = app.open_catalogue("dishes").shelf
    assert shelf.reader().count(WHOLE) == 90
    seen: set[tuple[int, bool]] = set()

    def look(number: int) -> None:
        if number % 3:
            return  # each look waits for the writer for a moment
        reader = shelf.reader()
        seen.add((reader.count(WHOLE), reader.stale is not None))

    embedding_server.on_request = look
    add_dishes(write_dishes(graded, range(200)))
    embedding_server.on_request = lambda _number: None
    assert {count for count, _ in seen} == {90}
    assert shelf.reader().count(WHOLE) == 200
    assert shelf.reader().stale is None


def test_the_mark_of_an_update_that_was_killed_holds_nobody_back(
    app: App, graded: Path, add_dishes: AddDishes
) -> None:
    (folder_of(app) / "update.lock").touch()
    add_dishes(write_dishes(graded, range(95)))
    (folder_of(app) / "update.lock").touch()
    assert app.open_catalogue("dishes").shelf.reader().count(WHOLE) == 95
    assert not (folder_of(app) / "update.lock").exists()


def test_a_catalogue_that_was_never_graded_is_not_asked_anything(
    dishes: Path, add_dishes: AddDishes, embedding_server: EmbeddingServer
) -> None:
    asked = embedding_server.requests
    assert add_dishes(dishes, declaration=BROKEN).unchanged == 90
    assert embedding_server.requests - asked <= 120  # the probes of the calibration
