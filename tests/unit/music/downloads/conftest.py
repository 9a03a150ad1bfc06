"""Downloads over a real database, a real folder and a real server on loopback."""

import hashlib
import ipaddress
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.background.background import Background
from stackroom.control.database.engine import ControlDatabase
from stackroom.net.addresses import AddressRules
from stackroom.net.fetch import FetchLimits
from stackroom.net.polite import Clock
from stackroom_catalogues.music.downloads.downloads import Downloads, DownloadSettings
from stackroom_catalogues.music.downloads.queue import Download, DownloadState, QueueRules

MANIFEST = "/Handel/Water%20Music.json"
TRACKS = {"01.mp3": b"first" * 20_000, "02.flac": b"second" * 20_000, "cover.jpg": b"cover" * 1_000}
RULES = QueueRules(max_open_per_user=5, max_per_day=50, attempts=3)


@dataclass(kw_only=True)
class DownloadPlace:
    """A queue, a music folder and a server with one album; also the catalogue that albums come
    to.
    """

    server: Any
    folder: Path
    database: ControlDatabase
    names: dict[str, list[str]] = field(default_factory=dict)
    passed_s: float = 0.0
    albums: list[Path] = field(default_factory=list)
    finished: list[Download] = field(default_factory=list)
    on_album: Callable[[Path], str | None] = lambda _folder: None
    find_problem: Callable[[Path], str | None] = lambda _file: None
    find_refusal: Callable[[Download], str | None] = lambda _download: None
    running: list[Background] = field(default_factory=list)

    @property
    def music(self) -> Path:
        return self.folder / "music"

    def now(self) -> datetime:
        return datetime(2026, 11, 15, 12, 0, tzinfo=UTC) + timedelta(seconds=self.passed_s)

    def downloads(self, **changes: Any) -> Downloads:
        allowed = (ipaddress.ip_network("127.0.0.1/32"),)
        values = {
            "folder": self.music,
            "providers": {"archive": f"{self.server.url}/{{artist}}/{{album}}.json"},
            "rules": AddressRules(
                ports=frozenset({80, 443, self.server.port}), allowed_networks=allowed
            ),
            "queue": RULES,
            "limits": FetchLimits(max_bytes=1 << 20, stall_s=5, total_s=30),
            "poll_s": 0.05,
            **changes,
        }
        clock = Clock(utc_now=self.now, chance=lambda: 0.0)
        outside: dict[str, Any] = {"resolve": self.resolve, "clock": clock, "now": self.now}
        albums: Any = self
        return Downloads(DownloadSettings(**values), self.database, albums, **outside)

    def request(self, downloads: Downloads, **request: Any) -> Download:
        return downloads.request("ann", **{"artist": "Handel", "album": "Water Music", **request})[
            0
        ]

    def fetch(self, downloads: Downloads | None = None, **request: Any) -> Download:
        """Request a download, let it be worked on once, and return what came of it."""
        chosen = downloads or self.downloads()
        download = self.request(chosen, **request)
        assert chosen.work_once()
        return self.get(download)

    def get(self, download: Download) -> Download:
        return self.downloads().queue.get(download.id)

    def state(self, download: Download) -> DownloadState:
        return self.get(download).state

    def start(self, downloads: Downloads) -> Background:
        """Let a process work on downloads in the background."""
        background = Background()
        background.add(*downloads.tasks)
        background.start()
        self.running.append(background)
        return background

    def serve_album(self, path: str = MANIFEST, **changes: Any) -> dict[str, Any]:
        """Put an album on the server, with its manifest; return the manifest."""
        folder = path.rpartition("/")[0]
        files = []
        for name, body in TRACKS.items():
            self.server.files[f"{folder}/{name}"] = body
            files.append(
                {"url": name, "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            )
        manifest = {"artist": "Handel", "album": "Water Music", "files": files, **changes}
        self.server.files[path] = json.dumps(manifest).encode()
        return manifest

    def landed(self, folder: str = "Handel/Water Music") -> dict[str, bytes]:
        """Return what is in an album's folder."""
        return {path.name: path.read_bytes() for path in sorted((self.music / folder).iterdir())}

    def staged(self) -> list[str]:
        """Return the names of what is in the staging folders."""
        return sorted(
            name for _, _, names in [*os.walk(self.music / ".downloads")][1:] for name in names
        )

    def resolve(self, host: str, _port: int) -> list[str]:
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]

    def add_album(self, folder: Path, _download: Download) -> str | None:
        self.albums.append(folder)
        return self.on_album(folder)

    def record_download(self, download: Download) -> None:
        self.finished.append(download)


@pytest.fixture
def place(file_server: Any, tmp_path: Path) -> Iterator[DownloadPlace]:
    """The surroundings of downloads, with one album on the server."""
    database = ControlDatabase.open(f"sqlite:///{tmp_path / 'control.sqlite'}")
    (tmp_path / "music").mkdir()
    made = DownloadPlace(server=file_server, folder=tmp_path, database=database)
    made.serve_album()
    yield made
    for background in made.running:
        background.stop()
    database.close()


@pytest.fixture
def tracks() -> dict[str, bytes]:
    """What the files of the album have in them."""
    return TRACKS
