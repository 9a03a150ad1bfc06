"""The servers under load: the library and accounts they need, their processes, and what the kernel
says of them.
"""

import asyncio
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from load_client import StdioCaller

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Action, Quotas
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings

HERE = Path(__file__).parent
START_S = 60
STOP_S = 60
SETTLED_SHARE = 0.002
QUERY_WORDS = 5
GROUPS = {"user": 50, "neighbour": 10, "greedy": 3}
"""How many users there are of each kind, beside those whom nothing limits."""
ENDLESS = 1_000_000
UNLIMITED = {
    "fast": [Action.ACCESS_CATALOG],
    "debugger": [Action.ACCESS_CATALOG, Action.SERVER_ADMIN],
}
"""What those may do whom nothing limits."""
TOKEN_LASTS = timedelta(days=1)
USERS = (
    *UNLIMITED,
    *(f"{kind}-{number}" for kind, count in GROUPS.items() for number in range(count)),
)


class Process:
    """A server process on a port of its own."""

    def __init__(
        self, command: Sequence[str], port: int, environment: Mapping[str, str], log: Path
    ) -> None:
        self.port = port
        with log.open("ab") as file:
            self._popen = subprocess.Popen(command, env=dict(environment), stdout=file, stderr=file)
        self._log = log

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    def wait_until_up(self, path: str) -> "Process":
        """Return when this path is answered with 200; refuse where the process ends first."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self._popen.poll() is not None:
                sys.exit(
                    f"the server ended ({self._popen.returncode}):\n{self._log.read_text()[-2000:]}"
                )
            if self._answers(path):
                return self
            time.sleep(0.1)
        self.stop()
        sys.exit(f"the server was not ready within {START_S} s; its log: {self._log}")

    def _answers(self, path: str) -> bool:
        with socket.socket() as plug:
            if plug.connect_ex(("127.0.0.1", self.port)):
                return False
            plug.settimeout(5)
            head = (
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n"
            )
            plug.sendall(head.encode())
            return plug.recv(64).startswith(b"HTTP/1.1 200")

    def cpu_s(self) -> float:
        """Return the CPU seconds it has used, all threads."""
        return cpu_of(self.pid)

    def rss_mb(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def held_ports(self) -> set[int]:
        """Return the ports of the clients whose connections it still holds, ones it has let go of
        left out.
        """
        found = set()
        for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, ours, theirs, state, *rest = line.split()
            is_open = state != "0A" and rest[5] != "0"  # not listening, and some process has it
            if is_open and int(ours.split(":")[1], 16) == self.port:
                found.add(int(theirs.split(":")[1], 16))
        return found

    def terminate(self) -> None:
        """Ask it to end."""
        self._popen.send_signal(signal.SIGTERM)

    def exit_code(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self._popen.poll()

    def stop(self) -> None:
        """End it."""
        if self._popen.poll() is None:
            self.terminate()
        try:
            self._popen.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process, to the nanosecond: the clock that `clock_getcpuclockid`
    names.
    """
    return time.clock_gettime((~pid << 3) | 2)


