"""Files are replaced as a whole, with a back-up; links stay links, and secrets are private."""

import stat
from pathlib import Path

import pytest

from stackroom.cli.clients import config_file
from stackroom.cli.clients.config_file import backup_of, read_text, update_file
from stackroom.errors import ConflictError, InputError

pytestmark = pytest.mark.row("N17")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.is_file())


def test_a_file_is_replaced_with_its_mode_and_line_endings_and_the_former_one_is_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"one\r\n")
    path.chmod(0o640)
    assert update_file(path, lambda text: f"{text}two\r\n", is_private=False)
    assert path.read_bytes() == b"one\r\ntwo\r\n"
    assert backup_of(path).read_bytes() == b"one\r\n"
    assert (mode_of(path), mode_of(backup_of(path))) == (0o640, 0o640)
    assert files_in(tmp_path) == ["config.json", "config.json.bak"]


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "real.json"
    target.parent.mkdir()
    target.write_text("one")
    link = tmp_path / "config.json"
    link.symlink_to(Path("dotfiles") / "real.json")
    assert update_file(link, lambda _text: "two", is_private=False)
    assert link.is_symlink()
    assert target.read_text() == "two"
    assert backup_of(link).read_text() == "one"


def test_nothing_is_written_where_nothing_changes_and_a_file_without_text_is_removed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.json"
    path.write_text("one")
    assert not update_file(path, lambda text: text, is_private=False)
    assert not backup_of(path).exists()
    assert update_file(path, lambda _text: None, is_private=False)
    assert not path.exists()


def test_a_file_that_a_client_writes_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("1")

    def edit(_text: str | None) -> str:
        path.write_text("2")
        return "ours"

    with pytest.raises(ConflictError, match="being written by another program"):
        update_file(path, edit, is_private=False)
    assert path.read_text() == "2"
    assert files_in(tmp_path) == ["config.json", "config.json.bak"]


def test_a_write_that_fails_leaves_the_file_and_no_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.json"
    path.write_text("one")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(config_file.os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        update_file(path, lambda _text: "two", is_private=False)
    assert path.read_text() == "one"
    assert files_in(tmp_path) == ["config.json", "config.json.bak"]


def test_places_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file/config\.json: cannot be written: "):
        update_file(tmp_path / "file" / "config.json", lambda _text: "x", is_private=False)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    (tmp_path / "wide").write_bytes("{}".encode("utf-16"))
    with pytest.raises(InputError, match=r"is not UTF-8 text .byte 0.; nothing was written"):
        read_text(tmp_path / "wide")
