"""Rows from a folder of audio files, or from one such file: one row for each file, with its tags.

An unchanged file, by its size and modification time, is not read again where the source is given
earlier readings (`recall`). Covers are pictures beside the files, or embedded in them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from stackroom.api import InputError, UnavailableError
from stackroom.api.rows import (
    LEADS_OUT,
    FolderRows,
    Reading,
    Readings,
    SourceRow,
    day_of,
    is_inside,
    iter_files,
)
from stackroom_catalogues.music.tags import MOST_PICTURE_BYTES, read_tags

# endings of the files that are read
AUDIO_ENDINGS = (".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".m4b", ".wav")
PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif")
# file names of an album's cover, the likeliest first
PICTURE_NAMES = ("cover", "folder", "front", "album", "albumart")
MOST_PATH_CHARS = 1_000
DISC_FOLDER = re.compile(
    r"(cd|dis[ck]|side|vol(ume)?)[ ._-]*(\d{1,2}|[a-d]|[ivx]{1,4})", re.IGNORECASE
)
"""Name of a folder that holds one disc of several."""
READER = 1  # version of the reader: raise it to have unchanged files read again
SAVED_AT_ONCE = 200

TagReader = Callable[[Path], dict[str, Any]]


class AudioRows(FolderRows):
    """The audio files of a folder, with the folders in it, or a single file.

    A row has the values of `read_tags`, and `path`, `folders` (those on the path, without that of a
    disc), `added` (the day of the file's last change, if known) and, where there is a picture
    beside it, `beside`. Both paths are relative to the folder; links that lead out of it are
    refused.
    """

    without_files = (
        f"there is no audio file in it; endings that are read: {', '.join(AUDIO_ENDINGS)}"
    )

    def __init__(self, path: Path, *, read: TagReader = read_tags) -> None:
        super().__init__(path)
        self._read = read
        self._readings: Readings | None = None

    @staticmethod
    def reads(path: Path) -> bool:
        """Tell whether a path is an audio file, or a folder with audio files in it."""
        return (
            any(_is_audio(file) for file in iter_files(path)) if path.is_dir() else _is_audio(path)
        )

    def count_unread(self) -> Mapping[str, int]:
        """Return nothing: what else is in a music folder, such as pictures, is not missed."""
        return {}

    def recall(self, readings: Readings) -> str:
        """Reuse these readings, and keep them up to date; only reading the files tells whether one
        has changed.
        """
        self._readings = readings
        return ""

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the files in the order of their paths; unreadable ones with the reason."""
        known = self._readings.load() if self._readings else {}
        fresh: dict[str, Reading] = {}
        seen: set[str] = set()
        beside = cache(self._find_beside)
        try:
            for path, place in islice(self._files(), start, None):
                seen.add(place)
                try:
                    values = self._values(path, place, known.get(place), fresh)
                    yield SourceRow(place=place, values={**values, **beside(path.parent)})
                except (InputError, UnavailableError) as error:
                    yield SourceRow(place=place, problem=error.message)
                except OSError as error:
                    problem = f"it cannot be read: {error.strerror or error}"
                    yield SourceRow(place=place, problem=problem)
                if len(fresh) >= SAVED_AT_ONCE:
                    self._save(fresh)
        finally:
            self._save(fresh)
        if self._readings and not start:
            self._readings.forget(known.keys() - seen)

    def _files(self) -> Iterator[tuple[Path, str]]:
        paths = iter_files(self._path)
        return ((path, self._place(path)) for path in paths if path.suffix.lower() in AUDIO_ENDINGS)

    def _save(self, fresh: dict[str, Reading]) -> None:
        if self._readings and fresh:
            self._readings.save(fresh)
        fresh.clear()

    def _values(
        self, path: Path, place: str, known: Reading | None, fresh: dict[str, Reading]
    ) -> dict[str, Any]:
        """Return the values of a file, from its earlier reading where it is unchanged; refuse one
        that has none.
        """
        if not is_inside(path, self.folder):
            raise InputError(LEADS_OUT)
        if not path.is_file():
            raise InputError("it is not a plain file")
        state = path.stat()
        if state.st_size == 0:
            raise InputError("it is empty")
        if "\ufffd" in place or len(place) > MOST_PATH_CHARS:
            raise InputError("its name is not UTF-8, or too long")
        stamp = f"{READER}-{state.st_size}-{state.st_mtime_ns}"
        if known is None or known.stamp != stamp:
            try:
                tags = self._read(path)
            # what the disk would not give may be readable the next time, and is not kept
            except InputError as error:
                tags = {"problem": error.message}
            known = fresh[place] = Reading(stamp, orjson.dumps(tags))
        tags = orjson.loads(known.content)
        if "problem" in tags:
            raise InputError(tags["problem"])
        folders = list(PurePosixPath(place).parts[:-1])
        if len(folders) > 1 and DISC_FOLDER.fullmatch(folders[-1]):
            folders.pop()
        added = day_of(state.st_mtime)
        return {**tags, "path": place, "folders": folders, **({"added": added} if added else {})}

    def _find_beside(self, folder: Path) -> dict[str, str]:
        """Return the path of a folder's cover, if there is one; a disc's folder falls back to its
        album's.
        """
        found = _find_picture_in(folder)
        if found is None and folder != self.folder and DISC_FOLDER.fullmatch(folder.name):
            found = _find_picture_in(folder.parent)
        return {"beside": self._place(found)} if found and is_inside(found, self.folder) else {}


def _is_audio(path: Path) -> bool:
    return path.suffix.lower() in AUDIO_ENDINGS and path.is_file()


def _find_picture_in(folder: Path) -> Path | None:
    try:
        pictures = [one for one in folder.iterdir() if one.suffix.lower() in PICTURE_ENDINGS]
    except OSError:
        return None
    named = {
        name: picture
        for picture in sorted(pictures, reverse=True)
        if (name := picture.stem.lower()) in PICTURE_NAMES
    }
    likeliest = next((named[name] for name in PICTURE_NAMES if name in named), None)
    is_fit = (
        likeliest is not None
        and likeliest.is_file()
        and 0 < likeliest.stat().st_size <= MOST_PICTURE_BYTES
    )
    return likeliest if is_fit else None
