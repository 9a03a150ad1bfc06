"""The help of `stackroom` names the documentation: that of the server, and the address that the
wheel states.
"""

from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest

pytestmark = pytest.mark.row("N17")


@pytest.mark.parametrize("address", [None, "https://example.org/docs"])
def test_help_names_the_documentation(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    stated = Message()
    if address is not None:
        stated["Project-URL"] = "Homepage, https://example.org"
        stated["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr("stackroom.cli.main.metadata", lambda _name: stated)
    said = run("--help").out
    assert "http://127.0.0.1:8080/docs while stackroom serve --http runs" in said
    assert ("https://example.org/docs" in said) == (address is not None)
