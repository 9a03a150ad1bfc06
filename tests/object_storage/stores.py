"""Stores to try: a folder, S3 (SeaweedFS), Azure (Azurite), and the server of Cloud Storage of the tests."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from support.gcs import running_gcs

KEY, SECRET = "stackroom", "stackroom-secret"
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's account and its key, which are the same everywhere and known to everybody."""
API_VERSION = "2021-08-06"
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
        if self.name == "az":
            return {**self.environment, "AZURE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}"}
        return {**self.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}


def find_weed() -> Path | None:
    """Return SeaweedFS's program, where it is installed."""
    beside = [OWN_ENVIRONMENT / "bin" / "weed", OWN_ENVIRONMENT / "Scripts" / "weed.exe"]
    found = shutil.which(os.environ.get("WEED", "weed"))
    return Path(found) if found else next((one for one in beside if one.is_file()), None)


def find_azurite() -> Path | None:
    """Return Azurite's program, where it is installed."""
    found = shutil.which(os.environ.get("AZURITE", "azurite-blob"))
    return Path(found) if found else None


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
            name="gcs", place="gs://bucket/lancedb", environment=environment, port=server.port, key_folder=folder
        )


@contextmanager
def s3_store(folder: Path, weed: Path) -> Iterator[Store]:
    """Run SeaweedFS on loopback, with one bucket."""
    (folder / "weed").mkdir()
    ports = _free_ports(9)
    credentials = [{"accessKey": KEY, "secretKey": SECRET}]
    config = folder / "s3.json"
    identities = [{"name": "stackroom", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}]
    config.write_text(json.dumps({"identities": identities}))
    command = [str(weed), "server", f"-dir={folder / 'weed'}", *_addresses(ports), f"-s3.config={config}"]
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
        _until_up(process, lambda: _is_answered(ports[4], "POST", "/buckets/bucket/", {}))  # a folder of its filer
        yield Store(name="s3", place="s3://bucket/lancedb", environment=environment, port=ports[6])
    finally:
        _end(process)


@contextmanager
def az_store(folder: Path, azurite: Path) -> Iterator[Store]:
    """Run Azurite on loopback, in memory, with one container."""
    (port,) = _free_ports(1)
    options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command = [str(azurite), "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    with (folder / "azurite.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _until_up(process, lambda: _make_container(port))
        environment = {
            "AZURE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
            "ALLOW_HTTP": "true",
        }
        yield Store(name="az", place="az://container/lancedb", environment=environment, port=port)
    finally:
        _end(process)


def _make_container(port: int) -> bool:
    """Make the container, with a signed request."""
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    path = f"/{ACCOUNT}/container"
    signed = f"PUT{12 * chr(10)}x-ms-date:{date}\nx-ms-version:{API_VERSION}\n/{ACCOUNT}{path}\nrestype:container"
    mac = hmac.new(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": date,
        "x-ms-version": API_VERSION,
        "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(mac).decode()}",
        "Content-Length": "0",
    }
    return _is_answered(port, "PUT", f"{path}?restype=container", headers)


def _addresses(ports: Sequence[int]) -> list[str]:
    """Return the options that keep every part on loopback, and no statistics sent to anybody."""
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc")
    names += ("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc")
    numbered = [f"-{name}={port}" for name, port in zip(names, ports, strict=False)]
    alone = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
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


def _is_answered(port: int, method: str, path: str, headers: Mapping[str, str]) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(method, path, headers=dict(headers))
        return connection.getresponse().status < 300
    except OSError:
        return False
    finally:
        connection.close()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
