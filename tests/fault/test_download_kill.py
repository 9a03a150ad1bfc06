"""Workers on downloads, killed at random points: nothing is lost or doubled, and whole files are not fetched again.

A worker runs in a process of its own. It is killed while bytes come, or right before a step that can be seen from
outside: a rename, a removal, a new file or folder, a statement to the database, the taking up of an album. Each further
process sees a clock that is an hour ahead, so that what was put off is due.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.database.engine import ControlDatabase
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.downloads.queue import DownloadQueue, DownloadState, QueueRules

pytestmark = [pytest.mark.row("Z8"), pytest.mark.timeout(280)]

KILLS = int(os.environ.get("STACKROOM_KILLS", "4"))
ALBUMS = 3
START = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TRACKS = {f"{number:02}.mp3": random.Random(number).randbytes(150_000) for number in range(1, 7)}
WORKER = """
import ipaddress, os, signal, sys
from datetime import datetime
from pathlib import Path
from sqlalchemy import Engine, event
from stackroom.control.database.engine import ControlDatabase
from stackroom_catalogues.music.downloads.downloads import DownloadHooks, Downloads, DownloadSettings
from stackroom_catalogues.music.downloads.queue import DownloadQueue, QueueRules
from stackroom.net.addresses import AddressRules
from stackroom.net.fetch import FetchLimits

folder, port, now, kill_at, naive = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
music = folder / "music"
steps = 0

def step(name):
    global steps
    steps += 1
    if steps == kill_at:
        print("killed at", name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

def hook(name, arguments):
    is_change = name in ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
    is_write = name == "open" and str(music) in str(arguments[0]) and arguments[1] not in ("r", "rb", None)
    if (is_change and str(music) in str(arguments[0])) or is_write:
        step(f"{name} {arguments[0]}")

def take_up(album, _download):
    step("take up")
    with (folder / "taken-up").open("a") as file:
        file.write(f"{album.name}\\n")

rules = AddressRules(ports=frozenset({port}), allowed_networks=(ipaddress.ip_network("127.0.0.1/32"),))
settings = DownloadSettings(
    folder=music,
    providers={"archive": "http://127.0.0.1:%d/{album}.json" % port},
    rules=rules,
    limits=FetchLimits(max_bytes=1 << 20),
    queue=QueueRules(attempts=1000),
)
database = ControlDatabase.open(f"sqlite:///{folder / 'control.sqlite'}")
downloads = Downloads(settings, database, DownloadHooks(on_album=take_up), now=lambda: datetime.fromisoformat(now))
if naive == "naive":
    finish = DownloadQueue.finish
    DownloadQueue.begin_install = lambda self, download, **_: finish(self, download)
    DownloadQueue.finish = lambda self, download, **_: self.get(download.id)
sys.addaudithook(hook)
event.listen(Engine, "before_cursor_execute", lambda *arguments: step(arguments[2][:40]))
while downloads.work_once():
    pass
downloads.sweep()
print("steps", steps, flush=True)
"""


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

    def opened(self) -> "_Opened":
        return _Opened(self.folder)

    def run(self, *, kill_at: int = 0, naive: bool = False) -> int:
        """Run a worker to its end, by itself or by kill; return its exit code."""
        now = (START + timedelta(hours=self.runs)).isoformat()
        self.runs += 1
        arguments = [str(self.folder), str(self.server.port), now, str(kill_at), "naive" if naive else ""]
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.server.on_block = lambda sent: self._kill_within(process, sent)
        printed, errors = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), errors
        self.killed_at += [line for line in printed.splitlines() if line.startswith("killed")]
        if process.returncode == 0:
            self.steps = int(printed.split()[-1])
        return process.returncode

    kill_at_byte: int | None = None

    def _kill_within(self, process: subprocess.Popen[str], sent: int) -> None:
        time.sleep(0.003)  # so that the worker keeps up, and bytes do not just wait in the connection
        if self.kill_at_byte is not None and sent >= self.kill_at_byte:
            self.kill_at_byte = None
            self.killed_at.append(f"killed at byte {sent}")
            os.kill(process.pid, signal.SIGKILL)

    def problems(self) -> list[str]:
        """Return what is lost, doubled, half there or left over."""
        music = self.folder / "music"
        wanted = {
            f"Handel/{album}/{name}": hashlib.sha256(body).hexdigest()
            for album in self.albums
            for name, body in self.tracks(album).items()
        }
        files = [path for path in music.rglob("*") if path.is_file()]
        found = {path.relative_to(music).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        problems = [f"lost {name}" for name in wanted if name not in found]
        problems += [f"left over {name}" for name in found if name not in wanted]
        problems += [f"changed {name}" for name in wanted if found.get(name, wanted[name]) != wanted[name]]
        with self.opened() as queue:
            downloads, total = queue.list_downloads(DownloadState.DONE)
            problems += [] if total == ALBUMS else [f"{total} are done: {[one.state for one in downloads]}"]
        taken_up = self.folder / "taken-up"
        counted = Counter(taken_up.read_text().split()) if taken_up.exists() else Counter()
        problems += [f"not taken up: {album}" for album in self.albums if not counted[album]]
        return problems


class _Opened:
    def __init__(self, folder: Path) -> None:
        self._database = ControlDatabase.open(f"sqlite:///{folder / 'control.sqlite'}")

    def __enter__(self) -> DownloadQueue:
        return DownloadQueue(self._database, QueueRules(), now=lambda: START)

    def __exit__(self, *_error: object) -> None:
        self._database.close()


@pytest.fixture
def workers(file_server: Any, tmp_path: Path) -> Workers:
    return Workers(server=file_server, folder=tmp_path / "library")


def test_workers_killed_at_random_bytes_and_steps_lose_and_double_nothing(workers):
    chance = random.Random(20261115)
    total = sum(len(body) for album in workers.albums for body in workers.tracks(album).values())
    kills = 0
    for number in range(KILLS):
        by_byte = number % 2 == 0
        workers.kill_at_byte = workers.server.sent_bytes + chance.randrange(1, total // 8) if by_byte else None
        code = workers.run(kill_at=0 if by_byte else chance.randrange(1, 60))
        kills += code == -signal.SIGKILL
        workers.kill_at_byte = None

    assert workers.run() == 0
    assert workers.problems() == []
    assert kills >= KILLS - 2, workers.killed_at
    fetched_again = workers.server.sent_bytes - total
    assert fetched_again < KILLS * 160_000, f"{fetched_again:,} bytes"


def test_a_worker_killed_at_any_step_is_gone_on_with(file_server, tmp_path):
    whole = Workers(server=file_server, folder=tmp_path / "whole")
    assert whole.run() == 0
    assert whole.problems() == []
    steps = sorted(random.Random(5).sample(range(1, whole.steps - 9), KILLS // 2))

    for step in steps:
        workers = Workers(server=file_server, folder=tmp_path / f"at {step}")
        assert workers.run(kill_at=step) == -signal.SIGKILL
        assert workers.run() == 0
        assert workers.problems() == [], workers.killed_at
