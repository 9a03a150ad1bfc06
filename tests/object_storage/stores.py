"""Stores to try: a folder, S3 (SeaweedFS), and the server of Cloud Storage of the tests."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from support.gcs import running_gcs

KEY, SECRET = "stackroom", "stackroom-secret"
START_S = 40.0
END_S = 3.0
OWN_ENVIRONMENT = Path("build/object-storage")
"""Where `make object-storage` installs SeaweedFS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A place for a database, and what clients need to reach it."""

    name: str
    place: str
    environment: dict[str, str] = field(default_factory=dict)
    port: int | None = None
    """The port of its server, before which a proxy can be put; None of a folder."""
    key_folder: Path | None = None

    def environment_by(self, port: int) -> dict[str, str]:
        """Return what clients need to reach it through a proxy at a port."""
        if self.key_folder is not None:
            path = self.key_folder / f"proxied-{port}.json"
            known = json.loads(Path(self.environment["GOOGLE_SERVICE_ACCOUNT"]).read_text())
            path.write_text(json.dumps({**known, "gcs_base_url": f"http://127.0.0.1:{port}"}))
            return {**self.environment, "GOOGLE_SERVICE_ACCOUNT": str(path)}
        return {**self.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}


def find_weed() -> Path | None:
    """Return SeaweedFS's program, where it is installed."""
    beside = [OWN_ENVIRONMENT / "bin" / "weed", OWN_ENVIRONMENT / "Scripts" / "weed.exe"]
    found = shutil.which(os.environ.get("WEED", "weed"))
    return Path(found) if found else next((one for one in beside if one.is_file()), None)


@contextmanager
def folder_store(folder: Path) -> Iterator[Store]:
    """Give a folder."""
    yield Store(name="folder", place=str(folder / "vector_dbs"))


@contextmanager
def gcs_store(folder: Path) -> Iterator[Store]:
    """Run the server of Cloud Storage."""
    with running_gcs() as server:
        environment = server.environment(folder)
        yield Store(
            name="gcs",
            place="gs://bucket/lancedb",
            environment=environment,
            port=server.port,
            key_folder=folder,
        )


@contextmanager
def s3_store(folder: Path, weed: Path) -> Iterator[Store]:
    """Run SeaweedFS on loopback, with one bucket."""
    (folder / "weed").mkdir()
    ports = _free_ports(9)
    credentials = [{"accessKey": KEY, "secretKey": SECRET}]
    config = folder / "s3.json"
    identities = [
        {
            "name": "stackroom",
            "credentials": credentials,
            "actions": ["Admin", "Read", "Write", "List"],
        }
    ]
    config.write_text(json.dumps({"identities": identities}))
    command = [
        str(weed),
        "server",
        f"-dir={folder / 'weed'}",
        *_addresses(ports),
        f"-s3.config={config}",
    ]
    with (folder / "weed.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports[6]}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }
        # a folder of its filer
        _until_up(process, lambda: _is_answered(ports[4], "/buckets/bucket/"))
        yield Store(name="s3", place="s3://bucket/lancedb", environment=environment, port=ports[6])
    finally:
        _end(process)


def _addresses(ports: Sequence[int]) -> list[str]:
    """Return the options that keep every part on loopback, and no statistics sent to anybody."""
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc")
    names += ("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc")
    numbered = [f"-{name}={port}" for name, port in zip(names, ports, strict=False)]
    alone = [
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
    ]
    return [*alone, *numbered, "-s3", "-volume.max=20", "-master.volumeSizeLimitMB=64"]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server; nothing of it is kept, so it need not be patient."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _until_up(process: subprocess.Popen[bytes], is_up: Callable[[], bool]) -> None:
    """Wait until a server does what is asked of it."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if is_up():
            return
        time.sleep(0.5)
    sys.exit(f"{process.args} did not come up")


def _is_answered(port: int, path: str) -> bool:
    try:
        return httpx.post(f"http://127.0.0.1:{port}{path}", timeout=5).is_success
    except httpx.TransportError:
        return False


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
