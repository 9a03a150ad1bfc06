"""Published files from a model hub by plain HTTPS: `BASE/ORGANISATION/NAME/resolve/main/FILE`,
verified.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from stackroom.errors import ExpectedError, InputError, UnavailableError
from stackroom.net.addresses import USUAL_PORTS, AddressGuard, AddressRules, shown_address
from stackroom.net.fetch import Fetcher, FetchLimits, WantedFile

MAX_BYTES = 2_000_000_000
ATTEMPTS = 3


def fetch_from_hub(name: str, files: Mapping[str, str], *, hub_url: str, folder: Path) -> None:
    """Fetch the files (name → sha256) of a model into a folder; existing files are verified."""
    fetcher = _build_fetcher(hub_url)
    for file, sha256 in files.items():
        url = f"{hub_url.rstrip('/')}/{name}/resolve/main/{file}"
        try:
            fetcher.fetch_file(
                WantedFile(url=url, destination=folder / file, sha256=sha256), attempts=ATTEMPTS
            )
        except ExpectedError as error:
            raise UnavailableError(f"{shown_address(url)}: {error.message}") from error


def _build_fetcher(hub_url: str) -> Fetcher:
    """Return a fetcher that may reach a hub on this machine or its network, and the hosts that it
    redirects to.
    """
    try:
        parts = urlsplit(hub_url)
        host, port = parts.hostname, parts.port or USUAL_PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise InputError(
            f"hub_url: '{hub_url}' is not an address that begins with http:// or https://"
        ) from None
    rules = AddressRules.of(hosts=[host or ""], ports=[port])
    return Fetcher(AddressGuard(rules), limits=FetchLimits(max_bytes=MAX_BYTES))
