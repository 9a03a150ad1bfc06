"""Thumbnails of a catalogue's pictures: small WebP copies, made when it is built, of its files and of web addresses.

They are never the reason why a build fails: what could not be made is said in a note, and tried again with the next
update. Pictures at web addresses are fetched only where the declaration says so, through the guard of downloads.
"""

import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, texts_of
from stackroom.errors import ExpectedError
from stackroom.model.scope import KNOWN_FIELD, WHOLE
from stackroom.net.addresses import Resolve
from stackroom.net.fetch import Fetcher, FetchLimits
from stackroom.settings import Settings
from stackroom.shelf.port import ShelfReader
from stackroom.sources.web_file import source_guard
from stackroom.tools.media import find_file
from stackroom.tools.pictures import THUMBNAILS, WEB, find_roots, thumbnail_path

WIDEST, HIGHEST = 400, 600
QUALITY = 78
MOST_PIXELS = 60_000_000
MOST_BYTES = 16_000_000
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MOST_THUMBNAILS = 20_000
"""How many a catalogue has; of more pictures, those of the records that are known best."""
FETCHED_AT_ONCE = 6
FETCH_S = 600.0
"""How long one build fetches pictures; the next one goes on."""
MOST_FAILURES = 20
"""How many more pictures may fail than come before fetching is given up."""
READ_AT_ONCE = 500
LIMITS = FetchLimits(max_bytes=MOST_BYTES, stall_s=5.0, total_s=20.0, connect_s=5.0)
NOT_INSTALLED = (
    "pictures are shown as they are, and none is fetched: small copies need `pip install stackroom[pictures]`"
)
OFFLINE = "{:,} pictures at web addresses were not fetched, since the settings say offline"
NOT_MADE = "{:,} pictures have no small copy: {}"
UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, struct.error, ExpectedError)
"""Failures of a picture that is damaged, too large, gone, or none; foreign files raise any of them."""


def make_thumbnails(
    folder: Path, sources: Sequence[str], settings: Settings, spec: CatalogueSpec, reader: ShelfReader
) -> list[str]:
    """Bring the thumbnails of the catalogue in a folder up to its records; return notes."""
    return ThumbnailMaker(folder, find_roots(folder, sources), settings).make(spec, reader)


class ThumbnailMaker:
    """Makes the missing thumbnails of one catalogue, in its folder."""

    def __init__(
        self, folder: Path, roots: Sequence[Path], settings: Settings, *, resolve: Resolve | None = None
    ) -> None:
        self._folder = folder
        self._roots = tuple(roots)
        self._settings = settings
        self._fetcher = Fetcher(source_guard(settings, resolve), limits=LIMITS)
        self._failures: list[str] = []

    def make(self, spec: CatalogueSpec, reader: ShelfReader) -> list[str]:
        """Make those that are missing or older than their file, remove those of no record; return notes."""
        named = list(islice(_list_pictures(spec, reader), MOST_THUMBNAILS))
        self._remove_others({thumbnail_path(self._folder, one).name for one in named})
        wanted = [one for one in named if self._is_due(one)]
        own = [one for one in wanted if not one.lower().startswith(WEB)]
        remote = [one for one in wanted if one not in set(own)] if spec.fetch_pictures else []
        if not own and not remote:
            return []
        if find_pillow() is None:
            return [NOT_INSTALLED]
        (self._folder / THUMBNAILS).mkdir(exist_ok=True)
        for name in own:
            self._attempt(name, self._shrink_file)
        return [*self._fetch(remote), *self._note()]

    def _is_due(self, name: str) -> bool:
        made, file = thumbnail_path(self._folder, name), None
        if not name.lower().startswith(WEB):
            file = find_file(self._roots, name)
            return file is not None and not (made.exists() and made.stat().st_mtime >= file.modified_at)
        return not made.exists()

    def _fetch(self, names: Sequence[str]) -> list[str]:
        if names and self._settings.offline:
            return [OFFLINE.format(len(names))]
        ends_at, before = time.monotonic() + FETCH_S, len(self._failures)
        with new_pool("pictures", FETCHED_AT_ONCE) as pool:
            waiting: list[Future[bool]] = []
            for number, name in enumerate(names):
                waiting.append(pool.submit(self._attempt, name, self._shrink_fetched))
                if len(waiting) > 2 * FETCHED_AT_ONCE:
                    waiting.pop(0).result()
                failed = len(self._failures) - before
                if time.monotonic() > ends_at or failed > MOST_FAILURES + (number - failed):
                    return [f"{len(names) - number - 1:,} pictures are left to the next update"]
        return []

    def _attempt(self, name: str, work: Callable[[str], None]) -> bool:
        try:
            work(name)
        except UNREADABLE as error:
            self._failures.append(f"{name[:80]}: {error}")
            return False
        return True

    def _shrink_file(self, name: str) -> None:
        file = find_file(self._roots, name)
        if file is not None:
            shrink(file.path, thumbnail_path(self._folder, name))

    def _shrink_fetched(self, name: str) -> None:
        with tempfile.TemporaryDirectory(prefix="stackroom-") as folder:
            file = Path(folder) / "picture"
            self._fetcher.fetch_copy(name, file)
            shrink(file, thumbnail_path(self._folder, name))

    def _note(self) -> list[str]:
        return [NOT_MADE.format(len(self._failures), self._failures[0])] if self._failures else []

    def _remove_others(self, kept: set[str]) -> None:
        for path in (self._folder / THUMBNAILS).glob("*"):
            if path.name not in kept:
                path.unlink(missing_ok=True)


def find_pillow() -> Any:
    """Return the modules of Pillow that are used; None where the extra `pictures` is not installed."""
    try:
        return import_module("PIL.Image"), import_module("PIL.ImageOps")
    except ImportError:
        return None


def shrink(source: Path, target: Path) -> None:
    """Write a small WebP copy of a picture; raise one of UNREADABLE where it is none, or too large."""
    image_module, operations = find_pillow()
    with image_module.open(source, formats=FORMATS) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"it has more than {MOST_PIXELS:,} pixels")
        image.draft("RGB", (WIDEST, HIGHEST))
        small = operations.exif_transpose(image).convert("RGBA" if image.has_transparency_data else "RGB")
        small.thumbnail((WIDEST, HIGHEST))
    part = target.with_name(f"{target.name}.part")
    small.save(part, "WEBP", quality=QUALITY)
    part.replace(target)


def _list_pictures(spec: CatalogueSpec, reader: ShelfReader) -> Iterator[str]:
    """Yield the pictures that records name, each once, those of the best known records first."""
    field = spec.field_with_role(FieldRole.PICTURE)
    keys = reader.scan(scope=WHOLE, limit=max(reader.count(WHOLE), 1))
    order = (-reader.numbers(KNOWN_FIELD, keys)).argsort(kind="stable").tolist()
    seen: set[str] = set()
    for first in range(0, len(order), READ_AT_ONCE):
        part = [keys[place] for place in order[first : first + READ_AT_ONCE]]
        records = reader.fetch(part, scope=WHOLE)
        for key in part:
            names = texts_of(records[key].get(field.name)) if field and key in records else ()
            name = next(iter(names), "").strip()
            if name and name not in seen:
                seen.add(name)
                yield name
