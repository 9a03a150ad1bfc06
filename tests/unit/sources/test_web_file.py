"""Tables at addresses of the web: fetched under the guard of downloads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import open_provider
from stackroom.errors import (
    ExpectedError,
    InputError,
    InvalidUrlError,
    TooLargeError,
    UnavailableError,
)
from stackroom.settings import Settings, SourcesSettings
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.port import RowSource
from stackroom.sources.web_file import open_web_file
from support.loopback import FileServer
from support.spreadsheets import write_xlsx

pytestmark = pytest.mark.row("N1")

FILMS = b"title,year\nHeat,1995\nAlien,1979\n"

Open = Callable[..., RowSource]


@pytest.fixture
def server(file_server: FileServer) -> FileServer:
    file_server.files["/films.csv"] = FILMS
    return file_server


@pytest.fixture
def settings(tmp_path: Path, server: FileServer) -> Settings:
    sources = SourcesSettings(
        allowed_networks=("127.0.0.1/32",), allowed_ports=(str(server.port),), max_download_mb=1
    )
    return Settings(home=tmp_path, sources=sources)


@pytest.fixture
def open_it(server: FileServer, settings: Settings) -> Open:
    def open_it(path: str, options: ReadOptions | None = None, **changes: Any) -> RowSource:
        changed = settings.model_copy(update=changes)
        return open_web_file(f"{server.url}{path}", options or ReadOptions(), changed)

    return open_it


def answer(status: int, body: bytes = b"", **headers: str) -> Callable[[Any], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(status, body, named)


def titles(source: RowSource) -> list[Any]:
    return [row.values["title"] for row in source.iter_rows()]


def test_a_file_is_fetched_and_named_by_its_address(server: FileServer, open_it: Open) -> None:
    source = open_it("/films.csv")
    assert titles(source) == ["Heat", "Alien"]
    assert (source.name, source.is_whole, source.count_rows()) == (
        f"{server.url}/films.csv",
        True,
        2,
    )
    assert not SourceLocation.parse(source.name).is_folder


def test_options_are_part_of_the_name(server: FileServer, open_it: Open, tmp_path: Path) -> None:
    book = write_xlsx(
        tmp_path / "a.xlsx", {"a": [["title"], ["Heat"]], "b": [["title"], ["Alien"], ["Ran"]]}
    )
    server.files["/a.xlsx"] = book.read_bytes()
    source = open_it("/a.xlsx#a", ReadOptions(skip=0))
    assert titles(source) == ["Heat"]
    assert source.name == f"{server.url}/a.xlsx#a?skip=0"
    assert open_it("/a.xlsx").name == f"{server.url}/a.xlsx#b"
    with pytest.raises(InputError, match="--records is for JSON files only"):
        open_it("/a.xlsx", ReadOptions(records="a"))


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/export", {"Content_Type": "text/csv; charset=utf-8"}),
        ("/export?format=csv", {"Content_Type": "text/plain"}),
        ("/export", {"Content_Disposition": 'attachment; filename="films.csv"'}),
        ("/a.php", {"Content_Disposition": "attachment; filename*=UTF-8''films%20%C3%A4.csv"}),
    ],
)
def test_the_format_is_told_by_the_name_or_by_the_type(
    server: FileServer, open_it: Open, path: str, headers: dict[str, str]
) -> None:
    server.replies[path] = [answer(200, FILMS, **headers)]
    assert titles(open_it(path)) == ["Heat", "Alien"]


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (
            answer(200, b"<html>", Content_Type="text/html"),
            InputError,
            "the server sends a web page; give the address",
        ),
        (
            answer(200, b"x", Content_Type="image/png"),
            InputError,
            "neither the address nor its type 'image/png' tells",
        ),
        (answer(404), UnavailableError, "the server answered status 404"),
        (
            lambda handler: handler.send(200, FILMS, length=99),
            UnavailableError,
            "ended its answer before it was whole",
        ),
        (
            lambda handler: handler.send(200, b"", length=1_000_001),
            TooLargeError,
            "more than the limit of 1,000,000",
        ),
        (
            answer(302, Location="http://10.0.0.1/films.csv"),
            InvalidUrlError,
            "a network that is not public",
        ),
    ],
)
def test_what_is_no_table_is_refused(
    server: FileServer,
    open_it: Open,
    reply: Callable[[Any], None],
    kind: type[ExpectedError],
    says: str,
) -> None:
    server.replies["/export"] = [reply]
    with pytest.raises(kind, match=says) as failure:
        open_it("/export")
    assert f"{server.url}/export: " in failure.value.message


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("http://127.0.0.1/a.csv", "leads to a network that is not public"),
        (
            "https://inside.example.org/a.csv",
            r"not public; to allow it, name its host in allowed_hosts of \[sources\]",
        ),
        ("https://user:secret@example.org/a.csv", "without user information"),
        ("https://example.org:8443/a.csv", "port 8443 is not allowed"),
    ],
)
def test_addresses_that_are_not_public_are_refused_without_a_connection(
    tmp_path: Path, location: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_arguments: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr("socket.socket.connect", connect)
    with pytest.raises(InvalidUrlError, match=says) as failure:
        open_web_file(
            location,
            ReadOptions(),
            Settings(home=tmp_path),
            resolve=lambda _host, _port: ["10.1.2.3"],
        )
    assert "secret" not in failure.value.message


def test_a_library_opens_addresses_with_its_settings(
    server: FileServer, settings: Settings
) -> None:
    app = App(settings)
    try:
        source = open_provider(app, f"{server.url}/films.csv", ReadOptions(header_rows=1))
        assert source is not None
        assert titles(source) == ["Heat", "Alien"]
    finally:
        app.close()
