"""A map that follows its catalogue: what is new lies beside its neighbours, and much that is new
makes it anew.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.maps import making
from stackroom.maps.making import CatalogueMap, follow, make_map
from stackroom.maps.map_file import MAP_FILE, StoredMap, save_map
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import Delete, Embedding, Put

Make = Callable[..., Record]
TOPICS = (
    "robots in space with lasers",
    "a bakery with bread and cake",
    "a school by the winter sea",
)


def filled(shelved: Any, anime: Make, each: int = 20) -> StoredMap:
    """Fill a catalogue with three topics, and make its map."""
    shelved.put(
        *(
            anime(f"{place}-{number}", synopsis=topic)
            for place, topic in enumerate(TOPICS)
            for number in range(each)
        )
    )
    made = make_map(shelved.shelf.reader())
    assert made is not None
    return made


def place_of(placed: Any, shelved: Any, name: str) -> np.ndarray:
    key = shelved.shelf.reader().find([RecordId(name)], scope=WHOLE)[RecordId(name)]
    return placed.places[np.searchsorted(placed.keys, key)].astype(np.float64)


def test_a_new_record_lies_among_its_neighbours(shelved: Any, anime: Make) -> None:
    made = filled(shelved, anime)
    shelved.put(anime("new bread", synopsis=TOPICS[1]))
    placed = follow(made, shelved.shelf.reader())
    assert (len(placed.keys), placed.changed, placed.is_due) == (61, 1, False)
    middles = [
        np.mean([place_of(placed, shelved, f"{topic}-{one}") for one in range(20)], axis=0)
        for topic in range(3)
    ]
    distances = [
        np.linalg.norm(place_of(placed, shelved, "new bread") - middle) for middle in middles
    ]
    assert int(np.argmin(distances)) == 1


def test_a_deleted_record_is_gone(shelved: Any, anime: Make) -> None:
    made = filled(shelved, anime)
    shelved.shelf.apply([Delete(RecordId("0-1"))])
    after = follow(made, shelved.shelf.reader())
    assert (len(after.keys), after.changed) == (59, 1)


def test_a_map_is_due_when_more_than_a_twentieth_is_new(shelved: Any, anime: Make) -> None:
    made = filled(shelved, anime)
    shelved.put(*(anime(f"more-{one}", synopsis=TOPICS[0]) for one in range(4)))
    assert follow(made, shelved.shelf.reader()).is_due


@pytest.mark.parametrize("nothing", [np.nan, np.inf])
def test_a_vector_that_has_no_numbers_is_left_out_and_the_others_are_laid_out(
    shelved: Any, anime: Make, nothing: float
) -> None:
    reader = shelved.shelf.reader
    whole = filled(shelved, anime)
    vector = np.ones(shelved.embedder.model.dimension, dtype=np.float32)
    shelved.shelf.apply(
        [Put(record=anime("broken"), embedding=Embedding(digest=b"broken", vector=vector))]
    )
    vector[0] = nothing  # as a damaged file has it; no shelf takes such a vector
    assert len(follow(whole, reader()).keys) == 60
    made = make_map(reader())
    assert made is not None
    assert np.array_equal(made.keys, whole.keys)


def test_of_many_records_a_sample_is_laid_out_and_the_others_lie_beside_it(
    shelved: Any, anime: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "MOST_LAID_OUT", 50)
    monkeypatch.setattr(making, "SAMPLE", 30)
    placed = follow(filled(shelved, anime), shelved.shelf.reader())
    groups = np.repeat(np.arange(3), 20)
    distances = np.linalg.norm(placed.places[:, None].astype(float) - placed.places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(groups[np.argsort(distances, axis=1)[:, :5]] == groups[:, None]) > 0.9


def test_a_large_catalogue_has_no_map_until_one_is_made(
    shelved: Any, anime: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "SMALL", 10)
    served = CatalogueMap(tmp_path / MAP_FILE)
    made = filled(shelved, anime)
    assert served.find(shelved.shelf.reader()) is None
    save_map(made, tmp_path / MAP_FILE)
    placed = served.find(shelved.shelf.reader())
    assert placed is not None
    assert np.array_equal(placed.places, made.places)
    (tmp_path / MAP_FILE).write_bytes(b"damaged")
    assert served.find(shelved.shelf.reader()) is None
