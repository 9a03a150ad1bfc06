"""What the package index is asked, by a real pip against a real index on this machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.errors import UnavailableError
from pinakes.net.package_index import fetch_latest_version

pytestmark = pytest.mark.row("Z9")


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the only index that pip knows offer these versions of a package."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)

    def make(*versions: str) -> None:
        folder = tmp_path / "pinakes"
        folder.mkdir()
        files = [f"pinakes-{version}-py3-none-any.whl" for version in versions]
        links = "".join(f'<a href="{file}">{file}</a>' for file in files)
        (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    return make


def test_the_latest_version_is_told_whatever_the_order(offer: Callable[..., None]) -> None:
    offer("1.9.0", "1.10.0", "1.2.0")
    assert fetch_latest_version("pinakes") == "1.10.0"


def test_an_index_without_the_package_is_told(offer: Callable[..., None]) -> None:
    with pytest.raises(UnavailableError, match="does not state the latest version of 'pinakes'; pip says: ERROR"):
        fetch_latest_version("pinakes")


def test_an_index_that_takes_too_long_is_not_waited_for(offer: Callable[..., None]) -> None:
    with pytest.raises(UnavailableError, match="did not answer within 0 s"):
        fetch_latest_version("pinakes", timeout_s=0.01)
