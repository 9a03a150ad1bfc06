"""The files of the page, read once: each with its media type, its ETag, and its compressed forms.

Whole lines of comments and the indentation of our own files stay here: they would be a tenth of what browsers load.
Their address has the digest of all of them in it, so that browsers may keep them for ever. A file is compressed with
gzip when it is first asked for, and with Brotli, which takes a hundred times as long, in the background after that.
"""

import gzip
import hashlib
import importlib.resources
import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.datastructures import Headers
from starlette.responses import Response

from stackroom.background.threads import start_thread
from stackroom.serve.http.accepting import choose_encoding, is_known

try:
    import brotli
except ImportError:  # where there is no build of it: browsers take gzip as well
    brotli = None

FOLDER = "site"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""The files that are served, by their ending; others, such as the licences of libraries, only lie beside them."""
ENCODINGS = ("br", "gzip") if brotli else ("gzip",)
"""Content encodings, best first."""
DIGEST_LETTERS = 16
SMALLEST_COMPRESSED = 200
LIBRARIES = "vendor/"
"""The folder of files of others, which are sent as they were published."""
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
CHECKED_EACH_TIME = {"Cache-Control": "no-cache"}


_LAYOUT = {
    ".js": re.compile(rb"^[ \t]+(?://.*)?|^//.*", re.MULTILINE),
    ".css": re.compile(rb"^[ \t]+|^/\*.*\*/$", re.MULTILINE),
}


class SiteFile:
    """A file in memory, and its compressed forms as far as they are made."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self.media_type = MEDIA_TYPES[PurePosixPath(name).suffix]
        self.digest = hashlib.sha256(content).hexdigest()[:DIGEST_LETTERS]
        self._forms: dict[str, bytes] = {}
        self._making = threading.Lock()

    def compress(self, encoding: str) -> bytes:
        """Return the file in this encoding; it is made once."""
        with self._making:
            if encoding not in self._forms:
                self._forms[encoding] = _compress(self.content, encoding)
            return self._forms[encoding]

    def reply(self, method: str, headers: Headers, more: Mapping[str, str]) -> Response:
        """Return the answer to a request for the file: whole, or that the client has it already (304)."""
        encoding = self._choose_form(headers)
        content = self.compress(encoding) if encoding else self.content
        etag = f'"{self.digest}-{encoding}"' if encoding else f'"{self.digest}"'
        described = {"Vary": "Accept-Encoding", **more, "ETag": etag}
        if is_known(headers, etag):
            return Response(status_code=304, headers=described)
        if encoding:
            described["Content-Encoding"] = encoding
        described |= {"Content-Type": self.media_type, "Content-Length": str(len(content))}
        return Response(b"" if method == "HEAD" else content, headers=described)

    def _choose_form(self, headers: Headers) -> str | None:
        """Return the best encoding that the client takes, of gzip and those that are made already."""
        if len(self.content) < SMALLEST_COMPRESSED:
            return None
        return choose_encoding(headers, [one for one in ENCODINGS if one == "gzip" or one in self._forms])


class SiteFiles:
    """All files of the page, by their path in its folder."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {name: SiteFile(name, content) for name, content in sorted(files.items())}
        whole = "\n".join(f"{file.name} {file.digest}" for file in self._files.values())
        self.address = f"/{FOLDER}/{hashlib.sha256(whole.encode()).hexdigest()[:DIGEST_LETTERS]}"
        self._compressing: threading.Thread | None = None

    def find(self, path: str) -> SiteFile | None:
        """Return the file at a path of the server, such as `/site/DIGEST/app.js`."""
        return self._files.get(path.removeprefix(f"{self.address}/")) if path.startswith(f"{self.address}/") else None

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return self._files[name].content

    def names(self) -> list[str]:
        """Return the names of all files."""
        return list(self._files)

    def compress_beside(self) -> None:
        """Make every compressed form of every file, in a thread of its own; the first call begins it."""
        if self._compressing is None:
            self._compressing = start_thread("compress the page", self.compress_all)

    def compress_all(self) -> None:
        """Make every compressed form of every file."""
        for file in self._files.values():
            for encoding in ENCODINGS:
                file.compress(encoding)


@lru_cache(maxsize=1)
def load_site_files() -> SiteFiles:
    """Read the files that are installed with the server."""
    return SiteFiles(dict(_walk(importlib.resources.files(__package__) / FOLDER, "")))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif PurePosixPath(name).suffix in MEDIA_TYPES:
            content = entry.read_bytes()
            yield name, content if prefix.startswith(LIBRARIES) else without_layout(name, content)


def without_layout(name: str, content: bytes) -> bytes:
    """Return a script or a style without indentation and lines of comments; its lines keep their numbers."""
    pattern = _LAYOUT.get(PurePosixPath(name).suffix)
    return pattern.sub(b"", content) if pattern else content


def _compress(content: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.compress(content, 9, mtime=0)
    compressed: bytes = brotli.compress(content, quality=11)
    return compressed
