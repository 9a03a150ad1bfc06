"""Long JSON for readers comes compressed; short answers, calls, and clients that take none come as they are."""

from typing import Any

import pytest

pytestmark = pytest.mark.row("T6")


def test_a_long_list_is_sent_compressed_and_read_the_same(local: Any) -> None:
    plain = local.client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = local.client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 3


def test_short_answers_and_calls_are_sent_as_they_are(local: Any) -> None:
    takes = {"Accept-Encoding": "gzip"}
    assert "content-encoding" not in local.client.get("/health", headers=takes).headers
    called = local.client.post("/v1/tools/search", json={"query": "x" * 3000}, headers=takes)
    assert len(called.content) > 2000
    assert "content-encoding" not in called.headers
