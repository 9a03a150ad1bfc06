"""`pinakes pack`: a catalogue goes out as files and comes in again, and each report says what is so."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

Run = Callable[..., Any]

pytestmark = [pytest.mark.row("N4"), pytest.mark.row("A10")]

FILMS = "id,title,plot\n1,Heat,Two men and a robbery.\n2,Alien,Something aboard.\n3,Solaris,A planet that thinks.\n"


@pytest.fixture
def films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A library with a catalogue of films, and the folder around it."""
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    (tmp_path / "films.csv").write_text(FILMS)
    assert run(["add", str(tmp_path / "films.csv"), "--yes", "--no-embed"]).code == 0
    return tmp_path


def test_a_pack_is_built_shown_verified_and_compared(films: Path, run: Run) -> None:
    pack = str(films / "pack")
    built = run(["pack", "build", "films", pack, "--version", "2026.46", "--licence", "CC0-1.0", "--json"]).json
    assert (built["records"], built["version"], built["licence"], built["signed"]) == (3, "2026.46", "CC0-1.0", False)
    assert run(["pack", "show", pack, "--json"]).json["content"] == built["content"]
    assert "licence      CC0-1.0" in run(["pack", "show", pack]).out
    assert run(["pack", "verify", pack]).out.startswith("whole: films 2026.46: 3 records, no vectors")
    same = run(["pack", "diff", pack, "films"])
    assert (same.code, "changed 0" in same.out) == (0, True)


def test_a_changed_catalogue_differs_from_its_pack_by_name_and_the_next_version_counts_up(
    films: Path, run: Run
) -> None:
    pack = str(films / "pack")
    run(["pack", "build", "films", pack, "--version", "2026.46", "--licence", "CC0-1.0"])
    (films / "films.csv").write_text(FILMS.replace("Alien", "Aliens") + "4,Stalker,A zone.\n")
    assert run(["add", str(films / "films.csv"), "--no-embed"]).code == 0
    differing = run(["pack", "diff", pack, "films", "--json"])
    assert (differing.code, differing.json["added"], differing.json["changed"]) == (1, ["4"], ["2"])
    assert differing.json["update_bytes"] > 0
    again = run(["pack", "build", "films", pack, "--json"]).json
    assert (again["version"], again["licence"], again["records"]) == ("2026.47", "CC0-1.0", 4)


def test_a_damaged_pack_is_told_with_exit_code_1(films: Path, run: Run) -> None:
    pack = films / "pack"
    run(["pack", "build", "films", str(pack)])
    next((pack / "blocks").iterdir()).write_bytes(b"")
    told = run(["pack", "verify", str(pack)])
    assert (told.code, told.out.startswith("BAD  ")) == (1, True)
    assert run(["pack", "verify", str(pack), "--json"]).json["whole"] is False
    assert run(["pack", "verify", str(films / "nothing")]).code == 1


def test_a_signed_pack_is_verified_against_its_key_and_no_other(films: Path, run: Run) -> None:
    pack, key, other = str(films / "pack"), films / "films.key", films / "other.key"
    for one in (key, other):
        assert run(["pack", "key", str(one), "--no-password"]).code == 0
    assert key.stat().st_mode & 0o077 == 0
    assert run(["pack", "build", "films", pack, "--sign-with", str(key), "--json"]).json["signed"] is True
    assert ", signed by " in run(["pack", "verify", pack, "--key", f"{key}.pub"]).out
    public = Path(f"{key}.pub").read_text().splitlines()[1]
    assert run(["pack", "verify", pack, "--key", public]).code == 0
    wrong = run(["pack", "verify", pack, "--key", f"{other}.pub"])
    assert (wrong.code, "signed by another key" in wrong.out) == (1, True)
    run(["pack", "build", "films", pack, "--version", "7"])
    unsigned = run(["pack", "verify", pack, "--key", public])
    assert (unsigned.code, "not signed" in unsigned.out) == (1, True)
    assert run(["pack", "key", str(key), "--no-password"]).code == 2


