"""The file of a map: written whole, read with its checksum."""

from pathlib import Path

import numpy as np
import pytest

from stackroom.errors import StorageError
from stackroom.maps.map_file import MAP_FILE, StoredMap, find_map, save_map
from stackroom.model.hits import Occurrences
from stackroom.model.vectors import ModelId

MODEL = ModelId(name="word-hash", dimension=4)


def small_map() -> StoredMap:
    places = np.array([[-32_767, 5], [0, 0], [32_767, -5]], dtype=np.int16)
    words = Occurrences(
        values=["sea", "été"], indexes=np.array([1, 0, 1]), keys=np.array([9, 1, 1])
    )
    return StoredMap(model=MODEL, keys=np.array([1, 5, 9]), places=places, words=words)


def test_a_map_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = small_map()
    save_map(made, tmp_path / MAP_FILE)
    found = find_map(tmp_path / MAP_FILE)
    assert found is not None
    assert found.model == MODEL
    for one, other in ((found.keys, made.keys), (found.places, made.places)):
        assert np.array_equal(one, other)
    pairs = {
        (key, found.words.values[index])
        for key, index in zip(found.words.keys, found.words.indexes, strict=True)
    }
    assert pairs == {(1, "sea"), (1, "été"), (9, "été")}


def test_there_may_be_no_map(tmp_path: Path) -> None:
    assert find_map(tmp_path / MAP_FILE) is None


def test_each_flipped_bit_and_each_shorter_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / MAP_FILE
    save_map(small_map(), path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match="damaged; make it anew"):
            find_map(path)
    for length in (0, 10, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError, match="damaged"):
            find_map(path)
