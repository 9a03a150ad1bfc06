"""A file's content, plain and compressed, whole and broken."""

from pathlib import Path

import pytest

from stackroom.errors import InputError
from stackroom.sources.compressed import find_compressed, open_decompressed, require_file
from support.reading import PACKED, PACKERS, written

pytestmark = pytest.mark.row("N1")

CONTENT = "käse 日本\n".encode() * 20_000


def read(path: Path) -> bytes:
    with open_decompressed(path) as file:
        return file.read()


def test_a_file_is_found_plain_or_else_packed(tmp_path: Path) -> None:
    assert find_compressed(tmp_path / "a.csv") is None
    packed = written(tmp_path, "a.csv.zst", b"")
    assert find_compressed(tmp_path / "a.csv") == packed
    plain = written(tmp_path, "a.csv", b"")
    assert find_compressed(tmp_path / "a.csv") == plain


@pytest.mark.parametrize("suffix", PACKED)
def test_several_packed_parts_are_read_as_one(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](CONTENT)
    assert read(written(tmp_path, f"a{suffix}", packed + packed)) == CONTENT * 2


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        require_file(tmp_path / "nothing")
    with pytest.raises(InputError, match="expected a file, not a folder"):
        require_file(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        require_file(tmp_path / ("long" * 200))
