"""Verifying: a pack of which something is missing or not what it should be is found.

Flipped bits and lost ends of all its files are in the tests of damage.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackroom.packs.build import check_pack, files_folder
from stackroom.packs.manifest import (
    EMBEDDINGS_FILE,
    MANIFEST_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    content_of,
    load_manifest,
)
from stackroom.packs.patches import read_content
from stackroom.zstd import zstd

pytestmark = pytest.mark.row("N4")


@pytest.mark.parametrize("name", [SPEC_FILE, RECORDS_FILE, EMBEDDINGS_FILE])
def test_a_missing_file_is_named(pack: Path, name: str) -> None:
    (files_folder(pack, load_manifest(pack)) / name).unlink()
    (problem,) = check_pack(pack)
    assert f"{name}: cannot be read" in problem


def test_a_folder_without_a_manifest_is_no_pack(tmp_path: Path) -> None:
    (problem,) = check_pack(tmp_path)
    assert MANIFEST_FILE in problem


def swapped(pack: Path, change: Callable[[bytes], bytes]) -> list[str]:
    """Return the faults of a pack whose records were replaced, by somebody who made the checksums
    fit.
    """
    manifest = load_manifest(pack)
    folder, file = files_folder(pack, manifest), manifest.get_file(RECORDS_FILE)
    content = change(read_content(folder / RECORDS_FILE, file))
    data = zstd.compress(content)
    (folder / RECORDS_FILE).write_bytes(data)
    fitting = replace(
        file,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        content=hashlib.sha256(content).hexdigest(),
        raw_bytes=len(content),
    )
    files = tuple(fitting if one == file else one for one in manifest.files)
    forged = replace(manifest, files=files, content=content_of(files))
    folder.rename(files_folder(pack, forged))
    (pack / MANIFEST_FILE).write_bytes(forged.dump())
    return list(check_pack(pack))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda content: content.replace(b"Title 19", b"Title 1A"),
            "a vector of 'Title 19', which is not among",
        ),
        (lambda content: content[:-4], "its last line has no end"),
        (lambda content: content.partition(b"\n")[2], "which is not among the records"),
    ],
)
def test_content_that_does_not_belong_into_its_file_is_found_although_its_checksum_fits(
    pack: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    (problem,) = swapped(pack, change)
    assert message in problem
