"""Addresses as others may read them."""

import pytest

from stackroom.net.addresses import shown_address

SECRET = "hunter22"


@pytest.mark.row("Z11")
@pytest.mark.parametrize(
    "address",
    [
        f"https://ada:{SECRET}@host/x",
        f"https://{SECRET}@host/x",
        f"postgresql+psycopg://ada:pa/{SECRET}@host/x",
        f"postgresql+psycopg://ada:pa@{SECRET}@host/x",
        f"postgresql+psycopg://ada:pa?{SECRET}#@host/x",
        f"https://host/x?api_key={SECRET}",
        f"https://host/x?a=1&X-Amz-Signature={SECRET}",
        f"https://host/x?sig={SECRET}&a=1",
        f"https://host/x?code={SECRET}",
        f"https://host/x?pass={SECRET}&pwd={SECRET}&auth={SECRET}",
        f"https://host/x;key={SECRET}",
        f"https://host/x#access_token={SECRET}",
        f"Client error '404' for url 'https://ada:{SECRET}@host/x?token={SECRET}'",
    ],
)
def test_nothing_of_a_secret_is_left_in_an_address(address: str) -> None:
    assert SECRET not in shown_address(address)
    assert "host/x" in shown_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://localhost:7997",
        "https://host/{artist}/{album}.json?page=2&country_code=it#top",
        "sqlite:////srv/stackroom/control.sqlite",
        "postgresql+psycopg://host/stackroom?sslmode=require",
    ],
)
def test_an_address_without_secrets_is_shown_as_it_is(address: str) -> None:
    assert shown_address(address) == address


@pytest.mark.parametrize("part", ["?", "?key", "://", "&a=b"])
def test_a_long_text_of_nothing_but_beginnings_is_shown(part: str) -> None:
    """Work that grows with the square of the length would take hours, and the test would not
    end.
    """
    assert shown_address(part * 200_000)
