"""The store: connections, and the vectors of models."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.model.record import Record, RecordId
from stackroom.model.vectors import ModelId
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.port import LOCAL, Embedding, Put


def test_vectors_of_another_length_by_a_model_of_the_same_name_are_not_taken_for_its_own(
    tmp_path: Path, anime_spec: CatalogueSpec
) -> None:
    store = Store(tmp_path / "records.sqlite", anime_spec)
    store.create(ModelId(name="small", dimension=8))
    put = Put(
        record=Record(id=RecordId("a"), fields={"title": "A"}),
        embedding=Embedding(digest=b"text", vector=np.ones(8, np.float32)),
    )
    store.apply([put], LOCAL)
    assert store.unchanged([put]) == {"a"}
    assert store.create(ModelId(name="small", dimension=4))
    assert store.unchanged([put]) == set()
    assert [row.vector for row in store.iter_rows()] == [None]
    store.close()


def test_a_file_that_is_away_is_not_made_anew_and_is_read_when_it_is_back(
    tmp_path: Path, anime_spec: CatalogueSpec
) -> None:
    store = Store(tmp_path / "records.sqlite", anime_spec)
    store.create(None)
    store.apply([Put(record=Record(id=RecordId("a"), fields={"title": "A"}))], LOCAL)
    (away := tmp_path / "away").mkdir()
    for path in tmp_path.glob("records.sqlite*"):
        path.rename(away / path.name)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(StorageError, match=r"records\.sqlite is missing; put it back"):
            pool.submit(store.count).result()
        assert not store.path.exists()
        for path in away.iterdir():
            path.rename(tmp_path / path.name)
        assert pool.submit(store.count).result() == 1
    store.close()
