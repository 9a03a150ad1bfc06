"""The ledger: where records came from, what was refused, how far a reading got."""

from pathlib import Path

import pytest

from stackroom.catalogue.spec import FieldSpec, FieldType
from stackroom.errors import StorageError
from stackroom.ingest.ledger import (
    Ledger,
    Origin,
    check_ledger,
    find_identified,
    find_places,
    find_written,
)
from stackroom.model.record import RecordId

ONE, TWO = RecordId("one"), RecordId("two")


def test_rejects_of_a_source_are_replaced_by_those_of_its_next_run() -> None:
    ledger = Ledger()
    ledger.replace_rejects("a.csv", [("line 2", "no title"), ("line 9", "no id")])
    ledger.replace_rejects("b.csv", [("line 1", "no id")])
    ledger.replace_rejects("a.csv", [("line 9", "no id")])
    assert ledger.rejects() == [("a.csv", "line 9", "no id"), ("b.csv", "line 1", "no id")]


def test_of_several_sources_and_identities_the_first_counts_and_texts_of_cells_are_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    ledger.note_origins(
        "b.csv", {ONE: Origin("line 2", ""), TWO: Origin("line 3", "", '{"n":"9 €"}')}
    )
    ledger.note_origins("a.csv", {ONE: Origin("line 1", "")})
    ledger.note_identities({ONE: ["x"], TWO: ["y"]})
    fields = {"n": FieldSpec(name="n", type=FieldType.FLOAT)}
    assert [str(one) for one in ledger.conversions("b.csv", fields)] == [
        "1 read as a number ('9 €', line 3)"
    ]
    assert (ledger.find_holder(["none", "y", "x"]), ledger.find_holder(["none"])) == (TWO, None)
    assert ledger.ids_from_sources([ONE, TWO], but="b.csv") == {ONE}
    ledger.close()
    assert find_places(path, [TWO, ONE]) == {ONE: ("a.csv", "line 1"), TWO: ("b.csv", "line 3")}
    assert (find_identified(path, ["y", "x"]), find_written(path, TWO)) == (TWO, {"n": "9 €"})


def test_what_a_source_said_of_a_record_is_kept_until_the_record_is_forgotten() -> None:
    ledger = Ledger()
    ledger.note_origins("a.csv", {ONE: Origin("line 1", "")})
    ledger.note_source_records("a.csv", {ONE: b"{}", TWO: b"[]"})
    ledger.note_source_records("a.csv", {ONE: b"1"})
    ledger.note_source_records("b.csv", {TWO: b"2"})
    assert ledger.last_source_records("a.csv", [ONE, TWO, RecordId("three")]) == {
        ONE: b"1",
        TWO: b"[]",
    }
    assert ledger.ids_from_sources([ONE, TWO]) == {ONE}
    ledger.forget_origins("a.csv", [ONE, TWO])
    assert (
        ledger.last_source_records("a.csv", [ONE, TWO]),
        ledger.last_source_records("b.csv", [TWO]),
    ) == ({}, {TWO: b"2"})


def test_unreadable_cells_are_replaced_but_for_those_of_unchanged_rows() -> None:
    ledger = Ledger()
    ledger.replace_cells(
        "a.csv", [("line 2", "year", "no year"), ("line 3", "year", "no year")], unchanged=()
    )
    ledger.replace_cells("b.csv", [("line 2", "size", "no number")], unchanged=())
    ledger.replace_cells("a.csv", [("line 9", "size", "no number")], unchanged={"line 3"})
    assert ledger.cells() == [
        ("a.csv", "line 3", "year", "no year"),
        ("a.csv", "line 9", "size", "no number"),
        ("b.csv", "line 2", "size", "no number"),
    ]


def test_a_ledger_that_cannot_be_read_is_named_without_the_folders_of_the_server(
    tmp_path: Path,
) -> None:
    path = tmp_path / "films" / "ledger.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(StorageError, match=r"^films/ledger\.sqlite: cannot be opened"):
        Ledger(path)
    (problem,) = check_ledger(path)
    assert problem.message.startswith("films/ledger.sqlite is damaged")
