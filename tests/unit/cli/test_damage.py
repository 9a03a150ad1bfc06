"""A library of which something is damaged, lost or unfinished: the rest works, and doctor says what
to do.
"""

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import check_installed
from stackroom.errors import NotFoundError, StorageError
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import load_settings
from stackroom.shelf.port import never_stop
from stackroom.tools.health import examine
from support import launching
from support.packs import install_pack
from support.terminals import Run

GAMES = """
name = "games"
title = "Games"
summary = "Games."
editable = true
id = "id"

[fields.title]
type = "text"
role = "title"
search = true
"""


@pytest.fixture(autouse=True)
def catalogues(tmp_path: Path, run: Run) -> Path:
    """The folder of a library with the catalogues books and films."""
    for name in ("books", "films"):
        (tmp_path / f"{name}.csv").write_text("id,title\n1,Heat and dust\n2,Alien worlds\n")
        assert run(f"add {tmp_path / f'{name}.csv'} --yes --no-embed").code == 0
    return tmp_path / "home" / "catalogues"


def bad_lines(run: Run) -> list[str]:
    """Return what doctor says is wrong, but for the model, which is not here."""
    ran = run("doctor")
    assert ran.code == 1
    return [
        line for line in ran.out.splitlines() if line.startswith("BAD") and "embedder" not in line
    ]


def test_a_catalogue_that_was_edited_by_hand_is_healthy(
    catalogues: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "games.toml").write_text(GAMES)
    (tmp_path / "games.csv").write_text("id,title\n1,Chess\n")
    assert (
        run(f"add {tmp_path / 'games.csv'} --spec {tmp_path / 'games.toml'} --no-embed").code == 0
    )
    with closing(App(load_settings())) as app:
        install_pack(app, "games")
        edit = {"action": "update", "id": "1", "fields": {"title": "Go"}}
        answer = app.build_gate(["games"]).call(LOCAL_USER, "catalog.mutate", edit)
        assert answer.error_code is None, answer.text
    assert bad_lines(run) == []
    (pack,) = [line for line in run("doctor").out.splitlines() if "games: pack" in line]
    assert pack.endswith("installed from release 1 of 'games', whole")
    checked = run("job run integrity_check")
    assert checked.code == 0, checked.out + checked.err


def test_every_check_says_the_same_of_a_damaged_catalogue(catalogues: Path, run: Run) -> None:
    with closing(App(load_settings())) as app:
        pack = install_pack(app, "books")
    assert bad_lines(run) == []
    next((pack / "files").iterdir()).write_bytes(b"x")
    said = "searches do not read it; the next stackroom update fetches what is damaged"
    (line,) = bad_lines(run)
    assert line.startswith("BAD books: pack: ")
    assert said in line
    with closing(App(load_settings())) as app:
        app.build_gate()
        assert "catalogue books" not in app.catalogue_problems()
        problems = check_installed(app, "books", never_stop)
        assert [said in str(one) for one in problems] == [True]
        assert said in app.catalogue_problems()["catalogue books"]
        (found,) = [one for one in examine(app.open_catalogue("books")) if one.is_ok is not True]
        assert (found.part, said in found.detail) == ("pack", True)
    assert said in run("job run integrity_check").err


@pytest.mark.parametrize("content", [None, "", "{", "[]", "7"])
def test_a_catalogue_without_a_good_marker_does_not_stop_the_others(
    catalogues: Path, run: Run, content: str | None
) -> None:
    marker = catalogues / "books" / "installed.json"
    marker.unlink() if content is None else marker.write_text(content)
    listed = run("list --json")
    assert [one["name"] for one in listed.json] == ["films"]
    assert "'books' cannot be opened" in listed.err
    assert run("search films heat --json").json["total"] == 1
    refused = run("search books heat")
    assert refused.code == StorageError.exit_code
    (line,) = bad_lines(run)
    assert line.startswith("BAD books: ")
    assert 'write {"spec": "NAME"}' in line
    app = App(load_settings())
    gate = app.build_gate()
    assert app.catalogue_problems().keys() == {"catalogue books"}
    del gate
    app.close()


