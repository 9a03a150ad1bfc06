"""A client whose requests end when their time is over, or when it is closed."""

import threading
import time
from typing import Any

import httpx
import pytest

from stackroom.net.polite import DeadlineClient


def test_whoever_waits_for_an_answer_is_let_go_when_the_client_is_closed(
    embedding_server: Any,
) -> None:
    embedding_server.mood = "hang"
    client = DeadlineClient(embedding_server.url, headers={})
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            client.request("POST", "/embeddings", timeout_s=20, body={"input": ["text"]})
        except httpx.HTTPError as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)
    client.close()
    asking.join(5)
    assert not asking.is_alive()
    assert len(failures) == 1


def test_a_client_that_is_closed_serves_nobody_and_starts_nothing(embedding_server: Any) -> None:
    client = DeadlineClient(embedding_server.url, headers={})
    client.request("GET", "/health", timeout_s=5)
    client.close()
    before = set(threading.enumerate())
    with pytest.raises(httpx.HTTPError, match="closed"):
        client.request("GET", "/health", timeout_s=5)
    assert set(threading.enumerate()) <= before
