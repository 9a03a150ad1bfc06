"""The faults of a chaos run: how each begins and ends, and how the servers must tell of it."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.actors import Damage
from chaos.client import Caller
from chaos.record import FaultEntry, Record
from chaos.world import UNEDITED, Place, World
from support.disks import filled
from support.processes import becomes

TOLD_TIMEOUT_S = 40
WELL_TIMEOUT_S = 60
LOOK_AGAIN_S = 5
JOB_TIMEOUT_S = 90
HOLD_S = (3, 12)
"""How long a fault lasts after it was told of."""


@dataclass
class Conductor:
    """Brings about one fault after another."""

    world: World
    record: Record
    damage: Damage
    admin: Caller
    chance: random.Random
    _seen: set[str] = field(default_factory=set)

    def list_faults(self) -> dict[str, Callable[[FaultEntry], None]]:
        """Return the faults by name."""
        faults: dict[str, Callable[[FaultEntry], None]] = {
            "a server is killed": self.kill_one,
            "both servers are killed": self.kill_both,
            "a server is restarted": self.restart_one,
            "a server stands still": self.freeze_one,
            "the control database goes away": self.lose_database,
            "the embedder goes away": self.lose_embedder,
            "a catalogue's records go away": self.lose_records,
            "a bit of an index flips": self.flip_index,
            "an index file is cut off": self.truncate_index,
            "a bit of the records flips": self.flip_records,
        }
        return {**faults, "the disk fills": self.fill_disk} if self.world.disk else faults

    def bring_about(self, name: str) -> FaultEntry:
        """Let one fault happen and pass, and note how it went."""
        entry = FaultEntry(name, began_at=self.record.elapsed())
        self.record.faults.append(entry)
        self.list_faults()[name](entry)
        for place in self.world.places:
            most = max(place.memory_mb(), self.record.most_memory_mb.get(place.name, 0.0))
            self.record.most_memory_mb[place.name] = most
        return entry

    # Servers

    def kill_one(self, entry: FaultEntry) -> None:
        """Kill a server without warning; the other goes on."""
        place = self.chance.choice(self.world.places)
        place.end(signal.SIGKILL)
        self._told(entry, "its port is closed", lambda: place.health() is None)
        self._hold()
        place.start()
        self._wait_well(entry)

    def kill_both(self, entry: FaultEntry) -> None:
        """Kill both servers at once."""
        for place in self.world.places:
            place.end(signal.SIGKILL)
        self._told(
            entry,
            "their ports are closed",
            lambda: all(one.health() is None for one in self.world.places),
        )
        for place in self.world.places:
            place.start()
        self._wait_well(entry)

    def restart_one(self, entry: FaultEntry) -> None:
        """Restart a server as an upgrade does."""
        entry.needs_telling = False
        place = self.chance.choice(self.world.places)
        place.end(signal.SIGTERM)
        place.start()
        self._wait_well(entry)

    def freeze_one(self, entry: FaultEntry) -> None:
        """Stop a server's process for some seconds, and let it go on."""
        entry.needs_telling = False
        place = self.chance.choice(self.world.places)
        place.freeze(signal.SIGSTOP)
        self._hold()
        place.freeze(signal.SIGCONT)
        self._wait_well(entry)

    # What the servers depend on

    def lose_database(self, entry: FaultEntry) -> None:
        """Stop the control database, and start it again."""
        self.world.postgres.stop()
        self._told_by_health(entry, "control")
        self._hold()
        self.world.postgres.start()
        self._wait_well(entry)

    def lose_embedder(self, entry: FaultEntry) -> None:
        """Let the embedder die, and come back."""
        self.world.embedder.die()
        self._told_by_health(entry, "embed")
        self._hold()
        self.world.embedder.start()
        self._wait_well(entry)

    def fill_disk(self, entry: FaultEntry) -> None:
        """Fill the disk to the last block, and free it again."""
        assert self.world.disk is not None
        with filled(self.world.disk):
            self._told_by_health(entry, "disk")
            self._hold()
        self._wait_well(entry)

    def lose_records(self, entry: FaultEntry) -> None:
        """Move the records of a catalogue away, and put them back."""
        name = self.chance.choice(UNEDITED)
        folder = self.world.catalogue(name)
        away = folder.parent.parent / f"away-{name}"
        away.mkdir()
        for path in folder.glob("records.sqlite*"):
            path.rename(away / path.name)
        self._told_by_health(entry, name)
        self._hold()
        for path in away.iterdir():
            path.rename(folder / path.name)
        away.rmdir()
        self._wait_well(entry)

    # Damage

    def flip_index(self, entry: FaultEntry) -> None:
        """Flip one bit of an index file, and let the integrity job run."""
        name = self.chance.choice(UNEDITED)
        path = self.chance.choice(_index_files(self.world.catalogue(name)))
        self._damage(entry, name, path, lambda: _flip(path, self.chance))

    def truncate_index(self, entry: FaultEntry) -> None:
        """Cut an index file off, with the servers stopped, and let the integrity job run."""
        name = self.chance.choice(UNEDITED)
        path = self.chance.choice(_index_files(self.world.catalogue(name)))
        # a mapped file that shrinks ends a process: no disk does that to a running one
        with self._stopped():
            self.damage.catalogues.add(name)
            os.truncate(path, self.chance.randrange(path.stat().st_size))
        self._check(entry, name, path)

    def flip_records(self, entry: FaultEntry) -> None:
        """Flip one bit of the records, let the job run, and put the catalogue back from a copy as
        an operator would.
        """
        name = self.chance.choice(UNEDITED)
        path = self.world.catalogue(name) / "records.sqlite"
        self._damage(entry, name, path, lambda: _flip(path, self.chance))
        with self._stopped():
            shutil.rmtree(self.world.catalogue(name))
            shutil.copytree(self.world.kept / name, self.world.catalogue(name))
        self._wait_well(entry)

    def _damage(self, entry: FaultEntry, name: str, path: Path, harm: Callable[[], None]) -> None:
        self.damage.catalogues.add(name)
        harm()
        self._check(entry, name, path)

    def _check(self, entry: FaultEntry, name: str, path: Path) -> None:
        """Run the integrity job; from then on answers must be right, or refused, or with a note."""
        entry.name = f"{entry.name} ({path.name})"
        # a bit that nothing reads may flip unnoticed: the answers are compared
        entry.needs_telling = False
        self._run_job("integrity_check")
        self.damage.catalogues.discard(name)
        found = [
            line
            for line in self._job_output("integrity_check")
            if name in line and not line.endswith(": whole")
        ]
        noted = self._log_lines(f"'{name}' is rebuilt")
        if found or noted:
            told_by = "the integrity job" if found else "the log, with the rebuilding"
            entry.told_after_s, entry.told_by = self.record.elapsed() - entry.began_at, told_by
            print(f"          {(found or noted)[0].strip()[:200]}", flush=True)
        if path.name != "records.sqlite":
            self._wait_well(entry)

    def _run_job(self, job: str) -> None:
        """Run a job to its end: one run that begins after this moment."""
        ends_at = time.monotonic() + JOB_TIMEOUT_S
        asked = None
        while asked is None and time.monotonic() < ends_at:
            answer = self.admin.call("jobs.action", action="trigger", job_id=job)
            asked = answer.value["job"]["last_run"]["run_id"] if answer.is_ok else None
            time.sleep(0.3)
        while time.monotonic() < ends_at:
            answer = self.admin.call("jobs.query", query_type="history", job_id=job)
            runs = answer.value["runs"] if answer.is_ok else []
            if any(
                one["run_id"] == asked and one["state"] not in ("queued", "running") for one in runs
            ):
                return
            time.sleep(0.3)
        self.record.blame(f"the job {job} did not end within {JOB_TIMEOUT_S} s")

    def _job_output(self, job: str) -> list[str]:
        answer = self.admin.send(
            "GET", "/v1/resources/read", params={"uri": f"jobs://{job}/output"}
        )
        return str(answer.value).splitlines() if answer.is_ok else []

    def _log_lines(self, text: str) -> list[str]:
        """Return the lines with this text that the servers have written since they were last asked
        for.
        """
        lines = [
            line
            for place in self.world.places
            if place.process
            for line in place.process.log
            if text in line
        ]
        new = [line for line in lines if line not in self._seen]
        self._seen.update(new)
        return new

    # Telling and healing

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        for place in self.world.places:
            place.end(signal.SIGTERM)
        yield
        for place in self.world.places:
            place.start()

    def _hold(self) -> None:
        time.sleep(self.chance.uniform(*HOLD_S))

    def _told_by_health(self, entry: FaultEntry, part: str) -> None:
        def is_told(place: Place) -> bool:
            answer = place.health()
            return answer is not None and any(
                part in one["part"] for one in answer.get("degraded", ())
            )

        self._told(
            entry,
            f"/health names {part}",
            lambda: all(is_told(place) for place in self.world.places),
        )

    def _told(self, entry: FaultEntry, by: str, is_told: Callable[[], bool]) -> None:
        if becomes(is_told, timeout_s=TOLD_TIMEOUT_S):
            entry.told_after_s, entry.told_by = self.record.elapsed() - entry.began_at, by
        else:
            seen = [(place.health() or {}).get("degraded") for place in self.world.places]
            self.record.blame(
                f"{entry.name}: not told by health within {TOLD_TIMEOUT_S} s: {str(seen)[:1_200]}"
            )

    def _wait_well(self, entry: FaultEntry) -> None:
        """Wait until both servers are ready and healthy; jobs that failed meanwhile are run
        again.
        """
        began = time.monotonic()
        while (
            not (is_well := becomes(self._is_well, timeout_s=LOOK_AGAIN_S))
            and time.monotonic() < began + WELL_TIMEOUT_S
        ):
            for job in self._failed_jobs():
                self._run_job(job)
        if is_well:
            entry.well_after_s = time.monotonic() - began
        else:
            seen = [(place.health() or {}).get("degraded") for place in self.world.places]
            self.record.blame(
                f"{entry.name}: not healthy within {WELL_TIMEOUT_S} s: {str(seen)[:1_200]}"
            )

    def _is_well(self) -> bool:
        return all(_is_well(place) for place in self.world.places)

    def _failed_jobs(self) -> set[str]:
        answers = [place.health() or {} for place in self.world.places]
        parts = [one["part"] for answer in answers for one in answer.get("degraded", ())]
        return {part.removeprefix("job ") for part in parts if part.startswith("job ")}


def _is_well(place: Place) -> bool:
    answer = place.health()
    return answer is not None and answer.get("status") == "ok" and place.is_ready()


def _index_files(catalogue: Path) -> list[Path]:
    """Return the files of a catalogue's indexes that have a content."""
    found = [
        path
        for path in (catalogue / "index").rglob("*")
        if path.is_file() and path.stat().st_size > 0
    ]
    return sorted(path for path in found if "lock" not in path.name)


def _flip(path: Path, chance: random.Random) -> None:
    """Flip one bit of a file in place."""
    at = chance.randrange(path.stat().st_size)
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << chance.randrange(8))]))
