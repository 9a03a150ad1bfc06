"""The engines that `scale.py` compares: their folders, the PostgreSQL server of two of them, and
what is used of both.

The first server's folder of an engine is in a library of its own, so that its catalogue can be
moved to a database.
"""

import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psutil
import psycopg
from real_anime import NAME

from stackroom.library import INSTALLED_FILE
from stackroom.shelf.postgres.store_database import StoreDatabase
from stackroom.shelf.store_place import IN_DATABASE, StorePlace, save_place

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support.postgres import PostgresServer

EMBEDDED, FOLLOWED, POSTGRESQL = ENGINES = ("embedded", "followed", "postgresql")
MOVED = "moved"
"""The name of the schema that a catalogue is moved to."""
SERVER_SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "3GB",  # the graph of a million vectors is built in memory
    "max_wal_size": "8GB",
    # a search has one core here, and all that it takes is counted
    "max_parallel_workers_per_gather": "0",
}
STOP_S = 60
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
SIZES = """SELECT CASE WHEN nspname = %s THEN relname ELSE 'index' END,
                  sum(pg_total_relation_size(pg_class.oid))
           FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
           WHERE relkind = 'r' AND (nspname = %s OR nspname LIKE %s) GROUP BY 1"""


class Used(NamedTuple):
    """Seconds on the clock, of CPU in this process and those it started that have ended, and in the
    database.
    """

    wall_s: float
    cpu_s: float
    database_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine with a number of records, in a folder under the work folder."""

    root: Path
    name: str

    @property
    def is_in_database(self) -> bool:
        return self.name != EMBEDDED

    def home(self, server: int = 1) -> Path:
        """Return the library of a server; on the embedded engine, processes share the folder of
        one.
        """
        return self.root / f"{self.name}-{server if self.is_in_database else 1}"

    def folder(self, server: int = 1) -> Path:
        return self.home(server) / "catalogues" / NAME

    def add_server(self, like: Path, server: int = 1) -> Path:
        """Make the folder of a server as its administrator does, like another folder, without
        records.
        """
        folder = self.folder(server)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy2(like / INSTALLED_FILE, folder / INSTALLED_FILE)
        if self.is_in_database:
            save_place(folder, self.place())
        return folder

    def place(self) -> StorePlace:
        search = IN_DATABASE if self.name == POSTGRESQL else ""
        return StorePlace(url=_url(self.root), schema=f"scale_{self.name}", search=search)

    def create_tables(self) -> None:
        with closing(
            StoreDatabase(self.place().url, self.place().schema, catalogue=NAME)
        ) as database:
            database.create()

    def used(self) -> Used:
        """Return the time and the CPU used until now; that of the database is read first, which
        takes some itself.
        """
        database_s = database_cpu_s(self.root) if self.is_in_database else 0.0
        return Used(cpu_s=_cpu_s(), wall_s=time.perf_counter(), database_cpu_s=database_s)

    def used_since(self, before: Used) -> Used:
        """Return what was used since."""
        wall_s, cpu_s = time.perf_counter() - before.wall_s, _cpu_s() - before.cpu_s
        database_s = (
            database_cpu_s(self.root) - before.database_cpu_s if self.is_in_database else 0.0
        )
        return Used(wall_s=wall_s, cpu_s=cpu_s, database_cpu_s=database_s)

    def sizes_mb(self, server: int = 1) -> dict[str, float]:
        """Return the sizes of the store, the text index and the segment of a server."""
        sizes = {"records": 0, "text": 0, "segment": 0}
        for path in self.folder(server).rglob("*"):
            if path.is_file():
                part = (
                    "text"
                    if "text" in path.parts
                    else "segment"
                    if path.suffix == ".npy"
                    else "records"
                )
                sizes[part] += path.stat().st_size
        return {part: size / 1e6 for part, size in sizes.items()}

    def database_mb(self) -> dict[str, float]:
        """Return the sizes of the tables of the catalogue, and of the index where the database has
        it.
        """
        if not self.is_in_database:
            return {}
        place = self.place()
        with psycopg.connect(place.url.replace("+psycopg", ""), autocommit=True) as db:
            rows = db.execute(SIZES, (place.schema, place.schema, f"{place.schema}%")).fetchall()
        return {str(name): float(size) / 1e6 for name, size in rows}

    def remove(self) -> None:
        """Remove the folders and the tables."""
        for server in (1, 2):
            shutil.rmtree(self.home(server), ignore_errors=True)
        if self.is_in_database:
            drop_schemas(self.root, self.place().schema)


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_mb_of(pid: int) -> float:
    """Return the greatest memory that a process has had until now; 0 where it has ended (Linux)."""
    try:
        status = Path("/proc", str(pid), "status").read_text()
    except OSError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")),
        0.0,
    )


def _url(root: Path) -> str:
    return f"postgresql+psycopg://stackroom@/postgres?host={quote(str(root / 'pg'))}"


def moved_place(root: Path) -> StorePlace:
    return StorePlace(url=_url(root), schema=MOVED)


def drop_schemas(root: Path, begins: str) -> None:
    """Drop the schemas of a catalogue and of its index."""
    with psycopg.connect(_url(root).replace("+psycopg", ""), autocommit=True) as db:
        names = db.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", (f"{begins}%",)
        ).fetchall()
    for (name,) in names:
        database = StoreDatabase(_url(root), name, catalogue=NAME)
        database.drop()
        database.close()


@contextmanager
def running_database(root: Path, *, is_needed: bool) -> Iterator[None]:
    """Run the PostgreSQL server with the tables of this number of records, made where there is none
    yet.
    """
    if not is_needed:
        yield
        return
    folder = root / "pg"
    folder.mkdir(parents=True, exist_ok=True)
    _stop_left(folder / "data" / "postmaster.pid")
    server = PostgresServer(folder, settings=SERVER_SETTINGS)
    try:
        yield
    finally:
        server.stop()


def _stop_left(file: Path) -> None:
    """Stop the server that a run which was killed has left."""
    if file.is_file():
        pid = int(file.read_text().split()[0])
        with suppress(psutil.NoSuchProcess):
            left = psutil.Process(pid)
            if left.name() == "postgres":
                left.send_signal(signal.SIGINT)
                left.wait(STOP_S)


def database_cpu_s(root: Path) -> float:
    """Return the CPU seconds of PostgreSQL's processes, also of those that have ended (Linux)."""
    pid = (root / "pg" / "data" / "postmaster.pid").read_text().split()[0]
    ended = Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[13:15]
    running = Path("/proc", pid, "task", pid, "children").read_text().split()
    return sum(map(int, ended)) / TICKS_A_SECOND + sum(map(_running_s, running))


def _running_s(pid: str) -> float:
    try:
        return int(Path("/proc", pid, "schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return 0.0
