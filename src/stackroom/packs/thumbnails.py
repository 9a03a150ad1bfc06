"""Thumbnails in a pack: the small copies of a catalogue's pictures, as one plain archive with nothing else in it."""

import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from stackroom.errors import StorageError
from stackroom.library import replace_file
from stackroom.packs.manifest import THUMBNAILS_FILE

NAME = re.compile(r"[0-9a-f]{32}\.webp")
HEAD = re.compile(rb"RIFF....WEBP", re.DOTALL)
MOST_BYTES, MOST_BYTES_IN_ALL = 1 << 20, 1 << 29


def write_thumbnails(paths: Sequence[Path], archive: Path) -> None:
    """Write thumbnails into an archive, by their names, as many as a pack may have."""
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(paths):
            member = tarfile.TarInfo(path.name)
            member.size = path.stat().st_size
            if tar.offset + member.size < MOST_BYTES_IN_ALL:
                with path.open("rb") as stream:
                    tar.addfile(member, stream)


def save_thumbnails(archive: Path, folder: Path) -> None:
    """Make the thumbnails of an archive those of a catalogue."""
    folder.mkdir(exist_ok=True)
    former = set(folder.iterdir())
    for name, content in iter_thumbnails(archive):
        replace_file(folder / name, content)
        former.discard(folder / name)
    for path in former:
        path.unlink(missing_ok=True)


def iter_thumbnails(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of an archive; refuse one with anything else in it."""
    try:
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                is_picture = member.isreg() and NAME.fullmatch(member.name) and tar.offset < MOST_BYTES_IN_ALL
                stream = tar.extractfile(member) if is_picture and member.size < MOST_BYTES else None
                content = stream.read() if stream else b""
                if not HEAD.match(content):
                    raise StorageError(f"{THUMBNAILS_FILE} has '{member.name:.80}' in it, which is no small picture")
                yield member.name, content
    except tarfile.TarError as error:
        raise StorageError(f"{THUMBNAILS_FILE} is damaged: {error}; build the pack again") from error
