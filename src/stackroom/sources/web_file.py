"""Tables at `http(s)://` addresses: fetched as downloads are, and kept as copies that are fetched again when changed.

A copy is a folder: the file, under a name with the suffix of its format, and `copy.json` with the URL and the
validators (ETag, Last-Modified) that the server gave.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from stackroom.errors import ExpectedError, InputError, InvalidUrlError, StorageError, UnavailableError
from stackroom.net.addresses import INWARD, AddressGuard, AddressRules, Resolve
from stackroom.net.fetch import FetchedCopy, Fetcher, FetchLimits
from stackroom.net.shown import shown_address
from stackroom.settings import Settings
from stackroom.sources.archive import ARCHIVE, RenamedRows
from stackroom.sources.compressed import is_compressed
from stackroom.sources.location import ReadOptions, SourceLocation, split_locations
from stackroom.sources.opener import ENDINGS, open_file
from stackroom.sources.port import RowSource

NOTES_FILE = "copy.json"
MEGABYTE = 1_000_000
ID_DIGITS = 24
HTML = ("text/html", "application/xhtml+xml")
TYPES = {
    "text/csv": ".csv",
    "application/csv": ".csv",
    "text/plain": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/geo+json": ".json",
    "application/ld+json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.sqlite3": ".sqlite",
    "application/x-sqlite3": ".sqlite",
    "application/zip": ARCHIVE,
}
"""Media type → suffix, for addresses that have none of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyNotes:
    """The state of the file on the server when the copy was made."""

    url: str
    file: str
    etag: str = ""
    last_modified: str = ""
    fetched_at: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The headers with which a server answers only if the file has changed."""
        stated = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in stated.items() if value}


def open_web_file(
    location: str,
    options: ReadOptions,
    settings: Settings,
    *,
    resolve: Resolve | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> RowSource:
    """Return the rows of the file at an address; it is fetched, unless the copy is still right or this is offline."""
    if len(split_locations(location)) > 1:
        raise InputError("a file on the web is read alone; give its address as the only LOCATION")
    place = SourceLocation.parse(location)
    chosen = options.over(place.options)
    copies = WebCopies(settings, resolve=resolve, now=now)
    file, note = copies.bring(place.location)
    source = open_file(file, chosen)
    part = SourceLocation.parse(source.name).options
    return RenamedRows(source, SourceLocation(location=place.location, options=part).name, notes=[note])


class WebCopies:
    """The copies of files on the web, in a folder of the library."""

    def __init__(self, settings: Settings, *, resolve: Resolve | None, now: Callable[[], datetime]) -> None:
        self._settings = settings
        self._now = now
        rules = settings.sources
        guard = AddressGuard(
            AddressRules.of(hosts=rules.allowed_hosts, networks=rules.allowed_networks, ports=rules.allowed_ports),
            resolve=resolve,
        )
        self._fetcher = Fetcher(guard, limits=FetchLimits(max_bytes=rules.max_download_mb * MEGABYTE))

    def bring(self, url: str) -> tuple[Path, str]:
        """Return the copy of a file as it is now, and a note about it."""
        folder = self._settings.web_files_folder / hashlib.sha256(url.encode()).hexdigest()[:ID_DIGITS]
        notes = _find_notes(folder, url)
        if self._settings.offline:
            if notes is None:
                raise UnavailableError(f"{shown_address(url)}: a file on the web, which is not fetched offline")
            return folder / notes.file, f"offline: the copy of {notes.fetched_at} is read"
        return self._fetched(url, folder, notes)

    def _fetched(self, url: str, folder: Path, notes: CopyNotes | None) -> tuple[Path, str]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as beside:
                part = Path(beside) / "file"
                fetched = self._fetcher.fetch_copy(url, part, known=notes.conditions if notes else {})
                if fetched is not None:
                    return self._installed(url, folder, part, fetched)
        except OSError as error:
            raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
        except ExpectedError as error:
            raise _explained(url, error) from error
        if notes is None:
            raise UnavailableError(f"{shown_address(url)}: the server sends no file")
        return folder / notes.file, f"unchanged since {notes.fetched_at}: the copy is read"

    def _installed(self, url: str, folder: Path, part: Path, fetched: FetchedCopy) -> tuple[Path, str]:
        """Put a fetched file in the place of the former copy."""
        file = folder / f"file{_find_suffix(url, fetched)}"
        fetched_at = self._now().strftime("%Y-%m-%d %H:%M UTC")
        notes = CopyNotes(
            url=url,
            file=file.name,
            etag=fetched.headers.get("etag", ""),
            last_modified=fetched.headers.get("last-modified", ""),
            fetched_at=fetched_at,
        )
        fresh = part.with_name(NOTES_FILE)
        fresh.write_text(json.dumps(asdict(notes)), encoding="utf-8")
        (folder / NOTES_FILE).unlink(missing_ok=True)  # a kill from here on means fetching again
        os.replace(part, file)
        os.replace(fresh, folder / NOTES_FILE)  # commit point: the copy is known with its validators
        return file, f"fetched at {fetched_at}: {file.stat().st_size / MEGABYTE:.1f} MB"


def _find_notes(folder: Path, url: str) -> CopyNotes | None:
    """Return the notes of a copy that is there; None otherwise."""
    try:
        stated = json.loads((folder / NOTES_FILE).read_bytes())
        notes = CopyNotes(**{field.name: str(stated[field.name]) for field in fields(CopyNotes)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_right = notes.url == url and re.fullmatch(r"file[.\w]*", notes.file) is not None
    return notes if is_right and (folder / notes.file).is_file() else None


def _explained(url: str, error: ExpectedError) -> ExpectedError:
    """Return an error of the same kind that names the address, and how one that is not public can be allowed."""
    is_inward = isinstance(error, InvalidUrlError) and error.message == INWARD
    advice = "; to allow it, name its host in allowed_hosts of [sources] in stackroom.toml" if is_inward else ""
    kind = UnavailableError if isinstance(error, UnavailableError) else type(error)
    return kind(f"{shown_address(url)}: {error.message}{advice}")


def _find_suffix(url: str, fetched: FetchedCopy) -> str:
    """Return the suffix of the format of a fetched file: by a name that the server or the address gives, or by type."""
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in HTML:
        raise InputError("the server sends a web page; give the address of the file itself, such as a download link")
    for name in (_stated_name(fetched.headers), urlsplit(fetched.url).path, urlsplit(url).path):
        if suffix := _known_suffix(unquote(name)):
            return suffix
    if media_type not in TYPES:
        raise InputError(
            f"neither the address nor its type '{media_type[:60]}' tells the format; right are {', '.join(ENDINGS)}"
        )
    return TYPES[media_type]


def _known_suffix(name: str) -> str:
    """Return the suffixes of a file of a table, such as `.csv.gz`; empty for any other name."""
    path = PurePosixPath(name.lower())
    if path.suffix == ARCHIVE:
        return ARCHIVE
    packed = path.suffix if is_compressed(Path(path.name)) else ""
    inner = path.with_suffix("").suffix if packed else path.suffix
    return f"{inner}{packed}" if inner in ENDINGS else ""


def _stated_name(headers: Mapping[str, str]) -> str:
    """Return the file name of a Content-Disposition header; empty without one."""
    message = Message()
    message["Content-Disposition"] = headers.get("content-disposition", "")
    return message.get_filename() or ""
