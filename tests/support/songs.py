"""A small catalogue of songs for tests: tracks and their albums, which a search finds only when
asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.gate.gate import Gate
from stackroom.model.record import Record, RecordId
from stackroom.shelf.port import Delete
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.operation import AnyOperation
from stackroom.tools.toolbox import Toolbox
from support.served import Served, open_shelf

SONGS = """
name = "songs"
title = "Songs"
summary = "Songs and the albums that hold them together."

[kinds.track]
title = "Tracks"

[kinds.album]
title = "Albums"
found = false

[fields]
title = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
year = { type = "int", filter = true }
id = { type = "text", filter = true }
words = { type = "text", role = "body", search = true }
moods = { type = "text[]", filter = true, facet = true }

[embed]
template = "{title}. {words}"
"""


def song(name: str, words: str = "", *, kind: str = "track", **fields: Any) -> Record:
    values = {"title": name, "words": words, **fields}
    return Record(
        id=RecordId(name),
        kind=kind,
        fields={key: value for key, value in values.items() if value not in ("", None)},
    )


@dataclass(frozen=True, kw_only=True)
class Songs:
    """The catalogue, and ways to fill and call it."""

    shelved: Any
    opened: OpenCatalogue

    def put(self, *records: Record, embed: bool = True) -> None:
        self.shelved.put(*records, embed=embed)

    def delete(self, name: str) -> None:
        self.shelved.shelf.apply([Delete(RecordId(name))])


@pytest.fixture(scope="session")
def songs_spec() -> CatalogueSpec:
    return compile_text(SONGS, origin="songs")


@pytest.fixture
def open_songs(
    new_shelved: Callable[[CatalogueSpec], Any], songs_spec: CatalogueSpec
) -> Callable[[str], Songs]:
    """Open a catalogue of songs in memory, under any name."""

    def make(name: str = "songs") -> Songs:
        shelved = new_shelved(songs_spec)
        return Songs(shelved=shelved, opened=open_shelf(shelved.shelf, shelved.embedder, name=name))

    return make


@pytest.fixture
def songs(open_songs: Callable[[], Songs]) -> Songs:
    """The catalogue with a few songs."""
    songs = open_songs()
    songs.put(
        song("Winter Road", "A long road through snow and ice", year=1998, moods=("calm", "cold")),
        song("River of Fire", "A river burns and nobody sleeps", year=2005, moods=("wild",)),
        song("Quiet Morning", "Bread and butter before the road", year=2011, id="odd"),
        song("Seasons", "Winter, spring, summer, autumn", kind="album", year=1999),
    )
    return songs


@pytest.fixture(scope="session")
def new_song() -> Callable[..., Record]:
    return song


@pytest.fixture(scope="session")
def behind_gate() -> Callable[..., Served]:
    """Put tools behind a gate."""

    def make(
        tools: list[AnyOperation], resources: Any = (), *, catalogues: Any = (), **more: Any
    ) -> Served:
        return Served(gate=Gate(Toolbox(tools, resources, catalogues=catalogues), **more))

    return make
