"""Building a pack from a snapshot of a shelf, and checking one: the same catalogue gives the same
bytes.

The files of a pack are in a folder that is named by their content. A new one is written beside the
former, then the manifest is replaced in one step, then the former is removed: at every moment the
pack is the former or the new one.

A pack as shipped is checked byte for byte, and read as a receiver reads it: every file by its
SHA-256, its entries by what the manifest says, the manifest by its checksum. The files of an
installed release may have been made by a patch and compressed anew, so they are checked by the
SHA-256 of their content.
"""

import hashlib
import os
import shutil
import string
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from stackroom.background.background import FileLease
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.checksums import sha256_of, sync_file, sync_folder
from stackroom.errors import ExpectedError, InputError, StorageError
from stackroom.frozen import frozen
from stackroom.library import (
    CALIBRATION_FILE,
    HALF_WRITTEN,
    Installed,
    replace_file,
)
from stackroom.packs import entries
from stackroom.packs.installed import FORMER_FILE, InstalledPack
from stackroom.packs.manifest import (
    EMBEDDINGS_FILE,
    MANIFEST_FILE,
    RECORDS_FILE,
    SHORT,
    SIGNATURE_FILE,
    SPEC_FILE,
    Manifest,
    PackCalibration,
    PackFile,
    PackSpec,
    content_of,
    load_manifest,
    parse_manifest,
    require_version,
)
from stackroom.packs.patches import LEVEL, check_file
from stackroom.packs.signing import PublicKey, verify_signature
from stackroom.search.evidence import find_calibration
from stackroom.shelf.port import Checkpoint, ShelfReader, never_stop
from stackroom.zstd import zstd

HEX_DIGITS = frozenset("0123456789abcdef")
LOCK_TIMEOUT_S = 60.0
UNFINISHED = "unfinished"

# called with the number of records that were written since the last call
Progress = Callable[[int], None]


@frozen
class PackLabel:
    """All that a pack says of its catalogue, apart from the records."""

    catalogue: str
    loaded: LoadedSpec
    # whether the spec is that of a package, which the receiver has to have
    is_package: bool = False
    version: str | None = None
    """The version; without one, that of the pack which it takes the place of, counted up if its
    content is another.
    """
    # the licence; without one, that of the pack which it takes the place of
    licence: str | None = None
    calibration: PackCalibration | None = None


def build_pack(
    reader: ShelfReader, label: PackLabel, target: Path, *, progress: Progress = lambda _count: None
) -> Manifest:
    """Write the pack of a snapshot into a folder, in place of an older pack, and return its
    manifest.
    """
    if label.version is not None:
        require_version(label.version)
    with _writing_pack(target):
        try:
            former = load_manifest(target)
        except StorageError:  # there is none that can be read
            former = None
        if former is not None and former.catalogue != label.catalogue:
            raise InputError(
                f"{target} is a pack of '{former.catalogue}', not of '{label.catalogue}'; give"
                " another"
            )
        fresh = target / UNFINISHED
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        records, vectors, files = _write_files(reader, label, fresh, progress)
        content, model = content_of(files), reader.model
        manifest = Manifest(
            catalogue=label.catalogue,
            version=label.version or next_version(former, content),
            content=content,
            spec=PackSpec(name=label.loaded.spec.name, is_package=label.is_package),
            records=records,
            embeddings=vectors,
            model=model.name if model else None,
            dimension=model.dimension if model else None,
            is_centred=model is not None and model.is_centred,
            licence=label.licence or (former.licence if former else None),
            calibration=label.calibration if model else None,
            files=files,
        )
        manifest = parse_manifest(manifest.dump(), origin="the new manifest")
        _put_in_place(target, fresh, manifest)
    return manifest


def label_installed(
    installed: Installed,
    loaded: LoadedSpec,
    reader: ShelfReader,
    *,
    version: str | None,
    licence: str | None,
) -> PackLabel:
    """Return the label of a catalogue of the library, with its calibration."""
    known = find_calibration(installed.folder / CALIBRATION_FILE)
    is_current = known is not None and known.model == reader.model
    return PackLabel(
        catalogue=installed.name,
        loaded=loaded,
        is_package=installed.own_declaration is None,
        version=version,
        licence=licence,
        calibration=PackCalibration(middle=known.middle, spread=known.spread)
        if known and is_current
        else None,
    )


def files_folder(pack: Path, manifest: Manifest) -> Path:
    """Return the folder inside that of a pack that has its files."""
    return pack / manifest.content[:SHORT]


def next_version(former: Manifest | None, content: str) -> str:
    """Return the version of a pack after a former one: its own for the same content, else the next
    number.
    """
    if former is None:
        return "1"
    if former.content == content:
        return former.version
    head = former.version.rstrip(string.digits)
    number = former.version.removeprefix(head)
    return f"{head}{int(number) + 1}" if number else f"{head}.1"


