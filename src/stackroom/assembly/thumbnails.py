"""Thumbnails of a catalogue's pictures, as small WebP copies; what fails is noted, and tried with
the next update.
"""

import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, texts_of
from stackroom.errors import ExpectedError
from stackroom.library import THUMBNAILS_FOLDER, seal_thumbnails
from stackroom.model.scope import KNOWN_FIELD, WHOLE
from stackroom.net.fetch import Fetcher, FetchLimits
from stackroom.settings import Settings
from stackroom.shelf.port import ShelfReader
from stackroom.sources.web_file import source_guard
from stackroom.tools.media import WEB, find_file, find_roots, thumbnail_path

WIDEST, HIGHEST = 400, 600
MOST_PIXELS = 60_000_000
MOST_BYTES = 16_000_000
# how many a catalogue has; of more pictures, those of the records that are known best
MOST_THUMBNAILS = 20_000
FETCHED_AT_ONCE = 6
FETCH_S = 600.0  # how long one build fetches pictures; the next one goes on
MOST_FAILURES = 20  # how many more pictures may fail than come before fetching is given up
LIMITS = FetchLimits(max_bytes=MOST_BYTES, stall_s=5.0, total_s=20.0, connect_s=5.0)
NOT_INSTALLED = (
    "pictures are shown as they are, and none is fetched: small copies need Pillow (`pip install"
    " pillow`)"
)
NOT_MADE = "{:,} pictures have no small copy: {}"
UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    KeyError,
    IndexError,
    struct.error,
    ExpectedError,
)
"""Failures of a picture that is damaged, too large, gone, or none; foreign files raise any of
them.
"""


def make_thumbnails(
    folder: Path,
    sources: Sequence[str],
    settings: Settings,
    spec: CatalogueSpec,
    reader: ShelfReader,
) -> list[str]:
    """Make the thumbnails that are missing or older than their file, remove those of no record;
    return notes.
    """
    named = list(islice(_list_pictures(spec, reader), MOST_THUMBNAILS))
    kept = {thumbnail_path(folder, one).name for one in named}
    for path in (folder / THUMBNAILS_FOLDER).glob("*"):
        if path.name not in kept:
            path.unlink(missing_ok=True)
    maker = ThumbnailMaker(folder, find_roots(folder, sources), settings)
    due = [
        one for one in named if maker.is_due(one) and (not _is_remote(one) or spec.fetch_pictures)
    ]
    if due and find_pillow() is None:
        return [NOT_INSTALLED]
    notes = maker.make(due, is_offline=settings.offline)
    seal_thumbnails(folder)
    return notes


def _is_remote(picture: str) -> bool:
    return picture.lower().startswith(WEB)


class ThumbnailMaker:
    """Makes thumbnails of one catalogue, in its folder."""

    def __init__(self, folder: Path, roots: tuple[Path, ...], settings: Settings) -> None:
        self._folder = folder
        self._roots = roots
        self._fetcher = Fetcher(source_guard(settings), limits=LIMITS)
        self._failures: list[str] = []

    def is_due(self, picture: str) -> bool:
        """Tell whether a picture that there is has no thumbnail, or one that is older than its
        file.
        """
        made, file = thumbnail_path(self._folder, picture), find_file(self._roots, picture)
        if _is_remote(picture):
            return not made.exists()
        return file is not None and not (made.exists() and made.stat().st_mtime >= file.modified_at)

    def make(self, pictures: Sequence[str], *, is_offline: bool) -> list[str]:
        """Make the thumbnails of files, then of web addresses; return what was left, and what
        failed.
        """
        (self._folder / THUMBNAILS_FOLDER).mkdir(exist_ok=True)
        remote = [one for one in pictures if _is_remote(one)]
        for picture in (one for one in pictures if not _is_remote(one)):
            self._attempt(picture)
        left = len(remote) if is_offline else self._fetch(remote)
        notes = [f"{left:,} pictures are left to the next update"] if left else []
        return (
            [*notes, NOT_MADE.format(len(self._failures), self._failures[0])]
            if self._failures
            else notes
        )

    def _fetch(self, pictures: Sequence[str]) -> int:
        """Fetch pictures for as long as that is worth it; return how many are left."""
        ends_at, before = time.monotonic() + FETCH_S, len(self._failures)
        with new_pool("pictures", FETCHED_AT_ONCE) as pool:
            waiting: list[Future[None]] = []
            for number, picture in enumerate(pictures, 1):
                waiting.append(pool.submit(self._attempt, picture))
                if len(waiting) > 2 * FETCHED_AT_ONCE:
                    waiting.pop(0).result()
                failed = len(self._failures) - before
                if time.monotonic() > ends_at or failed > MOST_FAILURES + (number - failed):
                    return len(pictures) - number
        return 0

    def _attempt(self, picture: str) -> None:
        """Make one thumbnail, or note why that failed."""
        target = thumbnail_path(self._folder, picture)
        try:
            if _is_remote(picture):
                with tempfile.TemporaryDirectory(prefix="stackroom-") as folder:
                    self._fetcher.fetch_copy(picture, Path(folder) / "picture")
                    shrink(Path(folder) / "picture", target)
            elif (found := find_file(self._roots, picture)) is not None:
                shrink(found.path, target)
        except UNREADABLE as error:
            self._failures.append(f"{picture[:80]}: {error}")


def find_pillow() -> Any:
    """Return the modules of Pillow that are used; None where the extra `pictures` is not
    installed.
    """
    try:
        return import_module("PIL.Image"), import_module("PIL.ImageOps")
    except ImportError:
        return None


def shrink(source: Path, target: Path) -> None:
    """Write a small WebP copy of a picture; raise one of UNREADABLE where it is none, or too
    large.
    """
    image_module, operations = find_pillow()
    with image_module.open(source, formats=("JPEG", "PNG", "GIF", "WEBP")) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"it has more than {MOST_PIXELS:,} pixels")
        image.draft("RGB", (WIDEST, HIGHEST))
        small = operations.exif_transpose(image).convert(
            "RGBA" if image.has_transparency_data else "RGB"
        )
        small.thumbnail((WIDEST, HIGHEST))
    small.save(part := target.with_suffix(".part"), "WEBP", quality=78)
    part.replace(target)


def _list_pictures(spec: CatalogueSpec, reader: ShelfReader) -> Iterator[str]:
    """Yield the pictures that records name, each once, those of the best known records first."""
    field = spec.field_with_role(FieldRole.PICTURE)
    keys = reader.scan(scope=WHOLE, limit=max(reader.count(WHOLE), 1))
    order = (-reader.numbers(KNOWN_FIELD, keys)).argsort(kind="stable").tolist()
    seen: set[str] = set()
    for first in range(0, len(order), 500):
        part = [keys[place] for place in order[first : first + 500]]
        records = reader.fetch(part, scope=WHOLE)
        for key in part:
            names = texts_of(records[key].get(field.name)) if field and key in records else ()
            if (name := next(iter(names), "").strip()) and name not in seen:
                seen.add(name)
                yield name
