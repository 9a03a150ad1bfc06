"""Published files from a model hub by plain HTTPS: `BASE/ORGANISATION/NAME/resolve/main/FILE`,
verified.
"""

from collections.abc import Mapping
from pathlib import Path

from stackroom.errors import ExpectedError, UnavailableError
from stackroom.net.addresses import AddressGuard, AddressRules, shown_address
from stackroom.net.fetch import Fetcher, FetchLimits, WantedFile

MAX_BYTES = 2_000_000_000
ATTEMPTS = 3


def fetch_from_hub(name: str, files: Mapping[str, str], *, hub_url: str, folder: Path) -> None:
    """Fetch the files (name → sha256) of a model into a folder; existing files are verified.

    The hub may be on this machine or its network; hosts that it redirects to are public.
    """
    guard = AddressGuard(AddressRules.of(url=hub_url))
    fetcher = Fetcher(guard, limits=FetchLimits(max_bytes=MAX_BYTES))
    for file, sha256 in files.items():
        url = f"{hub_url.rstrip('/')}/{name}/resolve/main/{file}"
        try:
            fetcher.fetch_file(
                WantedFile(url=url, destination=folder / file, sha256=sha256), attempts=ATTEMPTS
            )
        except ExpectedError as error:
            raise UnavailableError(f"{shown_address(url)}: {error.message}") from error
