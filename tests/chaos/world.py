"""The world of a chaos run: a library on a small disk, PostgreSQL, two servers, and what they ask
on loopback.
"""

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from chaos.albums import album_files, album_names
from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import ControlSettings, Settings
from support.disks import small_disk
from support.loopback import EmbeddingServer, FileServer
from support.postgres import PostgresServer
from support.processes import ServerProcess

SAMPLES = ("music", "dnd", "anime")
EDITED = "music"
UNEDITED = ("dnd", "anime")
"""The catalogues that nobody edits, so that their answers can be compared with those of the
beginning.
"""
DISK_MB = 1_000


@dataclass
class Place:
    """A server's place: one process after another runs in it, each on a port of its own."""

    name: str
    home: Path
    environment: dict[str, str]
    log_folder: Path
    process: ServerProcess | None = None
    starts: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start a server, and wait until it is ready."""
        with self._guard:
            self.process = ServerProcess(self.home, environment=self.environment)
            self.starts += 1

    def end(self, number: int) -> None:
        """End the server by a signal, and keep its log."""
        with self._guard:
            process, self.process = self.process, None
        if process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            process.stop(number, timeout_s=30)
        (self.log_folder / f"{self.name}-{self.starts}.log").write_text("".join(process.log))

    def freeze(self, number: int) -> None:
        """Send a signal that stops or continues the process."""
        if self.process is not None:
            self.process.process.send_signal(number)

    @property
    def url(self) -> str | None:
        """Where the server is; None where none runs."""
        process = self.process
        return process.url if process else None

    def health(self) -> dict[str, Any] | None:
        """Return what `/health` says to an admin; None where the server does not answer."""
        return self._ask("/health")

    def is_ready(self) -> bool:
        """Tell whether the server says that it is ready."""
        answer = self._ask("/health/ready")
        return answer is not None and bool(answer.get("ready"))

    def _ask(self, path: str) -> dict[str, Any] | None:
        if self.url is None:
            return None
        headers = {"Authorization": f"Bearer {self.environment['CHAOS_TOKEN']}"}
        try:
            return dict(httpx.get(f"{self.url}{path}", headers=headers, timeout=10).json())
        except (httpx.TransportError, ValueError):
            return None

    def memory_mb(self) -> float:
        """Return the resident memory of the process."""
        process = self.process
        try:
            text = Path(f"/proc/{process.process.pid}/status").read_text() if process else ""
        except OSError:
            return 0.0
        found = [line for line in text.splitlines() if line.startswith("VmRSS")]
        return int(found[0].split()[1]) / 1024 if found else 0.0


@dataclass
class World:
    """Everything that a run needs."""

    home: Path
    disk: Path | None
    """The mount point of the small disk that the library is on; None where none could be
    mounted.
    """
    kept: Path
    """Copies of the catalogues that nobody edits, as an operator's back-up has them."""
    postgres: PostgresServer
    embedder: EmbeddingServer
    provider: FileServer
    settings: Settings
    tokens: dict[str, str]
    places: tuple[Place, Place]

    def catalogue(self, name: str) -> Path:
        """Return the folder of a catalogue."""
        return self.home / "catalogues" / name


@contextmanager
def made_world(folder: Path) -> Iterator[World]:
    """Make the world in an empty folder, and take it down again."""
    with ExitStack() as stack:
        disk = folder / "disk"
        disk.mkdir(parents=True)
        is_mounted = stack.enter_context(small_disk(disk, DISK_MB))
        home = disk / "library"
        embedder, provider = EmbeddingServer(), FileServer()
        stack.callback(embedder.die)
        stack.callback(provider.die)
        database = folder / "postgres"
        database.mkdir()
        folder.chmod(0o755)
        postgres = PostgresServer(database)
        stack.callback(postgres.stop)
        settings = Settings(
            home=home,
            embedding=embedder.settings(timeout_s=5),
            control=ControlSettings(url=postgres.new_url()),
        )
        kept = folder / "kept"
        _build(settings, provider, kept)
        tokens = _make_users(settings)
        places = _make_places(settings, embedder, tokens["admin"], folder)
        world = World(
            home=home,
            disk=disk if is_mounted else None,
            kept=kept,
            postgres=postgres,
            embedder=embedder,
            provider=provider,
            settings=settings,
            tokens=tokens,
            places=places,
        )
        for place in places:
            stack.callback(place.end, signal.SIGTERM)
            place.start()
        yield world


def _build(settings: Settings, provider: FileServer, kept: Path) -> None:
    """Build the sample catalogues, and put the provider's albums in place."""
    app = App(settings)
    for name in SAMPLES:
        add_sample(app, name, progress=lambda _report: None)
    app.close()
    for name in UNEDITED:
        shutil.copytree(settings.home / "catalogues" / name, kept / name)
    for album in album_names():
        provider.files.update(album_files(album))
    control = json.dumps(settings.control.url)
    (settings.home / "stackroom.toml").write_text(
        f"""
        [control]
        url = {control}

        [downloads]
        folder = "{settings.home / "downloaded"}"
        allowed_networks = ["127.0.0.1/32"]
        allowed_ports = [{provider.port}]

        [downloads.providers]
        label = "{provider.url}/albums/{{album}}.json"
        """
    )


def _make_users(settings: Settings) -> dict[str, str]:
    """Make the users of the run, and return a token of each."""
    roles = {
        "admin": "admin",
        "editor-1": "editor",
        "editor-2": "editor",
        "reader": "user",
        "keeper": "admin",
    }
    control = Control.open(settings)
    try:
        for name, role in roles.items():
            control.accounts.create_user(LOCAL_USER, name, password=None, roles=[role])
        return {
            name: control.credentials.issue_token(LOCAL_USER, name, name="chaos")[0]
            for name in roles
        }
    finally:
        control.close()


def _make_places(
    settings: Settings, embedder: EmbeddingServer, token: str, folder: Path
) -> tuple[Place, Place]:
    environment = {
        **embedder.environment(),
        "STACKROOM_READ_PER_MINUTE": "1000000",
        "STACKROOM_WRITE_PER_MINUTE": "1000000",
        "CHAOS_TOKEN": token,
    }
    logs = folder / "logs"
    logs.mkdir()
    first, second = (Place(name, settings.home, environment, logs) for name in ("first", "second"))
    return first, second
