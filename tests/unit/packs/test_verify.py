"""Verifying: any flipped bit and any lost byte of a pack is found. The long form is `python -m support.pack_faults`."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pinakes.packs.blocks import encode_block, load_block
from pinakes.packs.manifest import MANIFEST_FILE, BlockKind, block_path, content_of, load_manifest
from pinakes.packs.pack_files import save_block, save_manifest
from pinakes.packs.verify import check_installed_pack, check_pack
from support.pack_faults import damage_everywhere

pytestmark = pytest.mark.row("N4")


def test_a_sample_of_flipped_bits_and_lost_ends_is_found(pack: Path) -> None:
    found = damage_everywhere(pack, flips=60, truncations=20, seed=7)
    assert (found.missed, found.tried) == ([], 80)
    assert list(check_pack(pack)) == []


def test_control_without_comparing_checksums_damage_goes_unnoticed(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinakes.packs.verify.load_block", lambda *_arguments, **_named: b"")
    monkeypatch.setattr("pinakes.packs.verify._Contents.check", lambda *_arguments: None)
    assert damage_everywhere(pack, flips=40, truncations=10, seed=7).missed


@pytest.mark.parametrize("kind", [BlockKind.SPEC, BlockKind.RECORDS, BlockKind.VECTORS])
def test_a_missing_block_is_named(pack: Path, kind: BlockKind) -> None:
    block = next(one for one in load_manifest(pack).all_blocks if one.kind is kind)
    block_path(pack, block).unlink()
    problems = list(check_pack(pack))
    assert any(block.file_name in problem and "cannot be read" in problem for problem in problems)


def test_a_folder_without_a_manifest_is_no_pack(tmp_path: Path) -> None:
    (problem,) = check_pack(tmp_path)
    assert MANIFEST_FILE in problem


def swapped(pack: Path, change: Callable[[bytes], bytes]) -> list[str]:
    """Return the faults of a pack whose last block was replaced, by somebody who made the checksums fit."""
    manifest = load_manifest(pack)
    last = manifest.blocks[-1]
    made = encode_block(last.kind, change(load_block(pack, last)), first=last.first, count=last.count)
    save_block(pack, *made)
    blocks = (*manifest.blocks[:-1], made.block)
    save_manifest(pack, replace(manifest, blocks=blocks, content=content_of(manifest.spec.block, blocks)))
    return list(check_pack(pack))


def test_content_that_does_not_belong_into_its_block_is_found_although_its_checksum_fits(pack: Path) -> None:
    assert load_manifest(pack).blocks[-1].kind is BlockKind.VECTORS
    (problem,) = swapped(pack, lambda content: content.replace(b"Title ", b"Titlf "))
    assert "has vectors of other records" in problem
    (problem,) = swapped(pack, lambda content: content[:-4])
    assert "damaged" in problem


def test_an_installed_pack_is_checked_by_its_content_alone(pack: Path, tmp_path: Path) -> None:
    manifest = load_manifest(pack)
    block = manifest.blocks[0]
    again = encode_block(block.kind, load_block(pack, block), level=1)
    assert again.block.sha256 != block.sha256
    block_path(pack, block).write_bytes(again.data)
    assert list(check_installed_pack(pack)) == []
    assert len(list(check_pack(pack))) == 1
    block_path(pack, block).write_bytes(again.data[:-1])
    assert len(list(check_installed_pack(pack))) == 1
    shutil.rmtree(pack)
    assert list(check_installed_pack(pack)) == []


def test_what_an_earlier_version_left_in_the_place_of_a_pack_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_FILE).write_text('{"format": 1}')
    (tmp_path / "records.jsonl.zst").write_bytes(b"")
    assert list(check_installed_pack(tmp_path)) == []
