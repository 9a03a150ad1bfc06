"""A MariaDB server that the tests start for themselves, from the programs of the system's package."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

START_TIMEOUT_S = 120.0
NOBODY = 65534
"""The user and group id that the server runs under where the tests run as root, which MariaDB refuses."""
SYSTEM_PROGRAMS = "/usr/sbin:/usr/libexec:/usr/local/sbin"


class MariaDbServer:
    """A MariaDB server with a folder and a port of its own, on loopback only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            self._owner = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        self._databases = 0
        places = [f"--datadir={folder / 'data'}", f"--tmpdir={folder}"]
        self._run("mariadb-install-db", "--no-defaults", *places, "--auth-root-authentication-method=normal")
        settings = {
            "socket": str(folder / "socket"),
            "pid-file": str(folder / "pid"),
            "bind-address": "127.0.0.1",
            "skip-name-resolve": "1",
            "port": str(self.port),
            "innodb-flush-log-at-trx-commit": "0",
            "innodb-buffer-pool-size": "16M",
            "innodb-log-file-size": "8M",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (folder / "log").open("wb") as log:
            command = [_program("mariadbd"), "--no-defaults", *places, *options]
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, **self._owner)
        self._wait_until_ready()

    def new_url(self, *, user: str = "root", password: str = "") -> str:
        """Return the address of an empty database that no other test uses."""
        self._databases += 1
        name = f"test_{self._databases}"
        with self.connected() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        login = f"{user}:{password}" if password else user
        return f"mysql://{login}@127.0.0.1:{self.port}/{name}"

    def connected(self, database: str | None = None) -> Any:
        """Open a connection as the server's own administrator."""
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", database=database, autocommit=True)

    def stop(self) -> None:
        """End the server by its process id."""
        self._process.terminate()
        self._process.wait(START_TIMEOUT_S)

    def _wait_until_ready(self) -> None:
        ends_at = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.connected().close()
                return
            except pymysql.OperationalError as error:
                log = (self.folder / "log").read_text(errors="replace")
                if self._process.poll() is not None or time.monotonic() > ends_at:
                    raise RuntimeError(f"MariaDB did not start: {log}") from error
                time.sleep(0.05)

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [_program(program), *arguments]
        subprocess.run(
            command, check=True, capture_output=True, cwd=self.folder, timeout=START_TIMEOUT_S, **self._owner
        )


def is_available() -> bool:
    """Tell whether the programs are installed."""
    return bool(_find_program("mariadbd") and _find_program("mariadb-install-db"))


def _program(name: str) -> str:
    found = _find_program(name)
    assert found is not None
    return found


def _find_program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PROGRAMS}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
