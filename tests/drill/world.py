"""The world of a drill: a library on a small disk, a server with accounts, and the four places that
tell how it is.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from support.disks import small_disk
from support.launching import run
from support.processes import ServerProcess, wait_until

TABLE = "wines"
ROWS = 400
DISK_MB = 400
COUNTRIES = ("France", "Italy", "Spain", "Georgia", "Chile")
WORDS = ("oak", "lamp", "cherry", "smoke", "honey", "slate", "pepper")
SAMPLE = re.compile(r"stackroom_(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class World:
    """A library, its server, and the accounts of those who use it."""

    folder: Path
    home: Path
    disk: Path | None
    """The mount point of the small disk that the library is on; None where none could be
    mounted.
    """
    nights: int
    """How many nights with jobs and a backup there are."""
    server: ServerProcess | None = None
    tokens: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command on the library."""
        chosen = {"STACKROOM_HOME": str(home or self.home), "STACKROOM_OFFLINE": "1"}
        return run(*arguments, environment={**os.environ, **chosen}, timeout_s=600)

    def must_run(self, *arguments: str, home: Path | None = None) -> str:
        """Run a command that must succeed, and return what it wrote."""
        done = self.run(*arguments, home=home)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr[-500:]}"
        return done.stdout

    def add_user(self, name: str, role: str) -> None:
        """Add a user with a token."""
        self.must_run("user", "add", name, "--role", role)
        self.tokens[name] = self.must_run("token", "add", "drill", "--user", name).strip()

    def send(self, method: str, path: str, *, user: str = "root", **options: Any) -> httpx.Response:
        """Send a request in the name of a user."""
        assert self.server is not None
        headers = {"Authorization": f"Bearer {self.tokens[user]}"}
        return httpx.request(
            method, f"{self.server.url}{path}", headers=headers, timeout=120, **options
        )

    def call(self, tool: str, *, user: str = "root", **arguments: Any) -> httpx.Response:
        """Call a tool."""
        return self.send("POST", f"/v1/tools/{tool}", user=user, json=arguments)

    # The four places

    def health(self) -> dict[str, str]:
        """Return the parts that `/health` calls degraded, with the reasons."""
        return {
            one["part"]: one["reason"] for one in self.send("GET", "/health").json()["degraded"]
        }

    def doctor(self) -> list[str]:
        """Return what `stackroom doctor` calls bad, but for the model, which a drill does
        without.
        """
        lines = self.run("doctor").stdout.splitlines()
        return [
            line for line in lines if line.startswith("BAD") and not line.startswith("BAD embedder")
        ]

    def metric(self, name: str, **labels: str) -> float | None:
        """Return a metric; None where it is not told."""
        return next(iter(self._told(name, labels)), None)

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over its other labels."""
        return sum(self._told(name, labels))

    def _told(self, name: str, labels: Mapping[str, str]) -> list[float]:
        found = (SAMPLE.fullmatch(line) for line in self.send("GET", "/metrics").text.splitlines())
        told = [
            (dict(LABEL.findall(one[2] or "")), float(one[3]))
            for one in found
            if one and one[1] == name
        ]
        return [value for known, value in told if labels.items() <= known.items()]

    def audit(self, *filters: str) -> list[Mapping[str, Any]]:
        """Return rows of the audit log, the newest first."""
        return list(json.loads(self.must_run("audit", "tail", "--json", *filters))["rows"])

    # The server

    def start(self) -> None:
        """Start the server."""
        unlimited = {
            "STACKROOM_READ_PER_MINUTE": "1000000",
            "STACKROOM_WRITE_PER_MINUTE": "1000000",
        }
        self.server = ServerProcess(self.home, environment={"STACKROOM_OFFLINE": "1", **unlimited})

    def stop(self) -> None:
        """Stop the server."""
        server, self.server = self.server, None
        if server is not None:
            server.stop()

    def run_job(self, name: str) -> str:
        """Let the server run a job, and return the state that it ended in."""
        before = self._last_run(name).get("run_id")
        self.send("POST", f"/v1/jobs/{name}/trigger", json={}).raise_for_status()

        def is_over() -> bool:
            last = self._last_run(name)
            return last.get("run_id") != before and last["state"] not in ("queued", "running")

        wait_until(is_over, timeout_s=300, every_s=0.5)
        last = self._last_run(name)
        return f"{last['state']}{': ' if last['error'] else ''}{last['error'] or ''}"

    def _last_run(self, name: str) -> Mapping[str, Any]:
        runs = self.send("GET", f"/v1/jobs/{name}/runs").json().get("runs") or [{}]
        return dict(runs[0])


@contextmanager
def made_world(folder: Path, *, nights: int) -> Iterator[World]:
    """Make a library with a table in an empty folder, serve it, and take everything down again."""
    with ExitStack() as stack:
        disk = folder / "disk"
        disk.mkdir(parents=True)
        is_mounted = stack.enter_context(small_disk(disk, DISK_MB))
        world = World(folder, disk / "library", disk if is_mounted else None, nights)
        world.must_run("add", str(write_table(folder / f"{TABLE}.csv")), "--yes", "--no-embed")
        world.must_run("describe", TABLE, "--editable")
        world.add_user("root", "admin")
        stack.callback(world.stop)
        world.start()
        yield world


def write_table(path: Path) -> Path:
    """Write a table of wines."""
    lines = [
        f"Wine {number},{COUNTRIES[number % 5]},{5 + number % 40},{WORDS[number % 7]} and"
        f" {WORDS[number % 3]}"
        for number in range(ROWS)
    ]
    path.write_text("\n".join(["name,country,price,notes", *lines]) + "\n")
    return path
