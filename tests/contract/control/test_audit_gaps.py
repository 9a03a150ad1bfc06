"""Audit rows of interrupted calls are rebuilt from the change log and from notes of begun calls, on both databases."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackroom.assembly import audit_gaps
from stackroom.assembly.audit_gaps import AuditRepair, rebuild_rows
from stackroom.control.audit.gaps import AuditGaps
from stackroom.control.audit.log import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import audit_begun
from stackroom.errors import StorageError
from stackroom.gate.gate import CallContext, Gate
from stackroom.model.audit import AuditEntry, Outcome
from stackroom.model.principal import LOCAL_USER, Cost
from stackroom.model.record import Record, RecordId
from stackroom.packages import PACKAGES
from stackroom.shelf.port import Author, Delete, Put
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf

pytestmark = [pytest.mark.row("Z13"), pytest.mark.row("N5")]

LATER = timedelta(hours=1)
ADA = Author(principal="ada", call_id="lost")


@pytest.fixture
def log(database: ControlDatabase) -> Iterator[AuditLog]:
    log = AuditLog(database)
    yield log
    log.close()


class Catalogue(SimpleNamespace):
    """A catalogue with a few ways to change it."""

    name: str
    shelf: MemoryShelf

    def put(self, *names: str, author: Author = ADA) -> None:
        records = [Record(id=RecordId(name), kind="artist", fields={"name": name}) for name in names]
        self.shelf.apply([Put(record=record) for record in records], author=author)


@pytest.fixture
def music() -> Iterator[Catalogue]:
    shelf = MemoryShelf(PACKAGES.get("music").spec, model=None)
    yield Catalogue(name="music", shelf=shelf)
    shelf.close()


def entry(call_id: str, **changes: Any) -> AuditEntry:
    made = AuditEntry(
        at=datetime.now(UTC) - timedelta(days=1),
        call_id=call_id,
        principal="ada",
        via="http",
        operation="tools/call",
        target="catalog.mutate",
        parameters={},
        outcome=Outcome.OK,
    )
    return replace(made, **changes)


@pytest.fixture
def rebuild(database: ControlDatabase, log: AuditLog, music: Catalogue) -> Callable[[], int]:
    """Rebuild rows an hour later; the audit has a row of yesterday."""
    log.write(entry("first"), durable=True)

    def run() -> int:
        catalogues: list[Any] = [music]
        return rebuild_rows(AuditGaps(database), catalogues, before=datetime.now(UTC) + LATER)

    return run


def test_a_change_whose_call_was_not_noted_gets_a_row_that_says_so(
    rebuild: Callable[[], int], log: AuditLog, music: Catalogue
) -> None:
    music.put("Bach", "Händel")
    music.shelf.apply([Delete(RecordId("Bach"))], author=ADA)
    assert [row.call_id for row in log.tail()] == ["first"], "the control: nothing else would add it"
    assert rebuild() == 1
    row = log.tail()[-1]
    assert (row.call_id, row.principal, row.operation, row.target) == ("lost", "ada", "tools/call", "catalog.mutate")
    assert (row.outcome, row.via, row.error_code) == (Outcome.INTERRUPTED, "", None)
    assert abs(datetime.now(UTC) - row.at) < timedelta(minutes=5)
    assert row.parameters == {
        "catalogue": "music",
        "changes": [
            {"op": "insert", "id": "Bach"},
            {"op": "insert", "id": "Händel"},
            {"op": "delete", "id": "Bach"},
        ],
        "records": 3,
        "change_no": [1, 3],
        "rebuilt": "from the change log",
    }
    assert log.verify().first_problem is None


def test_nothing_is_added_twice_nor_for_calls_that_have_a_row_nor_for_builds(
    rebuild: Callable[[], int], log: AuditLog, music: Catalogue
) -> None:
    music.put("Bach", author=Author(principal="ada", call_id="first"))
    music.put("Händel", author=Author())
    assert rebuild() == 0
    music.put("Satie")
    assert [rebuild(), rebuild()] == [1, 0]
    assert [row.call_id for row in log.tail()] == ["first", "lost"]


def test_servers_that_start_at_once_add_a_row_once(
    place: Any, log: AuditLog, music: Catalogue, at_once: Callable[..., list[Any]]
) -> None:
    log.write(entry("first"), durable=True)
    for number in range(5):
        music.put(f"Artist {number}", author=Author(principal="ada", call_id=f"lost {number}"))
    catalogues: list[Any] = [music]
    starts = [AuditGaps(place.open()) for _ in range(4)]
    before = datetime.now(UTC) + LATER
    added = at_once([lambda gaps=gaps: rebuild_rows(gaps, catalogues, before=before) for gaps in starts])
    assert sum(added) == 5
    assert sorted(row.call_id for row in log.tail()) == ["first", *(f"lost {number}" for number in range(5))]
    assert log.verify().first_problem is None


def test_a_change_that_is_too_young_may_still_be_noted_by_its_own_call(
    database: ControlDatabase, log: AuditLog, music: Catalogue
) -> None:
    log.write(entry("first"), durable=True)
    music.put("Bach")
    moment = [datetime.now(UTC)]
    repair = AuditRepair(AuditGaps(database), lambda: [music], now=lambda: moment[0])  # type: ignore[list-item]
    assert repair.rebuild() == 0
    moment[0] += timedelta(minutes=1)
    assert repair.rebuild() == 1


def test_changes_from_before_the_audit_began_are_left_alone(
    database: ControlDatabase, log: AuditLog, music: Catalogue
) -> None:
    music.put("Bach", author=Author(principal="local", call_id="early"))
    log.write(entry("first", at=datetime.now(UTC) + timedelta(minutes=1)), durable=True)
    catalogues: list[Any] = [music]
    assert rebuild_rows(AuditGaps(database), catalogues, before=datetime.now(UTC) + LATER) == 0
    music.put("Satie")
    assert rebuild_rows(AuditGaps(database), catalogues, before=datetime.now(UTC) + LATER) == 1


def test_only_changes_since_the_last_comparison_are_read(
    database: ControlDatabase, rebuild: Callable[[], int], music: Catalogue
) -> None:
    music.put("Bach")
    rebuild()
    compared = AuditGaps(database).find_compared("music")
    assert compared is not None
    assert (compared.change_no, compared.call_id) == (1, "lost")
    read: list[int] = []
    called = music.shelf.list_called

    def counted(*, after: int, limit: int) -> Any:
        read.append(after)
        return called(after=after, limit=limit)

    music.shelf.list_called = counted  # type: ignore[method-assign]
    assert rebuild() == 0
    assert read == [0, 1]


def test_a_catalogue_that_was_made_anew_is_compared_from_its_beginning(
    rebuild: Callable[[], int], log: AuditLog, music: Catalogue
) -> None:
    for number in range(3):
        music.put(f"Artist {number}", author=Author(principal="ada", call_id=f"lost {number}"))
    assert rebuild() == 3
    music.shelf = MemoryShelf(PACKAGES.get("music").spec, model=None)
    music.put("Bach", author=Author(principal="bob", call_id="other"))
    assert rebuild() == 1
    assert log.tail()[-1].call_id == "other"


def test_many_calls_are_compared_in_pages_and_none_is_cut(
    rebuild: Callable[[], int], log: AuditLog, music: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_gaps, "AT_ONCE", 4)
    for number in range(7):
        names = [f"Artist {number} {one}" for one in range(number % 3 + 1)]
        music.put(*names, author=Author(principal="ada", call_id=f"lost {number}"))
    assert rebuild() == 7
    assert [row.parameters["records"] for row in log.tail()[1:]] == [1, 2, 3, 1, 2, 3, 1]


def test_a_catalogue_that_cannot_be_read_keeps_nothing_from_the_others(
    database: ControlDatabase, log: AuditLog, music: Catalogue
) -> None:
    class Broken:
        name = "broken"

        @property
        def shelf(self) -> Any:
            raise StorageError("away")

    log.write(entry("first"), durable=True)
    music.put("Bach")
    catalogues: list[Any] = [Broken(), music]
    assert rebuild_rows(AuditGaps(database), catalogues, before=datetime.now(UTC) + LATER) == 1


class Died(BaseException):
    """Stands for the end of the process."""


class DyingLog:
    """An audit whose process ends before a row is written."""

    def __init__(self, log: AuditLog) -> None:
        self.begin = log.begin

    def write(self, _entry: AuditEntry, *, durable: bool) -> None:
        raise Died


def perform(observer: Any, work: Callable[[], None], **changes: Any) -> None:
    asked: dict[str, Any] = {"via": "rest", "operation": "player/like", "target": "track-1", "parameters": {"n": 1}}
    context = CallContext(principal=LOCAL_USER, cost=Cost.WRITE, call_id="begun", **{**asked, **changes})
    Gate(Toolbox([]), observers=[observer]).perform(context, work)


def notes_of(database: ControlDatabase) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(audit_begun.select()).scalars())


def change_of(database: ControlDatabase) -> Callable[[], None]:
    def change() -> None:
        with database.change():
            pass

    return change


def test_a_change_of_the_control_database_has_its_row_whenever_its_process_ends(
    database: ControlDatabase, log: AuditLog
) -> None:
    before = database.version()
    with pytest.raises(Died):
        perform(DyingLog(log), change_of(database))
    assert (database.version(), log.tail()) == (before + 1, []), "the change is made, and in no row"
    gaps = AuditGaps(database)
    assert gaps.rebuild_begun(before=datetime.now(UTC) - LATER) == 0, "the call may still be running"
    assert [gaps.rebuild_begun(before=datetime.now(UTC) + LATER) for _ in range(2)] == [1, 0]
    (row,) = log.tail()
    assert (row.call_id, row.principal, row.via, row.operation) == ("begun", "local", "rest", "player/like")
    assert (row.target, row.outcome) == ("track-1", Outcome.INTERRUPTED)
    assert row.parameters == {"n": 1, "rebuilt": "from the note of its first change"}
    assert log.verify().first_problem is None


def test_a_call_that_is_noted_leaves_nothing_to_rebuild(database: ControlDatabase, log: AuditLog) -> None:
    noted: list[list[str]] = []

    def change_twice() -> None:
        change_of(database)()
        change_of(database)()
        noted.append(notes_of(database))

    perform(log, change_twice)
    assert noted == [["begun"]]
    assert notes_of(database) == []
    assert AuditGaps(database).rebuild_begun(before=datetime.now(UTC) + LATER) == 0
    assert [row.outcome for row in log.tail()] == [Outcome.OK]


def test_a_call_is_noted_in_the_database_of_its_audit_alone_whoever_opened_it(
    database: ControlDatabase, log: AuditLog, place: Any, tmp_path: Path
) -> None:
    again, other = place.open(), ControlDatabase.open(f"sqlite:///{tmp_path / 'other.sqlite'}")
    noted: list[list[str]] = []

    def change_both() -> None:
        change_of(again)()
        change_of(other)()
        noted.extend([notes_of(database), notes_of(other)])

    perform(log, change_both)
    assert noted == [["begun"], []]
    assert notes_of(database) == []
    other.close()


def test_a_change_that_fails_leaves_no_note(database: ControlDatabase, log: AuditLog) -> None:
    def fail() -> None:
        with database.change():
            raise StorageError("away")

    with pytest.raises(StorageError):
        perform(log, fail)
    assert notes_of(database) == []
    assert [row.outcome for row in log.tail()] == [Outcome.ERROR]


def test_the_note_of_a_call_has_no_secret(database: ControlDatabase, log: AuditLog) -> None:
    with pytest.raises(Died):
        perform(DyingLog(log), change_of(database), parameters={"password": "correct horse", "bad": "\ud800\0"})
    with database.read() as connection:
        (note,) = connection.execute(audit_begun.select()).all()
    assert "correct horse" not in str(note)
