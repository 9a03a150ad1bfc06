"""The files of a library: whose they are."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackroom.checksums import open_like
from stackroom.cli.private_files import keep_private, umask_for
from support.terminals import Run

ROWS = "title,year\nStalker,1979\nSolaris,1972\nMirror,1975\n"


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "library"))
    (tmp_path / "films.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path / "library"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(home: Path) -> dict[bool, set[int]]:
    """Return the modes of the folders and of the files of a library, itself included."""
    found = [home, *home.rglob("*")]
    return {
        is_folder: {mode_of(path) for path in found if path.is_dir() is is_folder}
        for is_folder in (True, False)
    }


def test_whatever_is_written_in_a_library_is_its_owner_s_only(
    home: Path, tmp_path: Path, run: Run
) -> None:
    run(f"add {tmp_path / 'films.csv'} --name films --yes --no-embed")
    run("user add ada --one-time")
    run("job run backup")
    assert {"catalogues", "control.sqlite", "backups"} <= {path.name for path in home.iterdir()}
    assert modes(home) == {True: {0o700}, False: {0o600}}
    assert os.umask(0o022) == 0o022


@pytest.mark.parametrize(
    ("folder", "umask"),
    [(0o700, 0o077), (0o750, 0o027), (0o770, 0o007), (0o755, 0o077), (0o777, 0o077)],
)
def test_a_folder_that_was_opened_to_a_group_on_purpose_stays_so(
    tmp_path: Path, folder: int, umask: int
) -> None:
    tmp_path.chmod(folder)
    assert umask_for(tmp_path) == umask
    assert umask_for(tmp_path / "missing") == 0o077
    keep_private(tmp_path)
    (tmp_path / "new").mkdir()
    assert mode_of(tmp_path / "new") == 0o777 & ~(umask | 0o022)


def test_a_stricter_umask_stays(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    os.umask(0o077)
    keep_private(tmp_path)
    (tmp_path / "new").write_text("")
    assert mode_of(tmp_path / "new") == 0o600


def test_what_is_put_into_a_shared_folder_is_as_open_as_that(tmp_path: Path) -> None:
    keep_private(tmp_path / "library")
    for allowed, file in ((0o755, 0o644), (0o700, 0o600), (0o770, 0o660)):
        shared = tmp_path / oct(allowed)
        shared.mkdir()
        shared.chmod(allowed)
        (shared / "album").mkdir()
        (shared / "album" / "01.mp3").write_text("")
        open_like(shared / "album", shared)
        assert (mode_of(shared / "album"), mode_of(shared / "album" / "01.mp3")) == (allowed, file)
