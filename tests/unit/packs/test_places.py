"""Places of releases: folders and servers, and what they may not lead to."""

import json
from pathlib import Path

import pytest

from stackroom.errors import (
    ExpectedError,
    InputError,
    UnavailableError,
)
from stackroom.packs.places import Asset, open_place
from stackroom.settings import Settings, SourcesSettings
from support.loopback import FileServer

pytestmark = pytest.mark.row("A11")

INDEX = [
    {
        "tag_name": "1",
        "assets": [{"name": "manifest.json", "browser_download_url": "1/manifest.json"}],
    }
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    (place / "1").mkdir(parents=True)
    (place / "1" / "manifest.json").write_bytes(b"{}")
    (place / "releases.json").write_text(json.dumps(INDEX))
    (tmp_path / "secret").write_bytes(b"secret")
    return place


@pytest.mark.parametrize("form", ["{}", "{}/releases.json", "file://{}"])
def test_a_folder_is_a_place_however_it_is_written(
    folder: Path, settings: Settings, form: str
) -> None:
    place = open_place(form.format(folder), settings)

    assert [release.tag for release in place.list_releases()] == ["1"]
    assert (
        place.read(
            Asset(name="manifest.json", browser_download_url="1/manifest.json"), max_bytes=10
        )
        == b"{}"
    )


@pytest.mark.parametrize(
    "url",
    [
        "../secret",
        "1/../../secret",
        "/etc/passwd",
        "%2e%2e/secret",
        "..\\secret",
        "link",
        ".",
        "%2E",
        "a%00b",
    ],
)
def test_no_file_outside_a_folder_is_read(
    folder: Path, settings: Settings, tmp_path: Path, url: str
) -> None:
    (folder / "link").symlink_to(tmp_path / "secret")
    place = open_place(str(folder), settings)

    with pytest.raises(InputError, match=r"a path inside|leads out of"):
        place.read(Asset(name="manifest.json", browser_download_url=url), max_bytes=100)


def test_a_file_of_another_size_or_content_is_refused_and_not_kept(
    folder: Path, settings: Settings
) -> None:
    place, target = open_place(str(folder), settings), folder.parent / "target"
    asset = Asset(name="manifest.json", browser_download_url="1/manifest.json")
    for wrong in ({"size_bytes": 3}, {"digest": f"sha256:{'0' * 64}"}):
        with pytest.raises(InputError, match=r"rather than|sha256 differs"):
            place.bring(asset.model_copy(update=wrong), target, on_bytes=lambda _received: None)
        assert not target.exists()


@pytest.mark.parametrize("path", ["", "/", "/releases.json"])
def test_a_server_is_a_place_whichever_address_of_it_is_given(
    path: str, settings: Settings, file_server: FileServer
) -> None:
    file_server.files = {
        "/stars/releases.json": json.dumps(INDEX).encode(),
        "/stars/1/manifest.json": b"{}",
    }
    place = open_place(f"{file_server.url}/stars{path}", settings)
    asset = place.list_releases()[0].find_asset("manifest.json")
    assert asset is not None
    assert place.read(asset, max_bytes=10) == b"{}"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://10.0.0.1/x", "not public"),
        ("http://169.254.169.254/x", "not public"),
        ("file:///etc/passwd", "http"),
        ("http://localhost/x", "not a public name"),
        ("manifest.json", "more than the limit"),
    ],
)
def test_hosts_that_are_not_public_and_files_beyond_their_limit_are_refused(
    settings: Settings, file_server: FileServer, url: str, said: str
) -> None:
    file_server.files = {"/releases.json": b"[]", "/manifest.json": b"x" * 1000}
    place = open_place(file_server.url, settings)
    place.list_releases()
    with pytest.raises(ExpectedError, match=said):
        place.read(Asset(name="manifest.json", browser_download_url=url), max_bytes=100)


def test_no_server_is_asked_offline(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, offline=True)

    with pytest.raises(UnavailableError, match="what is installed stays as it is"):
        open_place("https://example.org/stars", settings)


def test_a_github_repository_is_the_index_of_its_api(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        raise OSError("no network in tests")

    settings = Settings(home=tmp_path, sources=SourcesSettings())
    place = open_place("github:owner/stars", settings, resolve=resolve)

    with pytest.raises(UnavailableError, match=r"api\.github\.com/repos/owner/stars/releases"):
        place.list_releases()
    assert asked == [("api.github.com", 443)]