def _write_files(
    reader: ShelfReader, label: PackLabel, fresh: Path, progress: Progress
) -> tuple[int, int, tuple[PackFile, ...]]:
    """Write the files of a pack; return how many records and vectors they have, and the files."""
    (fresh / SPEC_FILE).write_bytes(label.loaded.declaration.encode())
    path, digest = fresh / RECORDS_FILE, hashlib.sha256()
    raw_bytes = records = vectors = 0

    def iter_written() -> Iterator[list[entries.PackEntry]]:
        """Write the records of each batch, and pass it on."""
        nonlocal raw_bytes, records, vectors
        with zstd.open(path, "wb", level=LEVEL) as stream:
            stream.write(b"")  # without any write, there is no frame
            for batch in entries.iter_shelf(reader, label.loaded.spec):
                lines = b"".join(entry.line for entry in batch)
                stream.write(lines)
                digest.update(lines)
                raw_bytes += len(lines)
                records += len(batch)
                vectors += sum(entry.vector is not None for entry in batch)
                yield batch
                progress(len(batch))

    batches = iter_written()
    if reader.model is not None:
        entries.write_embeddings(batches, fresh / EMBEDDINGS_FILE, reader.model.dimension)
    deque(batches, maxlen=0)
    for written in fresh.iterdir():
        sync_file(written)
    sync_folder(fresh)
    lines_file = replace(_describe_plain(path), content=digest.hexdigest(), raw_bytes=raw_bytes)
    spec_file, vectors_file = _describe_plain(fresh / SPEC_FILE), fresh / EMBEDDINGS_FILE
    more = [_describe_plain(vectors_file)] if vectors_file.is_file() else []
    return records, vectors, (spec_file, lines_file, *more)


def _describe_plain(path: Path) -> PackFile:
    sha256, size_bytes = sha256_of(path), path.stat().st_size
    return PackFile(
        name=path.name, sha256=sha256, size_bytes=size_bytes, content=sha256, raw_bytes=size_bytes
    )


def _put_in_place(target: Path, fresh: Path, manifest: Manifest) -> None:
    """Make a folder the pack of a manifest whose files were written, and remove those of a former
    one.
    """
    final = files_folder(target, manifest)
    if any(check_file(final / file.name, file, is_shipped=True) for file in manifest.files):
        shutil.rmtree(final, ignore_errors=True)
        os.replace(fresh, final)
        sync_folder(target)
    content = manifest.dump()
    path = target / MANIFEST_FILE
    if not path.is_file() or path.read_bytes() != content:
        (target / SIGNATURE_FILE).unlink(missing_ok=True)
        replace_file(path, content, is_synced=True)  # commit point
    for folder in target.iterdir():
        if folder.is_dir() and folder != final:
            shutil.rmtree(folder)


@contextmanager
def _writing_pack(folder: Path) -> Iterator[None]:
    """Hold a pack's folder for writing; refuse one with other files in it, and a second writer."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder for the pack")
    try:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be read: {error.strerror}; give another folder"
        ) from error
    others = [path.name for path in paths if not _is_of_pack(path)]
    if others:
        raise InputError(
            f"{folder} has {', '.join(others[:3])} in it, and is no pack; give an empty or new"
            " folder"
        )
    whole = folder.resolve()  # "." has no name
    lock = whole.with_name(f"{whole.name}.lock")
    busy = f"{folder}: another process is writing the pack; wait for it"
    with FileLease(lock).held(
        wait_s=LOCK_TIMEOUT_S, busy=busy, failed=f"{folder}: the pack could not be written"
    ):
        folder.mkdir(exist_ok=True)
        yield
    lock.unlink(missing_ok=True)


def _is_of_pack(path: Path) -> bool:
    """Tell whether a file or folder is one that a build has written."""
    if not path.is_dir():
        return path.name.removesuffix(HALF_WRITTEN) in (MANIFEST_FILE, SIGNATURE_FILE)
    is_content = len(path.name) == SHORT and HEX_DIGITS.issuperset(path.name)
    own = {SPEC_FILE, RECORDS_FILE, EMBEDDINGS_FILE}
    return (is_content or path.name == UNFINISHED) and own.issuperset(
        inner.name for inner in path.iterdir()
    )


def check_pack(folder: Path) -> Iterator[str]:
    """Yield the faults of a pack; none if it is whole."""
    try:
        manifest = load_manifest(folder)
    except StorageError as error:
        yield error.message
        return
    paths = {file.name: files_folder(folder, manifest) / file.name for file in manifest.files}
    problems = [
        *filter(
            None, (check_file(paths[file.name], file, is_shipped=True) for file in manifest.files)
        )
    ]
    yield from problems
    if problems:
        return
    try:
        compile_text(
            paths[SPEC_FILE].read_text(encoding="utf-8", errors="replace"), origin=SPEC_FILE
        )
        deque(entries.iter_entries(manifest, paths), maxlen=0)
    except ExpectedError as error:
        yield error.message


def check_signature(folder: Path, key: PublicKey) -> Iterator[str]:
    """Yield why a pack is not signed by a key; nothing if it is."""
    try:
        content = (folder / MANIFEST_FILE).read_bytes()
        verify_signature(content, (folder / SIGNATURE_FILE).read_bytes(), key)
    except OSError as error:
        yield (
            f"{error.filename}: cannot be read: {error.strerror}; the pack is not signed, or not"
            " whole"
        )
    except ExpectedError as error:
        yield f"{folder / SIGNATURE_FILE}: {error.message}"


def check_installed_pack(folder: Path, *, checkpoint: Checkpoint = never_stop) -> Iterator[str]:
    """Yield the faults of the release that a catalogue was installed from, and of the one before
    it.
    """
    pack = InstalledPack(folder)
    for name in (MANIFEST_FILE, FORMER_FILE):
        try:
            manifest = pack.find_manifest(name)
        except StorageError as error:
            yield error.message
            continue
        for file in manifest.files if manifest is not None else ():
            checkpoint()
            yield from filter(None, [pack.check_file(file)])
