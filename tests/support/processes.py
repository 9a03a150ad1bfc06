"""`stackroom` as a process of its own."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx

from support.launching import STACKROOM, launch, run

PATIENCE_S = 120.0
"""How long a test waits for something that comes in a moment: load makes it later, never wrong."""
SERVE = (*STACKROOM, "serve", "--http", "--port", "0")


class ServerProcess:
    """`stackroom serve --http`, or a program that serves as it does, on a free port, ended with the
    test.
    """

    def __init__(
        self,
        home: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = SERVE,
    ) -> None:
        self.home = home
        self.environment = {
            **os.environ,
            "STACKROOM_HOME": str(home),
            "LOG_LEVEL": "WARNING",
            **(environment or {}),
        }
        self.log: list[str] = []
        self._heard = threading.Event()
        command = [*program, *arguments]
        self.process = launch(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if not self._heard.wait(PATIENCE_S):
            self.stop()
            raise AssertionError(f"the server did not come up: {self.log}")
        self.url = self._find(r"serving at (http://[^ ]+)")
        self.port = int(self.url.rpartition(":")[2])
        wait_until(self._is_ready)

    @property
    def admin_secret(self) -> str:
        """The one-time password of the first admin, as it was printed."""
        return self._find(r"password  (\S+)")

    def token(self, user: str, *, name: str = "test", **options: str) -> str:
        """Make a token for a user on this machine."""
        more = [part for key, value in options.items() for part in (f"--{key}", value)]
        return self.run("token", "add", name, "--user", user, *more).strip()

    def run(self, *arguments: str) -> str:
        """Run a `stackroom` command on the same library, and return what it wrote to standard
        output.
        """
        done = run(*arguments, environment=self.environment, timeout_s=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 120) -> int:
        """End the process, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._listener.join(120)
            assert self.process.stderr is not None
            self.process.stderr.close()
        return code

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "serving at" in line:
                self._heard.set()
        self._heard.set()

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, "".join(self.log))
        assert found, self.log
        return found[1]

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            return (
                httpx.get(f"{self.url}/health/ready", timeout=120, verify=False).status_code == 200
            )
        except httpx.TransportError:
            return False


def wait_until(
    is_so: Callable[[], object], *, timeout_s: float = PATIENCE_S, every_s: float = 0.02
) -> None:
    """Wait until something is so; fail where it does not become so in time."""
    assert becomes(is_so, timeout_s=timeout_s, every_s=every_s), "it did not become so in time"


def becomes(is_so: Callable[[], object], *, timeout_s: float, every_s: float = 0.2) -> bool:
    """Wait until something is so; tell whether it became so in time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every_s)
    return True