def test_a_damaged_sample_does_not_stop_the_others_from_being_set_up(
    catalogues: Path, run: Run
) -> None:
    (catalogues / "anime").mkdir()
    (catalogues / "anime" / "installed.json").write_text("{")
    ran = run("init --no-model")
    assert ran.code == 0
    assert "'anime' is left as it is" in ran.err
    assert {"papers", "music"} <= {one["name"] for one in run("list --json").json}


def test_an_unfinished_build_is_named_with_what_to_do(catalogues: Path, run: Run) -> None:
    (catalogues / "books" / "installed.json").rename(catalogues / "books" / "building.json")
    for ran in (run("search books heat"), run("get books 1"), run("serve books")):
        assert ran.code == NotFoundError.exit_code
        assert "catalogue 'books' is unfinished" in ran.err
    assert "'books' is unfinished" in (listed := run("list").err)
    (line,) = bad_lines(run)
    assert line.startswith("BAD books: unfinished")
    assert all("run the same stackroom add again" in one for one in (listed, line))


def test_a_ledger_that_is_damaged_or_lost_is_told_with_what_to_do(
    catalogues: Path, run: Run
) -> None:
    ledger, source = (
        catalogues / "books" / "ledger.sqlite",
        str(catalogues.parents[1] / "books.csv"),
    )
    whole = ledger.read_bytes()
    for damaged in (whole[:4096] + b"\xff" * (len(whole) - 4096), b"no database" * 1000):
        ledger.write_bytes(damaged)
        (line,) = bad_lines(run)
        assert line.startswith("BAD books: ledger: ")
        for told in (line, run("rejects books").err, run(f"add {source} --no-embed").err):
            assert "move the file away and run the same stackroom add again" in told
    ledger.unlink()
    (line,) = bad_lines(run)
    for told in (line, run("rejects books").err):
        assert "ledger.sqlite is missing" in told
        assert "run the same stackroom add again" in told
    Path(source).write_text("id,title\n1,Heat and dust\n")
    assert "1 of unknown origin kept" in run(f"add {source} --no-embed").out
    assert bad_lines(run) == []


def test_a_lost_declaration_is_told_and_can_be_given_again(catalogues: Path, run: Run) -> None:
    folder, source = catalogues / "books", str(catalogues.parents[1] / "books.csv")
    kept = shutil.move(folder / "catalogue.toml", catalogues.parent / "kept.toml")
    (line,) = bad_lines(run)
    for told in (line, run(f"add {source} --no-embed").err):
        assert "put it back from a back-up" in told
        assert "--spec catalogue.toml --name books" in told
    given = run(f"add {source} --spec {kept} --name books --no-embed")
    assert given.code == 0, given.err
    assert bad_lines(run) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "from a back-up, or move the catalogue's folder away and add it again"),
        (
            b"no database" * 1000,
            "from a back-up, or move the catalogue's folder away and add it again",
        ),
        (b"", "the file is empty; build the catalogue again (stackroom add)"),
    ],
)
def test_records_that_are_damaged_or_lost_are_told_with_what_to_do(
    catalogues: Path, run: Run, content: bytes | None, says: str
) -> None:
    store = catalogues / "books" / "records.sqlite"
    store.unlink() if content is None else store.write_bytes(content)
    (line,) = bad_lines(run)
    for told in (line, run("search books heat").err):
        assert says in told


@pytest.mark.parametrize(
    "arguments", ["init --no-model", "add books.csv --yes --no-embed", "model pull"]
)
def test_a_home_that_cannot_be_written_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKROOM_HOME", "/proc/nope")
    ran = run(arguments)
    assert ran.code == StorageError.exit_code
    assert "cannot be written" in ran.err


def test_as_a_module_it_ends_with_the_same_code(tmp_path: Path) -> None:
    ran = launching.run(
        "doctor", environment={**os.environ, "STACKROOM_HOME": str(tmp_path / "nothing")}
    )
    assert "BAD" in ran.stdout
    assert ran.returncode == 1


def test_a_library_whose_catalogues_cannot_be_opened_is_not_called_empty(
    catalogues: Path, run: Run
) -> None:
    for name in ("books", "films"):
        (catalogues / name / "catalogue.toml").unlink()
    listed = run("list")
    assert listed.out == ""
    assert "'books' cannot be opened" in listed.err
    assert "'films' cannot be opened" in listed.err