def test_the_files_of_a_pack_and_an_export_have_the_modes_of_the_users_umask(films: Path, run: Run) -> None:
    before = os.umask(0o027)
    try:
        for _ in range(2):
            run(["pack", "build", "films", str(films / "pack"), "--version", "1"])
            run(["pack", "export", "films", str(films / "export")])
            paths = [*(films / "pack").rglob("*"), *(films / "export").rglob("*"), films / "pack"]
            assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o640}
            assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o750}
    finally:
        os.umask(before)


def test_places_and_names_that_cannot_be_are_refused(films: Path, run: Run) -> None:
    assert run(["pack", "build", "songs", str(films / "pack")]).code == 3
    inside = run(["pack", "build", "films", str(films / "home" / "catalogues" / "films" / "pack")])
    assert (inside.code, "inside the library" in inside.err) == (2, True)
    run(["pack", "build", "films", str(films / "pack")])
    (films / "songs.csv").write_text("id,title\n1,Yesterday\n")
    run(["add", str(films / "songs.csv"), "--yes", "--no-embed"])
    other = run(["pack", "build", "songs", str(films / "pack")])
    assert (other.code, "is a pack of 'films'" in other.err) == (2, True)
    assert run(["pack", "diff", "films", "nothing"]).code == 3
    assert run(["pack", "verify", str(films / "pack"), "--key", "no key"]).code == 2


def test_a_pack_and_an_export_are_written_into_the_working_folder(
    films: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pack", "export"):
        (films / name).mkdir()
    monkeypatch.chdir(films / "pack")
    assert run(["pack", "build", "films", ".", "--version", "1"]).code == 0
    assert run(["pack", "verify", "."]).code == 0
    monkeypatch.chdir(films / "export")
    for _ in range(2):
        assert run(["pack", "export", "films", "."]).code == 0
        assert sorted(os.listdir(".")) == ["catalogue.toml", "manifest.json", "records.jsonl.zst"]
    assert not list(films.glob("*.lock"))


def test_a_key_that_cannot_be_written_is_a_clear_error(films: Path, run: Run) -> None:
    missing = run(["pack", "key", str(films / "missing" / "k"), "--no-password"])
    assert "missing/k: the key cannot be written" in missing.err
    assert run(["pack", "key", ".", "--no-password"]).code == 2


def test_an_export_comes_in_with_its_vectors_and_nothing_is_embedded_again(
    films: Path, run: Run, embedding_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in embedding_server.environment().items():
        monkeypatch.setenv(name, value)
    assert run(["add", str(films / "films.csv")]).code == 0
    written = run(["pack", "export", "films", str(films / "export"), "--json"]).json
    assert (written["records"], written["embeddings"]) == (3, 3)
    embedded = {text for text in embedding_server.texts if "planet" in text}
    embedding_server.texts.clear()
    monkeypatch.setenv("PINAKES_HOME", str(films / "other"))
    report = run(["add", str(films / "export"), "--json"]).json
    assert (report["catalogue"], report["written"], report["embedded"]) == ("films", 3, 0)
    assert embedded
    assert not embedded & set(embedding_server.texts)
    again = run(["pack", "export", "films", str(films / "again"), "--json"]).json
    assert again["files"] == written["files"]
    assert run(["add", str(films / "export"), "--json"]).json["unchanged"] == 3


def test_what_an_earlier_version_kept_beside_a_catalogue_can_be_added(films: Path, run: Run) -> None:
    run(["pack", "export", "films", str(films / "export")])
    manifest = orjson.loads((films / "export" / "manifest.json").read_bytes())
    former = {name: value for name, value in manifest.items() if name not in ("spec", "is_centred")}
    (films / "export" / "manifest.json").write_bytes(orjson.dumps({**former, "change_no": 3, "vector_no": 0}))
    report = run(["add", str(films / "export"), "--name", "films2", "--no-embed", "--json"]).json
    assert (report["catalogue"], report["written"]) == ("films2", 3)
