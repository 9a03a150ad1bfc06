"""Tables at `http(s)://` addresses: fetched as downloads are, to a temporary file that lives as long as the source."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from email.message import Message
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from stackroom.errors import ExpectedError, InputError, InvalidUrlError, TooLargeError, UnavailableError
from stackroom.net.addresses import INWARD, AddressGuard, AddressRules, Resolve, shown_address
from stackroom.net.fetch import FetchedCopy, Fetcher, FetchLimits
from stackroom.settings import Settings
from stackroom.sources.compressed import MEGABYTE, is_compressed
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.opener import ENDINGS, open_file
from stackroom.sources.port import RowSource

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
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.sqlite3": ".sqlite",
    "application/x-sqlite3": ".sqlite",
}
"""Media type → suffix, for addresses that have none of a table."""


def open_web_file(
    location: str, options: ReadOptions, settings: Settings, *, resolve: Resolve | None = None
) -> RowSource:
    """Return the rows of the file at an address, which is fetched."""
    place = SourceLocation.parse(location)
    if settings.offline:
        raise UnavailableError(
            f"{shown_address(place.location)}: a file on the web, which is not fetched offline; give a file here"
        )
    folder = Path(tempfile.mkdtemp(prefix="stackroom-"))
    try:
        file = _fetched(place.location, folder, settings, resolve)
        source = open_file(file, options.over(place.options))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    source.location = place.location
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    return source


def _fetched(url: str, folder: Path, settings: Settings, resolve: Resolve | None) -> Path:
    """Fetch a file into a folder, under a name with the suffix of its format."""
    limits = FetchLimits(max_bytes=settings.sources.max_download_mb * MEGABYTE)
    fetcher = Fetcher(source_guard(settings, resolve), limits=limits)
    part = folder / "part"
    try:
        fetched = fetcher.fetch_copy(url, part)
        return part.rename(folder / f"file{_find_suffix(url, fetched)}")
    except ExpectedError as error:
        raise _explained(url, error) from error


def source_guard(settings: Settings, resolve: Resolve | None = None) -> AddressGuard:
    """Return the guard of what is fetched for a catalogue: public addresses, and those that the settings allow."""
    rules = settings.sources
    allowed = AddressRules.of(hosts=rules.allowed_hosts, networks=rules.allowed_networks, ports=rules.allowed_ports)
    return AddressGuard(allowed, resolve=resolve)


def _explained(url: str, error: ExpectedError) -> ExpectedError:
    """Return an error of the same kind that names the address, and how one that is not public can be allowed."""
    is_inward = isinstance(error, InvalidUrlError) and error.message == INWARD
    advice = "; to allow it, name its host in allowed_hosts of [sources] in stackroom.toml" if is_inward else ""
    if isinstance(error, TooLargeError):
        advice = ", or raise max_download_mb of [sources] in stackroom.toml"
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
    packed = path.suffix if is_compressed(Path(path.name)) else ""
    inner = path.with_suffix("").suffix if packed else path.suffix
    return f"{inner}{packed}" if inner in ENDINGS else ""


def _stated_name(headers: Mapping[str, str]) -> str:
    """Return the file name of a Content-Disposition header; empty without one."""
    message = Message()
    message["Content-Disposition"] = headers.get("content-disposition", "")
    return message.get_filename() or ""
