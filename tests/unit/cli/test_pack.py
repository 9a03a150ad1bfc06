"""`stackroom pack`: a catalogue goes out as files and comes in again, and each report says what is
so.
"""

import os
from pathlib import Path

import pytest

from support.signer import Signer
from support.terminals import Run

pytestmark = [pytest.mark.row("N4"), pytest.mark.row("A10")]

FILMS = (
    "id,title,plot\n1,Heat,Two men and a robbery.\n2,Alien,Something aboard.\n3,Solaris,A planet"
    " that thinks.\n"
)


@pytest.fixture
def films(tmp_path: Path, run: Run) -> Path:
    """A library with a catalogue of films, and the folder around it."""
    (tmp_path / "films.csv").write_text(FILMS)
    assert run(f"add {tmp_path / 'films.csv'} --yes --no-embed").code == 0
    return tmp_path


def test_a_pack_is_built_and_verified(films: Path, run: Run) -> None:
    pack = str(films / "pack")
    built = run(f"pack build films {pack} --version 2026.46 --licence CC0-1.0 --json").json
    assert (built["records"], built["version"], built["licence"]) == (3, "2026.46", "CC0-1.0")
    assert run(f"pack verify {pack}").out.startswith("whole: films 2026.46: 3 records, no vectors")


def test_a_damaged_pack_is_told_with_exit_code_1(films: Path, run: Run) -> None:
    pack = films / "pack"
    run(f"pack build films {pack}")
    next(pack.glob("*/records.jsonl.zst")).write_bytes(b"")
    told = run(f"pack verify {pack}")
    assert (told.code, told.out.startswith("BAD  ")) == (1, True)
    assert run(f"pack verify {pack} --json").json["whole"] is False
    assert run(f"pack verify {films / 'nothing'}").code == 1


def test_a_signed_pack_is_verified_against_its_key_and_no_other(films: Path, run: Run) -> None:
    pack, key, other = films / "pack", Signer.new(), Signer.new()
    run(f"pack build films {pack}")
    (pack / "manifest.json.minisig").write_bytes(key.sign((pack / "manifest.json").read_bytes()))
    (films / "films.pub").write_bytes(key.public_file)
    assert ", signed by " in run(f"pack verify {pack} --key {films / 'films.pub'}").out
    assert run(f"pack verify {pack} --key {key.public}").code == 0
    wrong = run(f"pack verify {pack} --key {other.public}")
    assert (wrong.code, "signed by another key" in wrong.out) == (1, True)
    run(f"pack build films {pack} --version 7")
    unsigned = run(f"pack verify {pack} --key {key.public}")
    assert (unsigned.code, "not signed" in unsigned.out) == (1, True)


def test_the_files_of_a_pack_have_the_modes_of_the_users_umask(films: Path, run: Run) -> None:
    before = os.umask(0o027)
    try:
        for _ in range(2):
            run(f"pack build films {films / 'pack'} --version 1")
            paths = [*(films / "pack").rglob("*"), films / "pack"]
            assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o640}
            assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o750}
    finally:
        os.umask(before)


def test_places_and_names_that_cannot_be_are_refused(films: Path, run: Run) -> None:
    inside = run(f"pack build films {films / 'home' / 'catalogues' / 'films' / 'pack'}")
    assert (inside.code, "inside the library" in inside.err) == (2, True)
    run(f"pack build films {films / 'pack'}")
    (films / "songs.csv").write_text("id,title\n1,Yesterday\n")
    run(f"add {films / 'songs.csv'} --yes --no-embed")
    other = run(f"pack build songs {films / 'pack'}")
    assert (other.code, "is a pack of 'films'" in other.err) == (2, True)


def test_a_pack_is_written_into_the_working_folder(
    films: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (films / "pack").mkdir()
    monkeypatch.chdir(films / "pack")
    assert run("pack build films . --version 1").code == 0
    assert run("pack verify .").code == 0
    assert not list(films.glob("*.lock"))
