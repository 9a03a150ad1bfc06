"""Listening, and the address that people are told."""

from contextlib import closing

import pytest

from pinakes.serve.http.run import listen, url_of


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]"), ("[::1]", "[::1]")]
)
def test_an_address_can_be_given_to_a_browser(host: str, shown: str) -> None:
    with closing(listen("127.0.0.1", 0)) as listener:
        assert url_of(host, listener) == f"http://{shown}:{listener.getsockname()[1]}"
