"""Downloads from untrusted servers: limited, verified, and installed atomically.

Every connection goes to an IP address that `AddressGuard` checked, without proxies, cookies or
connection reuse. Bodies with a content encoding are refused, since their decompressed size is
unknown. A download has a deadline as a whole, on an event loop of its own, as in `net.polite`.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx

from stackroom.checksums import install_file, sha256_of
from stackroom.errors import StorageError, TooLargeError, UnavailableError
from stackroom.frozen import frozen
from stackroom.net import polite
from stackroom.net.addresses import AddressGuard, ResolvedUrl

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
MOST_ADDRESSES = 4
POLL_S = 0.1
LATER_STATUSES = polite.RETRIED_STATUSES | {408, 425}
LENGTH = re.compile(r"\d{1,18}")

ValueT = TypeVar("ValueT")
IsCancelled = Callable[[], bool]
OnProgress = Callable[[int], None]


class TransferError(UnavailableError):
    """A server did not deliver the file."""

    def __init__(
        self,
        message: str,
        *,
        is_final: bool = False,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.is_final = is_final
        """Whether a retry would not help."""
        self.status = status
        """The HTTP status of the server's refusal."""
        self.retry_after_s = retry_after_s


class FetchCancelledError(Exception):
    """The caller cancelled the download."""


@frozen
class FetchLimits:
    """Limits on size and time of a download."""

    max_bytes: int
    stall_s: float = 30.0  # the longest pause between two blocks
    total_s: float = 3600.0  # the longest duration of one attempt
    connect_s: float = 10.0


@frozen
class WantedFile:
    """A file to fetch: its URL, its destination, and its size and checksum where they are known."""

    url: str
    destination: Path
    size: int | None = None
    sha256: str | None = None


@frozen
class FetchedText:
    """A small body, and the URL after redirects."""

    body: bytes
    url: str


@frozen
class FetchedCopy:
    """A file as a server sent it: the URL after redirects, and the headers that describe it."""

    url: str
    headers: Mapping[str, str]  # by their names in lower case