class Machine:
    """What the machine does beside us, from now on: times on a busy machine say little."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._busy_s, self._own_s = _busy_s(), _own_s()

    def others(self) -> float:
        """Return how many cores others have used, on average; our processes must have ended."""
        others_s = (_busy_s() - self._busy_s) - (_own_s() - self._own_s)
        return max(0.0, others_s / (time.perf_counter() - self._start))


def _busy_s() -> float:
    """Return the seconds that all cores together were not idle."""
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    uses = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


async def settle(read: Callable[[], float], *, within_s: float = 12.0) -> float:
    """Return a reading when it has kept still for a second and a half."""
    end = time.monotonic() + within_s
    values = [read()]
    while time.monotonic() < end:
        await asyncio.sleep(0.5)
        values.append(read())
        last = values[-4:]
        if len(last) == 4 and max(last) - min(last) <= SETTLED_SHARE * max(last):
            break
    return values[-1]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        port: int = plug.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The library under load, and secrets of users of it by name."""

    home: Path
    tokens: Mapping[str, str]

    @property
    def answers(self) -> Path:
        """What our server answered, for the bare one to repeat."""
        return self.home.parent / "answers.json"

    @property
    def log(self) -> Path:
        """Where the servers' standard error goes."""
        return self.home.parent / "servers.log"

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the environment of a process that uses the library."""
        return {**os.environ, "STACKROOM_HOME": str(self.home), **settings}


async def prepare_library(
    work: Path, source: Path | None, calls: Iterable[Mapping[str, Any]]
) -> Library:
    """Make the library, its users and the bare server's answers under the work folder, where they
    are not there.
    """
    home = _prepare_home(work, source)
    library = Library(home=home, tokens=_prepare_tokens(home))
    asker = await StdioCaller.open(ours_stdio_command(), library.environment())
    answers = {}
    for call in calls:
        params = {"name": call["tool"], "arguments": call["arguments"]}
        result = (await asker.request("tools/call", params))["result"]
        answers[call["tool"]] = {
            "text": result["content"][0]["text"],
            "structured": result["structuredContent"],
        }
    await asker.close()
    library.answers.write_text(json.dumps(answers), encoding="utf-8")
    return library


def _prepare_tokens(home: Path) -> dict[str, str]:
    """Return a new token of each user: a few have no limits to speak of, the others the usual
    ones.
    """
    control = Control.open(load_settings({"STACKROOM_HOME": str(home)}))
    known = {user.name for user in control.accounts.list_users(limit=1000)[0]}
    control.accounts.create_first_admin()
    roles = {role.name for role in control.accounts.list_roles()}
    for name, actions in UNLIMITED.items():
        if name not in roles:
            quotas = Quotas(read=ENDLESS, write=ENDLESS, sql=ENDLESS)
            control.accounts.create_role(LOCAL_USER, name, actions, quotas)
    for name in USERS:
        if name not in known:
            role = name if name in UNLIMITED else "user"
            control.accounts.create_user(LOCAL_USER, name, password=None, roles=[role])
        for old in control.credentials.list_of(name):
            control.credentials.revoke(LOCAL_USER, old.id)
    tokens = {
        name: control.credentials.issue_token(
            LOCAL_USER, name, name="load", scopes=None, catalogues=None, expires_in=TOKEN_LASTS
        )[0]
        for name in USERS
    }
    control.close()
    return tokens


def _prepare_home(work: Path, library: Path | None) -> Path:
    """Return a library with anime and documents: a copy of the given one, or the samples without
    vectors.
    """
    home = work / "home"
    if not home.is_dir():
        if library:
            shutil.copytree(library, home, symlinks=False)
        app = App(load_settings({"STACKROOM_HOME": str(home)}))
        installed = {one.name for one in app.library.list_installed()}
        for _package, sample in app.packages.iter_samples():
            if sample.name not in installed and sample.name in ("anime", "handbook"):
                add_sample(app, sample.name, progress=lambda _report: None, embed=False)
        app.close()
    return home


def draw_arguments(
    home: Path, count: int, *, limit: int = 10, seed: int = 3
) -> list[dict[str, Any]]:
    """Return arguments of `search_anime`, made of the records: a third titles, the rest words of a
    synopsis.
    """
    app = App(load_settings({"STACKROOM_HOME": str(home)}))
    reader = app.open_catalogue("anime").shelf.reader()
    records = list(reader.fetch(reader.scan(scope=WHOLE, limit=20_000), scope=WHOLE).values())
    app.close()
    dice = random.Random(seed)
    arguments = []
    for number in range(count):
        record = dice.choice(records)
        words = str(record.get("synopsis") or record.get("title")).split()
        if number % 3 == 0:
            words = [*str(record.get("title")).split(), str(number)]
        start = dice.randrange(max(1, len(words) - QUERY_WORDS))
        arguments.append({"query": " ".join(words[start : start + QUERY_WORDS]), "limit": limit})
    return arguments


def ours_stdio_command() -> list[str]:
    """Return the command of our server on stdio."""
    return [sys.executable, "-m", "stackroom", "serve"]


def bare_stdio_command(library: Library) -> list[str]:
    """Return the command of the bare server on stdio."""
    return [sys.executable, str(HERE / "bare_server.py"), "--answers", str(library.answers)]


def start_ours(library: Library) -> Process:
    """Start our server, with accounts and the default limits."""
    port = free_port()
    command = [sys.executable, "-m", "stackroom", "serve", "--http", "--port", str(port)]
    environment = library.environment(LOG_LEVEL="WARNING")
    return Process(command, port, environment, library.log).wait_until_up("/health/ready")


def start_bare(library: Library) -> Process:
    """Start the bare server; it gives the answers that ours gave."""
    port = free_port()
    command = [
        sys.executable,
        str(HERE / "bare_http.py"),
        "--answers",
        str(library.answers),
        "--port",
        str(port),
    ]
    return Process(command, port, library.environment(), library.log).wait_until_up("/health")
