"""Workers on downloads, killed at random points: nothing is lost or doubled, and whole files are
not fetched again.

A worker runs in a process of its own. It is killed while bytes come, or right before a step that
can be seen from outside: a rename, a removal, a new file or folder, a statement to the database,
the taking up of an album. Each further process sees a clock that is an hour ahead, so that what was
put off is due.
"""

import hashlib
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.database.engine import ControlDatabase
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.downloads.queue import DownloadQueue, DownloadState, QueueRules
from support.dying import work_on_downloads
from support.kills import Child

pytestmark = [pytest.mark.row("Z8"), pytest.mark.timeout(280)]

KILLS = int(os.environ.get("STACKROOM_KILLS", "4"))
ALBUMS = 3
START = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TRACKS = {f"{number:02}.mp3": random.Random(number).randbytes(150_000) for number in range(1, 7)}


@dataclass(kw_only=True)
class Workers:
    """Worker processes over one queue, one folder and one server."""

    server: Any
    folder: Path
    runs: int = 0
    killed_at: list[str] = field(default_factory=list)
    steps: int = 0

    def __post_init__(self) -> None:
        (self.folder / "music").mkdir(parents=True)
        for album in self.albums:
            files = []
            for name, body in self.tracks(album).items():
                self.server.files[f"/{album}/{name}"] = body
                known = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
                files.append({"url": f"{album}/{name}", **(known if album != "Album0" else {})})
            manifest = {"artist": "Handel", "album": album, "files": files}
            self.server.files[f"/{album}.json"] = json.dumps(manifest).encode()
        with self.opened() as queue:
            for album in self.albums:
                queue.request("ann", DownloadRequest(provider="archive", album=album))

    @property
    def albums(self) -> list[str]:
        return [f"Album{number}" for number in range(ALBUMS)]

    def tracks(self, album: str) -> dict[str, bytes]:
        return {name: album.encode() + body for name, body in TRACKS.items()}

    @contextmanager
    def opened(self) -> Iterator[DownloadQueue]:
        with closing(
            ControlDatabase.open(f"sqlite:///{self.folder / 'control.sqlite'}")
        ) as database:
            yield DownloadQueue(database, QueueRules(), now=lambda: START)

    def run(self, *, kill_at: int = 0) -> int | None:
        """Run a worker to its end, by itself or by kill; return its exit code."""
        now = START + timedelta(hours=self.runs)
        self.runs += 1
        child = Child(work_on_downloads, self.folder, self.server.port, now, kill_at)
        self.server.on_block = lambda sent: self._kill_within(child, sent)
        ended = child.wait()
        assert ended.code in (0, -signal.SIGKILL)
        self.killed_at += [line for line in ended.said if line.startswith("killed")]
        if ended.code == 0:
            self.steps = int(ended.said[-1].split()[-1])
        return ended.code

    kill_at_byte: int | None = None

    def _kill_within(self, child: Child, sent: int) -> None:
        # so that the worker keeps up, and bytes do not just wait in the connection
        time.sleep(0.003)
        if self.kill_at_byte is not None and sent >= self.kill_at_byte:
            self.kill_at_byte = None
            self.killed_at.append(f"killed at byte {sent}")
            child.kill()

    def problems(self) -> list[str]:
        """Return what is lost, doubled, half there or left over."""
        music = self.folder / "music"
        wanted = {
            f"Handel/{album}/{name}": hashlib.sha256(body).hexdigest()
            for album in self.albums
            for name, body in self.tracks(album).items()
        }
        files = [path for path in music.rglob("*") if path.is_file()]
        found = {
            path.relative_to(music).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }
        problems = [f"lost {name}" for name in wanted if name not in found]
        problems += [f"left over {name}" for name in found if name not in wanted]
        problems += [
            f"changed {name}" for name in wanted if found.get(name, wanted[name]) != wanted[name]
        ]
        with self.opened() as queue:
            downloads, total = queue.list_downloads(DownloadState.DONE)
            problems += (
                [] if total == ALBUMS else [f"{total} are done: {[one.state for one in downloads]}"]
            )
        taken_up = self.folder / "taken-up"
        counted = Counter(taken_up.read_text().split()) if taken_up.exists() else Counter()
        problems += [f"not taken up: {album}" for album in self.albums if not counted[album]]
        return problems


@pytest.fixture
def workers(file_server: Any, tmp_path: Path) -> Workers:
    return Workers(server=file_server, folder=tmp_path / "library")


def test_workers_killed_at_random_bytes_and_steps_lose_and_double_nothing(workers):
    chance = random.Random(20261115)
    total = sum(len(body) for album in workers.albums for body in workers.tracks(album).values())
    kills = 0
    for number in range(KILLS):
        by_byte = number % 2 == 0
        workers.kill_at_byte = (
            workers.server.sent_bytes + chance.randrange(1, total // 8) if by_byte else None
        )
        code = workers.run(kill_at=0 if by_byte else chance.randrange(1, 60))
        kills += code == -signal.SIGKILL
        workers.kill_at_byte = None

    assert workers.run() == 0
    assert workers.problems() == []
    assert kills >= KILLS - 2, workers.killed_at
    fetched_again = workers.server.sent_bytes - total
    assert fetched_again < KILLS * 160_000, f"{fetched_again:,} bytes"