class Fetcher:
    """Fetches URLs that its guard allows. Thread-safe; not for use on an event loop."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        limits: FetchLimits,
        certificates: ssl.SSLContext | None = None,
        clock: polite.Clock | None = None,
    ) -> None:
        self._guard = guard
        self._limits = limits
        self._certificates = certificates
        self._clock = clock or polite.Clock()

    def fetch_file(
        self,
        wanted: WantedFile,
        *,
        max_bytes: int | None = None,
        attempts: int = 1,
        is_cancelled: IsCancelled = lambda: False,
        on_progress: OnProgress = lambda _received: None,
    ) -> int:
        """Fetch a file to its destination, and return its size; an existing file is only verified.
        A transfer that fails is tried again.
        """
        part = wanted.destination.with_name(f"{wanted.destination.name}.part")
        limit = (
            self._limits.max_bytes if max_bytes is None else min(max_bytes, self._limits.max_bytes)
        )
        try:
            if wanted.destination.exists():
                with suppress(TransferError):
                    return _require_wanted(wanted, wanted.destination)
                wanted.destination.unlink()
            self._run(self._file(wanted, part, limit, on_progress), is_cancelled)
            size = _require_wanted(wanted, part)
            install_file(part, wanted.destination)
            return size
        except TransferError as error:
            if error.is_final or attempts <= 1:
                raise
        except OSError as error:
            raise StorageError(
                f"{wanted.destination}: cannot be written: {error.strerror or error}"
            ) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return self.fetch_file(
            wanted,
            max_bytes=max_bytes,
            attempts=attempts - 1,
            is_cancelled=is_cancelled,
            on_progress=on_progress,
        )

    def fetch_copy(self, url: str, destination: Path) -> FetchedCopy:
        """Fetch a file as it is now."""
        return self._run(self._copy(url, destination), lambda: False)

    async def _file(
        self, wanted: WantedFile, part: Path, limit: int, on_progress: OnProgress
    ) -> None:
        async with self._opened(wanted.url) as (response, _):
            size = _declared_size(response)
            if None not in (size, wanted.size) and size != wanted.size:
                raise TransferError(
                    f"the server has a file of another size than {wanted.size:,} bytes; ask its"
                    " publisher",
                    is_final=True,
                )
            is_chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
            if {size, wanted.size, wanted.sha256} == {None} and not is_chunked:
                raise TransferError(
                    "the server does not state the file's length; it must send Content-Length",
                    is_final=True,
                )
            await _save(
                response,
                part,
                min(limit, limit if wanted.size is None else wanted.size),
                on_progress,
            )

    async def _copy(self, url: str, destination: Path) -> FetchedCopy:
        async with self._opened(url) as (response, place):
            await _save(response, destination, self._limits.max_bytes)
            return FetchedCopy(
                url=place.url,
                headers={name.lower(): text for name, text in response.headers.items()},
            )

    def fetch_text(
        self, url: str, *, max_bytes: int, is_cancelled: IsCancelled = lambda: False
    ) -> FetchedText:
        """Fetch a small body."""
        return self._run(self._text(url, max_bytes), is_cancelled)

    async def _text(self, url: str, max_bytes: int) -> FetchedText:
        async with self._opened(url) as (response, place):
            _require_size(_declared_size(response), max_bytes)
            body = bytearray()
            async for block in response.aiter_raw():
                body += block
                _require_size(len(body), max_bytes)
            return FetchedText(body=bytes(body), url=place.url)

    def _require_file(self, response: httpx.Response) -> None:
        """Refuse a response with another status than 200, or with a content encoding."""
        status = response.status_code
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding != "identity":
            advice = "it must send the file as it is"
            raise TransferError(
                f"the server sends a compressed body, which was not requested; {advice}",
                is_final=True,
            )
        if status != 200:
            wait_s = polite.read_retry_after(
                response.headers.get("Retry-After", ""), self._clock.utc_now()
            )
            raise TransferError(
                f"the server answered status {status}; "
                f"{'try again later' if status in LATER_STATUSES else 'check the address'}",
                is_final=status not in LATER_STATUSES,
                retry_after_s=wait_s or None,
                status=status,
            )

    @asynccontextmanager
    async def _opened(self, url: str) -> AsyncIterator[tuple[httpx.Response, ResolvedUrl]]:
        """Request a URL, follow redirects, and give a response that carries a file."""
        place = self._guard.require(url)
        for _ in range(MOST_REDIRECTS + 1):
            async with self._answered(place) as response:
                if response.status_code not in REDIRECTS:
                    self._require_file(response)
                    yield response, place
                    return
                location = response.headers.get("Location")
            if not location:
                raise TransferError(
                    "the server redirects without a location; give the final address", is_final=True
                )
            place = self._guard.follow(place, location)
        raise TransferError(
            f"the server redirects more than {MOST_REDIRECTS} times; give the final address",
            is_final=True,
        )

    @asynccontextmanager
    async def _answered(self, place: ResolvedUrl) -> AsyncIterator[httpx.Response]:
        """Connect to the first reachable checked address, and give its response."""
        response, transport = await self._first_answer(place)
        try:
            yield response
        finally:
            await response.aclose()
            await transport.aclose()

    async def _first_answer(
        self, place: ResolvedUrl
    ) -> tuple[httpx.Response, httpx.AsyncHTTPTransport]:
        failure: httpx.HTTPError | None = None
        for address in place.addresses[:MOST_ADDRESSES]:
            # One transport per connection: a pooled one would be reused for another host name at
            # the same address.
            certificates = self._certificates or polite.load_certificates()
            transport = httpx.AsyncHTTPTransport(verify=certificates, trust_env=False)
            try:
                return await transport.handle_async_request(
                    self._request(place, str(address))
                ), transport
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
                await transport.aclose()
            except BaseException:
                await transport.aclose()
                raise
        raise failure or httpx.ConnectError("no address")

    def _request(self, place: ResolvedUrl, address: str) -> httpx.Request:
        connect_s = self._limits.connect_s
        wait = httpx.Timeout(self._limits.stall_s, connect=connect_s, pool=connect_s).as_dict()
        return httpx.Request(
            "GET",
            httpx.URL(
                scheme=place.scheme,
                host=address,
                port=place.port,
                raw_path=place.target.encode("ascii"),
            ),
            headers={
                "User-Agent": polite.USER_AGENT,
                "Accept": "*/*",
                "Host": place.authority,
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
            extensions={"timeout": wait, "sni_hostname": place.host},
        )

    def _run(self, work: Coroutine[Any, Any, ValueT], is_cancelled: IsCancelled) -> ValueT:
        """Run the work on an event loop of its own; network failures become TransferErrors."""
        try:
            return asyncio.run(self._supervised(work, is_cancelled))
        except (httpx.HTTPError, ssl.SSLError) as error:
            raise TransferError(
                f"the server {polite.describe_failure(error)}; try again later"
            ) from error

    async def _supervised(
        self, work: Coroutine[Any, Any, ValueT], is_cancelled: IsCancelled
    ) -> ValueT:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._limits.total_s
        task = loop.create_task(work)  # where it has not ended, `asyncio.run` cancels it
        while not task.done():
            if is_cancelled():
                raise FetchCancelledError
            if loop.time() >= ends_at:
                raise TransferError(
                    f"the download did not end within {self._limits.total_s:g} s; try again later"
                )
            await asyncio.wait({task}, timeout=POLL_S)
        return task.result()


async def _save(
    response: httpx.Response,
    path: Path,
    max_bytes: int,
    on_progress: OnProgress = lambda _received: None,
) -> None:
    """Write a body to a file; refuse one that is too large, or shorter than the server said."""
    size, received = _declared_size(response), 0
    _require_size(size, max_bytes)
    with path.open("wb") as file:
        async for block in response.aiter_raw():
            received += len(block)
            _require_size(received, max_bytes)
            file.write(block)
            on_progress(received)
    if size is not None and received != size:
        raise TransferError(f"the server sent {received:,} of {size:,} bytes; try again")


def _declared_size(response: httpx.Response) -> int | None:
    """Return the declared length of a body."""
    text = response.headers.get("Content-Length", "")
    return int(text) if LENGTH.fullmatch(text) else None


def _require_size(size: int | None, max_bytes: int) -> None:
    """Refuse a size above the limit."""
    if size is not None and size > max_bytes:
        raise TooLargeError(
            f"the server sends more than the limit of {max_bytes:,} bytes; give a smaller file"
        )


def _require_wanted(wanted: WantedFile, path: Path) -> int:
    """Return the size of a file; refuse one whose size or checksum differs from the wanted one."""
    size = path.stat().st_size
    if wanted.size not in (None, size):
        raise TransferError(f"the file has {size:,} bytes rather than {wanted.size:,}; try again")
    if wanted.sha256 not in (None, sha256_of(path)):
        raise TransferError(
            "the file is not the expected one: its sha256 differs; ask its publisher", is_final=True
        )
    return size
