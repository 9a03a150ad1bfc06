"""Listening, and the address that people are told."""

import subprocess
import sys
from contextlib import closing

import httpx
import pytest

from stackroom.serve.http.run import PING_EVERY_S, PONG_WITHIN_S, listen, url_of


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]"), ("[::1]", "[::1]")],
)
def test_an_address_can_be_given_to_a_browser(host: str, shown: str) -> None:
    with closing(listen("127.0.0.1", 0)) as listener:
        assert url_of(host, listener) == f"http://{shown}:{listener.getsockname()[1]}"


WITHOUT_UNIX_MODULES = """
import sys
sys.modules["resource"] = sys.modules["uvloop"] = None
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from stackroom.serve.http.run import listen, run, url_of
from stackroom.serve.connections import Streams
from stackroom.serve.async_gate import Workers
listener = listen("127.0.0.1", 0)
print(url_of("127.0.0.1", listener), flush=True)
app = Starlette(routes=[Route("/", lambda _request: PlainTextResponse("served"))])
run(app, listener, workers=Workers(), streams=Streams(1), shutdown_s=1)
"""


def test_a_server_starts_answers_and_ends_without_resource_limits_and_uvloop() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_UNIX_MODULES], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert httpx.get(url, timeout=120, verify=False).text == "served"
        process.terminate()
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.row("Z1")
def test_a_websocket_whose_client_stops_is_closed_within_a_minute() -> None:
    assert PING_EVERY_S + PONG_WITHIN_S <= 60
