"""Calibration: the cosine of unrelated queries in one catalogue."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, package_recipe
from stackroom.errors import StorageError
from stackroom.library import CALIBRATION_FILE
from stackroom.model.record import Record
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES
from stackroom.search.evidence import (
    Calibration,
    calibrate,
    find_calibration,
    load_probes,
    save_calibration,
)
from stackroom.settings import Settings
from stackroom.sources.json_rows import JsonRows
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("P2")

MODEL = ModelId(name="word-hash", dimension=64)
KNOWN = Calibration(model=MODEL, middle=0.3, spread=0.1)
WORDS = ("star", "bread", "sea", "robot", "garden", "king", "winter", "river")


def measured(shelved: Any) -> Calibration | None:
    return calibrate(shelved.shelf.reader(), shelved.embedder)


CATALOGUES: dict[str, list[dict[str, Any]]] = {
    "one record": [{"synopsis": "Bread."}],
    "one record that is its title": [{"synopsis": None}],
    "two records": [{"synopsis": "Bread."}, {"synopsis": "The sea."}],
    "the same text many times": [{"title": "Same", "synopsis": "The same."}] * 30,
    "texts that say nothing of their titles": [
        {"synopsis": f"{WORDS[place % 8]} {WORDS[place % 5]} " * 40} for place in range(50)
    ],
    "titles alone": [
        {"title": f"{WORDS[place % 8]} {place}", "synopsis": None} for place in range(300)
    ],
    "a record that is a probe": [{"title": load_probes()[0], "synopsis": None}],
    "every probe": [{"title": probe, "synopsis": None} for probe in load_probes()],
}


@pytest.mark.parametrize("name", CATALOGUES)
def test_any_catalogue_can_be_measured(
    shelved: Any, anime: Callable[..., Record], tmp_path: Path, name: str
) -> None:
    shelved.put(
        *(anime(f"Title {place}", **fields) for place, fields in enumerate(CATALOGUES[name]))
    )
    calibration = measured(shelved)
    assert calibration is not None
    assert calibration.model == shelved.embedder.model
    assert find_calibration(tmp_path / CALIBRATION_FILE) is None
    save_calibration(calibration, tmp_path / CALIBRATION_FILE)
    assert find_calibration(tmp_path / CALIBRATION_FILE) == calibration


def test_a_catalogue_with_something_near_every_query_has_a_higher_middle(
    new_shelved: Callable[[Any], Any], anime_spec: Any, anime: Callable[..., Record]
) -> None:
    near, far = new_shelved(anime_spec), new_shelved(anime_spec)
    near.put(
        *(anime(f"Title {place}", synopsis=probe) for place, probe in enumerate(load_probes()))
    )
    far.put(*(anime(f"Title {place}", synopsis=word) for place, word in enumerate(WORDS)))
    by_near, by_far = measured(near), measured(far)
    assert by_near is not None
    assert by_far is not None
    assert by_near.middle > by_far.middle


def test_without_vectors_there_is_nothing_to_measure(
    shelved: Any, anime: Callable[..., Record], new_embedder: Callable[[ModelId], Any]
) -> None:
    assert measured(shelved) is None
    shelved.put(anime("A"), embed=False)
    assert measured(shelved) is None
    shelved.put(anime("B"))
    assert measured(shelved) is not None
    other = new_embedder(ModelId(name="other", dimension=64))
    assert calibrate(shelved.shelf.reader(), other) is None
    assert other.queries == []
    assert calibrate(MemoryShelf(shelved.spec).reader(), shelved.embedder) is None


DAMAGED = {
    "empty": "",
    "cut": json.dumps(asdict(KNOWN))[:40],
    "null": "null",
    "list": "[1, 2]",
    "text": '"text"',
    "nothing in it": "{}",
    "a model alone": json.dumps({"model": asdict(MODEL)}),
    "no model": json.dumps({**asdict(KNOWN), "model": None}),
    **{
        f"{name} {value}": json.dumps({**asdict(KNOWN), name: value})
        for name, value in (
            ("middle", None),
            ("middle", "high"),
            ("middle", [0.2]),
            ("middle", 3.0),
            ("spread", 0.0),
            ("spread", -0.1),
        )
    },
    "a model without a name": json.dumps({**asdict(KNOWN), "model": {"dimension": 64}}),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_said_to_be_with_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / CALIBRATION_FILE
    path.write_text(text)
    with pytest.raises(
        StorageError, match=r"calibration.json is damaged; build the catalogue again, or remove"
    ):
        find_calibration(path)


@pytest.fixture
def new_app(tmp_path: Path, embedder: Any) -> Callable[[], App]:
    """Open the same library with the embedder in memory, again and again."""

    def run() -> App:
        app = App(Settings(home=tmp_path / "home"))
        app.embedder = embedder
        return app

    return run


@pytest.fixture
def build(tmp_path: Path, new_app: Callable[[], App]) -> Callable[[], Path]:
    """Build a small anime catalogue, or build it again, and return its folder."""
    rows = [
        {
            "title": f"Title {place}",
            "synopsis": word,
            "sources": [f"https://myanimelist.net/anime/{place}"],
        }
        for place, word in enumerate(WORDS)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))

    def run() -> Path:
        app = new_app()
        source = JsonRows(tmp_path / "rows.jsonl")
        add_catalogue(
            app,
            source,
            recipe=package_recipe(PACKAGES.get("anime")),
            name="anime",
            progress=lambda _report: None,
        )
        app.close()
        return app.library.get_installed("anime").folder

    return run


def opened_calibration(app: App) -> Calibration | None:
    try:
        catalogue = app.open_catalogue("anime")
        return catalogue.searcher.calibration_of(catalogue.shelf.reader().model)
    finally:
        app.close()


def test_the_calibration_of_another_model_is_not_used(
    build: Callable[[], Path], new_app: Callable[[], App]
) -> None:
    path = build() / CALIBRATION_FILE
    for other in (ModelId(name="other", dimension=64), replace(MODEL, dimension=32)):
        save_calibration(replace(KNOWN, model=other), path)
        assert opened_calibration(new_app()) is None
    save_calibration(KNOWN, path)
    assert opened_calibration(new_app()) == KNOWN


@pytest.mark.parametrize("text", ["{", None], ids=["damaged", "missing"])
def test_building_again_mends_a_calibration(
    build: Callable[[], Path], new_app: Callable[[], App], text: str | None
) -> None:
    path = build() / CALIBRATION_FILE
    path.unlink()
    if text is not None:
        path.write_text(text)
    build()
    assert opened_calibration(new_app()) is not None
