"""Memory of a server that is sent large bodies by strangers: 500 of 4 MiB, held before their end,
and whole.

    python benchmarks/stranger_memory.py --home LIBRARY [--count 500]

The library is copied. On a server with accounts nobody sends a credential; on one without,
everybody is the local user.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BODY_BYTES = 4 * 1024 * 1024
HELD_BACK = 100
PATHS = (
    "/mcp",
    "/v1/tools/search_anime",
    "/v1/login",
    "/messages?session_id=0123456789abcdef0123456789abcdef",
)
STACKROOM = (sys.executable, "-m", "stackroom")


@dataclass(frozen=True, slots=True)
class Server:
    """A server process under measurement."""

    process: subprocess.Popen[str]
    port: int
    token: str

    def resident_mib(self) -> float:
        """Return the resident memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def call(self) -> float:
        """Make a good call, and return the seconds that it took."""
        body = json.dumps({"query": f"robots {time.time()}"}).encode()
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(head("/v1/tools/search_anime", len(body), self.token) + body)
            answer = connection.recv(64)
        assert b" 200 " in answer, answer
        return time.perf_counter() - began


def head(path: str, size: int, token: str = "") -> bytes:
    """Return the head of a request with a body of so many bytes."""
    credential = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"{credential}Content-Length: {size}\r\n\r\n"
    ).encode()


@contextmanager
def serving(home: Path, *, accounts: bool) -> Iterator[Server]:
    """Serve a library with or without accounts."""
    environment = {
        **os.environ,
        "STACKROOM_HOME": str(home),
        "LOG_LEVEL": "ERROR",
        "STACKROOM_READ_PER_MINUTE": "99999",
    }
    more = [] if accounts else ["--no-accounts"]
    process = subprocess.Popen(
        [*STACKROOM, "serve", "--http", "--port", "0", *more],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines: list[str] = []
    while not lines or "serving at" not in lines[-1]:
        lines.append(process.stderr.readline())
    threading.Thread(target=process.stderr.read, daemon=True).start()
    port = re.search(r"serving at http://[^ ]+:(\d+)", lines[-1])
    assert port
    token = ""
    if accounts:
        subprocess.run(
            [*STACKROOM, "user", "add", "good", "--one-time"],
            env=environment,
            check=False,
            capture_output=True,
        )
        made = [*STACKROOM, "token", "add", f"m{time.time()}", "--user", "good"]
        token = subprocess.run(
            made, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()
    try:
        yield Server(process, int(port[1]), token)
    finally:
        process.terminate()
        process.wait(30)


def besiege(server: Server, path: str, *, count: int, is_whole: bool) -> dict[str, float]:
    """Send the bodies, each on a connection of its own that stays open, and return what they did to
    the server.
    """
    before = server.resident_mib()
    highest, slowest = before, 0.0
    body = b"x" * (BODY_BYTES if is_whole else BODY_BYTES - HELD_BACK)
    with ExitStack() as stack:
        for number in range(count):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", server.port), timeout=30)
            )
            with suppress(OSError):
                connection.sendall(head(path, BODY_BYTES) + body)
            if number % 25 == 0:
                slowest = max(slowest, server.call())
            highest = max(highest, server.resident_mib())
        highest = max(highest, server.resident_mib())
    return {
        "before": before,
        "highest": highest,
        "after": server.resident_mib(),
        "slowest_call_s": slowest,
    }


def main() -> None:
    """Print a line for each kind of server, path and way of sending."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument(
        "--no-accounts", action="store_true", help="measure the server without accounts only"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "library"
        shutil.copytree(asked.home, home, symlinks=True)
        for accounts in (False,) if asked.no_accounts else (True, False):
            with serving(home, accounts=accounts) as server:
                for _ in range(20):
                    server.call()
                idle = server.resident_mib()
                print(f"{'accounts' if accounts else 'no accounts'}: idle {idle:.0f} MiB")
                for path in PATHS:
                    for is_whole in (False, True):
                        found = besiege(server, path, count=asked.count, is_whole=is_whole)
                        figures = (
                            f"highest +{found['highest'] - idle:.0f}, after"
                            f" +{found['after'] - idle:.0f} MiB"
                        )
                        way = "whole" if is_whole else "held"
                        print(
                            f"  {path.partition('?')[0]:24} {way:6} {figures}, call"
                            f" {found['slowest_call_s']:.2f} s"
                        )


if __name__ == "__main__":
    main()
