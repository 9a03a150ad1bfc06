"""The folder of a pack: its files are written so that it is the former pack or the new one at every moment.

Blocks come first, each under the name of its content; then the manifest, in one step; then blocks that it does not
name are removed.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from pinakes.errors import BusyError, InputError, StorageError
from pinakes.packs.manifest import (
    BLOCK_ENDING,
    BLOCKS_FOLDER,
    MANIFEST_FILE,
    SIGNATURE_FILE,
    Block,
    Manifest,
    block_path,
    load_manifest,
)

LOCK_TIMEOUT_S = 60.0
HALF_WRITTEN = ".new"


def write_synced(path: Path, content: bytes) -> None:
    """Write a file durably, in place of an earlier one, so that a reader finds one or the other."""
    fresh = path.with_name(f"{path.name}{HALF_WRITTEN}")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def save_block(folder: Path, block: Block, data: bytes) -> None:
    """Write the file of a block, unless it is there and whole."""
    path = block_path(folder, block)
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_synced(path, data)


def save_manifest(folder: Path, manifest: Manifest, *, signature: bytes | None = None) -> None:
    """Make a folder the pack of a manifest whose blocks are there, and remove the blocks of a former one."""
    (folder / SIGNATURE_FILE).unlink(missing_ok=True)
    write_synced(folder / MANIFEST_FILE, manifest.dump())  # commit point
    if signature is not None:
        write_synced(folder / SIGNATURE_FILE, signature)
    named = [*manifest.all_blocks, *(delta.block for delta in manifest.deltas)]
    remove_blocks(folder, {block.file_name for block in named})


def remove_blocks(folder: Path, kept: Iterable[str]) -> None:
    """Remove the files of blocks other than these, and what was left half written."""
    kept = set(kept)
    for path in sorted((folder / BLOCKS_FOLDER).glob(f"*{BLOCK_ENDING}*")):
        if path.name not in kept:
            path.unlink(missing_ok=True)


@contextmanager
def writing_pack(folder: Path) -> Iterator[None]:
    """Hold a pack's folder for writing; refuse one with other files in it, and a second writer."""
    try:
        require_pack_folder(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        whole = folder.resolve()  # "." has no name
        lock = filelock.FileLock(whole.with_name(f"{whole.name}.lock"), timeout=LOCK_TIMEOUT_S)
        with lock:
            (folder / BLOCKS_FOLDER).mkdir(parents=True, exist_ok=True)
            yield
        Path(lock.lock_file).unlink(missing_ok=True)
    except filelock.Timeout as error:
        raise BusyError(f"{folder}: another process is writing the pack") from error
    except OSError as error:
        raise StorageError(f"{folder}: the pack could not be written: {error}") from error


def require_pack_folder(folder: Path) -> None:
    """Refuse a place that is a file, or a folder with anything but a pack in it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder for the pack")
    own = {MANIFEST_FILE, SIGNATURE_FILE, BLOCKS_FOLDER}
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    others = [name for name in names if name.removesuffix(HALF_WRITTEN) not in own]
    if others:
        raise InputError(f"{folder} has {', '.join(others[:3])} in it, and is no pack; give an empty or new folder")


def find_former(folder: Path) -> Manifest | None:
    """Return the manifest of the pack that a folder has; None where there is none that can be read."""
    try:
        return load_manifest(folder)
    except StorageError:
        return None
