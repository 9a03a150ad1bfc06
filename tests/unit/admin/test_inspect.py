"""`debug.inspect`: indexes, errors and integrity."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.admin.logs import LogRing
from stackroom.admin.server import inspect_tool
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.gate.auditing import redacted
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Visibility
from stackroom.packages import PACKAGES
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Put
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("Z10")

CONFINED = replace(LOCAL_USER, name="confined", visibility=Visibility(only=frozenset({"other"})))


@pytest.fixture
def ring() -> Iterator[LogRing]:
    ring = LogRing(redact=redacted)
    yield ring
    ring.close()


@pytest.fixture
def served(
    songs: Any, open_songs: Callable[[str], Any], behind_gate: Callable[..., Any], ring: LogRing
) -> Any:
    """`debug.inspect` over two catalogues."""
    other = open_songs("other").opened
    return behind_gate([inspect_tool(ring)], catalogues=[songs.opened, other])


@pytest.fixture
def on_disk(
    songs: Any, songs_spec: CatalogueSpec, tmp_path: Path, new_song: Callable[..., Record]
) -> Iterator[Any]:
    """The catalogue on the embedded shelf."""
    shelf = create_shelf(tmp_path / "songs", songs_spec, model=None)
    shelf.apply([Put(record=new_song(f"Song {number}", "la " * 200)) for number in range(50)])
    shelf.publish()
    yield replace(songs.opened, shelf=shelf, folder=tmp_path / "songs")
    shelf.close()


def rows(catalogue: Any, behind_gate: Callable[..., Any], **arguments: Any) -> list[dict[str, Any]]:
    tool = inspect_tool(**arguments.pop("inspector", {}))
    caller = behind_gate([tool], catalogues=[catalogue])
    return list(caller.ask("debug.inspect", **arguments)["rows"])


def test_the_state_of_every_index_is_told(served: Any) -> None:
    songs, other = served.ask("debug.inspect", query_type="index")["rows"]
    assert (
        songs["catalogue"],
        songs["records"],
        songs["awaiting_vectors"],
        songs["change_no"],
    ) == ("songs", 4, 0, 4)
    assert (other["catalogue"], other["records"], other["stale"]) == ("other", 0, None)


def test_the_parts_of_an_index_on_disk_are_told(
    on_disk: Any, behind_gate: Callable[..., Any]
) -> None:
    (row,) = rows(on_disk, behind_gate, query_type="index")
    assert (row["records"], row["base_rows"], row["tail_rows"], row["text_documents"]) == (
        50,
        50,
        0,
        50,
    )
    assert row["change_no"] == row["text_change_no"] == row["base_change_no"] == 50
    assert row["awaiting_vectors"] == 0


def test_a_whole_catalogue_passes_every_check(
    on_disk: Any, behind_gate: Callable[..., Any]
) -> None:
    found = rows(on_disk, behind_gate, query_type="integrity")
    assert [row["check"] for row in found if not row["ok"]] == []
    assert {row["check"] for row in found} == {"records", "index", "grade"}


def test_a_record_that_names_what_is_not_there_is_told_before_what_is_well(
    songs: Any, behind_gate: Callable[..., Any]
) -> None:
    spec = PACKAGES.get("music").spec
    shelf = MemoryShelf(spec, model=None)
    track = Record(id=RecordId("air"), kind="track", fields={"name": "Air", "album_id": "gone"})
    shelf.apply([Put(record=track)])
    found = rows(replace(songs.opened, spec=spec, shelf=shelf), behind_gate, query_type="integrity")
    assert found[0] == {
        "catalogue": "songs",
        "check": "relations",
        "ok": False,
        "detail": (
            "'album_id' of track records names records that do not exist: 'gone'; edit those"
            " records, or add the missing ones"
        ),
    }
    assert [row["ok"] for row in found[1:]] == [True, True]


def test_a_check_of_a_file_ends_in_time(
    on_disk: Any, behind_gate: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr("stackroom.shelf.sqlite_files.STEPS_BETWEEN_CHECKPOINTS", 1)
    times = iter([0.0, *range(10, 10_000)])
    inspector = {"monotonic": lambda: next(times)}
    found = {
        row["check"]: row
        for row in rows(on_disk, behind_gate, query_type="integrity", inspector=inspector)
    }
    assert "not finished in 3 s" in found["all"]["detail"]
    assert found["all"]["ok"] is None


def test_a_damaged_record_fails_its_check_and_not_the_others(
    on_disk: Any, behind_gate: Callable[..., Any]
) -> None:
    with closing(apsw.Connection(str(on_disk.shelf.store.path))) as db:
        db.execute("UPDATE records SET body = x'7b22ff' WHERE id = 'Song 7'")
    found = {row["check"]: row for row in rows(on_disk, behind_gate, query_type="integrity")}
    assert not found["records"]["ok"]
    assert "Song 7" in found["records"]["detail"]
    assert "index" not in found


def test_the_last_errors_come_first(served: Any, ring: LogRing) -> None:
    for number in range(30):
        ring.handle(
            logging.LogRecord("stackroom", logging.ERROR, "", 0, f"problem {number}", (), None)
        )
    ring.handle(logging.LogRecord("stackroom", logging.INFO, "", 0, "all is well", (), None))
    answer = served.ask("debug.inspect", query_type="errors", limit=5)
    assert [row["message"] for row in answer["rows"]] == [
        f"problem {number}" for number in range(29, 24, -1)
    ]
    assert (answer["total"], answer["has_more"]) == (30, True)


def test_what_somebody_does_not_see_is_not_inspected(served: Any) -> None:
    answer = served.ask("debug.inspect", query_type="index", principal=CONFINED)
    assert [row["catalogue"] for row in answer["rows"]] == ["other"]
