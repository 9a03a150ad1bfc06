"""Tables at `http(s)://` addresses: fetched as downloads are, to a temporary file that lives as
long as the source.
"""

import tempfile
import weakref
from contextlib import ExitStack
from email.message import Message
from pathlib import Path
from urllib.parse import unquote, urlsplit

from stackroom.errors import (
    ExpectedError,
    InputError,
    InvalidUrlError,
    TooLargeError,
    UnavailableError,
)
from stackroom.net.addresses import INWARD, AddressGuard, AddressRules, Resolve, shown_address
from stackroom.net.fetch import FetchedCopy, Fetcher, FetchLimits
from stackroom.settings import Settings
from stackroom.sources.compressed import MEGABYTE, is_compressed, without_compression
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.opener import ENDINGS, open_file
from stackroom.sources.port import RowSource
from stackroom.toml_text import load_packaged

HTML = ("text/html", "application/xhtml+xml")
TYPES: dict[str, str] = load_packaged("stackroom.sources", "media_types.toml")
"""Media type → suffix, for addresses that have none of a table."""


def open_web_file(
    location: str, options: ReadOptions, settings: Settings, *, resolve: Resolve | None = None
) -> RowSource:
    """Return the rows of the file at an address, which is fetched."""
    place = SourceLocation.parse(location)
    shown = shown_address(place.location)
    if settings.offline:
        raise UnavailableError(
            f"{shown}: a file on the web, which is not fetched offline; give a file here"
        )
    fetcher = source_fetcher(settings, resolve=resolve)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackroom-")))
        part = folder / "part"
        try:
            fetched = fetcher.fetch_copy(place.location, part)
            file = part.rename(folder / f"file{_find_suffix(place.location, fetched)}")
        except ExpectedError as error:
            raise _explained(place.location, error) from error
        source = open_file(file, options.over(place.options))
        source.location = place.location
        weakref.finalize(source, stack.pop_all().close)
        return source


def source_fetcher(settings: Settings, *, url: str = "", resolve: Resolve | None = None) -> Fetcher:
    """Return a fetcher for a catalogue: of public addresses, those that the settings allow, and the
    host of a URL that a command names.
    """
    rules = settings.sources
    allowed = AddressRules.of(
        hosts=rules.allowed_hosts,
        networks=rules.allowed_networks,
        ports=rules.allowed_ports,
        url=url,
    )
    limits = FetchLimits(max_bytes=rules.max_download_mb * MEGABYTE)
    return Fetcher(AddressGuard(allowed, resolve=resolve), limits=limits)


def _explained(url: str, error: ExpectedError) -> ExpectedError:
    """Return an error of the same kind that names the address, and how one that is not public can
    be allowed.
    """
    advice = (
        ", or raise max_download_mb of [sources] in stackroom.toml"
        if isinstance(error, TooLargeError)
        else ""
    )
    if isinstance(error, InvalidUrlError) and error.message == INWARD:
        advice = "; to allow it, name its host in allowed_hosts of [sources] in stackroom.toml"
    kind = UnavailableError if isinstance(error, UnavailableError) else type(error)
    return kind(f"{shown_address(url)}: {error.message}{advice}")


def _find_suffix(url: str, fetched: FetchedCopy) -> str:
    """Return the suffix of the format of a fetched file: by a name that the server or the address
    gives, or by type.
    """
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in HTML:
        raise InputError(
            "the server sends a web page; give the address of the file itself, such as a download"
            " link"
        )
    disposition = Message()
    disposition["Content-Disposition"] = fetched.headers.get("content-disposition", "")
    for name in (disposition.get_filename() or "", urlsplit(fetched.url).path, urlsplit(url).path):
        path = Path(unquote(name).lower())
        if (suffix := without_compression(path).suffix) in ENDINGS:
            return f"{suffix}{path.suffix if is_compressed(path) else ''}"
    if media_type not in TYPES:
        raise InputError(
            f"neither the address nor its type '{media_type[:60]}' tells the format; right are"
            f" {', '.join(ENDINGS)}"
        )
    return TYPES[media_type]
