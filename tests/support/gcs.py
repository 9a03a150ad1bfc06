"""A small server of the XML API of Google Cloud Storage, on loopback: objects in memory, as
LanceDB's client uses them.

It has reading with ranges, conditional writing, copying, listing, deleting and uploads in parts.
Nothing is signed: the client is told so by a key file (`disable_oauth`), which names the server too
(`gcs_base_url`).
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from support.loopback import running

CREATE_ONLY = "x-goog-if-generation-match"
COPY_SOURCE = "x-goog-copy-source"
RANGE = re.compile(r"bytes=(\d*)-(\d*)")
NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


@dataclass(slots=True)
class StoredObjects:
    """The objects of all buckets by `bucket/key`, and the parts of uploads that are under way."""

    objects: dict[str, bytes] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def put(self, name: str, content: bytes, *, is_new_only: bool) -> bool:
        """Store an object; tell whether that was allowed."""
        with self.guard:
            if is_new_only and name in self.objects:
                return False
            self.objects[name] = content
            self.generations[name] = self.generations.get(name, 0) + 1
            return True

    def etag(self, name: str) -> str:
        """Return the entity tag of an object."""
        digest = hashlib.md5(self.objects[name], usedforsecurity=False).hexdigest()
        return f'"{digest}-{self.generations[name]}"'


class ObjectHandler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    store: StoredObjects

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Return an object, or part of it, or a list."""
        name, query = self._target()
        if "/" in name:
            self._send_object(name)
        else:
            self._reply(
                200, self._listing(name, query).encode(), {"Content-Type": "application/xml"}
            )

    def do_HEAD(self) -> None:
        """Return what is known of an object."""
        self._send_object(self._target()[0])

    def do_PUT(self) -> None:
        """Store an object, a copy of one, or a part of an upload."""
        name, query = self._target()
        content = self._body()
        if "uploadId" in query:
            self.store.uploads[query["uploadId"]][int(query["partNumber"])] = content
            self._reply(200, b"", {"ETag": f'"{query["partNumber"]}"'})
            return
        if (origin := self.headers.get(COPY_SOURCE)) is not None:
            found = self.store.objects.get(unquote(origin).lstrip("/"))
            if found is None:
                self._reply(404)
                return
            content = found
        is_stored = self.store.put(name, content, is_new_only=self.headers.get(CREATE_ONLY) == "0")
        self._reply(200 if is_stored else 412, b"", {"ETag": self.store.etag(name)})

    def do_POST(self) -> None:
        """Begin or complete an upload in parts."""
        name, query = self._target()
        self._body()
        if "uploads" in query:
            upload = f"upload-{len(self.store.uploads) + 1}"
            self.store.uploads[upload] = {}
            kind = "InitiateMultipartUploadResult"
            body = f"<{kind}><UploadId>{upload}</UploadId></{kind}>"
        else:
            parts = self.store.uploads.pop(query["uploadId"])
            whole = b"".join(parts[number] for number in sorted(parts))
            self.store.put(name, whole, is_new_only=self.headers.get(CREATE_ONLY) == "0")
            tag = escape(self.store.etag(name))
            body = (
                "<CompleteMultipartUploadResult"
                f" {NAMESPACE}><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
            )
        self._reply(200, body.encode(), {"Content-Type": "application/xml"})

    def do_DELETE(self) -> None:
        """Delete an object, or end an upload."""
        name, query = self._target()
        if "uploadId" in query:
            self.store.uploads.pop(query["uploadId"], None)
            self._reply(204)
            return
        with self.store.guard:
            found = self.store.objects.pop(name, None)
        self._reply(404 if found is None else 204)

    def _target(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = {
            key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()
        }
        return unquote(parts.path).lstrip("/"), query

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send_object(self, name: str) -> None:
        content = self.store.objects.get(name)
        if content is None:
            self._reply(404)
            return
        known = {"ETag": self.store.etag(name), "Last-Modified": formatdate(usegmt=True)}
        known["x-goog-generation"] = str(self.store.generations[name])
        asked = RANGE.fullmatch(self.headers.get("Range") or "")
        if asked is None:
            self._reply(200, content, known)
            return
        first, last = _bounds(asked, len(content))
        known["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._reply(206, content[first : last + 1], known)

    def _listing(self, bucket: str, query: dict[str, str]) -> str:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        with self.store.guard:
            keys = sorted(
                one.partition("/")[2] for one in self.store.objects if one.startswith(f"{bucket}/")
            )
            sizes = {key: len(self.store.objects[f"{bucket}/{key}"]) for key in keys}
        found: list[str] = []
        folders: dict[str, None] = {}
        for key in (one for one in keys if one.startswith(prefix)):
            inside = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if inside[1]:
                folders[prefix + inside[0] + delimiter] = None
            elif key > query.get("start-after", ""):
                found.append(key)
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-16T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(self.store.etag(f'{bucket}/{key}'))}</ETag><Size>{sizes[key]}</Size></Contents>"
            for key in found
        )
        inner = "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in folders
        )
        return (
            "<ListBucketResult"
            f" {NAMESPACE}><IsTruncated>false</IsTruncated>{contents}{inner}</ListBucketResult>"
        )

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _bounds(asked: re.Match[str], size: int) -> tuple[int, int]:
    """Return the first and the last byte of a range."""
    if not asked[1]:
        return max(size - int(asked[2]), 0), size - 1
    return int(asked[1]), min(int(asked[2] or size - 1), size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcsServer:
    """A running server."""

    port: int
    store: StoredObjects

    def write_key(self, folder: Path, *, port: int | None = None) -> Path:
        """Write a key file that leads clients to this server, or to a proxy before it."""
        path = folder / f"gcs-{port or self.port}.json"
        known = {"gcs_base_url": f"http://127.0.0.1:{port or self.port}", "disable_oauth": True}
        path.write_text(
            json.dumps({**known, "client_email": "", "private_key": "", "private_key_id": ""})
        )
        return path

    def environment(self, folder: Path, *, port: int | None = None) -> dict[str, str]:
        """Return the environment variables of a client."""
        return {
            "GOOGLE_SERVICE_ACCOUNT": str(self.write_key(folder, port=port)),
            "ALLOW_HTTP": "true",
        }


@contextmanager
def running_gcs() -> Iterator[GcsServer]:
    """Run a server without any object on a free port of loopback."""
    store = StoredObjects()
    with running(type("Handler", (ObjectHandler,), {"store": store})) as port:
        yield GcsServer(port=port, store=store)
