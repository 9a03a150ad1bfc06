"""The text index, where a writer was killed within a commit."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.text_index import TextIndex, TextReads
from stackroom.text.analyser import analyse_query


def rows(*titles: str) -> list[SegmentRow]:
    return [
        SegmentRow(
            key=Key(number),
            record=Record(id=RecordId(str(number)), fields={"title": title, "synopsis": title}),
            vector=None,
        )
        for number, title in enumerate(titles, start=1)
    ]


@pytest.fixture
def killed(tmp_path: Path, anime_spec: Any) -> Path:
    """The folder of an index whose last commit wrote its list of deleted documents, and did not get
    further.
    """
    folder = tmp_path / "text"
    TextIndex(folder, anime_spec).update([], rows("one", "two", "three"), change_no=3)
    states = [folder / "meta.json", folder / ".managed.json"]
    for state in states:
        shutil.copy(state, tmp_path / state.name)
    TextIndex(folder, anime_spec).update([Key(1)], rows("uno"), change_no=4)
    assert list(folder.glob("*.del"))
    for state in states:
        shutil.copy(tmp_path / state.name, state)
    return folder


def test_what_a_killed_writer_left_is_not_in_the_way_of_the_next(
    killed: Path, anime_spec: Any
) -> None:
    (killed / ".tmpXk3f9").write_bytes(b"half a file")
    index = TextIndex(killed, anime_spec)
    assert index.change_no() == 3
    index.update([Key(1)], rows("uno"), change_no=4)
    assert (index.change_no(), list(killed.glob(".tmp*"))) == (4, [])
    reads = TextReads(spec=anime_spec, text=index, searcher=index.searcher)
    found = reads.lexical(analyse_query("one uno", synonyms={}), scope=WHOLE, limit=5)
    assert [hit.key for hit in found.best] == [1]
    again = TextIndex(killed, anime_spec)
    again.update([Key(2)], [], change_no=5)
    assert (again.change_no(), len(list(killed.glob("*.del"))) > 0) == (5, True)
