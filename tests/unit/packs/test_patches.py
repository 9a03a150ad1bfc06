"""Patches: they make exactly the content that the manifest names, or nothing; damage of any file is
found.
"""

import hashlib
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.errors import StorageError
from stackroom.packs.manifest import EMBEDDINGS_FILE, RECORDS_FILE, PackFile
from stackroom.packs.patches import (
    MOST_PATCHED_BYTES,
    apply_patch,
    can_be_patched,
    check_file,
    compress,
    iter_content,
    make_patch,
    patch_name,
)
from stackroom.zstd import zstd

pytestmark = pytest.mark.row("N4")

CONTENT = random.Random(1).randbytes(300_000)


def file_of(content: bytes, shipped: bytes | None = None, name: str = RECORDS_FILE) -> PackFile:
    shipped = content if shipped is None else shipped
    return PackFile(
        name=name,
        sha256=hashlib.sha256(shipped).hexdigest(),
        size_bytes=len(shipped),
        content=hashlib.sha256(content).hexdigest(),
        raw_bytes=len(content),
    )


@settings(max_examples=60, deadline=None)
@given(old=st.binary(min_size=8, max_size=2_000), new=st.binary(max_size=2_000))
def test_a_patch_makes_the_new_content_of_the_old_one(old: bytes, new: bytes) -> None:
    assert apply_patch(old, make_patch(old, new), file_of(new)) == new


def test_a_patch_of_a_few_changes_and_a_shift_is_small_although_nothing_can_be_compressed() -> None:
    new = CONTENT[:1_000] + b"inserted" + CONTENT[1_000:200_000] + b"x" * 50 + CONTENT[200_050:]
    patch = make_patch(CONTENT, new)
    assert len(patch) < 1_000
    assert apply_patch(CONTENT, patch, file_of(new)) == new


def test_a_flipped_bit_a_lost_end_and_another_base_make_nothing() -> None:
    new = CONTENT[:1_000] + b"inserted" + CONTENT[1_000:]
    patch = make_patch(CONTENT, new)
    for place in range(0, len(patch) * 8, 5):
        damaged = bytearray(patch)
        damaged[place // 8] ^= 1 << place % 8
        try:
            made = apply_patch(CONTENT, bytes(damaged), file_of(new))
        except StorageError:
            continue
        assert made == new  # a bit that decides nothing
    for length in range(0, len(patch), 7):
        with pytest.raises(StorageError):
            apply_patch(CONTENT, patch[:length], file_of(new))
    with pytest.raises(StorageError):
        apply_patch(CONTENT[1:], patch, file_of(new))


def test_a_patch_that_unpacks_to_more_than_the_file_has_is_refused() -> None:
    bomb = zstd.compress(bytes(100_000_000))
    with pytest.raises(StorageError, match="does not make the content"):
        apply_patch(CONTENT, bomb, file_of(b"small"))


def test_files_that_are_the_same_or_do_not_fit_into_memory_have_no_patch() -> None:
    old, new = file_of(b"the old content"), file_of(b"the new content")
    assert can_be_patched(old, new)
    assert not can_be_patched(old, old)
    assert not can_be_patched(file_of(b"short"), new)
    assert not can_be_patched(old, replace(new, raw_bytes=MOST_PATCHED_BYTES))
    assert patch_name(old, new) == f"records-{old.content[:12]}-{new.content[:12]}.patch"


@pytest.mark.parametrize("name", [RECORDS_FILE, EMBEDDINGS_FILE])
@pytest.mark.parametrize("is_shipped", [True, False])
def test_a_file_that_is_damaged_cut_off_or_gone_is_told(
    name: str, is_shipped: bool, tmp_path: Path
) -> None:
    content = CONTENT[:2_000]
    shipped = compress(content) if name == RECORDS_FILE else content
    path, file = tmp_path / name, file_of(content, shipped, name)
    path.write_bytes(shipped)
    assert check_file(path, file, is_shipped=is_shipped) is None
    for damaged in (b"x" + shipped[1:], shipped[:-1], b""):
        path.write_bytes(damaged)
        assert "damaged" in (check_file(path, file, is_shipped=is_shipped) or "")
    path.unlink()
    assert "cannot be read" in (check_file(path, file, is_shipped=is_shipped) or "")


def test_a_file_that_unpacks_to_more_than_the_manifest_says_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / RECORDS_FILE
    path.write_bytes(zstd.compress(bytes(50_000_000)))
    with pytest.raises(StorageError, match="unpacks to more than 10 bytes"):
        list(iter_content(path, replace(file_of(b"x" * 10))))
