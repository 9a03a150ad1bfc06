"""A small server of S3 on loopback, over the objects of the server of Cloud Storage, as pyarrow's
client uses it.

It has one bucket and one key; signatures are not checked. What differs from Cloud Storage: bodies
in chunks with a checksum after them, deleting several objects at once, and errors with a code.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.sax.saxutils import unescape

from support.gcs import NAMESPACE, ObjectHandler, StoredObjects
from support.loopback import running

BUCKET, KEY = "bucket", "right"
DELETED = re.compile(rb"<Key>([^<]+)</Key>")


def never(_method: str, _name: str) -> bool:
    """Refuse nothing."""
    return False


@dataclass(slots=True)
class S3Server:
    """A running server; `is_failing` says of a method and an object's name whether the request is
    refused.
    """

    store: StoredObjects
    port: int = 0
    is_failing: Callable[[str, str], bool] = never
    spoiled: set[str] = field(default_factory=set)
    """Objects that are stored with other bytes than were sent, by the end of their names."""

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a client."""
        address = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ALLOW_HTTP": "true"}
        keys = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        return {**address, **keys, "AWS_EC2_METADATA_DISABLED": "true"}

    def names(self) -> list[str]:
        """Return the names of all objects of the bucket."""
        return sorted(name.partition("/")[2] for name in self.store.objects)


class S3Handler(ObjectHandler):
    """Answers one connection."""

    server_state: S3Server

    def parse_request(self) -> bool:
        """Read the head of a request, and answer one that is refused."""
        if not super().parse_request():
            return False
        name = self._target()[0]
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self._refuse(403, "InvalidAccessKeyId")
        elif name.partition("/")[0] != BUCKET:
            self._refuse(404, "NoSuchBucket")
        elif self.server_state.is_failing(self.command, name):
            self._refuse(403, "AccessDenied")
        else:
            return True
        return False

    def do_HEAD(self) -> None:
        """Return what is known of an object, or that there is the bucket."""
        if self._target()[0] == BUCKET:
            self._reply(200)
        else:
            super().do_HEAD()

    def do_POST(self) -> None:
        """Delete objects, or begin or complete an upload in parts."""
        if "delete" not in self._target()[1]:
            super().do_POST()
            return
        for key in DELETED.findall(self._body()):
            self.store.objects.pop(f"{BUCKET}/{unescape(key.decode())}", None)
        self._reply(
            200,
            f"<DeleteResult {NAMESPACE}></DeleteResult>".encode(),
            {"Content-Type": "application/xml"},
        )

    def do_DELETE(self) -> None:
        """Delete an object, whether or not it is there."""
        self.store.objects.pop(self._target()[0], None)
        self._reply(204)

    def _refuse(self, status: int, code: str) -> None:
        self.close_connection = True
        self._reply(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def _body(self) -> bytes:
        body = (
            super()._body() if "Content-Length" in self.headers else b"".join(self._iter_chunks())
        )
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body = _without_chunks(body)
        is_spoiled = any(self._target()[0].endswith(name) for name in self.server_state.spoiled)
        return body[:-1] + bytes([body[-1] ^ 1]) if is_spoiled and body else body

    def _iter_chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()


def _without_chunks(body: bytes) -> bytes:
    """Return the content of a body that has sizes before its parts and a checksum after them."""
    content, position = b"", 0
    while True:
        end = body.index(b"\r\n", position)
        size = int(body[position:end].partition(b";")[0], 16)
        if not size:
            return content
        content += body[end + 2 : end + 2 + size]
        position = end + 2 + size + 2


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run a server with an empty bucket on a free port of loopback."""
    server = S3Server(StoredObjects())
    with running(
        type("Handler", (S3Handler,), {"store": server.store, "server_state": server})
    ) as port:
        server.port = port
        yield server
